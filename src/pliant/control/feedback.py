"""Feedback of states or of their estimates about an equilibrium, as controllers for simulations; its poles in the closed loop."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy

from pliant.analysis.linearize import StateSpace, linearize, refuse_smooth
from pliant.analysis.motion.events import Now
from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.analysis.numerics.configuration_group import ConfigurationGroup
from pliant.control.discrete import DiscreteStateSpace, Mode, Reduction, held, held_commands, system_modes
from pliant.control.limits import Limits, Shortfalls, actuator_limits, check_holding, closest_inputs, named
from pliant.control.lqr import Observer, Regulator, Weights, weight_matrix
from pliant.control.sample_derivatives import (
    CommandCotangents,
    LeastSquares,
    Sample,
    by_last,
    new_gains,
    undo_least_squares,
)
from pliant.control.task import Task, check_task, refuse_at_rest_only
from pliant.control.trajectory import Trajectory
from pliant.engine.equations import Equations, Values, need_equations, with_independent_rows
from pliant.engine.outputs import evaluate_outputs
from pliant.engine.state import State
from pliant.language.arguments import ArgumentError, flag, mapping, of_type, vector

NOTHING = 1e-12
"""Changes of inputs below this are round-off [SI units]."""
SHARED = 1e-8
"""Weight of the deviation from the equilibrium inputs when inputs redistribute saturated commands."""


class Actuation:
    """Converts desired inputs into commands: bounds, rates, and sharing among redundant inputs; counts saturation.

    `short`: whether the last command was saturated.
    """

    def __init__(
        self, eqs: Equations, names: tuple[str, ...], limits: Limits | None, sample_time: float,
        effect: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        self.names, self.sample_time, self.effect = names, sample_time, effect
        self.limits = actuator_limits(eqs, names, limits)
        self.shortfalls = Shortfalls(eqs, names, self.limits)
        self.reset(np.zeros(len(names)))

    def reset(self, rest: np.ndarray) -> None:
        """Begin with the inputs `rest`."""
        self.rest, self.last = rest, rest
        self.shortfalls.reset()
        self.short = False

    def __call__(self, t: float, wanted: np.ndarray) -> np.ndarray:
        """The command for requested inputs at time t [s]."""
        lower, upper = self.limits.within(self.names, self.last, self.sample_time)
        command, cut = np.clip(wanted, lower, upper), 0.0
        binding = command != wanted
        if np.any(binding):
            if self.effect is not None:
                shared = closest_inputs(
                    self.effect, self.effect @ wanted, lower, upper, preferred=self.rest, regularization=SHARED
                )
                command, binding, cut = shared.inputs, shared.binding, shared.missed
            else:
                # relative to the requested change from rest
                lost = float(np.linalg.norm(command - wanted))
                cut = lost / float(np.linalg.norm(wanted - self.rest)) if lost > NOTHING else 0.0
        self.short = self.shortfalls.add(t, command, binding, cut)
        self.last = command
        return command

    def undo(
        self, wanted: np.ndarray, last: np.ndarray, command: np.ndarray, by: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Convert cotangents of a command to those of the requested inputs and of the previous command."""
        bounds, within = self.limits.bounds(self.names), self.limits.within(self.names, last, self.sample_time)
        clamped = (command <= within[0]) | (command >= within[1])
        if np.array_equal(command, wanted):
            return by, np.zeros_like(by)
        if self.effect is None:
            return np.where(clamped, 0.0, by), by_last(*bounds, within, command, np.where(clamped, by, 0.0))
        shared = LeastSquares(self.effect, self.effect @ wanted, self.rest, command, clamped, SHARED)
        found = undo_least_squares(shared, by)
        return self.effect.T @ found.wanted, by_last(*bounds, within, command, found.bounds)


@dataclass(frozen=True)
class Matrices:
    """The matrices of a controller: at each sample

        x = state + L (y - zero - C state - D (last - rest))        with an observer; else x = L (y - zero) for the plant's
                                                                    states and the remembered commands after them
        command = rest - K x, within [lower, upper] and `reach` of the command before
        state = A x + B (command - rest)

    The first `plant` states are the robot's (or its modes), the others past commands; `guess` is the initial value of the former.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    K: np.ndarray
    L: np.ndarray
    rest: np.ndarray
    zero: np.ndarray
    guess: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    reach: np.ndarray
    plant: int
    measured: tuple[str, ...]
    commands: tuple[str, ...]


@dataclass(repr=False)
class StateFeedback:
    """u = u0 - gain x, with x the deviation from the state that `regulator` was designed about.

    Attributes:
        equations: of the robot, for names and rest values.
        regulator: from `lqr`; if it is discrete, the controller has its sample time and delay.
        reduction: needed if the regulator was designed on slow modes.
        observer: needed if states are estimated from outputs instead of measured.
        limits: of the inputs.
        share: redistribute what bounds cut off over redundant inputs (tendons).
        guess: deviation that the observer starts from (states of the reduced system); zero by default.
        period: sample time [s] of a continuous design.
        noise: standard deviations of the measured outputs by name, drawn with `seed`.
        remarks: problems of the design, repeated in the remarks of a run.
    """

    equations: Equations
    regulator: Regulator
    reduction: Reduction | None = None
    observer: Observer | None = None
    limits: Limits | None = None
    share: bool = False
    guess: np.ndarray | None = None
    period: float | None = None
    noise: dict[str, float] = field(default_factory=dict)
    seed: int = 0
    name: str = "state feedback"
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        observed = "states known" if self.observer is None else f"observer of {', '.join(self.observer.linear.outputs)}"
        reduced = "" if self.reduction is None else f" on {len(self.reduction.kept)} modes"
        times = f"samples of {self.sample_time:g} s, delay {self.delay:g} s"
        return f"StateFeedback '{self.name}': inputs {', '.join(self._linear.inputs)}{reduced}; {observed}; {times}"

    def __post_init__(self) -> None:
        self._check_types()
        self._take_design()
        self._check_states()
        if self.guess is not None:
            self.guess = vector("guess", self.guess, len(self._linear.states))
        for name in self.equations.inputs:
            refuse_smooth(name, self._linear.inputs)
        if self.observer is not None:
            self._check_observer(self.observer.linear)
        elif self.noise:
            raise ValueError(
                f"{named(self)}: noise of {', '.join(self.noise)}, but no observer reads it; give an `observer`, or no noise"
            )
        whole = self._linear if self.reduction is None else self.reduction.full
        group = ConfigurationGroup(self.equations.model.system)
        self._deviation = Deviation(group, whole, self.equations.rates)
        effect = whole.B if self.share else None
        self._actuation = Actuation(self.equations, self._linear.inputs, self.limits, self.sample_time, effect)
        where = f"{named(self)}: the state to stabilize"
        check_holding(
            self.equations, self._linear.inputs, self._linear.input_values, self._actuation.limits, where=where
        )
        stands = self._actuation.shortfalls.one_sided(self._linear.input_values)
        if stands and not self.share and stands not in self.remarks:
            self.remarks = (*self.remarks, stands)

    def _check_types(self) -> None:
        need_equations(self.equations)
        of_type("regulator", self.regulator, Regulator, "write regulator=pliant.control.lqr(...)")
        if self.reduction is not None:
            of_type("reduction", self.reduction, Reduction, "write reduction=pliant.control.reduce(...)")
        if self.observer is not None:
            of_type("observer", self.observer, Observer, "write observer=pliant.control.kalman(...)")
        self.noise = mapping("noise", self.noise)
        flag("share", self.share)

    def _take_design(self) -> None:
        """The system that the regulator was designed on, with its sample time, delay [s] and number of past inputs."""
        linear = self.regulator.linear
        if isinstance(linear, DiscreteStateSpace):
            self.sample_time, self.delay, self._past = linear.sample_time, linear.delay, linear.past
            self._linear: StateSpace = linear.continuous
        elif self.period is None:
            raise ValueError("a continuous design needs a `period`: the sample time of the controller [s]")
        else:
            self.sample_time, self.delay, self._past, self._linear = self.period, 0.0, 0, linear

    def _check_states(self) -> None:
        """Check that the design uses the robot's states, or those of the given reduction."""
        states = self._linear.states
        if self.reduction is not None:
            known = self.reduction.linear.states
            if known != states:
                raise ArgumentError(
                    f"{named(self)}: the regulator has the states {_few(states)}, the reduction {_few(known)}",
                    "design the regulator on `.linear` of this reduction",
                )
        elif not all(name in self.equations.rates for name in self._linear.independent) or not self._linear.independent:
            raise ArgumentError(
                f"{named(self)}: the regulator was designed on {_few(states)}, which are not states of the robot",
                "give the reduction that it was designed on: StateFeedback(eqs, regulator, reduction=reduced)",
            )

    def _check_observer(self, seen: StateSpace | DiscreteStateSpace) -> None:
        """Check that the observer was designed for the system of the regulator, with the same samples and delay."""
        if not isinstance(seen, DiscreteStateSpace):
            raise ValueError("the observer of a sampled controller must be designed for the system of `discretize`")
        mine = self._linear
        compared = (
            (
                (seen.sample_time, self.sample_time),
                f"a sample time of {seen.sample_time:g} s",
                f"{self.sample_time:g} s",
            ),
            ((seen.delay, self.delay), f"a delay of {seen.delay:g} s", f"{self.delay:g} s"),
            ((seen.inputs, mine.inputs), f"the inputs {_few(seen.inputs)}", _few(mine.inputs)),
            ((seen.continuous.states, mine.states), f"the states {_few(seen.continuous.states)}", _few(mine.states)),
        )
        for (observed, controlled), for_these, for_those in compared:
            if observed != controlled:
                raise ArgumentError(
                    f"{named(self)}: the observer was designed for {for_these}, the regulator for {for_those}",
                    "design both on one system of `discretize`; select outputs for the observer only",
                )

    def start(self, now: Now) -> None:
        m = len(self._linear.inputs)
        at = self._linear.state
        self._rest = self._linear.input_values
        self._actuation.reset(self._rest)
        self._commands = [np.zeros(m) for _ in range(max(1, self._past))]
        self._in_force = np.zeros(m)
        if self.observer is not None:
            inputs = now.inputs | dict(zip(self._linear.inputs, self._rest.tolist(), strict=True))
            values = self._rest_outputs(now.equations, inputs, now.parameters, at.t)
            self._outputs = _whole_names(self.observer.linear.outputs, tuple(values))
            self._zero = np.concatenate([np.atleast_1d(values[name]) for name in self._outputs])
            n = len(self._linear.states)
            self._estimate = np.zeros(n) if self.guess is None else self.guess
        self.estimates: list[np.ndarray] = []

    def _rest_outputs(self, eqs: Equations, inputs: Values, parameters: Values, t: float) -> dict[str, Any]:
        """Outputs at the linearization point of the design."""
        at, values = self._linear.state, eqs.at(inputs=inputs, parameters=parameters).binding
        bound = with_independent_rows(values, t, at.q, at.v)
        a, multipliers = bound.forward(t, at.q, at.v)
        return evaluate_outputs(eqs.model, bound, t, at.q, at.v, a, multipliers, 0.0)

    def command(self, now: Now) -> dict[str, float]:
        y = now.measure(self.measured) if self.observer is not None else np.zeros(0)
        x = self._states(now, y, self.memory)
        if self.observer is not None:
            self.estimates.append(x[: len(self._estimate)].copy())
        applied = self._actuation(now.t, self._rest - self.regulator.gain @ x) - self._rest
        if self.observer is not None:
            self._estimate = self.observer.predict(x, applied)[: len(self._estimate)]
        self._commands = [applied, *self._commands][: max(1, self._past)]
        self._in_force = applied if self._past == 0 else self._in_force
        return dict(zip(self._linear.inputs, (self._rest + applied).tolist(), strict=True))

    def _states(self, now: Now, y: np.ndarray, memory: np.ndarray) -> np.ndarray:
        """States of the design and pending commands, from the state or from outputs y."""
        estimate, past, in_force, _ = self._remembered(memory)
        past = past[: self._past * len(self._linear.inputs)]
        if self.observer is None:
            x = self._deviation(now.q, now.v)
            return np.concatenate([x if self.reduction is None else self.reduction.onto @ x, past])
        x = self.observer.correct(np.concatenate([estimate, past]), y - self._zero, in_force)
        x[len(estimate) :] = past
        return x

    # -- derivatives, see `SmoothController` ------------------------------------------------------------------------------

    @property
    def gain_values(self) -> dict[str, np.ndarray]:
        gains = {"gain": np.array(self.regulator.gain)}
        return gains if self.observer is None else gains | {"observer_gain": np.array(self.observer.gain)}

    def with_gains(self, values: Mapping[str, Any]) -> StateFeedback:
        gains = new_gains(self, values)
        observer = None if self.observer is None else replace(self.observer, gain=gains["observer_gain"])
        return replace(self, regulator=replace(self.regulator, gain=gains["gain"]), observer=observer)

    @property
    def measured(self) -> tuple[str, ...]:
        return () if self.observer is None else self._outputs

    @property
    def design(self) -> np.ndarray:
        return np.zeros(0) if self.observer is None else self._zero

    @property
    def memory(self) -> np.ndarray:
        estimate = np.zeros(0) if self.observer is None else self._estimate
        return np.concatenate([estimate, *self._commands, self._in_force, self._actuation.last])

    @memory.setter
    def memory(self, values: np.ndarray) -> None:
        self._estimate, past, self._in_force, self._actuation.last = self._remembered(values)
        self._commands = list(past.reshape(-1, len(self._linear.inputs)))

    def _remembered(self, memory: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        n = 0 if self.observer is None else len(self._linear.states)
        m, past = len(self._linear.inputs), max(1, self._past)
        a, b, c, d = np.split(memory, np.cumsum([n, past * m, m]))
        return a, b, c, d

    def command_cotangents(
        self, sample: Sample, by_command: np.ndarray, by_memory: np.ndarray, inputs: tuple[str, ...]
    ) -> CommandCotangents:
        K, now, m = self.regulator.gain, sample.now, len(self._linear.inputs)
        estimate, past, in_force, last = self._remembered(sample.before)
        by_estimate, by_past, by_force, by_last_after = self._remembered(by_memory)
        x = self._states(now, sample.measured, sample.before)
        command = np.array([sample.command[name] for name in self._linear.inputs])
        known = self._past * m
        by_x, by_applied = np.zeros(len(x)), by_command + by_last_after + by_past[:m]
        by_earlier = np.concatenate([by_past[m:], np.zeros(m)])
        by_in_force = by_force.copy()
        if self._past == 0:
            by_applied, by_in_force = by_applied + by_force, np.zeros(m)
        if self.observer is not None:
            by_next = np.concatenate([by_estimate, np.zeros(known)])
            by_x += self.observer.linear.A.T @ by_next
            by_applied = by_applied + self.observer.linear.B.T @ by_next
        by_wanted, by_last_before = self._actuation.undo(self._rest - K @ x, last, command, by_applied)
        gains = {"gain": -np.outer(by_wanted, x)}
        by_x -= K.T @ by_wanted
        n = len(x) - known
        by_earlier[:known] += by_x[n:]
        cotangents = CommandCotangents(np.zeros(len(now.v)), np.zeros(len(now.v)), np.zeros(0), gains)
        if self.observer is None:
            by_deviation = by_x[:n] if self.reduction is None else self.reduction.onto.T @ by_x[:n]
            cotangents.q, cotangents.v = self._deviation.undo(now.q, by_deviation)
        else:
            seen, L = self.observer.linear, self.observer.gain
            before = np.concatenate([estimate, past[:known]])
            by_corrected = np.concatenate([by_x[:n], np.zeros(known)])
            surprise = sample.measured - self._zero - seen.C @ before - seen.D @ in_force
            gains["observer_gain"] = np.outer(by_corrected, surprise)
            cotangents.outputs = L.T @ by_corrected
            cotangents.design = -cotangents.outputs
            by_before = by_corrected - seen.C.T @ cotangents.outputs
            by_estimate = by_before[:n]
            by_earlier[:known] += by_before[n:]
            by_in_force = by_in_force - seen.D.T @ cotangents.outputs
        cotangents.memory = np.concatenate([by_estimate, by_earlier, by_in_force, by_last_before])
        return cotangents

    def matrices(self) -> Matrices:
        """All numbers of the controller, for export."""
        regulator, inputs = self.regulator, self._linear.inputs
        if not isinstance(regulator.linear, DiscreteStateSpace):
            raise ValueError("a controller in matrices needs a discrete design; use `discretize` before `lqr`")
        linear, n, eqs = regulator.linear, len(self._linear.states), self.equations
        size, m = len(linear.A), len(inputs)
        if self.observer is not None:
            seen = self.observer.linear
            at = self._linear.state
            values = self._rest_outputs(
                eqs, dict(zip(inputs, self._linear.input_values.tolist(), strict=True)), {}, at.t
            )
            names = _whole_names(seen.outputs, tuple(values))
            zero = np.concatenate([np.atleast_1d(values[name]) for name in names])
            A, B, C, D, L = linear.A, linear.B, seen.C, seen.D, self.observer.gain
            measured = seen.outputs
        else:
            # all positions and rates are measured; the deviation selects the independent ones, then the modes of the design
            whole = self._deviation
            take = np.zeros((2 * len(whole.rows), 2 * len(eqs.rates)))
            for i, row in enumerate(whole.rows):
                take[i, row] = take[len(whole.rows) + i, len(eqs.rates) + row] = 1.0
            L = np.zeros((size, take.shape[1]))
            L[:n] = take if self.reduction is None else self.reduction.onto @ take
            A, B = linear.A.copy(), linear.B.copy()
            A[:n], B[:n] = 0.0, 0.0  # measured at every sample; only past commands are stored
            measured = eqs.coordinates + tuple(f"d({name})/dt" for name in eqs.rates)
            C, D = np.zeros((len(measured), size)), np.zeros((len(measured), m))
            zero = np.concatenate([whole.q0, whole.v0])
        lower, upper = self._actuation.limits.bounds(inputs)
        rates = self._actuation.limits.rate
        reach = np.array([float(rates.get(name, np.inf)) * self.sample_time for name in inputs])
        guess = np.zeros(n) if self.guess is None else self.guess
        return Matrices(
            A, B, C, D, regulator.gain, L, self._linear.input_values, zero, guess, lower, upper, reach, n, measured,
            inputs,
        )  # fmt: skip

    def remarks_on_run(self) -> list[str]:
        """Warnings of a run."""
        return [*(f"{named(self)}: {text}" for text in self.remarks), *self._actuation.shortfalls.remarks(named(self))]


class Deviation:
    """The states x of a linear system in a state (q, v) of the robot."""

    def __init__(self, group: ConfigurationGroup, linear: StateSpace, rates: tuple[str, ...]) -> None:
        self.group, self.q0, self.v0 = group, linear.state.q, linear.state.v
        self.rows = [rates.index(name) for name in linear.independent]

    def __call__(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Changes of the independent coordinates, then of their rates."""
        return np.concatenate([self.group.difference(self.q0, q)[self.rows], (v - self.v0)[self.rows]])

    def undo(self, q: np.ndarray, by: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Convert derivatives with respect to the states to those with respect to increments of q and to v."""
        n = len(self.rows)
        by_difference, by_v = np.zeros(len(self.v0)), np.zeros(len(self.v0))
        by_difference[self.rows], by_v[self.rows] = by[:n], by[n:]
        return self.group.undo_difference(self.q0, q, by_difference), by_v


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")


def _whole_names(parts: tuple[str, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    """Names of outputs from the names of their components (`tip.x`, `tip.y`, `tip.z` are `tip`)."""
    out: list[str] = []
    for part in parts:
        name = part if part in known else part.rsplit(".", 1)[0]
        if name not in known:
            raise ValueError(
                f"the observer uses '{part}', which is not an output of the model; define it under `outputs`"
            )
        if name not in out:
            out.append(name)
    return tuple(out)


@dataclass
class Tracking:
    """u = u(t) - K(t) (x - x(t)) along a plan, and the regulator `hold` after its end.

    Gains are those of the time-varying quadratic regulator for the weights on states and inputs (as in `lqr`), computed
    backwards from the cost of the regulator of the final state.

    Attributes:
        task, integral: the error of this task that an inexact model leaves is fed back through its integral with this rate
        [1/s].
        seconds: computation time of each command [s].
    """

    equations: Equations
    trajectory: Trajectory
    hold: Regulator
    states: Weights = 1.0
    inputs: Weights = 1.0
    sample_time: float = 0.01
    limits: Limits | None = None
    parameters: Values | None = None
    task: Task | None = None
    integral: float = 0.0
    name: str = "tracking"
    seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.trajectory.status != "converged":
            raise ValueError(f"{named(self)}: there is no trajectory to follow: {self.trajectory.message}")
        names = self.trajectory.input_names
        self._group = ConfigurationGroup(self.equations.model.system)
        self._actuation = Actuation(self.equations, names, self.limits, self.sample_time)
        count = int(np.ceil(self.trajectory.time[-1] / self.sample_time - 1e-9))
        rates = self.equations.rates
        labels = rates + tuple(f"d({x})/dt" for x in rates)
        Q = weight_matrix(self.states, labels, "state", 0.0) * self.sample_time
        R = weight_matrix(self.inputs, names, "input", 1.0) * self.sample_time
        # the cost of a sampled regulator is a sum over samples, here an integral over time
        design = self.hold.linear
        P = self.hold.cost * (design.sample_time if isinstance(design, DiscreteStateSpace) else 1.0)
        self.gains = [self.hold.gain] * count
        if self.task is not None:
            check_task(self.equations, self.task)
            refuse_at_rest_only(self.task, named(self))
        plant = self.hold.plant
        self._push = [self._through(plant.state.q, *held(plant.A, plant.B, self.sample_time), self.hold.gain)] * (
            count + 1
        )
        for k in reversed(range(count)):
            q, v, u = self.trajectory.at((k + 0.5) * self.sample_time)
            about = linearize(
                self.equations, at=State(q, v), inputs=dict(zip(names, u, strict=True)), parameters=self.parameters,
                independent=rates,
            ).select(inputs=names)  # fmt: skip
            A, B = held(about.A, about.B, self.sample_time)
            gain = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
            P = Q + A.T @ P @ (A - B @ gain)
            P = 0.5 * (P + P.T)
            self.gains[k], self._push[k] = gain, self._through(q, A, B, gain)

    def _through(self, q: np.ndarray, A: np.ndarray, B: np.ndarray, gain: np.ndarray) -> np.ndarray:
        """The smallest steady change of the inputs per steady change of the task (m x k), including the feedback."""
        if self.task is None or not self.integral:
            return np.zeros((B.shape[1], 0))
        J = self.task.jacobian(self.equations, q, self.parameters)
        states = np.linalg.solve(np.eye(len(A)) - A + B @ gain, B)
        return np.linalg.pinv(J @ states[: J.shape[1]], rcond=1e-6)

    def start(self, now: Now) -> None:
        """Reset the internal state."""
        self._begin = now.t
        self._actuation.reset(self.trajectory.inputs[0])
        self._sum: np.ndarray | float = 0.0
        self.seconds.clear()

    def command(self, now: Now) -> dict[str, float]:
        """The planned inputs, corrected for the deviation from the plan."""
        begin = time.perf_counter()
        t = now.t - self._begin
        k = min(round(t / self.sample_time), len(self.gains))
        q, v, _ = self.trajectory.at(t)
        if k < len(self.gains):
            # a constant command is equivalent to the plan's mean over its sample
            u, gain = self.trajectory.at(t + 0.5 * self.sample_time)[2], self.gains[k]
        else:
            u, gain = self.hold.plant.input_values, self.hold.gain
        x = np.concatenate([self._group.difference(q, now.q), now.v - v])
        wanted = u - gain @ x
        if self.task is not None and self.integral:
            wanted = wanted + self._push[k] @ (self.integral * self._learn(q, v, now))
        command = self._actuation(now.t, wanted)
        self.seconds.append(time.perf_counter() - begin)
        return dict(zip(self.trajectory.input_names, command.tolist(), strict=True))

    def _learn(self, q: np.ndarray, v: np.ndarray, now: Now) -> np.ndarray:
        """Integral of the task's error; it is held while commands are saturated."""
        assert self.task is not None
        wanted = self.task.motion(self.equations, q, v, None, self.parameters).value
        error = wanted - self.task.motion(now.equations, now.q, now.v, None, now.parameters).value
        if not self._actuation.short:
            self._sum = self._sum + self.sample_time * error
        return np.asarray(self._sum + np.zeros_like(error))

    def remarks_on_run(self) -> list[str]:
        """Warnings of a run."""
        return self._actuation.shortfalls.remarks(named(self))


@dataclass(frozen=True)
class PoleTolerances:
    """When poles count as growing, and as those of the same motion."""

    split: float = 1e-6
    """Growth below this is zero: a double pole at 1 is split by the square root of round-off."""
    margin: float = 1e-9
    """Poles closer to 1 than this neither grow nor decay, within round-off."""
    near: float = 0.2
    """A pole of the loop belongs to the same motion as an open-loop pole that is closer than this."""


TOLERANCES = PoleTolerances()


@dataclass(frozen=True, repr=False)
class ClosedLoop:
    """The closed loop of a robot with all its modes, a zero-order hold with delay, and a controller with its observer.

    Attributes:
        poles: eigenvalues per sample, largest first.
        mode: the open-loop mode that the largest pole corresponds to; None if there is no such mode.
        neglected: whether the design neglects that mode.
        states: coordinates that move most in the largest pole.
        sample_time: [s].
    """

    poles: np.ndarray
    mode: Mode | None
    neglected: bool
    states: tuple[str, ...]
    sample_time: float

    def __repr__(self) -> str:
        judged = "stable" if self.stable else "not stable"
        head = f"ClosedLoop: {judged}, {len(self.poles)} poles per sample of {self.sample_time:g} s"
        if not len(self.poles):
            return head
        rate = -np.log(max(self.largest, 1e-300)) / self.sample_time
        verb = "decays" if rate > 0 else "grows"
        which = f"; in the open loop {self.motion.rstrip(',')}" if self.mode is not None else f"; {self.motion}"
        return f"{head}, largest {self.largest:.6g} ({verb} by {abs(rate):.4g} 1/s){which}"

    @property
    def largest(self) -> float:
        """The largest magnitude of a pole: the asymptotic factor by which deviations shrink (or grow) per sample."""
        return float(np.abs(self.poles[0])) if len(self.poles) else 0.0

    @property
    def stable(self) -> bool:
        """Whether every deviation decays."""
        return self.largest < 1 - TOLERANCES.margin

    @property
    def motion(self) -> str:
        """Description of the motion of the largest pole."""
        frequency = abs(np.angle(self.poles[0])) / (2 * np.pi * self.sample_time)
        if self.mode is not None:
            said = [f"which aliases to {frequency:.4g} Hz"] if self.mode.frequency * self.sample_time > 0.5 else []
            said += ["which the design neglects"] if self.neglected else []
            return f"{self.mode}, {' and '.join(said)}," if said else str(self.mode)
        where = f" (mostly {', '.join(self.states)})" if self.states else ""
        return f"a motion of the loop at {frequency:.4g} Hz{where}"

    @property
    def warning(self) -> str:
        """Warning with a hint for an unstable loop; empty otherwise."""
        if self.stable:
            return ""
        grows = self.largest > 1 + TOLERANCES.split
        what = f"grows (by {np.log(self.largest) / self.sample_time:.3g} 1/s)" if grows else "does not decay"
        if grows:
            advice = "include that mode in the design" if self.neglected else "lower the gains"
            advice = f"Shorten sample time or delay, raise the weights of inputs, or {advice}"
        elif self.neglected:
            advice = "Include that mode in the design, or add damping to the robot"
        else:
            advice = "Add a weight on the states that it moves, or damping to the robot"
        return (
            f"in the complete sampled loop with delay, {self.motion} {what}: largest pole {self.largest:.6g} per "
            f"sample of {self.sample_time:g} s. {advice}"
        )


@on_one_blas_thread
def closed_loop(controller: StateFeedback, plant: StateSpace | None = None) -> ClosedLoop:
    """The closed loop of a controller and a linear robot: `plant`, or the full system before reduction.

    `plant` may have other parameters, or more modes, than the design; its states are the independent coordinates and their
    rates. The delay is that of the controller, which may differ from that of the design.
    """
    regulator, observer, reduction = controller.regulator, controller.observer, controller.reduction
    design = regulator.linear
    whole = plant or (reduction.full if reduction is not None else regulator.plant)
    whole = whole.select(inputs=regulator.plant.inputs)
    sampled = held_commands(whole, controller.sample_time, controller.delay)
    n, m = whole.B.shape
    remembered = design.past if isinstance(design, DiscreteStateSpace) else 0
    count = max(1, remembered, sampled.past)
    r = 0 if observer is None else len(regulator.plant.states)
    size = n + m * count + r
    # one step of the loop from each unit vector of (states of the robot, past commands, estimates)
    unit = np.eye(size)
    x, past, estimate = unit[:n], unit[n : n + m * count], unit[n + m * count :]
    robot = np.vstack([x, past[: m * sampled.past]])
    known = past[: m * remembered]
    if observer is None:
        seen = x if reduction is None else reduction.onto @ x
        state = np.vstack([seen, known])
    else:
        rows = [whole.outputs.index(name) for name in observer.linear.outputs]
        y = sampled.C[rows] @ robot
        if sampled.past == 0:
            y = y + sampled.D[rows] @ past[:m]  # outputs are measured before the new command takes effect
        in_force = past[:m] if remembered == 0 else np.zeros((m, size))
        state = observer.correct(np.vstack([estimate, known]), y, in_force)
        state[r:] = known
    u = -regulator.gain @ state
    parts = [(sampled.A @ robot + sampled.B @ u)[:n], u, past[: m * (count - 1)]]
    if observer is not None:
        parts.append(observer.predict(state, u)[:r])
    poles, vectors = scipy.linalg.eig(np.vstack(parts))
    order = np.argsort(-np.abs(poles), kind="stable")
    if not size:
        return ClosedLoop(poles, None, False, (), controller.sample_time)
    largest, vector = complex(poles[order[0]]), vectors[:n, order[0]]
    mode = mode_of_motion(whole, largest, vector, controller.sample_time)
    left_out = reduction is not None and mode is not None and _is_neglected(mode, reduction.neglected)
    moves = np.abs(vector[: n // 2])
    leading = [int(k) for k in np.argsort(-moves)[:2] if moves[k] > 0.2 * moves.max()]
    names = tuple(whole.states[k] for k in leading)
    return ClosedLoop(poles[order], mode, left_out, names, controller.sample_time)


def mode_of_motion(whole: StateSpace, pole: complex, vector: np.ndarray, sample_time: float) -> Mode | None:
    """The mode of the robot that dominates a motion of the loop, if the loop hardly moves its pole."""
    modes = system_modes(whole.A, names=whole.states)
    # a mode above half the sampling frequency is aliased: its pole may be the other of the pair
    share = [
        max(abs(np.vdot(mode.left, x)) for x in (vector, vector.conj())) * np.linalg.norm(mode.right) for mode in modes
    ]
    mode = modes[int(np.argmax(share))]
    free = np.exp(mode.eigenvalue * sample_time)
    return mode if min(abs(free - pole), abs(free - pole.conjugate())) < TOLERANCES.near else None


def _is_neglected(mode: Mode, neglected: tuple[Mode, ...]) -> bool:
    size = max(abs(mode.eigenvalue), 1e-300)
    return any(abs(mode.eigenvalue - other.eigenvalue) < 1e-6 * size for other in neglected)
