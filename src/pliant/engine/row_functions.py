"""CasADi functions evaluated for many rows in one call, during which the GIL is released."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import casadi as ca
import numpy as np

from pliant.engine.interface import runtime
from pliant.engine.libraries import extension_module, virtual_kernel
from pliant.engine.workspace import check


class RowFunction:
    """A function of vectors (SX), evaluated row by row in the runtime."""

    def __init__(self, function: ca.Function) -> None:
        self._struct = virtual_kernel(function)
        self._kernel, self._library = ctypes.addressof(self._struct), runtime()
        self._sizes = np.array(
            [function.sz_arg(), function.sz_res(), function.sz_iw(), function.sz_w()], dtype=np.int32
        )
        self._inputs = [function.numel_in(i) for i in range(function.n_in())]
        self._outputs = [function.numel_out(i) for i in range(function.n_out())]
        self._steps = np.array(self._outputs, dtype=np.int32)

    @property
    def addresses(self) -> tuple[int, int, int]:
        """Arrays of its kernel, of the sizes of its results, and of its work sizes."""
        address = extension_module().address
        return self._kernel, address(self._steps), address(self._sizes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the results."""
        return tuple(self._outputs)

    def __call__(self, count: int, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Its results, each count x size; an argument is one vector for all rows, or an array with one row each."""
        given = [np.ascontiguousarray(x, dtype=float) for x in arguments]
        for x, size in zip(given, self._inputs, strict=True):
            if x.shape not in ((size,), (count, size)):
                raise ValueError(f"an argument of {size} numbers for {count} rows cannot have the shape {x.shape}")
        found = [np.empty((count, size)) for size in self._outputs]
        steps = np.array([size if x.ndim == 2 else 0 for x, size in zip(given, self._inputs, strict=True)], np.int32)
        address = extension_module().address
        check(
            self._library.pl_rows(
                self._kernel, count, len(given), _addresses(given), address(steps), len(found), _addresses(found),
                address(self._steps), address(self._sizes),
            )
        )  # fmt: skip
        return found


def _addresses(arrays: Sequence[np.ndarray]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * max(1, len(arrays)))(*map(extension_module().address, arrays))
