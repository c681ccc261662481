"""Outcomes of all cases in arrays of one shape, and as one labelled dataset."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.analysis.numerics.labelled_arrays import LabelledArrays
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
            lent: np.ndarray = known[1][case]
            return lent
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
        found: slice | np.ndarray = known[1]
        return found

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
