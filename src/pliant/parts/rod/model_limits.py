"""Limits of what the coordinates of a rod model can represent: rotations between sections, and steps of the section."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import casadi as ca

from pliant.language.faults import Fault, SpecError
from pliant.parts.geometry.se3 import Pose
from pliant.parts.rod.properties import RodProperties
from pliant.parts.rod.quadrature import ROUND_OFF

if TYPE_CHECKING:
    from pliant.engine.model.build import Build


TURN_SHARE = 0.95
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
    if turn >= TURN_SHARE * limit:
        text = f"the shape turns by {math.degrees(turn):.4g} deg {where}; this rod model allows up to {math.degrees(limit):g} deg"
        raise SpecError([Fault(text, hint, f"rods.{rod.name}.shape")])


STEP_RATIO = 1.2
"""Ratio of the bending stiffnesses on both sides of a step from which it is remarked."""


def remark_steps(build: Build, rod: RodProperties, ends: Sequence[float]) -> None:
    """Remark a step between the ends of elements (fractions of the length): strains are smooth there, but should jump."""
    for step in rod.steps:
        if any(abs(end - step) < 10 * ROUND_OFF for end in ends):
            continue
        before, after = (build.nominal(rod.section(step + side * 10 * ROUND_OFF).stiffness[3]) for side in (-1, 1))
        if max(before, after) > STEP_RATIO * min(before, after):
            build.notes.append(
                f"the section of the rod '{rod.name}' has a step at {step * build.nominal(rod.length):.3g} m, within an element: "
                "its strains cannot jump there, so its deflection is inaccurate. Use more elements, or a model whose elements "
                "end at steps (pcs, gvs with elements, cosserat, finite_element)"
            )
            return
