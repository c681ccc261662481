"""Interface to the runtime's time loop."""

from __future__ import annotations

import ctypes
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pliant.engine.binding import Binding
from pliant.engine.contacts import RECORD, Contacts, contacts_of, read_records
from pliant.engine.layout import RunHead, RuntimeStatus
from pliant.engine.libraries import extension_module
from pliant.engine.program import Workspace, array_at, check
from pliant.language.arrays import distinct

PROJECTION_TOLERANCE = 1e-12
"""Accepted constraint error of a step [m or rad]."""


INSTANT = 3.6e-15
"""Relative difference below which times are equal (`PL_INSTANT` in the runtime)."""

SERIES_TERMS = 6
"""Coefficients of each piece of a series (`PL_SERIES_TERMS` in the runtime)."""


class ParameterChanges(NamedTuple):
    """Derivatives of the constants and parameters of a model with respect to n parameters, n x size, and their
    perturbations in finite differences [n]."""

    constants: np.ndarray
    parameters: np.ndarray
    step: np.ndarray


class SampleCotangents(NamedTuple):
    """Derivatives of a number with respect to the samples of a run: samples x nv for increments of q, rates and accelerations, and
    samples x m for multipliers."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    multipliers: np.ndarray


class TimeLoop:
    """One run: a state that advances in a separate workspace, and its samples.

    `configure` sets the start, `start` evaluates it, `advance` takes steps. method: the number of its step function in
    runtime/integrate.h; coefficients: by their names in `RunHead`.
    """

    def __init__(self, binding: Binding, method: int, coefficients: dict[str, float]) -> None:
        program = binding.program
        self._library, self._nq, self._nv, self._m = program.library, program.nq, program.nv, program.m
        self._workspace = Workspace(program)
        self._workspace.bind(binding)
        self._program = program
        self._contacts = program.system.contacts
        self._pointer = self._library.pl_run_new(self._workspace.address, method)
        if not self._pointer:
            check(RuntimeStatus.OUT_OF_MEMORY)
        self._head = ctypes.cast(self._pointer, ctypes.POINTER(RunHead)).contents
        for name, value in coefficients.items():
            setattr(self._head, name, value)
        self._head.projection_tolerance = PROJECTION_TOLERANCE

    def __del__(self) -> None:
        if getattr(self, "_pointer", None):
            self._library.pl_run_free(self._pointer)

    def rebind(self, binding: Binding) -> None:
        """Set other current values; `start` must be called before the run continues."""
        self._workspace.bind(binding)

    def configure(
        self, *, t: float, q: np.ndarray, v: np.ndarray, stops: np.ndarray, samples: np.ndarray, step: float | None,
        fixed: bool, rtol: float, atol: float, max_step: float,
    ) -> None:  # fmt: skip
        """Set the start, the times at which steps must end, and the sample times [s]."""
        head = self._head
        head.t, head.fixed, head.h = t, int(fixed), step or 0.0
        head.rtol, head.atol, head.h_max = rtol, atol, max_step
        self.q[:], self.v[:] = q, v
        self._stops = np.ascontiguousarray(stops, dtype=float)
        self._samples = np.ascontiguousarray(samples, dtype=float)
        count = len(self._samples)
        self.sample_q, self.sample_v, self.sample_a, self.sample_multipliers, self.sample_work = (
            np.zeros((count, size)) for size in (self._nq, self._nv, self._nv, self._m, 2)
        )
        self.sample_step = np.zeros(count)
        address = extension_module().address
        head.stop, head.n_stop, head.next_stop = address(self._stops), len(self._stops), 0
        head.sample_t, head.n_sample, head.next_sample = address(self._samples), count, 0
        for name in ("sample_q", "sample_v", "sample_a", "sample_multipliers", "sample_work", "sample_step"):
            setattr(head, name, address(getattr(self, name)))

    def watch(self, times: np.ndarray) -> None:
        """Set times [s] at which steps have to examine signals: those of features that may be shorter than a step."""
        self._watched = np.ascontiguousarray(times, dtype=float)
        self._head.watch, self._head.n_watch = self._watched.ctypes.data, len(self._watched)

    def add_stops(self, times: np.ndarray) -> None:
        """Add future times at which steps must end [s]."""
        if len(times):
            self._stops = distinct(np.concatenate([self._stops[self._head.next_stop :], times]))
            self._head.stop, self._head.n_stop, self._head.next_stop = self._stops.ctypes.data, len(self._stops), 0

    def go_on(self, stops: np.ndarray) -> None:
        """Replace the times at which steps must end [s]."""
        self._stops = np.ascontiguousarray(stops, dtype=float)
        self._head.stop, self._head.n_stop, self._head.next_stop = self._stops.ctypes.data, len(self._stops), 0

    def pause_at(self, t: float) -> None:
        """Make `advance` return on reaching this time [s], which must be one of the stops (infinity for none)."""
        self._head.pause = t

    def follow(self, changes: ParameterChanges, X: np.ndarray, V: np.ndarray) -> None:
        """Also integrate the derivative of the motion with respect to n parameters (systems without constraints; after
        `configure`).

        X, V: derivatives of the start (increments and rates) with respect to each parameter, n x nv. The results are in `sample_X`
        and `sample_V`, samples x n x nv.
        """
        if self._m:
            raise ValueError("sensitivities are available for systems without constraints only")
        count = len(changes.step)
        shape = (len(self._samples), count, self._nv)
        self.sample_X, self.sample_V = np.zeros(shape), np.zeros(shape)
        self._followed = [np.array(x, dtype=float, order="C") for x in (*changes, X, V)]
        addresses = [x.ctypes.data for x in (*self._followed, self.sample_X, self.sample_V)]
        check(self._library.pl_run_follow(self._pointer, count, *addresses))

    def take_steps(self, begins: np.ndarray, end: float) -> None:
        """Take exactly these steps: the times at which they begin, and the end of the last one [s]. After `configure`."""
        self._stops = np.ascontiguousarray([*begins[1:], end])
        self._head.stop, self._head.n_stop, self._head.next_stop = self._stops.ctypes.data, len(self._stops), 0
        self._head.fixed, self._head.h = 1, float("inf")
        self._head.n_watch = 0

    def record(self, megabytes: float) -> None:
        """Record the data for `adjoint` from now on, in about this much memory; data beyond this is recomputed."""
        check(self._library.pl_run_record(self._pointer, int(megabytes * 1e6)))

    @property
    def recorded(self) -> np.ndarray:
        """Times at which the recorded steps began [s]."""
        times = np.zeros(self._library.pl_run_recorded(self._pointer, None))
        self._library.pl_run_recorded(self._pointer, times.ctypes.data)
        return times

    def adjoint(self, changes: ParameterChanges, input_scale: np.ndarray, cotangents: SampleCotangents) -> BackwardPass:
        """The discrete adjoint: the backward pass over the recorded steps for `cotangents` of the samples.

        All samples must be at the ends of steps. input_scale: per input, a typical size of its values [its unit]. Inputs over
        time are the current ones (`rebind`); series that differ from those of the run must have the same values.
        """
        return BackwardPass(self, changes, input_scale, cotangents)

    def _undo(self, first: int, last: int, next_sample: ctypes.c_int, parameters: int, addresses: list[int]) -> None:
        sample = ctypes.byref(next_sample)
        check(self._library.pl_run_adjoint(self._pointer, first, last, sample, parameters, *addresses))

    def start(self) -> RuntimeStatus:
        """Compute the accelerations at the start, a first step size and samples at the start; returns a status.

        Must be called again between advances after inputs or constants have been changed.
        """
        return RuntimeStatus(self._library.pl_run_start(self._pointer))

    def advance(self, max_steps: int) -> RuntimeStatus:
        """Take up to `max_steps` steps toward the last stop; returns a status."""
        self._program.refresh()
        return RuntimeStatus(self._library.pl_run_advance(self._pointer, max_steps))

    def go_to(self, t: float, q: np.ndarray, v: np.ndarray) -> RuntimeStatus:
        """Return to a state inside the last step (of an event): later samples are dropped; returns a status."""
        q, v = np.ascontiguousarray(q, dtype=float), np.ascontiguousarray(v, dtype=float)
        return RuntimeStatus(self._library.pl_run_go_to(self._pointer, t, q.ctypes.data, v.ctypes.data))

    def put_state(self, q: np.ndarray, v: np.ndarray) -> None:
        """Set another state at the current time; `start` must be called afterwards, which repeats the samples at this time."""
        self.q[:], self.v[:] = q, v
        first = int(np.searchsorted(self._samples, self.t - INSTANT * abs(self.t)))
        self._head.next_sample = min(self._head.next_sample, first)

    @property
    def t(self) -> float:
        """Current time [s]."""
        return float(self._head.t)

    @property
    def q(self) -> np.ndarray:
        """Current positions (a view that later steps may change)."""
        return array_at(self._head.q, self._nq)

    @property
    def v(self) -> np.ndarray:
        """Current rates (a view)."""
        return array_at(self._head.v, self._nv)

    @property
    def a(self) -> np.ndarray:
        """Current accelerations (a view)."""
        return array_at(self._head.a, self._nv)

    @property
    def multipliers(self) -> np.ndarray:
        """Current multipliers (a view)."""
        return array_at(self._head.multipliers, self._m)

    @property
    def work(self) -> np.ndarray:
        """Energy dissipated and supplied since the start [J] (a view)."""
        return array_at(self._head.work, 2)

    @property
    def sample_contacts(self) -> Contacts:
        """Contacts at the samples taken so far (a copy)."""
        count = self.sampled
        if not self._contacts.laws or not count:
            return Contacts(times=self._samples[:count], begins=np.zeros(count + 1, dtype=np.int32))
        begin, record = ctypes.c_void_p(), ctypes.c_void_p()
        self._library.pl_run_contacts(self._pointer, ctypes.byref(begin), ctypes.byref(record))
        begins = np.array((ctypes.c_int * (count + 1)).from_address(begin.value or 0), dtype=np.int32)
        rows = array_at(record.value, RECORD * int(begins[-1])).reshape(-1, RECORD).copy()
        return contacts_of(self._contacts, self._samples[:count], begins, rows)

    @property
    def contacts(self) -> Contacts:
        """Contacts in the current state."""
        if not self._contacts.laws:
            return Contacts(times=np.array([self.t]), begins=np.zeros(2, dtype=np.int32))
        rows = read_records(lambda room, to: self._library.pl_run_contacts_now(self._pointer, room, to))
        return contacts_of(self._contacts, np.array([self.t]), np.array([0, len(rows)]), rows)

    @property
    def step(self) -> float:
        """Next step size [s]."""
        return float(self._head.h)

    @property
    def sampled(self) -> int:
        """Number of samples taken so far."""
        return int(self._head.next_sample)

    @property
    def steps(self) -> int:
        """Number of accepted steps."""
        return int(self._head.steps)

    @property
    def rejected(self) -> int:
        """Number of rejected steps."""
        return int(self._head.rejected)

    @property
    def evaluations(self) -> int:
        """Number of evaluations of the system."""
        return self._workspace.evaluations

    @property
    def brief_impacts(self) -> int:
        """Number of impacts that were shorter than a step, so that the rebound is inaccurate."""
        return int(self._head.brief)

    @property
    def energy_exchanged(self) -> float:
        """The most energy that was exchanged [J] if steps measured it, as those with error control do; 0 otherwise."""
        return float(self._head.exchanged)

    @property
    def missed_signal(self) -> tuple[float, float, int]:
        """The largest change of a signal within a fixed step that its ends do not show, relative to its largest value, 0 if it is
        small; its time [s]; the index of the signal."""
        return float(self._head.missed), float(self._head.missed_at), int(self._head.missed_signal)

    @property
    def deepest_contacts(self) -> np.ndarray:
        """Largest depth of contacts of each shape [m]."""
        return array_at(self._head.deepest, len(self._contacts.shapes)).copy()

    @property
    def lost_vibrations(self) -> np.ndarray:
        """Speed [m/s] and spin [rad/s] of every node, n x 2 x 3: the largest one of the run, that of vibrations which were erased
        by steps that are too long for them, and the angular frequency of these [rad/s]."""
        count = 2 * len(self._program.system.nodes)
        parts = [array_at(x, count).reshape(-1, 2) for x in (self._head.moved, self._head.lost, self._head.pulse)]
        return np.stack(parts, axis=-1)

    @property
    def memory(self) -> int:
        """Memory of its workspace [bytes]."""
        return self._workspace.size

    @property
    def where(self) -> int:
        """Index in v of the first non-finite number."""
        return int(self._head.where)


class BackwardPass:
    """Cotangents from the end of a run back to the step that `to` has reached.

    parameters: per parameter; held: per constant input; poly: per series of the binding, with respect to its coefficients; q, v:
    with respect to increments and rates of the current state [nv], to which values may be added on the way.
    """

    def __init__(
        self, loop: TimeLoop, changes: ParameterChanges, input_scale: np.ndarray, cotangents: SampleCotangents
    ) -> None:
        binding: Binding = loop._workspace.handle.bound
        nv, m = binding.nv, binding.m
        self._loop, self._step = loop, len(loop.recorded)
        self._next = ctypes.c_int(loop.sampled - 1)
        self._given = [np.ascontiguousarray(x, dtype=float) for x in (*changes, input_scale, *cotangents)]
        self._state = np.zeros(4 * nv + m)
        self.q, self.v = self._state[:nv], self._state[nv : 2 * nv]
        self.parameters, self.held = np.zeros(len(changes.step)), np.zeros(len(binding.held))
        ends = np.cumsum([0, *(len(series.poly) for series in binding.series)])
        self._poly = np.zeros((ends[-1], SERIES_TERMS))
        self.poly = tuple(self._poly[a:b] for a, b in pairwise(ends))

    def to(self, step: int) -> None:
        """Go back to the beginning of a step, before its samples and jumps of inputs."""
        if step >= self._step:
            return
        arrays = (*self._given, self.parameters, self.held, self._poly, self._state)
        addresses = [x.ctypes.data for x in arrays]
        self._loop._undo(step, self._step, self._next, len(self.parameters), addresses)
        self._step = step
