"""Sampled controllers in a simulation: called at their sample times, with commands held in between (positions are interpolated)."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Protocol, SupportsFloat, runtime_checkable

import numpy as np

from pliant.analysis.motion.current_state import Now
from pliant.analysis.motion.job import Job
from pliant.engine.core import check_names
from pliant.engine.equations import Equations, Values
from pliant.language.arguments import ArgumentError, number, positive, whole
from pliant.language.parameter import Environment
from pliant.language.provided import called
from pliant.language.scalar import Scalar
from pliant.robot.controllers import ControllerBase


@dataclass(frozen=True)
class Plant:
    """The plant of a controller: equations with the current parameters, and these."""

    equations: Equations
    environment: Environment
    parameters: dict[str, float]

    def number(self, scalar: Scalar) -> float:
        """The value of a field [SI units]."""
        return float(self.environment.value(scalar))


def model_controllers(eqs: Equations, parameters: Values | None = None) -> list[Controller]:
    """The controllers described by a model, designed for these parameters, which override those of the equations."""
    described = eqs.model.spec.control
    if not described:
        return []
    given = eqs.given_parameters | dict(parameters or {})
    environment = eqs.model.environment.with_values(given)
    plant = Plant(eqs.at(parameters=given), environment, given)
    return [_built(controller, plant, name) for name, controller in described.items()]


def _built(described: ControllerBase, plant: Plant, name: str) -> Controller:
    """The controller; errors are reported with its name."""
    try:
        return called("controller", described, plant, name)
    except ValueError as reason:
        begin = f"controller '{name}': "
        raise ValueError(str(reason) if str(reason).startswith(begin) else begin + str(reason)) from reason


SAME_TIME = 1e-9
"""Times closer than this fraction of a sample time are equal."""


@runtime_checkable
class Controller(Protocol):
    """Interface of a controller; any object with these three attributes can be used.

    A controller may also have `delay` [s] (default 0), the time between a sample and the effect of its commands; and `noise`,
    standard deviations of the measured outputs by name, with a `seed`.
    """

    sample_time: float
    """Time between two samples [s]."""

    def start(self, now: Now) -> None:
        """Reset the internal state; called once before the first sample."""

    def command(self, now: Now) -> Mapping[str, float]:
        """Inputs by name, held until the next command takes effect (SI units).

        An input that prescribes a position or a rate is interpolated to its command over a sample time instead of jumping.
        """


MOST_SAMPLES = 10_000_000
"""Largest number of samples of a controller in one run: more would not fit into memory."""


class SampledLoop:
    """The controllers of a run: the time of the next call of each, and pending commands."""

    def __init__(self, controllers: Sequence[Controller], begin: float, end: float) -> None:
        self.controllers = tuple(controllers)
        for controller in self.controllers:
            if isinstance(controller, type) or not isinstance(controller, Controller):
                said = f"the class {controller.__name__}" if isinstance(controller, type) else repr(controller)
                raise ArgumentError(
                    f"{said} is not a controller: give an object with `sample_time`, `start` and `command`"
                )
        self.active = bool(self.controllers)
        self._random = [
            np.random.default_rng(whole(f"the seed of {_title(c)}", getattr(c, "seed", 0), least=0))
            for c in self.controllers
        ]
        self._order = count()
        self._queue: list[tuple[float, int, int, int, Mapping[str, float]]] = []
        self._now: Now | None = None
        times = [begin]
        for i, controller in enumerate(self.controllers):
            step = positive(f"the sample time of {_title(controller)}", controller.sample_time, hint="in seconds")
            delay = _delay(controller)
            if (end - begin) / MOST_SAMPLES > step:
                raise ArgumentError(
                    f"the sample time of {_title(controller)}, {step:g} s, gives more than {MOST_SAMPLES:,} samples in this run",
                    "increase it, or shorten the run",
                )
            samples = begin + step * np.arange(int(np.floor((end - begin) / step * (1 + 1e-12))) + 1)
            for t in samples[samples < end]:
                self._put(float(t), i, None)
            times += [*samples, *(samples + delay if delay else ())]
        self.times = _distinct(np.array(times), begin, end) if self.active else np.zeros(0)

    def _put(self, t: float, controller: int, command: Mapping[str, float] | None) -> None:
        # at equal times, commands take effect before controllers are sampled
        kind = 1 if command is None else 0
        heapq.heappush(self._queue, (t, kind, next(self._order), controller, command or {}))

    def due(self, t: float) -> bool:
        """Whether a command or a sample is due at this time."""
        return bool(self._queue) and self._queue[0][0] <= t + self._slack()

    def act(self, job: Job, run: Any) -> None:
        """Process all commands and samples at the current time; then set the time of the next pause."""
        t = run.t
        if not self.active:
            return
        memory: dict[str, Any] = {} if self._now is None else self._now.memory
        inputs, parameters = dict(job.inputs), dict(job.parameters)
        first = self._now is None
        self._now = Now(
            t, run.q.copy(), run.v.copy(), job.eqs, inputs, parameters, memory, motions=job.motions.series,
            contacts=run.contacts,
        )  # fmt: skip
        if first:
            self._noise = [_deviations(controller, self._now) for controller in self.controllers]
            for i, controller in enumerate(self.controllers):
                controller.start(self._reading(i))
        periods: dict[str, float] = {}
        while self.due(t):
            _, kind, _, i, command = heapq.heappop(self._queue)
            if kind == 1:
                command = self._checked(i, self.controllers[i].command(self._reading(i)), self._now)
                delay = _delay(self.controllers[i])
                if delay:
                    self._put(t + delay, i, command)
                    continue
            inputs.update(command)
            periods |= dict.fromkeys(command, float(self.controllers[i].sample_time))
        job.rebind(run, inputs, parameters, periods=periods)
        run.pause_at(self._next_stop())

    def _next_stop(self) -> float:
        """The next time at which the run pauses; commands due after its end are dropped."""
        if not self._queue:
            return np.inf
        t = self._queue[0][0]
        k = int(np.searchsorted(self.times, t - self._slack()))
        return float(self.times[k]) if k < len(self.times) else np.inf

    def _reading(self, i: int) -> Now:
        """The current state as measured by the sensors of a controller."""
        assert self._now is not None
        now = self._now
        noise = {name: self._random[i].normal(size=size.shape) * size for name, size in self._noise[i].items()}
        return replace(
            now, inputs=dict(now.inputs), parameters=dict(now.parameters), noise=noise, reader="a controller"
        )

    def _checked(self, i: int, command: Mapping[str, float], now: Now) -> dict[str, float]:
        out = {}
        if not isinstance(command, Mapping):
            raise ArgumentError(
                f"{_title(self.controllers[i])} commands {command!r} at t = {now.t:g} s; return inputs by name, such as "
                f"{{'{next(iter(now.equations.inputs), 'force')}': 1.0}}, or {{}} to leave them unchanged"
            )
        for name, value in command.items():
            check_names("input", [name], now.equations.inputs)
            if not isinstance(value, SupportsFloat):
                raise ArgumentError(
                    f"{_title(self.controllers[i])} commands {value!r} for input '{name}', which is not a number"
                )
            out[name] = float(value)
            if not np.isfinite(out[name]):
                known = "; ".join(getattr(self.controllers[i], "remarks", ()))
                raise ValueError(
                    f"{_title(self.controllers[i])} commands {value} for input '{name}' at t = {now.t:g} s; "
                    + (known or "the loop may be unstable: check gains, sample time and delay")
                )
        return out

    def _slack(self) -> float:
        """Times closer than this are equal [s]."""
        return SAME_TIME * min(float(c.sample_time) for c in self.controllers) if self.controllers else 0.0

    def remarks(self) -> tuple[str, ...]:
        """What the controllers say about the run."""
        return tuple(str(text) for c in self.controllers for text in getattr(c, "remarks_on_run", tuple)())


def _deviations(controller: Controller, now: Now) -> dict[str, np.ndarray]:
    """Standard deviations of a controller's sensors, one per component of an output; noise of components is independent."""
    given: Mapping[str, Any] = getattr(controller, "noise", None) or {}
    if not given:
        return {}
    values, out = now.outputs, {}
    for name, deviation in given.items():
        check_names("output", [name], values)
        size = np.asarray(deviation, dtype=float)
        shape = np.shape(values[name])
        if size.shape not in ((), shape) or not np.all(np.isfinite(size)) or np.any(size < 0):
            raise ArgumentError(
                f"the noise of output '{name}' of {_title(controller)} is {deviation}; give a standard deviation, one for all its "
                f"parts or one for each (shape {shape})"
            )
        out[name] = np.broadcast_to(size, shape).copy()
    return out


def _delay(controller: Controller) -> float:
    return number(f"the delay of {_title(controller)}", getattr(controller, "delay", 0.0), at_least=0.0)


def _title(controller: Controller) -> str:
    return f"the controller {getattr(controller, 'name', '') or type(controller).__name__}"


def _distinct(times: np.ndarray, begin: float, end: float) -> np.ndarray:
    """Sorted times within the run, without duplicates that differ by round-off."""
    inside = np.sort(times[(times > begin) & (times < end)])
    if not len(inside):
        return inside
    gaps = np.diff(inside)
    return inside[np.concatenate([[True], gaps > 1e-12 * max(abs(begin), abs(end))])]
