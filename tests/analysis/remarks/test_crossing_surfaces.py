"""Parts that are placed inside each other have no contact force, or too small a one: the remark states how deep they are."""

from __future__ import annotations

import numpy as np
import pytest

import pliant

BLOCK = "{type: box, parent: a, size: [0.2, 0.2, 0.2]}"


def robot(first: str, second: str, position: str) -> pliant.Equations:
    """Two bodies that float, with a surface each."""
    inertia = "mass: 1 kg, inertia: {principal: [1e-2, 1e-2, 1e-2]}"
    return pliant.derive(
        pliant.load_text(
            f"""
pliant: 1
name: two
world: {{gravity: [0, 0, 0]}}
bodies: {{a: {{{inertia}}}, b: {{{inertia}}}}}
joints:
  a: {{type: free, child: a}}
  b: {{type: free, child: b, position: {position}}}
surfaces: {{one: {first}, two: {second}}}
contacts: {{c: {{between: [one, two]}}}}
"""
        )
    )


def across(notes: tuple[str, ...]) -> list[str]:
    """The remarks on parts that overlap."""
    return [note for note in notes if note.startswith("parts overlap more deeply")]


@pytest.mark.parametrize(
    ("first", "second", "position", "depth"),
    [
        (BLOCK, "{type: box, parent: b, size: [0.05, 0.05, 0.6]}", "[0.06, 0, 0]", 0.065),
        (BLOCK, "{type: capsule, parent: b, radius: 2 cm, length: 0.6}", "[0.05, 0, 0.02]", 0.07),
        (BLOCK, "{type: cylinder, parent: b, radius: 2 cm, length: 0.6}", "[0.05, 0, 0.02]", 0.07),
        (BLOCK, "{type: box, parent: b, size: [0.2, 0.2, 0.2]}", "[0, 0, 0]", 0.104),
        (
            "{type: capsule, parent: a, axis: x, radius: 3 cm, length: 0.6}",
            "{type: capsule, parent: b, radius: 2 cm, length: 0.6}",
            "[0, 0, 0]",
            0.05,
        ),
        ("{type: sphere, parent: a, radius: 3 cm}", "{type: sphere, parent: b, radius: 2 cm}", "[0, 0, 0]", 0.05),
    ],
)
def test_parts_that_overlap_deeply_have_a_remark_with_names_and_depth(
    first: str, second: str, position: str, depth: float
) -> None:
    eqs = robot(first, second, position)
    run = pliant.simulate(eqs, 0.01)
    assert np.all(run.q[-1] == run.q[0])  # nothing parts them
    (note,) = across(run.remarks)
    assert f"one and two by {depth:.2g} m" in note
    assert across(pliant.equilibrium(eqs, on_failure="return").remarks)


@pytest.mark.parametrize(
    ("second", "position"),
    [
        ("{type: box, parent: b, size: [0.05, 0.05, 0.05]}", "[0.1249, 0, 0]"),  # corners in a face
        ("{type: box, parent: b, size: [0.05, 0.05, 0.05]}", "[0.03, 0, 0]"),  # all corners inside
        ("{type: sphere, parent: b, radius: 2 cm}", "[0.05, 0.01, 0.02]"),
        ("{type: capsule, parent: b, radius: 2 cm, length: 0.6}", "[0.1199, 0, 0.02]"),
        ("{type: capsule, parent: b, radius: 2 cm, length: 0.05}", "[0.05, 0, 0.02]"),
        ("{type: box, parent: b, size: [0.05, 0.05, 0.05]}", "[0.13, 0, 0]"),  # apart
    ],
)
def test_parts_with_contacts_as_deep_as_they_are_have_none(second: str, position: str) -> None:
    assert not across(pliant.simulate(robot(BLOCK, second, position), 1e-4).remarks)


@pytest.mark.parametrize("name", ["gripper", "hopper", "sleeve", "snake"])
def test_bundled_robots_have_no_such_remark(name: str) -> None:
    assert not across(pliant.simulate(pliant.derive(pliant.load(name)), 1e-3).remarks)
