"""Remarks on values that are allowed but seldom meant."""

from __future__ import annotations

import pytest

from pliant import derive, load_text
from pliant.cli import run
from pliant.spec.reader import remarks

TEXT = """
pliant: 1
parameters: {stiffness: -5 N/m}
bodies: {a: {count: 3, mass: 1 kg}, b: {mass: 1 kg}}
joints:
  slide:
    type: prismatic
    parent: a[i-1]
    first_parent: world
    child: a
    displacement: {spring: =stiffness, damper: {coefficient: -1 N*s/m}}
  flight: {type: free, child: b, orientation: {damper: -1}, x: {spring: {coefficient: =-5 N/m*(x/(1 m))}}}
links:
  rope: {type: axial, between: [world, b], spring: {coefficient: -3 N/m, rest: 1 m}}
  beam: {type: beam, between: [world, b], stiffness: [1, -2, 3, 0, 0, 0]}
"""

FOUND = [
    "joints.slide.displacement.spring.coefficient is -5, below zero: it pushes away from its rest",
    "joints.slide.displacement.damper.coefficient is -1, below zero: it drives the motion instead of damping it",
    "joints.flight.orientation.damper is -1, below zero: it drives the motion instead of damping it",
    "links.rope.spring.coefficient is -3, below zero: it pushes away from its rest",
    "links.beam.stiffness is -2, below zero: it pushes away from its rest",
]


def test_negative_springs_and_dampers_get_one_remark_each() -> None:
    assert [str(one) for one in remarks(load_text(TEXT))] == FOUND
    assert remarks(load_text(TEXT.replace("-", "").replace("a[i1]", "a[i-1]"))) == []


def test_remarks_are_said_by_check_and_derive(tmp_path, capsys) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(TEXT.replace("rest: 1 m", "rest: 1.5 m"))
    assert run(["check", str(path)]) == 0
    assert [line.strip() for line in capsys.readouterr().out.splitlines()[1:]] == FOUND
    with pytest.warns(UserWarning, match="pushes away from its rest"):
        derive(path)
