"""Rods as segments in a row, each with its six strains as coordinates: what `pcs` and `pseudo_rigid` have in common."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from pliant.formula.base import CoordinateForce, Effect
from pliant.motion.base import Vector
from pliant.rod.actuation import signal_word
from pliant.rod.properties import LABELS, RodProperties
from pliant.rod.section_law import Law, constants_of, section_effect

if TYPE_CHECKING:
    from pliant.model.build import Build
    from pliant.model.system import Element


def name_strains(build: Build, rod: RodProperties, element: Element, number: int, started: Sequence[Any]) -> None:
    """Name the six strains of a segment (numbered from 1) and start them as they are in the rod's shape."""
    for j, label in enumerate(LABELS):
        unit = "-" if j < 3 else "1/m"
        build.coordinate(f"{rod.name}.{label}[{number}]", element.q_at + j, element.v_at + j, started[j], unit=unit)


def add_section_force(
    build: Build, rod: RodProperties, element: Element, length: Any, x: float, started: Sequence[Any]
) -> None:
    """Section law of a segment of that length [m] around fraction x of the rod, on its six strains."""
    force = section_force(rod.law, signals=rod.signals)
    constants = rod.law_constants(length, x, started)
    build.system.coordinate_force(force, element.q_at, element.v_at, constants, rod.actuation or 0, rod.name)


@cache
def section_force(law: Law, *, signals: int = 0) -> CoordinateForce:
    """Section law on six strain coordinates, with the signals of chambers (`rod.actuation`)."""
    fields = constants_of(law)

    def effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
        return section_effect(q, v, fields.read(c), signal, law)

    name = f"section_{law}{signal_word(signals)}"
    return CoordinateForce(name, (Vector(6),), fields.size, signals, effect)
