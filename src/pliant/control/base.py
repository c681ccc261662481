"""What all controllers of the language share: which inputs they set, when, and within which limits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, TypeAlias

import casadi as ca
import numpy as np
from pydantic import Field, StrictBool

from pliant.control.limits import Limits
from pliant.control.task import Coordinates, FramePosition, Reference, Task
from pliant.language.base import OneOrList, Part, Problem, positive
from pliant.language.dimension import LENGTH, TIME, Dimension
from pliant.language.names import CoordinateName, FrameName, InputName
from pliant.language.scalar import AnySignal, Scalar, Time, Value
from pliant.language.words import KeyPath
from pliant.solve.motion.plant import Plant
from pliant.solve.motion.sampled_control import Controller

InputNames: TypeAlias = Annotated[tuple[InputName, ...], Field(min_length=1), OneOrList()]


Dimensioned: TypeAlias = tuple[KeyPath, Scalar, Dimension | None]
"""A value whose dimension the model decides: where it stands, what it is, and that dimension (None: unknown)."""


@dataclass(frozen=True)
class Known:
    """Dimensions of a model's inputs, coordinates and outputs by name; those that only a built robot tells are missing."""

    inputs: Mapping[str, Dimension]
    coordinates: Mapping[str, Dimension]
    outputs: Mapping[str, Dimension]


class InputLimit(Part):
    """What an actuator can do. A bound that is left out is the `minimum` or `maximum` of the parameter, if it has one; the tension
    of a tendon is never below zero."""

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
    """A controller: it is called at its sample times, and its commands are held in between."""

    sample_time: Time
    """Time between two samples [s]."""
    delay: Time = 0
    """Time from a sample to when its command takes effect [s]."""
    inputs: InputNames | None = None
    """Input parameters that it sets; otherwise all of the model."""
    limits: tuple[InputLimit, ...] = ()
    """Limits of the inputs, one entry for each that has some."""
    description: str = ""
    """What a reader should know about it."""

    example: ClassVar[str]

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Time goes forward."""
        yield from positive(self, value, "sample_time")
        if value(self.delay) < 0:
            yield ("delay",), "a delay cannot be negative", "use 0 for none"

    def dimensioned(self, known: Known) -> Iterator[Dimensioned]:
        """Values whose dimensions are those of what they are about."""
        for index, limit in enumerate(self.limits):
            unit = known.inputs.get(limit.input)
            for bound, expected in (("lower", unit), ("upper", unit), ("rate", None if unit is None else unit / TIME)):
                if getattr(limit, bound) is not None:
                    yield ("limits", index, bound), getattr(limit, bound), expected

    @abstractmethod
    def build(self, plant: Plant, name: str) -> Controller:
        """The controller, designed for this plant."""

    def input_limits(self, plant: Plant) -> Limits:
        """The limits in numbers."""

        def table(which: str) -> dict[str, float]:
            values = ((x.input, getattr(x, which)) for x in self.limits)
            return {name: plant.number(value) for name, value in values if value is not None}

        return Limits(table("lower"), table("upper"), table("rate"))


class TaskController(ControllerBase):
    """A controller that makes a frame or coordinates follow a path in time."""

    frame: FrameName | None = None
    """Frame whose position follows the path."""
    components: str = "xyz"
    """Components of the position in the world, some of x, y and z in order."""
    coordinates: Annotated[tuple[CoordinateName, ...], OneOrList()] = ()
    """Coordinates that follow the path, in place of a frame."""
    path: Annotated[tuple[AnySignal, ...], Field(min_length=1), OneOrList()]
    """The path: one value or expression of `t` for each component or coordinate [m or rad]."""
    least_squares: StrictBool = False
    """Whether to do the best where the inputs cannot follow the path in all its components, or cannot hold the robot on it."""

    @property
    def size(self) -> int:
        """How many components or coordinates follow the path."""
        return len(self.coordinates) or len(self.components)

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """One thing to follow the path, and one value for each of its parts."""
        yield from super().problems(value)
        if (self.frame is None) == (not self.coordinates):
            yield (), "say what follows the path: either `frame` or `coordinates`", "give one of them"
        wrong = [c for c in self.components if c not in "xyz"]
        if wrong or len(set(self.components)) != len(self.components) or not self.components:
            yield ("components",), f"`components` are some of x, y and z, not '{self.components}'", "write xy, or z"
        if len(self.path) != self.size:
            message = f"the path has {len(self.path)} values for {self.size} components"
            yield ("path",), message, "give one value or expression for each"

    def followers(self, known: Known) -> list[Dimension | None]:
        """Dimensions of what follows the path."""
        return [known.coordinates.get(x) for x in self.coordinates] or [LENGTH] * len(self.components)

    def dimensioned(self, known: Known) -> Iterator[Dimensioned]:
        """As for all controllers; the path is of what follows it."""
        yield from super().dimensioned(known)
        for index, (value, part) in enumerate(zip(self.path, self.followers(known), strict=False)):
            yield ("path", index), value, part

    def task(self) -> Task:
        """What follows the path."""
        if self.frame is None:
            return Coordinates(self.coordinates)
        return FramePosition(self.frame, self.components)

    def followed(self, plant: Plant) -> Reference:
        """The path with its derivatives, from the expressions."""
        t = ca.SX.sym("t")
        value = ca.vertcat(*[ca.SX(plant.environment.signal(x, t)) for x in self.path])
        rate = ca.jacobian(value, t)
        functions = [ca.Function("path", [t], [ca.densify(x)]) for x in (value, rate, ca.jacobian(rate, t))]
        return Reference(*(partial(_numbers, function) for function in functions))


def _numbers(function: ca.Function, t: float) -> np.ndarray:
    return np.asarray(function(t)).ravel()
