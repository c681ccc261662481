"""Arrays with names, axes and labels for results; derived quantities and an xarray Dataset on request.

Most callers want a few arrays. Frames, energies, outputs and warnings take longer than a short run itself, and so does importing
xarray.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import xarray

Variable: TypeAlias = tuple[tuple[str, ...], np.ndarray | Callable[[], np.ndarray], Mapping[str, Any]]
"""Names of the axes; values, or what gives them when they are needed; attributes (`units`, `long_name`)."""


class Parts(NamedTuple):
    """Variables by name; what gives the labels of the axes that have any: names, times [s] or arc lengths [m]; and what gives the
    attributes of the whole, as text and numbers."""

    variables: Mapping[str, Variable]
    labels: Callable[[], Mapping[str, Variable]]
    attributes: Callable[[], Mapping[str, Any]]


class LabelledArrays:
    """What a dataset holds, readable without xarray. Pickled as the dataset.

    saved: variables and labels that are there already; parts: everything, these among it; called once, when it is first needed.
    """

    def __init__(self, saved: Mapping[str, np.ndarray], parts: Callable[[], Parts]) -> None:
        self._make = parts
        self._views = {name: _unwritable(values) for name, values in saved.items()}
        self._names: dict[str, tuple[str, ...]] = {}

    @classmethod
    def of_arrays(
        cls, variables: Mapping[str, Variable], labels: Mapping[str, Variable], attributes: Mapping[str, Any]
    ) -> LabelledArrays:
        """Those that are all there."""
        parts = Parts(variables, lambda: labels, lambda: attributes)
        return cls({}, lambda: parts)

    @classmethod
    def of(cls, dataset: xarray.Dataset) -> LabelledArrays:
        """What a dataset holds; it is handed out again when one is requested."""

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
        """Labels of the axes that have any, with the attributes of each."""
        return self._parts.labels()

    @cached_property
    def attributes(self) -> Mapping[str, Any]:
        """Of the whole, as text and numbers."""
        return self._parts.attributes()

    @cached_property
    def dataset(self) -> xarray.Dataset:
        """All of it as an xarray Dataset."""
        import xarray

        def made(found: Mapping[str, Variable]) -> dict[str, Any]:
            return {name: (axes, _made(values), dict(about)) for name, (axes, values, about) in found.items()}

        return xarray.Dataset(made(self.variables), made(self.labels), dict(self.attributes))

    def __contains__(self, name: object) -> bool:
        return name in self.variables or name in self.labels

    def __iter__(self) -> Iterator[str]:
        return iter(self.variables)

    def __getitem__(self, name: str) -> np.ndarray:
        """The values of a variable, or the labels of an axis. They cannot be written to: others may still follow."""
        if name not in self._views:
            self._views[name] = _unwritable(_made((self.variables.get(name) or self.labels[name])[1]))
        return self._views[name]

    def names(self, axis: str) -> tuple[str, ...]:
        """Labels of an axis as text."""
        if axis not in self._names:
            self._names[axis] = tuple(map(str, self[axis].tolist()))
        return self._names[axis]

    def unit(self, name: str) -> str:
        """Unit of a variable; empty where none is stated."""
        return str(self.variables[name][2].get("units", ""))


def named_axes(names: Mapping[str, Any]) -> dict[str, Variable]:
    """Labels of axes that have names alone."""
    return {axis: ((axis,), np.array([*map(str, of)], dtype=np.str_), {}) for axis, of in names.items()}


def _made(values: np.ndarray | Callable[[], np.ndarray]) -> np.ndarray:
    return values() if callable(values) else values


def _unwritable(values: np.ndarray) -> np.ndarray:
    view = np.asarray(values).view()
    view.flags.writeable = False
    return view
