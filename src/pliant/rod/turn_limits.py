"""Limits on the rotation between neighbouring sections, beyond which the coordinates of a rod model are ambiguous."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import casadi as ca

from pliant.geometry.se3 import Pose
from pliant.language.faults import Fault, SpecError
from pliant.rod.properties import RodProperties

if TYPE_CHECKING:
    from pliant.model.build import Build

NEAR = 0.95
"""Fraction of its limit above which a rotation is reported, and a shape rejected."""


def limit_turns(
    build: Build,
    rod: RodProperties,
    places: Sequence[tuple[int, Pose]],
    arc_lengths: Sequence[Any],
    limit: float,
    hint: str,
) -> None:
    """Limit the rotation between neighbouring sections to `limit` [rad]: reject shapes beyond it, and monitor analyses."""
    if rod.curve.straight is None:
        arc_lengths = build.nominals(ca.vertcat(*arc_lengths)).ravel().tolist()
    for (a, b), (begin, end) in zip(pairwise(places), pairwise(arc_lengths), strict=True):
        refuse_turn(rod, begin, end, limit, hint, "between neighbouring sections")
        build.limit_turn(rod.name, a, b, limit, hint)


def refuse_turn(rod: RodProperties, begin: Any, end: Any, limit: float, hint: str, where: str) -> None:
    """Reject a shape that rotates too far from one arc length to another [m]."""
    turn = rod.curve.turn(begin, end)
    if turn >= NEAR * limit:
        text = f"the shape turns by {math.degrees(turn):.4g} deg {where}; this rod model allows up to {math.degrees(limit):g} deg"
        raise SpecError([Fault(text, hint, f"rods.{rod.name}.shape")])
