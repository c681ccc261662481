"""The result of path following: named points, stability and special points, as a labelled dataset."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pliant.analysis.numerics.contact_table import recorded_contacts
from pliant.analysis.numerics.labelled_arrays import LabelledArrays
from pliant.analysis.numerics.netcdf_files import PATH_FORMAT
from pliant.analysis.numerics.result import LabelledResult, Timing, no_such
from pliant.analysis.numerics.status import Status
from pliant.engine.contacts import Contacts
from pliant.engine.state import State
from pliant.language.names import outputs_named, stacked, with_repeated
from pliant.language.provided import called, with_remarks

KINDS = ("", "limit", "bifurcation")
"""Kinds of points of a path, by number in the dataset."""


@dataclass(frozen=True)
class PathPoint:
    """A point of a path, from which it can be continued.

    Attributes:
        parameter, value: the varied parameter, and its value there.
        state: the equilibrium, with multipliers.
        tangent: change of q (increments, nv), multipliers (m) and parameter along the path.
        kind: "", "limit" or "bifurcation".
        directions: at a special point the directions without stiffness, in increments of q, one per row.
        stable: whether it is stable; None if undetermined.
    """

    parameter: str
    value: float
    state: State
    tangent: tuple[np.ndarray, np.ndarray, float]
    kind: str
    directions: np.ndarray
    stable: bool | None


@dataclass(frozen=True)
class SpecialPoint:
    """A limit point (the parameter reverses) or a bifurcation (another path crosses).

    Attributes:
        kind: "limit" or "bifurcation".
        index: number of the point on the path.
        value: of the parameter.
        directions: directions without stiffness in increments of q, one per row; the leading entry of each is
            positive.
        moves: the rate of the leading entry of each direction.
    """

    kind: str
    index: int
    value: float
    directions: np.ndarray
    moves: tuple[str, ...]


@dataclass(frozen=True)
class Path(LabelledResult):
    """Equilibria as one parameter or input changes.

    `path["load"]` is a coordinate or an output along the path, `path.value` the parameter.

    Attributes:
        status: completed (the end was reached), stopped (before the end; `message` states the reason) or failed.
        message: description of the outcome and suggested action.
        recorded: everything, as plain arrays; `dataset` is the same for xarray.
        timing: computing times.
        warnings: for the user.
    """

    status: Status
    message: str
    recorded: LabelledArrays
    timing: Timing
    warnings: tuple[str, ...] = ()
    file_format: ClassVar[str] = PATH_FORMAT

    def __len__(self) -> int:
        return len(self.value)

    @property
    def parameter(self) -> str:
        """Name of the varied parameter."""
        return str(self.recorded.attributes["parameter"])

    @property
    def value(self) -> np.ndarray:
        """The parameter at each point [SI units]."""
        return self.recorded["value"]

    @property
    def unstable(self) -> np.ndarray:
        """Number of growing directions at each point; -1 if undetermined."""
        return self.recorded["unstable"]

    @property
    def stable(self) -> np.ndarray:
        """Whether small disturbances decay at each point (False also if undetermined)."""
        return np.asarray(self.recorded["stable"] == 1)

    @property
    def special(self) -> tuple[SpecialPoint, ...]:
        """Limit points and bifurcations in order."""
        found: dict[int, list[int]] = {}
        for row, point in enumerate(self.recorded["critical_point"].tolist()):
            found.setdefault(int(point), []).append(row)
        rates = self.recorded.names("rate")
        out = []
        for index, rows in found.items():
            directions = self.recorded["critical_direction"][rows]
            moves = tuple(rates[leading(x)] for x in directions)
            kind = KINDS[int(self.recorded["kind"][index])]
            out.append(SpecialPoint(kind, index, float(self.value[index]), directions, moves))
        return tuple(out)

    @property
    def contacts(self) -> Contacts:
        """Contacts at all points, concatenated; `contacts.sample(k)` are those of point k."""
        return recorded_contacts(self.recorded, np.full(len(self), float(self.recorded.attributes["time"])))

    def __getitem__(self, name: str) -> np.ndarray:
        """An output (a repeated one with a column for each instance), a component of one (`tip.x`), a coordinate, a frame's
        position (points x 3) or the parameter."""
        data = self.recorded
        if f"output.{name}" in data.variables:
            return data[f"output.{name}"]
        if name == self.parameter:
            return self.value
        coordinates, frames = map(data.names, ("coordinate", "frame"))
        if name in coordinates:
            return data["q"][:, coordinates.index(name)]
        if name in frames:
            return data["frame_position"][:, frames.index(name)]
        if found := outputs_named(name, self.output_names, self.parts):
            return stacked(found, lambda x: data[f"output.{x}"], 1)
        names = [
            *with_repeated(self.output_names),
            *coordinates,
            *frames,
            *(part for x in self.output_names for part in self.parts(x)),
        ]
        raise no_such("path has no output, coordinate or frame", name, names)

    def parts(self, output: str) -> tuple[str, ...]:
        """Names of the components of an output: `tip.x` and so on of a vector; empty if there is no such output."""
        if f"output.{output}" not in self.recorded.variables:
            return ()
        size = self[output].shape[1] if self[output].ndim > 1 else 1
        # files of earlier versions have no names of components
        usual = [output] if size == 1 else [f"{output}.{x}" for x in ("xyz" if size == 3 else range(1, size + 1))]
        return tuple(json.loads(self.recorded.attributes.get("output_parts", "{}")).get(output, usual))

    def unit(self, name: str) -> str:
        """SI unit of the parameter, an output, a coordinate or a frame's position; empty if unknown."""
        data = self.recorded
        if name == self.parameter:
            return str(data.attributes["parameter_unit"])
        if f"output.{name}" in data.variables:
            return data.unit(f"output.{name}")
        if found := outputs_named(name, self.output_names, self.parts):
            return data.unit(f"output.{found[0].output}")
        self[name]  # raises an error that lists the names
        names = data.names("coordinate")
        return dict(zip(names, json.loads(data.attributes["coordinate_units"]), strict=True)).get(name, "m")

    def plot(self, x: str | None = None, y: str | None = None, *, name: str = "", ax: Any = None) -> Any:
        """Draw one quantity of the path over another, with stability and special points marked; returns the axes.

        `x`: by default the first output with one component (or the first coordinate). `y`: by default the parameter.
        `name`: of this path in the legend, if several are drawn on the same axes.
        """
        return called("Path.plot", self, x, y, name=name, ax=ax)

    def point(self, index: int) -> PathPoint:
        """A point by number (negative ones count from the end), for `continuation(start=...)` and other analyses."""
        data, count = self.recorded, len(self)
        if not -count <= index < count:
            raise IndexError(f"the path has {count} points; there is none of number {index}")
        k = index % count
        touching = self.contacts
        rows = [i for i, p in enumerate(data["critical_point"].tolist()) if int(p) == k]
        state = State(
            data["q"][k], np.zeros(len(data["rate"])), float(data.attributes["time"]),
            data["multiplier"][k], contacts=touching.sample(k) if touching.names else None,
        )  # fmt: skip
        tangent = (
            data["tangent_q"][k], data["tangent_multiplier"][k],
            float(data["tangent_value"][k]),
        )  # fmt: skip
        holds = {1: True, 0: False}.get(int(data["stable"][k]))
        return PathPoint(
            self.parameter, float(self.value[k]), state, tangent, KINDS[int(data["kind"][k])],
            data["critical_direction"][rows], holds,
        )  # fmt: skip

    def __repr__(self) -> str:
        values = self.value
        way = f"{self.parameter} from {values[0]:g} to {values[-1]:g}" if len(values) else self.parameter
        return with_remarks(f"Path ({self.status}): {len(self)} points, {way}. {self.message}", self.warnings)


def leading(direction: np.ndarray) -> int:
    """The first of the large entries of a direction, which defines its sign.

    It is not the largest: of two equal entries of a symmetric shape, round-off would decide which is larger.
    """
    size = np.abs(direction)
    return int(np.argmax(size >= 0.5 * size.max(initial=0.0)))
