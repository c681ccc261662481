"""The result of following a static path: points with names, stability and special points, as a labelled dataset."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.equations.state import State
from pliant.language.display import shown
from pliant.solve.netcdf_files import PATH_FORMAT, save_dataset
from pliant.solve.result import Timing, no_such
from pliant.solve.status import Status

if TYPE_CHECKING:
    import xarray

KINDS = ("", "limit", "bifurcation")
"""What a point is besides being on the path, by number in the dataset."""


@dataclass(frozen=True)
class PathPoint:
    """A point of a path, to look at or to go on from.

    Attributes:
        parameter, value: what the path varies, and its value there.
        state: the pose at rest, with multipliers.
        tangent: change of q (increments, nv), multipliers (m) and parameter along the path.
        kind: "", "limit" or "bifurcation".
        directions: at a special point the directions without stiffness, in increments of q, one per row.
        stable: whether it holds; None where it could not be judged.
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
    """A limit point (the parameter turns back) or a bifurcation (another path crosses).

    Attributes:
        kind: "limit" or "bifurcation".
        index: number of the point on the path.
        value: of the parameter.
        directions: directions without stiffness in increments of q, one per row; the largest entries of each are
            positive at first.
        moves: the rate that such a largest entry belongs to, for each direction.
    """

    kind: str
    index: int
    value: float
    directions: np.ndarray
    moves: tuple[str, ...]


@dataclass(frozen=True)
class Path:
    """Poses at rest as one parameter or input changes.

    `path["load"]` is a coordinate or an output along the path, `path.value` the parameter.

    Attributes:
        status: completed (the end was reached), stopped (before it, for a reason that `message` gives) or failed.
        message: what happened and what to do.
        dataset: everything, as an xarray Dataset with dimension `point`.
        timing: where the time went.
        warnings: what the user should know.
    """

    status: Status
    message: str
    dataset: xarray.Dataset
    timing: Timing
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.dataset.sizes["point"])

    @property
    def parameter(self) -> str:
        """Name of what is varied."""
        return str(self.dataset.attrs["parameter"])

    @property
    def q(self) -> np.ndarray:
        """Positions, points x q."""
        return np.asarray(self.dataset["q"].values)

    @property
    def output_names(self) -> tuple[str, ...]:
        """Named outputs that can be asked for."""
        return tuple(name[len("output.") :] for name in map(str, self.dataset.data_vars) if name.startswith("output."))

    @property
    def value(self) -> np.ndarray:
        """The parameter at each point [SI units]."""
        return np.asarray(self.dataset["value"].values)

    @property
    def unstable(self) -> np.ndarray:
        """How many directions grow at each point; -1 where that could not be judged."""
        return np.asarray(self.dataset["unstable"].values)

    @property
    def stable(self) -> np.ndarray:
        """Whether small disturbances die out at each point (False also where that could not be judged)."""
        return np.asarray(self.dataset["stable"].values == 1)

    @property
    def special(self) -> tuple[SpecialPoint, ...]:
        """Limit points and bifurcations in order."""
        found: dict[int, list[int]] = {}
        for row, point in enumerate(self.dataset["critical_point"].values.tolist()):
            found.setdefault(int(point), []).append(row)
        rates = [str(x) for x in self.dataset["rate"].values]
        out = []
        for index, rows in found.items():
            directions = np.asarray(self.dataset["critical_direction"].values[rows])
            moves = tuple(rates[leading(x)] for x in directions)
            kind = KINDS[int(self.dataset["kind"].values[index])]
            out.append(SpecialPoint(kind, index, float(self.value[index]), directions, moves))
        return tuple(out)

    def __getitem__(self, name: str) -> np.ndarray:
        """An output, a coordinate, a frame's position (points x 3) or the parameter along the path."""
        data = self.dataset
        if f"output.{name}" in data:
            return np.asarray(data[f"output.{name}"].values)
        if name == self.parameter:
            return self.value
        coordinates, frames = ([str(x) for x in data[k].values] for k in ("coordinate", "frame"))
        if name in coordinates:
            return np.asarray(data["q"].values[:, coordinates.index(name)])
        if name in frames:
            return np.asarray(data["frame_position"].values[:, frames.index(name)])
        names = [*self.output_names, *coordinates, *frames]
        raise no_such("path has no output, coordinate or frame", name, names)

    def unit(self, name: str) -> str:
        """SI unit of the parameter, an output, a coordinate or a frame's position; empty where none is known."""
        data = self.dataset
        if name == self.parameter:
            return str(data.attrs["parameter_unit"])
        if f"output.{name}" in data:
            return str(data[f"output.{name}"].attrs.get("units", ""))
        self[name]  # says which names there are
        names = [str(x) for x in data["coordinate"].values]
        return dict(zip(names, json.loads(data.attrs["coordinate_units"]), strict=True)).get(name, "m")

    def plot(self, x: str | None = None, y: str | None = None, *, name: str = "", ax: Any = None) -> Any:
        """Draw one quantity of the path over another, with stability and special points marked; returns the axes.

        `x`: by default the first output with one component (or the first coordinate). `y`: by default the parameter.
        `name`: of this path in the legend, where several are drawn on the same axes.
        """
        return shown("Path.plot", self, x, y, name=name, ax=ax)

    def point(self, index: int) -> PathPoint:
        """A point by number (negative ones count from the end), for `continuation(start=...)` and other analyses."""
        data, count = self.dataset, len(self)
        if not -count <= index < count:
            raise IndexError(f"the path has {count} points; there is none of number {index}")
        k = index % count
        rows = [i for i, p in enumerate(data["critical_point"].values.tolist()) if int(p) == k]
        state = State(
            np.asarray(data["q"].values[k]), np.zeros(data.sizes["rate"]), float(data.attrs["time"]),
            np.asarray(data["multiplier"].values[k]),
        )  # fmt: skip
        tangent = (
            np.asarray(data["tangent_q"].values[k]), np.asarray(data["tangent_multiplier"].values[k]),
            float(data["tangent_value"].values[k]),
        )  # fmt: skip
        holds = {1: True, 0: False}.get(int(data["stable"].values[k]))
        return PathPoint(
            self.parameter, float(self.value[k]), state, tangent, KINDS[int(data["kind"].values[k])],
            np.asarray(data["critical_direction"].values[rows]), holds,
        )  # fmt: skip

    def __repr__(self) -> str:
        values = self.value
        way = f"{self.parameter} from {values[0]:g} to {values[-1]:g}" if len(values) else self.parameter
        return f"Path ({self.status}): {len(self)} points, {way}. {self.message}"

    def save(self, path: Any) -> None:
        """Write as netCDF (all or nothing); `load_path` reads it."""
        save_dataset(self.dataset, path, PATH_FORMAT)


def leading(direction: np.ndarray) -> int:
    """The first of a direction's large entries: the one that its sign is told by.

    Not the largest: which of two equal entries of a symmetric shape is larger is left to round-off.
    """
    size = np.abs(direction)
    return int(np.argmax(size >= 0.5 * size.max(initial=0.0)))
