"""Outputs of contacts: sums, and quantities between two parts, in motions, states, equilibria and linear systems."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.engine.outputs import evaluate_outputs
from pliant.engine.program import EvaluationError
from pliant.language.faults import SpecError

ROBOT = """
pliant: 1
parameters: {push: {value: 0 N, input: true}}
bodies:
  carriage: {mass: 1 g}
  block: {mass: 1 kg, shape: {type: sphere, radius: 2 cm}}
  ball: {mass: 0.5 kg, shape: {type: sphere, radius: 1 cm}}
joints:
  along: {type: prismatic, child: carriage, axis: x, displacement: {input: =push}}
  up: {type: prismatic, parent: carriage, child: block, axis: z, displacement: {initial: 1.95 cm}}
  flight: {type: free, child: ball, x: {initial: 20 cm}, z: {initial: 5 cm}}
surfaces:
  floor: {type: plane}
contacts:
  ground: {between: [[block, ball], floor], stiffness: 20 kN/m, friction: 0.3}
outputs:
  push_on_all: {contact: ground}
  lift: {contact: ground, component: z}
  on_floor: {contact: ground, of: [floor, block], component: z}
  normal: {contact: ground, quantity: normal_force}
  rub: {contact: ground, quantity: friction_force, of: [block, floor], component: x}
  gap: {contact: ground, quantity: gap, of: [ball, floor]}
  least_gap: {contact: ground, quantity: gap}
  speed: {contact: ground, quantity: sliding_speed}
  many: {contact: ground, quantity: count}
  place: {contact: ground, quantity: place}
  stored: {energy: elastic, part: ground}
  share: {expression: =rub/on_floor}
  hold: {reaction: along, component: z}
"""


@pytest.fixture(scope="module")
def eqs():
    return pliant.derive(pliant.load_text(ROBOT))


@pytest.fixture(scope="module")
def alone():
    """The block without the ball, which rolls away at the slightest touch."""
    text = ROBOT.replace("[[block, ball], floor]", "[block, floor]").replace("of: [ball, floor]", "of: [block, floor]")
    return pliant.derive(
        pliant.load_text("\n".join(x for x in text.splitlines() if not x.startswith(("  ball:", "  flight:"))))
    )


@pytest.fixture(scope="module")
def run(eqs):
    return pliant.simulate(eqs, 0.5, inputs={"push": 2.0})


def test_outputs_are_sums_over_the_table_of_contacts(run) -> None:
    contacts = run.contacts["ground"]
    np.testing.assert_allclose(run["push_on_all"].values, contacts.total_force, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(run["lift"].values, contacts.total_force[:, 2], rtol=1e-9, atol=1e-9)
    on_floor = contacts.between("floor", "block").total_force[:, 2]
    np.testing.assert_allclose(run["on_floor"].values, on_floor, rtol=1e-9)
    assert on_floor.max() < 0
    np.testing.assert_allclose(run["normal"].values, contacts.total(contacts.normal_force), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(run["many"].values, contacts.count)
    np.testing.assert_allclose(run["stored"].values, contacts.total(contacts.energy), rtol=1e-9, atol=1e-12)
    speeds = np.linalg.norm(contacts.sliding_velocity, axis=1)
    expected = [speeds[a:b].max(initial=0) for a, b in zip(contacts.begins, contacts.begins[1:], strict=False)]
    np.testing.assert_allclose(run["speed"].values, expected, rtol=1e-9, atol=1e-12)


def test_gaps_count_before_anything_touches(run) -> None:
    height = run["flight.z"].values
    np.testing.assert_allclose(run["gap"].values, height - 0.01, atol=1e-12)
    np.testing.assert_allclose(run["least_gap"].values, np.minimum(run["up"].values - 0.02, height - 0.01), atol=1e-12)
    assert run["gap"].values.max() > 0.039


def test_friction_that_holds_is_told(run) -> None:
    """The push of 2 N is held; outputs remember the friction that does it."""
    assert run["rub"].values[-1] == pytest.approx(-2.0, rel=1e-3)
    assert run["share"].values[-1] == pytest.approx(2.0 / 9.81, rel=2e-3)
    weights = np.array([9.81, 0.5 * 9.81])
    places = np.array([run["along"].values[-1], 0.2])
    assert run["place"].values[-1, 0] == pytest.approx(weights @ places / weights.sum(), rel=1e-3)


def test_a_state_that_knows_its_contacts_has_the_outputs_of_its_run(eqs, run) -> None:
    final = run.final
    bound = eqs.at(inputs={"push": 2.0}).binding
    values = [
        evaluate_outputs(eqs.model, x, 0.5, *final, *bound.forward(0.5, *final), 0.0)["rub"]
        for x in (bound.with_contacts(final.contacts.rows), bound)
    ]
    assert values[0] == pytest.approx(run["rub"].values[-1], rel=1e-9)
    assert abs(values[1]) < 0.1  # nothing slides, so nothing rubs


def test_nothing_is_nowhere(eqs) -> None:
    q = eqs.state({"up": 0.1}).q
    zero = np.zeros(len(eqs.rates))
    found = evaluate_outputs(eqs.model, eqs.binding, 0.0, q, zero, zero, np.zeros(0), 0.0)
    assert found["many"] == 0
    assert found["normal"] == 0
    assert found["speed"] == 0
    assert np.all(np.isnan(found["place"]))


def test_a_pose_at_rest_holds_by_friction_and_goes_on_holding(alone) -> None:
    eqs = alone
    rest = pliant.equilibrium(eqs, inputs={"push": 2.0})
    assert rest.contacts is not None
    assert np.all(rest.contacts.sticks)
    assert rest.outputs["rub"] == pytest.approx(-2.0, rel=1e-9)
    run = pliant.simulate(eqs, 0.5, start=rest, inputs={"push": 2.0})
    np.testing.assert_allclose(run["along"].values, rest.coordinates["along"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(eqs.at(inputs={"push": 2.0}).forward_dynamics(rest)[0], 0, atol=1e-5)


def test_forces_by_source(eqs, run) -> None:
    here = eqs.at(inputs={"push": 2.0})
    forces = here.forces(run.final)
    np.testing.assert_allclose(forces["ground"][:2], run["push_on_all"].values[-1][[0, 2]] - [0, 0.5 * 9.81], rtol=1e-3)
    np.testing.assert_allclose(forces["gravity"][:2], [0, -9.81], atol=1e-9)
    total = sum(forces.values())
    np.testing.assert_allclose(total, -here.bias(run.final), atol=1e-9)


def test_derivatives_of_outputs_are_those_of_the_linear_system(alone) -> None:
    """Held friction is a spring of two thirds of the stiffness, and its damper."""
    eqs = alone
    rest = pliant.equilibrium(eqs, inputs={"push": 2.0})
    linear = pliant.linearize(eqs, at=rest)
    C = {name: dict(zip(linear.states, row, strict=True)) for name, row in zip(linear.outputs, linear.C, strict=True)}
    assert C["rub"]["along"] == pytest.approx(-20e3 * 2 / 3, rel=1e-6)
    assert C["on_floor"]["up"] == pytest.approx(20e3, rel=1e-6)
    assert C["gap"]["up"] == pytest.approx(1.0, rel=1e-6)
    # the slide carries the block only by what the floor does not: nothing, as it moves freely along z
    assert abs(C["hold"]["up"]) < 1e-3 * 20e3
    modes = pliant.modes(eqs, at=rest, undamped=True)
    assert np.min(np.abs(modes.frequencies - np.sqrt(20e3 * 2 / 3 / 1.001) / (2 * np.pi))) < 1e-3


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("{contact: ground, quantity: gap, component: x}", "the gap is one number and has no components"),
        ("{contact: ground, of: [carriage, floor]}", "the contact 'ground' does not involve 'carriage'"),
        ("{contact: ground, of: [ball, all]}", "does not involve 'all'"),
        ("{contact: ground, quantity: depth}", "depth"),
        ("{contact: grip}", "grip"),
    ],
)
def test_what_is_wrong_is_said(output: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        pliant.load_text(ROBOT + f"  wrong: {output}\n")


def test_casadi_does_not_leave_contacts_out_silently(eqs) -> None:
    with pytest.raises(EvaluationError, match="does not include the contacts"):
        eqs.casadi("forward_dynamics")
    assert eqs.casadi("mass_matrix") is not None
