"""Thousands of robots in parallel: states, inputs and parameters as arrays, stepped together on all cores or a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from pliant.analysis.integrators import Method
from pliant.analysis.numerics.state import INITIAL, AssembledState, Start, assemble
from pliant.analysis.states import state_at
from pliant.engine.core import check_names
from pliant.engine.equations import Equations, need_equations
from pliant.engine.model.limits import refused_cases
from pliant.engine.outputs import output_names
from pliant.fleet.cpu import Cpu, Engine, Group
from pliant.fleet.cuda_runtime_engine import Cuda, CudaRuntimeEngine
from pliant.fleet.methods import fleet_method
from pliant.fleet.robot import commanded_inputs, refuse
from pliant.fleet.runtime_engine import RuntimeEngine
from pliant.fleet.source import TooLong, why_no_straight_line
from pliant.fleet.straight_line_engine import StraightLineEngine
from pliant.language.arguments import ArgumentError, choice, is_number, mapping, name_tuple, real, whole


def is_arrays(start: Any) -> bool:
    """Whether a start consists of positions and rates with one row per robot."""
    return isinstance(start, tuple) and len(start) == 2 and all(len(getattr(x, "shape", ())) == 2 for x in start)


def assembled_start(eqs: Equations, start: Any = None) -> AssembledState:
    """The state for a start as for `simulate`, on the constraints; that of the model if None, or if robots have different
    starts."""
    given = eqs.model.spec.start if start is None or is_arrays(start) else start
    state = state_at(eqs, given, 0.0, where="start")
    return assemble(eqs, eqs.binding, 0.0, state.q, state.v, state.given)


def rows_in_force(start: AssembledState) -> tuple[list[int], list[float]]:
    """Active constraint rows, by index, and the reference sizes of their values."""
    rows = np.flatnonzero(start.bound.row_active)
    if not len(rows):
        return [], []
    return rows.tolist(), start.bound.constraint_sizes(0.0, start.q, start.v)[rows].tolist()


def starts_of_each(
    eqs: Equations, parameters: np.ndarray, names: tuple[str, ...], start: Any, which: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Positions and rates (nq x which, nv x which) that follow from the parameters of each robot (robots x parameters), of which
    those named differ, for the robots with the indices `which`. Loops are closed, and equilibria computed, robot by robot.

    Raises ValueError with the number of the robot that has none.
    """
    model = eqs.model
    word = model.spec.start if start is None else start
    if isinstance(word, str) and word == INITIAL and not model.system.rows:
        found = [
            np.asarray(x, dtype=float).reshape(-1, len(which), order="F") for x in model.initial(parameters[which].T)
        ]
        return found[0], found[1]
    at = [model.parameter_defaults[1][name] for name in names]
    made = []
    for robot, values in zip(which.tolist(), parameters[which][:, at].tolist(), strict=True):
        try:
            made.append(assembled_start(eqs.at(parameters=dict(zip(names, values, strict=True))), start))
        except (ValueError, RuntimeError) as reason:
            raise ValueError(f"robot {robot}: {reason}") from reason
    return np.column_stack([x.q for x in made]), np.column_stack([x.v for x in made])


class FramePoses(NamedTuple):
    """Poses of a frame in the world: rotation matrices (count x 3 x 3) and positions (count x 3) [m]."""

    rotation: Any
    position: Any


class Fleet:
    """Many independent copies of one robot, stepped together with fixed steps.

    Every robot has its own state, time, inputs and, if given as arrays, parameters. Arrays have one row per robot. They are
    views of the fleet's memory and may be written to: NumPy arrays on the CPU, CuPy arrays on a GPU. Other libraries share
    them without a copy (`torch.from_dlpack(fleet.q)`). Robots that diverge keep their last valid state and are marked in
    `failed`; the others continue. Results are deterministic and do not depend on the number of threads.

    Attributes:
        q, v: positions (count x nq) and rates (count x nv), in the order of `eqs.coordinates` and `eqs.rates` (SI units).
        time: times of the robots [s] (count), in double precision.
        inputs: held inputs (count x inputs), in the order of `input_names` (SI units).
        failed: whether each robot has diverged (count).
    """

    def __init__(
        self, eqs: Equations, count: int, *, device: Literal["cpu", "cuda"] = "cpu",
        precision: Literal["double", "single"] | None = "double", method: Method | str | None = None,
        step: float | None = None, inputs: str | Sequence[str] | None = None,
        parameters: Mapping[str, Any] | None = None, start: Start = None, threads: int | None = None,
    ) -> None:  # fmt: skip
        """Generate and compile the code of the robot's equations, and set all robots to their initial state.

        eqs: the equations, with their inputs and parameters (`eqs.at`).
        count: number of robots.
        device: "cpu" or "cuda".
        precision: "double" or "single"; None for single with straight-line code and double in the runtime.
        method: an integrator with a fixed step or its name: "explicit", "symplectic_euler", "semi_implicit", or
            "implicit", the default.
        step: step [s] of a method given by name.
        inputs: names of the inputs that are set for each robot; by default all constant ones. The others follow the model.
        parameters: by name, a number for all robots or an array with one for each (SI units).
        start: as for `simulate`; None: that of the model.
        threads: threads on the CPU; None: one per core.
        """
        need_equations(eqs)
        self.count = whole("count", count, least=1)
        threads = None if threads is None else whole("threads", threads, least=1)
        self.method = fleet_method(method, step)
        numbers, arrays = _split(mapping("parameters", parameters), self.count)
        check_names("parameter", arrays, eqs.parameters)
        self.eqs = eqs.at(parameters=numbers)
        names = commanded_inputs(self.eqs, name_tuple(inputs, "inputs"))
        check_names("input", names, eqs.inputs)
        self._precision_is_free = precision is None
        wanted = "single" if precision is None else choice("precision", precision, ("double", "single"))
        self._device = _device(choice("device", device, ("cpu", "cuda")), wanted, threads)
        self._start_given = start
        refuse(self.eqs)
        self._group = Group(self.count, names, tuple(arrays))
        self._engine = self._made_engine(assembled_start(self.eqs, start))
        self._arrays = self._engine.arrays
        self._parameters = np.repeat(self.eqs.binding.parameters[None], self.count, axis=0)
        self.set_parameters(arrays)
        self._hold_inputs()
        self.reset()

    def _made_engine(self, start: AssembledState) -> Engine:
        """Straight-line code if the robot permits it, else the runtime."""
        reason = why_no_straight_line(self.eqs, self.method)
        if not reason:
            try:
                return StraightLineEngine(self.eqs, self._group, self._device, self.method, *rows_in_force(start))
            except TooLong as found:
                reason = str(found)
        if self._precision_is_free:
            self._device = _device(self._device.name, "double", getattr(self._device, "threads", None))
        if self._device.precision == "single":
            raise ArgumentError(
                f"{reason}, so the runtime steps it, which has double precision only", "leave out precision='single'"
            )
        if isinstance(self._device, Cuda):
            return CudaRuntimeEngine(self.eqs, self._group, self._device, self.method)
        return RuntimeEngine(self.eqs, self._group, self._device, self.method, start.bound)

    def _hold_inputs(self) -> None:
        held = dict(zip(self.eqs.inputs, self.eqs.input_vector(), strict=True))
        for k, name in enumerate(self.input_names):
            self._arrays["u"][k] = 0.0 if np.isnan(held[name]) else held[name]

    def __repr__(self) -> str:
        name = self.eqs.model.spec.name or "robot"
        return (
            f"Fleet of {self.count} x {name} on the {self._device.name}, {self._device.precision} precision, "
            f"{self.method.describe()}"
        )

    def __len__(self) -> int:
        return self.count

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in self.__dict__.items() if name not in ("_engine", "_arrays")}
        kept["_device"] = self._device.name, self._device.precision, getattr(self._device, "threads", None)
        kept["_arrays"] = {name: to_numpy(self._arrays[name]) for name in ("q", "v", "u", "time", "status")}
        kept["_start"] = tuple(to_numpy(values) for values in self._start)
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept, _device=_device(*kept["_device"]))
        self._engine = self._made_engine(assembled_start(self.eqs, self._start_given))  # with separate memory
        self._arrays = self._engine.arrays
        if self.parameter_names:
            self._engine.put_parameters(np.arange(self.count), self._parameters)
        for name, values in kept["_arrays"].items():
            self._arrays[name][...] = self._device.read(values)
        self._start = tuple(self._device.own(values) for values in kept["_start"])

    # -- arrays ---------------------------------------------------------------------------------------------------------------

    @property
    def q(self) -> Any:
        """Positions (count x nq)."""
        return self._columns("q")

    @property
    def v(self) -> Any:
        """Rates (count x nv)."""
        return self._columns("v")

    @property
    def inputs(self) -> Any:
        """Held inputs (count x inputs)."""
        return self._columns("u")

    @property
    def time(self) -> Any:
        """Times [s] (count)."""
        return self._arrays["time"][0, : self.count]

    @property
    def failed(self) -> Any:
        """Whether each robot has diverged (count)."""
        return self._arrays["status"][0, : self.count] != 0

    @property
    def engine(self) -> str:
        """The engine: "straight-line code" of this robot, or the "runtime", which supports every robot."""
        return self._engine.name

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs that are set for each robot."""
        return self._group.inputs

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the parameters that differ between robots."""
        return self._group.parameters

    def _columns(self, name: str) -> Any:
        return self._arrays[name][:, : self.count].T

    # -- actions -----------------------------------------------------------------------------------------------

    def reset(self, mask: Any = None, *, start: Any = None) -> None:
        """Reset robots to their initial states at time 0: all, or those of a mask (booleans or indices).

        start: new initial state: as for `simulate`, or `(q, v)` with a row for each robot of the fleet.
        """
        if start is not None or not hasattr(self, "_start"):
            self._start = self._starts(self._start_given if start is None else start)
        which = slice(0, self.count) if mask is None else self._indices(mask)
        for name, values in zip("qv", self._start, strict=True):
            self._arrays[name][:, which] = values[:, which]
        self._arrays["time"][0, which] = 0.0
        self._arrays["status"][0, which] = 0

    def step(self, inputs: Any = None, n: int = 1) -> None:
        """Advance all robots by n steps with constant inputs: an array (count x inputs), or numbers and arrays by name.

        Inputs that are not given are unchanged.
        """
        n = whole("n", n, least=0)
        if inputs is not None:
            self.set_inputs(inputs)
        if n:
            self._engine.step(n)

    def set_inputs(self, inputs: Any) -> None:
        """Set inputs: an array (count x inputs), or numbers and arrays (count) by name (SI units)."""
        if isinstance(inputs, Mapping):
            check_names("input", inputs, self.input_names)
            for name, values in inputs.items():
                row = self._arrays["u"][self.input_names.index(name), : self.count]
                row[...] = self._shaped(f"the input '{name}'", values, (self.count,))
            return
        shape = self.count, len(self.input_names)
        self.inputs[...] = self._shaped("inputs", inputs, shape)

    def set_parameters(self, parameters: Mapping[str, Any], mask: Any = None) -> None:
        """Set parameters that differ between robots; initial states that depend on them change at the next reset.

        parameters: by name, an array with a value for each robot of the fleet, or for each of the mask.
        """
        given = mapping("parameters", parameters)
        if not given:
            return
        check_names("parameter of each robot", given, self.parameter_names)
        which = np.arange(self.count) if mask is None else np.asarray(to_numpy(self._indices(mask)))
        if not which.size:
            return
        at = self.eqs.model.parameter_defaults[1]
        columns = {
            name: np.broadcast_to(np.asarray(to_numpy(x), dtype=float), which.shape) for name, x in given.items()
        }
        for k, reason in enumerate(refused_cases(self.eqs.model, self.eqs.given_parameters, columns)):
            if reason is not None:
                raise ArgumentError(f"robot {which[k]}: {reason}")
        for name, column in columns.items():
            self._parameters[which, at[name]] = column
        self._engine.put_parameters(which, self._parameters[which])
        if hasattr(self, "_start") and not is_arrays(self._start_given):
            starts = starts_of_each(self.eqs, self._parameters, self.parameter_names, self._start_given, which)
            for rows, values in zip(self._start, starts, strict=True):
                rows[:, self._device.read(which)] = self._device.own(values)

    def outputs(self, names: str | Sequence[str] | None = None) -> dict[str, Any]:
        """Outputs of the model at the current states: arrays (count), or (count x numbers) of vectors, by name."""
        wanted = name_tuple(names) or output_names(self.eqs.model)
        check_names("output", wanted, output_names(self.eqs.model))
        if not wanted:
            return {}
        outputs = self._engine.outputs(wanted)
        return {name: rows[0].copy() if len(rows) == 1 else rows.T.copy() for name, rows in outputs.items()}

    def frame(self, name: str) -> FramePoses:
        """Poses of a frame at the current states."""
        check_names("frame", [name], self.eqs.model.frames)
        values = self._engine.frame(name)
        return FramePoses(values[:9].T.reshape(self.count, 3, 3).copy(), values[9:].T.copy())

    # -- helpers --------------------------------------------------------------------------------------------------------------

    def _starts(self, given: Any) -> tuple[Any, Any]:
        """Initial positions and rates of robots (nq x count, nv x count)."""
        self._start_given = given
        if is_arrays(given):
            sizes = len(self.eqs.coordinates), len(self.eqs.rates)
            q, v = (self._shaped("start", x, (self.count, n)) for x, n in zip(given, sizes, strict=True))
            return self._device.own(q.T), self._device.own(v.T)
        if self.parameter_names:
            every = np.arange(self.count)
            q, v = starts_of_each(self.eqs, self._parameters, self.parameter_names, given, every)
        else:
            made = assembled_start(self.eqs, given)
            q, v = (np.repeat(np.asarray(x)[:, None], self.count, axis=1) for x in (made.q, made.v))
        return self._device.own(q), self._device.own(v)

    def _indices(self, mask: Any) -> Any:
        """Indices of robots from a mask or from indices."""
        indices = self._device.read(mask)
        if indices.dtype == bool:
            if indices.shape != (self.count,):
                raise ArgumentError(f"the mask must have {self.count} booleans; its shape is {indices.shape}")
            return indices.nonzero()[0]
        if indices.dtype.kind not in "iu" or indices.ndim != 1:
            raise ArgumentError("the mask must be one-dimensional, with booleans or indices of robots")
        if indices.size and (int(indices.min()) < 0 or int(indices.max()) >= self.count):
            raise ArgumentError(f"indices of robots range from 0 to {self.count - 1}")
        return indices

    def _shaped(self, what: str, values: Any, shape: tuple[int, ...]) -> Any:
        """An array on the device, of this shape or from a number for all."""
        shaped = self._device.read(values)
        if shaped.ndim and shaped.shape != shape:
            wanted = " x ".join(str(n) for n in shape)
            raise ArgumentError(f"{what} must be an array of {wanted}; its shape is {shaped.shape}")
        return shaped


def to_numpy(values: Any) -> Any:
    """An array of a fleet as a NumPy array, on any device; other values are returned unchanged."""
    return values.get() if hasattr(values, "get") and not isinstance(values, Mapping) else values


def _split(parameters: dict[str, Any], count: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Parameters with one number for all robots, and those with one for each."""
    numbers = {name: value for name, value in parameters.items() if is_number(value) or isinstance(value, str)}
    arrays = {name: value for name, value in parameters.items() if name not in numbers}
    for name, value in arrays.items():
        shape = value.shape if hasattr(value, "shape") else real(f"the parameter '{name}'", value).shape
        if shape != (count,):
            raise ArgumentError(f"the parameter '{name}' must be a number or an array of {count}; its shape is {shape}")
    return numbers, arrays


def _device(name: str, precision: str, threads: int | None) -> Any:
    if name == "cpu":
        return Cpu(precision, threads)
    if threads is not None:
        raise ArgumentError("`threads` applies to the CPU only", "omit threads with device='cuda'")
    return Cuda(precision)
