"""The compiled engine seen from Python: tables and state in C memory, evaluations as method calls."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from pliant.equations.layout import (
    COUNTS,
    INTEGERS,
    KERNELS,
    STRUCTURES,
    BindingStruct,
    Status,
    TablesStruct,
    ViewStruct,
)
from pliant.equations.libraries import load_kernels, runtime_library
from pliant.equations.tables import InputPlan, Tables, build_tables
from pliant.model.system import System

SINGULAR = Status.SINGULAR
MESSAGES = {status: status.failure for status in Status}


class EvaluationError(RuntimeError):
    """The equations have no answer in this state."""


@dataclass(frozen=True)
class Linearized:
    """First-order change of the equations at a state.

    `residual` = M a + h - J'lambda; `stiffness` = d/dq, `damping` = d/dv, `mass` = d/da of it (sparse, per local
    increment of q); `phi`, `jacobian`: constraint values [m or rad] and Jacobian.
    """

    residual: np.ndarray
    stiffness: sp.csc_matrix
    damping: sp.csc_matrix
    mass: sp.csc_matrix
    phi: np.ndarray
    jacobian: sp.csr_matrix


class CompiledEngine:
    """All evaluations of a system by compiled code. Not safe to share between threads: make one per thread."""

    name = "compiled"

    def __init__(self, system: System, plan: InputPlan) -> None:
        start = time.perf_counter()
        self.system, self.plan = system, plan
        self.tables: Tables = build_tables(system, plan)
        self.table_seconds = time.perf_counter() - start
        self.library, self._code = runtime_library(), load_kernels(self.tables.libraries)
        self.compile_seconds = self._code.compile_seconds
        self._struct = self._fill()
        self._declare()
        self._work = self.library.pl_work_new(ctypes.byref(self._struct))
        if not self._work:
            raise MemoryError("no memory for the equations")
        self._head = ViewStruct()
        self.library.pl_work_view(self._work, ctypes.byref(self._head))
        counts = self.tables.counts
        self.nq, self.nv, self.m = counts["nq"], counts["nv"], counts["m"]
        self._bind(plan)
        self._q, self._v = _Argument("q", self.nq), _Argument("v", self.nv)
        self._a, self._multipliers = _Argument("a", self.nv), _Argument("multipliers", self.m)
        self._result = _Argument("result", self.nv)
        self._lambda = self._view(self._head.multipliers, self.m)
        self._jacobian_slots = _slots(self.tables, self.m, self.nv)

    def __del__(self) -> None:
        if getattr(self, "_work", None):
            self.library.pl_work_free(self._work)

    def _bind(self, plan: InputPlan) -> None:
        counts = self.tables.counts
        self.theta, self.held = np.zeros(counts["n_theta"]), np.zeros(counts["n_input"])
        self.parameters = np.zeros(counts["n_parameter"])
        self.input_kind = np.array(plan.kinds, dtype=np.int32)
        self.row_active = np.ones(self.m, dtype=np.int32)
        self._active = [np.ones(counts[x], dtype=np.int32) for x in ("n_cforce", "n_fforce", "n_route")]
        series = [s.time for s in plan.table], [s.poly.ravel() for s in plan.table]
        arrays = {
            "constants": self.theta,
            "parameters": self.parameters,
            "held": self.held,
            "series_time": np.concatenate([np.zeros(0), *series[0]]),
            "series_poly": np.concatenate([np.zeros(0), *series[1]]),
            "input_kind": self.input_kind,
            "input_series": np.array(plan.series, dtype=np.int32),
            "series_begin": np.cumsum([0, *map(len, series[0])], dtype=np.int32),
            "row_active": self.row_active,
            "coordinate_force_active": self._active[0],
            "frame_force_active": self._active[1],
            "route_active": self._active[2],
        }
        self._bound = arrays
        self._binding = BindingStruct(**{name: array.ctypes.data for name, array in arrays.items()})
        self.library.pl_bind(self._work, ctypes.byref(self._binding))

    def _fill(self) -> TablesStruct:
        struct = TablesStruct()
        self._keep: list[Any] = []
        for name in COUNTS:
            setattr(struct, name, self.tables.counts[name])
        for name in INTEGERS:
            setattr(struct, name, self.tables.integers[name].ctypes.data)
        for name in KERNELS:
            functions = self.tables.kernels[name]
            kernels = self._code.slots([f.name() for f in functions])
            self._keep.append(kernels)
            setattr(struct, name, ctypes.addressof(kernels))
        return struct

    def _declare(self) -> None:
        lib = self.library
        p: Any = ctypes.c_void_p
        d: Any = ctypes.c_double
        lib.pl_layout_size.restype = ctypes.c_size_t
        assert all(lib.pl_layout_size(i) == ctypes.sizeof(s) for i, s in enumerate(STRUCTURES))
        lib.pl_work_new.restype = p
        lib.pl_evaluations.restype, lib.pl_evaluations.argtypes = ctypes.c_long, [p]
        lib.pl_factorizations.restype, lib.pl_factorizations.argtypes = ctypes.c_long, [p]
        lib.pl_bind.argtypes = lib.pl_work_view.argtypes = [p, p]
        lib.pl_work_free.argtypes = [p]
        for name, arguments in {
            "pl_forward": [p, d, p, p, p],
            "pl_inverse": [p, d, p, p, p, p],
            "pl_linearized": [p, d, p, p, p, p],
            "pl_forward_derivatives": [p, d, p, p, p, p, p],
            "pl_project": [p, d, p, p, d],
        }.items():
            function = getattr(lib, name)
            function.argtypes, function.restype = arguments, ctypes.c_int
        for name, arguments in {
            "pl_signals": [p, d],
            "pl_kinematics": [p, p, p],
            "pl_forces": [p, p, p],
            "pl_mass_matrix": [p],
            "pl_constraints": [p, p, p],
            "pl_energies": [p, d, p, p, p],
            "pl_input_tangent": [p, p, p, p],
            "pl_route_time_tangent": [p, p],
            "pl_constraint_acceleration_tangent": [p, p, p],
            "pl_increment": [p, p, p, p],
            "pl_rates": [p, p, p, p],
        }.items():
            function = getattr(lib, name)
            function.argtypes, function.restype = arguments, None

    def _view(self, address: int | None, size: int) -> np.ndarray:
        if not size or address is None:
            return np.zeros(0)
        return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_double)), (size,))

    def _raise(self, status: int) -> NoReturn:
        raise EvaluationError(MESSAGES.get(status, f"the evaluation failed with status {status}"))

    @property
    def evaluations(self) -> int:
        """How often the whole system has been evaluated."""
        return int(self.library.pl_evaluations(self._work))

    @property
    def factorizations(self) -> int:
        """How often the system matrix has been factorized."""
        return int(self.library.pl_factorizations(self._work))

    # -- evaluations -------------------------------------------------------------------------------------------------

    def forward(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations [nv] and multipliers [m]."""
        status = self.library.pl_forward(self._work, t, self._q(q), self._v(v), self._result.address)
        if status:
            self._raise(status)
        return self._result.array.copy(), self._lambda.copy()

    def forward_derivatives(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Accelerations and their exact derivatives by increments of q and by v (unconstrained systems)."""
        if self.m:
            raise EvaluationError("derivatives of constrained accelerations: use linearized")
        n = self.nv
        # one block for both matrices
        out = np.empty((2, n, n))
        at = out.ctypes.data
        status = self.library.pl_forward_derivatives(
            self._work, t, self._q(q), self._v(v), self._result.address, at, at + 8 * n * n
        )
        if status:
            self._raise(status)
        return self._result.array.copy(), out[0], out[1]

    def inverse(self, t: float, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """M a + h [nv]."""
        self.library.pl_inverse(self._work, t, self._q(q), self._v(v), self._a(a), self._result.address)
        return self._result.array.copy()

    def linearized(self, t: float, q: np.ndarray, v: np.ndarray, a: np.ndarray, multipliers: np.ndarray) -> Linearized:
        """Residual, constraints and exact tangents."""
        self.library.pl_linearized(self._work, t, self._q(q), self._v(v), self._a(a), self._multipliers(multipliers))
        head, nnz = self._head, self.tables.counts["nnz"]
        return Linearized(
            self._view(head.rhs, self.nv).copy(),
            self._matrix(self._view(head.K, nnz)),
            self._matrix(self._view(head.C, nnz)),
            self._matrix(self._view(head.M, nnz)),
            self._view(head.phi, self.m).copy(),
            self._jacobian(),
        )

    def constraints(
        self, t: float, q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, sp.csr_matrix]:
        """Constraint values, rates, convective accelerations [m] and Jacobian (m x nv)."""
        at_q, at_v = self._q(q), self._v(v)
        self.library.pl_signals(self._work, t)
        self.library.pl_kinematics(self._work, at_q, at_v)
        self.library.pl_constraints(self._work, at_q, at_v)
        head = self._head
        phi, rate, gamma = (self._view(x, self.m).copy() for x in (head.phi, head.phi_rate, head.gamma))
        return phi, rate, gamma, self._jacobian()

    def acceleration_tangent(self) -> tuple[np.ndarray, np.ndarray]:
        """d(J a + gamma)/dq and /dv (m x nv) at the state of the last `linearized` call."""
        dq, dv = np.zeros((self.m, self.nv), order="F"), np.zeros((self.m, self.nv), order="F")
        if self.m:
            self.library.pl_constraint_acceleration_tangent(self._work, dq.ctypes.data, dv.ctypes.data)
        return dq, dv

    def input_tangent(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """d(M a + h)/d(signal), nv x signals."""
        out = np.zeros((self.nv, self.system.signal_count), order="F")
        if self.system.signal_count:
            self._kinematics(t, q, v)
            self.library.pl_input_tangent(self._work, self._q.address, self._v.address, out.ctypes.data)
        return out

    def rate_tangent(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """d(M a + h)/d(signal rates) times the signals' accelerations [nv]."""
        out = np.zeros(self.nv)
        if self.system.routes and self.system.signal_count:
            self._kinematics(t, q, v)
            self.library.pl_route_time_tangent(self._work, out.ctypes.data)
        return out

    def mass_matrix(self, q: np.ndarray) -> sp.csc_matrix:
        """M(q), sparse."""
        self._kinematics(0.0, q, np.zeros(self.nv))
        self.library.pl_mass_matrix(self._work)
        return self._matrix(self._view(self._head.M, self.tables.counts["nnz"]))

    def node_poses(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rotation matrices (nodes x 3 x 3) and positions (nodes x 3) of all nodes; node 0 is the world."""
        self._kinematics(0.0, q, np.zeros(self.nv))
        count = self.tables.counts["n_node"]
        rotations = self._view(self._head.R, 9 * count).reshape(count, 3, 3).transpose(0, 2, 1).copy()
        return rotations, self._view(self._head.p, 3 * count).reshape(count, 3).copy()

    def node_twists(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """World twists (linear at the world's origin, angular) of all nodes, nodes x 6."""
        self._kinematics(0.0, q, v)
        count = self.tables.counts["n_node"]
        return self._view(self._head.V, 6 * count).reshape(count, 6).copy()

    def node_jacobian(self, q: np.ndarray, node: int) -> np.ndarray:
        """World twist of a node per rate, 6 x nv."""
        self._kinematics(0.0, q, np.zeros(self.nv))
        out = np.zeros((6, self.nv))
        S = self._view(self._head.S, self.tables.counts["n_s"])
        for k in self.system.path(node):
            element, at = self.system.elements[self.system.element_of(k)], int(self.tables.integers["node_s"][k])
            size = element.v_size
            out[:, element.v_at : element.v_at + size] = S[at : at + 6 * size].reshape(size, 6).T
        return out

    def node_accelerations(self, t: float, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """World spatial accelerations of all nodes (at the world's origin), nodes x 6."""
        self.inverse(t, q, v, a)
        count = self.tables.counts["n_node"]
        A = self._view(self._head.A, 6 * count).reshape(count, 6)
        return A - A[0]

    def energies(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Kinetic, potential [J], dissipated power, supplied power [W], largest constraint error."""
        out = np.empty(5)
        self.library.pl_energies(self._work, t, self._q(q), self._v(v), out.ctypes.data)
        return out

    def signals(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and signals at time t."""
        self.library.pl_signals(self._work, t)
        counts = self.tables.counts
        return (
            self._view(self._head.input, counts["n_input"]).copy(),
            self._view(self._head.signal, counts["n_signal"]).copy(),
        )

    def signal_rates(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """First and second time derivatives of the signals at time t."""
        self.library.pl_signals(self._work, t)
        count = self.tables.counts["n_signal"]
        return (
            self._view(self._head.signal_rate, count).copy(),
            self._view(self._head.signal_acceleration, count).copy(),
        )

    def force_by_source(self, t: float, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        """Generalized forces [nv] of every interaction, added up by source."""
        out: dict[str, np.ndarray] = {}
        switches: tuple[tuple[np.ndarray, Sequence[Any]], ...] = (
            (self._active[0], self.system.coordinate_forces),
            (self._active[1], self.system.frame_forces),
            (self._active[2], self.system.routes),
        )
        gravity = self.theta[0:3].copy()
        rest, zero = np.zeros(self.nv), np.zeros(self.nv)
        try:
            for active, _ in switches:
                active[:] = 0
            out["gravity"] = -self.inverse(t, q, zero, rest)
            self.theta[0:3] = 0
            inertial = self.inverse(t, q, v, rest)
            for active, members in switches:
                for i, member in enumerate(members):
                    active[i] = 1
                    force = inertial - self.inverse(t, q, v, rest)
                    active[i] = 0
                    out[member.source] = out.get(member.source, np.zeros(self.nv)) + force
        finally:
            self.theta[0:3] = gravity
            for active, _ in switches:
                active[:] = 1
        return out

    def project(
        self, t: float, q: np.ndarray, v: np.ndarray, tolerance: float = 1e-12
    ) -> tuple[np.ndarray, np.ndarray]:
        """The nearest state (in the mass metric) on the constraints."""
        status = self.library.pl_project(self._work, t, self._q(q), self._v(v), tolerance)
        if status:
            self._raise(status)
        return self._q.array.copy(), self._v.array.copy()

    def increment(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """q with the increment x (nv) applied on the group."""
        out = np.empty(self.nq)
        self.library.pl_increment(ctypes.byref(self._struct), self._q(q), self._v(x), out.ctypes.data)
        return out

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _kinematics(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        at_q, at_v = self._q(q), self._v(v)
        self.library.pl_signals(self._work, t)
        self.library.pl_kinematics(self._work, at_q, at_v)
        self.library.pl_forces(self._work, at_q, at_v)

    def _matrix(self, values: np.ndarray) -> sp.csc_matrix:
        # nothing is shared with the pattern: users may change the matrix in place
        pattern = self.tables.pattern
        parts = (values.copy(), pattern.indices.copy(), pattern.indptr.copy())
        return sp.csc_matrix(parts, shape=pattern.shape)

    def _jacobian(self) -> sp.csr_matrix:
        values = self._view(self._head.Jval, self.tables.counts["nnz_j"])
        slots, indices, indptr = self._jacobian_slots
        data = np.bincount(slots, weights=values, minlength=len(indices))
        return sp.csr_matrix((data, indices.copy(), indptr.copy()), shape=(self.m, self.nv))


class _Argument:
    """A place of fixed address through which one argument goes to compiled code."""

    __slots__ = ("address", "array", "name", "shape")

    def __init__(self, name: str, size: int) -> None:
        self.name, self.array = name, np.zeros(size)
        self.shape, self.address = self.array.shape, self.array.ctypes.data

    def __call__(self, values: Any) -> int:
        """Copy `values` in; returns the address."""
        if not isinstance(values, np.ndarray) or values.shape != self.shape:
            values = np.asarray(values, dtype=float).ravel()
            if values.shape != self.shape:
                raise ValueError(f"{self.name} has {self.shape[0]} numbers in this model, not {values.size}")
        self.array[:] = values
        return self.address


def _slots(tables: Tables, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where each value of the constraint Jacobian goes in a CSR matrix, with that matrix's indices and row starts."""
    keys = tables.jacobian_rows * columns + tables.jacobian_columns
    unique, slots = np.unique(keys, return_inverse=True)
    indptr = np.searchsorted(unique, np.arange(rows + 1) * columns)
    indices = unique % columns if columns else unique
    return slots.ravel(), indices.astype(np.int32), indptr.astype(np.int32)
