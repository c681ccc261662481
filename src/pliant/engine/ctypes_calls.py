"""Calls of evaluations by ctypes, if there is no extension module: the interface of `extension.c`, about ten times slower."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pliant.engine.layout import ArgumentsStruct

_Evaluation = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class Handle:
    """The address of a workspace, and its binding."""

    def __init__(self, address: int) -> None:
        self.address = address
        self.bound: Any = None


class Caller:
    """Common data of the calls of a program: `enter(binding)` returns the handle for an evaluation, `read(name, value, size)` an
    array,
    `fail(status)` raises."""

    def __init__(
        self,
        enter: Callable[[Any], Any],
        read: Callable[[str, Any, int], np.ndarray],
        fail: Callable[[int], None],
        finite: bool,
        large: bool,
    ) -> None:
        self.enter, self.read, self.fail, self.finite = enter, read, fail, finite
        self.settled = False


def call(
    caller: Caller, address: int, takes: tuple[tuple[str, int], ...], gives: tuple[tuple[int, ...], ...]
) -> Callable[..., Any]:
    """The function of a runtime's evaluation. takes: pairs of a name in `pl_arguments` and a size; gives: shapes, in which -1 is
    the number of frames."""
    function = _Evaluation(address)

    def evaluate(binding: Any, *values: Any) -> Any:
        arguments, kept = ArgumentsStruct(), []
        for (name, size), value in zip(takes, values, strict=True):
            if name in ("t", "tolerance"):
                setattr(arguments, name, _real(name, value, finite=caller.finite))
                continue
            if name == "frames":
                arguments.count = len(value)
            else:
                value = caller.read(name, value, size)
            kept.append(value)
            setattr(arguments, name, value.ctypes.data)
        results = [np.empty([arguments.count if n == -1 else n for n in shape]) for shape in gives]
        out = (ctypes.c_void_p * len(results))(*(result.ctypes.data for result in results))
        status = function(caller.enter(binding).address, ctypes.byref(arguments), out)
        if status:
            caller.fail(status)
        return results[0] if len(results) == 1 else tuple(results)

    return evaluate


def _real(name: str, value: Any, *, finite: bool) -> float:
    """A number as a C argument."""
    try:
        number = ctypes.c_double(value).value
    except TypeError:
        number, finite = math.nan, True
    if finite and not math.isfinite(number):
        raise ValueError(f"{name} must be a finite number, not {value!r}")
    return number


def address(array: np.ndarray) -> int:
    """The address of an array's data."""
    return int(array.ctypes.data)
