"""Memory that one evaluation works in: a `pl_work` of the runtime, and places for arguments and results.

A thread has a workspace of its own for each program, and so has every time loop. Nothing that an evaluation returns depends on
what its workspace was used for before.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.equations.layout import RuntimeStatus, ViewStruct

if TYPE_CHECKING:
    from pliant.equations.binding import Binding
    from pliant.equations.program import Program


class EvaluationError(RuntimeError):
    """The equations have no answer in this state."""


def check(status: int) -> None:
    """Raise EvaluationError unless an evaluation has succeeded."""
    if status:
        raise EvaluationError(RuntimeStatus(status).failure)


class Work:
    """A `pl_work` of the runtime."""

    def __init__(self, program: Program) -> None:
        self.library = program.library
        self._tables = program.struct  # the runtime keeps its address
        self.bound: Binding | None = None
        self.address: int | None = self.library.pl_work_new(ctypes.byref(program.struct))
        if not self.address:
            check(RuntimeStatus.OUT_OF_MEMORY)

    def __del__(self) -> None:
        if getattr(self, "address", None):
            self.library.pl_work_free(self.address)

    def bind(self, binding: Binding) -> None:
        """Put the values of a binding in force; the runtime reads them where they are."""
        self.library.pl_bind(self.address, binding.address)
        self.bound = binding

    @property
    def size(self) -> int:
        """Memory that it holds [bytes]."""
        return int(self.library.pl_work_bytes(self.address))

    @property
    def evaluations(self) -> int:
        """How often the whole system has been evaluated here."""
        return int(self.library.pl_evaluations(self.address))


class Workspace(Work):
    """One with the arrays through which arguments and results pass."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        view = ViewStruct()
        self.library.pl_work_view(self.address, ctypes.byref(view))
        counts = program.tables.counts
        nv, m, nodes, inputs, signals = (counts[name] for name in ("nv", "m", "n_node", "n_input", "n_signal"))
        self.q, self.v = Argument("q", counts["nq"]), Argument("v", nv)
        self.a, self.given_multipliers = Argument("a", nv), Argument("multipliers", m)
        self.result = Argument("result", nv)
        self.multipliers = array_at(view.multipliers, m)
        self.residual = array_at(view.rhs, nv)
        self.stiffness, self.damping, self.mass = (array_at(x, counts["nnz"]) for x in (view.K, view.C, view.M))
        self.constraint_value, self.constraint_rate = array_at(view.phi, m), array_at(view.phi_rate, m)
        self.constraint_bias, self.jacobian = array_at(view.gamma, m), array_at(view.Jval, counts["nnz_j"])
        # column-major rotation matrices
        self.rotations = array_at(view.R, 9 * nodes).reshape(nodes, 3, 3).transpose(0, 2, 1)
        self.positions = array_at(view.p, 3 * nodes).reshape(nodes, 3)
        self.twists, self.accelerations = (array_at(x, 6 * nodes).reshape(nodes, 6) for x in (view.V, view.A))
        self.subspaces = array_at(view.S, counts["n_s"])
        self.inputs, self.signals = array_at(view.input, inputs), array_at(view.signal, signals)
        self.signal_rates = array_at(view.signal_rate, signals)
        self.signal_accelerations = array_at(view.signal_acceleration, signals)

    def kinematics(self, t: float, q: Any, v: Any) -> None:
        """Signals, poses, twists and forces of a state."""
        at_q, at_v = self.q(q), self.v(v)
        self.library.pl_signals(self.address, t)
        self.library.pl_kinematics(self.address, at_q, at_v)
        self.library.pl_forces(self.address, at_q, at_v)


class Argument:
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


def array_at(address: int | None, size: int) -> np.ndarray:
    """Numbers in the runtime's memory as an array."""
    if not size or address is None:
        return np.zeros(0)
    return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_double)), (size,))
