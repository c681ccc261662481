"""Pieces of a rod with coordinates: the section law applied to their strains, and the state of their sections.

A model with strains as functions of coordinates (`pcs`, `pseudo_rigid`, `gvs`, `polynomial`, arcs) defines its pieces by a
`PieceKind`: a segment, or a point of a polynomial that represents a part of the length. Most laws act on each piece separately; a
law that couples all pieces of a rod (`section_law.joins_pieces`) combines them in one force.

Rods as segments in series with their free strains as coordinates: common base of `pcs` and `pseudo_rigid`.

Fixed strains are constants of a segment. If they are all zero for all parameters, as in a straight rod, separate types omit them:
their kernels are shorter.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca

from pliant.parts.assembly.build import Build
from pliant.parts.assembly.entries import SectionState
from pliant.parts.assembly.system import Element
from pliant.parts.formula.base import CoordinateForce, Effect, joined
from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion import CoordinatePart, Fields, Motion, Vector
from pliant.parts.rod.chamber import signal_word
from pliant.parts.rod.properties import RodProperties
from pliant.parts.rod.section_law import Law, constants_of, joins_pieces, mean_stretch, section_effect
from pliant.parts.rod.stations import note_sample, section_state
from pliant.parts.rod.strains import ALL, LABELS, Free, all_six, held_strains, is_zero, spelled


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
    parts: tuple[CoordinatePart, ...]
    shape: Fields
    state: Callable[[Any, Any], PieceState]
    section: Callable[[SectionState, Any], SectionState] | None = None


@dataclass(frozen=True)
class RodPiece:
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
    build: Build, rod: RodProperties, kind: PieceKind, pieces: Sequence[RodPiece], *, order: int, points: int = 1,
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
    states = []
    for k in range(points * sets):
        own, at = c[fields.size * k : fields.size * (k + 1)], k // points
        piece = kind.state(q[n_q * at : n_q * (at + 1)], own[: kind.shape.size])
        states.append((piece, piece.rate(v[n_v * at : n_v * (at + 1)]), fields.read(own)))
    if not joins_pieces(law):
        return states, None
    strains, rates, constants = (
        [piece.strain for piece, _, _ in states],
        [x for _, x, _ in states],
        [x for _, _, x in states],
    )
    return states, mean_stretch(strains, rates, constants)


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

    name = f"section{spelled(free)}" + ("_held" if held else "") + (f"_{section.__name__}" if section else "")
    return PieceKind(name, (Vector(len(free)),), shape, state, section)


def segment_motion(
    name: str, pose: PoseOfStrains, free: Free, held: int, twists: Callable[[Any, Any], Any] | None = None,
    acceleration: Callable[[Any, Any, Any], Any] | None = None,
) -> Motion:  # fmt: skip
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


@cache
def exponential() -> ca.Function:
    """Of a twist (6): rotation matrix, position, and the twist of its end in base axes per unit of each entry (6 x 6)."""
    x = ca.SX.sym("x", 6)
    at, _ = so3.angle_functions(ca.dot(x[3:6], x[3:6]))
    return ca.Function("exponential", [x], [*se3.exp(x, at), se3.left_jacobian(x, at)], {"cse": True})


@cache
def load_slope() -> ca.Function:
    """For a twist x and a wrench (6 each): derivative with respect to x of the wrench's work per unit of each entry of x (6 x
    6)."""
    x, wrench = ca.SX.sym("x", 6), ca.SX.sym("f", 6)
    slope = _along(lambda x, at: se3.left_jacobian(x, at).T @ wrench, x, ca.SX.eye(6))
    return ca.Function("load_slope", [x, wrench], [ca.densify(slope)], {"cse": True})


@cache
def twist_slope() -> ca.Function:
    """For a twist x and its rate y (6 each): derivative of the end's twist `left_jacobian(x) y` along y, at constant y (6)."""
    x, y = ca.SX.sym("x", 6), ca.SX.sym("y", 6)
    slope = _along(lambda x, at: se3.left_jacobian(x, at) @ y, x, y)
    return ca.Function("twist_slope", [x, y], [ca.densify(slope)], {"cse": True})


def _along(expression: Callable[[Any, so3.AngleFunctions], Any], x: Any, directions: Any) -> Any:
    """Derivatives of an expression of a twist x and of the functions of its angle, one column per direction (6 x n).

    The functions are treated as independent variables with known derivatives.
    """
    values, slopes = so3.angle_functions(ca.dot(x[3:6], x[3:6]))
    symbols = ca.SX.sym("f", len(values))
    moving = ca.vertcat(directions, ca.vertcat(*slopes) @ (2 * x[3:6].T @ directions[3:6, :]))
    found = expression(x, so3.AngleFunctions(*ca.vertsplit(symbols)))
    return ca.substitute(ca.jtimes(found, ca.vertcat(x, symbols), moving), symbols, ca.vertcat(*values))
