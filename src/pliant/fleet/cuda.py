"""Fleets on an NVIDIA GPU: one thread per robot. CuPy compiles the program at run time (NVRTC), so no toolkit is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pliant.fleet.source import Program, one_text
from pliant.language.arguments import ArgumentError

BLOCK = 64
"""Threads per block: programs use all registers of a thread."""
POINTERS = ("time", "q", "v", "u", "c", "status", "values", "robots")
STRUCT = np.dtype([*((name, np.uint64) for name in POINTERS), ("stride", np.int64), ("count", np.int64)])
"""`fleet` of arrays.h."""
STACK_SIZE = 0
"""`cudaLimitStackSize`."""
ON_THE_CPU = "use device='cpu', which needs no GPU"


class Cuda:
    """The current GPU, as a device of fleets. precision: "double" or "single"."""

    name = "GPU"

    def __init__(self, precision: str) -> None:
        self.precision = precision
        self.real = np.dtype(np.float64 if precision == "double" else np.float32)
        self._cupy = _cupy()

    def columns(self, count: int) -> int:
        """Number of columns of arrays for this number of robots."""
        return count

    def zeros(self, rows: int, columns: int, kind: Any = None) -> Any:
        """An array of zeros, with this device's precision unless `kind` is given."""
        kind = np.dtype(self.real if kind is None else kind)
        try:
            return self._cupy.zeros((rows, columns), dtype=kind)
        except self._cupy.cuda.memory.OutOfMemoryError:
            free, total = self._cupy.cuda.runtime.memGetInfo()
            raise ArgumentError(
                f"the GPU does not have enough memory for {rows} x {columns} numbers "
                f"({rows * columns * kind.itemsize / 1e9:.3g} GB; {free / 1e9:.3g} of {total / 1e9:.3g} GB are free)",
                "use fewer robots, or precision='single'",
            ) from None

    def read(self, values: Any) -> Any:
        """An array on the GPU from a caller's value, without a copy if it is already there."""
        if isinstance(values, self._cupy.ndarray):
            return values
        if hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray) and values.__dlpack_device__()[0] == 2:
            return self._cupy.from_dlpack(values)
        return self._cupy.asarray(np.asarray(values))

    def own(self, values: np.ndarray) -> Any:
        """Numbers as an array on the GPU, with this device's precision."""
        return self.read(np.ascontiguousarray(values)).astype(self.real)

    def load(self, program: Program) -> Callable[..., None]:
        """The compiled program: `run(arrays, *more)` for its arrays by name, and the number of steps and step size if it steps."""
        steps = "WITH_STEPS" in program.macros
        module = self.module(one_text("cuda.cu", program.robot_file))
        kernel = module.get_function("fleet_step" if steps else "fleet_values")

        def run(arrays: dict[str, Any], *more: Any) -> None:
            fleet = self.struct(arrays)
            sizes = (np.int64(more[0]), np.float64(more[1])) if steps else ()
            self.launch(kernel, int(fleet["count"]), BLOCK, (fleet, *sizes))

        return run

    def module(self, text: str, standard: str = "c++17", *more: str) -> Any:
        """Compiled CUDA source; `more` are options of the compiler."""
        options = (f"-std={standard}", *more)
        if self.precision == "single":
            options += ("-DFLEET_SINGLE", "-ftz=true", "-prec-div=false", "-prec-sqrt=false")
        return self._cupy.RawModule(code=text, options=options)

    @property
    def compile_error(self) -> type[Exception]:
        """The exception raised if a program does not compile."""
        found: type[Exception] = self._cupy.cuda.compiler.CompileException
        return found

    def reserve_stack(self, size: int) -> None:
        """Set the stack size of threads to at least this value [bytes]."""
        runtime = self._cupy.cuda.runtime
        if runtime.deviceGetLimit(STACK_SIZE) < size:
            runtime.deviceSetLimit(STACK_SIZE, size)

    def struct(self, arrays: dict[str, Any]) -> Any:
        """The arrays of a fleet, by name, as arguments of its kernels."""
        fleet = np.zeros(1, STRUCT)
        for name, array in arrays.items():
            fleet[name] = array.data.ptr
        fleet["stride"] = fleet["count"] = arrays["time"].shape[1]
        return fleet[0]

    def launch(self, kernel: Any, count: int, block: int, arguments: tuple[Any, ...], *, shared: int = 0) -> None:
        """Run a kernel with one thread per robot, in blocks of `block`; shared: bytes of shared memory per block."""
        try:
            kernel((-(-count // block),), (block,), arguments, shared_mem=shared)
        except self._cupy.cuda.driver.CUDADriverError as reason:
            if "OUT_OF_MEMORY" not in str(reason):
                raise
            # each resident thread has separate memory for spilled registers
            raise ArgumentError(
                "the GPU does not have enough memory for the local variables of the threads",
                "free GPU memory of other libraries (cupy, torch), or use precision='single'",
            ) from None


def _cupy() -> Any:
    """CuPy, if a GPU is available; raises an error otherwise."""
    try:
        import cupy
    except ImportError:
        raise ArgumentError(
            "device='cuda' needs CuPy, which is not installed", f"pip install cupy-cuda13x (or 12x), or {ON_THE_CPU}"
        ) from None
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as reason:
        raise ArgumentError(f"no CUDA GPU is available: {reason}", ON_THE_CPU) from None
    if not count:
        raise ArgumentError("no CUDA GPU is available", ON_THE_CPU)
    return cupy
