"""Rods as segments in a row, each with its six strains as coordinates: what `pcs` and `pseudo_rigid` have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from pliant.formula.base import CoordinateForce, Effect
from pliant.motion.base import Vector
from pliant.rod.properties import LABELS, RodProperties
from pliant.rod.section_law import CONSTANTS, Law, section_effect
from pliant.rod.stations import SectionState, note_sample, section_state

if TYPE_CHECKING:
    from pliant.model.build import Build
    from pliant.model.system import Element


def name_strains(build: Build, rod: RodProperties, element: Element, number: int, started: Sequence[Any]) -> None:
    """Name the six strains of a segment (numbered from 1) and start them as they are in the rod's shape."""
    for j, label in enumerate(LABELS):
        unit = "-" if j < 3 else "1/m"
        build.coordinate(f"{rod.name}.{label}[{number}]", element.q_at + j, element.v_at + j, started[j], unit=unit)


def add_section_force(
    build: Build, rod: RodProperties, element: Element, length: Any, x: float, started: Sequence[Any], *,
    state: Callable[[Law], Callable[[Any, Any, Any, Any], SectionState]] | None = None,
) -> None:  # fmt: skip
    """Section law of a segment of that length [m] around fraction x of the rod, on its six strains; state: that of its middle
    section where the strains are not in the axes of that."""
    force = section_force(rod.law, actuated=rod.actuation is not None)
    constants = rod.law_constants(length, x, started)
    index = build.system.coordinate_force(force, element.q_at, element.v_at, constants, rod.actuation or 0, rod.name)
    note_sample(build, rod, x, index, (state or segment_state)(rod.law), order=2)


@cache
def segment_state(law: Law) -> Callable[[Any, Any, Any, Any], SectionState]:
    """State of the section in the middle of a segment, from its strains as coordinates."""

    def state(q: Any, v: Any, c: Any, signal: Any) -> SectionState:
        return section_state(q, v, CONSTANTS.read(c), signal, law)

    return state


@cache
def section_force(law: Law, *, actuated: bool) -> CoordinateForce:
    """Section law on six strain coordinates, with actuation along them from six signals [N, N m] if asked for."""

    def effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
        return section_effect(q, v, CONSTANTS.read(c), signal, law)

    name = f"section_{law}" + ("_actuated" if actuated else "")
    return CoordinateForce(name, (Vector(6),), CONSTANTS.size, 6 if actuated else 0, effect)
