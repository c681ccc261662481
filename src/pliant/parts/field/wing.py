"""Wings, fins and blades: lift and drag of a section by its angle of attack, from a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import casadi as ca
from pydantic import Field

from pliant.language.base import Part, Problem, positive
from pliant.language.faults import Fault, SpecError
from pliant.language.names import FrameName
from pliant.language.placement import Placement
from pliant.language.scalar import Angle, Area, Length, Number, Repeated, Scalar
from pliant.parts.field.base import velocity_at, wrench_at
from pliant.parts.field.medium import MediumKind
from pliant.parts.formula.base import Effect, FrameForce
from pliant.parts.geometry import se3
from pliant.parts.motion import Fields

if TYPE_CHECKING:
    from pliant.parts.assembly.build import Build


class Polar(Part):
    """Coefficients of a section by its angle of attack, joined by a smooth curve.

    If all angles are from zero up, the section is symmetric. From ten degrees beyond the ends of the table on it is stalled, with
    the coefficients of a plate: a force 1.2 sin(angle) normal to it.
    """

    angles: tuple[Angle, ...] = Field(min_length=2)
    """Angles of attack, increasing, from -180 to 180 deg [rad]."""
    lift: tuple[Number, ...] = Field(min_length=2)
    """Lift coefficients [-]."""
    drag: tuple[Number, ...] = Field(min_length=2)
    """Drag coefficients [-]."""
    moment: tuple[Number, ...] | None = None
    """Moment coefficients, which raise the leading edge [-]; default: 0."""

    example: ClassVar[str] = """\
pliant: 1
world: {fluid: {density: 1000 kg/m^3}}
bodies:
  carriage: {mass: 1 kg}
  fin: {mass: 100 g, inertia: {principal: [1e-4, 1e-4, 1e-4 kg*m^2]}}
joints:
  swim: {type: prismatic, axis: x, child: carriage}
  beat: {type: revolute, axis: z, parent: carriage, child: fin, angle: {motion: "=0.4 rad*sin(6 rad/s*t)"}}
loads:
  blade: {type: wing, frame: fin, position: [-10 cm, 0, 0], rotation: {axis: x, angle: 90 deg}, area: 80 cm^2,
    polar: {angles: [0 deg, 10 deg, 20 deg], lift: [0, 0.6, 0.9], drag: [0.02, 0.1, 0.35], moment: [0, 0, -0.05]}}
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """As many coefficients as angles; increasing angles within a turn; drag that brakes."""
        angles = [value(x) for x in self.angles]
        for key in ("lift", "drag", "moment"):
            given = getattr(self, key)
            if given is not None and len(given) != len(angles):
                yield (key,), f"{key} has {len(given)} entries, but there are {len(angles)} angles", ""
        if any(b - a < 1e-6 for a, b in pairwise(angles)):
            yield ("angles",), "the angles do not increase", ""
        if max(map(abs, angles)) > math.pi + 1e-9:
            most = math.degrees(max(map(abs, angles)))
            yield (
                ("angles",),
                f"an angle of {most:g} deg is beyond 180 deg",
                "angles without a unit are in rad; write `10 deg`",
            )
        for k, given in enumerate(self.drag):
            if value(given) < 0:
                yield ("drag", k), f"a drag coefficient is not negative, but this one is {value(given):g}", ""

    def knots(self, angles: Sequence[float], value: Callable[[Scalar], Any]) -> list[tuple[Any, ...]]:
        """Angle, lift, drag and moment coefficients around the whole turn; angles: those of the table [rad]."""
        columns = (list(map(value, given)) for given in (self.lift, self.drag, self.moment or (0,) * len(angles)))
        rows = list(zip(angles, *columns, strict=True))
        if angles[0] >= 0:
            rows = [(-a, -lift, drag, -moment) for a, lift, drag, moment in reversed(rows) if a > 0] + rows
        plate = [math.radians(15 * k) for k in range(-12, 13)]
        before = [_stalled(a, rows[0][2]) for a in plate if a < rows[0][0] - GAP]
        after = [_stalled(a, rows[-1][2]) for a in plate if a > rows[-1][0] + GAP]
        return [*before, *rows, *after]


GAP = math.radians(10)
"""Angle beyond the table within which the flow separates [rad]."""
NORMAL = 1.2
"""Coefficient of the force normal to a plate of moderate proportions (DNV-RP-H103, table B-2)."""


def _stalled(angle: float, least: Any) -> tuple[Any, ...]:
    force = NORMAL * math.sin(angle)
    return angle, force * math.cos(angle), force * math.sin(angle) + least, 0.0


class Wing(Placement, Repeated):
    """Lift and drag of a wing, fin or blade in the fluid of the `world`, air or water, at a point of a frame.

    In the axes of the wing, placed on the frame by `position` and `rotation`, x points from the trailing to the leading edge and z
    out of the upper side; flow along y has no effect. The angle of attack is between x and the motion through the fluid.
    """

    type: Literal["wing"] = "wing"
    frame: FrameName
    """Frame that it is fixed to."""
    area: Area
    """Area that the coefficients refer to [m^2]."""
    chord: Length | None = None
    """Length from edge to edge, for moments and where it crosses a surface [m]; default: the root of the area."""
    polar: Polar
    """Coefficients by angle of attack."""
    description: str = ""
    """Description for readers."""

    rods: ClassVar[tuple[str, ...]] = ()
    """Rods that it acts along."""

    example: ClassVar[str] = """\
pliant: 1
world: {fluid: {density: 1.2 kg/m^3}}
bodies:
  glider: {mass: 80 g, inertia: {principal: [2e-3, 1e-3, 3e-3 kg*m^2]}}
joints:
  flight: {type: free, child: glider, x: {rate: 6 m/s}}
loads:
  wing: {type: wing, frame: glider, area: 6 dm^2, chord: 10 cm, polar: &thin {
    angles: [0 deg, 5 deg, 10 deg, 14 deg], lift: [0, 0.5, 0.95, 1.05], drag: [0.02, 0.025, 0.06, 0.14]}}
  tail: {type: wing, frame: glider, position: [-30 cm, 0, 0], rotation: {axis: y, angle: 2 deg}, area: 1 dm^2, polar: *thin}
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Sizes above zero."""
        yield from positive(self, value, "area", "chord")

    def apply(self, build: Build, name: str) -> None:
        """Add the load to the system."""
        fluid = build.robot.world.fluid
        if fluid is None:
            message = "a wing needs a fluid to fly in"
            hint = "add it to the world: `world: {fluid: {density: 1.2 kg/m^3}}` for air"
            raise SpecError([Fault(message, hint, f"loads.{name}")])
        medium = fluid.medium(build)
        angles = [build.value(x) for x in self.polar.angles]
        if not all(build.is_settled(angle) for angle in angles):
            message = "the angles of a polar cannot depend on parameters"
            raise SpecError([Fault(message, "write them as numbers", f"loads.{name}.polar.angles")])
        knots = self.polar.knots([build.nominal(angle) for angle in angles], build.value)
        kind = WingKind(medium.kind, len(knots))
        node, pose = build.frame(self.frame)
        area = build.value(self.area)
        columns = [[row[k] for row in knots] for k in range(4)]
        constants = kind.own.write(
            placement=build.pose_entries(se3.compose(pose, build.placement(self))),
            area=area,
            chord=build.value(self.chord) if self.chord is not None else area**0.5,
            angles=columns[0],
            **{f"{key}": column for key, column in zip(COEFFICIENTS, columns[1:], strict=True)},
        )
        build.load_forces[name] = build.system.frame_force(
            wing_force(kind), [node], [*medium.constants, *constants], medium.signals, name
        )


COEFFICIENTS = ("lift", "drag", "moment")


@dataclass(frozen=True)
class WingKind:
    """What the formula of a wing contains: the fluid, and the number of rows of its table."""

    medium: MediumKind
    rows: int

    @property
    def own(self) -> Fields:
        """Constants of the wing: placement, area [m^2], chord [m], table."""
        table = [f"{name}:{self.rows}" for name in ("angles", *COEFFICIENTS)]
        return Fields("placement:pose", "area", "chord", *table)


def spline(x: Any, places: Any, columns: Sequence[Any], count: int) -> list[Any]:
    """Cubic pieces through values at increasing places, with the slopes of the parabolas through three neighbours; linear in the
    values. Constant beyond the ends."""
    steps = [places[k + 1] - places[k] for k in range(count - 1)]
    inside = [ca.fmin(ca.fmax((x - places[k]) / steps[k], 0), 1) for k in range(count - 1)]
    found = []
    for y in columns:
        chords = [(y[k + 1] - y[k]) / steps[k] for k in range(count - 1)]
        slopes = [chords[0], *[
            (steps[k] * chords[k - 1] + steps[k - 1] * chords[k]) / (steps[k - 1] + steps[k]) for k in range(1, count - 1)
        ], chords[-1]]  # fmt: skip
        total = y[0]
        for k, s in enumerate(inside):
            a, b, h = slopes[k], slopes[k + 1], steps[k]
            rise = y[k + 1] - y[k]
            total = total + s * (h * a + s * (3 * rise - h * (2 * a + b) + s * (h * (a + b) - 2 * rise)))
        found.append(total)
    return found


NO_FLOW = 1e-24
"""Square of a speed below which its direction is not resolved [m^2/s^2]."""


@cache
def wing_force(kind: WingKind) -> FrameForce:
    """Lift, drag and moment on a wing."""
    fields = kind.medium.fields + kind.own

    def effect(poses: Any, twists: Any, c: Any, signals: Any) -> Effect:
        at = fields.read(c)
        R, p = se3.compose(poses[0], at.placement)
        flow = kind.medium.flow(p, at.current, signals)
        relative = velocity_at(twists[0], p) - flow.velocity
        v = R.T @ relative
        speed = ca.sqrt(v[0] ** 2 + v[2] ** 2 + NO_FLOW)
        angle = ca.atan2(-v[2], v[0] + ca.if_else(speed < 1e-9, 1e-9, 0.0))
        lift, drag, moment = spline(angle, at.angles, [at.lift, at.drag, at.moment], kind.rows)
        pressure = 0.5 * at.density * at.area * speed
        if kind.medium.has_surface:
            g = ca.sqrt(ca.dot(at.gravity, at.gravity) + 1e-300)
            depth = ca.fmin(ca.fmax(0.5 - (ca.dot(-at.gravity, p) / g - at.surface) / at.chord, 0), 1)
            pressure = pressure * depth * depth * (3 - 2 * depth)
        force = R @ (pressure * ca.vertcat(-lift * v[2] - drag * v[0], 0, lift * v[0] - drag * v[2]))
        torque = R @ ca.vertcat(0, -pressure * speed * at.chord * moment, 0)
        wrench = wrench_at(force, torque, p)
        supply = ca.dot(force, flow.velocity) + ca.dot(torque, twists[0][3:6])
        return Effect(wrench, dissipation=-ca.dot(force, relative), supply=supply)

    return FrameForce(f"wing_{kind.medium.word}_{kind.rows}", 1, fields.size, kind.medium.signals, effect)
