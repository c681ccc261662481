"""Simulation of motions: one function for all integration methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pliant.analysis.equilibrium import Equilibrium
from pliant.analysis.integrators import ExplicitRungeKutta, GeneralizedAlpha, Method, chosen_method
from pliant.analysis.motion.events import Event, EventMonitor, Now
from pliant.analysis.motion.job import Job, Prepare, Progress
from pliant.analysis.motion.kinematic_inputs import KinematicInputs
from pliant.analysis.motion.method_choice import MethodChange, MethodChoice, after_failure, choose_method
from pliant.analysis.motion.plant import model_controllers
from pliant.analysis.motion.reduced_coordinates import simulate_reduced
from pliant.analysis.motion.sampled_control import Controller, SampledLoop
from pliant.analysis.motion.save_times import save_times
from pliant.analysis.motion.start_remarks import far_from_held, held_otherwise
from pliant.analysis.numerics.result import Result, keep, said_where
from pliant.analysis.numerics.state import INITIAL, AssembledState, Start, assemble
from pliant.analysis.numerics.status import Status, unless_failed
from pliant.analysis.remarks.crossing_surfaces import crossing_notes
from pliant.analysis.remarks.overlaps import overlap_notes
from pliant.analysis.states import state_at
from pliant.engine.equations import Equations, InputValues, Values, with_remembered
from pliant.engine.input_values import inputs_over_time
from pliant.engine.layout import RuntimeStatus
from pliant.engine.state import State
from pliant.language.arguments import (
    ArgumentError,
    choice,
    file_name,
    flag,
    function,
    known_keywords,
    listed,
    name_tuple,
    need_equations,
    number,
    positive,
)
from pliant.language.limits import time_limit
from pliant.language.message_text import describe

LEAST_TIMES, FEW_TIMES = 10_000, 16
"""Minimum number of representable times in a run, and in a step or interval."""


@known_keywords
def simulate(
    eqs: Equations,
    until: float = 1.0,
    *,
    begin: float = 0.0,
    start: Start = None,
    method: Method | str | None = None,
    step: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    save_every: float | None = None,
    save_at: Sequence[float] | np.ndarray | None = None,
    save_between: bool = False,
    inputs: InputValues | None = None,
    parameters: Values | None = None,
    formulation: Literal["multipliers", "reduced"] = "multipliers",
    independent: Sequence[str] | None = None,
    events: Sequence[Event] | None = None,
    mid_step: Callable[[Now], None] | None = None,
    controllers: Controller | Sequence[Controller] | bool | None = None,
    progress: Progress | None = None,
    out: str | Path | None = None,
    timeout: float | None = None,
    on_failure: Literal["raise", "return"] = "raise",
) -> Result:
    """Simulate from `begin` to `until` [s]. Raises AnalysisFailed if the run cannot continue; its `result` is the motion so far.

    start: "initial", "equilibrium", a State, an Equilibrium, a Result (continues from its end), coordinates and rates by name, or
        positions at rest; the model's own `start` when None.
    method: an integrator or its name; chosen by constraints and stiffness when None, and named in the result.
    step: fixed step [s]; without a `method`, that of generalized-alpha.
    rtol, atol: tolerances of a method that is given by name or chosen automatically; by default 1e-6 for explicit and 1e-3 for
        implicit methods, and 1e-5 rtol times the size of the robot.
    save_every, save_at: interval of saved states, or times to save, at which steps end exactly [s]; 200 intervals by default.
    save_between: interpolate states at `save_at` within steps instead.
    inputs: by name, each a constant number, a text with a unit or an expression of t ("2 N", "2*sin(3*t) N"), a function of
        the time [s], or `(times, values)`, with "linear" (the default; "cubic" for inputs that prescribe positions or rates),
        "previous" or "cubic" after them. SI units where no unit is written.
    formulation: "multipliers" keeps all coordinates with constraint forces; "reduced" integrates the `independent`
        coordinates only and solves the loops for the others.
    events: zero crossings to locate; mid_step: called after each step with a `Now`, which it may set (state, inputs, parameters).
    controllers: called at their own sample times; their commands are held until the next ones (`solve.motion.sampled_control`).
        A commanded position or rate is interpolated over a sample time. None or True: those of the model; () or False: none.
    out: a netCDF file for the result, written when the run has finished. Until then, and if the run fails or is interrupted by
        Ctrl-C, the results so far are in `NAME.partial.nc` next to it, and an earlier result is not modified. timeout: seconds
        of real time after which the run stops, with the results so far.
    on_failure: "return" returns a failed run, with its status and message, instead of raising.
    """
    choice("on_failure", on_failure, ("raise", "return"))
    request = read_request(
        until, begin=begin, method=method, step=step, rtol=rtol, atol=atol, save_every=save_every, save_at=save_at,
        save_between=save_between, formulation=formulation, independent=independent, events=events, mid_step=mid_step,
        controllers=controllers, progress=progress, out=out,
    )  # fmt: skip
    with time_limit(None if timeout is None else positive("timeout", timeout)):
        return unless_failed(run_request(request, eqs, start, inputs, parameters), on_failure)


def run_request(
    request: Request,
    eqs: Equations,
    start: Start = None,
    inputs: InputValues | None = None,
    parameters: Values | None = None,
    *,
    prepare: Prepare | None = None,
) -> Result:
    """A run of a robot with these values, as by `simulate`; its status states whether it failed."""
    need_equations(eqs)
    timed = inputs_over_time(eqs, inputs, parameters, request.begin, request.end)
    here = eqs.at(inputs=timed, parameters=parameters)
    as_placed = start is None and here.model.spec.start == INITIAL
    state = state_at(here, here.model.spec.start if start is None else start, request.begin, where="start")
    acting = request.acting(eqs, parameters)
    notes = held_otherwise(here, start, acting) if isinstance(start, Equilibrium) else ()
    return request.run(here, state, acting, as_placed=as_placed, prepare=prepare, notes=notes)


def acting_controllers(
    given: Controller | Sequence[Controller] | bool | None, eqs: Equations, parameters: Values | None
) -> list[Controller]:
    """The controllers of the option `controllers`: those given, or those of the model, designed for these parameters."""
    if given is None or given is True:
        return model_controllers(eqs, parameters)
    if given is False:
        return []
    return list(given) if isinstance(given, Sequence) else [given]


@dataclass(frozen=True)
class Request:
    """The options of `simulate`, validated; the robot, its values and its start are separate.

    times: when states are saved [s]; exact: whether steps end there; method: the one that the caller chose, if any.
    """

    begin: float
    end: float
    times: np.ndarray
    exact: bool
    method: Method | None
    tolerances: Mapping[str, float]
    formulation: str
    independent: tuple[str, ...] | None
    events: Sequence[Event]
    mid_step: Callable[[Now], None] | None
    controllers: Controller | Sequence[Controller] | bool | None
    progress: Progress | None
    out: str | Path | None

    def acting(self, eqs: Equations, parameters: Values | None) -> list[Controller]:
        """The controllers of a run: those given, or those of the model, designed for these parameters."""
        return acting_controllers(self.controllers, eqs, parameters)

    def run(
        self,
        eqs: Equations,
        state: State,
        acting: list[Controller],
        *,
        as_placed: bool,
        prepare: Prepare | None = None,
        notes: Sequence[str] = (),
    ) -> Result:
        """A run of these equations from a state, saved in its file; its status states whether it failed. as_placed: the state is
        the initial state of the model, in which parts should not overlap. notes: remarks on the start."""
        result = self._attempts(eqs, state, acting, as_placed=as_placed, prepare=prepare, remarks=notes)
        if self.out is None:
            return result
        target = keep(result, self.out)
        return replace(result, message=said_where(result, target)) if result.is_partial else result

    def _attempts(
        self,
        eqs: Equations,
        state: State,
        acting: list[Controller],
        *,
        as_placed: bool,
        prepare: Prepare | None,
        remarks: Sequence[str],
    ) -> Result:
        motions = KinematicInputs(eqs, eqs.binding, self.begin, state.q, state.v, self.end)
        bound = with_remembered(eqs.binding.with_series(motions.series), state)
        made = assemble(eqs, bound, self.begin, state.q, state.v, state.given)
        if self.formulation == "reduced":
            if acting:
                raise ArgumentError(_NOT_REDUCED)
            return self._reduced(eqs, made)
        placed = overlap_notes(made.bound, self.begin, made.q) if as_placed else ()
        far, crossing = far_from_held(eqs, made.q, acting), crossing_notes(made.bound, self.begin, made.q)
        notes = (*made.messages, *remarks, *far, *placed, *crossing, *motions.notes(made.bound, self.begin))
        if self.method is None:
            chosen = choose_method(made.bound, self.begin, self.end, made.q, made.v, **self.tolerances)
        else:
            chosen = MethodChoice(self.method, "chosen by the caller")

        def attempt(choice: MethodChoice) -> tuple[Result, bool]:
            """A run, and whether another method may do better."""
            motions = KinematicInputs(eqs, eqs.binding, self.begin, state.q, state.v, self.end)
            loop = SampledLoop(acting, self.begin, self.end)
            job = Job(
                eqs, made.bound, motions, choice, self.begin, self.end, self.times, self.exact, self.progress, self.out,
                list(notes), prepare=prepare,
            )  # fmt: skip
            result = job.run(made.q, made.v, EventMonitor(job, list(self.events), self.mid_step), loop)
            return result, result.status == Status.FAILED and job.ended not in SAME_FOR_ALL_METHODS

        try:
            result, improvable = attempt(chosen)
        except MethodChange as better:
            result, improvable = attempt(better.choice)
        automatic = self.method is None and not isinstance(chosen.method, GeneralizedAlpha)
        if improvable and automatic and not self.events and self.mid_step is None:
            iterated, _ = attempt(after_failure(chosen))
            result = result if iterated.status == Status.FAILED else iterated
        return result

    def _reduced(self, eqs: Equations, made: AssembledState) -> Result:
        reduced = ExplicitRungeKutta(**self.tolerances)
        return simulate_reduced(eqs, made, self.begin, self.end, self.times, self.independent, reduced, self.progress)


SAME_FOR_ALL_METHODS = (RuntimeStatus.OUT_OF_MEMORY, RuntimeStatus.POSITION_JUMPS)
"""Causes of failures that no other method avoids."""

_NOT_REDUCED = "the reduced formulation runs without controllers, events and mid-step functions"


def read_request(
    until: float,
    *,
    begin: float = 0.0,
    method: Method | str | None = None,
    step: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    save_every: float | None = None,
    save_at: Sequence[float] | np.ndarray | None = None,
    save_between: bool = False,
    formulation: str = "multipliers",
    independent: Sequence[str] | None = None,
    events: Sequence[Event] | None = None,
    mid_step: Callable[[Now], None] | None = None,
    controllers: Controller | Sequence[Controller] | bool | None = None,
    progress: Progress | None = None,
    out: str | Path | None = None,
) -> Request:
    """The options of `simulate`, checked."""
    begin, end = _span(begin, until)
    names = name_tuple(independent, "independent")
    events = () if events is None else listed(events)
    flag("save_between", save_between)
    function("mid_step", mid_step)
    function("progress", progress)
    out = None if out is None else file_name("out", out)
    rtol, atol = (None if x is None else number(name, x) for name, x in (("rtol", rtol), ("atol", atol)))
    for event in events:
        if not isinstance(event, Event):
            raise ArgumentError(f"an event cannot be {describe(event)}", "write Event(function of now, or an output)")
    choice("formulation", formulation, ("multipliers", "reduced"))
    given = chosen_method(method, step=step, rtol=rtol, atol=atol)
    tolerances = {name: x for name, x in (("rtol", rtol), ("atol", atol)) if x is not None}
    times = save_times(begin, end, save_every, save_at)
    _told_apart("save_every", save_every, begin, end)
    _told_apart("step", None if given is None else given.step, begin, end)
    if formulation == "reduced":
        if events or mid_step is not None:
            raise ArgumentError(_NOT_REDUCED)
        if given is not None:
            raise ArgumentError(
                "the reduced formulation has its own method", "omit the method and its step; rtol and atol are used"
            )
    elif names is not None:
        raise ArgumentError(
            "independent coordinates apply to the formulation 'reduced' only", "choose it, or omit them"
        )
    exact = save_at is not None and not save_between
    return Request(
        begin, end, times, exact, given, tolerances, formulation, names, events, mid_step, controllers, progress, out
    )  # fmt: skip


def _span(begin: Any, until: Any) -> tuple[float, float]:
    """Begin and end [s] of a run."""
    hint = (
        "write until=5, and begin=1 if it does not start at 0" if isinstance(until, list | tuple | np.ndarray) else ""
    )
    begin, end = number("begin", begin), number("until", until, hint=hint)
    if not end > begin:
        raise ArgumentError(f"the time span must go forward; it goes from {begin:g} to {end:g} s")
    apart = float(np.spacing(max(abs(begin), abs(end))))
    if end - begin < LEAST_TIMES * apart:
        raise ArgumentError(
            f"a span of {end - begin:.3g} s is too short so far from zero: times around {begin:g} s are {apart:.2g} s apart as "
            "numbers",
            "start closer to 0, and shift everything that depends on time",
        )
    return begin, end


def _told_apart(what: str, interval: float | None, begin: float, end: float) -> None:
    """Reject steps and intervals [s] that are too small to advance the time."""
    apart = float(np.spacing(max(abs(begin), abs(end))))
    if interval is not None and 0 < interval < FEW_TIMES * apart:
        raise ArgumentError(
            f"{what}={interval:g} s is too short so far from zero: times around {end:g} s are {apart:.2g} s apart as numbers",
            "start closer to 0, and shift everything that depends on time",
        )
