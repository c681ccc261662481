"""Motions from an initial state: options, how they are saved, and what is asked of the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import StrictBool

from pliant.analysis.base import Analysis, CoordinateNames, PureNumber, Seconds, StateGiven, function_of
from pliant.analysis.integrators import Method, chosen_method
from pliant.analysis.motion.current_state import Now
from pliant.analysis.motion.events import Event
from pliant.analysis.motion.job import Prepare
from pliant.analysis.motion.remarks import MOTION_REMARKS
from pliant.analysis.motion.result import Result
from pliant.analysis.motion.run import NOT_REDUCED, Progress, Request
from pliant.engine.equations import Equations
from pliant.language.arguments import ArgumentError, function, listed, number, positive
from pliant.language.arrays import distinct
from pliant.language.base import InPython, OneOrList, OrObject
from pliant.language.message_text import describe


@dataclass(frozen=True)
class Resolution:
    """Numbers that bound the times of a run."""

    intervals: int = 200
    """Saved intervals by default: smooth curves in plots and films."""
    most_saved: int = 5_000_000
    """Largest number of saved states: those of a pendulum then need a gigabyte."""
    least_times: int = 10_000
    """Least number of representable times in a run, so that its steps can differ by a tenth of a thousandth of it."""
    few_times: int = 16
    """Least number of representable times in a step or an interval."""


RESOLUTION = Resolution()


@dataclass(frozen=True)
class Saving:
    """When states are saved: at equal intervals [s], or at given times [s], at which steps end unless `between`."""

    every: float | None = None
    at: Sequence[float] | np.ndarray | None = None
    between: bool = False

    @property
    def exact(self) -> bool:
        """Whether steps end at the saved times."""
        return self.at is not None and not self.between

    def times(self, begin: float, end: float) -> np.ndarray:
        """Times to save [s]: at equal intervals and at the end, or at given times."""
        if self.every is not None and self.at is not None:
            raise ArgumentError("save_every and save_at are given", "keep one of them")
        if self.at is None:
            return self._equal(begin, end, (end - begin) / RESOLUTION.intervals if self.every is None else self.every)
        times = distinct(np.asarray(self.at, dtype=float))
        if len(times) == 0 or not np.all(np.isfinite(times)):
            raise ArgumentError("give at least one finite time to save at")
        slack = _slack(begin, end, end - begin)
        outside = times[(times < begin - slack) | (times > end + slack)]
        if len(outside):
            raise ArgumentError(
                f"times to save must lie between {begin:g} and {end:g} s; got {', '.join(f'{x:g}' for x in outside[:5])}"
            )
        return np.clip(times, begin, end)

    def _equal(self, begin: float, end: float, interval: float) -> np.ndarray:
        positive("save_every", interval)
        _refuse_indistinct("save_every", self.every, begin, end)
        count = (end - begin) / interval
        if count > RESOLUTION.most_saved:
            most = f"save at most {RESOLUTION.most_saved:,}"
            raise ArgumentError(f"saving every {interval:g} s gives {count:.3g} states; {most}")
        times = begin + interval * np.arange(int(np.floor(count * (1 + 1e-12))) + 1)
        if end - times[-1] > _slack(begin, end, interval):
            return np.append(times, end)
        times[-1] = end
        return times


def _slack(begin: float, end: float, interval: float) -> float:
    """Times closer than this are equal [s]: a small fraction of an interval, or round-off of times far from zero."""
    return 1e-9 * interval + 16 * float(np.spacing(max(abs(begin), abs(end))))


def _refuse_indistinct(what: str, interval: float | None, begin: float, end: float) -> None:
    """Reject steps and intervals [s] that are too small to advance the time."""
    apart = float(np.spacing(max(abs(begin), abs(end))))
    if interval is not None and 0 < interval < RESOLUTION.few_times * apart:
        raise ArgumentError(
            f"{what}={interval:g} s is too short so far from zero: times around {end:g} s are {apart:.2g} s apart as numbers",
            "start closer to 0, and shift everything that depends on time",
        )


class Simulate(Analysis):
    """Simulate the motion from an initial state.

    Events are located within steps. Controllers are called at their own sample times, and their commands are held until the next
    ones; a commanded position or rate is interpolated over a sample time. With `out`, results so far are kept in `NAME.partial.nc`
    beside the file until the run has finished, also if it fails or is interrupted by Ctrl-C.
    """

    name: ClassVar[str] = "simulate"
    title: ClassVar[str] = "Motion"
    result = Result
    remarks = MOTION_REMARKS
    first: ClassVar[tuple[str, ...]] = ("until",)
    state: ClassVar[str] = "start"
    kept: ClassVar[tuple[str, ...]] = ("q", "v", "outputs")
    flags: ClassVar[Mapping[str, str]] = {"controllers": "--no-control"}

    until: Seconds = 1.0
    """End of the simulation [s]."""
    begin: Seconds = 0
    """Time at which it begins [s]."""
    start: StateGiven | None = None
    """State at the start: `initial`, `equilibrium`, or coordinates and rates by name; default: the model's `start`."""
    method: Annotated[
        Literal["explicit", "implicit", "generalized_alpha", "newmark", "semi_implicit", "symplectic_euler"] | None,
        OrObject(str),
    ] = None
    """Integrator: explicit, implicit, generalized_alpha, newmark, semi_implicit or symplectic_euler; default: automatic."""
    step: Seconds | None = None
    """Fixed time step [s]; without it the step is adapted to the tolerances."""
    rtol: PureNumber | None = None
    """Error per step relative to the motion of the frames [-]; default: 1e-6 for explicit and 1e-3 for implicit methods."""
    atol: PureNumber | None = None
    """Error per step that is accepted in any case [m and rad]; otherwise a hundred-thousandth of `rtol` of the robot's size."""
    save_every: Seconds | None = None
    """Time between saved states [s]; default: 200 intervals."""
    save_at: Annotated[Annotated[tuple[Seconds, ...], OneOrList()] | None, OrObject(tuple, list, int, float, str)] = (
        None
    )
    """Times at which states are saved [s]; steps end exactly there."""
    save_between: StrictBool = False
    """Interpolate the states at `save_at` within steps, instead of ending steps there."""
    formulation: Literal["multipliers", "reduced"] = "multipliers"
    """How constraints are treated: multipliers, or reduced to independent coordinates."""
    independent: CoordinateNames | None = None
    """Independent coordinates of the reduced formulation; default: chosen for good conditioning."""
    controllers: Annotated[StrictBool, OrObject(str, int)] = True
    """Run the model's controllers."""
    events: Annotated[Sequence[Event] | None, InPython()] = None
    """Zero crossings to locate."""
    mid_step: Annotated[Callable[[Now], None] | None, InPython()] = None
    """Called after each step with a `Now`, which it may set: state, inputs, parameters."""
    progress: Annotated[Progress | None, InPython()] = None
    """Called with the time, the end and the number of steps."""

    @property
    def saving(self) -> Saving:
        """When states are saved."""
        return Saving(self.save_every, self.save_at, self.save_between)

    def brief(self) -> Self | None:
        """The same with the first and the last state only, unless options say when states are saved."""
        if self.save_every is not None or self.save_at is not None:
            return None
        return self.model_copy(update={"save_at": (self.begin, self.until)})

    def reported(self, *report: Any) -> tuple[str, str, float | None]:
        """The time that the run has reached, and the number of steps."""
        t, end, steps = report
        begin = float(self.begin)
        return (
            "simulating",
            f"t = {t:.4g} of {end:g} s, {steps} steps",
            (t - begin) / (end - begin) if end > begin else 0.0,
        )

    def request(self) -> Request:
        """What is asked of the run; raises ArgumentError for options that do not fit together."""
        begin, end = self._span()
        events = () if self.events is None else listed(self.events)
        for event in events:
            if not isinstance(event, Event):
                raise ArgumentError(
                    f"an event cannot be {describe(event)}", "write Event(function of now, or an output)"
                )
        function("mid_step", self.mid_step)
        function("progress", self.progress)
        tolerances = {name: x for name, x in (("rtol", self.rtol), ("atol", self.atol)) if x is not None}
        automatic = self.method is None and self.step is None
        given = None if automatic else chosen_method(self.method, step=self.step, **tolerances)
        saving = self.saving
        times = saving.times(begin, end)
        _refuse_indistinct("step", None if given is None else given.step, begin, end)
        if self.formulation == "reduced":
            self._refuse_for_reduced(given)
        elif self.independent is not None:
            raise ArgumentError(
                "independent coordinates apply to the formulation 'reduced' only", "choose it, or omit them"
            )
        return Request(
            begin, end, times, saving.exact, given, tolerances, self.formulation, self.independent, events, self.mid_step,
            self.controllers, self.progress, self.out,
        )  # fmt: skip

    def _refuse_for_reduced(self, given: Method | None) -> None:
        if self.events or self.mid_step is not None:
            raise ArgumentError(NOT_REDUCED)
        if given is not None:
            raise ArgumentError(
                "the reduced formulation has its own method", "omit the method and its step; rtol and atol are used"
            )

    def _span(self) -> tuple[float, float]:
        """Begin and end [s] of a run."""
        begin, end = number("begin", self.begin), number("until", self.until)
        if not end > begin:
            raise ArgumentError(f"the time span must go forward; it goes from {begin:g} to {end:g} s")
        apart = float(np.spacing(max(abs(begin), abs(end))))
        if end - begin < RESOLUTION.least_times * apart:
            raise ArgumentError(
                f"a span of {end - begin:.3g} s is too short so far from zero: times around {begin:g} s are {apart:.2g} s apart "
                "as numbers",
                "start closer to 0, and shift everything that depends on time",
            )
        return begin, end

    def run(self, eqs: Equations) -> Result:
        """Step from the start to the end."""
        return self.motion(eqs)

    def motion(self, eqs: Equations, prepare: Prepare | None = None) -> Result:
        """The motion; prepare: called with the run before it starts."""
        return self.request().run(eqs, self.start, self.inputs, self.parameters, prepare)


simulate: Callable[..., Result] = function_of(Simulate)
