"""Crossings of events within long steps."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant import Event, simulate

THROWN = """
pliant: 1
bodies: {a: {mass: 1 kg}}
joints: {p: {type: prismatic, child: a, axis: z, displacement: {rate: 5 m/s}}}
"""

SWINGING = """
pliant: 1
world: {gravity: [0, 0, 0]}
bodies: {a: {mass: 1 kg}}
joints: {p: {type: prismatic, child: a, axis: x, displacement: {initial: 1 m, spring: 1 N/m}}}
"""


def times(run: pliant.Result, name: str) -> list[float]:
    return run.events[name].tolist()


@pytest.fixture(scope="module")
def thrown() -> pliant.Equations:
    return pliant.derive(pliant.load_text(THROWN))


@pytest.fixture(scope="module")
def swinging() -> pliant.Equations:
    return pliant.derive(pliant.load_text(SWINGING))


@pytest.mark.parametrize("until", [1.0, 20.0, 200.0])
def test_a_height_near_the_apex_is_reached_in_runs_of_any_length(thrown, until):
    g = 9.81
    root = np.sqrt(25 - 2 * g * 1.2)
    both = [(5 - root) / g, (5 + root) / g]
    run = simulate(thrown, until, events=[Event(lambda now: now.q["p"] - 1.2, name="level")])
    assert run.status == "stopped"
    assert run.time[-1] == pytest.approx(both[0], rel=1e-6)
    run = simulate(thrown, until, events=[Event(lambda now: now.q["p"] - 1.2, stop=False, name="level")])
    assert times(run, "level") == pytest.approx(both, rel=1e-6)
    for direction, at in zip(("rising", "falling"), both, strict=True):
        run = simulate(thrown, until, events=[Event(lambda now: now.q["p"] - 1.2, direction, name="level")])
        assert run.time[-1] == pytest.approx(at, rel=1e-6)
    run = simulate(thrown, until, events=[Event(lambda now: now.q["p"] - 1.28, name="level")])
    assert run.status == "completed"


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99, 0.999])
def test_both_crossings_beside_an_extremum_are_found_in_every_period(swinging, level):
    run = simulate(swinging, 20.0, events=[Event(lambda now: now.q["p"] + level, stop=False, name="x")])
    first = np.arccos(-level)
    exact = [2 * np.pi * k + x for k in range(3) for x in (first, 2 * np.pi - first)]
    assert times(run, "x") == pytest.approx(exact, abs=2e-2)


def test_a_wall_just_before_the_turning_point_is_hit_in_every_period(swinging):
    def bounce(now: pliant.Now) -> None:
        now.v["p"] = -now.v["p"]

    wall = Event(lambda now: now.q["p"] + 0.9999, "falling", then=bounce, name="wall")
    run = simulate(swinging, 20.0, events=[wall])
    quarter = np.arccos(-0.9999)
    assert times(run, "wall") == pytest.approx([quarter + 2 * quarter * k for k in range(3)], abs=2e-3)


def test_commands_that_are_returned_instead_of_set_are_refused(swinging):
    """A controller returns them; of a mid-step function, or at an event, they would be ignored."""
    ahead = Event(lambda now: now.q["p"] - 0.5, then=lambda now: {"p": 0.0})  # type: ignore[arg-type,return-value]
    for options in ({"mid_step": lambda now: {"p": 0.0}}, {"events": [ahead]}):
        with pytest.raises(pliant.ArgumentError, match=r"returned .* no effect.*now\.inputs\[name\]"):
            simulate(swinging, 3.0, **options)
