"""Simulated motions: states over time with names, and what follows from them: frames, energies, outputs, constraint errors."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy
from numpy.lib.mixins import NDArrayOperatorsMixin

from pliant.analysis.integrators import Method
from pliant.analysis.motion.derived_quantities import ActiveBinding, DerivedQuantities, SavedStates
from pliant.analysis.motion.sampled_control import Controller
from pliant.analysis.numerics.blas_threads import one_blas_thread
from pliant.analysis.numerics.contact_table import contact_variables, recorded_contacts
from pliant.analysis.numerics.labelled_arrays import LabelledArrays, Parts, Variable, named_axes
from pliant.analysis.numerics.netcdf_files import FORMAT, save_dataset
from pliant.analysis.numerics.result import (
    ADDED,
    ENERGIES,
    FRAME_PARTS,
    INTERRUPTED,
    KEPT,
    STILL_RUNNING,
    Timing,
    no_such,
    profile_axes,
    versions,
)
from pliant.analysis.numerics.state import AssembledState
from pliant.analysis.numerics.status import Status
from pliant.analysis.remark import Remark, remarks_on
from pliant.analysis.result import AnalysisResult, Examined, Sheet
from pliant.engine.binding import Binding
from pliant.engine.contacts import Contacts
from pliant.engine.equations import Equations
from pliant.engine.outputs import output_axes, output_size, output_units, part_labels
from pliant.engine.state import State
from pliant.engine.time_loop import INSTANT
from pliant.language.arguments import ArgumentError, file_name, number
from pliant.language.limits import STOPPED_BY_TIME
from pliant.language.message_text import describe, suggestion, unit_text
from pliant.language.names import instances_of, outputs_named, stacked, with_repeated
from pliant.language.provided import called
from pliant.language.recording import FORMATS, Recording

if TYPE_CHECKING:
    import xarray

Part = np.ndarray | Callable[[], np.ndarray]
"""Values, or a function that computes them on demand."""


class Track(NDArrayOperatorsMixin):
    """A coordinate, rate, frame, output or input of a result over time; it works as the array of its values.

    A coordinate also has `rate` and `acceleration` (not the parts of a quaternion), a rate `acceleration`. The values of a frame
    are its `position` [m]; it also has `quaternion` [w, x, y, z], `rotation` (3 x 3, frame to world), `velocity` [m/s] and
    `angular_velocity` [rad/s], in world axes. Arrays have one row per saved time.

    Attributes:
        name, kind: name of the quantity, and "coordinate", "rate", "frame", "output" or "input".
        time: saved times [s].
        values: in SI units.
        unit: of the values; "-" for pure numbers, empty if unknown.
    """

    def __init__(
        self, name: str, kind: str, time: np.ndarray, values: np.ndarray, unit: str, parts: Mapping[str, Part]
    ) -> None:
        self.name, self.kind, self.time, self.values, self.unit = name, kind, time, values, unit
        self._parts = dict(parts)

    @property
    def rotation(self) -> np.ndarray:
        """Rotation matrices of a frame, times x 3 x 3."""
        w, *xyz = self.quaternion.T
        return np.asarray(scipy.spatial.transform.Rotation.from_quat(np.stack([*xyz, w], axis=-1)).as_matrix())

    def __getattr__(self, name: str) -> Any:
        parts = self.__dict__.get("_parts", {})
        if name in parts:
            return np.asarray(parts[name]() if callable(parts[name]) else parts[name])
        if "values" in self.__dict__ and not name.startswith("_") and hasattr(np.ndarray, name):
            return getattr(self.values, name)
        known = ("time", "values", "unit", *parts, *(("rotation",) if "quaternion" in parts else ()))
        hint = suggestion(name, known)
        raise AttributeError(
            f"the {self.__dict__.get('kind', 'track')} '{self.__dict__.get('name', '')}' has {', '.join(known)}, but no '{name}'"
            + (f"; {hint}" if hint else "")
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_parts": {name: getattr(self, name) for name in self._parts}}

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._parts]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        plain = (x.values if isinstance(x, Track) else x for x in inputs)
        return getattr(ufunc, method)(*plain, **keywords)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        return self.values[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __repr__(self) -> str:
        unit = f" [{self.unit}]" if self.unit else ""
        return f"Track of the {self.kind} '{self.name}'{unit}: {len(self)} times; {', '.join(self._parts) or 'values'}"


# -- what a run leaves -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunStart:
    """The start of a run: time at which it begins and is to end [s], and the state.

    as_placed: whether it is the model's initial state; rest: the equilibrium that the caller gave; controllers: those that act.
    """

    begin: float
    end: float
    assembled: AssembledState
    as_placed: bool = False
    rest: Any = None
    controllers: tuple[Controller, ...] = ()


@dataclass(frozen=True)
class StepRecord:
    """What the time loop has seen of a run.

    method: the integrator; begun: binding, time [s], positions, rates and accelerations of the first state; steps: the one that led
    to each saved state [s]. The others as in `TimeLoop`.
    """

    method: Method
    begun: tuple[Binding, float, np.ndarray, np.ndarray, np.ndarray]
    steps: np.ndarray
    lost_vibrations: np.ndarray
    deepest_contacts: np.ndarray
    missed_signal: tuple[float, float, int]
    brief_impacts: int
    energy_exchanged: float


@dataclass(frozen=True)
class RunRecord:
    """What a run leaves: its states, and what remarks on it need.

    equations: those at the start; motion: the saved states; history: the active bindings, in order of time. steps: None of the
    reduced formulation. jumps: times [s] at which the state was
    set, and the added energy [J]; contradictions: as in `Job`; events: times by name [s]; control: what controllers say.
    """

    equations: Equations
    start: RunStart
    motion: SavedStates
    history: tuple[ActiveBinding, ...]
    steps: StepRecord | None = None
    jumps: tuple[tuple[float, float], ...] = ()
    contradictions: tuple[tuple[float, dict[str, tuple[float, float]]], ...] = ()
    events: Mapping[str, np.ndarray] = field(default_factory=dict)
    control: tuple[str, ...] = ()

    @cached_property
    def derived(self) -> DerivedQuantities:
        """Energies, frames and outputs of the saved states."""
        return DerivedQuantities(self.equations, self.motion, self.history)

    @property
    def added(self) -> np.ndarray:
        """Energy [J] added by setting the state up to each saved time; a state at such a time is the one after it was set."""
        times, motion = np.array([t for t, _ in self.jumps]), self.motion
        sums = np.concatenate([[0.0], np.cumsum([energy for _, energy in self.jumps])])
        return np.asarray(sums[np.searchsorted(times, motion.time + INSTANT * np.abs(motion.time), side="right")])


# -- the result ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False, eq=False)
class Result(AnalysisResult):
    """A simulated motion.

    `run["bar1.tip"].position` is a frame's path, `run["q1"].values` a coordinate, `run["height"].values` an output:
    see `Track`. Quantities derived from the saved states (frames, energies, outputs, remarks) are computed on first
    access; arrays that they depend on are read-only.

    Attributes:
        status: completed, stopped (event, user or Ctrl-C, with the results so far) or failed.
        message: description of the outcome and suggested action.
        recorded: the saved states and derived quantities, as plain arrays; `dataset` is the same for xarray.
        timing: computing times.
        method: description of the integrator.
        equations: those of the run; None if the motion was read from a file or has been pickled.
    """

    plots = ("trajectory", "energy")
    formats = (".nc", *FORMATS)
    file_format: ClassVar[str] = FORMAT

    status: Status
    message: str
    recorded: LabelledArrays = field()
    timing: Timing
    method: str
    equations: Equations = None  # type: ignore[assignment]
    record: RunRecord | None = None
    """What the run has left; None if it was read from a file."""

    @property
    def assembled(self) -> AssembledState:
        """The start on the constraints."""
        assert self.record is not None
        return self.record.start.assembled

    @property
    def examined(self) -> Examined:
        """The saved states, for remarks."""
        assert self.record is not None
        record, start = self.record, self.record.start
        motion, derived = record.motion, record.derived
        return Examined(
            (start.assembled.bound, start.begin, start.assembled.q), [(x.time, x.bound) for x in record.history],
            motion.time, motion.q, derived.inputs, derived.lowest_signals,
        )  # fmt: skip

    @cached_property
    def remarks(self) -> tuple[Remark, ...]:
        """Remarks, computed on first access; those of a file as they were saved."""
        if self.record is None:
            about = self.recorded.attributes
            return tuple(map(Remark, json.loads(about.get("remarks") or about.get("warnings") or "[]")))
        try:
            with one_blas_thread():
                return remarks_on(type(self).analysis.remarks, self.equations, self)
        except Exception as reason:  # the motion is complete without them
            return (Remark(f"remarks on this result could not be computed: {reason}"),)

    @property
    def is_partial(self) -> bool:
        """Whether it is incomplete: it failed, was interrupted by Ctrl-C, or was written while it was running.

        A run ended by an event or a controller is complete.
        """
        return self.status == Status.FAILED or self.message.startswith((INTERRUPTED, STILL_RUNNING, STOPPED_BY_TIME))

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C or a time limit ended the run."""
        return self.message.startswith((INTERRUPTED, STOPPED_BY_TIME))

    @property
    def events(self) -> dict[str, np.ndarray]:
        """Times at which events have occurred [s], by their names."""
        if self.record is not None:
            return dict(self.record.events)
        return {name: np.array(x) for name, x in json.loads(self.recorded.attributes.get("events", "{}")).items()}

    @property
    def dataset(self) -> xarray.Dataset:
        """Everything, as an xarray Dataset with dimension `time`. Variables that cannot be computed are omitted, with a remark."""
        dataset = self.recorded.dataset
        if self.record is None:
            return dataset
        omitted = json.loads(dataset.attrs.get("remarks", "[]"))
        return dataset.assign_attrs(remarks=json.dumps([*self.remarks, *omitted]))

    @property
    def time(self) -> np.ndarray:
        """Saved times [s]."""
        return self.recorded["time"]

    @property
    def q(self) -> np.ndarray:
        """Positions, one row for each saved time."""
        return self.recorded["q"]

    @property
    def v(self) -> np.ndarray:
        """Rates, times x v."""
        return self.recorded["v"]

    @property
    def inputs(self) -> dict[str, np.ndarray]:
        """Inputs over time by name, as set by the model, the caller or a controller (SI units)."""
        return {name: self.recorded["u"][:, i] for i, name in enumerate(self.recorded.names("input"))}

    @property
    def energy_names(self) -> tuple[str, ...]:
        """Names of the stored energies: kinetic, potential, dissipated, supplied, and `added` if the state was set."""
        return (*ENERGIES, ADDED) if ADDED in self.recorded else ENERGIES

    @property
    def energy(self) -> xarray.Dataset:
        """Kinetic, potential, total (their sum), dissipated and supplied energy [J] over time.

        If events or mid-step functions have set the state, also the energy that they `added` (negative: removed), so
        that total + dissipated - supplied - added is constant.
        """
        parts = self.dataset[list(self.energy_names)]
        return parts.assign(total=parts["kinetic"] + parts["potential"])

    @property
    def constraint_error(self) -> np.ndarray:
        """Largest constraint error [m or rad] at each saved time."""
        return self.recorded["constraint_error"]

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the available outputs."""
        return tuple(name[len("output.") :] for name in self.recorded if name.startswith("output."))

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of the available frames."""
        return tuple(self.recorded.names("frame"))

    @property
    def contacts(self) -> Contacts:
        """Contacts at all saved times: pairs, positions and forces; `contacts.at(t)` at one of them."""
        return recorded_contacts(self.recorded, self.time)

    @property
    def final(self) -> State:
        """The last state, from which another analysis can start."""
        return self._state(-1)

    def state_at(self, time: float) -> State:
        """The state at the saved time nearest to a time within the run [s]."""
        number("time", time)
        first, last = (float(x) for x in self.time[[0, -1]]) if len(self.time) else (np.nan, np.nan)
        if not first <= time <= last:
            span = f"states are saved from {first:.9g} to {last:.9g} s" if len(self.time) else "nothing was saved"
            raise ArgumentError(f"{time:.9g} s is not within the run", span)
        return self._state(int(np.argmin(np.abs(self.time - time))))

    def _state(self, k: int) -> State:
        touching = self.contacts.sample(k)
        return State(
            self.q[k], self.v[k], float(self.time[k]), self.recorded["multiplier"][k],
            contacts=touching if touching.names else None,
        )  # fmt: skip

    def _ipython_key_completions_(self) -> list[str]:
        """Names that `run["<Tab>` completes."""
        data = self.recorded
        components = [part for name in self.output_names for part in self.parts(name)]
        rates = [f"d({name})/dt" for name in data.names("rate")]
        kinds = (
            self.output_names, components, data.names("frame"), data.names("coordinate"), data.names("input"), rates,
        )  # fmt: skip
        return list(dict.fromkeys(name for names in kinds for name in names))

    def __getitem__(self, name: str) -> Track:
        """A frame, coordinate, rate (`d(NAME)/dt`), output, component of an output (`tip.x`) or input by name. The name of a
        repeated output, coordinate or input denotes all instances: the values have a column for each."""
        if not isinstance(name, str):
            raise ArgumentError(f"the name of a variable of a result cannot be {describe(name)}")
        data = self.recorded
        coordinates, rates, frames, inputs = map(data.names, ("coordinate", "rate", "frame", "input"))
        if f"output.{name}" in data.variables:
            along = f"output.{name}.arc_length"
            parts = {"arc_length": data[along]} if along in data.labels else {}
            return self._track(name, "output", data[f"output.{name}"], data.unit(f"output.{name}"), **parts)
        if name in frames:
            k = frames.index(name)
            words = ("position", "quaternion", "velocity", "angular_velocity")
            later = {word: partial(_of_frame, data, word, k) for word in words}
            return self._track(name, "frame", later["position"](), "m", **later)
        units = dict(zip(coordinates, json.loads(data.attributes.get("coordinate_units", "[]")), strict=False))
        if name in coordinates:
            parts = {}
            if name in rates:
                k = rates.index(name)
                parts = {"rate": self.v[:, k], "acceleration": data["a"][:, k]}
            return self._track(name, "coordinate", self.q[:, coordinates.index(name)], units.get(name, ""), **parts)
        bare = name[2:-4] if name.startswith("d(") and name.endswith(")/dt") else name
        if bare in rates:
            k, unit = rates.index(bare), units.get(bare, "rad")
            parts = {"acceleration": data["a"][:, k]}
            return self._track(name, "rate", self.v[:, k], {"-": "1/s", "": ""}.get(unit, f"{unit}/s"), **parts)
        if name in inputs:
            return self._of_kind("input", name)
        if several := self._several(name):
            return several
        names = [
            *with_repeated(self.output_names), *frames, *with_repeated(coordinates), *(f"d({x})/dt" for x in rates),
            *with_repeated(inputs), *(part for x in self.output_names for part in self.parts(x)),
        ]  # fmt: skip
        raise no_such("result has no frame, coordinate, rate, output or input", name, names)

    def _several(self, name: str) -> Track | None:
        """A component of an output, or all instances of a repeated output, coordinate or input."""
        data = self.recorded
        if named := outputs_named(name, self.output_names, self.parts):
            values = stacked(named, lambda x: data[f"output.{x}"], 1)
            units = {data.unit(f"output.{x.output}") for x in named}
            return self._track(name, "output", values, units.pop() if len(units) == 1 else "")
        for kind in ("coordinate", "input"):
            if instances := instances_of(name, data.names(kind)):
                tracks = [self._of_kind(kind, x) for x in instances]
                return self._track(name, kind, np.stack([x.values for x in tracks], axis=1), tracks[0].unit)
        return None

    def _track(self, name: str, kind: str, values: Any, unit: str, **parts: Part) -> Track:
        return Track(name, kind, self.time, np.asarray(values), unit, parts)

    def parts(self, name: str) -> list[str]:
        """Names of the components of an output: its own, `tip.x` etc. of a vector, or `strain.1` etc. along a rod; of the instances
        of a repeated quantity those of each."""
        if f"output.{name}" not in self.recorded.variables:
            outputs = outputs_named(name, self.output_names, self.parts)
            named = [
                self.parts(x.output)[slice(x.component, None if x.component is None else x.component + 1)]
                for x in outputs
            ]
            data = self.recorded
            others = [x for kind in ("coordinate", "input") for x in instances_of(name, data.names(kind))]
            return [part for one in named for part in one] or others or [name]
        values = self.recorded[f"output.{name}"]
        if values.ndim == 1:
            return [name]
        axis = f"output.{name}.part"
        numbers = [str(k + 1) for k in range(values.shape[1])]
        return [f"{name}.{x}" for x in (self.recorded.names(axis) if axis in self.recorded.labels else numbers)]

    def recording(self) -> Recording:
        """Outputs, inputs, coordinates and energies as columns over time with their units, for fits and comparisons.

        If two have the same name, the later one is prefixed with its type: `input.force`, `coordinate.slide`.
        """
        data = self.recorded
        columns: dict[str, np.ndarray] = {}
        units: dict[str, str] = {}

        def add(kind: str, name: str, values: np.ndarray, unit: str) -> None:
            name = f"{kind}.{name}" if name in columns or name == "time" else name
            columns[name] = values
            if unit:
                units[name] = unit

        for output in self.output_names:
            values = data[f"output.{output}"].reshape(len(self.time), -1)
            for part, column in zip(self.parts(output), values.T, strict=True):
                add("output", part, column, data.unit(f"output.{output}"))
        for kind in ("input", "coordinate"):
            for name in data.names(kind):
                track = self._of_kind(kind, name)
                add(kind, name, track.values, track.unit)
        for name in self.energy_names:
            add("energy", name, data[name], "J")
        return Recording("the result", self.time, columns, units)

    def input(self, name: str) -> Track:
        """An input, even if an output or a coordinate has the same name."""
        names = self.recorded.names("input")
        if name not in names and (instances := instances_of(name, names)):
            tracks = [self._of_kind("input", x) for x in instances]
            return self._track(name, "input", np.stack([x.values for x in tracks], axis=1), tracks[0].unit)
        if name not in names:
            raise no_such("result has no input", name, with_repeated(names))
        return self._of_kind("input", name)

    def _of_kind(self, kind: str, name: str) -> Track:
        """An input or a coordinate, even if another quantity has the same name."""
        data = self.recorded
        names, values = data.names(kind), data["u"] if kind == "input" else self.q
        units = json.loads(data.attributes.get(f"{kind}_units", "[]"))
        unit = dict(zip(names, units, strict=False)).get(name, "")
        return self._track(name, kind, values[:, names.index(name)], unit)

    # -- display and files -------------------------------------------------------------------------------------------

    def sheets(self) -> tuple[Sheet, ...]:
        """How the motion was computed, and some of its states."""
        end = f", up to {self.time[-1]:g} s" if len(self.time) else ""
        timing = self.timing
        rejected = f", {timing.rejected} rejected" * bool(timing.rejected)
        seconds = f"derive {timing.derive_s:.2g} s, compile {timing.compile_s:.2g} s, run {timing.run_s:.2g} s"
        rows = (
            ("saved times", f"{len(self.time)}{end}"),
            ("method", self.method),
            ("steps", f"{timing.steps}{rejected}, {timing.evaluations} evaluations"),
            ("computing", seconds),
        )
        return Sheet(("", ""), rows), self._table()

    def _table(self) -> Sheet:
        """Outputs, coordinates and energy at about ten of the saved times."""
        count, data = len(self.time), self.recorded
        rows = list(range(count)) if count <= 12 else sorted({*range(0, count, max(1, count // 10)), count - 1})
        columns = {"t [s]": [f"{x:.4g}" for x in self.time[rows]]}
        # the robot's own before those of attached ones, and single numbers before vectors, which fill the width with one output
        for name in sorted(self.output_names, key=lambda name: ("/" in name, len(self.parts(name)) > 1)):
            values = _without_round_off(data[f"output.{name}"].reshape(count, -1)[rows])
            for part, x in zip(self.parts(name), values.T, strict=True):
                columns |= _printed(part, data.unit(f"output.{name}"), x)
        outputs = len(columns)
        shown = {head.partition(" [")[0] for head in columns}
        for name in (name for name in data.names("coordinate") if name not in shown):
            columns |= _printed(name, self[name].unit, self[name].values[rows])
        groups = (((1, outputs, "outputs"),) if outputs > 1 else ()) + ((outputs, len(columns), "coordinates"),)
        if "energy" not in shown:
            columns |= _printed("energy", "J", (data["kinetic"] + data["potential"])[rows], ".9g")
        if len(data["constraint"]):
            columns["constraint error"] = [f"{x:.1e}" for x in self.constraint_error[rows]]
        lines = tuple(zip(*columns.values(), strict=True))
        return Sheet(tuple(columns), lines, words="states", where="command", groups=groups)

    def brief_json(self) -> dict[str, Any]:
        """The first and the last of the saved states."""
        return self._json(sorted({0, len(self.time) - 1}) if len(self.time) else [])

    def as_json(self) -> dict[str, Any]:
        """Its content as plain data: all saved states."""
        return self._json(range(len(self.time)))

    def _json(self, chosen: Sequence[int]) -> dict[str, Any]:
        data = self.recorded
        named = {axis: data.names(axis) for axis in ("coordinate", "rate", "frame", "constraint")}
        inputs = self.inputs

        def sample(k: int) -> dict[str, Any]:
            kinetic, potential = float(data["kinetic"][k]), float(data["potential"][k])
            frames = {
                name: {"position": data["frame_position"][k, i], "quaternion": data["frame_quaternion"][k, i]}
                for i, name in enumerate(named["frame"])
            }
            energy = {"kinetic": kinetic, "potential": potential, "total": kinetic + potential}
            return {
                "t": float(self.time[k]),
                "q": dict(zip(named["coordinate"], self.q[k].tolist(), strict=True)),
                "v": dict(zip(named["rate"], self.v[k].tolist(), strict=True)),
                "frames": frames,
                "energy": {**energy, **{name: float(data[name][k]) for name in self.energy_names[2:]}},
                "constraint_error": float(self.constraint_error[k]),
                "inputs": {name: float(values[k]) for name, values in inputs.items()},
                "outputs": {name: data[f"output.{name}"][k] for name in self.output_names},
                "multipliers": dict(zip(named["constraint"], data["multiplier"][k].tolist(), strict=True)),
            }

        timing = {k: getattr(self.timing, k) for k in ("derive_s", "compile_s", "run_s", "steps", "evaluations")}
        return {
            **{k: getattr(self, k) for k in ("status", "message", "method", "remarks", "events")},
            "coordinates": named["coordinate"],
            "samples": [sample(k) for k in chosen],
            "timing": timing,
        }

    def _repr_html_(self) -> str:
        return str(called("Result.html", self))

    def plot(self, names: str | Sequence[str] | None = None, **options: Any) -> Any:
        """Draw outputs, frames or coordinates over time, the first output by default; returns the axes. Options and other plots:
        `pliant.plot.trajectory`."""
        return called("Result.plot", self, names, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all data as netCDF (.nc), or `recording()` as a table (.csv, .parquet, .mat); the file is complete or not
        written."""
        ending = file_name("path", path).suffix
        if ending in FORMATS:
            self.recording().save(path)
            return
        if ending not in (".nc", ""):
            hint = f"end it in .nc (everything), or {', '.join(FORMATS)} (a table)"
            raise ArgumentError(f"cannot determine the format of '{path}'", hint)
        save_dataset(self.dataset, path, FORMAT)

    def kept_in(self, path: str | os.PathLike[str]) -> Self:
        """The same after it was saved to a file; the message of an incomplete one names the file."""
        target = self.keep(path)
        if not self.is_partial:
            return self
        if KEPT in self.message:
            return replace(self, message=self.message.replace(KEPT, f"results so far are in {target}"))
        return replace(self, message=f"{self.message} Results so far are in {target}.")

    def __getstate__(self) -> dict[str, Any]:
        """Arrays and texts only: a result is pickled without its equations."""
        kept = {name: x for name, x in self.__dict__.items() if name != "remarks"}
        return kept | {"recorded": LabelledArrays.of(self.dataset), "equations": None, "record": None}


ROUND_OFF = 1e-14
"""Components of a vector below this fraction of the largest are shown as 0."""


def _without_round_off(values: np.ndarray) -> np.ndarray:
    """Vectors (rows), with 0 in place of components that are round-off of the others."""
    size = np.abs(values)
    return np.where(size > ROUND_OFF * size.max(axis=1, initial=0.0, keepdims=True), values, 0.0)


def _printed(name: str, unit: str, values: np.ndarray, style: str = ".6g") -> dict[str, list[str]]:
    """A column of a table: its heading with the unit, and numbers in one format."""
    head = f"{name} [{unit}]" if unit not in ("", "-") else name
    return {head: [format(float(x) + 0.0, style) for x in values]}


def _of_frame(data: LabelledArrays, part: str, k: int) -> np.ndarray:
    """One quantity of the motion of the k-th frame, one row per saved time."""
    return data[f"frame_{part}"][:, k]


# -- from a run to its result ------------------------------------------------------------------------------------------


def timing_of(eqs: Equations, bound: Binding, seconds: float, steps: int, rejected: int, evaluations: int) -> Timing:
    """Computing times of a run."""
    program = bound.program
    return Timing(
        eqs.derive_seconds + program.table_seconds, program.compile_seconds, seconds, steps, rejected, evaluations
    )


def result_of(run: RunRecord, status: Status, message: str, timing: Timing, method: str) -> Result:
    """The result of a run; `method`: description of the integrator."""
    eqs, motion = run.equations, run.motion

    def parts() -> Parts:
        derived, profiles = run.derived, output_axes(eqs.model, run.history[0].bound)
        touching, names = contact_variables(motion.contacts)
        variables = _variables(motion, derived) | touching | _output_variables(eqs, derived, profiles)
        if run.jumps:
            about = {"long_name": "energy added by setting the state", "units": "J"}
            variables[ADDED] = (("time",), lambda: run.added, about)
        stated = partial(_attributes, eqs, status, message, method, timing, run.events)
        return Parts(variables, lambda: _labels(eqs, motion, profiles) | names, stated)

    saved = {"time": motion.time, "q": motion.q, "v": motion.v, "a": motion.a, "multiplier": motion.multipliers}
    return Result(status, message, LabelledArrays(saved, parts), timing, method, eqs, run)


def _variables(motion: SavedStates, derived: DerivedQuantities) -> dict[str, Variable]:
    """States, energies and frames of a motion, by name."""
    variables: dict[str, Variable] = {
        "q": (("time", "coordinate"), motion.q, {"long_name": "positions", "units": "SI"}),
        "v": (("time", "rate"), motion.v, {"long_name": "rates", "units": "SI"}),
        "a": (("time", "rate"), motion.a, {"long_name": "accelerations", "units": "SI"}),
        "multiplier": (
            ("time", "constraint"),
            motion.multipliers,
            {"long_name": "constraint forces", "units": "N or N m"},
        ),
        "u": (("time", "input"), lambda: derived.inputs, {"long_name": "inputs", "units": "SI"}),
        "constraint_error": (
            ("time",),
            lambda: derived.constraint_error,
            {"long_name": "largest constraint error", "units": "m or rad"},
        ),
    }
    for k, name in enumerate(ENERGIES):
        about = {"long_name": f"{name} energy", "units": "J"}
        variables[name] = ("time",), lambda k=k: derived.energies[:, k], about  # type: ignore[misc]
    for name, dimension in FRAME_PARTS.items():
        variables[f"frame_{name}"] = ("time", "frame", dimension), partial(derived.frames, name), {}
    return variables


def _output_variables(
    eqs: Equations, derived: DerivedQuantities, profiles: Mapping[str, np.ndarray]
) -> dict[str, Variable]:
    """Outputs of a motion, by name; `profiles`: arc lengths [m] of those along a rod."""
    variables: dict[str, Variable] = {}
    for name, unit in output_units(eqs.model).items():
        axis = f"output.{name}.{'arc_length' if name in profiles else 'part'}"
        dimensions = ("time",) if output_size(eqs.model, name) == 1 else ("time", axis)
        variables[f"output.{name}"] = dimensions, lambda name=name: derived.outputs[name], {"units": unit}  # type: ignore[misc]
    return variables


def _labels(eqs: Equations, motion: SavedStates, profiles: Mapping[str, np.ndarray]) -> dict[str, Variable]:
    """Times, and names along the other dimensions; `profiles`: arc lengths [m] of outputs along a rod."""
    names = {
        "coordinate": eqs.coordinates,
        "rate": eqs.rates,
        "frame": eqs.frame_names,
        "constraint": eqs.constraint_names,
        "input": eqs.inputs,
        "axis": ("x", "y", "z"),
        "quaternion_part": ("w", "x", "y", "z"),
    }
    names |= part_labels(eqs.model, eqs.binding)
    return {"time": (("time",), motion.time, {"units": "s"}), **named_axes(names), **profile_axes(profiles)}


def _attributes(
    eqs: Equations, status: Status, message: str, method: str, timing: Timing, events: Mapping[str, np.ndarray]
) -> dict[str, str]:
    """Attributes needed to understand and repeat a run, as text."""
    return {
        "model": eqs.model.spec.name or "robot",
        "model_text": eqs.model.text,
        "status": str(status),
        "message": message,
        "method": method,
        "timing": json.dumps(timing.__dict__),
        "events": json.dumps({name: times.tolist() for name, times in events.items()}),
        "inputs": json.dumps({name: value for name, value in eqs.given_inputs.items() if isinstance(value, float)}),
        "coordinate_units": json.dumps([c.unit for c in eqs.model.coordinates for _ in c.q_names]),
        "input_units": json.dumps([unit_text(eqs.model.environment.dimension(name), "-") for name in eqs.inputs]),
        "parameters": json.dumps(eqs.parameters),
        "versions": json.dumps(versions()),
    }
