"""Reasons of failed runs: mechanisms that reach a dead point, and motions that diverge."""

from __future__ import annotations

import numpy as np
import pytest

import pliant

DYAD = """
pliant: 1
bodies:
  first: {mass: 1 kg, center_of_mass: [0.25, 0, 0], shape: {type: slender_rod, length: 0.5}, frames: {end: {position: [0.5, 0, 0]}}}
  second: {mass: 1, center_of_mass: [0.25, 0, 0], shape: {type: slender_rod, length: 0.5}, frames: {end: {position: [0.5, 0, 0]}}}
  slider: {mass: 1 kg, shape: {type: sphere, radius: 2 cm}}
joints:
  shoulder: {type: revolute, child: first, axis: y, angle: {initial: -45 deg}}
  elbow: {type: revolute, parent: first.end, child: second, axis: y, angle: {initial: 90 deg}}
  guide: {type: prismatic, child: slider, axis: x, displacement: {motion: "=sqrt(0.5) * 1 m + SPEED * t"}}
constraints:
  pin: {between: [second.end, slider], components: [x, z], expressed_in: world}
"""


def dyad(speed: str) -> pliant.Equations:
    """Two links whose end is pulled away from their base at this speed; they are 1 m long together."""
    return pliant.derive(pliant.load_text(DYAD.replace("SPEED", speed)))


@pytest.mark.parametrize("method", [None, "explicit", "implicit", "generalized_alpha"])
def test_a_linkage_pulled_beyond_its_reach_reports_the_dead_point(method: str | None) -> None:
    run = pliant.simulate(dyad("0.5 m/s"), 1.0, method=method, on_failure="return")
    assert run.status == "failed"
    assert "reaches a dead point" in run.message
    assert "'guide'" in run.message
    assert "'pin.x'" in run.message
    assert run.time[-1] == pytest.approx((1 - np.sqrt(0.5)) / 0.5, rel=1e-3)


def test_a_linkage_within_its_reach_completes() -> None:
    run = pliant.simulate(dyad("0.29 m/s"), 1.0)
    assert run.status == "completed"


def test_a_linkage_whose_steps_diverge_has_reached_no_dead_point() -> None:
    stiff = DYAD.replace("SPEED", "0 m/s").replace("{initial: -45 deg}", "{initial: -45 deg, spring: 1e9 N*m/rad}")
    stiff = stiff.replace("components: [x, z]", "components: [z]")
    eqs = pliant.derive(pliant.load_text(stiff))
    run = pliant.simulate(eqs, 1.0, method="symplectic_euler", step=1e-3, on_failure="return")
    assert run.status == "failed"
    assert "dead point" not in run.message
