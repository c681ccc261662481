"""Tasks at a surface: how hard it is pressed, and where on it a frame is. Both together: hybrid control of force and position."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca
import numpy as np

CONSTANTS: Any = None
ContactSurface = Any
PLANE = CYLINDER = CAPSULE = type("X", (), {"name": "x"})
from pliant.control.task import TaskState
from pliant.equations.binding import Binding
from pliant.equations.core import check_names
from pliant.equations.equations import Equations, Values
from pliant.model.system import FrameForceInstance

SURFACES = {surface.name: surface for surface in (PLANE, CYLINDER, CAPSULE)}

LEAST_SLOPE = 0.5
"""Share of the stiffness that a search takes where the contact fades in or is open, so that it finds the surface."""


@cache
def _pressing(surface: ContactSurface) -> ca.Function:
    """Force [N], its derivatives by depth and rate, depth [m], normal and place of a point on a surface, from poses and rates."""
    center, p_surface, R_surface = ca.SX.sym("center", 3), ca.SX.sym("p", 3), ca.SX.sym("R", 3, 3)
    c, depth, rate = ca.SX.sym("c", CONSTANTS.size), ca.SX.sym("depth"), ca.SX.sym("rate")
    at = CONSTANTS.read(c)
    outside, normal = surface.distance(
        center - p_surface - R_surface @ at.origin, R_surface @ at.axis, at.radius, at.half_length
    )
    force = contact_law(depth, rate, at)[0]
    slopes = [ca.jacobian(force, depth), ca.jacobian(force, rate)]
    found = ca.substitute([force, *slopes], [depth], [at.point_radius - outside])
    return ca.Function("pressing", [center, p_surface, R_surface, c, rate], [*found, at.point_radius - outside, normal])


@dataclass(frozen=True)
class _Touch:
    """A point at a surface: force [N] with its slope by depth [N/m], depth [m], and the depth's derivative by the rates (nv)."""

    force: float
    slope: float
    depth: float
    row: np.ndarray
    stiffness: float
    smoothing: float


def _touches(eqs: Equations, bound: Binding, contact: str, q: np.ndarray, v: np.ndarray) -> Iterator[_Touch]:
    R, p = bound.node_poses(q)
    for index in eqs.model.contact_forces[contact]:
        force = eqs.model.system.frame_forces[index]
        node, base = force.nodes
        c = _constants(bound, force)
        at = CONSTANTS.read(c)
        center = p[node] + R[node] @ np.asarray(at.point).ravel()
        evaluate = _pressing(_surface(force))
        normal = np.asarray(evaluate(center, p[base], R[base], c, 0.0)[4]).ravel()
        relative = bound.node_jacobian(q, node) - bound.node_jacobian(q, base)
        row = -normal @ (relative[:3] + np.cross(relative[3:].T, center).T)
        found = [float(x) for x in evaluate(center, p[base], R[base], c, float(row @ v))[:4]]
        yield _Touch(found[0], found[1], found[3], row, float(at.stiffness), float(at.smoothing))


def _constants(bound: Binding, force: FrameForceInstance) -> np.ndarray:
    return np.asarray(bound.constants[force.constants : force.constants + CONSTANTS.size])


def _surface(force: FrameForceInstance) -> ContactSurface:
    return SURFACES[force.kind.name.removeprefix("contact_").removesuffix("_friction")]


@dataclass(frozen=True)
class ContactForce:
    """How hard the points of a contact press on its surface, together, along its normal [N].

    For `StaticControl` and `rest_with`: the model has the contact too, and finds it from outside. Friction is not counted.
    """

    contact: str
    at_rest_only = True

    @property
    def size(self) -> int:
        """One."""
        return 1

    @property
    def labels(self) -> tuple[str, ...]:
        """What its number is."""
        return (f"force of {self.contact}",)

    def check(self, eqs: Equations) -> None:
        """Refuse contacts that do not exist."""
        check_names("contact", [self.contact], eqs.model.contact_forces)

    def motion(
        self, eqs: Equations, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, parameters: Values | None
    ) -> TaskState:
        """The force in a state with its rate, without that of the surface's own damping."""
        bound = eqs.at(parameters=parameters).binding
        touches = list(_touches(eqs, bound, self.contact, q, v))
        force, rate = sum(x.force for x in touches), sum(x.slope * float(x.row @ v) for x in touches)
        return TaskState(np.array([force]), np.array([rate]), None)

    def jacobian(self, eqs: Equations, q: np.ndarray, parameters: Values | None) -> np.ndarray:
        """Its change at rest per increment of the robot, 1 x nv."""
        bound = eqs.at(parameters=parameters).binding
        return np.asarray(sum(x.slope * x.row for x in _touches(eqs, bound, self.contact, q, np.zeros(bound.nv))))[None]

    def searched(
        self, eqs: Equations, q: np.ndarray, parameters: Values | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Value, derivative (1 x nv) and weight (1) for a search at rest, which go on outside of the surface as if it pulled.

        The weight makes it comparable with lengths: a depth for a force.
        """
        bound = eqs.at(parameters=parameters).binding
        touches = list(_touches(eqs, bound, self.contact, q, np.zeros(bound.nv)))
        deepest = max(touches, key=lambda x: x.depth)
        lacking = deepest.stiffness * min(deepest.depth + deepest.smoothing, 0.0)
        row = sum(x.slope * x.row for x in touches)
        if deepest.slope < LEAST_SLOPE * deepest.stiffness:
            row = row + (LEAST_SLOPE * deepest.stiffness - deepest.slope) * deepest.row
        force = sum(x.force for x in touches)
        return np.array([force + lacking]), np.asarray(row)[None], np.array([1 / deepest.stiffness])


@dataclass(frozen=True)
class PlanePosition:
    """Where a frame's origin is along a plane: two components [m] from the plane's place, in its own axes.

    contact: a contact with a plane. The first axis is the x axis of the plane's `parent` (y where the normal is near x) along the
    plane, the second follows by the right-hand rule around the normal; both move with the plane.
    """

    frame: str
    contact: str

    @property
    def size(self) -> int:
        """Two."""
        return 2

    @property
    def labels(self) -> tuple[str, ...]:
        """What its numbers are."""
        return tuple(f"place {k} of {self.frame} on {self.contact}" for k in (1, 2))

    def check(self, eqs: Equations) -> None:
        """Refuse frames and contacts that do not exist, and surfaces that are curved."""
        check_names("frame", [self.frame], eqs.frame_names)
        check_names("contact", [self.contact], eqs.model.contact_forces)
        surface = _surface(eqs.model.system.frame_forces[eqs.model.contact_forces[self.contact][0]])
        if surface is not PLANE:
            raise ValueError(
                f"the contact '{self.contact}' is a {surface.name}, and places along a surface are told on planes only; give "
                "components of a frame's position instead"
            )

    def _place(self, eqs: Equations, bound: Binding) -> tuple[int, np.ndarray, np.ndarray]:
        """Node of the plane, its origin and its two axes (2 x 3) there."""
        force = eqs.model.system.frame_forces[eqs.model.contact_forces[self.contact][0]]
        at = CONSTANTS.read(_constants(bound, force))
        normal = np.asarray(at.axis).ravel()
        normal = normal / np.linalg.norm(normal)
        first = np.eye(3)[0 if abs(normal[0]) < 0.9 else 1]
        first = first - normal * (normal @ first)
        first /= np.linalg.norm(first)
        return force.nodes[1], np.asarray(at.origin).ravel(), np.array([first, np.cross(normal, first)])

    def motion(
        self, eqs: Equations, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, parameters: Values | None
    ) -> TaskState:
        """Its motion in a state."""
        bound = eqs.at(parameters=parameters).binding
        base, origin, axes = self._place(eqs, bound)
        frame = eqs.frame(self.frame, q, v, a, parameters=parameters)
        assert frame.velocity is not None, "rates are given"
        R, p = (x[base] for x in bound.node_poses(q))
        twist = bound.node_twists(q, v)[base]
        E, away = axes @ R.T, frame.position - p - R @ origin
        rate = E @ (frame.velocity - twist[:3] - np.cross(twist[3:], frame.position))
        acceleration = None
        if a is not None:
            assert frame.acceleration is not None
            moving = bound.node_accelerations(0.0, q, v, a)[base]
            w, at, relative = (
                twist[3:],
                frame.position,
                frame.velocity - twist[:3] - np.cross(twist[3:], frame.position),
            )
            # of the plane's own point there, and Coriolis'
            drag = moving[:3] + np.cross(moving[3:], at) + np.cross(w, twist[:3] + np.cross(w, at))
            acceleration = E @ (frame.acceleration - drag - 2 * np.cross(w, relative))
        return TaskState(E @ away, rate, acceleration)

    def jacobian(self, eqs: Equations, q: np.ndarray, parameters: Values | None) -> np.ndarray:
        """Its rate per rate of the robot, 2 x nv."""
        bound = eqs.at(parameters=parameters).binding
        base, _, axes = self._place(eqs, bound)
        at = eqs.frame(self.frame, q, parameters=parameters).position
        own: Any = bound.node_jacobian(q, base)
        plane = own[:3] + np.cross(own[3:].T, at).T
        R = bound.node_poses(q)[0][base]
        return np.asarray(axes @ R.T @ (eqs.frame_jacobian(self.frame, q, parameters=parameters)[:3] - plane))
