"""Magnets: uniform fields, dipoles and coils, magnetized rods and bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

import casadi as ca
import numpy as np
from pydantic import Field, model_validator

from pliant.language.base import ByType, Problem, fault, positive
from pliant.language.faults import Fault, SpecError
from pliant.language.names import BodyName, FrameName, RodName
from pliant.language.parameter import TIME
from pliant.language.placement import Axis, Placement
from pliant.language.scalar import (
    CurrentSignal,
    FluxDensityGradientSignal,
    FluxDensitySignal,
    Length,
    MagneticMomentPerLength,
    MagneticMomentSignal,
    Magnetization,
    Number,
    Remanence,
    Repeated,
    Scalar,
)
from pliant.parts.assembly.build import Build
from pliant.parts.assembly.entries import RodPiece
from pliant.parts.external_load import along, weights
from pliant.parts.field.magnetics import (
    COIL,
    COIL_MAGNET,
    DIPOLE,
    DIPOLE_MAGNET,
    DRIVEN_DIPOLE,
    DRIVEN_MAGNET,
    MU_0,
    ORDER,
    UNIFORM,
    UNIFORM_FIELD,
    MagneticKind,
    magnetic_force,
)
from pliant.parts.geometry import se3
from pliant.parts.rod.properties import area_along
from pliant.parts.rod.stations import ROUND_OFF

SMALLEST = 1e-6
"""Distance from a dipole within which its field is smooth where its size is unknown [m]: below the size of any magnet, and far
above round-off, so that forces are finite."""

MagnetizationVector: TypeAlias = tuple[Magnetization, Magnetization, Magnetization]
RemanenceVector: TypeAlias = tuple[Remanence, Remanence, Remanence]
Factors: TypeAlias = Annotated[tuple[Number, ...], Field(min_length=1)]


@dataclass(eq=False)
class MagneticElement:
    """A magnetic element of a robot.

    Attributes:
        kind: its type.
        node: its node.
        constants: those of its type.
        signals: those of its type, as expressions.
        varies: whether its signals depend on time or inputs.
        centre: its place at the start [m].
        radius: within this distance its field is smooth [m]; None for one that is not that of a magnet.
        spacing: distance to the next element of the same rod [m].
    """

    kind: MagneticKind
    node: int
    constants: list[Any]
    signals: Sequence[Any] = ()
    varies: bool = False
    centre: Any = None
    radius: Any = None
    spacing: Any = 0.0
    _signals_at: int | None = field(default=None, init=False)

    def signals_at(self, build: Build) -> int:
        """Index of its first signal."""
        if self._signals_at is None:
            self._signals_at = build.add_signal_expressions(self.signals) if self.signals else 0
        return self._signals_at


@dataclass(frozen=True)
class MagnetEntry:
    """The elements of a magnet, and the rod that it magnetizes."""

    elements: list[MagneticElement]
    rods: tuple[str, ...]


class MagnetBase(Repeated):
    """Common base of magnets: each acts on all others, once."""

    def apply(self, build: Build, name: str) -> None:
        """Add the forces between this magnet and those added before it."""
        entry = MagnetEntry(list(self.elements(build, name)), self.rods)
        for other, earlier in build.magnets.items():
            if not entry.rods or entry.rods != earlier.rods:
                pairs = [(a, b) for a in earlier.elements for b in entry.elements]
                for a, b in pairs:
                    _add_force(build, a, b, name)
                _note_overlap(build, (other, name), [(a, b) for a, b in pairs if a.node != b.node])
        build.magnets[name] = entry

    @property
    def rods(self) -> tuple[str, ...]:
        """The rod that it magnetizes, if any."""
        return ()

    def elements(self, build: Build, name: str) -> Iterator[MagneticElement]:
        """Its elements."""
        raise NotImplementedError


@dataclass(frozen=True)
class FieldSource:
    """An element of a built robot: its type, its node, and the index of its constants and of its first signal."""

    kind: MagneticKind
    node: int
    constants: int
    signals: int


def field_sources(build: Build) -> tuple[FieldSource, ...]:
    """All elements of a robot, after its magnets have been added."""
    return tuple(
        FieldSource(x.kind, x.node, build.system.constants(x.constants), x.signals_at(build))
        for entry in build.magnets.values()
        for x in entry.elements
    )


def _add_force(build: Build, a: MagneticElement, b: MagneticElement, name: str) -> None:
    """The force between two elements, if they act on each other."""
    first, second = sorted((a, b), key=lambda element: ORDER.index(element.kind))
    is_field_only = second.kind.dipole is None or first.kind is second.kind is COIL_MAGNET
    if is_field_only or a.node == b.node:
        return
    kind = magnetic_force(first.kind, second.kind, fixed=(not first.node, not second.node))
    stored = 0.0 if first.varies or second.varies else 1.0
    constants = [*first.constants, *second.constants, stored]
    if first.signals and second.signals:
        at = build.add_signal_expressions([*first.signals, *second.signals])
    else:
        at = (first if first.signals else second).signals_at(build)
    build.system.frame_force(kind, [node for node in (first.node, second.node) if node], constants, at, name)


def _note_overlap(
    build: Build, names: tuple[str, str], pairs: Sequence[tuple[MagneticElement, MagneticElement]]
) -> None:
    """Note magnets of which one is inside the other at the start, or too close to a rod for its model, and coils whose mutual force
    is omitted."""
    first, second = names
    if any(a.kind is b.kind is COIL_MAGNET for a, b in pairs):
        text = f"the coils '{first}' and '{second}' can move relative to each other; the force between them is omitted"
        build.remarks.append(text)
    bodies = [(a, b) for a, b in pairs if a.radius is not None and b.radius is not None]
    if not bodies:
        return
    rows = [
        ca.horzcat(*se3.scalars(a.centre - b.centre), ca.fmax(a.radius, b.radius), ca.fmax(a.spacing, b.spacing))
        for a, b in bodies
    ]
    numbers = build.nominals(ca.vertcat(*rows))
    gaps = np.linalg.norm(numbers[:, :3], axis=1)
    at = int(np.argmin(gaps - np.maximum(numbers[:, 3], numbers[:, 4])))
    apart, size, spacing = float(gaps[at]), float(numbers[at, 3]), float(numbers[at, 4])
    where = f"the magnets '{first}' and '{second}' are {apart:.3g} m apart at the start"
    if apart < size:
        why = "inside each other: the force between them is finite and smooth, but not that of real magnets"
        build.remarks.append(f"{where}, {why}")
    elif apart < spacing:
        why = (
            f"closer than the points of the rod's model that its field consists of ({spacing:.3g} m): use more elements"
        )
        build.remarks.append(f"{where}, {why}")


def _dipole(
    build: Build, node: int, point: Any, moment: Sequence[Any], radius: Any, spacing: Any = 0.0
) -> MagneticElement:
    """A constant dipole moment [A m^2] in the axes of a node."""
    constants = DIPOLE.write(point=build.entries(point), moment=list(moment), radius=radius)
    centre = build.initial_point(node, point)
    return MagneticElement(DIPOLE_MAGNET, node, constants, centre=centre, radius=radius, spacing=spacing)


def _varies(build: Build, signals: Sequence[Scalar]) -> bool:
    """Whether values depend on time or inputs."""
    varying = {TIME, *build.environment.inputs}
    return any(build.environment.uses(signal) & varying for signal in signals)


class UniformField(MagnetBase):
    """A uniform magnetic field, or one that changes linearly with place, in the axes of the world or of a frame.

    It acts on dipoles, coils, magnetized rods and bodies. A field in the axes of a moving frame is that of coils on it, which
    experience the opposite moments and forces.
    """

    type: Literal["uniform"] = "uniform"
    flux_density: tuple[FluxDensitySignal, FluxDensitySignal, FluxDensitySignal]
    """Flux density at the origin of `frame`, in its axes, which may vary in time [T]."""
    gradient: tuple[
        FluxDensityGradientSignal,
        FluxDensityGradientSignal,
        FluxDensityGradientSignal,
        FluxDensityGradientSignal,
        FluxDensityGradientSignal,
    ] = (0, 0, 0, 0, 0)
    """The entries xx, xy, xz, yy, yz of its symmetric gradient, which may vary in time [T/m]; zz is -xx - yy."""
    frame: FrameName = "world"
    """Frame whose axes it is given in."""
    description: str = ""
    """Description for readers."""

    example: ClassVar[str] = """\
pliant: 1
parameters: {field: {value: 20 mT, input: true}}
sections: {wire: {shape: circle, radius: 0.5 mm}}
materials: {loaded_rubber: {density: 2400 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}}
rods: {tip: {length: 20 mm, section: wire, material: loaded_rubber}}
magnets:
  north: {type: rod, rod: tip, magnetization: [0, 0, 100 kA/m]}
  coils: {type: uniform, flux_density: [=field, 0, 0]}
"""

    def elements(self, build: Build, name: str) -> Iterator[MagneticElement]:
        """The field."""
        node, placement = build.frame(self.frame)
        given = (*self.flux_density, *self.gradient)
        signals = [build.signal_expression(entry) for entry in given]
        constants = UNIFORM.write(axes=build.pose_entries(placement))
        yield MagneticElement(UNIFORM_FIELD, node, constants, signals, _varies(build, given))


class Dipole(Placement, MagnetBase):
    """A magnet that is small compared with the distances to others, such as one in the hand of a robot arm.

    The field of a magnetized ball is that of a dipole at its centre.
    """

    type: Literal["dipole"] = "dipole"
    frame: FrameName = "world"
    """Frame that it is fixed to, placed there by `position` and `rotation`."""
    moment: tuple[MagneticMomentSignal, MagneticMomentSignal, MagneticMomentSignal]
    """Dipole moment in its axes, which may vary in time [A m^2]. That of a magnet is its remanence times its volume over mu_0: a
    cube of 5 cm with 1.3 T has 129 A m^2."""
    radius: Length = SMALLEST
    """Within this distance of its centre its field is smooth, so that forces are finite everywhere; that of a ball is exact down to
    its radius [m]."""
    description: str = ""
    """Description for readers."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  hand: {mass: 1 kg}
  capsule: {mass: 2 g}
joints:
  lift: {type: prismatic, child: hand, axis: z, position: [0, 0, 20 cm], displacement: {motion: "=2 cm*sin(1 Hz*t)"}}
  slide: {type: prismatic, child: capsule, axis: x, displacement: {damper: 0.5 N*s/m}}
magnets:
  carried: {type: dipole, frame: hand, moment: [0, 0, 30 A*m^2]}
  inside: {type: dipole, frame: capsule, position: [5 mm, 0, 0], moment: [0, 0, 0.1 A*m^2]}
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """The radius is above zero."""
        yield from positive(self, value, "radius")

    def elements(self, build: Build, name: str) -> Iterator[MagneticElement]:
        """A dipole."""
        node, placement = build.frame(self.frame)
        axes, point = se3.compose(placement, build.placement(self))
        radius = build.value(self.radius)
        if not _varies(build, self.moment):
            moment = axes @ ca.vertcat(*map(build.value, self.moment))
            yield _dipole(build, node, point, build.entries(moment), radius)
            return
        signals = build.entries(axes @ ca.vertcat(*map(build.signal_expression, self.moment)))
        constants = DRIVEN_DIPOLE.write(point=build.entries(point), radius=radius)
        centre = build.initial_point(node, point)
        yield MagneticElement(DRIVEN_MAGNET, node, constants, signals, True, centre=centre, radius=radius)


class Coil(Placement, MagnetBase):
    """A circular coil of turns that are close together, with its exact field; several along an axis are a solenoid.

    It acts on dipoles, magnetized rods and bodies, which act back on it, and uniform fields act on it; forces between coils are
    omitted.
    """

    type: Literal["coil"] = "coil"
    frame: FrameName = "world"
    """Frame that it is fixed to, placed there by `position` and `rotation`."""
    axis: Axis = "z"
    """Its axis, in its axes: the direction of its field at the centre for positive currents."""
    radius: Length
    """Radius of the turns [m]."""
    turns: Number = 1
    """Number of turns [-]."""
    current: CurrentSignal
    """Current, which may vary in time [A]."""
    description: str = ""
    """Description for readers."""

    example: ClassVar[str] = """\
pliant: 1
parameters: {current: {value: 2 A, input: true}}
bodies: {needle: {mass: 0.1 g, shape: {type: cylinder, radius: 0.5 mm, length: 10 mm}}}
joints: {pivot: {type: revolute, child: needle, axis: y}}
magnets:
  needle: {type: body, body: needle, remanence: [0, 0, 1.2 T]}
  pair: {count: 2, type: coil, position: ["=(i - 1.5)*10 cm", 0, 0], axis: x, radius: 10 cm, turns: 150, current: =current}
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """The radius is above zero."""
        yield from positive(self, value, "radius")

    def elements(self, build: Build, name: str) -> Iterator[MagneticElement]:
        """A loop."""
        node, placement = build.frame(self.frame)
        axes, point = se3.compose(placement, build.placement(self))
        constants = COIL.write(
            point=build.entries(point),
            axis=build.entries(axes @ ca.vertcat(*build.direction(self.axis))),
            radius=build.value(self.radius),
            turns=build.value(self.turns),
        )
        current = build.signal_expression(self.current)
        varies = _varies(build, [self.current])
        yield MagneticElement(COIL_MAGNET, node, constants, [current], varies)


class Magnetized(MagnetBase):
    """Common base of parts that are magnetized by volume."""

    magnetization: MagnetizationVector | None = None
    """Magnetic moment per volume [A/m]."""
    remanence: RemanenceVector | None = None
    """Instead of it: the remanent flux density, mu_0 times the magnetization [T]."""

    amounts: ClassVar[tuple[str, ...]] = ("magnetization", "remanence")

    @model_validator(mode="after")
    def _given_once(self) -> Self:
        given = [key for key in self.amounts if getattr(self, key) is not None]
        if len(given) != 1:
            known = f"{', '.join(self.amounts[:-1])} or {self.amounts[-1]}"
            message = f"a magnet needs one of {known}" + (f"; here are {' and '.join(given)}" if given else "")
            raise fault("not_once", message, hint="give one of them", key=given[1] if given else "")
        return self

    def per_volume(self, build: Build) -> list[Any]:
        """Magnetization [A/m]."""
        if self.magnetization is not None:
            return [build.value(entry) for entry in self.magnetization]
        assert self.remanence is not None, "checked when the model was read"
        return [build.value(entry) / MU_0 for entry in self.remanence]


class MagneticBody(Magnetized):
    """A body with a shape that is uniformly magnetized, as a dipole at its centre of mass: exact for a ball, and for other shapes
    at distances of a few of their sizes."""

    type: Literal["body"] = "body"
    body: BodyName
    """The body, whose shape gives the volume; components of the magnetization are along the body's axes."""
    description: str = ""
    """Description for readers."""

    example: ClassVar[str] = Coil.example

    def elements(self, build: Build, name: str) -> Iterator[MagneticElement]:
        """Its dipole moment."""
        body = build.robot.bodies[self.body]
        volume = 0.0 if body.shape is None else body.shape.volume(build.value)
        if body.shape is None or (isinstance(volume, float) and volume == 0):
            text = f"the volume of the body '{self.body}' is unknown: it has no shape with a volume"
            raise SpecError([Fault(text, "give it a shape, or write a dipole with its moment", f"magnets.{name}.body")])
        node, (R, p) = build.frame(self.body)
        moment = R @ ca.vertcat(*[volume * x for x in self.per_volume(build)])
        point = p + R @ ca.vertcat(*map(build.value, body.center_of_mass))
        x, y, z = body.shape.gyration(build.value)
        least = ca.fmin(ca.fmin(y + z - x, x + z - y), x + y - z) / 2
        yield _dipole(build, node, point, build.entries(moment), ca.sqrt(3 * least))


class MagneticRod(Magnetized):
    """A magnetized rod, such as hard-magnetic rubber: moments and forces act along it as its weight does.

    Its field acts on other magnets as that of dipoles at the points of its model; on itself it has no effect, nor on others of the
    same rod.
    """

    type: Literal["rod"] = "rod"
    rod: RodName
    """The rod; components of the magnetization are along the axes of its sections, z along the rod."""
    moment_per_length: tuple[MagneticMomentPerLength, MagneticMomentPerLength, MagneticMomentPerLength] | None = None
    """Instead of a magnetization: the magnetic moment per length, for sections without known area [A m]."""
    profile: Factors = (1,)
    """Factors on the magnetization at equal distances from base to tip, linear in between [-]."""
    segments: Factors = (1,)
    """Factors on the magnetization of equal parts of the rod from base to tip, constant in each: `[1, -1]` for one that is reversed
    from its middle on [-]."""
    description: str = ""
    """Description for readers."""

    amounts: ClassVar[tuple[str, ...]] = ("magnetization", "remanence", "moment_per_length")

    example: ClassVar[str] = UniformField.example

    @property
    def rods(self) -> tuple[str, ...]:
        """The rod."""
        return (self.rod,)

    def elements(self, build: Build, name: str) -> Iterator[MagneticElement]:
        """Dipoles at the places of its mass."""
        per_length, kinks, direction = self._amount(build, name)
        area = area_along(build.robot.rods[self.rod], build)
        thickness = (lambda x: SMALLEST) if area is None else lambda x: ca.sqrt(area[0](x) / np.pi)
        pieces = build.rod_pieces(self.rod)
        pieces = [*self._clamped(build, pieces), *pieces]
        for piece, weight in zip(pieces, weights(per_length, kinks, pieces), strict=True):
            R, p = piece.placement
            moment = build.entries(R @ ca.vertcat(*[weight * x for x in direction]))
            yield _dipole(build, piece.node, p, moment, thickness(piece.x), piece.length)

    def _clamped(self, build: Build, pieces: Sequence[RodPiece]) -> Iterator[RodPiece]:
        """The part at the base that some models do not move if the rod is clamped to the world: others are in its field."""
        node, base = build.frame(self.rod)
        begin = min(piece.x if piece.span is None else piece.span[0] for piece in pieces)
        if node == 0 and begin > ROUND_OFF:
            length = begin * build.value(build.robot.rods[self.rod].length)
            placement = se3.compose(base, (ca.DM.eye(3), ca.vertcat(0, 0, length / 2)))
            yield replace(pieces[0], node=node, placement=placement, length=length, x=begin / 2, span=(0.0, begin))

    def _amount(self, build: Build, name: str) -> tuple[Callable[[float], Any], list[float], list[Any]]:
        """Factor on a vector as a function of the fraction of the length, fractions where it has kinks or steps, the vector: their
        product is the moment per length [A m]."""
        profile, segments = ([build.value(x) for x in given] for given in (self.profile, self.segments))
        linear, n = partial(along, profile), len(segments)
        kinks = {k / (len(profile) - 1) for k in range(1, len(profile) - 1)} | {k / n for k in range(1, n)}

        def factor(x: float) -> Any:
            return linear(x) * segments[min(int(x * n), n - 1)]

        if self.moment_per_length is not None:
            return factor, sorted(kinks), [build.value(entry) for entry in self.moment_per_length]
        found = area_along(build.robot.rods[self.rod], build)
        if found is None:
            text = f"the area of the rod '{self.rod}' is unknown: its section is given by its stiffness"
            key = next(key for key in self.amounts if getattr(self, key) is not None)
            raise SpecError([Fault(text, "give `moment_per_length` instead", f"magnets.{name}.{key}")])
        area, more = found
        return lambda x: factor(x) * area(x), sorted({*kinks, *more}), self.per_volume(build)


Magnet: TypeAlias = Annotated[UniformField | Dipole | Coil | MagneticBody | MagneticRod, ByType("magnet")]
