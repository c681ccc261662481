"""A system prepared for evaluation: tables, runtime and kernels. Immutable, so that any number of threads may share it."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from pliant.engine.calls import Calls, read_numbers
from pliant.engine.layout import COUNTS, INTEGERS, KERNELS, TablesStruct
from pliant.engine.libraries import load_kernels, runtime
from pliant.engine.model.inputs import InputPlan
from pliant.engine.model.system import System
from pliant.engine.tables import Tables, build_tables
from pliant.engine.workspace import Workspace

if TYPE_CHECKING:
    from pliant.engine.binding import Binding


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
