"""Runs without interruptions: each is one call of the runtime.

Most runs of a study need no Python while they run: no events or controllers act, and they end before the choice of their method
would be reconsidered. The result is identical, bit for bit, to that of `Job`, which performs the runs that turn out to need more.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pliant.analysis.integrators import Method
from pliant.analysis.motion.method_choice import MethodChoice, MethodMonitor, choose_method
from pliant.analysis.motion.run import Request, acting_controllers
from pliant.analysis.motion.step_times import NONE, stop_times, watched_times
from pliant.analysis.numerics.state import AssembledState, assemble, refuse_extremes
from pliant.engine.binding import Binding
from pliant.engine.contact_sums import contact_questions
from pliant.engine.equations import Equations
from pliant.engine.layout import RunHead
from pliant.engine.libraries import extension_module, runtime
from pliant.engine.outputs import carrying_nodes, energy_outputs, output_names, output_rows, output_size
from pliant.engine.state import State
from pliant.engine.time_loop import PROJECTION_TOLERANCE


@dataclass(frozen=True)
class Thresholds:
    """Numbers that decide which runs are one call."""

    most_steps: int = 20_000
    """Maximum number of steps without a pause, for which Ctrl-C has to wait: a tenth of a second."""
    most_numbers: int = 200_000
    """Maximum number of rates times steps of such a run, likewise."""
    tried: int = 8
    """Number of runs after which the following fraction is judged."""
    ended: float = 0.75
    """Fraction of the runs that must have ended in one call for further attempts: those that have not are repeated."""


ONE_CALL = Thresholds()


SAMPLES = {"q": "coordinate", "v": "rate", "a": "rate", "multiplier": "constraint"}
"""Quantities that are sampled during the run, and their axes."""

Room = Callable[[str, tuple[str, ...], tuple[int, ...]], np.ndarray]
"""Returns a contiguous array for a kept quantity, by name, axes and shape; it is used for nothing else."""
Arrays = dict[str, tuple[tuple[str, ...], np.ndarray]]


@dataclass(slots=True)
class UninterruptedRun:
    """A run that is prepared, or has been attempted. t: the time that it has reached [s]; None if it has to be run by `Job`.

    head, most, outputs: arguments of the runtime; samples: arrays that it writes; arrays: those that it reads, kept alive.
    """

    bound: Binding
    head: RunHead
    most: int
    samples: dict[str, np.ndarray]
    outputs: tuple[object, ...]
    arrays: tuple[np.ndarray, ...]
    t: float | None = None


class UninterruptedRuns:
    """Uninterrupted runs of one robot, for one request. kept: variables of results that are kept. For use in one thread."""

    def __init__(self, request: Request, eqs: Equations, kept: Sequence[str]) -> None:
        self.request, self.model, self.kept = request, eqs.model, tuple(kept)
        self.tried = self.ended = 0
        self.possible = self._is_possible(eqs)
        if self.possible:
            self._prepare(eqs)

    def _is_possible(self, eqs: Equations) -> bool:
        """Whether uninterrupted runs are possible: nothing interrupts them, and all kept quantities follow from the samples."""
        request, model, outputs = self.request, self.model, output_names(self.model)
        acts = bool(request.events or request.mid_step or request.progress or request.out)
        if acts or acting_controllers(request.controllers, eqs, None):
            return False
        if request.formulation != "multipliers" or model.followed or model.system.contacts.laws:
            return False
        if any(name.startswith("output.") for name in self.kept) and (
            carrying_nodes(model) or energy_outputs(model) or contact_questions(model)
        ):
            return False
        return all(name in SAMPLES or name.removeprefix("output.") in outputs for name in self.kept)

    def _prepare(self, eqs: Equations) -> None:
        program = eqs.binding.program
        self._library, self._tables = runtime(), ctypes.addressof(program.struct)
        self._program, self._address = program, extension_module().address
        self._sizes = {"q": program.nq, "v": program.nv, "a": program.nv, "multiplier": program.m}
        self._times = np.ascontiguousarray(self.request.times, dtype=float)
        count = len(self._times)
        self._spare = {name: np.zeros((count, size)) for name, size in self._sizes.items()}
        self._work = np.zeros((count, 2))
        self._outputs = any(name.startswith("output.") for name in self.kept)
        self._axes: dict[str, tuple[str, ...]] = self.model.once("axes_of_samples", self._axis_names)
        if self._outputs:
            self._rows = output_rows(self.model)
            self._names = tuple(f"output.{name}" for name in output_names(self.model))
            sizes = zip(self._names, self._rows.sizes, strict=True)
            self._spare |= {name: np.zeros((count, size)) for name, size in sizes}
            self._of_outputs = self._rows.addresses
        self._shapes = {x: (count, self._spare[x].shape[1])[: len(self._axes[x])] for x in self.kept}
        self._heads: dict[int, tuple[Method, RunHead]] = {}

    @property
    def worthwhile(self) -> bool:
        """Whether to attempt such a run: it is possible, and most attempts so far have ended in one call."""
        return self.possible and (self.tried < ONE_CALL.tried or self.ended >= ONE_CALL.ended * self.tried)

    def rates(self, cases: Sequence[tuple[Binding, State]]) -> np.ndarray:
        """The fastest rate of each case at its start [1/s]; NaN if unknown, or if the method does not depend on it."""
        system = self.model.system
        springs = system.coordinate_forces or system.frame_forces or system.routes
        out = np.full(len(cases), np.nan)
        if self.request.method is None and springs and cases and not self._program.m:
            bindings = (ctypes.c_void_p * len(cases))(*(bound.address for bound, _ in cases))
            q, v = (
                (ctypes.c_void_p * len(cases))(*(self._address(x) for x in arrays))
                for arrays in ([state.q for _, state in cases], [state.v for _, state in cases])
            )
            self._library.pl_fastest_rates(
                self._tables, len(cases), bindings, self.request.begin, q, v, self._address(out)
            )
        return out

    def ready(self, eqs: Equations, state: State, rate: float, room: Room) -> UninterruptedRun:
        """A run that is prepared except for its call. Its kept quantities are placed in `room`."""
        request = self.request
        bound = eqs.binding
        if bound.m:
            made = assemble(eqs, bound, request.begin, state.q, state.v, state.given)
        else:
            refuse_extremes(eqs, state.q, state.v)
            made = AssembledState(bound, state.q, state.v)
        if request.method is not None:
            choice = MethodChoice(request.method, "")
        else:
            known = float(rate) if rate == rate else None
            choice = choose_method(
                made.bound, request.begin, request.end, made.q, made.v, rate=known, **request.tolerances
            )
        head = self._head(choice.method)
        stops = stop_times(eqs, made.bound, request.begin, request.end, request.times if request.exact else NONE)
        q, v = np.ascontiguousarray(made.q, dtype=float), np.ascontiguousarray(made.v, dtype=float)
        head.stop, head.n_stop, head.q, head.v = self._address(stops), len(stops), self._address(q), self._address(v)
        watched = watched_times(eqs.model, made.bound, request.begin, request.end, stops)
        head.watch, head.n_watch = self._address(watched), len(watched)
        samples, outputs = self._place(head, room)
        most = min(
            MethodMonitor(choice, request.end).most_unseen,
            ONE_CALL.most_steps,
            max(100, ONE_CALL.most_numbers // max(1, len(v))),
        )
        return UninterruptedRun(made.bound, head, most, samples, outputs, (stops, watched, q, v))

    def go(self, runs: Iterable[UninterruptedRun]) -> None:
        """Perform some runs, each as far as possible in one call."""
        self._program.refresh()
        call, tables, ends = self._library.pl_run_whole, self._tables, len(self._times)
        for run in runs:
            head = run.head
            status = call(tables, run.bound.address, ctypes.addressof(head), run.most, *run.outputs)
            self.tried += 1
            if not status and head.next_sample == ends and not head.missed:
                self.ended += 1
                run.t = float(head.t)

    def kept_of(self, run: UninterruptedRun) -> Arrays:
        """The kept quantities of a completed run."""
        return {name: (self._axes[name], run.samples[name]) for name in self.kept}

    def _head(self, method: Method) -> RunHead:
        """Arguments of the runtime for a run with this method; its start and the addresses of its results are set later."""
        known = self._heads.get(id(method))
        if known is None:
            head = RunHead()
            head.projection_tolerance = PROJECTION_TOLERANCE
            head.sample_t, head.n_sample = self._address(self._times), len(self._times)
            head.sample_work = self._address(self._work)
            for x, name in _FIELDS.items():
                setattr(head, name, self._address(self._spare[x]))
            head.t, head.method, head.fixed, head.h = (
                self.request.begin, method.code, int(method.fixed), method.step or 0.0,
            )  # fmt: skip
            head.rtol, head.atol = method.relative_tolerance, method.absolute_tolerance
            head.h_max = method.largest_step(self.request.end - self.request.begin)
            for name, value in method.coefficients.items():
                setattr(head, name, value)
            known = self._heads[id(method)] = method, head
        return RunHead.from_buffer_copy(known[1])

    def _place(self, head: RunHead, room: Room) -> tuple[dict[str, np.ndarray], tuple[object, ...]]:
        """Arrays of the kept results, and the description of outputs for the runtime."""
        samples = {x: room(x, self._axes[x], shape) for x, shape in self._shapes.items()}
        for x, name in _FIELDS.items():
            if x in samples:
                setattr(head, name, self._address(samples[x]))
        if not self._outputs:
            return samples, (None, 0, None, None, None)
        kernel, steps, sizes = self._of_outputs
        places = (ctypes.c_void_p * len(self._names))(
            *(self._address(samples.get(name, self._spare[name])) for name in self._names)
        )
        return samples, (kernel, len(self._names), places, steps, sizes)

    def _axis_names(self) -> dict[str, tuple[str, ...]]:
        """The axes of the quantities that can be kept, by their names in results."""
        found: dict[str, tuple[str, ...]] = {name: ("time", axis) for name, axis in SAMPLES.items()}
        model = self.model
        for name, spec in model.spec.outputs.items():
            along = spec.arc_lengths(model.prepared[name], model.system.constants.numbers) is not None
            axis = f"output.{name}.{'arc_length' if along else 'part'}"
            found[f"output.{name}"] = ("time",) if output_size(model, name) == 1 else ("time", axis)
        return found


_FIELDS = {"q": "sample_q", "v": "sample_v", "a": "sample_a", "multiplier": "sample_multipliers"}
"""Fields of the run's head for the samples."""
