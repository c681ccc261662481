"""Vibrations that implicit steps are too long for: erased ones have a remark that names the frame and the frequency."""

from __future__ import annotations

import numpy as np
import pytest

import pliant

STIFFNESS, MASS = 1e6, 0.01


def two_bodies(fast: str, *, joint: str = "prismatic") -> pliant.Equations:
    """A body that moves slowly, and another one on a stiff spring, with no effect on each other."""
    key = "displacement" if joint == "prismatic" else "angle"
    return pliant.derive(
        pliant.load_text(
            f"""
pliant: 1
name: two_bodies
bodies:
  slow: {{mass: 1 kg}}
  fast: {{mass: {MASS} kg, inertia: {{principal: [{MASS}, {MASS}, {MASS}]}}}}
joints:
  s: {{type: prismatic, child: slow, axis: x, displacement: {{spring: 40 N/m, rate: 1 m/s}}}}
  f: {{type: {joint}, child: fast, axis: y, {key}: {{{fast}}}}}
"""
        )
    )


def lost(run: pliant.Result) -> list[str]:
    """The remarks on lost vibrations."""
    return [note for note in run.remarks if note.startswith("a vibration of")]


@pytest.mark.parametrize(("joint", "stiffness"), [("prismatic", STIFFNESS), ("revolute", 100 * STIFFNESS)])
def test_an_erased_vibration_has_a_remark_with_its_frame_and_frequency(joint: str, stiffness: float) -> None:
    eqs = two_bodies(f"spring: {stiffness}, rate: 0.5", joint=joint)
    run = pliant.simulate(eqs, 1.0)
    assert np.abs(run.v[-20:, 1]).max() < 1e-3  # its true amplitude is 0.5 at any time
    (note,) = lost(run)
    hertz = np.sqrt(stiffness / MASS) / (2 * np.pi)
    assert "'fast'" in note
    assert f"{hertz:.2g} Hz" in note
    assert f"up to 0.5 {'m/s' if joint == 'prismatic' else 'rad/s'}" in note


def test_the_suggested_changes_resolve_the_vibration() -> None:
    eqs = two_bodies(f"spring: {STIFFNESS} N/m, rate: 0.5 m/s")
    period = 2 * np.pi * np.sqrt(MASS / STIFFNESS)
    for options in ({"method": "explicit"}, {"method": pliant.Rosenbrock(step=period / 20)}):
        run = pliant.simulate(eqs, 0.1, **options)
        assert np.abs(run.v[-60:, 1]).max() == pytest.approx(0.5, rel=0.05)
        assert not lost(run)


def test_a_vibration_that_a_jump_of_a_force_excites_is_reported_too() -> None:
    run = pliant.simulate(two_bodies(f'spring: {STIFFNESS} N/m, input: "=if(t < 0.3 s, 0 N, 500 N)"'), 1.0)
    assert len(lost(run)) == 1


@pytest.mark.parametrize("ratio", [0.1, 1.0, 10.0])
def test_damped_vibrations_that_end_within_a_step_have_no_remark(ratio: float) -> None:
    damper = 2 * ratio * np.sqrt(STIFFNESS * MASS)
    assert not lost(pliant.simulate(two_bodies(f"spring: {STIFFNESS} N/m, damper: {damper} N*s/m, rate: 0.5 m/s"), 1.0))


def test_stiff_parts_that_follow_slow_forces_have_no_remark() -> None:
    run = pliant.simulate(two_bodies(f'spring: {STIFFNESS} N/m, input: "=500 N*(1 - cos(20*t/1 s))"'), 1.0)
    assert "implicit" in run.method
    assert not lost(run)


@pytest.mark.parametrize("name", ["cantilever", "leg", "tendon_robot", "gripper", "arm_with_rod"])
def test_bundled_robots_have_no_such_remark(name: str) -> None:
    assert not lost(pliant.simulate(pliant.derive(pliant.load(name)), 0.5))
