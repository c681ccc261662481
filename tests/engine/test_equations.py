"""The public equations object: names, parameters, inputs, printing, CasADi functions."""

import copy
import pickle

import numpy as np
import pytest

import pliant
from pliant import derive, load, load_text
from pliant.engine.core import UnknownName

CHAIN = "spring_mass_chain"


def test_changing_a_parameter_compiles_nothing_and_changes_the_answer():
    eqs = derive(load("four_bar"))
    q, _ = eqs.initial_state()
    program = eqs.binding.program
    before = eqs.mass_matrix(q).toarray()
    after = eqs.mass_matrix(q, parameters={"length2": 0.7}).toarray()
    assert eqs.at(parameters={"length2": 0.7}).binding.program is program
    assert not np.allclose(before, after)
    np.testing.assert_array_equal(eqs.mass_matrix(q).toarray(), before)


def test_a_structural_parameter_cannot_be_changed_afterwards():
    eqs = derive(load(CHAIN))
    q, _ = eqs.initial_state()
    with pytest.raises(ValueError, match=r"'count' determines the number of parts.*load the model again"):
        eqs.mass_matrix(q, parameters={"count": 7.0})


def test_parameter_derivative_is_that_of_differences():
    eqs = derive(load("four_bar"))
    q, _ = eqs.initial_state()
    rng = np.random.default_rng(0)
    v, a = rng.normal(size=3), rng.normal(size=3)
    exact = eqs.parameter_derivative(q, v, a)
    for k, (name, value) in enumerate(eqs.parameters.items()):
        h = 1e-6
        plus, minus = (eqs.inverse_dynamics(q, v, a, parameters={name: value + s * h}) for s in (1, -1))
        np.testing.assert_allclose(exact[:, k], (plus - minus) / (2 * h), atol=1e-7)


def test_parameters_of_contacts_have_derivatives():
    text = """
pliant: 1
parameters: {k: 20 kN/m, mu: 0.3, m: 2 kg}
bodies: {ball: {mass: =m, shape: {type: sphere, radius: 1 cm}}}
joints: {fly: {type: free, child: ball, z: {initial: 9 mm}}}
surfaces: {floor: {type: plane}}
contacts: {ground: {between: [ball, floor], stiffness: =k, friction: =mu, dissipation: 0}}
"""
    eqs = derive(load_text(text))
    q, v = eqs.initial_state()
    v = np.array([1.0, 0, 0, 0, 0, 0])  # it slides with mu k depth
    found = eqs.parameter_derivative(q, v, np.zeros(6))
    np.testing.assert_allclose(found[:3, 0], [0.3 * 1e-3, 0, -1e-3], atol=1e-9)
    np.testing.assert_allclose(found[:3, 1], [20e3 * 1e-3, 0, 0], atol=1e-6)
    np.testing.assert_allclose(found[:3, 2], [0, 0, 9.81], atol=1e-6)
    with pytest.raises(RuntimeError, match="does not include the contacts of this robot"):
        eqs.casadi("forward_dynamics")


def test_input_derivative_is_that_of_differences():
    eqs = derive(load("cart_pole"))
    q, v = eqs.initial_state()
    exact = eqs.input_derivative(q, v)
    for k, name in enumerate(eqs.inputs):
        plus, minus = (eqs.bias(q, v, inputs={name: s}) for s in (1.0, -1.0))
        np.testing.assert_allclose(exact[:, k], (plus - minus) / 2, atol=1e-10)


@pytest.mark.parametrize("robot", ["cart_pole", "four_bar", "tumbling_body"])
def test_casadi_functions_agree_with_the_engine(robot):
    eqs = derive(load(robot))
    rng = np.random.default_rng(1)
    q, v = eqs.initial_state()
    v = v + rng.normal(size=len(v))
    u, p = eqs.input_vector(), list(eqs.parameters.values())
    found = eqs.casadi("forward_dynamics")(0.0, q, v, u, p)
    a = np.asarray(found[0] if isinstance(found, tuple) else found).ravel()
    np.testing.assert_allclose(a, eqs.forward_dynamics(q, v)[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.asarray(eqs.casadi("mass_matrix")(q, p)), eqs.mass_matrix(q).toarray(), atol=1e-12)
    kinetic, potential = eqs.casadi("energy")(0.0, q, v, u, p)
    energy = eqs.energy(q, v)
    np.testing.assert_allclose([float(kinetic), float(potential)], [energy.kinetic, energy.potential], rtol=1e-12)


def test_forces_by_source_add_up_to_the_bias():
    eqs = derive(load("cart_pole"))
    q, v = eqs.initial_state()
    v = v + 0.3
    forces = eqs.forces(q, v, inputs={eqs.inputs[0]: 2.0})
    assert "gravity" in forces
    at_rest = eqs.forces(q, 0 * v, inputs={eqs.inputs[0]: 2.0})
    np.testing.assert_allclose(-sum(at_rest.values()), eqs.bias(q, 0 * v, inputs={eqs.inputs[0]: 2.0}), atol=1e-12)


def test_wrong_names_and_shapes_are_refused():
    eqs = derive(load("four_bar"))
    q, v = eqs.initial_state()
    with pytest.raises(UnknownName, match=r"did you mean 'bar1\.tip'"):
        eqs.frame("bar1.tipp", q)
    with pytest.raises(UnknownName, match="unknown input 'push'"):
        eqs.bias(q, v, inputs={"push": 1.0})
    with pytest.raises(ValueError, match="q must have 3 entries"):
        eqs.mass_matrix(q[:2])
    with pytest.raises(ValueError, match="not finite at index 1"):
        eqs.mass_matrix(np.array([0.0, np.nan, 0.0]))
    with pytest.raises(ValueError, match="no CasADi function 'nothing'"):
        eqs.casadi("nothing")


def test_equations_of_the_cart_pole_read_like_the_textbook():
    text = derive(load("cart_pole")).text()
    assert "cos(" in text
    assert "M a + h" in text
    assert r"\begin{aligned}" in derive(load("cart_pole")).latex()


def test_parameters_of_equations_are_read_only():
    """A change would have no effect; copies are plain dictionaries."""
    eqs = pliant.derive("cart_pole")
    before = dict(eqs.parameters)
    name = next(iter(before))
    for change in (
        lambda: eqs.parameters.__setitem__(name, 2.0),
        lambda: eqs.parameters.update({name: 2.0}),
        lambda: eqs.parameters.pop(name),
    ):
        with pytest.raises(TypeError, match=r"eqs.at\(parameters="):
            change()
    assert eqs.parameters == before
    for same in (pickle.loads(pickle.dumps(eqs.parameters)), copy.deepcopy(eqs.parameters), eqs.parameters | {}):
        same[name] = 2.0
        assert eqs.at(parameters=same).parameters[name] == 2.0


POINT = """
pliant: 1
bodies:
  carrier: {{mass: 0.5 kg, shape: {{type: sphere, radius: 5 cm}}}}
  middle: {{{middle}}}
  point: {{{point}}}
joints:
  first: {{type: revolute, axis: x, child: carrier, position: {at}, angle: {{initial: 0.3}}}}
  second: {{type: spherical, child: middle, parent: carrier, position: [0.1, 0.05, -0.03]}}
  third: {{{joint}, child: point, parent: middle}}
"""
JOINTS = ["spherical", "universal", "planar", "cylindrical", "revolute, axis: [1, 2, 3]"]
PLACES = [[0.3, -0.2, 0.7], [1.01, 2.02, -3.03], [-0.013, 0.7, 211.0], [0.31, 0.17, 1e-3]]


@pytest.mark.parametrize("joint", JOINTS)
@pytest.mark.parametrize("at", PLACES)
@pytest.mark.parametrize("middle", ["mass: 1 kg, shape: {type: sphere, radius: 1 cm}", "mass: 0 kg"])
def test_what_moves_no_inertia_is_refused_wherever_it_is(joint: str, at: list[float], middle: str) -> None:
    """A point mass has no inertia about its joint; of sums over its distance from the world's origin, round-off is left."""
    eqs = pliant.derive(
        pliant.load_text(POINT.format(at=at, middle=middle, joint=f"type: {joint}", point="mass: 1 kg"))
    )
    with pytest.raises(pliant.EvaluationError, match="some coordinate moves no mass"):
        eqs.forward_dynamics(eqs.initial_state())
    with pytest.raises(pliant.AnalysisFailed, match="a coordinate moves no mass"):
        pliant.simulate(eqs, 0.1)


@pytest.mark.parametrize("joint", JOINTS)
def test_a_tiny_inertia_far_from_the_origin_is_not_refused(joint: str) -> None:
    """A ball of 1 mm, 30 m away, has 2e-10 of the inertia about the origin."""
    ball = "mass: 1 g, shape: {type: sphere, radius: 1 mm}"
    found = []
    for at in ([0, 0, 0], [10, -20, 20]):
        text = POINT.format(at=at, middle=ball, joint=f"type: {joint}", point=ball)
        eqs = pliant.derive(pliant.load_text(text))
        start = eqs.initial_state()
        rates = np.linspace(0.3, 1.0, start.v.size)
        found.append(eqs.forward_dynamics(start.q, rates)[0])
    assert found[1] == pytest.approx(found[0], rel=1e-4, abs=1e-4 * float(np.max(np.abs(found[0]))))


def test_a_robot_whose_inertia_round_off_hides_is_told_to_come_nearer() -> None:
    """About the origin of the world, 7,000 km away, a bus of 0.5 m has 4e-15 of its inertia: accelerations were those of noise."""
    text = """
pliant: 1
parameters: {away: 0 m}
bodies: {bus: {mass: 100 kg, shape: {type: sphere, radius: 0.2 m}}}
joints: {fly: {type: free, child: bus, x: {initial: =away}}}
"""
    eqs = pliant.derive(pliant.load_text(text))
    assert eqs.at(parameters={"away": 1e5}).forward_dynamics(eqs.initial_state({"away": 1e5}))[0][2] == pytest.approx(
        -9.81
    )
    far = {"away": 7e6}
    with pytest.raises(pliant.EvaluationError, match="away from the world's origin"):
        eqs.at(parameters=far).forward_dynamics(eqs.initial_state(far))
