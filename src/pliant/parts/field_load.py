"""Loads given as text: forces that depend on the place, motion and direction of what they act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

import casadi as ca
from pydantic import model_validator

from pliant.language.base import ByType, fault
from pliant.language.dimension import LENGTH, NUMBER, RATE, SPEED, Dimension
from pliant.language.evaluate import StateExpressions
from pliant.language.names import FrameName, RodName
from pliant.language.scalar import ForceField, ForcePerLengthField, Repeated, TorqueField, TorquePerLengthField
from pliant.parts.assembly.build import Build
from pliant.parts.external_load import Distributed, Wrench
from pliant.parts.field.base import ON_SPAN, POINTS, on_parabola, velocity_at, velocity_between, wrench_at, wrenches_of
from pliant.parts.field.wing import Wing
from pliant.parts.formula.base import Effect, FrameForce
from pliant.parts.geometry import se3
from pliant.parts.motion import Fields

STATE: Mapping[str, Dimension] = {
    **dict.fromkeys(("x", "y", "z"), LENGTH),
    **dict.fromkeys(("vx", "vy", "vz"), SPEED),
    **dict.fromkeys(("wx", "wy", "wz"), RATE),
    **dict.fromkeys(("tx", "ty", "tz"), NUMBER),
    "s": LENGTH,
}
"""Quantities that the text may use."""


class FieldLoad(Repeated):
    """A force and a moment as text, per length of a rod, or on a body: in terms of the place `x`, `y`, `z` [m], the velocity `vx`,
    `vy`, `vz` [m/s], the angular velocity `wx`, `wy`, `wz` [rad/s], and the tangent `tx`, `ty`, `tz` (of a body its z axis), all in
    world axes, the arc length `s` along an undeformed rod [m], the time `t`, inputs and parameters. All its work counts as
    supplied."""

    type: Literal["field"] = "field"
    rod: RodName | None = None
    """Rod that it acts along."""
    body: FrameName | None = None
    """Instead of a rod: frame of a body, at whose origin it acts."""
    force_per_length: tuple[ForcePerLengthField, ForcePerLengthField, ForcePerLengthField] = (0, 0, 0)
    """On a rod: force per undeformed length, in world axes [N/m]."""
    torque_per_length: tuple[TorquePerLengthField, TorquePerLengthField, TorquePerLengthField] = (0, 0, 0)
    """On a rod: moment per undeformed length, in world axes [N m/m]."""
    force: tuple[ForceField, ForceField, ForceField] = (0, 0, 0)
    """On a body: force, in world axes [N]."""
    moment: tuple[TorqueField, TorqueField, TorqueField] = (0, 0, 0)
    """On a body: moment, in world axes [N m]."""
    description: str = ""
    """Description for readers."""

    example: ClassVar[str] = """\
pliant: 1
parameters: {c: 0.4 N*s^2/m^3}
sections: {wire: {shape: circle, radius: 5 mm}}
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}}
rods: {arm: {length: 30 cm, section: wire, material: rubber}}
loads:
  air: {type: field, rod: arm, force_per_length: ["=-c*vx*abs(vx)", "=-c*vy*abs(vy)", "=-c*vz*abs(vz)"]}
"""

    @model_validator(mode="after")
    def _on_one(self) -> Self:
        if (self.rod is None) == (self.body is None):
            message = "a load of type `field` acts on a rod or on a body"
            raise fault("not_one", message, hint="give one of `rod` and `body`", key="rod" if self.rod else "type")
        wrong = ("force", "moment") if self.rod is not None else ("force_per_length", "torque_per_length")
        for key in wrong:
            if key in self.model_fields_set:
                other = {"force": "force_per_length", "moment": "torque_per_length"}
                other |= {value: key for key, value in other.items()}
                message = f"`{key}` acts on {'bodies' if self.rod else 'rods'}"
                raise fault("wrong_key", message, hint=f"write `{other[key]}`", key=key)
        return self

    @property
    def rods(self) -> tuple[str, ...]:
        """The rod that it acts along, if any."""
        return () if self.rod is None else (self.rod,)

    def state_names(self) -> Mapping[str, Dimension]:
        """Place, motion and direction."""
        return STATE

    def apply(self, build: Build, name: str) -> None:
        """Add the load to the system, at the same places of a rod as its mass."""
        on_rod = self.rod is not None
        given = (*self.force_per_length, *self.torque_per_length) if on_rod else (*self.force, *self.moment)
        text, numbers, signals = build.state_expressions(given, STATE)
        at = build.add_signal_expressions(signals) if signals else 0
        if self.rod is None:
            assert self.body is not None, "one of them is given"
            node, placement = build.frame(self.body)
            constants = [*build.pose_entries(placement), 1.0, 0.0, *numbers]
            build.load_forces[name] = build.system.frame_force(text_force(text), [node], constants, at, name)
            return
        length = build.value(build.robot.rods[self.rod].length)
        spans = build.rod_spans(self.rod)
        for piece in build.rod_pieces(self.rod) if not spans else ():
            constants = [*build.pose_entries(piece.placement), piece.length, piece.x * length, *numbers]
            build.system.frame_force(text_force(text), [piece.node], constants, at, name)
        for span in spans:
            begin, end = (x * length for x in span.ends)
            constants = ON_SPAN.write(
                first=build.pose_entries(span.near[1]),
                second=build.pose_entries(span.far[1]),
                length=span.length,
                tangent=list(span.tangent),
            )
            build.system.frame_force(
                span_text_force(text), [span.near[0], span.far[0]], [*constants, begin, end, *numbers], at, name
            )


def _load(
    text: StateExpressions, place: Any, velocity: Any, turning: Any, tangent: Any, s: Any, numbers: Any, signals: Any
) -> tuple[Any, Any]:
    every = ca.vertcat(place, velocity, turning, tangent, s)
    found = text.values(dict(zip(STATE, ca.vertsplit(every), strict=True)), numbers, signals)
    return ca.vertcat(*found[0:3]), ca.vertcat(*found[3:6])


ON_PIECE = Fields("placement:pose", "length", "s")
"""Placement of the piece on its node, its length [m] (1 for a body), its arc length [m]."""


@cache
def text_force(text: StateExpressions) -> FrameForce:
    """Six expressions of force and moment, at a frame on a node."""
    fields = ON_PIECE + Fields(f"numbers:{text.constants}")

    def effect(poses: Any, twists: Any, c: Any, signals: Any) -> Effect:
        at = fields.read(c)
        R, p = se3.compose(poses[0], at.placement)
        velocity = velocity_at(twists[0], p)
        force, moment = _load(text, p, velocity, twists[0][3:6], R[:, 2], at.s, at.numbers, signals)
        wrench = at.length * wrench_at(force, moment, p)
        return Effect(wrench, supply=ca.dot(wrench, twists[0]))

    return FrameForce(f"text_{text.word}", 1, fields.size, text.signals, effect)


@cache
def span_text_force(text: StateExpressions) -> FrameForce:
    """The same along the part of a rod between two sections."""
    fields = ON_SPAN + Fields("begin", "end", f"numbers:{text.constants}")

    def effect(poses: Sequence[Any], twists: Sequence[Any], c: Any, signals: Any) -> Effect:
        at = fields.read(c)
        ends = se3.compose(poses[0], at.first), se3.compose(poses[1], at.second)
        wrenches = ca.SX.zeros(12)
        for x, weight in POINTS:
            arms, axes = on_parabola(ends, at.length, at.tangent, x)
            turning = (1 - x) * twists[0][3:6] + x * twists[1][3:6]
            s = (1 - x) * at.begin + x * at.end
            velocity = velocity_between(twists, arms, x)
            force, moment = _load(text, arms[0] + arms[1], velocity, turning, axes[:, 2], s, at.numbers, signals)
            wrenches += weight * at.length * wrenches_of(force, moment, arms, x)
        return Effect(wrenches, supply=ca.dot(wrenches, ca.vertcat(*twists)))

    return FrameForce(f"text_span_{text.word}", 2, fields.size, text.signals, effect)


Load: TypeAlias = Annotated[Wrench | Distributed | FieldLoad | Wing, ByType("load", default="wrench")]
