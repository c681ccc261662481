"""Rods as circular arcs in a row, whose mass moves with the arc: what `pcc` and `pcc_cog` have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import casadi as ca
from pydantic import Field, StrictBool

from pliant.formula.base import CoordinateForce, Effect, joined
from pliant.formula.inertia import Inertia
from pliant.geometry import se3
from pliant.language.base import OneOrList, Problem
from pliant.language.names import Name
from pliant.language.scalar import Length, Scalar, Value
from pliant.motion.arc_coordinates import CONSTANTS as ARC
from pliant.motion.arc_coordinates import ArcCoordinates, Option
from pliant.motion.base import Vector
from pliant.motion.fields import Fields
from pliant.rod.actuation import actuation, signal_word
from pliant.rod.arc import arc_motion
from pliant.rod.base import RodModelBase
from pliant.rod.pcs import frames_on_segment
from pliant.rod.properties import RodProperties
from pliant.rod.section_law import Law, constants_of, joins_pieces, mean_stretch, section_effect

if TYPE_CHECKING:
    from pliant.model.build import Build
    from pliant.model.system import Element
    from pliant.rod.rod import Rod

Values = Annotated[tuple[Value, ...], Field(min_length=1), OneOrList()]


ARC_MASS = ARC + Fields("mass", "diameter", "tangent")
"""Constants of the coordinates, mass [kg], inertia of all slices about a diameter and about the tangent [kg m^2]."""


class ArcModel(RodModelBase):
    """Circular arcs in a row that stretch and bend but neither shear nor twist. Final classes add `kind` and the mass."""

    fineness: ClassVar[str] = "sections"

    sections: Annotated[int, Field(ge=1, le=500, strict=True)] = 1
    """Number of arcs, all of the same undeformed length; of a tapered rod each is as thick as in its middle."""
    coordinates: Option = "bending"
    """Coordinates of each arc: the way it leans times its angle, `b_x` and `b_y` [rad], and its `length` [m] (`bending`);
    the strains `bend_x`, `bend_y` [1/m] and `stretch` [-] (`strains`); or by how much the lengths of three muscles
    differ from the undeformed length, `l1`, `l2`, `l3` [m] (`muscles`), which stand at 0, 120 and 240 degrees from the
    section's x axis. Angle and plane of bending and the radius can be recorded as outputs."""
    muscle_radius: Length | None = None
    """Distance of the muscles from the axis [m], for coordinates `muscles`."""
    extensible: StrictBool = True
    """Whether the length can change; without, an arc has two coordinates."""
    stiffness: Values | None = None
    """Stiffness of each coordinate of an arc, one for all or one each [N/m, N m/rad, ...]. It then takes the place of
    what section and material say, and stands for a whole arc, not for a length of it."""
    damping: Values | None = None
    """Damping of each coordinate of an arc in the same way [N s/m, ...]."""
    names: Annotated[tuple[Name, ...], OneOrList()] | None = None
    """Names of all coordinates of the rod in order, instead of such as `l1[1]`."""

    def rod_problems(self, rod: Rod, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Muscles need a place and a length that changes; lists have an entry per coordinate; no shear, no twist."""
        here, size = "model", 3 if self.extensible else 2
        if self.coordinates == "muscles":
            if self.muscle_radius is None or value(self.muscle_radius) <= 0:
                hint = "give the distance of the muscles from the axis"
                yield (here, "muscle_radius"), "coordinates `muscles` need a muscle_radius above zero", hint
            if not self.extensible:
                hint = "remove `extensible`, or choose coordinates `bending`"
                yield (here, "extensible"), "three muscle lengths describe an arc that can change its length", hint
        for key, allowed in (("stiffness", (1, size)), ("damping", (1, size)), ("names", (size * self.sections,))):
            given = getattr(self, key)
            if given is not None and len(given) not in allowed:
                wanted = " or ".join(map(str, dict.fromkeys(allowed)))
                yield (here, key), f"{key} has {len(given)} entries, expected {wanted}", ""
        if self.names is not None and len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            yield (here, "names"), f"the coordinate name '{twice}' is used twice", ""
        if rod.shape is not None:
            hint = "remove `shape` and give `initial` values of the arcs' coordinates, or choose another rod model"
            yield ("shape",), "circular arcs cannot follow a given shape", hint
        if rod.rayleigh is not None:
            hint = "give `damping`, of the rod or of the model's coordinates"
            yield ("rayleigh",), "circular arcs take no Rayleigh damping", hint
        if any(value(rod.rest[k]) for k in (0, 1, 5)):
            hint = "set those rest strains to zero, or choose another rod model"
            yield ("rest",), "circular arcs neither shear nor twist, so they cannot rest sheared or twisted", hint

    def arcs(self) -> int:
        """Every section is an arc."""
        return self.sections

    @abstractmethod
    def inertia(self, coordinates: ArcCoordinates) -> Inertia:
        """Kind of the mass of an arc, with the constants `ARC_MASS`."""

    def apply(self, build: Build, rod: RodProperties) -> None:
        """Add the arcs to the system."""
        radius = 1.0 if self.muscle_radius is None else build.value(self.muscle_radius)
        length, kind = rod.length / self.sections, ArcCoordinates(self.coordinates, self.extensible)
        start = rod.rest if rod.stress_free else (0.0,) * 6
        unstressed, started = (kind.values(length, strains, radius) for strains in (rod.rest, start))
        arc = _Arc(kind, kind.constants(length, start, radius), unstressed, started)
        motion, inertia = arc_motion(kind), self.inertia(kind)
        node, placement = rod.node, rod.placement
        build.name_frame(rod.name, node, placement)
        build.rod_stations(rod.name, [(node, placement)], [0.0])
        elements: list[Element] = []
        for k in range(self.sections):
            frames = frames_on_segment(build, rod, k, self.sections)
            plans = [build.plan(motion, placement, (x, *arc.constants)) for x in (*frames.values(), 1.0)]
            element = build.element(node, plans)
            self._name(build, rod, element, arc, k)
            section = rod.section((k + 0.5) / self.sections)
            x, y, z, _ = (length * i for i in section.rotary)
            constants = [*arc.constants, length * section.mass, (x + y) / 2, z]
            build.inertia(inertia, [(node, placement)], [element], constants)
            elements.append(element)
            for number, frame in zip(element.nodes, frames, strict=False):
                build.name_frame(f"{rod.name}.{frame}", number, se3.identity())
            node, placement = element.nodes[-1], se3.identity()
            build.rod_stations(rod.name, [(node, placement)], [(k + 1) / self.sections])
        build.name_frame(f"{rod.name}.tip", node, placement)
        self._add_forces(build, rod, elements, arc)

    def _name(self, build: Build, rod: RodProperties, element: Element, arc: _Arc, k: int) -> None:
        for j, (label, unit) in enumerate(zip(arc.kind.labels, arc.kind.units, strict=True)):
            own = f"{label}[{k + 1}]" if self.names is None else self.names[k * arc.kind.size + j]
            build.coordinate(f"{rod.name}.{own}", element.q_at + j, element.v_at + j, arc.started[j], unit=unit)
        build.add_arc(rod.name, element.nodes[-1], arc.kind)

    def _add_forces(self, build: Build, rod: RodProperties, elements: Sequence[Element], arc: _Arc) -> None:
        size, together = arc.kind.size, 1
        if self.stiffness is not None or self.damping is not None:
            force = direct_force(arc.kind, signals=rod.signals)
            constants = [*arc.constants, *arc.unstressed]
            for values in (self.stiffness or (0.0,), self.damping or (0.0,)):
                constants += [build.value(v) for v in (values * size if len(values) == 1 else values)]
            every = [constants] * len(elements)
        else:
            together = len(elements) if joins_pieces(rod.law) else 1
            force = arc_force(arc.kind, rod.law, viscous=_is_viscous(rod), signals=rod.signals, arcs=together)
            length, fractions = rod.length / self.sections, [(k + 0.5) / self.sections for k in range(self.sections)]
            every = [[*arc.constants, *rod.law_constants(length, x, rod.rest)] for x in fractions]
        for k in range(0, len(elements), together):
            first, constants = elements[k], [number for one in every[k : k + together] for number in one]
            build.system.coordinate_force(force, first.q_at, first.v_at, constants, rod.actuation or 0, rod.name)


@dataclass(frozen=True)
class _Arc:
    """An arc in numbers or expressions: its coordinates, their constants, their values without stress and at the start."""

    kind: ArcCoordinates
    constants: list[Any]
    unstressed: list[Any]
    started: list[Any]


def _is_viscous(rod: RodProperties) -> bool:
    return all(isinstance(power, int | float) and power == 1 for power in rod.damping_power)


def _strain_map(coordinates: ArcCoordinates, c: Any) -> Any:
    """Derivative of the six strains by the coordinates, 6 x size."""
    A = coordinates.matrix(c) / ARC.read(c).undeformed
    return ca.vertcat(ca.SX(2, coordinates.size), A[2, :], A[0:2, :], ca.SX(1, coordinates.size))


def _strain(coordinates: ArcCoordinates, q: Any, c: Any) -> Any:
    """The six strains of an arc; the constants begin with `ARC`."""
    at = ARC.read(c)
    strain = ca.densify(_strain_map(coordinates, c) @ q)
    strain[2] += at.offset / at.undeformed - 1
    return strain


@cache
def arc_force(
    coordinates: ArcCoordinates, law: Law, *, viscous: bool, signals: int = 0, arcs: int = 1
) -> CoordinateForce:
    """Section law on the strains of an arc, or of all arcs of a rod that the law joins. Constants of each: those of the
    coordinates, those of the law."""
    fields, size = ARC + constants_of(law), coordinates.size

    def effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
        every = [c[fields.size * k : fields.size * (k + 1)] for k in range(arcs)]
        maps = [_strain_map(coordinates, own) for own in every]
        strains = [_strain(coordinates, q[size * k : size * (k + 1)], own) for k, own in enumerate(every)]
        rates = [by_q @ v[size * k : size * (k + 1)] for k, by_q in enumerate(maps)]
        pieces = [fields.read(own) for own in every]
        mean = mean_stretch(strains, rates, pieces) if joins_pieces(law) else None
        answers = []
        for by_q, strain, rate, at in zip(maps, strains, rates, pieces, strict=True):
            answer = section_effect(strain, rate, at, signal, law, viscous=viscous, mean=mean)
            answers.append(Effect(by_q.T @ answer.force, answer.energy, answer.dissipation, answer.supply))
        return joined(answers)

    name = f"arc_{coordinates.name}_{law}" + ("_viscous" if viscous else "") + signal_word(signals)
    name += f"_{arcs}_joined" if joins_pieces(law) else ""
    return CoordinateForce(name, (Vector(size),) * arcs, fields.size * arcs, signals, effect)


@cache
def direct_force(coordinates: ArcCoordinates, *, signals: int = 0) -> CoordinateForce:
    """Springs and dampers on the coordinates themselves, and actuation along the strains."""
    size = coordinates.size
    fields = ARC + Fields(f"rest:{size}", f"stiffness:{size}", f"damping:{size}")

    def effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
        at = fields.read(c)
        wrench = at.undeformed * actuation(_strain(coordinates, q, c), signal)
        drive = _strain_map(coordinates, c).T @ wrench if signals else ca.DM.zeros(size)
        friction = at.damping * v
        energy = ca.dot(at.stiffness * (q - at.rest), q - at.rest) / 2
        return Effect(drive - at.stiffness * (q - at.rest) - friction, energy, ca.dot(friction, v), ca.dot(drive, v))

    name = f"arc_{coordinates.name}_direct{signal_word(signals)}"
    return CoordinateForce(name, (Vector(size),), fields.size, signals, effect)
