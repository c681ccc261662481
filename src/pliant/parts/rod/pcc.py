"""Rod model `pcc`: piecewise constant curvature. Arcs in series with their exact mass, integrated in closed form."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import casadi as ca
from pydantic import Field, StrictBool

from pliant.language.base import OneOrList, Problem
from pliant.language.names import Name
from pliant.language.scalar import Length, Scalar, Value
from pliant.parts.formula.base import CoordinateForce, Effect
from pliant.parts.formula.inertia import Inertia
from pliant.parts.geometry import se3
from pliant.parts.joint.coordinate import LengthLimits
from pliant.parts.motion.arc_coordinates import CONSTANTS as ARC
from pliant.parts.motion.arc_coordinates import FREE, ArcCoordinates, Option
from pliant.parts.motion.base import Functions, Vector
from pliant.parts.motion.fields import Fields
from pliant.parts.rod.arc import (
    ENERGY_ORDERS,
    FORM,
    Arc,
    ArcEnergy,
    Energy,
    arc_integrals,
    arc_motion,
    stumpff,
    stumpff_slopes,
)
from pliant.parts.rod.base import RodModelBase
from pliant.parts.rod.chamber import actuation, signal_word
from pliant.parts.rod.model_limits import remark_steps
from pliant.parts.rod.pcs import frames_on_segment
from pliant.parts.rod.pieces import PieceKind, PieceState, RodPiece, add_pieces
from pliant.parts.rod.properties import RodProperties
from pliant.parts.rod.stations import SectionState, note_sample
from pliant.parts.rod.strains import LABELS, Free

if TYPE_CHECKING:
    from pliant.engine.model.build import Build
    from pliant.engine.model.system import Element
    from pliant.parts.rod.rod import Rod


Values = Annotated[tuple[Value, ...], Field(min_length=1), OneOrList()]


ARC_MASS = ARC + Fields("mass", "diameter", "tangent")
"""Constants of the coordinates, mass [kg], inertia of all slices about a diameter and about the tangent [kg m^2]."""


class ArcModel(RodModelBase):
    """Circular arcs in series that stretch and bend but neither shear nor twist. Final classes add `kind` and the mass."""

    fineness: ClassVar[str] = "sections"

    sections: Annotated[int, Field(ge=1, le=500, strict=True)] = 1
    """Number of arcs, all of the same undeformed length; of a tapered rod each is as thick as in its middle."""
    coordinates: Option = "bending"
    """Coordinates of each arc: its bending angle times the direction of bending, `b_x` and `b_y` [rad], and its
    `length` [m] (`bending`); the strains `bend_x`, `bend_y` [1/m] and `stretch` [-] (`strains`); or the changes of
    length of three muscles, `l1`, `l2`, `l3` [m] (`muscles`), at 0, 120 and 240 degrees from the section's x axis. A
    strain that is not free removes its coordinate: without `bend_y` there is no `b_x`, without `bend_x` no `b_y`, and
    without `stretch` no `length`. Angle and plane of bending and the radius can be recorded as outputs."""
    muscle_radius: Length | None = None
    """Distance of the muscles from the axis [m], for coordinates `muscles`."""
    muscle_limits: LengthLimits | None = None
    """Range of the length change of each muscle, for coordinates `muscles`."""
    stiffness: Values | None = None
    """Stiffness of each coordinate of an arc, one for all or one each [N/m, N m/rad, ...]. It replaces the stiffness
    of section and material, and is that of an entire arc, not per length."""
    damping: Values | None = None
    """Damping of each coordinate of an arc, likewise [N s/m, ...]."""
    names: Annotated[tuple[Name, ...], OneOrList()] | None = None
    """Names of all coordinates of the rod in order, instead of names like `l1[1]`."""

    @classmethod
    def takes(cls, free: Free) -> Free:
        """Stretch and bends: arcs neither shear nor twist."""
        return tuple(k for k in free if k in FREE)

    def rod_problems(self, rod: Rod, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Muscles need a position and a variable length; lists have one entry per coordinate; no shear, no twist."""
        here, free = "model", rod.free_strains()
        size = ArcCoordinates(self.coordinates, free).size
        if self.coordinates == "muscles":
            if self.muscle_radius is None or value(self.muscle_radius) <= 0:
                hint = "give the distance of the muscles from the axis"
                yield (here, "muscle_radius"), "coordinates `muscles` need a muscle_radius above zero", hint
            if free != FREE:
                text = "three muscle lengths describe an arc that stretches and bends in any direction"
                yield ("strains",), text, "remove `strains`, or choose coordinates `bending`"
        elif self.muscle_limits is not None:
            hint = "choose coordinates `muscles`, or remove the limits"
            yield (here, "muscle_limits"), f"coordinates `{self.coordinates}` are not lengths of muscles", hint
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
            yield ("rayleigh",), "circular arcs do not support Rayleigh damping", hint
        for k in (3, 4):
            if k not in free and value(rod.rest[k]) != 0:
                text = f"the rest strain {LABELS[k]} is {value(rod.rest[k]):g}, but arcs whose {LABELS[k]} is not free are straight"
                yield (
                    ("rest", k),
                    text,
                    "set that rest strain to zero, or use one of the models pcs, pseudo_rigid and gvs",
                )
        if any(value(rod.rest[k]) for k in (0, 1, 5)):
            hint = "set those rest strains to zero, or choose another rod model"
            yield ("rest",), "circular arcs neither shear nor twist, so they cannot rest sheared or twisted", hint

    def arcs(self) -> int:
        """Every section is an arc."""
        return self.sections

    @abstractmethod
    def inertia(self, coordinates: ArcCoordinates) -> Inertia:
        """Type of the mass of an arc, with the constants `ARC_MASS`."""

    def apply(self, build: Build, rod: RodProperties) -> None:
        """Add the arcs to the system."""
        radius = 1.0 if self.muscle_radius is None else build.value(self.muscle_radius)
        length, kind = rod.length / self.sections, ArcCoordinates(self.coordinates, rod.free)
        start = rod.rest if rod.stress_free else (0.0,) * 6
        unstressed, started = (kind.values(length, strains, radius) for strains in (rod.rest, start))
        arc = _Arc(kind, kind.constants(length, start, radius), unstressed, started)
        motion, inertia = arc_motion(kind), self.inertia(kind)
        node, placement = rod.node, rod.placement
        build.name_frame(rod.name, node, placement)
        build.rod_stations(rod.name, [(node, placement)], [0.0])
        elements: list[Element] = []
        ends = [k / self.sections for k in range(self.sections + 1)]
        remark_steps(build, rod, ends)
        for k in range(self.sections):
            frames = frames_on_segment(build, rod, k, ends)
            plans = [build.plan(motion, placement, (x, *arc.constants)) for x in (*frames.values(), 1.0)]
            element = build.element(node, plans)
            self._name(build, rod, element, arc, k)
            section = rod.mean_section(*ends[k : k + 2])
            x, y, z, _ = (length * i for i in section.rotary)
            constants = [*arc.constants, length * section.mass, (x + y) / 2, z]
            build.inertia(inertia, [(node, placement)], [element], constants)
            elements.append(element)
            if self.muscle_limits is not None:
                self.muscle_limits.apply(build, element.q_at, element.v_at, rod.name, 3)
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

    def _span(self, x: float) -> tuple[float, float]:
        """Ends of the arc with its middle at fraction x of the length."""
        return x - 0.5 / self.sections, x + 0.5 / self.sections

    def _add_forces(self, build: Build, rod: RodProperties, elements: Sequence[Element], arc: _Arc) -> None:
        length, fractions = rod.length / self.sections, [(k + 0.5) / self.sections for k in range(self.sections)]
        if self.stiffness is None and self.damping is None:
            pieces = [
                RodPiece(at, arc.constants, length, x, rod.rest, self._span(x))
                for at, x in zip(elements, fractions, strict=True)
            ]
            add_pieces(build, rod, arc_piece(arc.kind), pieces, order=2, viscous=_is_viscous(rod))
            return
        force, state = direct_force(arc.kind, signals=rod.signals), direct_state(arc.kind)
        constants = [*arc.constants, *arc.unstressed]
        for values in (self.stiffness or (0.0,), self.damping or (0.0,)):
            constants += [build.value(v) for v in (values * arc.kind.size if len(values) == 1 else values)]
        for at, x in zip(elements, fractions, strict=True):
            index = build.system.coordinate_force(force, at.q_at, at.v_at, constants, rod.actuation or 0, rod.name)
            note_sample(build, rod, x, index, state, order=2)


@dataclass(frozen=True)
class _Arc:
    """An arc in numbers or expressions: its coordinates, their constants, their stress-free and initial values."""

    kind: ArcCoordinates
    constants: list[Any]
    unstressed: list[Any]
    started: list[Any]


def energy_inertia(name: str, coordinates: ArcCoordinates, energy: Energy) -> Inertia:
    """Inertia of an arc with this energy; the constants are `ARC_MASS`."""

    def arc(z: Any, c: Any, y: Any) -> Arc:
        at = ARC_MASS.read(c)
        return Arc(energy, z[0:2], at.offset + z[2], at.mass, (at.diameter, at.tangent), y)

    functions = Functions(
        ENERGY_ORDERS + 1,
        lambda z, c: ca.vertcat(*stumpff(ca.dot(z[0:2], z[0:2]), ENERGY_ORDERS)),
        lambda z, c, y: stumpff_slopes(y, z[0:2]),
    )
    return Inertia(
        name, 1, (Vector(coordinates.size),), ARC_MASS.size,
        mass=lambda pose, z, c, y: arc(z, c, y).mass_matrix(),
        velocity_forces=lambda pose, z, W, c, y: arc(z, c, y).velocity_forces(W),
        through=coordinates.matrix, functions=functions,
    )  # fmt: skip


def _is_viscous(rod: RodProperties) -> bool:
    return all(isinstance(power, int | float) and power == 1 for power in rod.damping_power)


def _strain_map(coordinates: ArcCoordinates, c: Any) -> Any:
    """Derivative of the six strains with respect to the coordinates, 6 x size."""
    A = coordinates.matrix(c) / ARC.read(c).undeformed
    return ca.vertcat(ca.SX(2, coordinates.size), A[2, :], A[0:2, :], ca.SX(1, coordinates.size))


def _strain(coordinates: ArcCoordinates, q: Any, c: Any) -> Any:
    """The six strains of an arc; the constants begin with `ARC`."""
    at = ARC.read(c)
    strain = ca.densify(_strain_map(coordinates, c) @ q)
    strain[2] += at.offset / at.undeformed - 1
    return strain


@cache
def arc_piece(coordinates: ArcCoordinates) -> PieceKind:
    """An arc; the constants of its shape are those of its coordinates."""

    def state(q: Any, c: Any) -> PieceState:
        by_q = _strain_map(coordinates, c)
        return PieceState(_strain(coordinates, q, c), lambda v: by_q @ v, lambda force: by_q.T @ force)

    return PieceKind(f"arc_{coordinates.name}", (Vector(coordinates.size),), ARC, state)


@cache
def direct_state(coordinates: ArcCoordinates) -> Callable[[Any, Any, Any, Any], SectionState]:
    """State of the middle section of an arc with springs and dampers on its coordinates: the forces along the strains that do the
    same work."""
    fields = _direct_fields(coordinates.size)

    def state(q: Any, v: Any, c: Any, signal: Any) -> SectionState:
        at, by_q = fields.read(c), ca.densify(_strain_map(coordinates, c))
        rows, strain = list(coordinates.free), _strain(coordinates, q, c)
        answer = at.stiffness * (q - at.rest) + at.damping * v
        material = ca.SX.zeros(6)
        material[rows] = ca.solve(by_q[rows, :].T, answer) / at.undeformed
        return SectionState(strain, material, ca.SX(actuation(strain, signal)))

    return state


def _direct_fields(size: int) -> Fields:
    """Constants of `direct_force`."""
    return ARC + Fields(f"rest:{size}", f"stiffness:{size}", f"damping:{size}")


@cache
def direct_force(coordinates: ArcCoordinates, *, signals: int = 0) -> CoordinateForce:
    """Springs and dampers on the coordinates themselves, and actuation along the strains."""
    size = coordinates.size
    fields = _direct_fields(size)

    def effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
        at = fields.read(c)
        wrench = at.undeformed * actuation(_strain(coordinates, q, c), signal)
        drive = _strain_map(coordinates, c).T @ wrench if signals else ca.DM.zeros(size)
        friction = at.damping * v
        energy = ca.dot(at.stiffness * (q - at.rest), q - at.rest) / 2
        return Effect(drive - at.stiffness * (q - at.rest) - friction, energy, ca.dot(friction, v), ca.dot(drive, v))

    name = f"arc_{coordinates.name}_direct{signal_word(signals)}"
    return CoordinateForce(name, (Vector(size),), fields.size, signals, effect)


class Pcc(ArcModel):
    """Piecewise constant curvature: a series of circular arcs, two or three coordinates each, exact mass, for controllers."""

    example: ClassVar[str] = """\
pliant: 1
sections:
  tube: {shape: annulus, outer_radius: 12 mm, inner_radius: 8 mm}
materials:
  silicone: {density: 1100 kg/m^3, youngs_modulus: 200 kPa, poissons_ratio: 0.48}
rods:
  arm: {length: 30 cm, section: tube, material: silicone, model: {kind: pcc, sections: 2}}
outputs:
  angle: {rod: arm, section: 2, quantity: angle}
"""

    kind: Literal["pcc"] = "pcc"
    rotary_inertia: StrictBool = True
    """Whether to include the rotary inertia of slices, in addition to the motion of their centres. For a slice that
    is not round the mean of its two diameters is used."""

    def inertia(self, coordinates: ArcCoordinates) -> Inertia:
        """Exact mass of an arc."""
        return arc_inertia(coordinates, rotary=self.rotary_inertia)


@cache
def arc_inertia(coordinates: ArcCoordinates, *, rotary: bool) -> Inertia:
    """Mass of an arc on its base and coordinates, with the constants `ARC_MASS`."""
    name = f"arc_{coordinates.name}" + ("" if rotary else "_points")
    return energy_inertia(name, coordinates, exact_energy if rotary else exact_energy_of_points)


def exact_energy(s: Any, c: Sequence[Any], inertia: Any) -> ArcEnergy:
    """Energy of uniform mass along the arc."""
    i, about_diameter, excess = arc_integrals(s, c), inertia[0], inertia[1] - inertia[0]
    mass = FORM.write(
        t0=2 * i.alpha, t1=-i.alpha_alpha, t2=-i.alpha_beta, t3=-i.beta_beta,
        k1=i.alpha_alpha, k2=i.alpha_beta, k3=-2 * i.alpha_beta_s, k4=0, f1=i.alpha_alpha, f2=i.gamma_gamma,
    )  # fmt: skip
    slices = FORM.write(
        t0=about_diameter, t1=excess * i.beta_beta, t2=excess * i.c_beta, t3=excess * i.c_c,
        k1=about_diameter * i.alpha - excess * i.c_alpha, k2=about_diameter * i.beta, k3=about_diameter * i.gamma,
        k4=excess * i.alpha_beta, f1=2 * about_diameter * i.alpha + excess * s * i.alpha_alpha,
        f2=2 * about_diameter * i.kappa - excess * i.alpha_alpha,
    )  # fmt: skip
    return ArcEnergy(mass, slices, i.alpha, i.beta, 2 * i.alpha)


def exact_energy_of_points(s: Any, c: Sequence[Any], inertia: Any) -> ArcEnergy:
    """The same without the rotation of slices."""
    return replace(exact_energy(s, c, inertia), slices=[0.0] * FORM.size)
