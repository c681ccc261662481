"""Events and mid-step functions, evaluated after each step of a simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy

from pliant.equations.binding import Binding
from pliant.equations.core import check_names
from pliant.equations.equations import Energy, Equations, with_independent_rows
from pliant.equations.outputs import evaluate_outputs
from pliant.language.arguments import choice
from pliant.model.time_series import TimeSeries
from pliant.solve.motion.integrator import make_run

if TYPE_CHECKING:
    from pliant.solve.motion.simulate import Job


@dataclass(frozen=True)
class Event:
    """Something to look out for: `value(now)` passes through zero.

    `value` is a function of a `Now`, or the name of an output. `direction`: "rising", "falling" or "both".
    `stop`: end the run there.
    """

    value: Callable[[Now], float] | str
    direction: Literal["rising", "falling", "both"] = "both"
    stop: bool = True
    name: str = "event"

    def __post_init__(self) -> None:
        choice("direction of an event", self.direction, ("rising", "falling", "both"))


@dataclass
class Now:
    """What a mid-step function or controller sees. A mid-step function may assign to `inputs` and `parameters` by name;
    a controller returns its commands. `noise`, where there is any, is added to what `measure` reads."""

    t: float
    q: np.ndarray
    v: np.ndarray
    equations: Equations
    inputs: dict[str, Any]
    parameters: dict[str, float]
    memory: dict[str, Any] = field(default_factory=dict)
    noise: Mapping[str, np.ndarray] = field(default_factory=dict)
    motions: Mapping[int, TimeSeries] = field(default_factory=dict, repr=False)
    """Series of the inputs, by index, that prescribed motions follow in the run."""

    def frame(self, name: str) -> Any:
        """Motion of a frame now."""
        return self.equations.frame(name, self.q, self.v, parameters=self.parameters)

    @property
    def energy(self) -> Any:
        """Energies now."""
        return Energy(*map(float, self._values().energies(self.t, self.q, self.v)[:4]))

    @property
    def outputs(self) -> dict[str, Any]:
        """The model's outputs now."""
        bound = with_independent_rows(self._values(), self.t, self.q, self.v)
        a, multipliers = bound.forward(self.t, self.q, self.v)
        return evaluate_outputs(self.equations.model, bound, self.t, self.q, self.v, a, multipliers, 0.0)

    def _values(self) -> Binding:
        eqs = self.equations.at(inputs=self.inputs, parameters=self.parameters)
        return eqs.binding.with_series(self.motions)

    def measure(self, names: Sequence[str]) -> np.ndarray:
        """The named outputs now, vectors part by part in a row, with the noise of their sensors."""
        values = self.outputs
        check_names("output", names, values)
        return np.concatenate([np.atleast_1d(values[name]) + self.noise.get(name, 0.0) for name in names])


class EventMonitor:
    """Calls mid-step functions and locates events after each step."""

    def __init__(self, job: Job, events: list[Event], mid_step: Callable[[Now], None] | None) -> None:
        self.job, self.events, self.mid_step = job, events, mid_step
        self.active = bool(events) or mid_step is not None
        self.found: list[str] = []
        self.before: tuple[float, np.ndarray, np.ndarray] | None = None
        self.values: list[float] = []
        self.now: Now | None = None

    def _now(self, t: float, q: np.ndarray, v: np.ndarray) -> Now:
        job = self.job
        memory = self.now.memory if self.now is not None else {}
        return Now(
            t, q.copy(), v.copy(), job.eqs, dict(job.inputs), dict(job.parameters), memory, motions=job.motions.series
        )

    def _value(self, event: Event, now: Now) -> float:
        if isinstance(event.value, str):
            outputs = now.outputs
            check_names("output", [event.value], outputs)
            return float(outputs[event.value])
        return float(event.value(now))

    def check(self, run: Any) -> str:
        """Events and mid-step function after a step; returns the reason to stop, or an empty string."""
        now = self._now(run.t, run.q, run.v)
        values = [self._value(event, now) for event in self.events]
        stop = ""
        if self.before is not None:
            for event, old, new in zip(self.events, self.values, values, strict=True):
                rising, falling = old < 0 <= new, old > 0 >= new
                wanted = {"rising": rising, "falling": falling, "both": rising or falling}[event.direction]
                if wanted:
                    t, q, v = self._locate(event, run.t)
                    self.found.append(f"{event.name} at t = {t:.9g} s")
                    if event.stop:
                        run.go_to(t, q, v)
                        stop = f"{event.name}"
                        now = self._now(t, q, v)
                        break
        self.values, self.before = values, (now.t, now.q, now.v)
        if self.mid_step is not None and not stop:
            self.mid_step(now)
            self.now = now
            if self.job.rebind(run, now.inputs, now.parameters):
                run.start()
        return stop

    def _locate(self, event: Event, end: float) -> tuple[float, np.ndarray, np.ndarray]:
        """The crossing inside the last step, by integrating to trial times from its start."""
        assert self.before is not None
        t0, q0, v0 = self.before
        job = self.job
        states: dict[float, tuple[np.ndarray, np.ndarray]] = {t0: (q0, v0)}

        def value(t: float) -> float:
            if t > t0:
                trial = make_run(job.bound, job.method)
                trial.configure(
                    t=t0, q=q0, v=v0, stops=np.array([t]), samples=np.array([t]), step=min(job.method.step or t - t0, t - t0),
                    fixed=job.method.fixed, rtol=job.method.relative_tolerance, atol=job.method.absolute_tolerance,
                    max_step=t - t0,
                )  # fmt: skip
                trial.start()
                trial.advance(100000)
                states[t] = (trial.q.copy(), trial.v.copy())
            q, v = states[t]
            return self._value(event, self._now(t, q, v))

        root = float(scipy.optimize.brentq(value, t0, end, xtol=1e-12, rtol=1e-14))
        if root not in states:
            value(root)
        q, v = states[root]
        return root, q, v
