"""Gradients of equilibria by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import scipy

from pliant.analysis.statics.factorization import TOLERANCES
from pliant.analysis.statics.stability import TOLERANCES as STABILITY
from pliant.analysis.statics.stability import stiffness_scaling
from pliant.engine.binding import Binding
from pliant.engine.differences import difference
from pliant.engine.equations import Equations
from pliant.gradient.parameter_derivatives import ParameterTangents, step_of
from pliant.language.arguments import ArgumentError


class EquilibriumAdjoint:
    """Forces w and multipliers y that balance a cotangent of an equilibrium.

    The derivative of the pose with respect to any quantity is minus the derivative of `w.r + y.phi`. rates: their names.
    """

    def __init__(self, bound: Binding, t: float, q: np.ndarray, multipliers: np.ndarray, rates: Sequence[str]) -> None:
        self.t, self.q, self.multipliers = t, q, multipliers
        self.rates = rates
        zero = np.zeros(bound.nv)
        self.at = bound.linearized(t, q, zero, zero, multipliers)
        self.active, self.row_active = bound.active_rows, bound.row_active

    @cached_property
    def _sizes(self) -> np.ndarray:
        """Units in which increments and constraint forces have similar sizes."""
        return np.concatenate([stiffness_scaling(self.at), 1 / self.at.row_sizes[self.active]])

    @cached_property
    def _factors(self) -> Any:
        """Factors of the equations of equilibrium in these units. Raises ArgumentError if the robot can drift without force."""
        K, J, units = self.at.stiffness, self.at.jacobian[self.active], scipy.sparse.diags(self._sizes)
        matrix = units @ (scipy.sparse.bmat([[K, -J.T], [J, None]]) if J.shape[0] else K) @ units
        try:
            factors = scipy.sparse.linalg.splu(matrix.tocsc())
        except RuntimeError:  # SuperLU: exactly singular
            self._refuse_neutral(matrix)
        # pivots of a pose without stiffness along a combination of coordinates are a thousand times round-off and more
        if _least_singular_value(factors.solve, matrix.shape[0]) <= TOLERANCES.neutral * scipy.sparse.linalg.norm(
            matrix, np.inf
        ):
            self._refuse_neutral(matrix)
        return factors

    def _refuse_neutral(self, matrix: Any) -> NoReturn:
        where = ""
        if matrix.shape[0] <= STABILITY.dense_up_to:
            along = np.abs(np.linalg.svd(matrix.toarray())[2][-1][: len(self.rates)])
            where = f" along '{self.rates[int(np.argmax(along))]}'"
        raise ArgumentError(
            f"the equilibrium has no derivatives: the robot can drift{where} without force",
            "hold it there by a spring, a constraint or a fixed joint",
        )

    def _solved(self, given: np.ndarray, trans: str = "N") -> np.ndarray:
        if not given.size:  # nothing can move
            return given
        factors = self._factors
        found: np.ndarray = self._sizes * factors.solve(self._sizes * given, trans=trans)
        return found

    def solve(self, by_q: np.ndarray, by_multipliers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """w and y for a cotangent of increments of q and of multipliers."""
        found = self._solved(np.concatenate([by_q, by_multipliers[self.active]]), "T")
        y = np.zeros(len(self.active))
        y[self.active] = found[len(by_q) :]
        return found[: len(by_q)], y

    def change(self, unbalanced: np.ndarray) -> np.ndarray:
        """Change of the pose (increments of q) for a change of the unbalanced forces and constraints."""
        return -self._solved(unbalanced)[: self.at.stiffness.shape[0]]

    def unbalanced(self, bound: Binding) -> np.ndarray:
        """Unbalanced forces and errors of the active constraints, in this pose with other values."""
        if not self.active.any():  # without constraints only the forces, which is much cheaper
            zero = np.zeros(bound.nv)
            return bound.inverse(self.t, self.q, zero, zero)
        at = self._with(bound)
        return np.concatenate([at.residual, at.phi[self.active]])

    def pairing(self, bound: Binding, w: np.ndarray, y: np.ndarray) -> float:
        """w.r + y.phi with other current values."""
        at = self._with(bound)
        return float(w @ at.residual + y @ at.phi)

    def _with(self, bound: Binding) -> Any:
        zero = np.zeros(bound.nv)
        return bound.with_rows(self.row_active).linearized(self.t, self.q, zero, zero, self.multipliers)


def _least_singular_value(solve: Callable[..., np.ndarray], n: int) -> float:
    """The smallest singular value of a factorized matrix (n x n), from above, by inverse iteration."""
    x, growth = np.cos(1.0 + np.arange(n)), 0.0  # no direction is left out, as by a vector of ones
    for _ in range(INVERSE_ITERATIONS):
        for trans in ("N", "T"):
            x = solve(x / np.linalg.norm(x), trans=trans)
            growth = max(growth, float(np.linalg.norm(x)))
            if not growth < np.inf:
                return 0.0
    return 1 / growth


INVERSE_ITERATIONS = 2
"""A singular value at round-off is found in the first; the second is for a start that is almost orthogonal to its vector."""


class EquilibriumCotangents:
    """Derivatives with respect to parameters and constant inputs of a number with derivatives by_q and by_multipliers at an
    equilibrium."""

    def __init__(
        self, eqs: Equations, t: float, q: np.ndarray, by_q: np.ndarray, multipliers: np.ndarray | None = None,
        by_multipliers: np.ndarray | None = None, tangents: ParameterTangents | None = None,
    ) -> None:  # fmt: skip
        bound = eqs.binding
        if multipliers is None:
            multipliers = bound.program.calls.forward(bound, t, q, np.zeros(bound.nv))[1]
        self._tangents = tangents or ParameterTangents(eqs)
        self._eqs, self._adjoint = eqs, EquilibriumAdjoint(bound, t, q, multipliers, eqs.rates)
        self._w, self._y = self._adjoint.solve(by_q, np.zeros(bound.m) if by_multipliers is None else by_multipliers)

    def parameter(self, name: str) -> float:
        """By a parameter."""
        made = self._tangents
        return -float(difference(lambda offset: self._paired(made.moved(name, offset)), made.step(name)))

    def input(self, name: str, value: float) -> float:
        """By an input, which has this value at rest."""
        at = self._eqs.at
        return -float(
            difference(lambda offset: self._paired(at(inputs={name: value + offset}).binding), step_of(value))
        )

    def _paired(self, bound: Binding) -> float:
        return self._adjoint.pairing(bound, self._w, self._y)
