"""Random robots, simulated with the default method: energy, constraints, results on disk.

The environment variable PLIANT_RANDOM_ROBOTS names others than the few that run by default: `PLIANT_RANDOM_ROBOTS=0-2000`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from random_robots import RODS, chosen_seeds, random_data, random_robot

import pliant

UNTIL = 0.5
LONGEST = 10.0
"""Processor time after which a run is stopped [s], and judged by what it has computed: some robots tear themselves apart and
vibrate a million times in a second. Robots of the few below take one."""
CLOSED = 1e-8
"""Largest constraint error, relative to the robot's size [-]."""
BALANCED = 0.02
"""Fraction of the exchanged energy that may be missing without a remark."""


SEEDS = [2, 3, 6, 7, 9, 10, 11, 13, 14, 18, 20, 22, 23, 26, 27, 28, 31, 35, 40, 42, 1071, 426]
"""Robots with all kinds of parts between them; 1071 has inputs near zero in its first steps, 426 a dead point."""


@dataclass(frozen=True)
class Energies:
    """Kinetic, potential, dissipated and supplied energy of a run [J], one row each."""

    rows: np.ndarray

    @property
    def missing(self) -> float:
        """Largest error of the balance at any time, relative to the exchanged energy."""
        kinetic, potential, dissipated, supplied = self.rows
        balance = kinetic + potential + dissipated - supplied
        scale = max(float(kinetic.max()), *(float(np.ptp(x)) for x in self.rows[1:]))
        if scale <= 1e-12 * float(np.abs(self.rows).max()):
            return 0.0
        return float(np.abs(balance - balance[0]).max()) / scale


def simulated(eqs: pliant.Equations) -> pliant.Result:
    """The motion by the default method, stopped where it takes longer than it may."""
    end = time.process_time() + LONGEST

    def watch(t: float, until: float, steps: int) -> None:
        if time.process_time() > end:
            raise KeyboardInterrupt(f"stopped after {LONGEST:g} s of processor time and {steps:,} steps")

    return pliant.simulate(eqs, UNTIL, progress=watch, on_failure="return")


def energies(run: pliant.Result) -> Energies:
    return Energies(np.array([run.recorded[x] for x in ("kinetic", "potential", "dissipated", "supplied")]))


@pytest.mark.slow
@pytest.mark.parametrize("seed", chosen_seeds(SEEDS))
@pytest.mark.filterwarnings("ignore:the rod")
def test_a_random_robot_moves_as_physics_says(seed: int, tmp_path: Path) -> None:
    eqs = pliant.derive(random_robot(seed))
    run = simulated(eqs)
    if run.status == "failed" and "dead point" in run.message:
        other = pliant.simulate(eqs, UNTIL, method="generalized_alpha", on_failure="return")
        assert other.status == "failed"
        assert other.time[-1] == pytest.approx(run.time[-1], rel=1e-3)
        return
    if run.status == "failed" and any("can follow up to" in note or "law describes" in note for note in run.remarks):
        return  # an element that is folded through, or torn apart by its rotation: its states end there
    assert run.status in ("completed", "stopped"), run.message
    said = [note for note in run.remarks if "energy exchanged" in note or "deformation jumps" in note]
    still = np.ptp(run.q, axis=0).max() < 1e-9  # at rest all energies are round-off
    assert said or still or energies(run).missing < BALANCED
    size = float(np.abs(run.recorded["frame_position"]).max(initial=1e-3))
    assert np.max(run.constraint_error, initial=0.0) < CLOSED * max(size, 1.0)
    run.save(tmp_path / "run.nc")
    again = pliant.load_result(tmp_path / "run.nc")
    for name in run.recorded:
        assert np.array_equal(again.recorded[name], run.recorded[name], equal_nan=True), name
    assert again.remarks == run.remarks


def test_the_few_robots_have_all_kinds_of_parts() -> None:
    """What the quick test leaves out would only be tried by those who run all."""
    joints, rods, others = set(), set(), set()
    for seed in SEEDS:
        data = random_data(seed)
        joints |= {x["type"] for x in data["joints"].values()}
        rods |= {x["model"]["kind"] for x in data.get("rods", {}).values()}
        others |= data.keys()
    assert joints >= {
        "revolute",
        "prismatic",
        "universal",
        "cylindrical",
        "planar",
        "spherical",
        "free",
        "weld",
        "chain",
    }
    assert rods >= {"pcc", "pcs", "gvs", "cosserat", "finite_element", "pseudo_rigid"} <= RODS.keys()
    assert others >= {"links", "tendons", "loads", "constraints", "contacts", "inputs"}
