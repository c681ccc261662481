"""Values of parameters from Python meet the checks of the text: limits, geometry, what a build has settled."""

import sys

import numpy as np
import pytest

import pliant
from pliant import ArgumentError, SpecError, derive, equilibrium, load, load_text, simulate

ARM = """
pliant: 1
parameters:
  L: 30 cm
  disc: 25 cm
  ring: 10 cm
  tilt: 0 deg
  softness: {value: 1, minimum: 0.5, maximum: =3*margin}
  margin: 1
  area: =L*disc
sections: {wire: {shape: circle, radius: 5 mm}}
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: =1 MPa/softness, poissons_ratio: 0.48}}
bodies: {cart: {mass: 1 kg}}
joints: {rail: {type: prismatic, child: cart, axis: x, displacement: {spring: 10 N/m}}}
rods:
  arm:
    parent: cart
    rotation: {axis: z, angle: =tilt}
    length: =L
    section: wire
    material: rubber
    frames: {disc: =disc, ring: =ring}
    model: MODEL
tendons: {line: {type: tension, through: [{rod: arm, start: 0, end: =disc, offset: [1 cm, 0], eyelets: 4}], tension: 0 N}}
"""


def arm(model="{kind: pcs, elements: 3}"):
    return derive(load_text(ARM.replace("MODEL", model)))


@pytest.fixture(scope="module")
def eqs():
    return arm()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"L": 0.2}, "rods.arm.frames.disc: the frame 'disc' is at 0.25 m, off the rod"),
        ({"L": 0.2}, "tendons.line.through.0.end: an eyelet is at 0.25 m, off the rod 'arm'"),
        ({"L": -0.3}, "rods.arm.length: length must be above zero, but it is -0.3"),
        ({"softness": 0.1}, "'softness' is 0.1, below its minimum of 0.5"),
        ({"softness": 4.0}, "'softness' is 4, above its maximum of 3"),
        ({"margin": 0.3}, "'softness' is 1, above its maximum of 0.9"),
        ({"ring": 0.15}, "the frame 'ring' moves to another segment"),
    ],
)
def test_what_the_text_is_refused_for_python_is_too(eqs, values, message):
    for call in (
        lambda: eqs.at(parameters=values),
        lambda: equilibrium(eqs, parameters=values),
        lambda: simulate(eqs, 0.1, parameters=values),
        lambda: eqs.mass_matrix(eqs.initial_state().q, parameters=values),
    ):
        with pytest.raises(ArgumentError) as refused:
            call()
        assert message in str(refused.value)
    if "another segment" not in message:  # a text with that value is another model, and no fault
        with pytest.raises(SpecError) as fault:
            load_text(ARM.replace("MODEL", "{kind: pcs, elements: 3}"), set=values)
        assert message.partition(": ")[2].partition(" of ")[0] in str(fault.value)


def test_values_are_checked_with_those_that_are_there_already(eqs):
    wide = eqs.at(parameters={"margin": 2.0})
    assert wide.at(parameters={"softness": 5.0}).parameters["softness"] == 5.0
    with pytest.raises(ArgumentError, match="above its maximum of 3"):
        eqs.at(parameters={"softness": 5.0})
    assert eqs.at(parameters={"L": 0.2}, within_limits=False).parameters["L"] == 0.2


@pytest.mark.parametrize("model", ["{kind: finite_element, elements: 4}", "{kind: cosserat}", "{kind: timoshenko}"])
def test_frames_cannot_change_their_order(model):
    with pytest.raises(ArgumentError, match="its frames change their order"):
        arm(model).at(parameters={"ring": 0.27})


def test_frames_cannot_change_their_link():
    with pytest.raises(ArgumentError, match="the frame 'ring' moves to another link"):
        arm("{kind: pseudo_rigid, elements: 5}").at(parameters={"ring": 0.2})


def test_a_plane_cannot_be_left_by_a_parameter():
    planar = arm("{kind: finite_element, elements: 3}\n    strains: planar_xz")
    with pytest.raises(
        ArgumentError, match=r"rods.arm.strains: the rod moves in its xz plane, but its parent can leave"
    ):
        planar.at(parameters={"tilt": 0.1})


def test_the_cases_of_a_pendulum_and_of_a_disc():
    with pytest.raises(ArgumentError, match="length must be above zero, but it is -1"):
        simulate(derive("pendulum"), parameters={"length": -1})
    for bad in (float("nan"), float("inf"), "1 m"):
        with pytest.raises(ArgumentError, match="must be a finite number"):
            simulate(derive("pendulum"), parameters={"length": bad})


def test_values_that_overflow_are_refused_by_their_own_name():
    with pytest.raises(ArgumentError, match=r"the value of 'length' is too large to compute with .*at most 1e\+50"):
        derive("pendulum").at(parameters={"length": 1e200})


def test_checks_cost_little():
    """A robot of many parts: only parts that depend on the changed values are checked."""
    eqs = derive(load("six_leg"))
    gravity = eqs.parameters["gravity"]
    eqs.at(parameters={"gravity": gravity + 1e-6})
    calls = [0]
    sys.setprofile(lambda frame, event, arg: calls.__setitem__(0, calls[0] + (event == "call")))
    try:
        eqs.at(parameters={"gravity": gravity + 2e-6})
    finally:
        sys.setprofile(None)
    assert calls[0] < 1000, "functions called"


def test_workers_check_as_well(eqs):
    import pickle

    again = pickle.loads(pickle.dumps(eqs))
    with pytest.raises(ArgumentError, match="off the rod"):
        again.at(parameters={"L": 0.2})
    assert isinstance(pliant.derive(load("pendulum")), pliant.Equations)


def test_many_cases_are_checked_and_bound_as_single_ones():
    """For each case the same error, or the same constants, inputs and start, bit for bit."""
    eqs, rng = derive("stiff_flop"), np.random.default_rng(5)
    names = {
        "youngs_modulus": (1e5, 2e5),
        "chamber_radius": (1e-3, 4e-3),
        "chamber_offset": (7e-3, 1e-2),
        "spread": (0.2, 0.8),
    }
    cases = [
        ({name: float(rng.uniform(*ends)) for name, ends in names.items()}, {"p1": float(rng.uniform(0, 3e4))})
        for _ in range(40)
    ]
    cases += [
        ({}, {"p2": 3.0}),
        ({"length": 0.05}, {}),
        ({"length": float("nan")}, {}),
        ({"length": "long"}, {}),
        ({}, {"px": 1.0}),
    ]
    refused = 0
    for (parameters, inputs), found in zip(cases, eqs.at_each(cases), strict=True):
        if isinstance(found, Exception):
            refused += 1
            with pytest.raises(type(found)) as error:
                eqs.at(parameters=parameters or None, inputs=inputs or None)
            assert str(error.value) == str(found)
            continue
        alone = eqs.at(parameters=parameters or None, inputs=inputs or None)
        for name in ("constants", "parameters", "held", "input_kind"):
            assert np.array_equal(getattr(found.binding, name), getattr(alone.binding, name)), name
        assert np.array_equal(found.initial_state().q, alone.initial_state().q)
        assert (found.given_parameters, found.given_inputs) == (alone.given_parameters, alone.given_inputs)
    assert 10 < refused < 40
