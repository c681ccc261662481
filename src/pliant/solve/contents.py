"""What a result holds: saved states at once; what follows from them, and the labelled dataset of all, when it is asked for.

Most callers want a few arrays. Frames, energies, outputs and warnings take longer than a short run itself, and so does xarray.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import xarray


class Variable(NamedTuple):
    """An array with the names of its dimensions and with attributes such as `units`; `make` gives it when it is needed."""

    dimensions: tuple[str, ...]
    make: Callable[[], np.ndarray]
    attributes: Mapping[str, str]


@dataclass(frozen=True)
class Tables:
    """Variables by name, coordinates of their dimensions likewise, and attributes of the whole."""

    variables: Mapping[str, Variable]
    coordinates: Mapping[str, Variable]
    attributes: Callable[[], dict[str, str]]


def given(dimensions: tuple[str, ...], values: Any, **attributes: str) -> Variable:
    """A variable that is there already."""
    return Variable(dimensions, lambda: values, attributes)


class Contents:
    """Arrays and texts of a result by name. Pickled as the dataset.

    saved: variables that are there already; tables: everything, these among it; warnings: what the user should know. The latter
    two are called once, when what they give is first asked for.
    """

    def __init__(
        self, saved: Mapping[str, np.ndarray], tables: Callable[[], Tables], warnings: Callable[[], tuple[str, ...]]
    ) -> None:
        self._tables, self._warnings = tables, warnings
        self._views = {name: _unwritable(values) for name, values in saved.items()}

    @classmethod
    def of(cls, dataset: xarray.Dataset) -> Contents:
        """Those of a dataset that was made before."""

        def variables(found: Any) -> dict[str, Variable]:
            return {str(name): given(x.dims, x.values, **x.attrs) for name, x in found.items()}

        attributes = dict(dataset.attrs)
        tables = Tables(variables(dataset.data_vars), variables(dataset.coords), lambda: attributes)
        contents = cls({}, lambda: tables, lambda: tuple(json.loads(attributes["warnings"])))
        contents.__dict__["dataset"] = dataset
        return contents

    def __reduce__(self) -> tuple[Any, ...]:
        return Contents.of, (self.dataset,)

    def __contains__(self, name: str) -> bool:
        return name in self.tables.variables

    def __getitem__(self, name: str) -> np.ndarray:
        """A variable, or a coordinate with numbers, that cannot be written to: other things may still follow from it."""
        if name not in self._views:
            found = self.tables.variables.get(name) or self.tables.coordinates[name]
            self._views[name] = _unwritable(found.make())
        return self._views[name]

    @cached_property
    def tables(self) -> Tables:
        """All variables, coordinates and attributes."""
        return self._tables()

    def names(self, dimension: str) -> tuple[str, ...]:
        """Names along a dimension."""
        return tuple(str(x) for x in self.tables.coordinates[dimension].make())

    def units(self, dimension: str) -> list[str]:
        """Units along a dimension; empty where none are known."""
        return list(json.loads(self.attributes.get(f"{dimension}_units", "[]")))

    @cached_property
    def attributes(self) -> dict[str, str]:
        """What is needed to understand and repeat the run, as text."""
        return self.tables.attributes()

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know."""
        return self._warnings()

    @cached_property
    def dataset(self) -> xarray.Dataset:
        """Everything with labels."""
        import xarray

        def made(found: Mapping[str, Variable]) -> dict[str, Any]:
            return {name: (x.dimensions, x.make(), dict(x.attributes)) for name, x in found.items()}

        return xarray.Dataset(made(self.tables.variables), made(self.tables.coordinates), self.attributes)


def _unwritable(values: np.ndarray) -> np.ndarray:
    view = np.asarray(values).view()
    view.flags.writeable = False
    return view
