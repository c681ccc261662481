"""Mass of a rod lumped at sections along it: each represents the rod half-way to its neighbours as a rigid piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pliant.geometry import se3
from pliant.geometry.se3 import Pose
from pliant.rod.properties import RodProperties, add_piece_of_mass
from pliant.rod.quadrature import gauss_between

if TYPE_CHECKING:
    from pliant.model.build import Build

WORLD = 0
GAUSS = 3**-0.5
"""Gauss points at +-GAUSS of a half piece give its exact mass, centre and inertia, also for linear taper."""


def add_lumped_masses(
    build: Build,
    rod: RodProperties,
    nodes: Sequence[tuple[int, Pose]],
    arc_lengths: Sequence[Any],
    fractions: Sequence[float],
) -> None:
    """Distribute the rod's mass to nodes (with placements) at the given arc lengths [m], including base and tip.

    `fractions` are these relative to the length at the model's own parameter values.

    Mass, centre of mass and inertia of the rod are exact in its initial shape. Mass on the world is omitted: it never moves.
    """
    for piece in lumped_pieces(rod, nodes, arc_lengths, fractions):
        add_piece_of_mass(build, rod, *piece)


def lumped_pieces(
    rod: RodProperties, nodes: Sequence[tuple[int, Pose]], arc_lengths: Sequence[Any], fractions: Sequence[float]
) -> Iterator[tuple[int, Pose, Any, float, tuple[float, float]]]:
    """Short pieces of the rod that move with nodes: node, placement, length [m], fraction of the rod's length, and the ends of the
    part without steps and kinks that two of them represent."""
    last = len(nodes) - 1
    for k, ((node, placement), here) in enumerate(zip(nodes, arc_lengths, strict=True)):
        if node == WORLD:
            continue
        before, after = max(k - 1, 0), min(k + 1, last)
        begin, end = (_point(fractions[before], fractions[k], fractions[after], side) for side in (-1, 1))
        parts = rod.parts(begin, end)
        if len(parts) > 1:
            first, last_arc = (_point(arc_lengths[before], here, arc_lengths[after], side) for side in (-1, 1))
            for part in parts:
                for x, weight in gauss_between(*part, 2):
                    at = first + (x - begin) / (end - begin) * (last_arc - first)
                    length = weight / (end - begin) * (last_arc - first)
                    yield node, se3.compose(placement, rod.curve.relative(here, at)), length, x, part
            continue
        half = (arc_lengths[after] - arc_lengths[before]) / 4
        for side in (-GAUSS, GAUSS):
            at = _point(arc_lengths[before], here, arc_lengths[after], side)
            x = _point(fractions[before], fractions[k], fractions[after], side)
            yield node, se3.compose(placement, rod.curve.relative(here, at)), half, x, (begin, end)


def _point(before: Any, here: Any, after: Any, side: float) -> Any:
    """Point of the piece that reaches half-way to both neighbours; `side` from -1 (its begin) to 1 (its end)."""
    return (before + 2 * here + after) / 4 + side * (after - before) / 4
