"""The compiled time loop seen from Python."""

from __future__ import annotations

import ctypes

import numpy as np

from pliant.equations.compiled import CompiledEngine
from pliant.equations.layout import RunHead

EXPLICIT, ROSENBROCK, GENERALIZED_ALPHA, SEMI_IMPLICIT = range(4)


class CompiledRun:
    """One run: a state that advances in C and samples it leaves behind."""

    def __init__(self, engine: CompiledEngine, method: int, options: tuple[float, ...]) -> None:
        library = engine.library
        library.pl_run_new.restype = ctypes.c_void_p
        library.pl_run_new.argtypes = [ctypes.c_void_p, ctypes.c_int]
        library.pl_run_free.argtypes = [ctypes.c_void_p]
        library.pl_run_start.argtypes = [ctypes.c_void_p]
        library.pl_run_advance.argtypes = [ctypes.c_void_p, ctypes.c_long]
        library.pl_run_go_to.argtypes = [ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p]
        self._engine = engine
        self._pointer = library.pl_run_new(engine._work, method)
        self._struct = ctypes.cast(self._pointer, ctypes.POINTER(RunHead)).contents
        for name, value in zip(("alpha_m", "alpha_f", "beta", "gamma"), options, strict=False):
            setattr(self._struct, name, value)
        self._struct.projection_tolerance = 1e-12

    def __del__(self) -> None:
        if getattr(self, "_pointer", None):
            self._engine.library.pl_run_free(self._pointer)

    def configure(
        self,
        *,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        stops: np.ndarray,
        samples: np.ndarray,
        step: float | None,
        fixed: bool,
        rtol: float,
        atol: float,
        max_step: float,
        min_step: float,
    ) -> None:
        """Set the start, the times a step must end on, and the times to sample."""
        s = self._struct
        s.t, s.fixed, s.h = t, int(fixed), step or 0.0
        s.rtol, s.atol, s.h_max, s.h_min = rtol, atol, max_step, min_step
        self._vector(s.q, self._engine.nq)[:] = q
        self._vector(s.v, self._engine.nv)[:] = v
        self._stops = np.ascontiguousarray(stops, dtype=float)
        self._samples = np.ascontiguousarray(samples, dtype=float)
        count = len(self._samples)
        self.sample_q = np.zeros((count, self._engine.nq))
        self.sample_v = np.zeros((count, self._engine.nv))
        self.sample_a = np.zeros((count, self._engine.nv))
        self.sample_multipliers = np.zeros((count, max(1, self._engine.m)))
        if self._engine.m:
            self.sample_multipliers = np.zeros((count, self._engine.m))
        self.sample_work = np.zeros((count, 2))
        s.stop, s.n_stop, s.next_stop = self._stops.ctypes.data, len(self._stops), 0
        s.sample_t, s.n_sample, s.next_sample = self._samples.ctypes.data, count, 0
        s.sample_q, s.sample_v = self.sample_q.ctypes.data, self.sample_v.ctypes.data
        s.sample_a, s.sample_multipliers = self.sample_a.ctypes.data, self.sample_multipliers.ctypes.data
        s.sample_work = self.sample_work.ctypes.data

    def pause_at(self, t: float) -> None:
        """Make `advance` return on reaching this time [s], which must be one of the stops (infinity for none)."""
        self._struct.pause = t

    def follow(
        self, constants: np.ndarray, parameters: np.ndarray, span: np.ndarray, X: np.ndarray, V: np.ndarray
    ) -> None:
        """Integrate the change of the motion with n parameters beside it (systems without constraints; after `configure`).

        constants, parameters: n x 2 x size, with each parameter raised and lowered; span: the differences of its two values [n].
        X, V: change of the start (increments and rates) per unit of each parameter, n x nv. What follows is in `sample_X` and
        `sample_V`, samples x n x nv.
        """
        if self._engine.m:
            raise ValueError("changes with parameters are followed in systems without constraints only")
        shape = (len(self._samples), len(span), self._engine.nv)
        self.sample_X, self.sample_V = np.zeros(shape), np.zeros(shape)
        self._followed = [np.array(x, dtype=float, order="C") for x in (constants, parameters, span, X, V)]
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*self._followed, self.sample_X, self.sample_V)]
        if self._engine.library.pl_run_follow(ctypes.c_void_p(self._pointer), ctypes.c_int(len(span)), *pointers):
            raise MemoryError("no memory to follow the change with parameters")

    def start(self) -> int:
        """Accelerations at the start, a first step, samples at the start; returns a status.

        To be called again between advances when inputs or constants have been changed.
        """
        return int(self._engine.library.pl_run_start(self._pointer))

    def advance(self, max_steps: int) -> int:
        """Up to `max_steps` steps towards the last stop; returns a status."""
        return int(self._engine.library.pl_run_advance(self._pointer, max_steps))

    def go_to(self, t: float, q: np.ndarray, v: np.ndarray) -> int:
        """Return to a state inside the last step (an event, say): later samples are dropped; returns a status."""
        q, v = np.ascontiguousarray(q, dtype=float), np.ascontiguousarray(v, dtype=float)
        return int(self._engine.library.pl_run_go_to(self._pointer, t, q.ctypes.data, v.ctypes.data))

    def _vector(self, address: int | None, size: int) -> np.ndarray:
        return self._engine._view(address, size)

    @property
    def t(self) -> float:
        """Time reached [s]."""
        return float(self._struct.t)

    @property
    def q(self) -> np.ndarray:
        """Positions reached (a view that later steps may change)."""
        return self._vector(self._struct.q, self._engine.nq)

    @property
    def v(self) -> np.ndarray:
        """Rates reached (a view)."""
        return self._vector(self._struct.v, self._engine.nv)

    @property
    def a(self) -> np.ndarray:
        """Accelerations at the state reached (a view)."""
        return self._vector(self._struct.a, self._engine.nv)

    @property
    def multipliers(self) -> np.ndarray:
        """Multipliers at the state reached (a view)."""
        return self._vector(self._struct.multipliers, self._engine.m)

    @property
    def work(self) -> np.ndarray:
        """Energy dissipated and supplied since the start [J] (a view)."""
        return self._vector(self._struct.work, 2)

    @property
    def step(self) -> float:
        """Step size that comes next [s]."""
        return float(self._struct.h)

    @property
    def sampled(self) -> int:
        """How many samples are filled."""
        return int(self._struct.next_sample)

    @property
    def steps(self) -> int:
        """Steps taken."""
        return int(self._struct.steps)

    @property
    def rejected(self) -> int:
        """Steps tried and thrown away."""
        return int(self._struct.rejected)

    @property
    def where(self) -> int:
        """Index in v of the first number that is not finite."""
        return int(self._struct.where)
