"""Rods as segments in a row, each with its six strains as coordinates: what `pcs` and `pseudo_rigid` have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pliant.formula.base import CoordinateForce, Effect, joined
from pliant.motion.base import Vector
from pliant.rod.actuation import signal_word
from pliant.rod.properties import LABELS, RodProperties
from pliant.rod.section_law import Law, constants_of, joins_pieces, mean_stretch, section_effect

if TYPE_CHECKING:
    from pliant.model.build import Build
    from pliant.model.system import Element


def name_strains(build: Build, rod: RodProperties, element: Element, number: int, started: Sequence[Any]) -> None:
    """Name the six strains of a segment (numbered from 1) and start them as they are in the rod's shape."""
    for j, label in enumerate(LABELS):
        unit = "-" if j < 3 else "1/m"
        build.coordinate(f"{rod.name}.{label}[{number}]", element.q_at + j, element.v_at + j, started[j], unit=unit)


@dataclass(frozen=True)
class Segment:
    """A segment of a rod: its element, its length [m], the fraction of the rod it is around, and its six strains at the start."""

    element: Element
    length: Any
    x: float
    started: Sequence[Any]


def add_section_forces(build: Build, rod: RodProperties, segments: Sequence[Segment]) -> None:
    """Section law of all segments of a rod, in order, on their six strains."""
    constants = [rod.law_constants(segment.length, segment.x, segment.started) for segment in segments]
    if joins_pieces(rod.law):
        first, force = segments[0].element, rod_force(rod.law, len(segments), signals=rod.signals)
        every = [number for piece in constants for number in piece]
        build.system.coordinate_force(force, first.q_at, first.v_at, every, rod.actuation or 0, rod.name)
        return
    force = section_force(rod.law, signals=rod.signals)
    for segment, piece in zip(segments, constants, strict=True):
        at = segment.element
        build.system.coordinate_force(force, at.q_at, at.v_at, piece, rod.actuation or 0, rod.name)


@cache
def section_force(law: Law, *, signals: int = 0) -> CoordinateForce:
    """Section law on six strain coordinates, with the signals of chambers (`rod.actuation`)."""
    fields = constants_of(law)

    def effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
        return section_effect(q, v, fields.read(c), signal, law)

    name = f"section_{law}{signal_word(signals)}"
    return CoordinateForce(name, (Vector(6),), fields.size, signals, effect)


@cache
def rod_force(law: Law, count: int, *, signals: int = 0) -> CoordinateForce:
    """A section law that joins all pieces of a rod, on the strains of that many segments in a row."""
    fields = constants_of(law)

    def effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
        pieces = [fields.read(c[fields.size * k : fields.size * (k + 1)]) for k in range(count)]
        strains, rates = ([x[6 * k : 6 * k + 6] for k in range(count)] for x in (q, v))
        mean = mean_stretch(strains, rates, pieces)
        return joined(
            [section_effect(*piece, signal, law, mean=mean) for piece in zip(strains, rates, pieces, strict=True)]
        )

    name = f"sections_{law}_{count}{signal_word(signals)}"
    return CoordinateForce(name, (Vector(6),) * count, fields.size * count, signals, effect)
