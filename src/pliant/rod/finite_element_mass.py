"""Consistent mass of geometrically exact elements: mass along the curve defined by the poses of both ends.

Between ends at pA and pB, a length h apart, with tangents tA and tB that rotate with the sections,

    p(x) = (1 - x) pA + x pB + h x (1 - x) (tA - tB) / 2,

a parabola for constant bending. So the velocity is linear in the ends' velocities and in the tangents' rates, with
constant coefficients in world axes: rigid motions are exact, a common translation moves the mass and nothing else, and
the mass matrix depends only on the relative rotation. The error of the parabola is odd about the middle, which
causes a fourth-order error of bending modes and weight only. The rotation of sections is half lumped, half linear
interpolation, which makes torsion fourth-order too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from pliant.formula.base import Effect, FrameForce
from pliant.formula.inertia import Inertia
from pliant.formula.relative import ENDS
from pliant.geometry import se3, so3
from pliant.geometry.se3 import Pose
from pliant.motion.fields import Fields
from pliant.rod.absolute import Mesh, Place
from pliant.rod.lumped import lumped_pieces
from pliant.rod.properties import RodProperties
from pliant.section.base import SectionProperties

if TYPE_CHECKING:
    from pliant.model.build import Build

POINTS, WEIGHTS = (0.5 * (x + y) for x, y in zip(np.polynomial.legendre.leggauss(3), (1, 0), strict=True))
"""Gauss points on [0, 1]: exact for products of parabolas."""

TURNING = ca.DM([[5, 1], [1, 5]]) / 12


MASS = Fields("length", "tangent:3", "mass:3", "rotary:4")
"""Length [m], tangent at the start in the section's axes, mass at each Gauss point [kg], rotary inertia of the element about
x, y, z and its xy entry [kg m^2]."""


def _mass(pose: Any, q: Any, c: Any) -> tuple[Any, Any]:
    (R, _), zero = pose, ca.SX(3, 3)
    at = MASS.read(c)
    tangent = so3.hat(at.tangent)
    # velocities of both ends and rates of both tangents in the first end's axes, then both angular velocities
    rates = ca.blockcat(
        [
            [ca.SX.eye(3), zero, zero, zero],
            [zero, zero, R, zero],
            [zero, -tangent, zero, zero],
            [zero, zero, zero, -R @ tangent],
            [zero, ca.SX.eye(3), zero, zero],
            [zero, zero, zero, ca.SX.eye(3)],
        ]
    )
    return rates, ca.diagcat(ca.kron(_along(at), ca.DM.eye(3)), ca.kron(TURNING, _rotary(at)))


def _along(at: Any) -> Any:
    """Mass matrix of both ends' positions and both tangents, 4 x 4."""
    along = ca.SX(4, 4)
    for k, x in enumerate(POINTS):
        bubble = at.length * x * (1 - x) / 2
        shape = ca.vertcat(1 - x, x, bubble, -bubble)
        along += at.mass[k] * shape @ shape.T
    return along


def _rotary(at: Any) -> Any:
    x, y, z, xy = (at.rotary[k] for k in range(4))
    return ca.blockcat([[x, xy, 0], [xy, y, 0], [0, 0, z]])


def _velocity_forces(pose: Any, q: Any, W: Any, c: Any) -> Any:
    """Forces at dW/dt = 0: of the resulting accelerations of positions and tangents, and of the rotating momenta of the
    sections."""
    (R, _), at = pose, MASS.read(c)
    speeds, turns = (W[0:3], W[6:9]), (W[3:6], W[9:12])
    axes = (ca.SX.eye(3), R)
    accelerations = [axes[k] @ ca.cross(turns[k], speeds[k]) for k in range(2)]
    accelerations += [axes[k] @ ca.cross(turns[k], ca.cross(turns[k], at.tangent)) for k in range(2)]
    held = ca.horzcat(*accelerations) @ _along(at)
    momenta = _rotary(at) @ ca.horzcat(*turns) @ TURNING
    out = []
    for k in range(2):
        moment = ca.cross(at.tangent, axes[k].T @ held[:, 2 + k])
        out += [axes[k].T @ held[:, k], moment + ca.cross(turns[k], momenta[:, k])]
    return ca.vertcat(*out)


ELEMENT = Inertia("rod_fe", 2, (), MASS.size, _mass, velocity_forces=_velocity_forces)

DRAGGED = ENDS + Fields("length", "tangent:3", "drag:3")
"""Placements of both ends, length [m], tangent, drag coefficient at each Gauss point [N s/m]."""


def _drag(poses: Sequence[Pose], twists: Sequence[Any], c: Any, signal: Any) -> Effect:
    at = DRAGGED.read(c)
    near, far = se3.compose(poses[1], at.first), se3.compose(poses[2], at.second)
    t_near, t_far = near[0] @ at.tangent, far[0] @ at.tangent
    wrenches, dissipation = [ca.SX.zeros(6) for _ in poses], 0
    for k, x in enumerate(POINTS):
        bubble = at.length * x * (1 - x) / 2
        arms = ((1 - x) * near[1] + bubble * t_near, x * far[1] - bubble * t_far)
        # velocity of the point from each frame's twist (v, w): share v + w x arm; that of the base is subtracted
        moved = ((-arms[0] - arms[1], -1), (arms[0], 1 - x), (arms[1], x))
        velocity = sum(share * V[0:3] + ca.cross(V[3:6], arm) for (arm, share), V in zip(moved, twists, strict=True))
        force = -at.drag[k] * velocity
        dissipation += -ca.dot(force, velocity)
        for i, (arm, share) in enumerate(moved):
            wrenches[i] += ca.vertcat(share * force, ca.cross(arm, force))
    return Effect(ca.vertcat(*wrenches), 0.0, dissipation)


DRAG = FrameForce("rod_fe_drag", 3, DRAGGED.size, 0, _drag)
"""Drag on the element's mass from velocities relative to the rod's base section, the first frame."""


def add_consistent_masses(build: Build, rod: RodProperties, stations: Mesh, places: Sequence[Place]) -> None:
    """Mass of every element between neighbouring sections; loads along the rod act on the same curves."""
    written: dict[tuple[int, ...], tuple[Any, dict[str, Any]]] = {}
    for k, length in enumerate(stations.lengths):
        started = rod.curve.strains(*stations.arc_lengths[k : k + 2])
        ends = stations.fractions[k : k + 2]
        inside = [*rod.carried_sections(POINTS.tolist(), WEIGHTS.tolist(), *ends), rod.mean_section(*ends)]
        key = tuple(map(id, (length, started, *inside)))  # elements of a uniform rod are equal, and created once
        if key not in written:
            # stored with the objects of the key, whose ids stay valid
            written[key] = (started, inside), _mass_numbers(length, started, inside)
        numbers = written[key][1]
        build.inertia(ELEMENT, places[k : k + 2], (), MASS.write(**numbers))
        build.rod_span(rod.name, places[k : k + 2], length, numbers["tangent"], ends)
        if rod.has_drag:
            (near, near_end), (far, far_end) = places[k : k + 2]
            constants = DRAGGED.write(
                first=build.pose_entries(near_end),
                second=build.pose_entries(far_end),
                length=length,
                tangent=numbers["tangent"],
                drag=[rod.mass_damping * mass for mass in numbers["mass"]],
            )
            build.system.frame_force(DRAG, [rod.node, near, far], constants, 0, rod.name)
    # for pictures of the mass
    build.later_rod_pieces(rod.name, partial(lumped_pieces, rod, places, stations.arc_lengths, stations.fractions))


def _mass_numbers(length: Any, started: Sequence[Any], inside: Sequence[SectionProperties]) -> dict[str, Any]:
    """Constants of an element of this length [m] with these initial strains, from its sections at the Gauss points and at its
    midpoint; by the names of `MASS`."""
    masses = [weight * length * at.mass for at, weight in zip(inside[:-1], WEIGHTS.tolist(), strict=True)]
    rotary = [length * x for x in inside[-1].rotary]
    return {"length": length, "tangent": (started[0], started[1], 1 + started[2]), "mass": masses, "rotary": rotary}
