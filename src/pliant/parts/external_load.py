"""Loads: wrenches on frames and loads distributed along rods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Annotated, Any, ClassVar, Literal

import casadi as ca
import numpy as np
from pydantic import Field

from pliant.language.names import FrameName, RodName
from pliant.language.scalar import (
    ForcePerLengthSignal,
    ForceSignalVector,
    LengthVector,
    MomentPerLengthSignal,
    Number,
    Repeated,
    TorqueSignalVector,
)
from pliant.parts.assembly.build import Build
from pliant.parts.assembly.entries import RodPiece, RodSpan
from pliant.parts.formula.base import Effect, FrameForce
from pliant.parts.formula.relative import ENDS
from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion import Fields
from pliant.parts.rod.stations import parts_between, product_weights


class Wrench(Repeated):
    """An external force and moment at a frame, in the axes of the world or of any frame."""

    type: Literal["wrench"] = "wrench"
    frame: FrameName
    """Frame that the load acts on, at its origin."""
    position: LengthVector = (0, 0, 0)
    """Offset of the point of application, in the axes of `frame` [m]."""
    force: ForceSignalVector = (0, 0, 0)
    """Force, which may vary in time [N]."""
    moment: TorqueSignalVector = (0, 0, 0)
    """Moment, which may vary in time [N m]."""
    expressed_in: FrameName = "world"
    """Frame whose axes force and moment are given in; a body's frame makes a follower load."""
    description: str = ""
    """Description for readers."""

    rods: ClassVar[tuple[str, ...]] = ()
    """Rods that it acts along."""

    example: ClassVar[str] = """\
pliant: 1
parameters:
  thrust: {value: 2 N, input: true}
bodies:
  drone: {mass: 0.5 kg, shape: {type: box, size: [30 cm, 30 cm, 5 cm]}}
joints:
  flight: {type: free, child: drone}
loads:
  rotor: {frame: drone, position: [10 cm, 0, 0], force: [0, 0, =thrust], expressed_in: drone}
  gust: {frame: drone, force: ["=if(t < 1 s, 0.3 N, 0)", 0, 0]}
inputs:
  thrust: {ramp: {start: 0 s, end: 2 s, before: 0 N, after: 5 N}}
"""

    def apply(self, build: Build, name: str) -> None:
        """Add the load to the system."""
        node, placement = build.frame(self.frame)
        point = placement[1] + placement[0] @ ca.vertcat(*map(build.value, self.position))
        axes_node, axes = build.frame(self.expressed_in)
        constants = WRENCH_CONSTANTS.write(point=build.entries(point), axes=build.entries(axes[0]))
        build.load_forces[name] = build.frame_force(
            WRENCH, [node, axes_node], constants, [*self.force, *self.moment], name
        )


WRENCH_CONSTANTS = Fields("point:3", "axes:matrix")
"""The point in the first frame, the axes in the second frame."""


def _effect(poses: Any, twists: Any, c: Any, signal: Any) -> Effect:
    (R, p), (R_axes, _) = poses
    at = WRENCH_CONSTANTS.read(c)
    axes, point = R_axes @ at.axes, p + R @ at.point
    force, moment = axes @ signal[0:3], axes @ signal[3:6]
    wrench = ca.vertcat(force, moment + ca.cross(point, force))
    return Effect(ca.vertcat(wrench, ca.DM.zeros(6)), supply=ca.dot(wrench, twists[0]))


WRENCH = FrameForce("wrench", frames=2, constants=WRENCH_CONSTANTS.size, signals=6, effect=_effect)
"""Force and moment at a point of the first frame, given in axes of the second."""


class Distributed(Repeated):
    """A force and a moment per undeformed length along an entire rod, in world axes or in those of its sections.

    A concentrated load on a rod is a `wrench` at one of the rod's frames. Forces act on the rod as its weight does, and are as
    accurate; moments along `finite_element` and `timoshenko` rods are of second order in the element length.
    """

    type: Literal["distributed"] = "distributed"
    rod: RodName
    """Rod that the load acts on."""
    force: tuple[ForcePerLengthSignal, ForcePerLengthSignal, ForcePerLengthSignal] = (0, 0, 0)
    """Force per length, which may vary in time [N/m]."""
    moment: tuple[MomentPerLengthSignal, MomentPerLengthSignal, MomentPerLengthSignal] = (0, 0, 0)
    """Moment per length, which may vary in time [N m/m]."""
    axes: Literal["world", "section"] = "world"
    """Axes of force and moment: those of the world, or of each section (a follower load)."""
    profile: Annotated[tuple[Number, ...], Field(min_length=1)] = (1,)
    """Factors on force and moment at equal distances from base to tip, linear in between [-]."""
    description: str = ""
    """Description for readers."""

    example: ClassVar[str] = """\
pliant: 1
sections: {wire: {shape: circle, radius: 5 mm}}
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}}
rods: {arm: {length: 30 cm, section: wire, material: rubber}}
loads:
  wind: {type: distributed, rod: arm, force: [0.2 N/m, 0, 0], profile: [0, 1]}
"""

    @property
    def rods(self) -> tuple[str, ...]:
        """The rod that it acts along."""
        return (self.rod,)

    def apply(self, build: Build, name: str) -> None:
        """Add the load to the system, at the same places of the rod as its mass."""
        spans = build.rod_spans(self.rod)
        pieces = [] if spans else build.rod_pieces(self.rod)
        signals = [build.signal_expression(entry) for entry in (*self.force, *self.moment)]
        at = build.add_signal_expressions(signals)
        factors = [build.value(entry) for entry in self.profile]
        factor, kinks = partial(along, factors), [k / (len(factors) - 1) for k in range(1, len(factors) - 1)]
        following = self.axes == "section"
        for span in spans:
            constants = SPAN.write(
                first=build.pose_entries(span.near[1]),
                second=build.pose_entries(span.far[1]),
                length=span.length,
                tangent=list(span.tangent),
                weights=weights(factor, kinks, _points(span)),
            )
            on_both = SPAN_FOLLOWING if following else SPAN_DEAD
            build.system.frame_force(on_both, [span.near[0], span.far[0]], constants, at, name)
        kind_of_force = FOLLOWING if following else DEAD
        for piece, weight in zip(pieces, weights(factor, kinks, pieces), strict=True):
            constants = DISTRIBUTED_CONSTANTS.write(placement=build.pose_entries(piece.placement), weight=weight)
            build.system.frame_force(kind_of_force, [piece.node], constants, at, name)


def weights(factor: Callable[[float], Any], kinks: Sequence[float], pieces: Sequence[RodPiece | _Point]) -> list[Any]:
    """Length [m] of each piece times the factor at its fraction of the rod's length. Where the factor has kinks or steps within a
    span of pieces, their sum is the exact total and, with two or more pieces, their first moment is exact too."""
    found: list[Any] = []
    for span, group in groupby(pieces, key=lambda piece: piece.span):
        own = list(group)
        parts = parts_between(kinks, *span) if span is not None else []
        if span is None or len(parts) <= 1:
            found += [piece.length * factor(piece.x) for piece in own]
            continue
        places, length = [piece.x for piece in own], sum(piece.length for piece in own) / (span[1] - span[0])
        points = [point for part in parts for point in product_weights(places, *part)]
        found += [length * sum(w[k] * factor(x) for x, w in points) for k in range(len(own))]
    return found


@dataclass(frozen=True)
class _Point:
    """A point of application: the length [m] that it represents together with the others of its span, and its fraction of the
    rod's length."""

    length: Any
    x: float
    span: tuple[float, float]


def _points(span: RodSpan) -> list[_Point]:
    begin, end = span.ends
    return [
        _Point(weight * span.length, begin + x * (end - begin), span.ends)
        for x, weight in zip(POINTS.tolist(), WEIGHTS.tolist(), strict=True)
    ]


def along(factors: list[Any], x: float) -> Any:
    """The factor at fraction x of the length, interpolated linearly."""
    place = x * (len(factors) - 1)
    k = min(int(np.floor(place)), max(len(factors) - 2, 0))
    if len(factors) == 1:
        return factors[0]
    return (1 - (place - k)) * factors[k] + (place - k) * factors[k + 1]


POINTS, WEIGHTS = (0.5 * (x + y) for x, y in zip(np.polynomial.legendre.leggauss(3), (1, 0), strict=True))
"""Gauss points on [0, 1] of the part of a rod between two sections."""

DISTRIBUTED_CONSTANTS = Fields("placement:pose", "weight")
"""Placement of the piece in its frame, its length [m] times the factor there."""


def _wrench(pose: Any, c: Any, signal: Any, *, turning: bool) -> Any:
    R, p = pose
    at = DISTRIBUTED_CONSTANTS.read(c)
    turned, place = at.placement
    axes = R @ turned if turning else ca.DM.eye(3)
    force, moment = at.weight * (axes @ signal[0:3]), at.weight * (axes @ signal[3:6])
    return ca.vertcat(force, moment + ca.cross(p + R @ place, force))


def _dead(poses: Any, twists: Any, c: Any, signal: Any) -> Effect:
    wrench = _wrench(poses[0], c, signal, turning=False)
    return Effect(wrench, supply=ca.dot(wrench, twists[0]))


def _following(poses: Any, twists: Any, c: Any, signal: Any) -> Effect:
    wrench = _wrench(poses[0], c, signal, turning=True)
    return Effect(wrench, supply=ca.dot(wrench, twists[0]))


DEAD = FrameForce("distributed_dead", frames=1, constants=DISTRIBUTED_CONSTANTS.size, signals=6, effect=_dead)
"""Force and moment per length on a piece of rod, in world axes."""
FOLLOWING = FrameForce(
    "distributed_following", frames=1, constants=DISTRIBUTED_CONSTANTS.size, signals=6, effect=_following
)
"""The same in the axes of the section."""

SPAN = ENDS + Fields("length", "tangent:3", "weights:3")
"""Placements of both sections, length between them [m], tangent, length [m] times the factor of each Gauss point."""


def _on_span(poses: Sequence[Pose], twists: Sequence[Any], c: Any, signal: Any, *, turning: bool) -> Effect:
    """Loads on the parabola with the positions and tangents of both sections (see `rod.finite_element_mass`): at fraction x,
    velocities are the shares 1 - x and x of those of the sections, and those of the tangents times +-length x (1 - x)/2."""
    at = SPAN.read(c)
    ends = se3.compose(poses[0], at.first), se3.compose(poses[1], at.second)
    turn = so3.log(ends[0][0].T @ ends[1][0]) if turning else None
    wrenches = [ca.SX.zeros(6), ca.SX.zeros(6)]
    for k, x in enumerate(POINTS.tolist()):
        axes = ends[0][0] @ so3.exp(x * turn) if turning else ca.DM.eye(3)
        force, moment = at.weights[k] * (axes @ signal[0:3]), at.weights[k] * (axes @ signal[3:6])
        bubble = at.length * x * (1 - x) / 2
        for i, (share, sign) in enumerate(((1 - x, 1), (x, -1))):
            R, p = ends[i]
            arm = share * p + sign * bubble * (R @ at.tangent)
            wrenches[i] += ca.vertcat(share * force, share * moment + ca.cross(arm, force))
    return Effect(ca.vertcat(*wrenches), supply=sum(ca.dot(w, V) for w, V in zip(wrenches, twists, strict=True)))


SPAN_DEAD, SPAN_FOLLOWING = (
    FrameForce(name, frames=2, constants=SPAN.size, signals=6, effect=partial(_on_span, turning=turning))
    for name, turning in (("distributed_span_dead", False), ("distributed_span_following", True))
)
"""Force and moment per length on the part of a rod between two sections, in world axes, or in those of its sections."""
