"""A differentiable analysis around some values: products with its Jacobian, with the transpose, and with both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from pliant.gradient.changes import OFFSETS, SHARE, WEIGHTS
from pliant.language.arguments import ArgumentError, mapping

if TYPE_CHECKING:
    from pliant.gradient.differentiable import Arrays, Differentiable


@dataclass(frozen=True)
class Linearization:
    """What the outputs of a function change by around `values`, J times tangents and J' times cotangents, by name.

    Tangents of a motion are differences of fourth order along their direction: four motions with the steps of the one at `values`,
    so that they fit the cotangents, which are those of these steps.

    Attributes:
        values: of all arguments; outputs: there.
    """

    function: Differentiable
    values: Arrays
    outputs: Arrays
    _pullback: Callable[[Mapping[str, Any]], Arrays]
    _moved: Callable[[Arrays], Arrays] | None

    def vjp(self, cotangents: Mapping[str, Any]) -> Arrays:
        """Cotangents of the arguments for those of the outputs (none are zero)."""
        return self._pullback(cotangents)

    def jvp(self, tangents: Mapping[str, Any]) -> Arrays:
        """Changes of the outputs for changes of the arguments (none are zero)."""
        along = self._checked(tangents)
        if not any(np.any(x) for x in along.values()):
            return {name: np.zeros_like(x) for name, x in self.outputs.items()}
        if self._moved is None:
            return self._by_rows(along)
        step = SHARE / max(float(np.max(np.abs(x), initial=0.0)) / _size(self.values[n]) for n, x in along.items())
        sides = [self._moved({n: x + k * step * along[n] for n, x in self.values.items()}) for k in OFFSETS]
        return {
            name: np.tensordot(WEIGHTS, [side[name] - x for side in sides], axes=1) / step
            for name, x in self.outputs.items()
        }

    def gauss_newton_product(self, tangents: Mapping[str, Any]) -> Arrays:
        """J'J times tangents: of half the sum of squared outputs, the second derivative without that of the function."""
        return self.vjp(self.jvp(tangents))

    @property
    def operator(self) -> Any:
        """J as a `scipy.sparse.linalg.LinearOperator`, outputs x arguments in the order of `of` and `by`, for solvers such as `lsmr`."""
        f = self.function
        shape = sum(x.size for x in self.outputs.values()), sum(x.size for x in self.values.values())
        inputs, outputs = {n: self.values[n] for n in f.by}, {n: self.outputs[n] for n in f.of}
        return scipy.sparse.linalg.LinearOperator(
            shape, dtype=float, matvec=lambda x: _flat(self.jvp(_named(x, inputs)), f.of),
            rmatvec=lambda y: _flat(self.vjp(_named(y, outputs)), f.by),
        )  # fmt: skip

    def _checked(self, tangents: Mapping[str, Any]) -> Arrays:
        given = mapping("tangents", tangents)
        self.function.check_argument_names(given)
        found = {}
        for name, x in self.values.items():
            found[name] = np.asarray(given.get(name, np.zeros(x.shape)), dtype=float)
            if found[name].shape != x.shape:
                raise ArgumentError(f"the tangent of '{name}' has shape {found[name].shape}; it must be {x.shape}")
        return found

    def _by_rows(self, along: Arrays) -> Arrays:
        """Of poses at rest, whose outputs are few: one row of J after the other."""
        found = {name: np.zeros_like(x) for name, x in self.outputs.items()}
        for name, x in self.outputs.items():
            for at in np.ndindex(x.shape):
                one = np.zeros_like(x)
                one[at] = 1.0
                row = self.vjp({name: one})
                found[name][at] = sum(float(np.sum(row[n] * along[n])) for n in along)
        return found


def _size(x: np.ndarray) -> float:
    return float(np.max(np.abs(x), initial=0.0)) or 1.0


def _flat(arrays: Arrays, names: tuple[str, ...]) -> np.ndarray:
    return np.concatenate([np.ravel(arrays[name]) for name in names])


def _named(x: np.ndarray, like: Mapping[str, np.ndarray]) -> Arrays:
    parts = np.split(np.ravel(x), np.cumsum([y.size for y in like.values()])[:-1])
    return {name: part.reshape(y.shape) for part, (name, y) in zip(parts, like.items(), strict=True)}
