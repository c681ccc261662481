"""Gradients of motions by the discrete adjoint of their steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from pliant.equations.binding import Binding
from pliant.equations.differences import difference
from pliant.equations.equations import Equations
from pliant.equations.time_loop import BackwardPass, TimeLoop
from pliant.gradient.controlled import ControlCotangents, ControlRecord, Rebuild, RecordedController
from pliant.gradient.equilibrium import EquilibriumCotangents
from pliant.gradient.outputs import output_cotangents
from pliant.gradient.parameter_derivatives import derivative, parameter_changes, step_of, value_of, varied
from pliant.language.arguments import ArgumentError
from pliant.model.time_series import TimeSeries
from pliant.solve.blas_threads import on_one_blas_thread
from pliant.solve.configuration_group import ConfigurationGroup
from pliant.solve.motion.job import Job
from pliant.solve.motion.simulate import read_request, run_request
from pliant.solve.result import Result
from pliant.solve.state import EQUILIBRIUM, assemble
from pliant.solve.statics.equilibrium import state_at
from pliant.solve.status import unless_failed

MEGABYTES = 200.0
"""Memory for states of a run; states beyond this are recomputed in the backward pass."""


@dataclass(frozen=True)
class RecordedMotion:
    """A motion with recorded steps.

    run: the motion; eqs: the equations with its values; control: the record of its controllers, if there are any.
    """

    run: Result
    eqs: Equations
    control: ControlRecord | None
    _loop: TimeLoop
    _job: Job
    _start: Any

    @property
    def bound(self) -> Binding:
        """The values of the entire motion, with commands as inputs over time."""
        return self._job.bound if self.control is None else self.control.bound

    @on_one_blas_thread
    def cotangents(
        self,
        outputs: Mapping[str, np.ndarray],
        parameters: Sequence[str],
        inputs: tuple[str, ...] = (),
        *,
        start: bool = True,
    ) -> MotionCotangents:
        """Cotangents of parameters, inputs (those named) and, if `start`, of the initial state, from those of the outputs at the
        samples (samples x components by name)."""
        bound, loop, here = self.bound, self._loop, self.eqs
        states = loop.sample_q, loop.sample_v, loop.sample_a, loop.sample_multipliers
        found = output_cotangents(here, states, outputs)
        scale = np.array([_size(bound, i) for i in range(len(bound.held))])
        loop.rebind(bound)
        changes = parameter_changes(here, parameters, self._job.begin, self._job.end)
        back = loop.adjoint(changes, scale, found.samples)
        control = None
        if self.control is not None:
            control = self.control.back(back, inputs)
            if start:
                back.q += self.control.by_start(control)
        back.to(0)
        by_parameters = back.parameters.copy()
        for k, name in enumerate(parameters):
            by_parameters[k] += found.constants @ changes.constants[k]
            if self.control is not None and control is not None:
                step = step_of(value_of(here, name))
                by_parameters[k] += self.control.by_parameter(control, name, varied(here, name)) / step
        by_start = self._by_start(back, parameters)
        return MotionCotangents(by_parameters + by_start, back, bound, control)

    @property
    def span(self) -> tuple[float, float]:
        """Beginning and end of the motion [s]."""
        return self._job.begin, self._job.end

    @property
    def has_events(self) -> bool:
        """Whether events have changed the state or values."""
        return bool(self._job.acted)

    @property
    def is_remembered(self) -> bool:
        """Whether the steps depend on more than their initial state, so that there is no backward pass: contacts have a memory,
        and events change the motion by functions of the caller."""
        return bool(self.eqs.model.system.contacts.laws) or self.has_events

    def moved(self, until: float, *, rebuild: Rebuild, **options: Any) -> Result:
        """The motion with other values, which are among the options of `simulate`, with the same steps except for those cut by
        events; equal steps continue from an event as in any motion."""
        begins, kept = self._loop.recorded, list[Job]()
        begins = begins[~np.isin(begins, self._job.acted)]

        def prepare(job: Job, run: TimeLoop) -> None:
            kept.append(job)
            if self._job.acted and job.method.fixed:
                return
            run.take_steps(begins, job.end)
            job.in_given_steps = True

        start, inputs, parameters = (options.pop(name, None) for name in ("start", "inputs", "parameters"))
        options |= {"controllers": rebuild(parameters or {}), "method": self._job.method}
        request = read_request(
            until, **{name: x for name, x in options.items() if name not in ("step", "rtol", "atol")}
        )
        run = unless_failed(run_request(request, self.eqs, start, inputs, parameters, prepare=prepare), "raise")
        if len(kept[-1].acted) != len(self._job.acted):
            raise ArgumentError(
                f"events occur {len(self._job.acted)} times at these values and {len(kept[-1].acted)} times nearby: the "
                "motion is discontinuous",
                "use other values, or a shorter motion",
            )
        return run

    @property
    def starts_at_rest(self) -> bool:
        """Whether it starts from the equilibrium, which also depends on parameters and inputs."""
        return isinstance(self._start, str) and self._start == EQUILIBRIUM

    def input_at(self, index: int, t: float) -> float:
        """The value of an input at time t [s]."""
        return float(self.bound.program.calls.signals(self.bound, t)[0][index])

    def rest(self, back: BackwardPass) -> EquilibriumCotangents:
        """Derivatives through the equilibrium from which it starts."""
        return EquilibriumCotangents(self.eqs, self._job.begin, self._job.started[0], back.q)

    def by_start_value(self, back: BackwardPass, name: str) -> float:
        """Derivative with respect to a coordinate or rate that the start specifies by name."""
        value, start = float(self._start[name]), self._start
        moved = difference(lambda x: self._placed(self.eqs, {**start, name: value + x}), step_of(value))
        return self._through_start(back, moved)

    def by_start_input(self, back: BackwardPass, name: str) -> tuple[float, float]:
        """Derivatives with respect to the value and rate of an input at the start, if the start follows it."""
        if name not in self.eqs.model.position_inputs:
            return 0.0, 0.0
        begin, index = self._job.begin, self.eqs.inputs.index(name)
        value, rate = (float(x[index]) for x in self.bound.program.calls.signals(self.bound, begin)[:2])
        start: Any = self._job.started[0] if self.starts_at_rest else self._start

        def placed(value: float, rate: float) -> np.ndarray:
            line = TimeSeries(np.array([begin, begin + 1.0]), np.array([[value, rate], [value + rate, 0.0]]))
            return self._placed(self.eqs.at(inputs={name: line}), start)

        by_rate = self._through_start(back, difference(lambda x: placed(value, rate + x), step_of(rate)))
        if self.starts_at_rest:  # `rest` accounts for the pose
            return 0.0, by_rate
        return self._through_start(back, difference(lambda x: placed(value + x, rate), step_of(value))), by_rate

    def _by_start(self, back: BackwardPass, parameters: Sequence[str]) -> np.ndarray:
        """Derivatives with respect to parameters through the start."""
        if not parameters:
            return np.zeros(0)
        if self.starts_at_rest:
            rest = self.rest(back)
            return np.array([rest.parameter(name) for name in parameters])

        def placed(values: dict[str, float]) -> np.ndarray:
            return self._placed(self.eqs.at(parameters=values, within_limits=False), self._start)

        return np.array([self._through_start(back, derivative(placed, self.eqs, name)) for name in parameters])

    def _placed(self, eqs: Equations, start: Any) -> np.ndarray:
        """Increments from the start of the motion to a start on the constraints, and its rates."""
        begin, group = self._job.begin, ConfigurationGroup(eqs.model.system)
        state = state_at(eqs, start, begin, where="start")
        made = assemble(eqs, eqs.binding, begin, state.q, state.v, state.given)
        return np.concatenate([group.difference(self._job.started[0], made.q), made.v])

    @staticmethod
    def _through_start(back: BackwardPass, moved: np.ndarray) -> float:
        """Derivative through the start, given the derivative of `_placed`."""
        return float(np.concatenate([back.q, back.v]) @ moved)


@dataclass(frozen=True)
class MotionCotangents:
    """Cotangents of parameters; of inputs and the start, see `BackwardPass`; of controllers, see `ControlCotangents`."""

    parameters: np.ndarray
    back: BackwardPass
    bound: Binding
    control: ControlCotangents | None

    def series(self, index: int) -> np.ndarray:
        """With respect to the coefficients of the series that an input follows, pieces x 6."""
        return self.back.poly[int(self.bound.input_series[index])]


def recorded_motion(
    eqs: Equations, until: float, *, rebuild: Rebuild, described: bool, **options: Any
) -> RecordedMotion:
    """Simulate with a record of the steps; options are those of `simulate`. Samples are at ends of steps.

    rebuild: returns the controllers for given parameters; described: whether the model describes them.
    """
    refuse(eqs, options)
    kept: list[tuple[Job, TimeLoop]] = []

    def prepare(job: Job, run: TimeLoop) -> None:
        run.record(MEGABYTES)
        kept.append((job, run))

    options = dict(options)
    start, inputs, parameters = (options.pop(name, None) for name in ("start", "inputs", "parameters"))
    order = count()
    acting = [RecordedController(x, order) for x in rebuild(parameters or {})]
    request = read_request(until, **{**options, "controllers": acting})
    run = unless_failed(run_request(request, eqs, start, inputs, parameters, prepare=prepare), "raise")
    job, loop = kept[-1]
    if run.status == "stopped":
        raise ArgumentError(
            f"an event ends the simulation at t = {run.final.t:g} s: outputs at later times have no derivatives",
            f"use until={0.99 * run.final.t:.3g}, or an event that does not stop (stop=False)",
        )
    control = ControlRecord(acting, job, loop, rebuild, described=described) if acting else None
    found = RecordedMotion(run, job.eqs, control, loop, job, eqs.model.spec.start if start is None else start)
    if found.starts_at_rest and np.any(job.started[1]):
        raise ArgumentError(
            "a start at equilibrium has no derivatives if prescribed motions start with a nonzero rate",
            "let the inputs start with zero rate, or give the start by values",
        )
    return found


def refuse(eqs: Equations, options: Mapping[str, Any]) -> None:
    """Raise ArgumentError if a motion has no derivatives."""
    if eqs.model.followed:
        raise ArgumentError("motions with prescribed trajectories of frames have no derivatives")
    if options.get("mid_step"):
        raise ArgumentError("motions with functions between steps have no derivatives", "use events instead")
    if options.get("formulation", "multipliers") != "multipliers":
        raise ArgumentError("the reduced formulation has no derivatives", "leave it out")


def _size(bound: Any, index: int) -> float:
    """A typical size of an input's values."""
    series = int(bound.input_series[index])
    values: Any = bound.held[index]
    if series >= 0 and isinstance(bound.series[series], TimeSeries):
        values = bound.series[series].poly[:, 0]
    return float(np.max(np.abs(values), initial=0.0)) or 1.0
