"""Labelled arrays of results; derived quantities and an xarray Dataset are computed on demand.

Most callers need a few arrays only. Computing frames, energies, outputs and remarks takes longer than a short run, as does
importing xarray.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import xarray

Variable: TypeAlias = tuple[tuple[str, ...], np.ndarray | Callable[[], np.ndarray], Mapping[str, Any]]
"""Names of the axes; values, or a function that computes them on demand; attributes (`units`, `long_name`)."""


class Parts(NamedTuple):
    """Variables by name; a function that returns the labels of labelled axes (names, times [s] or arc lengths [m]); a function that
    returns the attributes of the dataset (text and numbers)."""

    variables: Mapping[str, Variable]
    labels: Callable[[], Mapping[str, Variable]]
    attributes: Callable[[], Mapping[str, Any]]


class LabelledArrays:
    """The content of a dataset, readable without xarray. It is pickled as the dataset.

    saved: variables and labels that are available already; parts: returns all of them, including these; called once, on demand.
    """

    def __init__(self, saved: Mapping[str, np.ndarray], parts: Callable[[], Parts]) -> None:
        self._make = parts
        self._views = {name: _unwritable(values) for name, values in saved.items()}
        self._names: dict[str, tuple[str, ...]] = {}

    @classmethod
    def of_arrays(
        cls, variables: Mapping[str, Variable], labels: Mapping[str, Variable], attributes: Mapping[str, Any]
    ) -> LabelledArrays:
        """Wrap complete variables."""
        parts = Parts(variables, lambda: labels, lambda: attributes)
        return cls({}, lambda: parts)

    @classmethod
    def of(cls, dataset: xarray.Dataset) -> LabelledArrays:
        """Wrap the content of a dataset, which is returned when a dataset is requested."""

        def plain(variables: Any) -> dict[str, Variable]:
            return {str(k): (tuple(map(str, x.dims)), np.asarray(x.values), x.attrs) for k, x in variables.items()}

        found = cls.of_arrays(plain(dataset.data_vars), plain(dataset.coords), dataset.attrs)
        found.__dict__["dataset"] = dataset
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return LabelledArrays.of, (self.dataset,)

    @cached_property
    def _parts(self) -> Parts:
        return self._make()

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Arrays by name."""
        return self._parts.variables

    @cached_property
    def labels(self) -> Mapping[str, Variable]:
        """Labels of the labelled axes, with their attributes."""
        return self._parts.labels()

    @cached_property
    def attributes(self) -> Mapping[str, Any]:
        """Attributes of the dataset (text and numbers)."""
        return self._parts.attributes()

    @cached_property
    def dataset(self) -> xarray.Dataset:
        """The content as an xarray Dataset.

        Variables that cannot be computed are omitted, with a remark: what was saved is not lost with them.
        """
        import xarray

        omitted: list[str] = []

        def made(found: Mapping[str, Variable]) -> dict[str, Any]:
            arrays = {}
            for name, (axes, values, about) in found.items():
                try:
                    arrays[name] = (axes, _made(values), dict(about))
                except Exception as reason:
                    omitted.append(f"{name} could not be computed: {reason}")
            return arrays

        variables, labels = made(self.variables), made(self.labels)
        attributes = dict(self.attributes)
        if omitted:
            key = "warnings" if "warnings" in attributes else "remarks"
            attributes[key] = json.dumps([*json.loads(attributes.get(key, "[]")), *omitted])
        return xarray.Dataset(variables, labels, attributes)

    def __contains__(self, name: object) -> bool:
        return name in self.variables or name in self.labels

    def __iter__(self) -> Iterator[str]:
        return iter(self.variables)

    def __getitem__(self, name: str) -> np.ndarray:
        """The values of a variable, or the labels of an axis, as a read-only array, which other results may share."""
        if name not in self._views:
            self._views[name] = _unwritable(_made((self.variables.get(name) or self.labels[name])[1]))
        return self._views[name]

    def names(self, axis: str) -> tuple[str, ...]:
        """Labels of an axis as text."""
        if axis not in self._names:
            self._names[axis] = tuple(map(str, self[axis].tolist()))
        return self._names[axis]

    def unit(self, name: str) -> str:
        """Unit of a variable; empty if none is stated."""
        return str(self.variables[name][2].get("units", ""))


def named_axes(names: Mapping[str, Any]) -> dict[str, Variable]:
    """Labels of axes that have only names."""
    return {axis: ((axis,), np.array([*map(str, of)], dtype=np.str_), {}) for axis, of in names.items()}


def _made(values: np.ndarray | Callable[[], np.ndarray]) -> np.ndarray:
    return values() if callable(values) else values


def _unwritable(values: np.ndarray) -> np.ndarray:
    view = np.asarray(values).view()
    view.flags.writeable = False
    return view
