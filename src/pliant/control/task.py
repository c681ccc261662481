"""Tasks of control: quantities of a robot, and the paths that they follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Protocol

import casadi as ca
import numpy as np
import scipy
from pydantic import TypeAdapter, ValidationError

from pliant.engine.core import UnknownName, check_names
from pliant.engine.equations import Equations, Values, need_equations
from pliant.engine.frames import FrameMotion
from pliant.language.arguments import ArgumentError, vector
from pliant.language.evaluate import evaluate, to_node
from pliant.language.message_text import describe
from pliant.language.placement import Rotations
from pliant.parts.assembly.placement_matrices import rotation
from pliant.parts.geometry import so3


@dataclass(frozen=True)
class Reference:
    """A path in time: `value`, `rate` and `acceleration` at a time [s], arrays of one size."""

    value: Callable[[float], np.ndarray]
    rate: Callable[[float], np.ndarray]
    acceleration: Callable[[float], np.ndarray]

    @classmethod
    def constant(cls, value: Sequence[float]) -> Reference:
        """A constant point."""
        point = np.asarray(value, dtype=float)
        zero = np.zeros_like(point)
        return cls(*(partial(_held, x) for x in (point, zero, zero)))

    @classmethod
    def circle(
        cls, center: Sequence[float], first: Sequence[float], second: Sequence[float], frequency: float
    ) -> Reference:
        """center + first cos(2 pi f t) + second sin(2 pi f t), frequency f [Hz]."""
        c, a, b = (np.asarray(x, dtype=float) for x in (center, first, second))
        w = 2 * np.pi * frequency
        turned = ((c, a, b), (0 * c, w * b, -w * a), (0 * c, -w * w * a, -w * w * b))
        return cls(*(partial(_on_ellipse, w, *axes) for axes in turned))

    @classmethod
    def through(cls, time: Sequence[float], values: Sequence[Sequence[float]]) -> Reference:
        """A smooth path through values (n x k) at times [s], at rest before and after."""
        spline = scipy.interpolate.CubicSpline(
            np.asarray(time, dtype=float), np.asarray(values, dtype=float), bc_type="clamped"
        )
        return cls(*(partial(_on_spline, spline, derivative) for derivative in range(3)))

    def __call__(self, t: float) -> np.ndarray:
        """The value at a time [s], so that a path is a reference of `Predictive` too."""
        return self.value(t)

    def checked(self, size: int, title: str) -> Reference:
        """The same path, which raises an error if it does not have `size` finite values; `title` is used in the message."""
        return Reference(
            CheckedValues(self.value, size, f"{title}: the path"),
            CheckedValues(self.rate, size, f"{title}: the rate of the path"),
            CheckedValues(self.acceleration, size, f"{title}: the acceleration of the path"),
        )


@dataclass(frozen=True)
class CheckedValues:
    """A function of time [s] that raises an error unless it returns `size` finite numbers; `title` is used in the message."""

    function: Callable[[float], Sequence[float] | np.ndarray]
    size: int
    title: str

    def __call__(self, t: float) -> np.ndarray:
        """The values at a time [s]."""
        with np.errstate(all="ignore"):
            values = np.asarray(self.function(t), dtype=float)
        if values.shape != (self.size,):
            raise ValueError(f"{self.title} has {values.size} values for {self.size} components; give one for each")
        if not np.all(np.isfinite(values)):
            raise ValueError(f"{self.title} is {values.tolist()} at t = {t:g} s; it must be finite throughout the run")
        return values


# Functions of time are classes, not lambdas, so that paths, and controllers that follow them, can be pickled.


def _held(value: np.ndarray, t: float) -> np.ndarray:
    return value


def _on_ellipse(w: float, centre: np.ndarray, a: np.ndarray, b: np.ndarray, t: float) -> np.ndarray:
    return np.asarray(centre + a * np.cos(w * t) + b * np.sin(w * t))


def _on_spline(spline: scipy.interpolate.CubicSpline, derivative: int, t: float) -> np.ndarray:
    begin, end = spline.x[0], spline.x[-1]
    if derivative == 0:
        return np.asarray(spline(np.clip(t, begin, end)))
    return np.asarray(spline(t, derivative)) * bool(begin <= t <= end)


@dataclass(frozen=True)
class TaskState:
    """A quantity in a state: its value, rate, and acceleration (None if accelerations were not given)."""

    value: np.ndarray
    rate: np.ndarray
    acceleration: np.ndarray | None


class Task(Protocol):
    """A quantity that a controller makes follow a path: `size` components, functions of the state."""

    @property
    def size(self) -> int:
        """Number of components."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Descriptions of its components."""

    def check(self, eqs: Equations) -> None:
        """Reject unknown names."""

    def motion(
        self, eqs: Equations, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, parameters: Values | None
    ) -> TaskState:
        """Its motion in a state."""

    def jacobian(self, eqs: Equations, q: np.ndarray, parameters: Values | None) -> np.ndarray:
        """Its Jacobian, k x nv."""


@dataclass(frozen=True)
class FramePosition:
    """Components (of x, y, z) of a frame's position in the world [m]."""

    frame: str
    components: str = "xyz"

    @property
    def size(self) -> int:
        return len(self.components)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"{c} of {self.frame}" for c in self.components)

    def check(self, eqs: Equations) -> None:
        check_names("frame", [self.frame], eqs.frame_names)
        if not self.components or any(c not in "xyz" for c in self.components):
            raise ValueError(f"components of a position are x, y and z, not '{self.components}'")

    def motion(
        self, eqs: Equations, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, parameters: Values | None
    ) -> TaskState:
        frame = eqs.frame(self.frame, q, v, a, parameters=parameters)
        assert frame.velocity is not None, "rates are given"
        rows = ["xyz".index(c) for c in self.components]
        acceleration = None if frame.acceleration is None else frame.acceleration[rows]
        return TaskState(frame.position[rows], frame.velocity[rows], acceleration)

    def jacobian(self, eqs: Equations, q: np.ndarray, parameters: Values | None) -> np.ndarray:
        return eqs.frame_jacobian(self.frame, q, parameters=parameters)[["xyz".index(c) for c in self.components]]


@dataclass(frozen=True)
class Coordinates:
    """Plain coordinates by name [rad or m]; computed torque if these are all coordinates."""

    names: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.names)

    @property
    def labels(self) -> tuple[str, ...]:
        return self.names

    def check(self, eqs: Equations) -> None:
        for name in self.names:
            if name not in eqs.coordinates or name not in eqs.rates:
                raise UnknownName("coordinate", name, tuple(x for x in eqs.coordinates if x in eqs.rates))

    def motion(
        self, eqs: Equations, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, parameters: Values | None
    ) -> TaskState:
        at, rows = [eqs.coordinates.index(x) for x in self.names], [eqs.rates.index(x) for x in self.names]
        return TaskState(q[at], v[rows], None if a is None else a[rows])

    def jacobian(self, eqs: Equations, q: np.ndarray, parameters: Values | None) -> np.ndarray:
        return np.eye(len(eqs.rates))[[eqs.rates.index(x) for x in self.names]]


@dataclass(frozen=True)
class Several:
    """Several tasks, with their components stacked."""

    tasks: tuple[Task, ...]

    @property
    def size(self) -> int:
        return sum(task.size for task in self.tasks)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(label for task in self.tasks for label in task.labels)

    def check(self, eqs: Equations) -> None:
        for task in self.tasks:
            task.check(eqs)

    def motion(
        self, eqs: Equations, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, parameters: Values | None
    ) -> TaskState:
        parts = [task.motion(eqs, q, v, a, parameters) for task in self.tasks]
        accelerations = [part.acceleration for part in parts if part.acceleration is not None]
        return TaskState(
            np.concatenate([part.value for part in parts]),
            np.concatenate([part.rate for part in parts]),
            np.concatenate(accelerations) if a is not None else None,
        )

    def jacobian(self, eqs: Equations, q: np.ndarray, parameters: Values | None) -> np.ndarray:
        return np.vstack([task.jacobian(eqs, q, parameters) for task in self.tasks])


def parts(task: Task) -> tuple[Task, ...]:
    """The components of a combined task."""
    return tuple(x for part in task.tasks for x in parts(part)) if isinstance(task, Several) else (task,)


def check_task(eqs: Equations, task: Task) -> None:
    """Reject what is not a task, and tasks with names that the robot does not have."""
    need_equations(eqs)
    if isinstance(task, type) or not hasattr(task, "check"):
        raise ArgumentError(f"{describe(task)} is not a task", 'write pliant.control.FramePosition("FRAME")')
    task.check(eqs)


def refuse_at_rest_only(task: Task, title: str) -> None:
    """Reject tasks that are defined only at equilibrium; `title` is used in the message."""
    for part in parts(task):
        if getattr(part, "at_rest_only", False):
            raise ValueError(f"{title} cannot hold the {part.labels[0]}: a force is held at rest, by `StaticControl`")


@dataclass(frozen=True)
class SearchTask:
    """A task for a search among equilibria: its value (k), derivative (k x nv), and weights that make its components comparable."""

    value: np.ndarray
    jacobian: np.ndarray
    weights: np.ndarray


def searched(task: Task, eqs: Equations, q: np.ndarray, parameters: Values | None) -> SearchTask:
    """A task in a pose for a search; a part may define a variant (`searched`) with a nonzero derivative everywhere."""
    tasks = []
    for part in parts(task):
        if hasattr(part, "searched"):
            tasks.append(part.searched(eqs, q, parameters))
        else:
            value = part.motion(eqs, q, np.zeros(len(eqs.rates)), None, parameters).value
            tasks.append((value, part.jacobian(eqs, q, parameters), np.ones(part.size)))
    values, jacobians, weights = zip(*tasks, strict=True)
    return SearchTask(np.concatenate(values), np.vstack(jacobians), np.concatenate(weights))


def typical_size(task: Task) -> float:
    """Scale of a task whose target is zero: a radian for orientations [rad], zero for others."""
    return max(float(getattr(part, "typical", 0.0)) for part in parts(task))


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
        return len(self.components)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"turn of {self.frame} about {c}" for c in self.components)

    def check(self, eqs: Equations) -> None:
        check_names("frame", [self.frame], eqs.frame_names)
        if not self.components or any(c not in "xyz" for c in self.components):
            raise ValueError(f"components of an orientation are x, y and z, not '{self.components}'")

    def motion(
        self, eqs: Equations, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, parameters: Values | None
    ) -> TaskState:
        frame = eqs.frame(self.frame, q, v, a, parameters=parameters)
        return _state(_turning(), [frame.rotation, np.array(self.target)], frame, self._rows)

    def jacobian(self, eqs: Equations, q: np.ndarray, parameters: Values | None) -> np.ndarray:
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
        return 2

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"direction {k} of {self.frame}" for k in (1, 2))

    def check(self, eqs: Equations) -> None:
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
        frame = eqs.frame(self.frame, q, v, a, parameters=parameters)
        return _state(_pointing(), [frame.rotation @ self.axis, np.array(self.target), self.across], frame, [0, 1])

    def jacobian(self, eqs: Equations, q: np.ndarray, parameters: Values | None) -> np.ndarray:
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
