"""Rods as segments in a row with their free strains as coordinates: what `pcs` and `pseudo_rigid` have in common.

Strains that are not free are constants of a segment. Where they are all zero whatever the parameters, as in a straight
rod, kinds of their own leave them out: their kernels are shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from pliant.formula.base import CoordinateForce, Effect
from pliant.geometry.se3 import Pose
from pliant.motion.base import Motion, Vector
from pliant.motion.fields import Fields
from pliant.rod.actuation import signal_word
from pliant.rod.properties import LABELS, RodProperties
from pliant.rod.section_law import Law, constants_of, section_effect
from pliant.rod.stations import SectionState, note_sample, section_state
from pliant.rod.strains import ALL, Free, all_six, held_strains, is_zero, spelled

if TYPE_CHECKING:
    from pliant.model.build import Build
    from pliant.model.system import Element

PoseOfStrains = Callable[[Any, Any], Pose]
"""Pose of a segment's end from its six strains and a length [m]."""


def held_values(free: Free, started: Sequence[Any]) -> list[Any]:
    """Values of the strains that are not free, as they are at the start; nothing if they are all zero."""
    held = [started[k] for k in held_strains(free)]
    return [] if all(map(is_zero, held)) else held


def name_strains(build: Build, rod: RodProperties, element: Element, number: int, started: Sequence[Any]) -> None:
    """Name the free strains of a segment (numbered from 1) and start them as they are in the rod's shape."""
    for j, k in enumerate(rod.free):
        unit = "-" if k < 3 else "1/m"
        name = f"{rod.name}.{LABELS[k]}[{number}]"
        build.coordinate(name, element.q_at + j, element.v_at + j, started[k], unit=unit)


def add_section_force(
    build: Build, rod: RodProperties, element: Element, length: Any, x: float, started: Sequence[Any], *,
    state: Callable[[Law, Free, int], Callable[[Any, Any, Any, Any], SectionState]] | None = None,
) -> None:  # fmt: skip
    """Section law of a segment of that length [m] around fraction x of the rod, on its free strains; state: that of its middle
    section where the strains are not in the axes of that."""
    held = held_values(rod.free, started)
    force = section_force(rod.law, rod.free, held=len(held), signals=rod.signals)
    constants = [*rod.law_constants(length, x, started), *held]
    index = build.system.coordinate_force(force, element.q_at, element.v_at, constants, rod.actuation or 0, rod.name)
    note_sample(build, rod, x, index, (state or segment_state)(rod.law, rod.free, len(held)), order=2)


@cache
def segment_state(law: Law, free: Free = ALL, held: int = 0) -> Callable[[Any, Any, Any, Any], SectionState]:
    """State of the section in the middle of a segment, from its free strains as coordinates; constants as `section_force`."""
    fields = constants_of(law) + Fields(f"held:{held}")

    def state(q: Any, v: Any, c: Any, signal: Any) -> SectionState:
        at, none = fields.read(c), c[0:0]
        strain, rate = all_six(free, q, at.held if held else none), all_six(free, v, none)
        return section_state(strain, rate, at, signal, law)

    return state


@cache
def section_force(law: Law, free: Free = ALL, *, held: int = 0, signals: int = 0) -> CoordinateForce:
    """Section law on strain coordinates, with the signals of chambers (`rod.actuation`).

    The constants are those of the law and `held` values of the strains that are not free. Forces along these do no work.
    """
    fields = constants_of(law) + Fields(f"held:{held}")

    def effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
        at, none = fields.read(c), c[0:0]
        strain, rate = all_six(free, q, at.held if held else none), all_six(free, v, none)
        answer = section_effect(strain, rate, at, signal, law)
        return Effect(answer.force[list(free)], answer.energy, answer.dissipation, answer.supply)

    name = f"section_{law}{spelled(free)}" + ("_held" if held else "") + signal_word(signals)
    return CoordinateForce(name, (Vector(len(free)),), fields.size, signals, effect)


def segment_motion(
    name: str, pose: PoseOfStrains, free: Free, held: int, twists: Callable[[Any, Any], Any] | None = None
) -> Motion:
    """A motion by the free strains. Constants: a length [m], then `held` values of the strains that are not free.

    `twists` of the same arguments as `pose`: twist of the end in base axes per unit rate of each of the six strains.
    """

    def of_free(q: Any, c: Any) -> Pose:
        return pose(all_six(free, q, c[1:]), c[0])

    def subspace(q: Any, c: Any) -> Any:
        assert twists is not None
        return twists(all_six(free, q, c[1:]), c[0])[:, list(free)]

    word = f"{name}{spelled(free)}" + ("_held" if held else "")
    return Motion(word, (Vector(len(free)),), 1 + held, of_free, subspace if twists else None)
