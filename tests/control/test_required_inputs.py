"""Inputs for a motion: against the forces themselves, back through forward dynamics, with tendons that only pull."""

import numpy as np
import pytest

import pliant
from pliant.control import Coordinates, Limits, rest_with

ARM = """
pliant: 1
parameters:
  shoulder_torque: {value: 0 N*m, input: true}
  elbow_torque: {value: 0 N*m, input: true}
bodies:
  upper:
    mass: 0.3 kg
    center_of_mass: [0, 0, -0.2]
    shape: {type: slender_rod, length: 0.4, axis: z}
    frames: {tip: {position: [0, 0, -0.4]}}
  lower: {mass: 0.2 kg, center_of_mass: [0, 0, -0.15], shape: {type: slender_rod, length: 0.3, axis: z}}
joints:
  shoulder: {type: revolute, child: upper, axis: y, angle: {input: =shoulder_torque}}
  elbow: {type: revolute, parent: upper.tip, child: lower, axis: y, angle: {input: =elbow_torque}}
"""

FINGER = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters:
  flexor: {value: 0 N, minimum: 0 N, maximum: 50 N, input: true}
  extensor: {value: 0 N, minimum: 0 N, input: true}
bodies: {bone: {mass: 0.1 kg, center_of_mass: [0, 0, 0.05], shape: {type: slender_rod, length: 0.1, axis: z}}}
joints: {knuckle: {type: revolute, child: bone, axis: y, angle: {input: "=1 cm*flexor - 1 cm*extensor"}}}
"""


def test_torques_of_an_arm_are_the_generalized_forces():
    eqs = pliant.derive(pliant.load_text(ARM))
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 2))
    found = pliant.required_inputs(eqs, q, v, a)
    expected = eqs.inverse_dynamics(q, v, a)
    assert list(found.inputs.values()) == pytest.approx(expected, rel=1e-9)
    assert found.missing < 1e-9
    assert found.rank == 2
    # and back
    again, _ = eqs.forward_dynamics(q, v, inputs=found.inputs)
    np.testing.assert_allclose(again, a, atol=1e-8)


def test_what_inputs_cannot_produce_is_reported():
    eqs = pliant.derive("cart_pole")
    q, v = np.array([0.0, 0.4]), np.zeros(2)
    free, _ = eqs.forward_dynamics(q, v, inputs={"force": 3.0})
    found = pliant.required_inputs(eqs, q, v, free)
    assert found.inputs["force"] == pytest.approx(3.0, rel=1e-8)
    assert found.missing < 1e-8
    stiff = pliant.required_inputs(eqs, q, v, free + [0.0, 5.0])
    # nearest in Gauss's sense: the lacking force does no work on what the input would do to the robot
    M = eqs.mass_matrix(q).toarray()
    push = np.linalg.solve(M, -eqs.input_derivative(q, v))
    assert (push.T @ stiff.residual).item() == pytest.approx(0, abs=1e-9)
    assert stiff.missing > 0.1


def test_tendons_only_pull():
    eqs = pliant.derive(pliant.load_text(FINGER))
    inertia = eqs.mass_matrix([0.0]).toarray().item()
    for a in (30.0, -30.0):
        found = pliant.required_inputs(eqs, [0.0], [0.0], [a])
        pull = abs(a) * inertia / 0.01
        expected = {"flexor": pull, "extensor": 0.0} if a > 0 else {"flexor": 0.0, "extensor": pull}
        # the flexor has two bounds, so that it likes their middle where it does not matter; here it matters
        assert found.inputs["flexor"] - found.inputs["extensor"] == pytest.approx(np.sign(a) * pull, rel=1e-6)
        assert min(found.inputs.values()) >= 0
        assert found.missing < 1e-6
        assert expected.keys() == found.inputs.keys()
    strong = pliant.required_inputs(eqs, [0.0], [0.0], [1e5])
    assert strong.at_limits == ("flexor", "extensor")
    assert strong.inputs["flexor"] == pytest.approx(50.0)
    assert strong.missing > 0.5
    wide = pliant.required_inputs(eqs, [0.0], [0.0], [1e5], limits=Limits(lower={"extensor": 0.0, "flexor": 0.0}))
    assert wide.missing < 1e-6


def test_pressures_of_a_soft_arm_at_rest():
    eqs = pliant.derive("stiff_flop")
    pressures = {"p1": 30e3, "p2": 5e3, "p3": 0.0}
    rest = pliant.equilibrium(eqs, inputs=pressures)
    zero = np.zeros(len(eqs.rates))
    found = pliant.required_inputs(eqs, rest.q, zero, zero, limits=Limits(lower=dict.fromkeys(pressures, 0.0)))
    for name, value in pressures.items():
        assert found.inputs[name] == pytest.approx(value, abs=1e-2)
    assert found.missing < 1e-6
    # a shape that no pressure holds
    bent = pliant.required_inputs(eqs, rest.q + np.linspace(0, 0.1, len(rest.q)), zero, zero)
    assert bent.missing > 0.1


def test_constraint_forces_come_along():
    eqs = pliant.derive("four_bar")
    with pytest.raises(ValueError, match="no inputs"):
        pliant.required_inputs(eqs, *np.zeros((3, 3)))
    text = pliant.dump(pliant.load("four_bar"))
    assert "parameters:" in text
    driven = pliant.derive(
        pliant.load_text(text.replace("parameters:", "parameters:\n  drive: {value: 0 N*m, input: true}", 1) + DRIVE)
    )
    start = pliant.equilibrium(driven)
    q = start.q
    a, multipliers = driven.forward_dynamics(q, np.zeros(3), inputs={"drive": 0.7})
    found = pliant.required_inputs(driven, q, np.zeros(3), a)
    assert found.inputs["drive"] == pytest.approx(0.7, rel=1e-7)
    np.testing.assert_allclose(found.multipliers, multipliers, atol=1e-7)


DRIVE = """
loads:
  motor: {frame: bar1, moment: [0, 0, =drive]}
"""


def test_unknown_inputs_are_refused():
    eqs = pliant.derive(pliant.load_text(ARM))
    with pytest.raises(KeyError, match="elbow_torque"):
        pliant.required_inputs(eqs, [0, 0], [0, 0], [0, 0], use=["elbow_torqe"])


@pytest.mark.parametrize("name", ["cart_pole", "stiff_flop"])
def test_nothing_is_missing_where_nothing_is_wanted(name):
    """At rest the forces balance up to round-off, which is not relative to the request."""
    eqs = pliant.derive(name)
    rest = pliant.equilibrium(eqs)
    found = pliant.required_inputs(eqs, rest, a=np.zeros(len(eqs.rates)))
    assert np.max(np.abs(found.residual)) < 1e-9
    assert found.missing == 0


@pytest.mark.parametrize("size", [1e-3, 1e-6])
def test_small_demands_that_cannot_be_met_are_still_missing(size):
    """The pole of a cart that hangs at rest: only the cart is pushed, so a torque on the pole alone is out of reach."""
    eqs = pliant.derive("cart_pole")
    rest = pliant.equilibrium(eqs)
    found = pliant.required_inputs(eqs, rest, a=np.array([0.0, size]))
    assert found.missing > 0.1


def test_inputs_that_prescribe_motions_are_left_out():
    text = """
pliant: 1
parameters: {torque: {value: 0 N*m, input: true}, u: {value: 0 m/s^2, input: true}, w: {value: 0 m, input: true}}
bodies: {cart: {mass: 1 kg}, lift: {mass: 1 kg}, pole: {mass: 1 kg, center_of_mass: [0, 0, 1]}}
joints:
  rail: {type: prismatic, child: cart, axis: x}
  post: {type: prismatic, parent: cart, child: lift, axis: z, displacement: {motion: =w}}
  hinge: {type: revolute, parent: lift, child: pole, axis: y, angle: {input: =torque}}
constraints: {drive: {between: [world, cart], components: [x], acceleration: =u}}
"""
    eqs = pliant.derive(pliant.load_text(text))
    found = pliant.required_inputs(eqs, np.array([0, 0, 0.4]), np.zeros(3), np.array([0.5, 0.0, 1.0]))
    assert found.inputs.keys() == {"torque"}
    assert found.missing == 0
    expected = 1.0 + 0.5 * np.cos(0.4) - 9.81 * np.sin(0.4)
    assert found.inputs["torque"] == pytest.approx(expected, rel=1e-9)
    for name in ("u", "w"):
        with pytest.raises(ValueError, match=f"'{name}' prescribes a motion"):
            pliant.required_inputs(eqs, np.zeros(3), np.zeros(3), np.zeros(3), use=[name])


DISTURBED = """
pliant: 1
parameters: {motor: {value: 0 N*m, input: true}, gust: {value: 0 N, input: true}}
bodies:
  bar:
    mass: 2 kg
    center_of_mass: [0.5 m, 0, 0]
    shape: {type: slender_rod, length: 1 m, axis: x}
    frames: {tip: {position: [1 m, 0, 0]}}
joints: {hinge: {type: revolute, child: bar, axis: y, angle: {input: =motor}}}
loads: {gust: {frame: bar.tip, force: [0, 0, =gust]}}
"""


def test_loads_are_no_means_of_control() -> None:
    """A motor holds the bar against its weight; an input that is a load keeps its value."""
    eqs = pliant.derive(pliant.load_text(DISTURBED))
    assert eqs.model.actuators == ("motor",)
    held = rest_with(eqs, Coordinates(("hinge",)), [0.0])
    assert held.inputs["motor"] == pytest.approx(-2 * 9.81 * 0.5)
    assert held.inputs["gust"] == 0
    assert pliant.required_inputs(eqs, [0.0], [0.0], [0.0]).inputs.get("gust", 0) == 0
    only_load = pliant.derive(pliant.load_text(DISTURBED.replace("angle: {input: =motor}", "angle: {}")))
    assert only_load.model.actuators == ("motor", "gust")


def test_without_rates_and_accelerations_the_inputs_hold_the_pose():
    eqs = pliant.derive("stiff_flop")
    rest = pliant.equilibrium(eqs, inputs={"p1": 3e4, "p2": 1e4, "p3": 2e4})
    zero = np.zeros(len(eqs.rates))
    wanted = pliant.required_inputs(eqs, rest.q, zero, zero)
    assert pliant.required_inputs(eqs, rest.q).inputs == pliant.required_inputs(eqs, rest).inputs == wanted.inputs
    assert wanted.inputs == pytest.approx({"p1": 3e4, "p2": 1e4, "p3": 2e4}, rel=1e-6)
