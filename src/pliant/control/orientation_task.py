"""Tasks of orientation: the rotation of a frame, or the direction of one of its axes.

The value of such a task is two or three coordinates around the target orientation, zero at the target: a constant target is a
path of zeros, and errors, rates and accelerations are ordinary numbers. They are exact, also far from the target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
from pydantic import TypeAdapter, ValidationError

from pliant.control.task import FramePosition, Several, TaskState
from pliant.engine.core import check_names
from pliant.engine.equations import Equations, Values
from pliant.engine.frames import FrameMotion
from pliant.engine.model.placement_matrices import rotation
from pliant.language.arguments import ArgumentError, vector
from pliant.language.evaluate import evaluate, to_node
from pliant.language.message_text import describe
from pliant.language.placement import Rotations
from pliant.parts.geometry import so3

NO_ROTATION = (
    "give a quaternion [w, x, y, z], a 3x3 matrix, or rotations as in a model: {'axis': 'y', 'angle': '30 deg'}"
)


def rotation_matrix(where: str, given: Any) -> np.ndarray:
    """A rotation (3x3, frame to world) from a quaternion, a matrix, the motion of a frame, or a sequence of rotations."""
    if isinstance(given, FrameMotion):
        return np.asarray(given.rotation)
    if isinstance(given, Mapping) or (isinstance(given, Sequence) and any(isinstance(x, Mapping) for x in given)):
        items = [given] if isinstance(given, Mapping) else list(given)
        try:
            parts = TypeAdapter(Rotations).validate_python(items)
            return np.array(rotation(parts, lambda scalar: float(evaluate(to_node(scalar), {}))), dtype=float)
        except (ValidationError, ValueError) as reason:
            raise ArgumentError(
                f"{where} is not a rotation: {str(reason).splitlines()[-1].strip()}", NO_ROTATION
            ) from None
    try:
        numbers = np.asarray(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{where} must be a rotation, not {describe(given)}", NO_ROTATION) from None
    if numbers.shape == (4,) and np.all(np.isfinite(numbers)) and np.linalg.norm(numbers) > 0:
        return np.array(so3.quaternion_matrix(numbers / np.linalg.norm(numbers)), dtype=float)
    square = numbers.shape == (3, 3) and np.all(np.isfinite(numbers))
    if square and np.allclose(numbers @ numbers.T, np.eye(3), atol=1e-6) and np.linalg.det(numbers) > 0:
        return numbers
    raise ArgumentError(f"{where} must be a rotation, not {describe(given)}", NO_ROTATION)


@cache
def _turning() -> ca.Function:
    """Rotation vector of R R_target' with its first two time derivatives, and its derivative with respect to increments of R."""
    R, target, w, a = ca.SX.sym("R", 3, 3), ca.SX.sym("target", 3, 3), ca.SX.sym("w", 3), ca.SX.sym("a", 3)
    x = ca.SX.sym("x", 3)
    slope = so3.inverse_left_jacobian(x)
    rate = slope @ w
    acceleration = slope @ a + ca.jtimes(rate, x, rate)
    value = so3.log(R @ target.T)
    outputs = ca.substitute([rate, acceleration, slope], [x], [value])
    return ca.Function("turning", [R, target, w, a], [value, *outputs])


@cache
def _pointing() -> ca.Function:
    """Coordinates of a direction d around a target (the rows of E are the axes normal to it), with the same derivatives, for
    rotations of d."""
    d, target, E = ca.SX.sym("d", 3), ca.SX.sym("target", 3), ca.SX.sym("E", 2, 3)
    w, a = ca.SX.sym("w", 3), ca.SX.sym("a", 3)
    aside = E @ d
    value = so3.angle_per_sine(ca.dot(aside, aside), ca.dot(target, d)) * aside
    turned = ca.jacobian(value, d)
    slope = -turned @ so3.hat(d)
    first = ca.cross(w, d)
    rate = turned @ first
    acceleration = turned @ ca.cross(a, d) + ca.jtimes(rate, d, first)
    return ca.Function("pointing", [d, target, E, w, a], [value, rate, acceleration, slope])


@dataclass(frozen=True)
class FrameOrientation:
    """Rotation of a frame relative to a `target` orientation: the rotation vector [rad] of R R_target', in world axes.

    It turns the target into the frame's orientation; a path of zeros holds the target. target: a quaternion [w, x, y, z], a 3x3
    matrix (frame to world), the motion of a frame (`rest.frames["tip"]`), or rotations in turn as in a model file.
    components: some of x, y and z; those left out are free. Orientations half a turn away have no unique rotation vector.
    """

    frame: str
    target: Any = (1.0, 0.0, 0.0, 0.0)
    components: str = "xyz"
    typical = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", tuple(map(tuple, rotation_matrix("the target orientation", self.target))))

    @property
    def size(self) -> int:
        """Number of components."""
        return len(self.components)

    @property
    def labels(self) -> tuple[str, ...]:
        """What its numbers are."""
        return tuple(f"turn of {self.frame} about {c}" for c in self.components)

    def check(self, eqs: Equations) -> None:
        """Reject frames and components that do not exist."""
        check_names("frame", [self.frame], eqs.frame_names)
        if not self.components or any(c not in "xyz" for c in self.components):
            raise ValueError(f"components of an orientation are x, y and z, not '{self.components}'")

    def motion(
        self, eqs: Equations, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, parameters: Values | None
    ) -> TaskState:
        """Its motion in a state."""
        frame = eqs.frame(self.frame, q, v, a, parameters=parameters)
        return _state(_turning(), [frame.rotation, np.array(self.target)], frame, self._rows)

    def jacobian(self, eqs: Equations, q: np.ndarray, parameters: Values | None) -> np.ndarray:
        """Its rate per rate of the robot, k x nv."""
        R, zero = eqs.frame(self.frame, q, parameters=parameters).rotation, np.zeros(3)
        slope = np.array(_turning()(R, np.array(self.target), zero, zero)[3])[self._rows]
        return np.asarray(slope @ eqs.frame_jacobian(self.frame, q, parameters=parameters)[3:])

    def symbolic(self, R: Any) -> Any:
        """Its value for a rotation (3x3, frame to world) of symbols."""
        return so3.log(ca.mtimes(R, np.array(self.target).T))[self._rows]

    @property
    def _rows(self) -> list[int]:
        return ["xyz".index(c) for c in self.components]


@dataclass(frozen=True)
class FrameDirection:
    """Direction of an axis of a frame: two angles [rad] relative to a `target` direction in the world, zero at the target.

    They are the components, along two directions perpendicular to the target, of the rotation vector from the target to the
    axis; its norm is the angle between both. Rotation about the axis is free. axis: x, y, z or three numbers, in the frame's
    axes.
    """

    frame: str
    target: Sequence[float]
    axis: str | Sequence[float] = "z"
    typical = 1.0

    def __post_init__(self) -> None:
        axis = np.eye(3)["xyz".index(self.axis)] if self.axis in ("x", "y", "z") else self.axis
        for name, given in (("target", self.target), ("axis", axis)):
            numbers = vector(f"{name} of a direction", given, 3)
            if not np.any(numbers):
                raise ArgumentError(f"the {name} of a direction cannot be zero", "give three numbers of any length")
            object.__setattr__(self, name, tuple((numbers / np.linalg.norm(numbers)).tolist()))

    @property
    def size(self) -> int:
        """Two."""
        return 2

    @property
    def labels(self) -> tuple[str, ...]:
        """What its numbers are."""
        return tuple(f"direction {k} of {self.frame}" for k in (1, 2))

    def check(self, eqs: Equations) -> None:
        """Reject frames that do not exist."""
        check_names("frame", [self.frame], eqs.frame_names)

    @property
    def across(self) -> np.ndarray:
        """The two directions perpendicular to the target, as rows."""
        target = np.array(self.target)
        first = np.eye(3)[np.argmin(np.abs(target))]
        first = first - target * (target @ first)
        first /= np.linalg.norm(first)
        return np.array([first, np.cross(target, first)])

    def motion(
        self, eqs: Equations, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, parameters: Values | None
    ) -> TaskState:
        """Its motion in a state."""
        frame = eqs.frame(self.frame, q, v, a, parameters=parameters)
        return _state(_pointing(), [frame.rotation @ self.axis, np.array(self.target), self.across], frame, [0, 1])

    def jacobian(self, eqs: Equations, q: np.ndarray, parameters: Values | None) -> np.ndarray:
        """Its rate per rate of the robot, 2 x nv."""
        R, zero = eqs.frame(self.frame, q, parameters=parameters).rotation, np.zeros(3)
        slope = np.array(_pointing()(R @ np.array(self.axis), np.array(self.target), self.across, zero, zero)[3])
        return np.asarray(slope @ eqs.frame_jacobian(self.frame, q, parameters=parameters)[3:])

    def symbolic(self, R: Any) -> Any:
        """Its value for a rotation (3x3, frame to world) of symbols."""
        d, target = ca.mtimes(R, np.array(self.axis)), np.array(self.target)
        aside = ca.mtimes(self.across, d)
        return so3.angle_per_sine(ca.dot(aside, aside), ca.dot(target, d)) * aside


def _state(function: ca.Function, where: list[np.ndarray], frame: FrameMotion, rows: list[int]) -> TaskState:
    assert frame.angular_velocity is not None, "rates are given"
    turning = np.zeros(3) if frame.angular_acceleration is None else frame.angular_acceleration
    found = [np.array(x).ravel()[rows] for x in function(*where, frame.angular_velocity, turning)[:3]]
    return TaskState(found[0], found[1], None if frame.angular_acceleration is None else found[2])


def frame_pose(frame: str, orientation: Any, components: str = "xyz") -> Several:
    """The task of a full pose: components of a frame's position [m], then its rotation relative to an orientation [rad]."""
    return Several((FramePosition(frame, components), FrameOrientation(frame, orientation)))
