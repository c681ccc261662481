"""Arrays with names, axes and labels, as results hold them; an xarray Dataset when somebody asks for one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import xarray

Variable: TypeAlias = tuple[tuple[str, ...], np.ndarray, Mapping[str, Any]]
"""Names of the axes, values, attributes (`units`, `long_name`)."""


@dataclass(frozen=True)
class Labelled:
    """What a dataset holds, readable without xarray: importing that takes longer than most simulations.

    Attributes:
        variables: arrays by name.
        labels: of the axes that have any: names, times [s] or arc lengths [m], with the attributes of each.
        attributes: of the whole, as text and numbers.
    """

    variables: Mapping[str, Variable]
    labels: Mapping[str, Variable]
    attributes: Mapping[str, Any]

    @classmethod
    def of(cls, dataset: xarray.Dataset) -> Labelled:
        """What a dataset holds; it is handed out again when one is asked for."""

        def plain(variables: Any) -> dict[str, Variable]:
            return {str(k): (tuple(map(str, x.dims)), np.asarray(x.values), x.attrs) for k, x in variables.items()}

        found = cls(plain(dataset.data_vars), plain(dataset.coords), dataset.attrs)
        found.__dict__["dataset"] = dataset
        return found

    @cached_property
    def dataset(self) -> xarray.Dataset:
        """All of it as an xarray Dataset that shares the arrays."""
        import xarray

        return xarray.Dataset(dict(self.variables), coords=dict(self.labels), attrs=dict(self.attributes))

    def __contains__(self, name: object) -> bool:
        return name in self.variables or name in self.labels

    def __iter__(self) -> Iterator[str]:
        return iter(self.variables)

    def __getitem__(self, name: str) -> np.ndarray:
        """The values of a variable, or the labels of an axis."""
        return (self.variables.get(name) or self.labels[name])[1]

    def names(self, axis: str) -> list[str]:
        """Labels of an axis as text."""
        return [str(x) for x in self.labels[axis][1]]

    def unit(self, name: str) -> str:
        """Unit of a variable; empty where none is stated."""
        return str(self.variables[name][2].get("units", ""))


def named_axes(names: Mapping[str, Any]) -> dict[str, Variable]:
    """Labels of axes that have names alone."""
    return {axis: ((axis,), np.array([*map(str, of)], dtype=np.str_), {}) for axis, of in names.items()}
