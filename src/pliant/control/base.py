"""Base of all controllers of the language: their inputs, sample times and limits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, TypeAlias

import casadi as ca
import numpy as np
from pydantic import Field, StrictBool

from pliant.analysis.motion.plant import Plant
from pliant.analysis.motion.sampled_control import Controller
from pliant.control.limits import Limits
from pliant.control.orientation_task import FrameDirection, FrameOrientation
from pliant.control.task import Coordinates, FramePosition, Reference, Several, Task
from pliant.engine.model.placement_matrices import rotation
from pliant.language.base import OneOrList, Part, Problem, positive
from pliant.language.dimension import LENGTH, NUMBER, TIME, Dimension
from pliant.language.message_text import KeyPath
from pliant.language.names import CoordinateName, FrameName, InputName
from pliant.language.placement import Axis, Rotations
from pliant.language.scalar import AnySignal, Scalar, Time, Value, Vector
from pliant.language.syntax import parse, symbols

InputNames: TypeAlias = Annotated[tuple[InputName, ...], Field(min_length=1), OneOrList()]


Dimensioned: TypeAlias = tuple[KeyPath, Scalar, Dimension | None]
"""A value whose dimension depends on the model: its location, the value, and that dimension (None: unknown)."""


@dataclass(frozen=True)
class KnownDimensions:
    """Dimensions of a model's inputs, coordinates and outputs by name; those known only for a built robot are missing."""

    inputs: Mapping[str, Dimension]
    coordinates: Mapping[str, Dimension]
    outputs: Mapping[str, Dimension]


def twice(part: Part, field: str, key: str) -> Iterator[Problem]:
    """The problem of each entry of a list whose `key` an entry before it has."""
    names = [getattr(entry, key) for entry in getattr(part, field)]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield (field, index, key), f"'{name}' has an entry in `{field}` before", "keep one of them"


class InputLimit(Part):
    """Limits of an actuator. An omitted bound is the `minimum` or `maximum` of the parameter, if it has one; the tension
    of a tendon is never negative."""

    input: InputName
    """The input parameter."""
    lower: Value | None = None
    """Least value [unit of the parameter]."""
    upper: Value | None = None
    """Largest value [unit of the parameter]."""
    rate: Value | None = None
    """Largest change per second [unit of the parameter, per second]."""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Bounds in order, rates above zero."""
        if self.lower is not None and self.upper is not None and value(self.lower) > value(self.upper):
            yield ("lower",), f"`lower` is above `upper` for input '{self.input}'", "exchange them"
        if self.rate is not None:
            yield from positive(self, value, "rate")


class ControllerBase(Part):
    """A controller: it is called at its sample times, and its commands are constant in between."""

    sample_time: Time
    """Time between two samples [s]."""
    delay: Time = 0
    """Time from a sample until its command takes effect [s]."""
    inputs: InputNames | None = None
    """Input parameters that it commands; default: all inputs but those of `loads`, which are disturbances."""
    limits: tuple[InputLimit, ...] = ()
    """Limits of the inputs, one entry for each limited input."""
    description: str = ""
    """Description for readers."""

    example: ClassVar[str]
    gain_fields: ClassVar[tuple[str, ...]] = ()
    """Fields that are only gains of the controller."""

    def uses_beside_gains(self, names: Set[str]) -> bool:
        """Whether expressions in fields other than gains contain some of these parameters."""
        return any(
            names & symbols(parse(text)) for text in _expressions(self.model_dump(exclude=set(self.gain_fields)))
        )

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Times must be positive."""
        yield from positive(self, value, "sample_time")
        if value(self.delay) < 0:
            yield ("delay",), "a delay cannot be negative", "use 0 for none"
        yield from twice(self, "limits", "input")

    def dimensioned(self, known: KnownDimensions) -> Iterator[Dimensioned]:
        """Values whose dimensions depend on the controlled quantities."""
        for index, limit in enumerate(self.limits):
            unit = known.inputs.get(limit.input)
            for bound, expected in (("lower", unit), ("upper", unit), ("rate", None if unit is None else unit / TIME)):
                if getattr(limit, bound) is not None:
                    yield ("limits", index, bound), getattr(limit, bound), expected

    @abstractmethod
    def build(self, plant: Plant, name: str) -> Controller:
        """The controller, designed for this plant."""

    def input_limits(self, plant: Plant) -> Limits:
        """The limits as numbers."""

        def table(which: str) -> dict[str, float]:
            values = ((x.input, getattr(x, which)) for x in self.limits)
            return {name: plant.number(value) for name, value in values if value is not None}

        return Limits(table("lower"), table("upper"), table("rate"))


class PointingDirection(Part):
    """Where an axis of a frame is to point: `{target: [0, 0, 1]}`, `{axis: x, target: [1, 1, 0]}`."""

    target: Vector
    """Direction in the world, three numbers of any length."""
    axis: Axis = "z"
    """The frame's axis: x, y, z, or three numbers."""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Directions must not be zero."""
        for field in ("target", "axis"):
            given = getattr(self, field)
            if not isinstance(given, str) and all(value(x) == 0 for x in given):
                yield (field,), f"`{field}` is a direction and cannot be zero", "give three numbers"


class TaskController(ControllerBase):
    """A controller that makes a frame or coordinates follow a path in time."""

    frame: FrameName | None = None
    """Frame whose position follows the path, and whose orientation or direction is controlled."""
    components: str = "xyz"
    """Components of the position in the world, some of x, y and z in order."""
    coordinates: Annotated[tuple[CoordinateName, ...], OneOrList()] = ()
    """Coordinates that follow the path, instead of a frame."""
    path: Annotated[tuple[AnySignal, ...], OneOrList()] = ()
    """The path: one value or expression of `t` for each component or coordinate [m or rad]. Without it the frame's
    position is free, and only its orientation or direction is controlled."""
    orientation: Rotations = ()
    """Reference orientation of the frame in the world (three components): one rotation, or a list applied in turn."""
    direction: PointingDirection | None = None
    """Reference direction of an axis of the frame (two components); the rotation about the axis is free."""
    least_squares: StrictBool = False
    """Whether to use least squares if the inputs cannot follow the path in all its components, or cannot balance the
    robot on it."""

    @property
    def placed(self) -> int:
        """Number of components of the position, or of coordinates, that follow the path."""
        return len(self.coordinates) or (len(self.components) if self.path else 0)

    @property
    def turned(self) -> int:
        """Number of controlled components of the orientation."""
        return (3 if self.orientation else 0) + (2 if self.direction is not None else 0)

    @property
    def size(self) -> int:
        """Number of controlled components."""
        return self.placed + self.turned

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Check that one frame or list of coordinates follows the path, with one value for each component."""
        yield from super().problems(value)
        if (self.frame is None) == (not self.coordinates) and (self.path or self.turned or self.frame is not None):
            yield (), "the path needs either a `frame` or `coordinates`", "give one of them"
        wrong = [c for c in self.components if c not in "xyz"]
        if wrong or len(set(self.components)) != len(self.components) or not self.components:
            yield ("components",), f"`components` are some of x, y and z, not '{self.components}'", "write xy, or z"
        if self.orientation and self.direction is not None:
            yield ("direction",), "an orientation includes every direction of the frame", "keep one of the two"
        for field in ("orientation", "direction"):
            if getattr(self, field) and self.frame is None:
                yield (field,), f"`{field}` needs a frame, and none is given", "give `frame`"
        if not self.path and not self.size:
            yield (), "there is nothing to follow", "give a `path`, or an `orientation` or `direction` of the frame"
        elif len(self.path) != self.placed:
            message = f"the path has {len(self.path)} values for {self.placed} components"
            yield ("path",), message, "give one value or expression for each"

    def followers(self, known: KnownDimensions) -> list[Dimension | None]:
        """Dimensions of the controlled components: those that follow the path, then those that are constant."""
        placed = [known.coordinates.get(x) for x in self.coordinates] or [LENGTH] * self.placed
        return [*placed, *[NUMBER] * self.turned]

    def dimensioned(self, known: KnownDimensions) -> Iterator[Dimensioned]:
        """As for all controllers; the path has the dimension of the controlled quantity."""
        yield from super().dimensioned(known)
        for index, (value, part) in enumerate(zip(self.path, self.followers(known), strict=False)):
            yield ("path", index), value, part

    def task(self, plant: Plant) -> Task:
        """The controlled task."""
        tasks = [*self._placed(), *self._turned(plant)]
        return tasks[0] if len(tasks) == 1 else Several(tuple(tasks))

    def _placed(self) -> Iterator[Task]:
        if self.coordinates:
            yield Coordinates(self.coordinates)
        elif self.path:
            assert self.frame is not None
            yield FramePosition(self.frame, self.components)

    def _turned(self, plant: Plant) -> Iterator[Task]:
        if self.orientation:
            assert self.frame is not None
            turned = np.array(rotation(self.orientation, plant.number), dtype=float)
            yield FrameOrientation(self.frame, turned)
        if self.direction is not None:
            assert self.frame is not None
            axis = self.direction.axis
            along = axis if isinstance(axis, str) else [plant.number(x) for x in axis]
            yield FrameDirection(self.frame, [plant.number(x) for x in self.direction.target], along)

    def followed(self, plant: Plant) -> Reference:
        """The path with its derivatives, from the expressions; orientations are constant."""
        return expressed_path((*self.path, *[0.0] * self.turned), plant)


def expressed_path(values: Sequence[Scalar], plant: Plant) -> Reference:
    """A path with its derivatives, from expressions of time."""
    t = ca.SX.sym("t")
    value = ca.vertcat(*[ca.SX(plant.environment.signal(x, t)) for x in values])
    rate = ca.jacobian(value, t)
    functions = [ca.Function("path", [t], [ca.densify(x)]) for x in (value, rate, ca.jacobian(rate, t))]
    return Reference(*(partial(_numbers, function) for function in functions))


def _expressions(value: Any) -> Iterator[str]:
    """All expressions in a part and in its parts."""
    if isinstance(value, str):
        if value.startswith("="):
            yield value
    elif isinstance(value, Mapping | Sequence):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _expressions(item)


def _numbers(function: ca.Function, t: float) -> np.ndarray:
    return np.asarray(function(t)).ravel()
