"""Tasks of control: quantities of a robot, and the paths that they follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import scipy

from pliant.engine.core import UnknownName, check_names
from pliant.engine.equations import Equations, Values, need_equations
from pliant.language.arguments import ArgumentError
from pliant.language.message_text import describe


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
        """Number of components."""
        return len(self.components)

    @property
    def labels(self) -> tuple[str, ...]:
        """Descriptions of its components."""
        return tuple(f"{c} of {self.frame}" for c in self.components)

    def check(self, eqs: Equations) -> None:
        """Reject unknown frames and components."""
        check_names("frame", [self.frame], eqs.frame_names)
        if not self.components or any(c not in "xyz" for c in self.components):
            raise ValueError(f"components of a position are x, y and z, not '{self.components}'")

    def motion(
        self, eqs: Equations, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, parameters: Values | None
    ) -> TaskState:
        """Its motion in a state."""
        frame = eqs.frame(self.frame, q, v, a, parameters=parameters)
        assert frame.velocity is not None, "rates are given"
        rows = ["xyz".index(c) for c in self.components]
        acceleration = None if frame.acceleration is None else frame.acceleration[rows]
        return TaskState(frame.position[rows], frame.velocity[rows], acceleration)

    def jacobian(self, eqs: Equations, q: np.ndarray, parameters: Values | None) -> np.ndarray:
        """Its Jacobian, k x nv."""
        return eqs.frame_jacobian(self.frame, q, parameters=parameters)[["xyz".index(c) for c in self.components]]


@dataclass(frozen=True)
class Coordinates:
    """Plain coordinates by name [rad or m]; computed torque if these are all coordinates."""

    names: tuple[str, ...]

    @property
    def size(self) -> int:
        """Number of components."""
        return len(self.names)

    @property
    def labels(self) -> tuple[str, ...]:
        """Descriptions of its components."""
        return self.names

    def check(self, eqs: Equations) -> None:
        """Reject names that are not plain coordinates."""
        for name in self.names:
            if name not in eqs.coordinates or name not in eqs.rates:
                raise UnknownName("coordinate", name, tuple(x for x in eqs.coordinates if x in eqs.rates))

    def motion(
        self, eqs: Equations, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, parameters: Values | None
    ) -> TaskState:
        """Its motion in a state."""
        at, rows = [eqs.coordinates.index(x) for x in self.names], [eqs.rates.index(x) for x in self.names]
        return TaskState(q[at], v[rows], None if a is None else a[rows])

    def jacobian(self, eqs: Equations, q: np.ndarray, parameters: Values | None) -> np.ndarray:
        """Its Jacobian, k x nv."""
        return np.eye(len(eqs.rates))[[eqs.rates.index(x) for x in self.names]]


@dataclass(frozen=True)
class Several:
    """Several tasks, with their components stacked."""

    tasks: tuple[Task, ...]

    @property
    def size(self) -> int:
        """Total number of components."""
        return sum(task.size for task in self.tasks)

    @property
    def labels(self) -> tuple[str, ...]:
        """Descriptions of its components."""
        return tuple(label for task in self.tasks for label in task.labels)

    def check(self, eqs: Equations) -> None:
        """Check each of them."""
        for task in self.tasks:
            task.check(eqs)

    def motion(
        self, eqs: Equations, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, parameters: Values | None
    ) -> TaskState:
        """Their motion in a state."""
        parts = [task.motion(eqs, q, v, a, parameters) for task in self.tasks]
        accelerations = [part.acceleration for part in parts if part.acceleration is not None]
        return TaskState(
            np.concatenate([part.value for part in parts]),
            np.concatenate([part.rate for part in parts]),
            np.concatenate(accelerations) if a is not None else None,
        )

    def jacobian(self, eqs: Equations, q: np.ndarray, parameters: Values | None) -> np.ndarray:
        """Their Jacobian, k x nv."""
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
