"""Slow control of soft robots: inputs of the model's equilibrium on the path, plus feedback."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pliant.controller.base import Plant, TaskController
from pliant.language.scalar import AngularSpeed, Number, Time

if TYPE_CHECKING:
    from pliant.control.statics import StaticControl


class StaticsController(TaskController):
    """Moves a frame or coordinates slowly along a path: the inputs at which the model rests there, so that gravity and
    elasticity are compensated, plus feedback of the error through the change of the rest pose with the inputs."""

    type: Literal["statics"] = "statics"
    proportional: Number = 0
    """Share of the error that is answered at once [-]."""
    integral: AngularSpeed = 2
    """Rate at which errors are integrated away [1/s]."""
    derivative: Time = 0
    """Answer to the error's rate [s]."""

    example: ClassVar[str] = """\
pliant: 1
parameters:
  pull: {value: 0 N, input: true}
sections:
  wire: {shape: circle, radius: 5 mm}
materials:
  rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}
rods:
  arm: {length: 30 cm, section: wire, material: rubber, damping: [0, 0, 0, 1e-5, 1e-5, 1e-5], model: {kind: ebr, elements: 3}}
tendons:
  flexor: {type: tension, through: [{rod: arm, offset: [8 mm, 0]}], tension: =pull}
control:
  bend:
    type: statics
    frame: arm.tip
    components: x
    path: 3 cm
    sample_time: 50 ms
    limits: [{input: pull, lower: 0 N, upper: 5 N}]
"""

    def build(self, plant: Plant, name: str) -> StaticControl:
        """The controller."""
        from pliant.control.statics import StaticControl

        number = plant.number
        return StaticControl(
            plant.equations, self.task(), self.followed(plant), sample_time=number(self.sample_time),
            proportional=number(self.proportional), integral=number(self.integral), derivative=number(self.derivative),
            inputs=self.inputs, limits=self.input_limits(plant), least_squares=self.least_squares == "on",
            parameters=plant.parameters, delay=number(self.delay), name=name,
        )  # fmt: skip
