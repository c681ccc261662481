"""Gradients of motions by the discrete adjoint of their steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.equations.equations import Equations
from pliant.equations.time_loop import Cotangents, TimeLoop
from pliant.gradient.changes import OFFSETS, WEIGHTS, derivative, parameter_changes, step_of
from pliant.gradient.outputs import output_cotangents
from pliant.gradient.rest import RestCotangents
from pliant.language.arguments import ArgumentError
from pliant.model.time_series import TimeSeries
from pliant.solve.blas_threads import on_one_blas_thread
from pliant.solve.configuration_group import ConfigurationGroup
from pliant.solve.motion.simulate import Job, read_request, run_request
from pliant.solve.result import Result
from pliant.solve.state import EQUILIBRIUM, assemble
from pliant.solve.statics.equilibrium import state_at
from pliant.solve.status import unless_failed

MEGABYTES = 200.0
"""Memory for states of a run; those that it does not hold are computed again on the way back."""


@dataclass(frozen=True)
class RecordedMotion:
    """A motion whose steps are on record.

    run: the motion; eqs: the equations with the values it was made with.
    """

    run: Result
    eqs: Equations
    _loop: TimeLoop
    _job: Job
    _start: Any

    @on_one_blas_thread
    def cotangents(self, outputs: Mapping[str, np.ndarray], parameters: Sequence[str]) -> MotionCotangents:
        """How a number that changes with the outputs at the samples as given (samples x components by name) changes with
        parameters, inputs and the start."""
        job, bound, model = self._job, self._job.bound, self.eqs.model
        loop = self._loop
        states = loop.sample_q, loop.sample_v, loop.sample_a, loop.sample_multipliers
        here = self.eqs
        found = output_cotangents(here, states, outputs)
        changes = parameter_changes(here, parameters)
        scale = np.array([_size(bound, i) for i in range(len(bound.held))])
        back = loop.adjoint(changes, scale, found.samples)
        by_parameters = back.parameters.copy()
        for k, name in enumerate(parameters):
            by_constants = derivative(lambda p: model.system.constants.values(model.parameter_vector(p)), here, name)
            by_parameters[k] += found.constants @ by_constants
        by_start = self._by_start(back, parameters)
        return MotionCotangents(by_parameters + by_start, back, job)

    @property
    def starts_at_rest(self) -> bool:
        """Whether it starts from the equilibrium, which changes with parameters and inputs too."""
        return isinstance(self._start, str) and self._start == EQUILIBRIUM

    def input_at(self, index: int, t: float) -> float:
        """The value of an input at time t [s]."""
        return float(self._job.bound.program.calls.signals(self._job.bound, t)[0][index])

    def rest(self, back: Cotangents) -> RestCotangents:
        """How the number changes with the equilibrium that it starts from."""
        return RestCotangents(self.eqs, self._job.begin, self._job.started[0], back.q)

    def by_start_value(self, back: Cotangents, name: str) -> float:
        """How the number changes with a coordinate or rate that the start gives by name."""
        eqs, begin = self.eqs, self._job.begin
        value = float(self._start[name])
        step = step_of(value)
        group, q0 = ConfigurationGroup(eqs.model.system), self._job.started[0]

        def placed(offset: int) -> np.ndarray:
            state = state_at(eqs, {**self._start, name: value + offset * step}, begin, where="start")
            made = assemble(eqs, eqs.binding, begin, state.q, state.v, state.given)
            return np.concatenate([group.difference(q0, made.q), made.v])

        both = np.concatenate([back.q, back.v])
        return float(both @ np.tensordot(WEIGHTS, [placed(k) for k in OFFSETS], axes=1) / step)

    def _by_start(self, back: Cotangents, parameters: Sequence[str]) -> np.ndarray:
        """What the start changes by with the parameters, and the number with it."""
        if not parameters:
            return np.zeros(0)
        if self.starts_at_rest:
            rest = self.rest(back)
            return np.array([rest.parameter(name) for name in parameters])
        eqs, begin, start = self.eqs, self._job.begin, self._start
        group, q0 = ConfigurationGroup(eqs.model.system), self._job.started[0]

        def placed(values: dict[str, float]) -> np.ndarray:
            here = eqs.at(parameters=values, within_limits=False)
            state = state_at(here, start, begin, where="start")
            made = assemble(here, here.binding, begin, state.q, state.v, state.given)
            return np.concatenate([group.difference(q0, made.q), made.v])

        both = np.concatenate([back.q, back.v])
        return np.array([both @ derivative(placed, eqs, name) for name in parameters])


@dataclass(frozen=True)
class MotionCotangents:
    """What a number changes by: parameters; and with inputs and the start, see `Cotangents`."""

    parameters: np.ndarray
    back: Cotangents
    job: Job

    def series(self, index: int) -> np.ndarray:
        """By the coefficients of the series that an input follows, pieces x 6."""
        return self.back.poly[int(self.job.bound.input_series[index])]


def recorded_motion(eqs: Equations, until: float, **options: Any) -> RecordedMotion:
    """Simulate with a record of the steps; options are those of `simulate`. Samples are times that steps end on."""
    refuse(eqs, options)
    kept: list[tuple[Job, TimeLoop]] = []

    def prepare(job: Job, run: TimeLoop) -> None:
        run.record(MEGABYTES)
        kept.append((job, run))

    options = dict(options)
    start, inputs, parameters = (options.pop(name, None) for name in ("start", "inputs", "parameters"))
    request = read_request(until, **options)
    run = unless_failed(run_request(request, eqs, start, inputs, parameters, prepare=prepare), "raise")
    job, loop = kept[-1]
    return RecordedMotion(run, job.eqs, loop, job, eqs.model.spec.start if start is None else start)


def refuse(eqs: Equations, options: Mapping[str, Any]) -> None:
    """Raise ArgumentError where a motion has no derivatives here."""
    if eqs.model.system.contacts.laws:
        raise ArgumentError(
            "motions in contact have no derivatives here: contacts remember how they came to where they are",
            "take the contacts out, or derivatives by differences",
        )
    if eqs.model.followed:
        raise ArgumentError("motions with prescribed trajectories of frames have no derivatives here")
    for name, what in (("events", "events"), ("mid_step", "functions between steps")):
        if options.get(name):
            raise ArgumentError(f"motions with {what} have no derivatives here")
    if options.get("formulation", "multipliers") != "multipliers":
        raise ArgumentError("the reduced formulation has no derivatives here", "leave it out")


def _size(bound: Any, index: int) -> float:
    """A size of an input's values."""
    series = int(bound.input_series[index])
    values: Any = bound.held[index]
    if series >= 0 and isinstance(bound.series[series], TimeSeries):
        values = bound.series[series].poly[:, 0]
    return float(np.max(np.abs(values), initial=0.0)) or 1.0
