"""The runtime as engine of a fleet on a GPU: the exported C of the robot, with one thread and one memory arena per robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.analysis.integrators import Method
from pliant.engine.equations import Equations
from pliant.engine.model.model import Model
from pliant.engine.outputs import output_names, output_parts
from pliant.fleet.cpu import Engine, Group, notice_if_long
from pliant.fleet.source import Program, one_source, one_text
from pliant.io import c_text
from pliant.io.export_c import c_files, exported_output_parts
from pliant.language.arguments import ArgumentError

STRAIGHT_LINE_BLOCK = 64
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
            self.launch(kernel, int(fleet["count"]), STRAIGHT_LINE_BLOCK, (fleet, *sizes))

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
        return self._cupy.cuda.compiler.CompileException

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


BLOCK = 32
"""Threads per block."""
QUICK = "--Ofast-compile=mid"
"""Compiles in half a minute instead of five."""


@dataclass(frozen=True)
class Memory:
    """Memory of robots on a GPU."""

    stack: int = 64 * 2**10
    """Stack size of each thread [bytes]."""
    tried: int = 64 * 2**20
    """Bytes of the arena in a trial with one robot, which determines the required size,"""
    tried_steps: int = 20
    """and its number of steps."""
    room: float = 1.25
    """Arena of each robot, relative to the memory used in the trial;"""
    room_for_contacts: float = 4.0
    """the same for robots with contacts, whose number varies."""


MEMORY = Memory()


class CudaRuntimeEngine(Engine):
    """Steps robots by the exported C, in double precision."""

    name = "runtime"

    def __init__(self, eqs: Equations, group: Group, device: Cuda, method: Method) -> None:
        super().__init__(eqs, group, device, constants=len(group.parameters))
        self._eqs, self._group, self._device = eqs, group, device
        self._step = np.float64(method.step or 0.0)
        title = eqs.model.spec.name or "the robot"
        text = program_text(eqs, group, method)
        with notice_if_long(f"pliant: compiling the runtime for a fleet of {title} on the GPU (once; up to a minute)"):
            self._kernels = _compiled(device, text)
        device.reserve_stack(MEMORY.stack)
        self._make(eqs)

    def _make(self, eqs: Equations) -> None:
        """Determine the required memory by a trial with one robot; then create all robots."""
        device, count = self._device, self._group.count
        start = eqs.initial_state()
        one = {name: device.zeros(len(rows), 1, rows.dtype) for name, rows in self.arrays.items()}
        one["q"][:, 0], one["v"][:, 0] = device.read(start.q), device.read(start.v)
        self._memory, self._bytes = device.zeros(MEMORY.tried, 1, np.uint8), MEMORY.tried
        one["robots"] = device.zeros(1, 1, np.uint64)
        self._launch("make", one)
        self._launch("step", one, np.int64(MEMORY.tried_steps), self._step)
        needed = int(self._used(1)[0])
        self._memory = None
        room = MEMORY.room_for_contacts if eqs.model.system.contacts.laws else MEMORY.room
        self._bytes = -(-int(room * needed) // 256) * 256
        self._memory = device.zeros(self._bytes, count, np.uint8)
        self.arrays["robots"] = device.zeros(1, count, np.uint64)
        self._launch("make", self.arrays)

    def _used(self, count: int) -> Any:
        """Maximum memory used by each robot so far [bytes] (count)."""
        most = self._device.zeros(1, count, np.int64)
        arguments = np.int64(count), self._memory, np.int64(self._bytes), most
        self._device.launch(self._kernels["memory"], count, BLOCK, arguments)
        return most[0]

    def _launch(self, kernel: str, arrays: dict[str, Any], *more: Any) -> None:
        fleet = self._device.struct(arrays)
        arguments = (fleet, self._memory, np.int64(self._bytes), *more)
        self._device.launch(self._kernels[kernel], int(fleet["count"]), BLOCK, arguments, shared=8 * BLOCK)

    def put_parameters(self, which: np.ndarray, parameters: np.ndarray) -> None:
        """Parameters of some robots, by index (robots x parameters of the model)."""
        at = [self._eqs.model.parameter_defaults[1][name] for name in self._group.parameters]
        self.arrays["c"][:, self._device.read(which)] = self._device.own(parameters[:, at].T)

    def step(self, n: int) -> None:
        """Advance all robots by n steps."""
        self._launch("step", self.arrays, np.int64(n), self._step)

    def outputs(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Outputs in the current states, one row per component (components x count)."""
        rows = exported_rows(self._eqs.model)
        for name in names:
            if name not in rows:
                raise ArgumentError(
                    f"the output '{name}' counts the energy dissipated since the start, which fleets on a GPU do not keep",
                    "use device='cpu'",
                )
        values = self._values(sum(x.stop - x.start for x in rows.values()), -1)
        return {name: values[rows[name]] for name in names}

    def frame(self, name: str) -> Any:
        """Rotation matrix by rows and position [m] of a frame (12 x count)."""
        return self._values(12, list(self._eqs.model.frames).index(name))

    def _values(self, size: int, frame: int) -> Any:
        values = self._device.zeros(size, self._group.count)
        self._launch("values", {**self.arrays, "values": values}, np.int32(frame))
        return values


def _compiled(device: Cuda, text: str) -> dict[str, Any]:
    """The kernels of a program by name."""

    def kernels(*options: str) -> dict[str, Any]:
        module = device.module(text, "c++20", "-default-device", *options)
        return {name: module.get_function(f"fleet_{name}") for name in ("make", "step", "values", "memory")}

    try:
        return kernels(QUICK)
    except device.compile_error as reason:
        if QUICK.partition("=")[0] not in str(reason):
            raise
        return kernels()  # compilers before CUDA 12.9 have no such option


def exported_rows(model: Model) -> dict[str, slice]:
    """Rows of the values of each output evaluated by the exported C, by name."""
    exported, found, at = exported_output_parts(model), {}, 0
    for name in output_names(model):
        parts = tuple(output_parts(model, name))
        if exported[at : at + len(parts)] == parts:
            found[name] = slice(at, at + len(parts))
            at += len(parts)
    return found


def program_text(eqs: Equations, group: Group, method: Method) -> str:
    """CUDA source of a fleet whose robots are stepped by the runtime."""
    model = eqs.model
    files = c_files(model, method=method.name, step=method.step or 1e-3, coefficients=method.coefficients)
    sources = {path: text for path, text in files.items() if path.endswith((".c", ".h"))}
    return one_text("robots.cu", f"{one_source(sources)}\n{_facts(eqs, group)}")


def _facts(eqs: Equations, group: Group) -> str:
    """C code that sets the values of a fleet in its robots."""
    model = eqs.model
    name, at = c_text.robot_identifier(model.spec.title), model.parameter_defaults[1]
    own, wanted = model.parameter_vector(), eqs.binding.parameters
    others = np.flatnonzero(own != wanted)
    for given in eqs.given_inputs:
        if given not in group.inputs:  # the exported C contains the inputs of the model
            raise ArgumentError(
                f"the input '{given}' is given by `at`, which fleets on a GPU do not support in the runtime",
                f"set it by the fleet: inputs=['{given}', ...]",
            )
    inputs = [eqs.inputs.index(x) for x in group.inputs]
    lines = [
        f"#define ROBOT(word) {name}_##word",
        f"enum {{ NQ = {len(eqs.coordinates)}, NV = {len(eqs.rates)}, N_VALUES = {len(exported_output_parts(model))},",
        f"  FLEET_INPUTS = {len(inputs)}, FLEET_PARAMETERS = {len(group.parameters)}, FLEET_SET = {len(others)} }};",
        c_text.integers("static const int fleet_input", inputs),
        c_text.integers("static const int fleet_parameter", [at[x] for x in group.parameters]),
        c_text.integers("static const int fleet_set", others),
        c_text.numbers("static const double fleet_set_to", wanted[others]),
    ]
    return "\n".join(lines)
