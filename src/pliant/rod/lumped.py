"""Mass of a rod lumped at sections along it: each carries the rod half-way to its neighbours as a rigid piece."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca

from pliant.geometry import se3
from pliant.geometry.se3 import Pose
from pliant.rod.properties import RodProperties

if TYPE_CHECKING:
    from pliant.model.build import Build

WORLD = 0
GAUSS = 3**-0.5
"""Gauss points at +-GAUSS of a half piece give its mass, centre and inertia exactly, also where it tapers linearly."""


def add_lumped_masses(
    build: Build, rod: RodProperties, nodes: Sequence[tuple[int, Pose]], arc_lengths: Sequence[Any]
) -> None:
    """Put the rod's mass on nodes (with placements) that stand at the given arc lengths [m], base and tip included.

    Mass, centre of mass and inertia of the unstressed rod are exact. The world's share is left out: it never moves.
    """
    last = len(nodes) - 1
    for k, ((node, placement), here) in enumerate(zip(nodes, arc_lengths, strict=True)):
        if node == WORLD:
            continue
        begin = here if k == 0 else (arc_lengths[k - 1] + here) / 2
        end = here if k == last else (here + arc_lengths[k + 1]) / 2
        middle, half = (begin + end) / 2, (end - begin) / 2
        for side in (-GAUSS, GAUSS):
            at = middle + side * half
            section = rod.section(build.nominal(at / rod.length))
            inertia = ca.diag(ca.vertcat(*[half * x for x in section.rotary]))
            place = se3.compose(placement, rod.unstressed(at - here))
            build.system.mass(node, half * section.mass, ca.DM.zeros(3), inertia, place)
