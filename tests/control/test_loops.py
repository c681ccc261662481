"""Designed loops on the nonlinear robots: what the linear design promises is what the motion does."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import pliant
from pliant.analysis.linearize import StateSpace
from pliant.control import Limits, StateFeedback, allocate, discretize, kalman, lqr

SAMPLE = 0.02


@pytest.fixture(scope="module")
def eqs() -> pliant.Equations:
    return pliant.derive("cart_pole")


@pytest.fixture(scope="module")
def upright(eqs: pliant.Equations) -> StateSpace:
    return pliant.linearize(eqs, at=np.zeros(2), independent=("rail", "hinge"))


WEIGHTS = {"states": [10.0, 50.0, 1.0, 1.0], "inputs": 0.1}


def leaning(angle: float) -> pliant.State:
    return pliant.State(np.array([0.0, angle]), np.zeros(2))


@pytest.mark.parametrize("delay", [0.0, 0.005, 0.03])
def test_small_motions_follow_the_discrete_design(eqs: pliant.Equations, upright: StateSpace, delay: float) -> None:
    """The nonlinear motion at the samples equals powers of the closed-loop matrix, up to second order in its size."""
    sampled = discretize(upright, SAMPLE, delay=delay)
    regulator = lqr(sampled, **WEIGHTS)
    controller = StateFeedback(eqs, regulator)
    size = 1e-4
    run = pliant.simulate(
        eqs, 1.0, start=leaning(size), controllers=controller, save_every=SAMPLE, rtol=1e-10, atol=1e-13
    )
    loop = sampled.A - sampled.B @ regulator.gain
    x = np.concatenate([[0.0, size, 0.0, 0.0], np.zeros(sampled.past)])
    for k in range(len(run.time)):
        np.testing.assert_allclose(np.concatenate([run.q[k], run.v[k]]), x[:4], atol=1e-3 * size)
        x = loop @ x
    assert np.max(np.abs(regulator.poles)) < 1


def test_a_delay_the_design_does_not_know_makes_it_unstable(eqs: pliant.Equations, upright: StateSpace) -> None:
    quick = {"states": [10.0, 50.0, 1.0, 1.0], "inputs": 1e-3}
    regulator = lqr(discretize(upright, SAMPLE), **quick)
    controller = StateFeedback(eqs, regulator)
    good = pliant.simulate(eqs, 3.0, start=leaning(0.01), controllers=controller)
    assert np.abs(good.q[-1]).max() < 1e-3
    # what the linear theory says of the same gain with a delay it was not designed for
    late = discretize(upright, SAMPLE, delay=0.04)
    gain = np.hstack([regulator.gain, np.zeros((1, late.past))])
    assert np.max(np.abs(np.linalg.eigvals(late.A - late.B @ gain))) > 1.01
    controller.delay = 0.04
    fallen = pliant.Event(lambda now: abs(now.q[1]) - 0.5, name="the pole has fallen")
    bad = pliant.simulate(eqs, 3.0, start=leaning(0.01), controllers=controller, events=[fallen])
    assert bad.status == "stopped"
    assert "has fallen" in bad.message
    designed = StateFeedback(eqs, lqr(late, **WEIGHTS))
    again = pliant.simulate(eqs, 3.0, start=leaning(0.01), controllers=designed)
    assert np.abs(again.q[-1]).max() < 1e-3


def test_an_observer_finds_what_it_was_not_told(eqs: pliant.Equations, upright: StateSpace) -> None:
    seen = discretize(upright.select(outputs=("cart", "pole")), SAMPLE)
    observer = kalman(seen, process=1e-6, inputs=1.0, outputs=1e-6)
    controller = StateFeedback(eqs, lqr(seen, **WEIGHTS), observer=observer)
    run = pliant.simulate(eqs, 4.0, start=leaning(0.1), controllers=controller)
    assert np.abs(run.q[-1]).max() < 1e-2
    first, last = controller.estimates[0], controller.estimates[-1]
    assert abs(first[1] - 0.1) < 0.1  # it starts from the wrong state and corrects by one measurement
    np.testing.assert_allclose(last, np.concatenate([run.q[-1], run.v[-1]]), atol=2e-2)


def test_noise_disturbs_as_much_as_the_design_says(eqs: pliant.Equations, upright: StateSpace) -> None:
    seen = discretize(upright.select(outputs=("cart", "pole")), SAMPLE)
    deviation = 1e-4
    observer = kalman(seen, process=1e-10, inputs=1e-2, outputs=deviation**2)
    regulator = lqr(seen, **WEIGHTS)
    controller = StateFeedback(eqs, regulator, observer=observer, noise={"cart": deviation, "pole": deviation}, seed=4)
    run = pliant.simulate(eqs, 60.0, start=leaning(0.0), controllers=controller, save_every=SAMPLE)
    measured = np.sqrt(np.mean(run.q[500:, 1] ** 2))
    # stationary covariance of plant and estimate under sensor noise alone
    A, B, C, K, L = seen.A, seen.B, seen.C, regulator.gain, observer.gain
    corrected = np.eye(4) - L @ C
    big = np.block([[A - B @ K @ L @ C, -B @ K @ corrected], [A @ L @ C - B @ K @ L @ C, (A - B @ K) @ corrected]])
    noise = np.vstack([-B @ K @ L, (A - B @ K) @ L])
    W = deviation**2 * noise @ noise.T
    P = np.zeros((8, 8))
    for _ in range(4000):
        P = big @ P @ big.T + W
    assert measured == pytest.approx(np.sqrt(P[1, 1]), rel=0.2)
    again = pliant.simulate(eqs, 6.0, start=leaning(0.0), controllers=controller, save_every=SAMPLE)
    np.testing.assert_array_equal(run.q[: len(again.q) - 1], again.q[:-1])


def test_limits_hold_and_are_reported(eqs: pliant.Equations, upright: StateSpace) -> None:
    limits = Limits(lower={"force": -3.0}, upper={"force": 3.0}, rate={"force": 50.0})
    controller = StateFeedback(eqs, lqr(discretize(upright, SAMPLE), **WEIGHTS), limits=limits)
    run = pliant.simulate(eqs, 6.0, start=leaning(0.1), controllers=controller, save_every=SAMPLE)
    force = run.inputs["force"]
    assert np.abs(force).max() == pytest.approx(3.0)
    assert np.abs(np.diff(force)).max() <= 50 * SAMPLE + 1e-9
    assert np.abs(run.q[-1]).max() < 1e-2
    assert any("inputs were saturated" in note for note in run.remarks)


def test_saved_inputs_are_those_in_force(eqs: pliant.Equations) -> None:
    class Staircase:
        sample_time = 0.1
        delay = 0.05

        def start(self, now: pliant.Now) -> None:
            self.count = 0

        def command(self, now: pliant.Now) -> Mapping[str, float]:
            self.count += 1
            return {"force": float(self.count)}

    run = pliant.simulate(eqs, 0.5, controllers=Staircase(), inputs={"force": 0.0}, save_every=0.025)
    expected = np.maximum(0, np.floor((run.time + 1e-9 - 0.05) / 0.1) + 1)
    np.testing.assert_array_equal(run.inputs["force"], expected)
    # the motion belongs to these inputs: accelerations follow from them
    for k in range(len(run.time) - 1):
        a, _ = eqs.forward_dynamics(run.q[k], run.v[k], inputs={"force": expected[k]})
        np.testing.assert_allclose(run.dataset["a"].values[k], a, atol=1e-6)


def test_controllers_are_checked(eqs: pliant.Equations) -> None:
    class Wrong:
        sample_time = 0.1

        def __init__(self, answer: dict[str, float]) -> None:
            self.answer = answer

        def start(self, now: pliant.Now) -> None:
            pass

        def command(self, now: pliant.Now) -> Mapping[str, float]:
            return self.answer

    with pytest.raises(KeyError, match="unknown input 'forc'; did you mean 'force'"):
        pliant.simulate(eqs, 1.0, controllers=Wrong({"forc": 1.0}))
    with pytest.raises(ValueError, match="commands nan for input 'force' at t = 0 s"):
        pliant.simulate(eqs, 1.0, controllers=Wrong({"force": np.nan}))
    slow = Wrong({})
    slow.sample_time = 0.0
    with pytest.raises(ValueError, match="sample time of the controller Wrong must be a positive number"):
        pliant.simulate(eqs, 1.0, controllers=slow)


def test_tendons_share_a_pull_they_cannot_push() -> None:
    """Four tendons around a section: two moments, tensions above 1 N."""
    angles = np.radians([0, 90, 180, 270])
    effect = 0.01 * np.vstack([np.cos(angles), np.sin(angles)])
    lower, upper = np.ones(4), np.full(4, 50.0)
    found = allocate(effect, np.array([0.1, -0.05]), lower, upper, preferred=np.full(4, 5.0))
    u, missed = found.inputs, found.missed
    assert missed < 1e-6
    assert np.all(u >= 1)
    np.testing.assert_allclose(effect @ u, [0.1, -0.05], atol=1e-7)
    np.testing.assert_allclose(u[0] - u[2], 10, rtol=1e-5)
    missed = allocate(effect, np.array([2.0, 0.0]), lower, upper).missed
    assert missed > 0.5


def test_a_regulator_holds_states_of_rest_alone() -> None:
    text = (
        "pliant: 1\n"
        "parameters: {torque: {value: 0 N*m, input: true}}\n"
        "bodies: {rod: {mass: 1 kg, center_of_mass: [0, 0, 0.5 m], shape: {type: slender_rod, length: 1 m, axis: z}}}\n"
        "joints: {hinge: {type: revolute, child: rod, axis: y, angle: {initial: 0.1 rad, input: =torque}}}\n"
        "control:\n"
        "  hold: {type: lqr, about: initial, sample_time: 10 ms, coordinate_weights: [{coordinate: hinge, value: 1}]}\n"
    )
    with pytest.raises(ValueError, match="controller 'hold': the state to stabilize is not an equilibrium"):
        pliant.simulate(pliant.derive(pliant.load_text(text)), 0.1)
    upright = pliant.derive(pliant.load_text(text.replace("initial: 0.1 rad, ", "")))
    start = pliant.State(np.array([0.1]), np.zeros(1))
    assert abs(pliant.simulate(upright, 6.0, start=start).q[-1, 0]) < 1e-3
    assert abs(pliant.simulate(upright, 1.0, start=start, controllers=()).q[-1, 0]) > 0.5


def test_inputs_that_are_no_numbers_are_refused(eqs: pliant.Equations) -> None:
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"the input 'force' must be a finite number"):
            pliant.simulate(eqs, 0.1, inputs={"force": value})
