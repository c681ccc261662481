"""A fluid acting on rods: buoyancy, drag and added mass per length, by the outline of their sections.

A piece of rod of length L, whose section moves with the velocity w relative to the fluid (components along the axes of the
section, z its tangent), is acted on by

* the weight of the fluid that it displaces, and the force that would accelerate this as the undisturbed fluid is accelerated;
* drag `-(1/2 density C_i W_i |w_xy| + k_n) w_i L` across, with the width W_i that faces the flow, and
  `-(1/2 density C_z P |w_z| + k_z) w_z L` along, with the perimeter P;
* the inertia of the fluid that it moves aside, a mass per length `a` for each direction across, and about the axis: `-a` times
  the acceleration relative to the fluid, which is Morison's formula for slender parts in separated flow, or on request the
  change of the momentum `a w` and its moment `w x (a w)` in an ideal fluid.

Default coefficients are of long straight cylinders across the flow:

* C of a circle: 1, and with viscosity in addition 10 Re^(-2/3) (White, Viscous Fluid Flow, 1991, eq. 3-225); of a rectangle by
  its proportions (Blevins, Applied Fluid Dynamics Handbook, 1984, table 10-5). C_z is 0.01, of a rough cylinder in a flow along
  it.
* k of a cylinder in slow flow: Tirado and Garcia de la Torre (J. Chem. Phys. 71, 1979), with the rod's length and mean width.
  The addition to C and k_n are the two ends of one curve: the root of the sum of their squares.
* added mass of the area of the circle around the width that faces the flow, with a factor of 1 for circles and thin plates, and
  of rectangles by their proportions (DNV-RP-C205, 2010, table D-1); about the axis that of an ellipse.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

import casadi as ca
import numpy as np
from pydantic import StrictBool

from pliant.language.base import OneOrList, Part, Problem, not_negative, positive
from pliant.language.faults import Fault, SpecError
from pliant.language.scalar import Length, Number, Scalar, Viscosity
from pliant.parts.assembly.build import Build
from pliant.parts.assembly.entries import RodPiece, RodSpan
from pliant.parts.field.base import (
    ON_SPAN,
    POINTS,
    add_added_mass,
    moved_mass,
    on_parabola,
    velocity_at,
    velocity_between,
    wrench_at,
    wrenches_of,
)
from pliant.parts.field.medium import Flow, Medium, MediumKind
from pliant.parts.formula.base import Effect, FrameForce, Inertia, world_jacobian
from pliant.parts.geometry import se3, so3
from pliant.parts.motion import Fields
from pliant.parts.section.base import GeometricSection, HoledSection, OneSection

BOTH_WAYS = Annotated[tuple[Number, Number], OneOrList(2)]


class RodFluid(Part):
    """What the fluid of the `world` does to a rod; all that is not given follows from the outline of its sections."""

    immersed: StrictBool = True
    """Whether the fluid acts on the rod."""
    diameter: Length | None = None
    """Outer diameter of a round outline, instead of that of the sections [m]; for sections given by their stiffness."""
    inside: Literal["closed", "flooded"] = "closed"
    """What is inside of bores and holes: nothing that counts, so that the whole outline displaces fluid; or the fluid itself, so
    that the wall displaces it, and what is inside moves along."""
    buoyancy: StrictBool = True
    """Whether the displaced fluid carries its weight."""
    drag: Literal["both", "quadratic", "viscous", "none"] = "both"
    """Which drag acts: quadratic in the speed, proportional to it, or their sum, where the fluid has viscosity."""
    normal_drag: BOTH_WAYS | None = None
    """Coefficients of quadratic drag against flow along the section's x and y, or one for both, relative to the width that faces
    it [-]. Default: 1 for round sections, rising at small Reynolds numbers; 1.3 to 2.9 for others, by their proportions."""
    axial_drag: Number = 0.01
    """Coefficient of quadratic drag along the rod, relative to its perimeter [-]."""
    viscous_drag: Viscosity | None = None
    """Force per length and speed against slow flow across the rod [Pa s]. Default: that of a cylinder of its length."""
    drag_ratio: Number | None = None
    """Ratio of that to the force against slow flow along the rod [-]. Default: that of a cylinder, below 2."""
    added_mass: BOTH_WAYS | None = None
    """Mass of the fluid moved along the section's x and y, or one for both, relative to that in a circle around the width that
    faces the motion [-]. Default: 1 for round sections, 1 to 2.3 for others, by their proportions."""
    munk_moment: StrictBool = False
    """How the fluid that is moved aside reacts: by the acceleration of each section relative to the fluid (Morison), as where the
    flow separates behind blades and cables; or as an ideal fluid, in which its momentum also turns with the section, and turns the
    rod across its motion (Munk's moment)."""

    example: ClassVar[str] = """\
pliant: 1
world: {fluid: {density: 1000 kg/m^3, viscosity: 1 mPa*s}}
sections: {blade: {shape: rectangle, width: 2 cm, height: 2 mm}}
materials: {foam: {density: 600 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.3}}
rods:
  leaf: {length: 25 cm, section: blade, material: foam, fluid: {normal_drag: [0.1, 1.95], axial_drag: 0.005}}
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Sizes above zero, coefficients not below."""
        yield from positive(self, value, "diameter", "drag_ratio")
        yield from not_negative(self, value, "axial_drag")
        if self.viscous_drag is not None:
            yield from not_negative(self, value, "viscous_drag")
        for key in ("normal_drag", "added_mass"):
            for k, given in enumerate(getattr(self, key) or ()):
                if value(given) < 0:
                    yield (key, k), f"{key} must not be negative, but it is {value(given):g}", ""

    def apply(self, build: Build, name: str, medium: Medium) -> None:
        """Add the forces of the fluid on a rod, at the same places as its mass."""
        if not self.immersed:
            return
        spans = build.rod_spans(name)
        pieces = [] if spans else build.rod_pieces(name)
        around = _RodInFluid.of(self, build, name, medium)
        masses: dict[int, Any] = {}
        for piece in pieces:
            M = around.add_piece(piece)
            if M is not None:
                masses[piece.node] = masses.get(piece.node, 0) + M
        for node, M in masses.items():
            add_added_mass(build, node, se3.identity(), M)
        for span in spans:
            around.add_span(span)


@dataclass(frozen=True)
class Outline:
    """The outline of a section in numbers or expressions.

    Attributes:
        area: displaced per length [m^2].
        inside: area that moves along with the fluid in it [m^2].
        half: half its extent along x and y [m].
        perimeter: [m].
        normal: drag coefficients against flow along x and y [-].
        added: coefficients of added mass along x and y [-].
        is_round: whether it is a circle.
    """

    area: Any
    inside: Any
    half: tuple[Any, Any]
    perimeter: Any
    normal: tuple[Any, Any]
    added: tuple[Any, Any]
    is_round: Any

    def entries(self) -> list[Any]:
        """All values in one list."""
        half, normal, added = map(list, (self.half, self.normal, self.added))
        return [self.area, self.inside, self.perimeter, self.is_round, *half, *normal, *added]

    @classmethod
    def from_entries(cls, x: Sequence[Any]) -> Outline:
        """The outline with these `entries`."""
        return cls(x[0], x[1], (x[4], x[5]), x[2], (x[6], x[7]), (x[8], x[9]), x[3])


DRAG_BY_DEPTH = (0.1, 1.9), (0.5, 2.5), (0.65, 2.9), (1.0, 2.2), (2.0, 1.6), (3.0, 1.3)
"""Depth along the flow over width across it, and drag coefficient, of a rectangle (Blevins 1984)."""
MASS_BY_DEPTH = (0.1, 1.14), (0.2, 1.21), (0.5, 1.36), (1.0, 1.51), (2.0, 1.70), (5.0, 1.98), (10.0, 2.23)
"""The same for its added mass over that of the circle around its width (DNV-RP-C205, where a thin plate has 1)."""


def by_depth(table: Sequence[tuple[float, float]], depth: float) -> float:
    """A coefficient interpolated over the logarithm of the depth over the width."""
    places, values = zip(*table, strict=True)
    return float(np.interp(math.log(depth), np.log(places), values))


def outline_of(section: OneSection, given: RodFluid, build: Build) -> Outline | None:
    """The outline of a section; None if it has none."""
    value = build.value
    if given.diameter is not None:
        r: Any = value(given.diameter) / 2
        return Outline(math.pi * r**2, 0.0, (r, r), 2 * math.pi * r, (1.0, 1.0), (1.0, 1.0), 1.0)
    if not isinstance(section, GeometricSection):
        return None
    a, b = section.half_sizes(value)
    wall = section.total_area(value)
    outer = wall + math.pi * section.bore(value) ** 2
    if isinstance(section, HoledSection):
        outer += sum(math.pi * r**2 for _, _, r in section.circles(value))
    if section.is_round:
        perimeter, normal, added = 2 * math.pi * a, (1.0, 1.0), (1.0, 1.0)
    else:
        perimeter = 4 * (a + b)
        proportion = build.nominal(a / b)
        normal, added = (
            (by_depth(table, proportion), by_depth(table, 1 / proportion)) for table in (DRAG_BY_DEPTH, MASS_BY_DEPTH)
        )
    flooded = given.inside == "flooded"
    return Outline(
        wall if flooded else outer, outer - wall if flooded else 0.0, (a, b), perimeter, normal, added,
        1.0 if section.is_round else 0.0,
    )  # fmt: skip


@dataclass(frozen=True)
class ForceKind:
    """What the formulas of a piece contain: an option of types of force.

    quadratic, viscous: whether there is such drag; buoyant: whether the fluid carries; ideal: whether
    added mass moves as in an ideal fluid.
    """

    medium: MediumKind
    quadratic: bool
    viscous: bool
    buoyant: bool
    ideal: bool

    @property
    def fields(self) -> Fields:
        """Constants of a piece, each over its length."""
        return self.medium.fields + OF_PIECE

    @property
    def word(self) -> str:
        """A key for names of kernels."""
        flags = (self.quadratic, self.viscous, self.buoyant, self.ideal)
        return f"{self.medium.word}_{''.join(str(int(x)) for x in flags)}"


OF_PIECE = Fields("volume", "reach:3", "quadratic:3", "viscous:2", "slow", "scale", "moved:2")
"""Displaced volume [m^3]; half sizes across, and half the length [m]; force per square of speed along x, y and z [kg/m], per
speed across and along the rod [N s/m]; square of the viscous force across per (Reynolds number)^(1/3) and speed
[N^2 s^2/m^2]; Reynolds number per speed [s/m]; added mass along x and y [kg]."""

NO_RATE = 1e-18
"""Square of a speed below which the direction of a flow is not resolved [m^2/s^2]."""
SLOW = 1e-6
"""Square of the Reynolds number below which drag is proportional to the speed."""


@dataclass(frozen=True)
class Section:
    """A section in a fluid at an instant: place, axes (columns), velocity, angular velocity in these axes [m, m/s, rad/s]."""

    place: Any
    axes: Any
    velocity: Any
    turning: Any


@dataclass(frozen=True)
class Action:
    """Force [N] and moment [N m] on a section in world axes, energy [J], dissipation and supply [W]."""

    force: Any
    moment: Any
    energy: Any
    dissipation: Any
    supply: Any


def height_share(s: Any) -> tuple[Any, Any]:
    """The share of a section below the surface, and its integral, for the depth of its centre over half its height: a cubic, which
    is within 1.5 % of the section of an ellipse."""
    x = ca.fmin(ca.fmax(s, -1), 1)
    share = 0.5 + 0.75 * (x - x**3 / 3)
    # below -1 nothing, above 1 everything
    return share, 0.5 * x + 0.75 * (x**2 / 2 - x**4 / 12) + 3 / 16 + ca.fmax(s - 1, 0)


def submerged(kind: MediumKind, at: Any, place: Any, axes: Any) -> tuple[Any, Any]:
    """The share of a piece that is below the surface, and the work of gravity on the displaced fluid per its mass [J/kg], from the
    surface or the world's origin on."""
    fall = ca.dot(at.gravity, place)
    if not kind.has_surface:
        return 1.0, fall
    g = ca.sqrt(ca.dot(at.gravity, at.gravity) + 1e-30)
    depth = at.surface + fall / g
    steep = axes.T @ at.gravity / g
    half = ca.sqrt(ca.sumsqr(at.reach * steep) + 1e-24)
    share, integral = height_share(depth / half)
    return share, g * half * integral


def act(kind: ForceKind, c: Any, signals: Any, section: Section) -> Action:
    """What the fluid does to a piece."""
    at = kind.fields.read(c)
    share, _ = submerged(kind.medium, at, section.place, section.axes)
    flow = kind.medium.flow(section.place, at.current, signals)
    R = section.axes
    w = R.T @ (section.velocity - flow.velocity)
    across = ca.sqrt(w[0] ** 2 + w[1] ** 2 + NO_RATE)
    resistance = ca.SX.zeros(3)
    if kind.viscous:
        number = (at.scale * across) ** 2 + SLOW
        slow = ca.sqrt(at.viscous[0] ** 2 + at.slow * number ** (1 / 3))
        resistance = resistance + ca.vertcat(slow, slow, at.viscous[1])
    if kind.quadratic:
        resistance = resistance + at.quadratic * ca.vertcat(across, across, ca.fabs(w[2]))
    drag = -share * resistance * w
    dissipation = -ca.dot(drag, w)
    force = R @ drag
    supply = ca.dot(force, flow.velocity)
    moment: Any = ca.SX.zeros(3)
    if not kind.medium.still:
        carried = share * at.density * at.volume * flow.acceleration
        force, supply = force + carried, supply + ca.dot(carried, section.velocity)
    if not (kind.medium.still and kind.ideal):
        push, turning = _beside_inertia(kind, at.moved, R, section, flow)
        force, moment = force + R @ push, R @ turning
        supply = supply + ca.dot(push, R.T @ section.velocity) + ca.dot(turning, section.turning)
    return Action(force, moment, 0.0, dissipation, supply)


def _beside_inertia(kind: ForceKind, moved: Any, R: Any, section: Section, flow: Flow) -> tuple[Any, Any]:
    """Force and moment of added mass `a` in the section's axes, beside those of its inertia in an ideal fluid at rest, which are
    among the masses: `-a dv/dt - o x (a v)` and `-v x (a v)`. In an ideal fluid velocities are relative to the current; otherwise
    the force is `-a` times the relative acceleration, and there is no moment."""
    a, o, v = ca.vertcat(moved, 0), section.turning, R.T @ section.velocity
    carried = a * (R.T @ flow.acceleration)
    if not kind.ideal:
        return carried + ca.cross(o, a * v) - a * ca.cross(o, v), ca.cross(v, a * v)
    U = R.T @ flow.velocity
    return carried + ca.cross(o, a * U) - a * ca.cross(o, U), ca.cross(v, a * v) - ca.cross(v - U, a * (v - U))


def _turning(R: Any, twist: Any) -> Any:
    return R.T @ twist[3:6]


@cache
def piece_force(kind: ForceKind) -> FrameForce:
    """The fluid on a piece of rod that moves with a node."""
    fields = Fields("placement:pose") + kind.fields

    def effect(poses: Any, twists: Any, c: Any, signals: Any) -> Effect:
        R, p = se3.compose(poses[0], fields.read(c).placement)
        own = c[12:]
        moving = Section(p, R, velocity_at(twists[0], p), _turning(R, twists[0]))
        action = act(kind, own, signals, moving)
        wrench, energy = wrench_at(action.force, action.moment, p), 0.0
        if kind.buoyant:
            lift, energy = _buoyancy(kind, own, R, p, poses)
            wrench = wrench + lift
        return Effect(wrench, energy, action.dissipation, action.supply)

    return FrameForce(f"fluid_piece_{kind.word}", 1, fields.size, kind.medium.signals, effect)


def _buoyancy(kind: ForceKind, own: Any, R: Any, p: Any, poses: Any) -> tuple[Any, Any]:
    """World wrench and energy of the displaced fluid of a piece on one node."""
    at = kind.fields.read(own)
    mass = at.density * at.volume
    if not kind.medium.has_surface:
        return wrench_at(-mass * at.gravity, ca.SX.zeros(3), p), mass * ca.dot(at.gravity, p)
    symbols = ca.SX.sym("R", 3, 3), ca.SX.sym("p", 3)
    energy = mass * submerged(kind.medium, at, symbols[1], symbols[0])[1]
    force = -world_jacobian(energy, [symbols]).T
    found = ca.substitute([force, energy], [*symbols], [R, p])
    return found[0], found[1]


@cache
def span_force(kind: ForceKind, points: tuple[tuple[float, float], ...]) -> FrameForce:
    """The fluid on a part of a rod between two sections, in Gauss points of (fraction, weight): on the parabola with the positions
    and tangents of both (`rod.finite_element_mass`)."""
    fields = ON_SPAN + Fields(*(f"piece{k}:{kind.fields.size}" for k in range(len(points))))

    def effect(poses: Any, twists: Any, c: Any, signals: Any) -> Effect:
        at = fields.read(c)
        symbols = [(ca.SX.sym(f"R{k}", 3, 3), ca.SX.sym(f"p{k}", 3)) for k in (0, 1)]
        ends = se3.compose(poses[0], at.first), se3.compose(poses[1], at.second)
        wrenches: Any = ca.SX.zeros(12)
        energy: Any = 0.0
        dissipation: Any = 0.0
        supply: Any = 0.0
        for k, (x, _) in enumerate(points):
            own = getattr(at, f"piece{k}")
            arms, axes = on_parabola(ends, at.length, at.tangent, x)
            place = arms[0] + arms[1]
            velocity = velocity_between(twists, arms, x)
            turning = axes.T @ ((1 - x) * twists[0][3:6] + x * twists[1][3:6])
            action = act(kind, own, signals, Section(place, axes, velocity, turning))
            wrenches += wrenches_of(action.force, action.moment, arms, x)
            dissipation, supply = dissipation + action.dissipation, supply + action.supply
        if kind.buoyant:
            made = se3.compose(symbols[0], at.first), se3.compose(symbols[1], at.second)
            for k, (x, _) in enumerate(points):
                own = kind.fields.read(getattr(at, f"piece{k}"))
                arms, axes = on_parabola(made, at.length, at.tangent, x)
                energy += own.density * own.volume * submerged(kind.medium, own, arms[0] + arms[1], axes)[1]
            force = -world_jacobian(energy, symbols).T
            every = [part for pose in symbols for part in pose]
            force, energy = ca.substitute([force, energy], every, [part for pose in poses for part in pose])
            wrenches = wrenches + force
        return Effect(wrenches, energy, dissipation, supply)

    return FrameForce(f"fluid_span_{kind.word}", 2, fields.size, kind.medium.signals, effect)


@cache
def span_mass(points: tuple[tuple[float, float], ...]) -> Inertia:
    """Added mass along the parabola of `span_force`."""
    fields = Fields("length", "tangent:3", f"moved:{3 * len(points)}")

    def mass(pose: Any, q: Any, c: Any) -> Any:
        at = fields.read(c)
        here = (ca.SX.eye(3), ca.SX.zeros(3))
        Q = pose[0]
        rows, weights = [], []
        for k, (x, _) in enumerate(points):
            bubble = at.length * x * (1 - x) / 2
            _, axes = on_parabola((here, pose), at.length, at.tangent, x)
            J = ca.horzcat(
                (1 - x) * ca.SX.eye(3), -so3.hat(bubble * at.tangent), x * Q, Q @ so3.hat(bubble * at.tangent)
            )
            turning = ca.horzcat(ca.SX(1, 3), (1 - x) * axes[:, 2].T, ca.SX(1, 3), x * axes[:, 2].T @ Q)
            rows += [axes[:, 0].T @ J, axes[:, 1].T @ J, turning]
            weights += [at.moved[3 * k + i] for i in range(3)]
        return ca.vertcat(*rows), ca.diag(ca.vertcat(*weights))

    return Inertia("span_added_mass", 2, (), fields.size, mass, weightless=True)


@dataclass(frozen=True)
class _RodInFluid:
    """A rod under construction in a fluid, with the outlines along it, each at a fraction of its length."""

    build: Build
    given: RodFluid
    medium: Medium
    length: Any
    outlines: list[tuple[float, Outline]]
    name: str

    @classmethod
    def of(cls, given: RodFluid, build: Build, name: str, medium: Medium) -> _RodInFluid:
        rod = build.robot.rods[name]
        length = build.value(rod.length)
        table = build.robot.sections[rod.section[0]].stations_by_arc_length() if len(rod.section) == 1 else ()
        names = [section for _, section in table] or list(rod.section)
        places = [build.nominal(build.value(at) / length) for at, _ in table]
        places = places or [k / max(len(names) - 1, 1) for k in range(len(names))]
        outlines = []
        for x, section in zip(places, names, strict=True):
            found = outline_of(build.robot.sections[section], given, build)
            if found is None:
                text = f"the section '{section}' of the rod has no outline on which the fluid could act"
                hint = "add `fluid: {diameter: ...}` to the rod, or `fluid: {immersed: false}`"
                raise SpecError([Fault(text, hint, f"rods.{name}.section")])
            outlines.append((x, found))
        return cls(build, given, medium, length, outlines, name)

    def outline(self, x: float) -> Outline:
        """The outline at a fraction of the length, interpolated between stations."""
        k = max((k for k, (at, _) in enumerate(self.outlines) if at <= x), default=0)
        if k == len(self.outlines) - 1:
            return self.outlines[k][1]
        (begin, a), (end, b) = self.outlines[k : k + 2]
        share = (x - begin) / (end - begin)
        return Outline.from_entries(
            [(1 - share) * p + share * q for p, q in zip(a.entries(), b.entries(), strict=True)]
        )

    @property
    def kind(self) -> ForceKind:
        """The terms that act."""
        given = self.given
        has_viscosity = self.medium.is_viscous or given.viscous_drag is not None
        return ForceKind(
            self.medium.kind,
            quadratic=given.drag in ("both", "quadratic"),
            viscous=given.drag in ("both", "viscous") and has_viscosity,
            buoyant=given.buoyancy,
            ideal=given.munk_moment,
        )

    def added_mass(self, outline: Outline) -> list[Any]:
        """Added mass per length along x and y [kg/m], and about the axis [kg m]."""
        density = self.medium.density
        a, b = outline.half
        factors = outline.added if self.given.added_mass is None else map(self.build.value, self.given.added_mass)
        along = [density * (c * math.pi * h**2 + outline.inside) for c, h in zip(factors, (b, a), strict=True)]
        return [*along, density * math.pi / 8 * (a**2 - b**2) ** 2 * (1 - outline.is_round)]

    def constants(self, length: Any, x: float, moved: Sequence[Any]) -> list[Any]:
        """Constants of a piece of this length [m] around a fraction of the rod's; moved: its added mass per length [kg/m]."""
        value, outline, kind = self.build.value, self.outline(x), self.kind
        density, viscosity = self.medium.density, self.medium.viscosity
        a, b = outline.half
        normal = outline.normal if self.given.normal_drag is None else tuple(map(value, self.given.normal_drag))
        widths = 2 * b, 2 * a
        quadratic = [0.5 * density * c * w for c, w in zip(normal, widths, strict=True)]
        quadratic.append(0.5 * density * value(self.given.axial_drag) * outline.perimeter)
        across, along = self._viscous(outline, viscosity)
        curved = self.given.normal_drag is None and self.given.viscous_drag is None and kind.quadratic
        slow = (5 * viscosity * length) ** 2 * outline.is_round if curved else 0.0
        scale = density * 2 * a / viscosity if kind.viscous and curved else 0.0
        parts = OF_PIECE.write(
            volume=outline.area * length,
            reach=[a, b, length / 2],
            quadratic=[c * length for c in quadratic],
            viscous=[across * length, along * length],
            slow=slow,
            scale=scale,
            moved=[length * m for m in moved],
        )
        return [*self.medium.constants, *parts]

    def wet_share(self, place: Any, axes: Any, outline: Outline, reach: Any) -> Any:
        """The share of a piece that is below the surface at the start."""
        kind, constants = self.medium.kind, self.medium.constants
        if not kind.has_surface:
            return 1.0
        fields = kind.fields + Fields("reach:3")
        at = fields.read(ca.SX(ca.vertcat(*constants, *outline.half, reach)))
        return submerged(kind, at, place, axes)[0]

    def _viscous(self, outline: Outline, viscosity: Any) -> tuple[Any, Any]:
        """Force per length and speed across and along the rod [Pa s] in slow flow."""
        if not self.kind.viscous:
            return 0.0, 0.0
        thin = outline.perimeter / math.pi / self.length
        slender = ca.log(1 / thin)
        across = 4 * math.pi / (slender + 0.839 + 0.185 * thin + 0.233 * thin**2)
        along = 2 * math.pi / ca.fmax(slender - 0.207 + 0.980 * thin - 0.133 * thin**2, 0.1)
        if self.given.viscous_drag is None:
            across, along = across * viscosity, along * viscosity
        else:
            along = along / across * self.build.value(self.given.viscous_drag)
            across = self.build.value(self.given.viscous_drag)
        if self.given.drag_ratio is not None:
            along = across / self.build.value(self.given.drag_ratio)
        return across, along

    def add_piece(self, piece: RodPiece) -> Any:
        """Add the force on a piece; returns its added mass for the velocity of its node, if it moves."""
        if not piece.node:
            return None
        outline = self.outline(piece.x)
        R, p = se3.compose(self.build.initial_pose(piece.node), piece.placement)
        wet = self.wet_share(p, R, outline, piece.length / 2)
        moved = [wet * m for m in self.added_mass(outline)]
        constants = self.build.pose_entries(piece.placement) + self.constants(piece.length, piece.x, moved[:2])
        force = piece_force(self.kind)
        self.build.system.frame_force(force, [piece.node], constants, self.medium.signals, self.name)
        m_x, m_y, turning = (piece.length * m for m in moved)
        return moved_mass(ca.diag(ca.vertcat(m_x, m_y, 0, 0, 0, turning)), piece.placement)

    def add_span(self, span: RodSpan) -> None:
        """Add the force and the added mass of a part of the rod between two sections."""
        begin, end = span.ends
        constants = ON_SPAN.write(
            first=self.build.pose_entries(span.near[1]),
            second=self.build.pose_entries(span.far[1]),
            length=span.length,
            tangent=list(span.tangent),
        )
        ends = [se3.compose(self.build.initial_pose(node), place) for node, place in (span.near, span.far)]
        tangent = ca.SX(ca.vertcat(*span.tangent))
        moved: list[Any] = []
        for x, weight in POINTS:
            here, length = begin + x * (end - begin), weight * span.length
            outline = self.outline(here)
            arms, axes = on_parabola(ends, span.length, tangent, x)
            wet = self.wet_share(arms[0] + arms[1], axes, outline, length / 2)
            own = [wet * m for m in self.added_mass(outline)]
            constants += self.constants(length, here, own[:2])
            moved += [length * m for m in own]
        nodes = [span.near[0], span.far[0]]
        force = span_force(self.kind, POINTS)
        self.build.system.frame_force(force, nodes, constants, self.medium.signals, self.name)
        if any(nodes):
            mass = span_mass(POINTS)
            self.build.inertia(mass, [span.near, span.far], [], [span.length, *span.tangent, *moved])
