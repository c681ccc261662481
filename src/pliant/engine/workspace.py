"""Memory of an evaluation: a `pl_work` of the runtime.

Each thread has a separate workspace for each program, and so does every time loop. Results do not depend on earlier uses
of a workspace.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.engine.layout import RuntimeStatus
from pliant.engine.libraries import extension_module

if TYPE_CHECKING:
    from pliant.engine.binding import Binding
    from pliant.engine.program import Program


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
