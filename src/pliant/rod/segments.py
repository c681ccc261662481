"""Rods as segments in series with their free strains as coordinates: common base of `pcs` and `pseudo_rigid`.

Fixed strains are constants of a segment. If they are all zero for all parameters, as in a straight rod, separate types omit them:
their kernels are shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from pliant.geometry.se3 import Pose
from pliant.motion.base import Motion, Vector
from pliant.motion.fields import Fields
from pliant.rod.pieces import PieceKind, PieceState
from pliant.rod.properties import RodProperties
from pliant.rod.stations import SectionState
from pliant.rod.strains import ALL, LABELS, Free, all_six, held_strains, is_zero, spelled

if TYPE_CHECKING:
    from pliant.model.build import Build
    from pliant.model.system import Element

PoseOfStrains = Callable[[Any, Any], Pose]
"""Pose of a segment's end from its six strains and a length [m]."""


def held_values(free: Free, every: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Initial values of the fixed strains in each segment of a rod; empty if all are zero."""
    held = [[started[k] for k in held_strains(free)] for started in every]
    return [[] for _ in every] if all(is_zero(value) for values in held for value in values) else held


def name_strains(build: Build, rod: RodProperties, element: Element, number: int, started: Sequence[Any]) -> None:
    """Name the free strains of a segment (numbered from 1) and initialize them from the rod's shape."""
    for j, k in enumerate(rod.free):
        unit = "-" if k < 3 else "1/m"
        name = f"{rod.name}.{LABELS[k]}[{number}]"
        build.coordinate(name, element.q_at + j, element.v_at + j, started[k], unit=unit)


@cache
def segment_piece(
    free: Free = ALL, held: int = 0, section: Callable[[SectionState, Any], SectionState] | None = None
) -> PieceKind:
    """A segment with its free strains as coordinates; the constants of its shape are `held` values of the others.

    Forces along fixed strains do no work. section: as in `PieceKind`.
    """
    shape = Fields(f"held:{held}")

    def state(q: Any, c: Any) -> PieceState:
        return PieceState(all_six(free, q, c), lambda v: all_six(free, v, c[0:0]), lambda force: force[list(free)])

    name = f"section{spelled(free)}" + ("_held" if held else "")
    return PieceKind(name, (Vector(len(free)),), shape, state, section)


def segment_motion(
    name: str,
    pose: PoseOfStrains,
    free: Free,
    held: int,
    twists: Callable[[Any, Any], Any] | None = None,
    acceleration: Callable[[Any, Any, Any], Any] | None = None,
) -> Motion:
    """A motion by the free strains. Constants: a length [m], then `held` values of the fixed strains.

    `twists` of the same arguments as `pose`: twist of the end in base axes per unit rate of each of the six strains;
    `acceleration` of these and the six rates: rate of the end's twist at constant rates.
    """

    def of_free(q: Any, c: Any) -> Pose:
        return pose(all_six(free, q, c[1:]), c[0])

    def subspace(q: Any, c: Any) -> Any:
        assert twists is not None
        return twists(all_six(free, q, c[1:]), c[0])[:, list(free)]

    def of_rates(q: Any, c: Any, v: Any) -> Any:
        assert acceleration is not None
        return acceleration(all_six(free, q, c[1:]), c[0], all_six(free, v, c[0:0]))

    word = f"{name}{spelled(free)}" + ("_held" if held else "")
    return Motion(
        word, (Vector(len(free)),), 1 + held, of_free, subspace if twists else None,
        acceleration=of_rates if acceleration else None,
    )  # fmt: skip
