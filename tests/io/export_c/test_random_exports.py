"""Random robots move in exported C as they do in the engine here.

The environment variable PLIANT_RANDOM_ROBOTS names others than the few that run by default: `PLIANT_RANDOM_ROBOTS=0-2000`.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from c_export import exported, needs_gcc, numbers, reference
from random_robots import chosen_seeds, random_data

import pliant

SEEDS = [20, 31, 34, 42]
"""Robots that have joints, rods, tendons, links, constraints, contacts and inputs between them."""
STEP, STEPS = 1e-3, 20


def test_the_few_robots_have_all_kinds_of_parts() -> None:
    found = {key for seed in SEEDS for key in random_data(seed)}
    assert found >= {"joints", "rods", "tendons", "links", "constraints", "contacts", "inputs", "loads"}


def with_switches_on_steps(data: str) -> str:
    """The model with times at which inputs jump or bend rounded to whole steps: the way to other times is divided into equal steps
    here, and into whole steps and a rest in exported C, which agree only to the error of the steps."""

    def rounded(found: re.Match[str]) -> str:
        return f"{found[1]}{max(1, round(float(found[2]) / STEP)) * STEP:.9g}"

    return re.sub(r'("(?:start|end|at)": |t < )([0-9.e-]+)', rounded, data)


@needs_gcc
@pytest.mark.parametrize("seed", chosen_seeds(SEEDS))
@pytest.mark.filterwarnings("ignore:the rod", "ignore:generalized_alpha")
def test_a_random_robot_moves_in_c_as_here(seed: int, tmp_path: Path) -> None:
    export = exported(
        with_switches_on_steps(json.dumps(random_data(seed))), tmp_path / "c", "generalized_alpha", step=STEP
    )
    program, end = export.build(), STEPS * STEP
    done = subprocess.run([program, f"{end:g}", "5"], capture_output=True, text=True, check=False)
    if stopped := re.search(r"stopped at t = (\S+) s: the step's equations could not be solved", done.stderr):
        run = pliant.simulate(export.equations, end, method=pliant.GeneralizedAlpha(step=STEP), on_failure="return")
        assert run.status == "failed"
        assert run.time[-1] == pytest.approx(float(stopped[1]), abs=1e-9)
        return
    found = numbers(program, f"{end:g}", "5")
    expected = reference(export, found[:, 0], "generalized_alpha", STEP)
    scale = np.maximum(1.0, np.abs(expected).max(axis=0))
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0, atol=1e-9)
