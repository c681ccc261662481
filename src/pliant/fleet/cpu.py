"""Fleets on the CPU: vector lanes, one thread per core."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pliant.engine.compiling import NoCompiler
from pliant.engine.equations import Equations
from pliant.engine.libraries import build_fast_library
from pliant.fleet.source import Program, code_file
from pliant.language.arguments import ArgumentError
from pliant.language.message_text import describe


@dataclass(frozen=True)
class Group:
    """Number of robots, the inputs that are set for each, and the parameters that differ, by name."""

    count: int
    inputs: tuple[str, ...]
    parameters: tuple[str, ...]


class Engine(ABC):
    """Arrays of a fleet, with a column per robot, and the functions that advance and evaluate them.

    arrays: `q`, `v`, `u` (inputs), `c` (constants that differ between robots), `time` and `status` (0 unless a robot has diverged).
    """

    name: ClassVar[str]

    def __init__(self, eqs: Equations, group: Group, device: Any, *, constants: int) -> None:
        columns = device.columns(group.count)
        rows = {"q": len(eqs.coordinates), "v": len(eqs.rates), "u": len(group.inputs), "c": constants}
        self.arrays = {name: device.zeros(n, columns) for name, n in rows.items()}
        self.arrays["time"] = device.zeros(1, columns, np.float64)
        self.arrays["status"] = device.zeros(1, columns, np.int32)
        self.arrays["status"][0, group.count :] = 1  # padding columns

    @abstractmethod
    def put_parameters(self, which: np.ndarray, parameters: np.ndarray) -> None:
        """Parameters of some robots, by index (robots x parameters of the model)."""

    @abstractmethod
    def step(self, n: int) -> None:
        """Advance all robots by n steps."""

    @abstractmethod
    def outputs(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Outputs in the current states, one row per component (components x count)."""

    @abstractmethod
    def frame(self, name: str) -> Any:
        """Rotation matrix by rows and position [m] of a frame (12 x count)."""


# -- messages on stderr ------------------------------------------------------------------------------------------------

PATIENCE = 2.0
"""Seconds after which a line on stderr states that a program is being compiled."""


@contextmanager
def notice_if_long(words: str) -> Iterator[None]:
    """Write a line to stderr if the work in this context takes longer than a moment."""
    timer = threading.Timer(PATIENCE, lambda: print(words, file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


COLUMNS = 16
"""The number of robots is rounded up to a multiple of this: full vectors for any processor and precision."""
FILES = ("lanes.h", "fleet.h", "arrays.h", "steps.h", "loop.h", "values.h")
FLAGS = ("-std=gnu11", "-O2", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-w")
"""-O1 takes two thirds of the time to compile, and a third more to step."""
ALIGNMENT = 64


class FleetStruct(ctypes.Structure):
    """`fleet` of arrays.h."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("time", "q", "v", "u", "c", "status", "values", "robots")),
        *((name, ctypes.c_longlong) for name in ("stride", "count")),
    )


class Cpu:
    """The CPU as a device of fleets. precision: "double" or "single"; threads: maximum number, all cores if None."""

    name = "cpu"

    def __init__(self, precision: str, threads: int | None) -> None:
        self.precision = precision
        self.real = np.dtype(np.float64 if precision == "double" else np.float32)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.threads = cores if threads is None else threads
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None

    def columns(self, count: int) -> int:
        """Number of columns of arrays for this number of robots."""
        return -(-count // COLUMNS) * COLUMNS

    def zeros(self, rows: int, columns: int, kind: Any = None) -> np.ndarray:
        """An array of zeros, with this device's precision unless `kind` is given."""
        kind = np.dtype(self.real if kind is None else kind)
        memory = np.zeros(rows * columns * kind.itemsize + ALIGNMENT, dtype=np.uint8)
        start = -memory.ctypes.data % ALIGNMENT
        return memory[start : start + rows * columns * kind.itemsize].view(kind).reshape(rows, columns)

    def read(self, values: Any) -> np.ndarray:
        """An array from a caller's value, without a copy if possible."""
        if hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray):
            device, _ = values.__dlpack_device__()
            if device != 1:
                raise ArgumentError(
                    "the fleet is on the CPU, but this array is not", "move it there, or use device='cuda'"
                )
            return np.from_dlpack(values)
        try:
            return np.asarray(values)
        except (TypeError, ValueError):
            raise ArgumentError(f"an array of numbers is needed, not {describe(values)}") from None

    def own(self, values: np.ndarray) -> np.ndarray:
        """Numbers as an array with this device's precision."""
        return np.ascontiguousarray(values).astype(self.real)

    def each(self, count: int, function: Callable[[int], None]) -> None:
        """Call a function for each robot, in threads."""
        shares = 1 if self._pool is None else min(count, 4 * self.threads)
        ends = [count * k // shares for k in range(shares + 1)]

        def share(k: int) -> None:
            for robot in range(ends[k], ends[k + 1]):
                function(robot)

        if self._pool is None:
            share(0)
        else:
            list(self._pool.map(share, range(shares)))

    def load(self, program: Program) -> Callable[..., None]:
        """The compiled program: `run(arrays, *more)` for its arrays by name, and the number of steps and step size if it steps."""
        sources = {"cpu.c": code_file("cpu.c"), "robot.h": program.robot_file}
        sources |= {name: code_file(name) for name in FILES}
        single = ("-DFLEET_SINGLE",) if self.precision == "single" else ()
        try:
            library = ctypes.CDLL(str(build_fast_library("fleet", sources, ["cpu.c"], (*FLAGS, *single))))
        except NoCompiler as reason:
            raise ArgumentError(f"a fleet on the CPU is compiled: {reason}", "pip install 'pliant[compiler]'") from None
        steps = "WITH_STEPS" in program.macros
        function = library.fleet_step if steps else library.fleet_values
        function.restype = None
        function.argtypes = [ctypes.POINTER(FleetStruct), ctypes.c_longlong, ctypes.c_longlong]
        function.argtypes += [ctypes.c_longlong, ctypes.c_double] if steps else []

        def run(arrays: dict[str, np.ndarray], *more: Any) -> None:
            stride = arrays["time"].shape[1]
            places = {name: array.ctypes.data for name, array in arrays.items()}
            self._in_threads(function, FleetStruct(**places, stride=stride, count=stride), stride, more)

        return run

    def _in_threads(self, function: Any, fleet: FleetStruct, columns: int, more: tuple[Any, ...]) -> None:
        groups = columns // COLUMNS
        if self._pool is None or groups == 1:
            function(fleet, 0, columns, *more)
            return
        # a few chunks for each thread, for load balancing
        shares = min(groups, 4 * self.threads)
        ends = [COLUMNS * (groups * k // shares) for k in range(shares + 1)]
        list(self._pool.map(lambda k: function(fleet, ends[k], ends[k + 1], *more), range(shares)))
