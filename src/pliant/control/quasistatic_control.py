"""Quasi-static control of soft robots: equilibrium inputs for the reference of the task, with feedback of the error.

The model's equilibrium follows the reference: gravity and elasticity are compensated at the reference pose, damping and
inertia of the motion along it as loads, and errors are fed back through the derivative of the task with respect to the inputs at
equilibrium.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from pliant.analysis.motion.events import Now
from pliant.control.limits import Limits, Shortfalls, closest_inputs, named
from pliant.control.static_model import StaticModel
from pliant.control.task import Reference, Task, typical_size
from pliant.engine.equations import Equations, Values
from pliant.language.arguments import flag, number


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
