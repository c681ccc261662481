"""Pieces of a rod with coordinates: the section law applied to their strains, and the state of their sections.

A model with strains as functions of coordinates (`pcs`, `pseudo_rigid`, `gvs`, `polynomial`, arcs) defines its pieces by a
`PieceKind`: a segment, or a point of a polynomial that represents a part of the length. Most laws act on each piece separately; a
law that couples all pieces of a rod (`section_law.joins_pieces`) combines them in one force.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pliant.formula.base import CoordinateForce, Effect, joined
from pliant.motion.base import Part
from pliant.motion.fields import Fields
from pliant.rod.actuation import signal_word
from pliant.rod.properties import RodProperties
from pliant.rod.section_law import Law, constants_of, joins_pieces, mean_stretch, section_effect
from pliant.rod.stations import SectionState, note_sample, section_state

if TYPE_CHECKING:
    from pliant.model.build import Build
    from pliant.model.system import Element


@dataclass(frozen=True)
class PieceState:
    """Strains (6) of a piece; their rates from rates of its coordinates; the force on these from forces along the strains."""

    strain: Any
    rate: Callable[[Any], Any]
    work: Callable[[Any], Any]


@dataclass(frozen=True)
class PieceKind:
    """Dependence of strains on coordinates.

    Attributes:
        name: distinguishes types of kernels.
        parts: the coordinates.
        shape: constants that precede those of the law.
        state: `(q, constants)` to the state of a piece.
        section: the state of the middle section from that along the strains and the length [m], if the strains are not in the
            axes of that section.
    """

    name: str
    parts: tuple[Part, ...]
    shape: Fields
    state: Callable[[Any, Any], PieceState]
    section: Callable[[SectionState, Any], SectionState] | None = None


@dataclass(frozen=True)
class Piece:
    """A piece of a rod: its element, constants of its shape, its length [m], its fraction of the rod, and its six
    initial strains."""

    element: Element
    shape: Sequence[Any]
    length: Any
    x: float
    started: Sequence[Any]
    span: tuple[float, float] | None = None
    """Fractions of the ends of a piece with constant strains."""


def add_pieces(
    build: Build, rod: RodProperties, kind: PieceKind, pieces: Sequence[Piece], *, order: int, points: int = 1,
    smooth: bool = False, viscous: bool = False,
) -> None:  # fmt: skip
    """Add the section law of all pieces of a rod, in order.

    points: number of successive pieces with the same coordinates; order: number of successive samples whose polynomial has the
    order of the model; smooth: pieces with the same coordinates have one formula without jumps; viscous: all damping has power
    one.
    """
    together = len(pieces) if joins_pieces(rod.law) else 1
    row = (points, len(pieces) // points) if joins_pieces(rod.law) else (1, 1)
    force = piece_force(kind, rod.law, viscous=viscous, signals=rod.signals, row=row)
    numbers: dict[int, int] = {}
    for k in range(0, len(pieces), together):
        own = pieces[k : k + together]
        constants = [
            x for one in own for x in (*one.shape, *rod.law_constants(one.length, one.x, one.started, one.span))
        ]
        at = own[0].element
        index = build.system.coordinate_force(force, at.q_at, at.v_at, constants, rod.actuation or 0, rod.name)
        for j, one in enumerate(own):
            number = numbers.setdefault(id(one.element), len(numbers))
            passed = sum(1 for step in rod.steps if step <= one.x)
            span = number * (len(rod.steps) + 1) + passed if smooth else None
            note_sample(build, rod, one.x, index, piece_state(kind, rod.law, j, row), order=order, span=span)


Row = tuple[int, int]
"""Number of successive pieces with the same coordinates, and number of such sets of coordinates."""


@cache
def piece_force(
    kind: PieceKind, law: Law, *, viscous: bool = False, signals: int = 0, row: Row = (1, 1)
) -> CoordinateForce:
    """Section law on the strains of a piece, or of all pieces of a rod. Constants of each: those of its shape and of the law."""
    points, sets = row

    def effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
        found, mean = _states(kind, law, row, q, v, c)
        effects = []
        for piece, rate, at in found:
            answer = section_effect(piece.strain, rate, at, signal, law, viscous=viscous, mean=mean)
            effects.append(Effect(piece.work(answer.force), answer.energy, answer.dissipation, answer.supply))
        of_sets = (joined(effects[points * k : points * (k + 1)], summed=True) for k in range(sets))
        return joined(list(of_sets))

    name = f"{kind.name}_{law}" + ("_viscous" if viscous else "") + signal_word(signals)
    name += f"_joined_{points}_{sets}" if joins_pieces(law) else ""
    size = (kind.shape + constants_of(law)).size
    return CoordinateForce(name, kind.parts * sets, size * points * sets, signals, effect)


@cache
def piece_state(kind: PieceKind, law: Law, index: int, row: Row) -> Callable[[Any, Any, Any, Any], SectionState]:
    """State of the middle section of a piece, by its index in `piece_force`."""

    def state(q: Any, v: Any, c: Any, signal: Any) -> SectionState:
        found, mean = _states(kind, law, row, q, v, c)
        piece, rate, at = found[index]
        along = section_state(piece.strain, rate, at, signal, law, mean=mean)
        return along if kind.section is None else kind.section(along, at.length)

    return state


def _states(
    kind: PieceKind, law: Law, row: Row, q: Any, v: Any, c: Any
) -> tuple[list[tuple[PieceState, Any, Any]], Any]:
    """State, strain rates and constants by name of each piece; the mean stretch of all and its rate, if the law needs it."""
    fields, (points, sets) = kind.shape + constants_of(law), row
    n_q, n_v = sum(part.q_size for part in kind.parts), sum(part.v_size for part in kind.parts)
    found = []
    for k in range(points * sets):
        own, at = c[fields.size * k : fields.size * (k + 1)], k // points
        piece = kind.state(q[n_q * at : n_q * (at + 1)], own[: kind.shape.size])
        found.append((piece, piece.rate(v[n_v * at : n_v * (at + 1)]), fields.read(own)))
    if not joins_pieces(law):
        return found, None
    strains, rates, constants = (
        [piece.strain for piece, _, _ in found],
        [x for _, x, _ in found],
        [x for _, _, x in found],
    )
    return found, mean_stretch(strains, rates, constants)
