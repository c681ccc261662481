"""The runtime as engine of a fleet on a GPU: the exported C of the robot, with one thread and one memory arena per robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.analysis.integrators import Method
from pliant.engine.equations import Equations
from pliant.engine.model.model import Model
from pliant.engine.outputs import output_names, output_parts
from pliant.fleet.cuda import Cuda
from pliant.fleet.engine import Engine, Group, notice_if_long
from pliant.fleet.source import one_source, one_text
from pliant.io import c_text
from pliant.io.export_c import c_files, exported_output_parts
from pliant.language.arguments import ArgumentError

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
