"""Distributed load: a force and a moment per length along a rod."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import casadi as ca
import numpy as np
from pydantic import Field

from pliant.formula.base import Effect, FrameForce
from pliant.language.faults import Fault, SpecError
from pliant.language.names import RodName
from pliant.language.repeated import Repeated
from pliant.language.scalar import ForcePerLengthSignal, MomentPerLengthSignal, Number
from pliant.motion.fields import Fields
from pliant.rod.quadrature import parts_between, product_weights

if TYPE_CHECKING:
    from pliant.model.build import Build
    from pliant.model.entries import RodPiece


class Distributed(Repeated):
    """A force and a moment per undeformed length along an entire rod, in world axes or in those of its sections.

    A concentrated load on a rod is a `wrench` at one of the rod's frames.
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

    def apply(self, build: Build, name: str) -> None:
        """Add the load to the system, at the same pieces of the rod as its mass."""
        pieces = build.rod_pieces(self.rod)
        if not pieces:
            kind = build.robot.rods[self.rod].model.kind
            text = f"the rod model '{kind}' does not support distributed loads"
            raise SpecError([Fault(text, "use a wrench at frames of the rod", f"loads.{name}.rod")])
        signals = [build.signal_expression(entry) for entry in (*self.force, *self.moment)]
        at = build.add_signal_expressions(signals)
        factors = [build.value(entry) for entry in self.profile]
        kind_of_force = DEAD if self.axes == "world" else FOLLOWING
        for piece, weight in zip(pieces, weights(factors, pieces), strict=True):
            constants = CONSTANTS.write(placement=build.pose_entries(piece.placement), weight=weight)
            build.system.frame_force(kind_of_force, [piece.node], constants, at, name)


def weights(factors: list[Any], pieces: Sequence[RodPiece]) -> list[Any]:
    """Length [m] of each piece times its factor. Where the profile has kinks within a span of pieces, their sum is the exact total
    and, with two or more pieces, their first moment is exact too."""
    kinks = [k / (len(factors) - 1) for k in range(1, len(factors) - 1)]
    found: list[Any] = []
    for span, group in groupby(pieces, key=lambda piece: piece.span):
        own = list(group)
        parts = parts_between(kinks, *span) if span is not None else []
        if span is None or len(parts) <= 1:
            found += [piece.length * along(factors, piece.x) for piece in own]
            continue
        places, length = [piece.x for piece in own], sum(piece.length for piece in own) / (span[1] - span[0])
        points = [point for part in parts for point in product_weights(places, *part)]
        found += [length * sum(w[k] * along(factors, x) for x, w in points) for k in range(len(own))]
    return found


def along(factors: list[Any], x: float) -> Any:
    """The factor at fraction x of the length, interpolated linearly."""
    place = x * (len(factors) - 1)
    k = min(int(np.floor(place)), max(len(factors) - 2, 0))
    if len(factors) == 1:
        return factors[0]
    return (1 - (place - k)) * factors[k] + (place - k) * factors[k + 1]


CONSTANTS = Fields("placement:pose", "weight")
"""Placement of the piece in its frame, its length [m] times the factor there."""


def _wrench(pose: Any, c: Any, signal: Any, *, turning: bool) -> Any:
    R, p = pose
    at = CONSTANTS.read(c)
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


DEAD = FrameForce("distributed_dead", frames=1, constants=CONSTANTS.size, signals=6, effect=_dead)
"""Force and moment per length on a piece of rod, in world axes."""
FOLLOWING = FrameForce("distributed_following", frames=1, constants=CONSTANTS.size, signals=6, effect=_following)
"""The same in the axes of the section."""
