"""Random robots move in exported C as they do in the engine here.

The environment variable PLIANT_RANDOM_ROBOTS names others than the few that run by default: `PLIANT_RANDOM_ROBOTS=0-2000`.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from c_export import Export, exported, needs_gcc
from random_robots import chosen_seeds, random_data

import pliant
from pliant.analysis.numerics.state import State
from pliant.engine.equations import Equations

SEEDS = [20, 31, 34, 42, 454]
"""Robots that have joints, rods, tendons, links, constraints, contacts and inputs between them; steps of the last are halved."""
STEP, STEPS = 1e-3, 20
METHOD = pliant.GeneralizedAlpha(step=STEP)
CLOSE = 1e-9
"""Difference of two motions, relative to the largest values of each coordinate (at least 1), that is round-off."""
CHANGE, TRIALS, MARGIN = 1e-13, 64, 30.0
"""Measure of the sensitivity of a motion: relative changes of its start, number of changed motions, and a factor on their
differences, because round-off occurs in every step and not only at the start."""


def test_the_few_robots_have_all_kinds_of_parts() -> None:
    found = {key for seed in SEEDS for key in random_data(seed)}
    assert found >= {"joints", "rods", "tendons", "links", "constraints", "contacts", "inputs", "loads"}


def with_switches_on_steps(data: str) -> str:
    """The model with times at which inputs jump or bend rounded to whole steps: the way to other times is divided into equal steps
    here, and into whole steps and a rest in exported C, which agree only to the error of the steps."""

    def rounded(found: re.Match[str]) -> str:
        return f"{found[1]}{max(1, round(float(found[2]) / STEP)) * STEP:.9g}"

    return re.sub(r'("(?:start|end|at)": |t < )([0-9.e-]+)', rounded, data)


@pytest.mark.slow
@needs_gcc
@pytest.mark.parametrize("seed", chosen_seeds(SEEDS))
@pytest.mark.filterwarnings("ignore:the rod", "ignore:generalized_alpha")
def test_a_random_robot_moves_in_c_as_here(seed: int, tmp_path: Path) -> None:
    export = exported(
        with_switches_on_steps(json.dumps(random_data(seed))), tmp_path / "c", "generalized_alpha", step=STEP
    )
    assert_the_same_motion(in_c(export), export.equations)


@dataclass(frozen=True)
class Motion:
    """Rows of t, q, kinetic and potential energy at the end of each step, and the time at which it stopped, or infinity."""

    rows: np.ndarray
    stopped: float


def in_c(export: Export) -> Motion:
    """The motion of the exported program."""
    done = subprocess.run(
        [export.build(), f"{STEP * STEPS:g}", f"{STEPS}"], capture_output=True, text=True, check=False
    )
    lines = [line.split() for line in done.stdout.splitlines() if not line.startswith("#")]
    stopped = re.search(r"stopped at t = (\S+) s: ", done.stderr)
    assert (done.returncode == 0) == (stopped is None), done.stderr
    return Motion(np.array([[float(x) for x in line] for line in lines]), float(stopped[1]) if stopped else math.inf)


def here(equations: Equations, start: State | None = None) -> Motion:
    """The motion by the engine here."""
    run = pliant.simulate(equations, STEP * STEPS, start=start, method=METHOD, save_every=STEP, on_failure="return")
    rows = np.column_stack([run.time, run.q, run.energy["kinetic"], run.energy["potential"]])
    if run.status == "completed":
        return Motion(rows, math.inf)
    on_steps = np.abs(run.time / STEP - np.round(run.time / STEP)) < 1e-6  # a failed run ends with its last state
    return Motion(rows[on_steps], run.time[-1])


def nearly(state: State, seed: int) -> State:
    """The state with every position and rate changed by a random relative `CHANGE`."""
    random = np.random.default_rng(seed)
    q, v = (x * (1 + CHANGE * random.standard_normal(x.size)) for x in (state.q, state.v))
    return replace(state, q=q, v=v)


def assert_the_same_motion(found: Motion, equations: Equations) -> None:
    """The motion is that of the engine here to round-off, or differs from it no more than motions here that begin with a change of
    the size of round-off: impacts within a step amplify it, and Newton's method, which ends at a tolerance, may go another way."""
    expected = here(equations)
    scale = np.maximum(1.0, np.abs(expected.rows).max(axis=0))

    def difference(other: Motion) -> np.ndarray:
        """The largest one up to each step; infinite where one of the motions has stopped."""
        size = np.full(STEPS + 1, np.inf)
        count = min(len(other.rows), len(expected.rows))
        size[:count] = (np.abs(other.rows[:count] - expected.rows[:count]) / scale).max(axis=1)
        size[count:] = 0.0 if len(other.rows) == len(expected.rows) else np.inf
        return np.maximum.accumulate(size)

    size, bound, stops = difference(found), np.full(STEPS + 1, CLOSE), [expected.stopped]
    if (size <= bound).all() and within(stops, found.stopped):
        return
    start = pliant.simulate(equations, STEP, method=METHOD, on_failure="return").state_at(0.0)
    for trial in range(TRIALS):
        other = here(equations, nearly(start, trial))
        bound, stops = np.maximum(bound, MARGIN * difference(other)), [*stops, other.stopped]
        if (size <= bound).all() and within(stops, found.stopped):
            return
    worst = int(np.argmax(size / bound))
    raise AssertionError(
        f"differs by {size[worst]:.1e} at t = {worst * STEP:g} s, where motions here with starts changed by {CHANGE:g} differ by "
        f"{bound[worst] / MARGIN:.1e}; stops at {found.stopped:g} s, and these between {min(stops):g} s and {max(stops):g} s"
    )


def within(times: list[float], time: float) -> bool:
    """Whether a time, of which the program prints six digits, is within a range; infinity stands for motions that do not stop."""
    return min(times) * (1 - 1e-5) <= time <= max(times) * (1 + 1e-5)
