"""Gradients of motions by the discrete adjoint of their steps.

Controllers in the backward pass: their samples are recorded, and cotangents of commands are propagated to states and gains.

Commands act on the simulation as piecewise constant inputs. The backward pass therefore treats them as inputs over time, pauses
at every sample, and propagates the cotangent of a command to the quantities that it was computed from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np

from pliant.analysis.linear.small_motion import KINK_WAY, kinked_rate
from pliant.analysis.motion.current_state import Now
from pliant.analysis.motion.job import Job
from pliant.analysis.motion.result import Result
from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.analysis.numerics.configuration_group import ConfigurationGroup
from pliant.analysis.numerics.state import EQUILIBRIUM, assemble
from pliant.analysis.numerics.status import unless_failed
from pliant.analysis.simulate import Simulate
from pliant.analysis.states import state_at
from pliant.control.limits import named
from pliant.control.sample_derivatives import Sample, SmoothController, is_smooth
from pliant.engine.binding import Binding
from pliant.engine.differences import OFFSETS, WEIGHTS, difference
from pliant.engine.equations import Equations
from pliant.engine.model.inputs import HELD
from pliant.engine.outputs import output_function, output_names, output_size
from pliant.engine.time_loop import BackwardPass, TimeLoop
from pliant.gradient.equilibrium import EquilibriumCotangents
from pliant.gradient.parameter_derivatives import (
    STATE,
    derivative,
    output_cotangents,
    parameter_changes,
    refuse_others,
    step_of,
    value_of,
    varied,
)
from pliant.language.arguments import ArgumentError
from pliant.language.time_series import TimeSeries

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
        by_samples = output_cotangents(here, states, outputs)
        scale = np.array([_size(bound, i) for i in range(len(bound.held))])
        loop.rebind(bound)
        changes = parameter_changes(here, parameters, self._job.begin, self._job.end)
        back = loop.adjoint(changes, scale, by_samples.samples)
        control = None
        if self.control is not None:
            control = self.control.back(back, inputs)
            if start:
                back.q += self.control.by_start(control)
        back.to(0)
        by_parameters = back.parameters.copy()
        for k, name in enumerate(parameters):
            by_parameters[k] += by_samples.constants @ changes.constants[k]
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

    @property
    def rests_at_a_kink(self) -> bool:
        """Whether it begins at rest where forces have a kink, so that the side that counts depends on what is varied."""
        (q, v), bound, (begin, end) = self._job.started, self.bound, self.span
        a = bound.program.calls.forward(bound, begin, q, v)[0]
        way = (np.abs(v) + np.abs(a) * (end - begin)) * (end - begin)
        return not np.any(way > KINK_WAY * bound.sizes(q)[1]) and kinked_rate(bound, begin, q) is not None

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

        acting = rebuild(options.get("parameters") or {})
        given = {name: x for name, x in options.items() if name not in ("step", "rtol", "atol")}
        again = Simulate.of({**given, "until": until, "controllers": acting, "method": self._job.method})
        run = unless_failed(again.in_si(self.eqs).motion(self.eqs, prepare), "raise")
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

    order = count()
    acting = [RecordedController(x, order) for x in rebuild(options.get("parameters") or {})]
    asked = Simulate.of({**options, "until": until, "controllers": acting})
    run = unless_failed(asked.in_si(eqs).motion(eqs, prepare), "raise")
    start = options.get("start")
    job, loop = kept[-1]
    if run.status == "stopped":
        raise ArgumentError(
            f"an event ends the simulation at t = {run.final.t:g} s: outputs at later times have no derivatives",
            f"use until={0.99 * run.final.t:.3g}, or an event that does not stop (stop=False)",
        )
    control = ControlRecord(acting, job, loop, rebuild, described=described) if acting else None
    recorded_motion = RecordedMotion(run, job.eqs, control, loop, job, eqs.model.spec.start if start is None else start)
    if recorded_motion.starts_at_rest and np.any(job.started[1]):
        raise ArgumentError(
            "a start at equilibrium has no derivatives if prescribed motions start with a nonzero rate",
            "let the inputs start with zero rate, or give the start by values",
        )
    return recorded_motion


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


Rebuild = Callable[[Mapping[str, float]], list[SmoothController]]
"""Returns the controllers of a motion for other parameters."""


def enters_as_gain(eqs: Equations, name: str, sides: Sequence[Mapping[str, float]]) -> bool:
    """Whether a parameter changes only gains of the model's controllers, neither the robot nor its signals."""
    model = eqs.model
    vectors = [model.parameter_vector(side) for side in sides]
    constants = [model.system.constants.values(vector) for vector in vectors]
    if any(not np.array_equal(x, constants[0]) for x in constants[1:]):
        return False
    moved = np.flatnonzero(vectors[0] != vectors[1])
    signals = model.plan.signals
    if signals is not None:
        by_parameters = signals.n_in() - 1
        if any(
            set(signals.jac_sparsity(k, by_parameters).get_col()) & set(moved.tolist()) for k in range(signals.n_out())
        ):
            return False
    environment = model.environment
    here, there = (environment.with_values(dict(side)).values for side in sides[:2])
    changed = {x for x in environment.names if not np.array_equal(here[x], there[x])}
    return not any(controller.uses_beside_gains(changed) for controller in model.spec.control.values())


def smooth_controllers(acting: Sequence[Any]) -> list[SmoothController]:
    """The controllers. Raises ArgumentError if commands have no derivatives, or if names are not distinct."""
    smooth_controllers: list[SmoothController] = []
    for controller in acting:
        if not is_smooth(controller):
            raise ArgumentError(
                f"{named(controller)} has no derivatives: only PID control and state feedback are supported",
                "omit it with controllers=() and give inputs over time, or use finite differences",
            )
        if any(controller.name == other.name for other in smooth_controllers):
            raise ArgumentError(f"two controllers have the name '{controller.name}'", "give them different names")
        smooth_controllers.append(controller)
    return smooth_controllers


class RecordedController:
    """A controller that records its samples."""

    def __init__(self, controller: SmoothController, order: count[int]) -> None:
        self.controller, self._order = controller, order

    def __getattr__(self, name: str) -> Any:
        return getattr(self.controller, name)

    def start(self, now: Now) -> None:
        """Begin a run, and discard the previous record."""
        self.samples: list[Sample] = []
        self.orders: list[int] = []
        self.started = now
        self.controller.start(now)
        refuse_measurements(now.equations, self.controller)

    def command(self, now: Now) -> dict[str, float]:
        """The command of the controller, recorded."""
        before, names = self.controller.memory, self.controller.measured
        measured = now.measure(names) if names else np.zeros(0)
        command = self.controller.command(now)
        self.samples.append(Sample(now, before, self.controller.memory, command, measured))
        self.orders.append(next(self._order))
        return command


def refuse_measurements(eqs: Equations, controller: SmoothController) -> None:
    """Raise ArgumentError if an output measured by a controller has no derivatives."""
    function, known = output_function(eqs.model), output_names(eqs.model)
    refuse_others(eqs, controller.measured)
    for name in controller.measured:
        for k in (STATE.index("a"), STATE.index("multipliers")):
            if function.jac_sparsity(known.index(name), k).nnz():
                raise ArgumentError(
                    f"{named(controller)} has no derivatives: the output '{name}', which it measures, depends on "
                    "accelerations or constraint forces",
                    "measure positions and velocities",
                )


@dataclass(frozen=True)
class Piece:
    """A value of an input from a time on [s]; for a command also the controller, the index of the sample and its order."""

    time: float
    value: float
    controller: int = -1
    sample: int = -1
    order: int = -1


@dataclass
class ControlCotangents:
    """Cotangents: of gains by controller and name; of inputs by name, if commands depend on them; for each controller, of its
    state and of values computed at the start. commands, memories: of each sample, of its command and of the state after it."""

    gains: list[dict[str, np.ndarray]]
    memory: list[np.ndarray]
    design: list[np.ndarray]
    commands: list[list[np.ndarray]]
    memories: list[list[np.ndarray]]
    inputs: dict[str, float] = field(default_factory=dict)


class ControlRecord:
    """The samples of all controllers of a motion, and the inputs that they set. described: the controllers are described by the
    model and depend on its parameters."""

    def __init__(
        self, recorded: Sequence[RecordedController], job: Job, loop: TimeLoop, rebuild: Rebuild, *, described: bool
    ) -> None:
        self._recorded, self._eqs, self._rebuild, self._described = recorded, job.eqs, rebuild, described
        self._steps = loop.recorded
        self._end = job.end
        self.pieces = self._all_pieces(job)
        self._place = {
            (name, x.controller, x.sample): n for name, pieces in self.pieces.items() for n, x in enumerate(pieces)
        }
        self.bound = self._binding(job)

    def _step_at(self, t: float) -> int:
        """The step that begins at a time [s]; the number of steps at the end."""
        k = int(np.searchsorted(self._steps, t))
        near = [i for i in (k - 1, k) if 0 <= i < len(self._steps)]
        best = min(near, key=lambda i: abs(self._steps[i] - t))
        return best if abs(self._steps[best] - t) <= abs(self._end - t) else len(self._steps)

    def _all_pieces(self, job: Job) -> dict[str, list[Piece]]:
        """Values of each commanded input and the times at which they take effect, in order."""
        commanded = dict.fromkeys(name for r in self._recorded for sample in r.samples for name in sample.command)
        by_name: dict[str, list[Piece]] = {}
        first, begin = job.history[0].bound, job.begin
        for name in commanded:
            index = self._eqs.inputs.index(name)
            pieces = {begin: Piece(begin, float(first.held[index]))}
            given_over_time = first.input_kind[index] != HELD
            made = [
                Piece(sample.now.t + float(getattr(r, "delay", 0.0)), sample.command[name], i, k, r.orders[k])
                for i, r in enumerate(self._recorded)
                for k, sample in enumerate(r.samples)
                if name in sample.command
            ]
            for piece in sorted(made, key=lambda piece: (piece.time, piece.order)):
                step = self._step_at(piece.time)
                if step < len(self._steps):
                    time = float(self._steps[step])
                    pieces[time] = replace(piece, time=time)
            if given_over_time and pieces[begin].controller < 0:
                raise ArgumentError(
                    f"the input '{name}' is given over time until the first command takes effect, which has no derivatives",
                    "give it a constant value",
                )
            by_name[name] = list(pieces.values())
        return by_name

    def _binding(self, job: Job) -> Binding:
        """The values of the motion with commands as inputs over time."""
        series = {
            name: TimeSeries(np.array([x.time for x in pieces]), np.array([[x.value] for x in pieces]))
            for name, pieces in self.pieces.items()
        }
        values = self._eqs.at(inputs=series).binding.with_series(job.motions.series)
        return values.with_rows(job.bound.row_active)

    # -- the backward pass ----------------------------------------------------------------------------------------------------

    def back(self, way: BackwardPass, asked: tuple[str, ...]) -> ControlCotangents:
        """Go back to the beginning of the motion. asked: inputs with requested derivatives, on which commands may depend."""
        recorded, controllers = self._recorded, [r.controller for r in self._recorded]
        cotangents = ControlCotangents(
            [{name: np.zeros_like(x) for name, x in c.gain_values.items()} for c in controllers],
            [np.zeros_like(c.memory) for c in controllers], [np.zeros_like(c.design) for c in controllers],
            [[np.zeros(0)] * len(r.samples) for r in recorded], [[np.zeros(0)] * len(r.samples) for r in recorded],
        )  # fmt: skip
        credit = {name: np.zeros(len(pieces)) for name, pieces in self.pieces.items()}
        reading = tuple(dict.fromkeys([*asked, *self.pieces]))
        samples = [(order, i, k) for i, r in enumerate(recorded) for k, order in enumerate(r.orders)]
        for order, i, k in sorted(samples, reverse=True):
            sample, controller = recorded[i].samples[k], controllers[i]
            way.to(self._step_at(sample.now.t))
            by_command = np.array([self._credit(way, credit, name, i, k) for name in sample.command])
            cotangents.commands[i][k], cotangents.memories[i][k] = by_command, cotangents.memory[i]
            back = controller.command_cotangents(sample, by_command, cotangents.memory[i], reading)
            way.q += back.q
            way.v += back.v
            cotangents.memory[i] = back.memory
            cotangents.design[i] += back.design if len(back.design) else 0.0
            for name, by in back.gains.items():
                cotangents.gains[i][name] += by
            if len(controller.measured):
                self._through_outputs(way, controller.measured, sample, back.outputs)
            for name, amount in back.inputs.items():
                piece = self._seen(name, sample.now.t, order)
                if piece is None:
                    cotangents.inputs[name] = cotangents.inputs.get(name, 0.0) + amount
                else:
                    credit[name][piece] += amount
        way.to(0)
        for name, pieces in self.pieces.items():
            if pieces[0].controller < 0:
                cotangents.inputs[name] = cotangents.inputs.get(name, 0.0) + float(
                    credit[name][0] + self._of_series(way, name)[0]
                )
        return cotangents

    def named_gains(self, cotangents: ControlCotangents) -> dict[str, np.ndarray]:
        """Cotangents of gains, by `controller.gain`."""
        pairs = zip(self._recorded, cotangents.gains, strict=True)
        return {f"{recorded.name}.{name}": by for recorded, gains in pairs for name, by in gains.items()}

    def _of_series(self, way: BackwardPass, name: str) -> np.ndarray:
        return way.poly[int(self.bound.input_series[self._eqs.inputs.index(name)])][:, 0]

    def _credit(self, way: BackwardPass, credit: Mapping[str, np.ndarray], name: str, i: int, k: int) -> float:
        """Cotangent of a command; zero if it was overridden, or took effect after the end."""
        n = self._place.get((name, i, k))
        return 0.0 if n is None else float(self._of_series(way, name)[n] + credit[name][n])

    def _seen(self, name: str, t: float, order: int) -> int | None:
        """The piece of an input at a sample, None for inputs that are not commanded."""
        if name not in self.pieces:
            return None
        pieces, time = self.pieces[name], float(self._steps[self._step_at(t)])
        n = len(pieces) - 1
        while n and (pieces[n].time, pieces[n].order) > (time, order):
            n -= 1
        return n

    def _through_outputs(self, way: BackwardPass, names: tuple[str, ...], sample: Sample, by: np.ndarray) -> None:
        """Convert cotangents of measured outputs to cotangents of the state."""
        eqs, now = self._eqs, sample.now
        zero = np.zeros((1, len(now.v)))
        states = np.array(now.q)[None], np.array(now.v)[None], zero, np.zeros((1, self.bound.m))
        sizes = [output_size(eqs.model, name) for name in names]
        given = dict(zip(names, (x[None] for x in np.split(by, np.cumsum(sizes)[:-1])), strict=True))
        found = output_cotangents(eqs, states, given).samples
        way.q += found.q[0]
        way.v += found.v[0]

    # -- the start, and parameters ---------------------------------------------------------------------------------------

    def by_start(self, cotangents: ControlCotangents) -> np.ndarray:
        """Cotangent of increments of the start, through values that controllers compute there."""
        out = np.zeros(self.bound.nv)
        for i, recorded in enumerate(self._recorded):
            if not np.any(cotangents.design[i]):
                continue
            now, controller = recorded.started, recorded.controller.with_gains({})

            def paired(x: np.ndarray) -> float:
                q = self.bound.increment(np.array(now.q), x)  # noqa: B023
                return self._started(cotangents, i, controller, replace(now, q=q))  # noqa: B023

            step = step_of(0.0)
            units = np.eye(self.bound.nv)
            out += [WEIGHTS @ [paired(k * step * unit) for k in OFFSETS] / step for unit in units]
        return out

    def by_input(self, cotangents: ControlCotangents, name: str) -> float:
        """Cotangent of an input that was constant at the start, through values that controllers compute from it."""
        out = cotangents.inputs.get(name, 0.0)
        for i, recorded in enumerate(self._recorded):
            now, controller = recorded.started, recorded.controller.with_gains({})
            value = float(self._eqs.input_vector(now.inputs)[self._eqs.inputs.index(name)])
            step = step_of(value)
            sides = [
                self._started(
                    cotangents, i, controller, replace(now, inputs=dict(now.inputs) | {name: value + k * step})
                )
                for k in OFFSETS
            ]
            out += float(WEIGHTS @ sides) / step
        return out

    def by_parameter(self, cotangents: ControlCotangents, name: str, sides: Sequence[Mapping[str, float]]) -> float:
        """Derivative with respect to a parameter, times the step between its perturbed values, through the controllers."""
        if not self._described and not any(r.measured for r in self._recorded):
            return 0.0  # controllers given by the caller do not depend on the robot's parameters
        paired = self._replayed
        if self._described and enters_as_gain(self._eqs, name, sides):
            paired = self._rebuilt_gains
        return float(WEIGHTS @ [paired(cotangents, side) for side in sides])

    def _rebuilt_gains(self, cotangents: ControlCotangents, parameters: Mapping[str, float]) -> float:
        """Product of cotangents with gains for other parameters."""
        pairs = zip(self._rebuild(parameters), cotangents.gains, strict=True)
        return sum(float(np.sum(by[name] * x)) for c, by in pairs for name, x in c.gain_values.items())

    def _replayed(self, cotangents: ControlCotangents, parameters: Mapping[str, float]) -> float:
        """Product of cotangents with the commands for other parameters in the same states."""
        total = 0.0
        for i, (recorded, controller) in enumerate(zip(self._recorded, self._rebuild(parameters), strict=True)):
            own = dict(parameters)
            total += self._started(cotangents, i, controller, replace(recorded.started, parameters=own))
            for k, sample in enumerate(recorded.samples):
                controller.memory = sample.before
                command = controller.command(replace(sample.now, parameters=own))
                total += float(cotangents.commands[i][k] @ [command[name] for name in sample.command])
                total += float(cotangents.memories[i][k] @ controller.memory)
        return total

    def _started(self, cotangents: ControlCotangents, i: int, controller: SmoothController, now: Now) -> float:
        controller.start(now)
        return float(cotangents.memory[i] @ controller.memory + cotangents.design[i] @ controller.design)
