"""PID: feedback of errors as a force on joints or on a frame, with gravity and elasticity compensated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field

from pliant.controller.base import Plant, TaskController
from pliant.language.base import OneOrList, Problem
from pliant.language.scalar import Scalar, Value

if TYPE_CHECKING:
    from pliant.control.pid import PidControl

Gains: TypeAlias = Annotated[tuple[Value, ...], Field(min_length=1), OneOrList()]


class PidController(TaskController):
    """Draws coordinates or a frame to a path by a force in proportion to the error, its integral and its rate, and adds the
    inputs that gravity, springs and elastic rods need. What the limits of the inputs cut is not integrated (no wind-up).
    It needs less of the model than `constraint`, which compensates inertia too and is quicker where the model is good."""

    type: Literal["pid"] = "pid"
    proportional: Gains
    """Force per error, one for all or one for each component or coordinate [N/m, N m/rad]."""
    derivative: Gains = (0,)
    """Force per rate of the error [N s/m, N m s/rad]."""
    integral: Gains = (0,)
    """Force per integral of the error over time [N/(m s), N m/(rad s)]."""
    compensation: Literal["none", "measured", "reference"] = "measured"
    """What the inputs give beside the feedback: what holds the present pose (`measured`), what the model rests with on the path
    (`reference`), or their values at the start (`none`)."""

    example: ClassVar[str] = """\
pliant: 1
parameters:
  torque: {value: 0 N*m, input: true, minimum: -20 N*m, maximum: 20 N*m}
bodies:
  arm: {mass: 1 kg, center_of_mass: [0.5 m, 0, 0], shape: {type: slender_rod, length: 1 m, axis: x}}
joints:
  hinge: {type: revolute, child: arm, axis: y, angle: {input: =torque}}
control:
  raise:
    type: pid
    coordinates: hinge
    path: -60 deg
    proportional: 30 N*m/rad
    derivative: 6 N*m*s/rad
    integral: 20 N*m/s
    compensation: measured
    sample_time: 2 ms
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """As for all that follow paths; one gain for all components or for each, none below zero."""
        yield from super().problems(value)
        for field in ("proportional", "derivative", "integral"):
            gains = getattr(self, field)
            if len(gains) not in (1, self.size):
                message = f"`{field}` has {len(gains)} values for {self.size} components"
                yield (field,), message, "give one for all, or one for each"
            for index, gain in enumerate(gains):
                if value(gain) < 0:
                    yield (field, index), f"`{field}` must not be below zero: errors would grow", "change its sign"

    def build(self, plant: Plant, name: str) -> PidControl:
        """The controller."""
        from pliant.control.pid import Pid, PidControl

        number = plant.number
        gains = [[number(x) for x in given] for given in (self.proportional, self.derivative, self.integral)]
        return PidControl(
            plant.equations, self.task(), self.followed(plant), Pid(*(x * self.size if len(x) == 1 else x for x in gains)),
            compensation=self.compensation, sample_time=number(self.sample_time), inputs=self.inputs,
            limits=self.input_limits(plant), least_squares=self.least_squares == "on",
            parameters=plant.parameters, delay=number(self.delay), name=name,
        )  # fmt: skip
