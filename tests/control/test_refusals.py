"""Paths, noise, commands and designs that cannot work are rejected or reported with clear messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
import pytest

import pliant
from pliant.analysis.motion.events import Now
from pliant.analysis.motion.sampled_control import SampledLoop
from pliant.control import (
    ConstraintControl,
    Coordinates,
    Goal,
    Limits,
    Pid,
    PidControl,
    Predictive,
    Reference,
    StateFeedback,
    StaticControl,
    Tracking,
    discretize,
    lqr,
    plan,
)
from pliant.control.path_control import error_growth

TEXT = """
pliant: 1
parameters: {one: {value: 0 N*m, input: true}, two: {value: 0 N*m, input: true}}
defaults:
  bodies: {mass: 1 kg, center_of_mass: [0, 0, -25 cm], shape: {type: slender_rod, length: 50 cm, axis: z}}
  joints: {type: revolute, axis: y}
bodies:
  upper: {frames: {tip: {position: [0, 0, -50 cm]}}}
  lower: {frames: {tip: {position: [0, 0, -50 cm]}}}
joints:
  shoulder: {child: upper, angle: {input: =one, damper: 0.5 N*m*s}}
  elbow: {parent: upper.tip, child: lower, angle: {input: =two, damper: 0.5 N*m*s}}
outputs: {tip: {frame: lower.tip}, bend: {coordinate: elbow}}
"""
BOTH = Coordinates(("shoulder", "elbow"))


@pytest.fixture(scope="module")
def arm() -> pliant.Equations:
    return pliant.derive(pliant.load_text(TEXT))


FOLLOWERS: dict[str, Callable[[pliant.Equations, Reference], object]] = {
    "pid": lambda arm, path: PidControl(arm, BOTH, path, Pid(3.0, 1.0), sample_time=0.01),
    "constraint": lambda arm, path: ConstraintControl(arm, BOTH, path, Pid.critical(0.1), sample_time=0.01),
    "statics": lambda arm, path: StaticControl(arm, BOTH, path),
    "predictive": lambda arm, path: Predictive(arm, ("tip",), path),
}


@pytest.mark.parametrize("kind", FOLLOWERS)
def test_paths_of_another_size_or_without_numbers_are_refused(arm: pliant.Equations, kind: str) -> None:
    size = 3 if kind == "predictive" else 2
    with pytest.raises(ValueError, match=f"1 values for {size} components"):
        pliant.simulate(arm, 0.1, controllers=FOLLOWERS[kind](arm, Reference.constant([0.1])))
    point, zero = np.array([0.1, 0.0, -0.9])[:size], np.zeros(size)

    def lost(t: float) -> np.ndarray:
        return np.where(t > 0.035, np.nan, point)

    with pytest.raises(ValueError, match=r"is \[nan.*at t = 0\.0\d+ s; it must be finite"):
        pliant.simulate(arm, 0.3, controllers=FOLLOWERS[kind](arm, Reference(lost, lambda t: zero, lambda t: zero)))


def test_a_path_is_a_reference_of_predictive_control(arm: pliant.Equations) -> None:
    there = [-0.6, 0.0, -0.6]
    strong = Limits(lower={"one": -20.0, "two": -20.0}, upper={"one": 20.0, "two": 20.0})
    run = pliant.simulate(arm, 1.0, controllers=Predictive(arm, ("tip",), Reference.constant(there), limits=strong))
    np.testing.assert_allclose(run["tip"].values[-1], there, atol=1e-3)


@pytest.mark.parametrize("settling", [0.5, 0.8, 0.99, 1.01, 1.5, 4.0])
def test_sampled_feedback_of_accelerations_is_stable_for_settling_above_the_sample_time(settling: float) -> None:
    """By Jury's criterion, errors of a critically damped double integrator decay while the sample time is below `settling`."""
    largest = error_growth(Pid.critical(settling * 0.01), 1, 0.01, 0.0)
    assert (largest < 1) == (settling > 1)
    if settling == 0.5:
        p, d = (1 / 0.5) ** 2, 2 / 0.5  # per sample
        roots = np.roots([1, -(2 - d - p / 2), 1 - d + p / 2])
        assert largest == pytest.approx(np.max(np.abs(roots)), rel=1e-12)


def test_growing_errors_of_constraint_control_are_foretold(arm: pliant.Equations) -> None:
    path = Reference.constant([0.2, 0.1])

    def control(settling: float, delay: float = 0.0, integral: bool = False) -> ConstraintControl:
        feedback = Pid.critical(settling, integral=integral)
        return ConstraintControl(arm, BOTH, path, feedback, sample_time=0.01, delay=delay)

    assert not control(0.05).remarks
    assert not control(0.05, 0.01).remarks
    assert not control(0.05, integral=True).remarks
    assert "Sample faster" in control(0.008).remarks[0]
    assert control(0.02, 0.02).remarks  # the delay alone makes it unstable
    run = pliant.simulate(arm, 0.05, controllers=control(0.008))
    assert any("constraint control': errors grow" in note for note in run.remarks)
    first = [abs(run.q[np.searchsorted(run.time, t), 0] - 0.2) for t in (0.01, 0.04)]
    assert first[1] > first[0]


def test_parts_of_an_output_are_noisy_independently(arm: pliant.Equations) -> None:
    seen: list[np.ndarray] = []

    class Look:
        sample_time = 1e-3
        noise: ClassVar = {"tip": 1e-3, "bend": 0.1}

        def start(self, now: Now) -> None: ...

        def command(self, now: Now) -> dict[str, float]:
            values = now.outputs
            seen.append(now.measure(("tip", "bend")) - np.append(values["tip"], values["bend"]))
            return {}

    pliant.simulate(arm, 2.0, controllers=Look())
    noise = np.array(seen)
    assert noise.shape == (2000, 4)
    np.testing.assert_allclose(noise.std(axis=0), [1e-3, 1e-3, 1e-3, 0.1], rtol=0.06)
    assert np.abs(np.corrcoef(noise.T) - np.eye(4)).max() < 0.1  # 4.5 standard deviations of 2000 samples


def test_noise_that_nobody_reads_or_that_is_no_deviation_is_refused(arm: pliant.Equations) -> None:
    regulator = lqr(discretize(pliant.linearize(arm), 0.01))
    with pytest.raises(ValueError, match="noise of tip, but no observer reads it"):
        StateFeedback(arm, regulator, noise={"tip": 1e-3})

    class Look:
        sample_time = 0.01
        noise: ClassVar[dict[str, object]] = {}

        def start(self, now: Now) -> None: ...

        def command(self, now: Now) -> dict[str, float]:
            return {}

    for noise, message in (
        ({"tap": 1.0}, "did you mean 'tip'"),
        ({"tip": -1.0}, "give a standard deviation"),
        ({"tip": [1.0, 2.0]}, r"shape \(3,\)"),
        ({"bend": np.nan}, "give a standard deviation"),
    ):
        Look.noise = noise
        with pytest.raises((ValueError, KeyError), match=message):
            pliant.simulate(arm, 0.1, controllers=Look())


def test_objects_and_commands_that_are_none_are_refused(arm: pliant.Equations) -> None:
    class Say:
        sample_time = 0.01
        answer: object = None

        def start(self, now: Now) -> None: ...

        def command(self, now: Now) -> object:
            return self.answer

    for wrong, message in ((object(), "is not a controller"), (Say, "the class Say is not a controller")):
        with pytest.raises(ValueError, match=message):
            pliant.simulate(arm, 0.1, controllers=wrong)
    for answer, message in (
        (None, "return inputs by name"),
        (3.0, "return inputs by name"),
        ({"one": "3"}, "not a number"),
    ):
        Say.answer = answer
        with pytest.raises(ValueError, match=message):
            pliant.simulate(arm, 0.1, controllers=Say())
    Say.answer = {}
    assert SampledLoop([Say()], 0.0, 0.1).active


def test_a_plan_that_failed_is_not_tracked(arm: pliant.Equations) -> None:
    weak = Limits(lower={"one": -0.1, "two": -0.1}, upper={"one": 0.1, "two": 0.1})
    failed = plan(arm, 0.1, Goal({"shoulder": 3.0}), limits=weak, intervals=5, iterations=30)
    assert failed.status == "failed"
    with pytest.raises(ValueError, match="no trajectory to follow: the search ran out of iterations"):
        Tracking(arm, failed, lqr(discretize(pliant.linearize(arm), 0.01)))


def test_units_of_noise_are_those_of_what_is_measured() -> None:
    text = (
        TEXT
        + """
control:
  hold:
    type: lqr
    sample_time: 10 ms
    coordinate_weights: [{coordinate: elbow, value: 1}]
    sensors: [{output: tip, noise: 1 deg}, {output: bend, noise: 1 mm}]
    disturbances: [{input: one, deviation: 1 N}]
"""
    )
    with pytest.raises(pliant.SpecError) as caught:
        pliant.load_text(text)
    said = str(caught.value)
    assert "expected a length, got a plain number or angle: '1 deg'" in said
    assert "expected a plain number or angle, got a length: '1 mm'" in said
    assert "expected a torque or energy, got a force: '1 N'" in said
    right = text.replace("1 deg", "1 mm").replace("bend, noise: 1 mm", "bend, noise: 1 deg").replace("1 N}", "1 N*m}")
    assert pliant.load_text(right)
