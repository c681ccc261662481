"""Quasi-static control of soft robots: equilibrium inputs for the reference of the task, with feedback of the error.

The model's equilibrium follows the reference: gravity and elasticity are compensated at the reference pose, damping and
inertia of the motion along it as loads, and errors are fed back through the derivative of the task with respect to the inputs at
equilibrium.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from pliant.analysis.motion.events import Now
from pliant.analysis.motion.plant import Plant
from pliant.control.base import TaskController, expressed_path
from pliant.control.contact_task import ContactForce, PlanePosition
from pliant.control.limits import Limits, Shortfalls, closest_inputs, named
from pliant.control.static_model import StaticModel
from pliant.control.task import Coordinates, Reference, Several, Task, typical_size
from pliant.engine.equations import Equations, Values
from pliant.language.arguments import flag, number
from pliant.language.base import Problem
from pliant.language.names import ContactName
from pliant.language.scalar import AngularSpeed, ForceSignal, Number, Scalar, Time


@dataclass
class StaticControl:
    """Controller that makes a task follow a path slowly: the inputs of the model's equilibrium there, plus feedback.

    Feedback `proportional` [-], `integral` [1/s] and `derivative` [s] of the task's error acts through the change of the
    task per input at equilibrium. If there are more inputs than the task needs, those nearest to the initial ones are used. A
    path that starts out of reach within the limits of the inputs is an error, unless `least_squares` is set. See
    `ConstraintControl` for fast motions. `seconds` is the computation time of each command [s].
    """

    equations: Equations
    task: Task
    path: Reference
    sample_time: float = 0.02
    proportional: float = 0.0
    integral: float = 2.0
    derivative: float = 0.0
    inputs: tuple[str, ...] | None = None
    limits: Limits | None = None
    least_squares: bool = False
    parameters: Values | None = None
    delay: float = 0.0
    name: str = "static control"
    seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        for gain in ("proportional", "integral", "derivative"):
            setattr(self, gain, number(f"the {gain} gain of {named(self)}", getattr(self, gain)))
        flag("least_squares", self.least_squares)
        self._model = StaticModel(self.equations, self.task, self.inputs, self.limits, self.parameters)
        self._shortfalls = Shortfalls(self.equations, self._model.inputs, self._model.limits)
        self._path = self.path.checked(self.task.size, named(self))

    def start(self, now: Now) -> None:
        """Reset the internal state; the model starts from its own equilibrium."""
        self._model.reset(now.inputs)
        self._model.enter(self._path.value(now.t), nearest=self.least_squares, title=named(self))
        self._sum = np.zeros(self.task.size)
        self._last = self._model.u
        self._far, self._missed = 0.0, 0
        self._shortfalls.reset()
        self.seconds.clear()

    def command(self, now: Now) -> dict[str, float]:
        """The inputs at this sample."""
        begin = time.perf_counter()
        model, limits = self._model, self._model.limits
        ahead = now.t + 0.5 * self.sample_time
        wanted = self._path.value(ahead)
        missed = model.move(wanted, steps=2)
        motion = self.task.motion(now.equations, now.q, now.v, None, now.parameters)
        error, slip = self._path.value(now.t) - motion.value, self._path.rate(now.t) - motion.rate
        correction = self.proportional * error + self.integral * self._sum + self.derivative * slip
        _, gain, _ = model.sensitivity()
        correction = correction + model.lag(self._path.rate(ahead), self._path.acceleration(ahead))
        lower, upper = limits.within(model.inputs, self._last, self.sample_time)
        wish = gain @ model.u + correction
        w = model.weights
        found = closest_inputs(w[:, None] * gain, w * wish, lower, upper, preferred=model.u, regularization=1e-10)
        short = self._shortfalls.add(now.t, found.inputs, found.binding, found.cut)
        if missed > 1e-3 * max(1e-6, float(np.linalg.norm(w * wanted)), typical_size(self.task)):
            self._missed += 1
            self._far = max(self._far, missed)
        elif not short:
            self._sum = self._sum + self.sample_time * error
        self._last = found.inputs
        self.seconds.append(time.perf_counter() - begin)
        return dict(zip(model.inputs, found.inputs.tolist(), strict=True))

    def notes(self) -> list[str]:
        """Warnings of a run."""
        notes = self._shortfalls.notes(named(self))
        if self._missed:
            at = ""
            if np.any(self._model.binding):
                at = f"; at the end {self._shortfalls.standing(self._model.u, self._model.binding)}"
            notes.append(
                f"{named(self)}: the path could not be reached within the inputs' limits at {self._missed} of "
                f"{self._shortfalls.samples} samples (by up to {self._far:.3g} m or rad{at})"
            )
        return notes


class StaticControlSpec(TaskController):
    """Moves a frame or coordinates slowly along a path: the inputs at which the model is in equilibrium there, so that gravity and
    elasticity are compensated, plus feedback of the error through the derivative of the equilibrium by the inputs. With
    `contact` it presses on a surface with a `force` and moves along it."""

    type: Literal["statics"] = "statics"
    proportional: Number = 0
    """Fraction of the error that is corrected immediately [-]."""
    integral: AngularSpeed = 2
    """Rate at which errors are removed by integration [1/s]."""
    derivative: Time = 0
    """Gain on the rate of the error [s]."""
    contact: ContactName | None = None
    """Contact whose surface is pressed. The path of a frame is then in the axes of the plane (two values), along its surface."""
    force: ForceSignal | None = None
    """Force that presses on the contact's surface, along its normal; may vary in time [N]."""

    example: ClassVar[str] = """\
pliant: 1
parameters:
  pull: {value: 0 N, input: true}
sections:
  wire: {shape: circle, radius: 5 mm}
materials:
  rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}
rods:
  arm: {length: 30 cm, section: wire, material: rubber, damping: [0, 0, 0, 1e-5, 1e-5, 1e-5], model: {kind: pcs, elements: 3}}
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

    @property
    def placed(self) -> int:
        """Two on a surface; otherwise as for all path-following controllers."""
        return 2 if self.contact is not None and self.path and not self.coordinates else super().placed

    @property
    def size(self) -> int:
        """Number of controlled components."""
        return super().size + (self.force is not None)

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """As for all path-following controllers; a force needs a contact."""
        yield from super().problems(value)
        if (self.force is None) != (self.contact is None):
            given, other = ("force", "contact") if self.contact is None else ("contact", "force")
            yield (given,), f"`{given}` needs `{other}`", "a force presses on the surface of a contact; give both"
        if self.contact is not None and self.components != "xyz":
            message = "on the surface of a contact the path has its two values, not components of the world"
            yield ("components",), message, "leave out `components`"

    def task(self, plant: Plant) -> Task:
        """The controlled task: position, orientation, and contact force."""
        if self.contact is None:
            return super().task(plant)
        on: list[Task] = []
        if self.path and self.frame is not None:
            on.append(PlanePosition(self.frame, self.contact))
        elif self.coordinates:
            on.append(Coordinates(self.coordinates))
        return Several((*on, *self._turned(plant), ContactForce(self.contact)))

    def followed(self, plant: Plant) -> Reference:
        """The path, zeros for constant components, and the force."""
        force = () if self.force is None else (self.force,)
        return expressed_path((*self.path, *[0.0] * self.turned, *force), plant)

    def build(self, plant: Plant, name: str) -> StaticControl:
        """The controller."""
        number = plant.number
        return StaticControl(
            plant.equations, self.task(plant), self.followed(plant), sample_time=number(self.sample_time),
            proportional=number(self.proportional), integral=number(self.integral), derivative=number(self.derivative),
            inputs=self.inputs, limits=self.input_limits(plant), least_squares=self.least_squares,
            parameters=plant.parameters, delay=number(self.delay), name=name,
        )  # fmt: skip
