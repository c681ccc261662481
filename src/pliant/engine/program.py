"""A system prepared for evaluation: tables, runtime and kernels. Immutable, so that any number of threads may share it."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from pliant.engine.layout import COUNTS, INTEGERS, KERNELS, RuntimeStatus, TablesStruct
from pliant.engine.libraries import address, extension_module, load_kernels, runtime
from pliant.engine.model.inputs import InputPlan
from pliant.engine.tables import Tables, build_tables
from pliant.parts.assembly.system import System

if TYPE_CHECKING:
    from pliant.engine.binding import Binding


class EvaluationError(RuntimeError):
    """The equations have no solution in this state."""


def check(status: int) -> None:
    """Raise EvaluationError if an evaluation has failed; MemoryError if memory was insufficient.

    Searches treat a failed evaluation as a step that was too long, which must not hide a lack of memory.
    """
    if status == RuntimeStatus.OUT_OF_MEMORY:
        raise MemoryError(RuntimeStatus(status).failure)
    if status:
        raise EvaluationError(RuntimeStatus(status).failure)


class Workspace:
    """A `pl_work`; `handle` identifies it in calls."""

    def __init__(self, program: Program) -> None:
        self.library = library = program.library
        self._tables = program.struct  # the runtime stores its address
        self.address: int | None = library.pl_work_new(ctypes.byref(program.struct))
        if not self.address:
            check(RuntimeStatus.OUT_OF_MEMORY)
        self.handle = extension_module().Handle(self.address)

    def __del__(self) -> None:
        if getattr(self, "address", None):
            if hasattr(self, "handle"):
                self.handle.address = 0  # calls may still refer to it
            self.library.pl_work_free(self.address)

    def bind(self, binding: Binding) -> None:
        """Use the values of a binding; the runtime reads them in place."""
        self.library.pl_bind(self.address, binding.address)
        self.handle.bound = binding

    @property
    def size(self) -> int:
        """Its memory [bytes]."""
        return int(self.library.pl_work_bytes(self.address))

    @property
    def evaluations(self) -> int:
        """Number of evaluations of the system in this workspace."""
        return int(self.library.pl_evaluations(self.address))


def array_at(address: int | None, size: int) -> np.ndarray:
    """Numbers in the runtime's memory as an array (a view)."""
    if not size or address is None:
        return np.zeros(0)
    return np.frombuffer(_doubles(size).from_address(address))


@cache
def _doubles(size: int) -> Any:
    return ctypes.c_double * size


Call = Callable[..., Any]

LARGE = 24
"""Number of nodes above which the GIL is released during an evaluation, which then takes ten microseconds or more."""

_COUNTED = -1
_SIZES = {"q": "nq", "v": "nv", "a": "nv", "multipliers": "m"}
"""Sizes of the arguments that are vectors."""


class Calls:
    """Evaluations of a program. Each takes a binding and the listed arguments, by position, and returns new arrays.

    read: converts an argument to an array, by name and size, or raises an error; `finite`: also applied to arrays that contain
    non-finite numbers.
    """

    def __init__(self, program: Program, read: Callable[[str, Any, int], np.ndarray], *, finite: bool) -> None:
        counts, module = program.tables.counts, extension_module()
        self.caller = module.Caller(program.enter, read, check, finite, counts["n_node"] >= LARGE)
        self._module, self._sizes = module, {**counts, "frames": _COUNTED}

        self.forward = self._call("forward", "t q v", "nv", "m")
        self.forward_derivatives = self._call("forward_derivatives", "t q v", "nv", "nv nv", "nv nv")
        self.inverse = self._call("inverse", "t q v a", "nv")
        self.linearized = self._call(
            "linearized", "t q v a multipliers", "nv", "nnz", "nnz", "nnz", "m", "nnz_j", "nv", "m"
        )
        self.constraints = self._call("constraints", "t q v", "m", "m", "m", "nnz_j")
        self.constraint_sizes = self._call("constraint_sizes", "t q v", "m")
        self.sizes = self._call("sizes", "q", "1", "nv")
        self.fastest_rate = self._call("fastest_rate", "t q v", "1")
        self.row_independence = self._call("row_independence", "t q v", "1")
        self.acceleration_tangent = self._call("acceleration_tangent", "t q v a", "nv m", "nv m")
        self.input_tangent = self._call("input_tangent", "t q v", "n_signal nv")
        self.mass_matrix = self._call("mass_matrix", "q", "nnz")
        self.energies = self._call("energies", "t q v", "5")
        self.signals = self._call("signals", "t", "n_input", "n_signal", "n_signal", "n_signal")
        self.project = self._call("project", "t q v tolerance", "nq", "nv")
        self.increment = self._call("increment", "q v", "nq")
        self.node_poses = self._call("node_poses", "q", "n_node 3 3", "n_node 3")
        self.node_twists = self._call("node_twists", "q v", "n_node 6")
        self.node_accelerations = self._call("node_accelerations", "t q v a", "n_node 6")
        self.node_subspaces = self._call("node_subspaces", "q", "n_s")
        self.node_jacobian = self._call("node_jacobian", "q frames", "6 nv")
        poses, rates = ("frames 3 3", "frames 3"), ("frames 3", "frames 3")
        self.frame_poses = self._call("frame_poses", "q frames", *poses)
        self.frame_velocities = self._call("frame_velocities", "q v frames", *poses, *rates)
        self.frame_accelerations = self._call("frame_accelerations", "q v a frames", *poses, *rates, *rates)
        self.frame_jacobian = self._call("frame_jacobian", "q frames", "6 nv")

    def _call(self, name: str, takes: str, *gives: str) -> Call:
        """The function `pl_call_NAME`. takes: names in `pl_arguments`; gives: shapes of names of counts and of numbers."""
        taken = tuple((x, self._sizes[_SIZES[x]] if x in _SIZES else 0) for x in takes.split())
        shapes = tuple(tuple(int(n) if n.isdigit() else self._sizes[n] for n in text.split()) for text in gives)
        return self._module.call(self.caller, address(f"pl_call_{name}"), taken, shapes)


def read_numbers(name: str, values: Any, size: int) -> np.ndarray:
    """A vector as required by evaluations."""
    array = np.ascontiguousarray(values, dtype=float).ravel()
    if array.size != size:
        raise ValueError(f"{name} has {size} numbers in this model, not {array.size}")
    return array


class Program:
    """The compiled equations of a system.

    `table_seconds` and `compile_seconds` are the times to create the tables, and to wait for a compiler.
    """

    def __init__(self, system: System, plan: InputPlan) -> None:
        start = time.perf_counter()
        self.system, self.plan = system, plan
        self.nq, self.nv, self.m = system.q_size, system.v_size, system.rows
        self.tables: Tables = build_tables(system, plan)
        self.table_seconds = time.perf_counter() - start
        self.library = runtime()
        self.kernels = load_kernels(self.tables.libraries)
        self.compile_seconds = self.kernels.compile_seconds
        self._native = self.kernels.is_native
        self.struct = self._fill()
        self._local = threading.local()
        self._callers: list[Any] = []
        self.calls = self.calls_with(read_numbers, finite=False)

    def _fill(self) -> TablesStruct:
        struct = TablesStruct()
        self._arrays: list[Any] = []  # arrays that the struct points to
        counts = self.tables.counts | self.kernels.work_sizes
        for name in COUNTS:
            setattr(struct, name, counts[name])
        for name in INTEGERS:
            setattr(struct, name, self.tables.integers[name].ctypes.data)
        for name in KERNELS:
            slots = self.kernels.slots(self.tables.kernels[name])
            self._arrays.append(slots)
            setattr(struct, name, ctypes.addressof(slots))
        return struct

    @cached_property
    def matrix_pattern(self) -> scipy.sparse.csc_matrix:
        """A matrix with the pattern of K, C and M."""
        pattern = self.tables.pattern
        parts = (np.zeros(pattern.nnz), pattern.indices, pattern.indptr)
        return _in_order(scipy.sparse.csc_matrix(parts, shape=(pattern.size, pattern.size)))

    @cached_property
    def jacobian_pattern(self) -> tuple[np.ndarray, scipy.sparse.csr_matrix]:
        """Position of each value of the constraint Jacobian in a matrix, and this matrix."""
        # position of each value of the constraint Jacobian in a CSR matrix, and a matrix of this pattern
        columns = self.nv
        keys = self.tables.jacobian_rows * columns + self.tables.jacobian_columns
        unique, slots = np.unique(keys, return_inverse=True)
        indptr = np.searchsorted(unique, np.arange(self.m + 1) * columns)
        indices = unique % columns if columns else unique
        parts = (np.zeros(len(unique)), indices.astype(np.int32), indptr.astype(np.int32))
        return slots.ravel(), _in_order(scipy.sparse.csr_matrix(parts, shape=(self.m, columns)))

    @property
    def code_size(self) -> int:
        """Size of the C code derived for the element types of the system [bytes], without the runtime."""
        return self.kernels.source_size

    def memory(self, binding: Binding) -> int:
        """Memory of an evaluation: tables, constants of all elements, and a workspace [bytes]."""
        tables = sum(table.nbytes for table in self.tables.integers.values())
        return tables + binding.constants.nbytes + self.workspace(binding).size

    def workspace(self, binding: Binding) -> Workspace:
        """This thread's workspace, with the values of a binding."""
        try:
            workspace: Workspace = self._local.workspace
        except AttributeError:
            workspace = self._local.workspace = Workspace(self)
        if workspace.handle.bound is not binding:
            workspace.bind(binding)
        if not self._native:
            self.refresh()
        return workspace

    def enter(self, binding: Binding) -> Any:
        """The handle of this thread's workspace, with the values of a binding."""
        return self.workspace(binding).handle

    def calls_with(self, read: Callable[[str, Any, int], np.ndarray], *, finite: bool) -> Calls:
        """Evaluations with this conversion of arguments; see `Calls`."""
        calls = Calls(self, read, finite=finite)
        self._callers.append(calls.caller)
        calls.caller.settled = self._native
        return calls

    def refresh(self) -> None:
        """Activate kernels whose compilation has finished."""
        if not self._native and self.kernels.refresh():
            self._native = True
            for caller in self._callers:
                caller.settled = True


def _in_order(matrix: Any) -> Any:
    """The matrix with its cached check of the index order, which copies inherit."""
    matrix.has_sorted_indices  # noqa: B018
    matrix.has_canonical_format  # noqa: B018
    return matrix
