"""Outcomes of all cases of a study: arrays, a labelled dataset, and measures (one number for each case and quantity)."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.analysis.numerics.labelled_arrays import LabelledArrays
from pliant.analysis.result import Sheet
from pliant.language.arguments import ArgumentError
from pliant.language.message_text import suggestion
from pliant.study.analyses import Outcome

if TYPE_CHECKING:
    import xarray

NOT_RUN = "not run"
"""Status of a case that was not reached."""

Labels = Mapping[str, Sequence[Any]]


class CaseResults:
    """Results of all cases, in arrays with the cases along their first axis; NaN where a case has no value.

    Structures may differ in their axes: those are as long as it takes, with a place for every label that occurs.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.status = np.full(count, NOT_RUN, dtype=object)
        self.message = np.full(count, "", dtype=object)
        self.arrays: dict[str, tuple[tuple[str, ...], np.ndarray]] = {}
        self.labels: dict[str, list[Any]] = {}
        self._filled: dict[str, np.ndarray] = {}
        self._fitting: set[tuple[str, int]] = set()  # names whose values in a structure fill a row
        self._lock = threading.RLock()
        self._usual: tuple[Any, ...] | None = None
        self._places: dict[tuple[str, int], tuple[Sequence[Any], Any]] = {}

    def put(self, case: int, outcome: Outcome, labels: Labels) -> None:
        """Take in the outcome of a case; labels: of the axes of its structure."""
        with self._lock:
            self._put(case, outcome, labels)

    def _put(self, case: int, outcome: Outcome, labels: Labels) -> None:
        self.status[case], self.message[case] = outcome.status, outcome.message
        shapes = tuple((name, axes, x.shape) for name, (axes, x) in outcome.arrays.items())
        if self._usual == (id(labels), shapes, outcome.labels):  # as the case before: all its rows are filled
            for name, (_, values) in outcome.arrays.items():
                array = self.arrays[name][1]
                if values.base is not array:  # else they were written there
                    array[case] = values
                self._filled[name][case] = True
            return
        whole = True
        for name, (axes, values) in outcome.arrays.items():
            places = [
                self._place(axis, size, outcome.labels.get(axis, labels.get(axis)))
                for axis, size in zip(axes, values.shape, strict=True)
            ]
            into = self._room(name, axes, places)
            self._filled[name][case] = True
            if values.base is into:
                continue
            if into.shape[1:] != values.shape:
                into[case] = np.nan
                whole = False
            if all(isinstance(place, slice) for place in places):
                into[(case, *places)] = values
            else:
                into[case][np.ix_(*(np.arange(x.stop) if isinstance(x, slice) else x for x in places))] = values
                whole = False
        if outcome.arrays:
            self._usual = (id(labels), shapes, outcome.labels) if whole else None

    def room(self, labels: Labels, case: int, name: str, axes: tuple[str, ...], shape: tuple[int, ...]) -> np.ndarray:
        """Storage for the values of a case, to be filled by the computation and passed to `put` afterwards."""
        known = self.arrays.get(name)
        if known is not None and known[1].shape[1:] == shape and (name, id(labels)) in self._fitting:
            return known[1][case]
        with self._lock:
            places = [self._place(axis, size, labels.get(axis)) for axis, size in zip(axes, shape, strict=True)]
            into = self._room(name, axes, places)
            if into.shape[1:] != shape or not all(isinstance(place, slice) for place in places):
                return np.empty(shape)
            self._fitting.add((name, id(labels)))
            return np.asarray(into[case])

    def _place(self, axis: str, size: int, given: Sequence[Any] | None) -> slice | np.ndarray:
        """Where the entries along an axis go."""
        if given is None or axis == "time":
            if given is not None and axis not in self.labels:
                self.labels[axis] = list(given)
            return slice(size)
        known = self._places.get((axis, id(given)))
        if known is None or known[0] is not given:
            known = self._places[axis, id(given)] = given, self._indices(axis, given)
        return known[1]

    def _indices(self, axis: str, given: Sequence[Any]) -> slice | np.ndarray:
        own = self.labels.setdefault(axis, [])
        at = {label: k for k, label in enumerate(own)}
        for label in given:
            if label not in at:
                at[label] = len(own)
                own.append(label)
        places = np.array([at[label] for label in given], dtype=int)
        return slice(len(given)) if np.array_equal(places, np.arange(len(given))) else places

    def _room(self, name: str, axes: tuple[str, ...], places: Sequence[slice | np.ndarray]) -> np.ndarray:
        """The array of a variable, grown where a case needs more of it."""
        ends = [place.stop if isinstance(place, slice) else int(place.max(initial=-1)) + 1 for place in places]
        need = [max(end, len(self.labels.get(axis, ()))) for axis, end in zip(axes, ends, strict=True)]
        if name not in self.arrays:
            self.arrays[name] = axes, np.empty((self.count, *need))
            self._filled[name] = np.zeros(self.count, dtype=bool)
        own, array = self.arrays[name]
        if own != axes:
            raise ValueError(f"'{name}' has the axes {axes} in one case and {own} in another")
        if any(n > m for n, m in zip(need, array.shape[1:], strict=True)):
            grown = np.full((self.count, *(max(n, m) for n, m in zip(need, array.shape[1:], strict=True))), np.nan)
            grown[tuple(slice(n) for n in array.shape)] = array
            self.arrays[name] = axes, (array := grown)
            self._usual = None  # rows are longer than those of the case before
        return array

    def dataset(
        self, cases: Mapping[str, Sequence[Any]], units: Mapping[str, str], attributes: Mapping[str, str]
    ) -> xarray.Dataset:
        """Everything as a dataset over the cases. cases: what varies, by name a value for each case; units: by name."""

        def about(name: str) -> dict[str, str]:
            return {"units": units[name]} if units.get(name) else {}

        variables: dict[str, Any] = {
            "status": (("case",), self.status.astype(np.str_), {}),
            "message": (("case",), self.message.astype(np.str_), {}),
        }
        for name in self.arrays:
            axes, array = self.arrays[name]
            array[~self._filled[name]] = np.nan
            variables[name] = (("case", *axes), self._whole(axes, array), about(name))
        used = {axis for axes, _ in self.arrays.values() for axis in axes}
        labels: dict[str, Any] = {
            axis: ((axis,), np.array(own, dtype=np.str_), {}) for axis, own in self.labels.items() if axis in used
        }
        if "time" in labels:
            labels["time"] = (("time",), np.array(self.labels["time"]), {"units": "s"})
        labels["case"] = (("case",), np.arange(self.count), {})
        for name, values in cases.items():
            labels[_free(name, {*labels, *variables, *used})] = (("case",), _column(values), about(name))
        return LabelledArrays.of_arrays(variables, labels, attributes).dataset

    def _whole(self, axes: tuple[str, ...], array: np.ndarray) -> np.ndarray:
        """An array with a place for every label of its axes."""
        wanted = (
            self.count,
            *(len(self.labels.get(axis, ())) or n for axis, n in zip(axes, array.shape[1:], strict=True)),
        )
        if wanted == array.shape:
            return array
        whole = np.full(wanted, np.nan)
        whole[tuple(slice(n) for n in array.shape)] = array
        return whole


def _free(name: str, taken: set[str]) -> str:
    """A name for a coordinate of the dataset: its own, unless a variable or an axis is called so (`case.NAME` then)."""
    return f"case.{name}" if name in taken else name


def _column(values: Sequence[Any]) -> np.ndarray:
    """Values of all cases: numbers where they are, else text; NaN or nothing where a case has none."""
    if all(value is None or isinstance(value, float | int) for value in values):
        return np.array([np.nan if value is None else float(value) for value in values])
    return np.array(["" if value is None else str(value) for value in values])


MOST_PARTS = 24
"""Maximum number of components of a quantity that are listed individually."""

ROUNDING = 1e-9
"""Relative difference below which numbers are equal."""


USUAL = re.compile(
    r"equilibrium found in \d+ iterations?|it is stable( with a little damping)?|simulated to t = \S+ s|"
)
"""Parts of messages that are no remarks."""
MOST_REMARKS = 12
"""Maximum number of different remarks that are listed."""


STATES = ("q[", "v[", "multiplier[")
"""Prefixes of measures that a table shows only if requested."""
BEST_CASES = 20
"""Number of cases of a short table."""


@dataclass(frozen=True)
class Table:
    """Varied values and measures of all cases, each with a number or text for every case; units by name (SI)."""

    varied: dict[str, np.ndarray]
    measures: dict[str, np.ndarray]
    units: dict[str, str]
    status: np.ndarray
    message: np.ndarray

    def measure(self, name: str | None) -> tuple[str, np.ndarray]:
        """The measure of this name, or the first one in which cases differ."""
        if not self.measures:
            raise ArgumentError("no numbers were saved for these cases", "use --keep outputs")
        if name is None:
            name = next((x for x in self.measures if self._differs(x)), next(iter(self.measures)))
        if name not in self.measures and (
            several := [x for x in self.measures if re.match(rf"{re.escape(name)}[.\[]", x)]
        ):
            listed = ", ".join(several[:6])
            raise ArgumentError(f"'{name}' is not one number per case", f"choose one of {listed}")
        if name not in self.measures:
            hint = suggestion(name, self.measures, f"there are {', '.join(list(self.measures)[:12])}")
            raise ArgumentError(f"the sweep has no measure '{name}'", hint)
        return name, self.measures[name]

    def _differs(self, name: str) -> bool:
        """Whether cases differ in a measure by more than rounding errors of numbers of its unit."""
        alike = [x for other, x in self.measures.items() if self.units.get(other) == self.units.get(name)]
        size = max(np.max(np.abs(x), where=np.isfinite(x), initial=0.0) for x in alike)
        known = self.measures[name][np.isfinite(self.measures[name])]
        return len(known) > 1 and bool(np.ptp(known) > ROUNDING * size)

    def remarks(self) -> list[str]:
        """The remarks on cases that did not fail: one line for those that differ in numbers and names only, with the number of
        cases and the text of the first."""
        cases_by_remark: dict[str, list[tuple[int, str]]] = {}
        for k in np.flatnonzero(self.status != "failed"):
            for part in str(self.message[k]).split("; "):
                if not USUAL.fullmatch(part):
                    kind = re.sub(r"\d\S*|'[^']*'", "", part.partition(":")[0])
                    cases_by_remark.setdefault(kind, []).append((int(k), part))
        lines: list[tuple[list[int], str]] = []
        for items in cases_by_remark.values():
            cases, text = list(dict.fromkeys(k for k, _ in items)), items[0][1]
            if lines and lines[-1][0] == cases:  # parts of one remark
                lines[-1] = cases, f"{lines[-1][1]}; {text}"
            else:
                lines.append((cases, text))
        count = len(self.status)
        out = [f"{len(cases)} of {count} cases, as in case {cases[0]}: {text}" for cases, text in lines[:MOST_REMARKS]]
        return out + [f"{len(lines) - MOST_REMARKS} more remarks are in results.nc"] * (len(lines) > MOST_REMARKS)

    def counted(self) -> dict[str, int]:
        """Numbers of cases by status."""
        words, counts = np.unique(self.status, return_counts=True)
        return dict(zip(words.tolist(), counts.tolist(), strict=True))

    def failures(self) -> list[tuple[int, str]]:
        """Cases that failed, and why."""
        return [(int(k), str(self.message[k])) for k in np.flatnonzero(self.status == "failed")]

    def best(self, by: str | None, *, largest: bool = False, every: bool = False) -> Sheet:
        """The best cases: what varies, the measure that ranks them, and with `every` all other measures but states."""
        name = self.measure(by)[0]
        ranked = self.ranked(name, largest=largest)
        others = [x for x in self.measures if x != name and not x.startswith(STATES)] if every else []
        columns = {**self.varied, **{x: self.measures[x] for x in (name, *others)}}
        units = {x: f" [{self.units[x]}]" if self.units.get(x, "") not in ("", "-") else "" for x in columns}
        rows = tuple((str(k), *(_text(x[k]) for x in columns.values())) for k in ranked)
        word = "largest" if largest else "smallest"
        return Sheet(
            ("case", *(f"{x}{unit}" for x, unit in units.items())), rows, title=f"{word} {name} first",
            first=tuple(range(min(len(rows), BEST_CASES))), words="cases",
            groups=((1 + len(self.varied), 1 + len(columns), "measures"),),
        )  # fmt: skip

    def ranked(self, name: str | None, *, largest: bool = False) -> list[int]:
        """Cases that have the measure, best first: the smallest, or the largest."""
        values = self.measure(name)[1]
        order = np.argsort(-values if largest else values, kind="stable")
        return [int(k) for k in order if np.isfinite(values[k])]


def _text(value: Any) -> str:
    value = value.item() if hasattr(value, "item") else value
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def measured(dataset: xarray.Dataset) -> Table:
    """The table of a study's dataset. For time-dependent quantities the final value is used; outputs come first."""
    varied = {str(n): x.values for n, x in dataset.coords.items() if x.dims == ("case",) and n != "case"}
    units = {str(n): str(x.attrs.get("units", "")) for n, x in dataset.variables.items()}
    measures: dict[str, np.ndarray] = {}
    names = sorted((str(n) for n in dataset.data_vars), key=lambda name: not name.startswith("output."))
    for name in names:
        values = dataset[name]
        if values.dtype.kind != "f" or values.ndim > 3:
            continue
        if "time" in values.dims:
            values = values.isel(time=-1)
        if values.ndim > 2 or (values.ndim == 2 and values.shape[1] > MOST_PARTS):
            continue
        short = name.removeprefix("output.")
        for part, column in _columns(values):
            measures[f"{short}{part}"] = column
            units[f"{short}{part}"] = units[name]
    return Table(varied, measures, units, dataset["status"].values, dataset["message"].values)


def _columns(values: xarray.DataArray) -> list[tuple[str, np.ndarray]]:
    if values.ndim == 1:
        return [("", values.values)]
    axis = str(values.dims[1])
    if axis in values.coords:
        one = ".{}" if axis.endswith(".part") and values.shape[1] in (3, 4) else "[{}]"  # tip.x, q[hinge]
        labels = [one.format(x) for x in values[axis].values]
    else:
        usual = {3: "xyz", 4: "wxyz"}.get(values.shape[1])
        labels = [f".{usual[k]}" if usual else f"[{k + 1}]" for k in range(values.shape[1])]
    return list(zip(labels, values.values.T, strict=True))
