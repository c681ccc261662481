"""Control by constraints: a prescribed path, solved for the inputs that follow it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar, Literal

from pliant.controller.base import Plant, TaskController
from pliant.language.base import Problem, positive
from pliant.language.scalar import AngularSpeed, Scalar, Time

if TYPE_CHECKING:
    from pliant.control.constraint import ConstraintControl


class ConstraintController(TaskController):
    """Prescribes the acceleration of a frame or of coordinates, that of the path plus feedback of the error, and solves
    the equations of motion for the inputs. With coordinates it is the computed-torque method."""

    type: Literal["constraint"] = "constraint"
    settling: Time
    """Time constant of errors [s]; they die out without swinging."""
    integral: Literal["on", "off"] = "off"
    """Whether errors that stay are integrated away."""
    damping: AngularSpeed = 0
    """Braking of motions that the path leaves free, where there are more inputs than it needs [1/s]."""

    example: ClassVar[str] = """\
pliant: 1
parameters:
  torque: {value: 0 N*m, input: true}
bodies:
  arm: {mass: 1 kg, center_of_mass: [0.5 m, 0, 0], shape: {type: slender_rod, length: 1 m, axis: x}}
joints:
  hinge: {type: revolute, child: arm, axis: y, angle: {input: =torque}}
control:
  wave:
    type: constraint
    coordinates: hinge
    path: =0.5*sin(2*pi*t/2 s)
    settling: 50 ms
    sample_time: 2 ms
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """As for all that follow paths; settling takes time."""
        yield from super().problems(value)
        yield from positive(self, value, "settling")

    def build(self, plant: Plant, name: str) -> ConstraintControl:
        """The controller."""
        from pliant.control.constraint import ConstraintControl, Pid

        number = plant.number
        return ConstraintControl(
            plant.equations, self.task(), self.followed(plant), Pid.critical(number(self.settling), integral=self.integral == "on"),
            sample_time=number(self.sample_time), inputs=self.inputs, limits=self.input_limits(plant), damping=number(self.damping),
            least_squares=self.least_squares == "on", parameters=plant.parameters, delay=number(self.delay), name=name,
        )  # fmt: skip
