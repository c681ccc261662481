"""Rod model `ebr`: segments of constant strain in a row (Euler-Bernoulli, relative states).

Each segment's six coordinates are its strains; its end follows by the exponential map, exact for constant strain.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

import casadi as ca
import numpy as np
from pydantic import Field

from pliant.geometry import se3, so3
from pliant.geometry.se3 import Pose
from pliant.interaction.base import CoordinateForce, Effect
from pliant.motion.base import Motion, Vector
from pliant.rod.properties import LABELS, RodProperties
from pliant.rod.section_law import CONSTANTS, Law, section_answer
from pliant.spec.base import Part

if TYPE_CHECKING:
    from pliant.model.build import Build


class Ebr(Part):
    """Constant-strain segments in a row: few states, exact for tip moments, cost linear in the number of segments."""

    kind: Literal["ebr"] = "ebr"
    elements: Annotated[int, Field(ge=1, le=2000, strict=True)] = 5
    """Number of segments."""
    map: Literal["exponential", "published"] = "exponential"
    """How a segment's end follows from its strains: exactly (`exponential`), or turned at its base only (`published`;
    positions then converge at first order)."""
    mass_points: Annotated[int, Field(ge=1, le=10, strict=True)] = 2
    """Gauss points of the mass along each segment."""

    def apply(self, build: Build, rod: RodProperties) -> None:
        """Add the segments to the system."""
        motion = SEGMENT if self.map == "exponential" else PUBLISHED_SEGMENT
        points, weights = np.polynomial.legendre.leggauss(self.mass_points)
        points, weights = 0.5 * (points + 1), 0.5 * weights
        length = rod.length / self.elements
        force = section_force(rod.law, actuated=rod.actuation is not None)
        node, placement = rod.node, rod.placement
        build.name_frame(rod.name, node, placement)
        for k in range(self.elements):
            frames = frames_on_segment(build, rod, k, self.elements)
            fractions = [*points, *frames.values(), 1.0]
            element = build.element(node, [build.plan(motion, placement, (length * x,)) for x in fractions])
            for j, label in enumerate(LABELS):
                build.coordinate(f"{rod.name}.{label}[{k + 1}]", element.q_at + j, element.v_at + j, rod.rest[j])
            for number, point, weight in zip(element.nodes, points, weights, strict=False):
                section = rod.section((k + point) / self.elements)
                inertia = ca.diag(ca.vertcat(*[weight * length * x for x in section.rotary]))
                build.system.mass(number, weight * length * section.mass, ca.DM.zeros(3), inertia, se3.identity())
            for number, frame in zip(element.nodes[len(points) :], frames, strict=False):
                build.name_frame(f"{rod.name}.{frame}", number, se3.identity())
            constants = rod.law_constants(length, (k + 0.5) / self.elements)
            build.system.coordinate_force(force, element.q_at, element.v_at, constants, rod.actuation or 0, rod.name)
            node, placement = element.nodes[-1], se3.identity()
        build.name_frame(f"{rod.name}.tip", node, placement)


def frames_on_segment(build: Build, rod: RodProperties, segment: int, segments: int) -> dict[str, Any]:
    """Named frames on a segment, as fractions of it.

    Which segment carries a frame is settled at the model's own parameter values; the fraction stays an expression.
    """
    found = {}
    for name, at in rod.attachments.items():
        fraction = at / rod.length * segments
        place = build.nominal(fraction)
        if segment < place <= segment + 1 or (segment == 0 and place == 0):
            found[name] = fraction - segment
    return found


def _segment_pose(q: Any, c: Any) -> Pose:
    # c: arc length from the segment's base [m]; the straight, unstretched segment has the tangent e3
    return se3.exp(c[0] * ca.vertcat(q[0], q[1], q[2] + 1, q[3:6]))


def _published_pose(q: Any, c: Any) -> Pose:
    return so3.exp(c[0] * q[3:6]), c[0] * ca.vertcat(q[0], q[1], q[2] + 1)


SEGMENT = Motion("strain_segment", (Vector(6),), 1, _segment_pose)
PUBLISHED_SEGMENT = Motion("published_segment", (Vector(6),), 1, _published_pose)


@lru_cache(maxsize=None)
def section_force(law: Law, *, actuated: bool) -> CoordinateForce:
    """Section law on six strain coordinates, with actuation along them from six signals [N, N m] if asked for."""

    def effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
        answer = section_answer(q, v, c, law)
        drive = c[0] * signal if actuated else ca.DM.zeros(6)
        return Effect(answer.force + drive, answer.energy, answer.dissipation, ca.dot(drive, v))

    name = f"section_{law}" + ("_actuated" if actuated else "")
    return CoordinateForce(name, (Vector(6),), CONSTANTS, 6 if actuated else 0, effect)
