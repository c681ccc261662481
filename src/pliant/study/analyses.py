"""The analyses of a study, and their results: numbers by name, with the names of their axes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from pliant.analysis.base import Analysis, analysis
from pliant.analysis.motion.result import Result
from pliant.analysis.motion.run import Request, acting_controllers, end_message
from pliant.analysis.motion.uninterrupted_runs import UninterruptedRun, UninterruptedRuns
from pliant.analysis.numerics.blas_threads import one_blas_thread
from pliant.analysis.numerics.result import ENERGIES, FRAME_PARTS
from pliant.analysis.numerics.state import INITIAL
from pliant.analysis.numerics.status import Status
from pliant.analysis.remarks.input_limits import beyond_limits
from pliant.analysis.simulate import Simulate
from pliant.analysis.states import state_at
from pliant.engine.equations import Equations
from pliant.engine.input_values import INSTANT, inputs_over_time
from pliant.engine.outputs import output_names, output_units, part_labels
from pliant.engine.state import State
from pliant.language.arguments import ArgumentError, mapping
from pliant.language.message_text import suggestion
from pliant.study.structures import Values

Arrays: TypeAlias = dict[str, tuple[tuple[str, ...], np.ndarray]]
"""Numbers by name: names of their axes, and values."""

FAILED, COMPLETED = str(Status.FAILED), str(Status.COMPLETED)
STATES = ("q", "v")
OUTPUTS = "outputs"
"""All outputs of the model."""
CAN_KEEP = (
    *STATES, "a", "multiplier", "u", "constraint_error", *ENERGIES, *(f"frame_{x}" for x in FRAME_PARTS), OUTPUTS,
)  # fmt: skip

GROUP_SECONDS = 0.25
"""How long runs may take that are reported together."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of a case: status, message, and results (none if it failed).

    labels: of axes whose labels are known by the case alone.
    """

    status: str
    message: str
    arrays: Arrays
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


Finished: TypeAlias = Callable[[int, Outcome], None]
"""Called with the place of a case in its block when it is done."""
Room: TypeAlias = Callable[[int, str, tuple[str, ...], tuple[int, ...]], np.ndarray]
"""Gives room for values of a case, by its place in its block, their name, axes and shape."""


def _new_room(case: int, name: str, axes: tuple[str, ...], shape: tuple[int, ...]) -> np.ndarray:
    return np.empty(shape)


class CaseAnalysis(ABC):
    """An analysis with its options, the same for all cases. Pickled, so that it can travel to other processes."""

    name: str
    keep: tuple[str, ...]

    @abstractmethod
    def check(self, eqs: Equations) -> None:
        """Reject options that would fail in every case."""

    @abstractmethod
    def axes(self, eqs: Equations) -> dict[str, Any]:
        """Labels of the axes of the results, if they have any."""

    def units(self) -> dict[str, str]:
        """Units of results that other analyses do not have."""
        return {}

    @abstractmethod
    def run(
        self,
        eqs: Equations,
        cases: Sequence[Values],
        finished: Finished,
        stop: Callable[[], bool],
        room: Room = _new_room,
    ) -> None:
        """Run all these cases, in order, until there is a reason to stop. Results may be written into `room`."""


def failed(reason: Exception) -> Outcome:
    """The outcome of a case that an exception has ended."""
    known = isinstance(reason, ValueError | RuntimeError | KeyError)
    return Outcome(FAILED, str(reason) if known else f"{type(reason).__name__}: {reason}", {})


def _safely(function: Callable[..., Outcome], *arguments: Any) -> Outcome:
    """An outcome, also where the function raises: one case is not to end the others."""
    try:
        return function(*arguments)
    except Exception as reason:
        return failed(reason)


def _named(eqs: Equations) -> dict[str, Any]:
    names = {"coordinate": eqs.coordinates, "rate": eqs.rates, "constraint": eqs.constraint_names, "input": eqs.inputs}
    return {**names, **part_labels(eqs.model, eqs.binding)}


@dataclass(frozen=True)
class Motions(CaseAnalysis):
    """Motions; options: those of `simulate`. keep: variables to keep of each."""

    options: Mapping[str, Any]
    keep: tuple[str, ...] = Simulate.kept
    name = "simulate"

    def _request(self) -> Request:
        given = {name: x for name, x in self.options.items() if name not in ("start", "inputs")}
        return Simulate.of(given).request()

    def check(self, eqs: Equations) -> None:
        """Reject invalid options, and unknown names in `keep`."""
        self._request()
        mapping("inputs", self.options.get("inputs"))
        known = (*CAN_KEEP, *(f"output.{name}" for name in output_names(eqs.model)))
        for name in self.keep:
            if name not in known:
                raise ArgumentError(
                    f"cannot keep '{name}' of a motion", suggestion(name, known, f"known: {', '.join(known)}")
                )

    def axes(self, eqs: Equations) -> dict[str, Any]:
        """Times, and names along the other axes."""
        names = {"frame": eqs.frame_names, "axis": "xyz", "quaternion_part": "wxyz"}
        return {"time": self._request().times, **_named(eqs), **names}

    def run(
        self,
        eqs: Equations,
        cases: Sequence[Values],
        finished: Finished,
        stop: Callable[[], bool],
        room: Room = _new_room,
    ) -> None:
        """Start all cases together, as far as that can be done, and run some at a time."""
        with one_blas_thread():
            together = _MotionsTogether(eqs, self._request(), self._kept(eqs), self.options, cases)
            begin, size = 0, 1
            while begin < len(cases) and not stop():
                # compiled code evicts Python's from the caches, so the Python work of several runs is done together
                some, clock = range(begin, min(begin + size, len(cases))), perf_counter()
                together.run(some, finished, room)
                seconds = (perf_counter() - clock) / len(some)
                begin, size = some.stop, max(1, min(2 * size, int(GROUP_SECONDS / seconds)))

    def _kept(self, eqs: Equations) -> tuple[str, ...]:
        every = [f"output.{name}" for name in output_names(eqs.model)]
        return tuple(dict.fromkeys(x for name in self.keep for x in (every if name == OUTPUTS else [name])))


class _MotionsTogether:
    """The motions of some cases, whose equations and initial states are determined together."""

    def __init__(
        self,
        eqs: Equations,
        request: Request,
        kept: tuple[str, ...],
        options: Mapping[str, Any],
        cases: Sequence[Values],
    ) -> None:
        self.eqs, self.request, self.kept, self.cases = eqs, request, kept, cases
        shared, own = options.get("inputs") or {}, options.get("start")
        self.given = [_timed(eqs, shared, case, request.begin, request.end) for case in cases]
        start = eqs.model.spec.start if own is None else own
        self.as_placed = own is None and start == INITIAL
        self.here: list[Any] = eqs.at_each(
            [(x.parameters, x.inputs) if isinstance(x, Values) else ({}, {}) for x in self.given]
        )
        starts = [start if case.start is None else case.start for case in cases]
        self.states: list[Any] = [
            _or_reason(state_at, here, start, request.begin, where="start") if isinstance(here, Equations) else None
            for here, start in zip(self.here, starts, strict=True)
        ]
        self.quick = UninterruptedRuns(request, eqs, kept)
        # the fastest rate of each case at its start [1/s], where it is of use; NaN elsewhere
        self.rates = np.full(len(self.here), np.nan)
        both = enumerate(zip(self.here, self.states, strict=True))
        sound = {
            k: (eqs.binding, state)
            for k, (eqs, state) in both
            if isinstance(eqs, Equations) and isinstance(state, State)
        }
        if sound and self.quick.possible:
            self.rates[list(sound)] = self.quick.rates(list(sound.values()))

    def run(self, some: range, finished: Finished, room: Room) -> None:
        """Run some of the cases."""
        prepared = [self._prepared(k, room) for k in some]
        if runs := [run for run in prepared if isinstance(run, UninterruptedRun)]:
            self.quick.go(runs)
        for k, run in zip(some, prepared, strict=True):
            finished(k, _safely(self._outcome, k, run))
            self.here[k] = self.states[k] = None  # their memory is needed no longer

    def _prepared(self, k: int, room: Room) -> UninterruptedRun | Exception | None:
        """The uninterrupted run of a case; None if it is not worthwhile; the reason if the case cannot run."""
        for wrong in (self.given[k], self.here[k], self.states[k]):
            if isinstance(wrong, Exception):
                return wrong
        if not self.quick.worthwhile:
            return None
        run: UninterruptedRun | Exception = _or_reason(
            self.quick.ready, self.here[k], self.states[k], self.rates[k], partial(room, k)
        )
        return run

    def _outcome(self, k: int, prepared: UninterruptedRun | Exception | None) -> Outcome:
        """The outcome of a case: that of its uninterrupted run if this reached the end, else that of a motion with checks."""
        request, eqs, here = self.request, self.eqs, self.here[k]
        if isinstance(prepared, Exception):
            return failed(prepared)
        if prepared is not None and prepared.t is not None:
            beyond = beyond_limits(eqs.model, request.times, [(request.begin, here.binding)])
            message = "; ".join(filter(None, [end_message(prepared.t), beyond]))
            return Outcome(COMPLETED, message, self.quick.kept_of(prepared))
        case = self.cases[k]
        acting = acting_controllers(request.controllers, eqs, case.parameters)
        run = request.run_from(here, self.states[k], acting, as_placed=self.as_placed and case.start is None)
        message = "; ".join([run.message, *run.remarks])
        return Outcome(str(run.status), message, _of_motion(run, request.times, self.kept))


def _timed(eqs: Equations, shared: Mapping[str, Any], case: Values, begin: float, end: float) -> Values | Exception:
    """A case with inputs over time as numbers and series, those shared by all cases among them; or why it has none."""
    inputs = {**shared, **case.inputs} if shared else case.inputs
    if all(type(x) is float for x in inputs.values()):
        return Values(case.parameters, inputs, case.start) if shared else case
    try:
        timed = inputs_over_time(eqs, inputs, case.parameters, begin, end)
    except ValueError as reason:
        return reason
    return Values(case.parameters, timed or {}, case.start)


def _or_reason(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """The return value of a function, or the exception that it raises."""
    try:
        return function(*arguments, **options)
    except Exception as reason:
        return reason


def _of_motion(run: Result, times: np.ndarray, kept: Sequence[str]) -> Arrays:
    """The results of a motion, at the saved times that it reached."""
    if run.status == Status.FAILED:
        return {}
    count = len(run.time)
    if count > len(times) or (count and run.time[-1] != times[count - 1]):
        count -= 1  # the final state, at a different time
    arrays: Arrays = {}
    for name in kept:
        if name not in STATES and name not in run.recorded.variables:
            continue  # an output that this structure has not
        values = run.recorded[name]
        axes = (
            ("time", "coordinate")
            if name == "q"
            else ("time", "rate")
            if name == "v"
            else run.recorded.variables[name][0]
        )
        arrays[name] = axes, values[:count]
    return arrays


@dataclass(frozen=True)
class OneByOne(CaseAnalysis):
    """Any analysis, called for each case separately. keep: variables to keep of each result; all if empty."""

    name: str
    options: Mapping[str, Any]
    keep: tuple[str, ...] = ()

    @property
    def kind(self) -> type[Analysis]:
        """The class of the analysis."""
        return analysis(self.name)

    def check(self, eqs: Equations) -> None:
        """Reject wrong options before the first case."""
        mapping("inputs", self.options.get("inputs"))
        made = self.kind.of(self.options).in_si(eqs)
        for path, message, hint in made.faults(eqs.model):
            raise ArgumentError(f"{'.'.join(map(str, path))}: {message}", hint)

    def axes(self, eqs: Equations) -> dict[str, Any]:
        """Names of the robot; results have those of further axes."""
        return _named(eqs)

    def units(self) -> dict[str, str]:
        """Units of the variables."""
        return self.kind.result.units() if "result" in vars(self.kind) else {}

    def run(
        self,
        eqs: Equations,
        cases: Sequence[Values],
        finished: Finished,
        stop: Callable[[], bool],
        room: Room = _new_room,
    ) -> None:
        """Call it in one case after the other."""
        shared = dict(self.options)
        inputs, time = (
            shared.pop("inputs", None) or {},
            float(self.kind.of(self.options).in_si(eqs).given().get("time", 0.0)),
        )
        given = [_timed(eqs, inputs, case, time, time + INSTANT) for case in cases]
        here: list[Any] = eqs.at_each([(x.parameters, x.inputs) if isinstance(x, Values) else ({}, {}) for x in given])
        here = [x if isinstance(x, Exception) else bound for x, bound in zip(given, here, strict=True)]
        with one_blas_thread():
            for k, (case, bound) in enumerate(zip(cases, here, strict=True)):
                if stop():
                    return
                if isinstance(bound, Exception):
                    finished(k, failed(bound))
                    continue
                options = shared if case.start is None else {**shared, self.kind.state: case.start}
                finished(k, _safely(self._outcome, bound, options))

    def _outcome(self, eqs: Equations, options: dict[str, Any]) -> Outcome:
        """The arrays of a result, with the labels of their axes."""
        result = self.kind.of({**options, "on_failure": "return"}).analyse(eqs)
        if result.status == Status.FAILED:
            return Outcome(FAILED, result.message, {})
        arrays = {name: x for name, x in result.arrays() if not self.keep or name in self.keep}
        own = {axis: result.recorded.names(axis) for axis in result.recorded.labels if axis not in _named(eqs)}
        message = "; ".join(filter(None, (result.message, *result.remarks)))
        return Outcome(str(result.status), message, arrays, own)


def case_analysis(name: str, options: Mapping[str, Any], keep: tuple[str, ...] | None) -> CaseAnalysis:
    """The analysis of this name with its options, for many cases. keep: variables to keep; None: the usual ones."""
    kept = analysis(name).kept if keep is None else keep
    return Motions(options, kept) if name == Motions.name else OneByOne(name, options, kept)


def units(eqs: Equations) -> dict[str, str]:
    """SI units of the results, by name."""
    known = {"kinetic": "J", "potential": "J", "dissipated": "J", "supplied": "J"}
    known |= {"frame_position": "m", "frame_velocity": "m/s"}
    return known | {f"output.{name}": unit for name, unit in output_units(eqs.model).items()}
