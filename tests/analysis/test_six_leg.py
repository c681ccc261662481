"""The bundled platform on six legs: posture under pretension, modes, a push, and docking at an angle."""

import numpy as np
import pytest

import pliant
from pliant.control import FramePosition, rest_with

STEPS = pliant.GeneralizedAlpha(step=5e-4, spectral_radius=0.8)


@pytest.fixture(scope="module")
def posture():
    eqs = pliant.derive("six_leg")
    return eqs, pliant.equilibrium(eqs)


def test_the_pretensioned_posture_is_balanced_stable_and_symmetric(posture):
    _, rest = posture
    assert rest.status == "converged"
    assert rest.stable is True
    # round-off: a leaf spring's element of 140 MN/m turns the last digit of a position into some 1e-8 N
    assert rest.residual < 5e-8
    assert rest.outputs["position"][:2] == pytest.approx([0, 0], abs=1e-7)
    assert rest.outputs["turn"] == pytest.approx([0, 0, 0], abs=1e-7)
    # a pair of equal and opposite forces along each chord: the spring's and the tendon's
    chords = [np.linalg.norm(rest.outputs[f"leg{k}/tip"]) for k in range(1, 7)]
    assert np.ptp(chords) < 1e-8
    tension = 10e3 * (chords[0] - 0.4)
    assert 52.53 < tension < 60.0


def test_the_first_ten_modes_are_stable(posture):
    eqs, rest = posture
    modes = pliant.modes(eqs, at=rest.state, count=10)
    assert modes.stable
    assert modes.frequencies[0] > 1.0
    assert modes.frequencies[0] == pytest.approx(modes.frequencies[1], rel=1e-4)  # sideways motions come in pairs


def test_a_push_moves_the_platform_by_its_stiffness():
    eqs = pliant.derive(pliant.load("six_leg", variant="pushed"))
    rest = pliant.equilibrium(eqs)
    run = pliant.simulate(eqs, 0.2, start=rest, method=STEPS, save_every=0.02)
    assert run.constraint_error.max() < 1e-10
    settled = pliant.equilibrium(eqs, start=run.final, inputs={"push": 5.0})
    moved = run["position"].values[-1, 0] - rest.outputs["position"][0]
    goal = settled.outputs["position"][0] - rest.outputs["position"][0]
    assert 0.5 * goal < moved < 1.05 * goal  # overdamped by the tendons, on its way


def test_docking_at_an_angle_ends_with_the_port_pressed():
    eqs = pliant.derive(pliant.load("six_leg", variant="docking"))
    run = pliant.simulate(eqs, 0.3, start=pliant.equilibrium(eqs), method=STEPS, save_every=1e-3)
    assert run.status == "completed"
    contact = -run["contact"].values
    assert contact[run.time < 0.05].max() == pytest.approx(0.0, abs=1e-9)
    assert 20 < contact.max() < 100
    # the inclined face pushes the probe aside
    assert run["position"].values[-1, 0] < -5e-4


def test_six_torques_move_the_platform_as_six_angles_do(posture):
    """The servos balance the torques: cranks fixed at the resulting angles leave the platform in the same place."""
    angles, _ = posture
    motors = pliant.derive(pliant.load("six_leg", variant="torques"))
    torques = {f"torque{k}": x for k, x in zip(range(1, 7), (1.0, -0.5, 0.3, 0.4, 0.8, -1.2), strict=True)}
    turned = pliant.equilibrium(motors, inputs=torques)
    assert turned.status == "converged"
    held = {f"drive{k}": float(turned.state.q[motors.coordinates.index(f"leg{k}/motor")]) for k in range(1, 7)}
    assert min(abs(x) for x in held.values()) > 1e-4
    same = pliant.equilibrium(angles, inputs=held)
    np.testing.assert_allclose(same.outputs["position"], turned.outputs["position"], atol=1e-9)
    np.testing.assert_allclose(same.outputs["turn"], turned.outputs["turn"], atol=1e-9)


def test_a_target_that_presses_the_probe_is_carried_by_the_legs():
    eqs = pliant.derive(pliant.load("six_leg", variant="docking_target"))
    run = pliant.simulate(eqs, 0.2, start="equilibrium", method=STEPS, save_every=1e-3)
    force = -run["contact"].values
    assert force[run.time < 0.045].max() == pytest.approx(0.0, abs=1e-6)
    assert 30 < force.max() < 60


@pytest.mark.slow
def test_winches_hold_the_platform_from_the_pose_before_the_tendons_are_tight():
    """The start of the model is far from rest, so no inputs balance it: the search begins again at the equilibrium."""
    eqs = pliant.derive("six_leg@winches")
    rest = pliant.equilibrium(eqs)
    here = np.asarray(rest.outputs["position"])
    for moved in ([0, 0, 0], [0.002, 0, -0.003]):
        found = rest_with(eqs, FramePosition("platform", "xyz"), here + moved)
        np.testing.assert_allclose(found.outputs["position"], here + moved, atol=1e-6)
        again = pliant.equilibrium(eqs, start=found, inputs=found.inputs)
        np.testing.assert_allclose(again.outputs["position"], here + moved, atol=1e-6)
    assert min(abs(found.inputs[f"wound{k}"]) for k in range(1, 7)) > 1e-3
    with pytest.raises(ValueError, match="limits are active: the input 'wound1' at its lower limit"):
        rest_with(eqs, FramePosition("platform", "xyz"), here + [0, 0, 0.1])


def test_docking_has_no_remarks_on_the_model_itself():
    for variant in ("docking", "docking_target"):
        run = pliant.simulate(pliant.derive(f"six_leg@{variant}"), 0.02, start="equilibrium", method=STEPS)
        assert run.remarks == ()


def test_rates_that_a_motion_causes_at_a_start_at_rest_need_no_remark():
    eqs = pliant.derive("six_leg")
    run = pliant.simulate(eqs, 0.002, start="equilibrium", inputs={"drive": lambda t: -0.6 * t}, method=STEPS)
    assert not [note for note in run.remarks if "contradict" in note]
    start = pliant.equilibrium(eqs).state  # rates of the caller are still reported
    v = np.zeros(len(eqs.rates))
    v[:] = 0.3
    told = pliant.simulate(eqs, 0.002, start=pliant.State(start.q, v), method=STEPS).remarks
    assert [note for note in told if "contradict" in note]
