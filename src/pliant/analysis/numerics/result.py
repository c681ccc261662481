"""Results of a simulation: states over time with names, energies and constraint errors, as a labelled dataset."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pliant.analysis.numerics.contact_table import recorded_contacts
from pliant.analysis.numerics.labelled_arrays import LabelledArrays, Variable
from pliant.analysis.numerics.netcdf_files import FORMAT, partial_path, save_dataset
from pliant.analysis.numerics.status import Status
from pliant.analysis.numerics.track import Part, Track
from pliant.engine.contacts import Contacts
from pliant.engine.state import State
from pliant.language.arguments import ArgumentError, file_name, number
from pliant.language.limits import STOPPED_BY_TIME
from pliant.language.message_text import describe, suggestion
from pliant.language.names import instances_of, outputs_named, stacked, with_repeated
from pliant.language.provided import called, with_remarks
from pliant.language.recording import Recording
from pliant.language.table_files import FORMATS

if TYPE_CHECKING:
    import xarray

ENERGIES = ("kinetic", "potential", "dissipated", "supplied")
ADDED = "added"
"""Energy added by events and mid-step functions that set the state; present if they did."""
FRAME_PARTS = {"position": "axis", "quaternion": "quaternion_part", "velocity": "axis", "angular_velocity": "axis"}
"""Quantities stored for every frame, and the dimension of their components."""


@dataclass(frozen=True)
class Timing:
    """Computing times [s] and amounts of work."""

    derive_s: float = 0.0
    compile_s: float = 0.0
    run_s: float = 0.0
    steps: int = 0
    rejected: int = 0
    evaluations: int = 0


INTERRUPTED = "stopped by Ctrl-C"
STILL_RUNNING = "still running"
"""Beginning of the messages of runs that were ended by the user, and of files that are written during a run."""
KEPT = "results so far are kept"
"""Part of such messages."""


class LabelledResult:
    """Results as labelled arrays; `file_format`: the format stated in its files."""

    file_format: ClassVar[str]
    recorded: LabelledArrays
    status: Status
    message: str

    @property
    def is_partial(self) -> bool:
        """Whether it is incomplete: it failed, was interrupted by Ctrl-C, or was written while it was running.

        A run ended by an event or a controller is complete.
        """
        return self.status == Status.FAILED or self.message.startswith((INTERRUPTED, STILL_RUNNING, STOPPED_BY_TIME))

    @property
    def dataset(self) -> xarray.Dataset:
        """Everything, as an xarray Dataset with dimension `time` (of motions) or `point` (of paths)."""
        return self.recorded.dataset

    @property
    def q(self) -> np.ndarray:
        """Positions, one row for each saved time or point."""
        return self.recorded["q"]

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the available outputs."""
        return tuple(name[len("output.") :] for name in self.recorded if name.startswith("output."))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write as netCDF (all or nothing), with a checksum; `load_result` reads it."""
        _check_ending(path, "end it in .nc")
        save_dataset(self.dataset, path, self.file_format)


def _check_ending(path: str | os.PathLike[str], hint: str) -> None:
    """Reject names of files that are not netCDF, which a program that goes by the ending could not read; none is accepted."""
    if file_name("path", path).suffix not in (".nc", ""):
        raise ArgumentError(f"cannot determine the format of '{path}'", hint)


def kept_at(found: LabelledResult, path: str | os.PathLike[str]) -> FilePath:
    """File of a result for `path`: that path, or `NAME.partial.nc` in the same folder if it is partial."""
    return partial_path(path) if found.is_partial else FilePath(path)


def keep(found: LabelledResult, path: str | os.PathLike[str]) -> FilePath:
    """Save a result and return its file: a partial one replaces no earlier result, a complete one also replaces
    earlier partial ones."""
    target = kept_at(found, file_name("path", path))
    found.save(target)
    if not found.is_partial:
        partial_path(path).unlink(missing_ok=True)
    return target


def said_where(found: LabelledResult, target: FilePath) -> str:
    """The message of a partial result, with its file."""
    if KEPT in found.message:
        return found.message.replace(KEPT, f"results so far are in {target}")
    return f"{found.message} Results so far are in {target}."


def no_such(what: str, name: str, names: Sequence[str]) -> KeyError:
    """The error for an unknown name, with the closest known one."""
    hint = suggestion(name, names, f"there are {', '.join(names[:12])}")
    return KeyError(f"the {what} '{name}'; {hint}")


@dataclass(frozen=True, repr=False, eq=False)
class Result(LabelledResult):
    """A simulated motion.

    `run["bar1.tip"].position` is a frame's path, `run["q1"].values` a coordinate, `run["height"].values` an output:
    see `Track`. Quantities derived from the saved states (frames, energies, outputs, warnings) are computed on first
    access; arrays that they depend on are read-only.

    Attributes:
        status: completed, stopped (event, user or Ctrl-C, with the results so far) or failed.
        message: description of the outcome and suggested action.
        recorded: the saved states and derived quantities, as plain arrays; `dataset` is the same for xarray.
        timing: computing times.
        method: description of the integrator.
    """

    status: Status
    message: str
    recorded: LabelledArrays
    timing: Timing
    method: str
    file_format: ClassVar[str] = FORMAT

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for the user."""
        return tuple(json.loads(self.recorded.attributes["warnings"]))

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C or a time limit ended the run."""
        return self.message.startswith((INTERRUPTED, STOPPED_BY_TIME))

    @property
    def time(self) -> np.ndarray:
        """Saved times [s]."""
        return self.recorded["time"]

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
            self.output_names,
            components,
            data.names("frame"),
            data.names("coordinate"),
            data.names("input"),
            rates,
        )
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
        if found := outputs_named(name, self.output_names, self.parts):
            values = stacked(found, lambda x: data[f"output.{x}"], 1)
            units = {data.unit(f"output.{x.output}") for x in found}
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
            found = outputs_named(name, self.output_names, self.parts)
            named = [
                self.parts(x.output)[slice(x.component, None if x.component is None else x.component + 1)]
                for x in found
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

    def __repr__(self) -> str:
        end = f"{self.time[-1]:g} s" if len(self.time) else "nothing"
        return with_remarks(
            f"Result ({self.status}): {len(self.time)} saved times up to {end}, {self.timing.steps} steps in "
            f"{self.timing.run_s:.3g} s by {self.method}. {self.message}",
            self.warnings,
        )

    def _repr_html_(self) -> str:
        return str(called("Result.html", self))

    def plot(self, names: str | Sequence[str] | None = None, **options: Any) -> Any:
        """Draw outputs, frames or coordinates over time, the first output by default; returns the axes. Options and other plots:
        `pliant.plot.trajectory`."""
        return called("Result.plot", self, names, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all data as netCDF (.nc), or `recording()` as a table (.csv, .parquet, .mat); the file is complete or not
        written."""
        if file_name("path", path).suffix in FORMATS:
            self.recording().save(path)
        else:
            _check_ending(path, f"end it in .nc (everything), or {', '.join(FORMATS)} (a table)")
            super().save(path)


def _of_frame(data: LabelledArrays, part: str, k: int) -> np.ndarray:
    """One quantity of the motion of the k-th frame, one row per saved time."""
    return data[f"frame_{part}"][:, k]


def profile_axes(profiles: Mapping[str, np.ndarray]) -> dict[str, Variable]:
    """Axes with the arc lengths [m] of outputs along rods."""
    axes = {f"output.{name}.arc_length": at for name, at in profiles.items()}
    return {axis: ((axis,), at, {"long_name": "undeformed arc length", "units": "m"}) for axis, at in axes.items()}
