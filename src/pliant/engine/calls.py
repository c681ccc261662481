"""Evaluations of the runtime as Python functions: arguments, results and calling convention.

Calls use a small extension module (`extension.c`), which ships compiled with the package like the runtime, or is compiled into
the cache if a compiler and the headers of Python and NumPy are available; otherwise ctypes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.engine.libraries import address, extension_module
from pliant.engine.workspace import check

if TYPE_CHECKING:
    from pliant.engine.program import Program

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
        function: Call = self._module.call(self.caller, address(f"pl_call_{name}"), taken, shapes)
        return function


def read_numbers(name: str, values: Any, size: int) -> np.ndarray:
    """A vector as required by evaluations."""
    array = np.ascontiguousarray(values, dtype=float).ravel()
    if array.size != size:
        raise ValueError(f"{name} has {size} numbers in this model, not {array.size}")
    return array
