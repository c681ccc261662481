"""Gradients of poses at rest by the implicit function theorem."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy

from pliant.equations.binding import Binding
from pliant.equations.equations import Equations
from pliant.gradient.changes import OFFSETS, WEIGHTS, ParameterSides, step_of, value_of


class RestAdjoint:
    """Forces w and multipliers y that take up a cotangent of a pose at rest.

    What the pose changes by with anything is, with the sign turned, what `w.r + y.phi` changes by with it.
    """

    def __init__(self, bound: Binding, t: float, q: np.ndarray, multipliers: np.ndarray) -> None:
        self.t, self.q, self.multipliers = t, q, multipliers
        zero = np.zeros(bound.nv)
        self.at = bound.linearized(t, q, zero, zero, multipliers)
        self.active, self.row_active = bound.active_rows, bound.row_active

    @cached_property
    def _factors(self) -> Any:
        K, J = self.at.stiffness, self.at.jacobian[self.active]
        matrix = scipy.sparse.bmat([[K, -J.T], [J, None]], format="csc") if J.shape[0] else K.tocsc()
        return scipy.sparse.linalg.splu(matrix)

    def solve(self, by_q: np.ndarray, by_multipliers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """w and y for a cotangent by increments of q and by multipliers."""
        found = self._factors.solve(np.concatenate([by_q, by_multipliers[self.active]]), trans="T")
        y = np.zeros(len(self.active))
        y[self.active] = found[len(by_q) :]
        return found[: len(by_q)], y

    def change(self, unbalanced: np.ndarray) -> np.ndarray:
        """What the pose changes by (increments of q) with what changes the unbalanced forces and the constraints by this."""
        found: np.ndarray = -self._factors.solve(unbalanced)[: self.at.stiffness.shape[0]]
        return found

    def unbalanced(self, bound: Binding) -> np.ndarray:
        """Unbalanced forces and errors of the constraints in force, in this pose with other values."""
        if not self.active.any():  # without constraints the forces alone, at a fraction of the cost
            zero = np.zeros(bound.nv)
            return bound.inverse(self.t, self.q, zero, zero)
        at = self._with(bound)
        return np.concatenate([at.residual, at.phi[self.active]])

    def pairing(self, bound: Binding, w: np.ndarray, y: np.ndarray) -> float:
        """w.r + y.phi with other values in force."""
        at = self._with(bound)
        return float(w @ at.residual + y @ at.phi)

    def _with(self, bound: Binding) -> Any:
        zero = np.zeros(bound.nv)
        return bound.with_rows(self.row_active).linearized(self.t, self.q, zero, zero, self.multipliers)


class RestCotangents:
    """How a number that changes with a pose at rest, as by_q and by_multipliers say, changes with parameters and held inputs."""

    def __init__(
        self, eqs: Equations, t: float, q: np.ndarray, by_q: np.ndarray, multipliers: np.ndarray | None = None,
        by_multipliers: np.ndarray | None = None, sides: ParameterSides | None = None,
    ) -> None:  # fmt: skip
        bound = eqs.binding
        if multipliers is None:
            multipliers = bound.program.calls.forward(bound, t, q, np.zeros(bound.nv))[1]
        self._sides = sides or ParameterSides(eqs)
        self._eqs, self._adjoint = eqs, RestAdjoint(bound, t, q, multipliers)
        self._w, self._y = self._adjoint.solve(by_q, np.zeros(bound.m) if by_multipliers is None else by_multipliers)

    def parameter(self, name: str) -> float:
        """By a parameter."""
        paired = np.array([self._paired(here)[0] for here in self._sides.of(name)])
        return -float(WEIGHTS @ paired / step_of(value_of(self._eqs, name)))

    def input(self, name: str, value: float) -> float:
        """By an input, which has this value at rest."""
        step = step_of(value)
        sides = [self._paired(self._eqs.at(inputs={name: value + k * step}))[0] for k in OFFSETS]
        return -float(WEIGHTS @ sides / step)

    def _paired(self, eqs: Equations) -> np.ndarray:
        return np.array([self._adjoint.pairing(eqs.binding, self._w, self._y)])
