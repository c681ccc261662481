"""Derivatives of equilibria and of linearized equations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import scipy

from pliant.analysis.statics.factorization import TOLERANCES
from pliant.analysis.statics.stability import TOLERANCES as STABILITY
from pliant.analysis.statics.stability import stiffness_scaling
from pliant.engine.binding import Binding
from pliant.engine.differences import OFFSETS, WEIGHTS, checked_difference, difference
from pliant.engine.equations import Equations
from pliant.gradient.parameter_derivatives import SHARE, ParameterTangents, step_of
from pliant.language.arguments import ArgumentError, mapping

if TYPE_CHECKING:
    from pliant.gradient.differentiable import Arrays, Differentiable


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
        return self._sizes * factors.solve(self._sizes * given, trans=trans)

    def solve(self, by_q: np.ndarray, by_multipliers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """w and y for a cotangent of increments of q and of multipliers."""
        solution = self._solved(np.concatenate([by_q, by_multipliers[self.active]]), "T")
        y = np.zeros(len(self.active))
        y[self.active] = solution[len(by_q) :]
        return solution[: len(by_q)], y

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


@dataclass(frozen=True)
class KinkTolerances:
    """Numbers that tell kinks of an output from its curvature."""

    kinked: float = 1e-2
    """Of what the outputs change by, the share that may change with a kink."""
    kinked_motion: float = 1e-3
    """Of what all outputs change by over a step, the misfit from which shorter steps are tried: simulations are accurate to less
    than functions of the equations are."""
    event_share: float = 1e-5
    """Relative change of values for differences of motions with events: events must stay within their steps."""
    tiny: float = 1e-12
    """Changes of outputs that are round-off [SI units]."""


KINKS = KinkTolerances()


@dataclass(frozen=True)
class Linearization:
    """Linearization of a function at `values`: products of its Jacobian J with tangents, and of J' with cotangents, by name.


    Tangents of a simulation are fourth-order finite differences along their direction: five simulations with the time steps of

    the one at `values`, consistent with the adjoint of these steps. Simulations with contacts or events have no adjoint: J is
    assembled from such tangents.

    Attributes:
        values: of all arguments; outputs: there.
    """

    function: Differentiable
    values: Arrays
    outputs: Arrays
    _pullback: Callable[[Arrays], Arrays] | None
    _moved: Callable[[Arrays], Arrays] | None
    _share: float = SHARE

    def __reduce__(self) -> tuple[Any, ...]:
        # a copy records the motion again: a record is large, and part of it is memory of the runtime
        return self.function.linearize, (self.values,)

    def vjp(self, cotangents: Mapping[str, Any]) -> Arrays:
        """Cotangents of the arguments for those of the outputs (omitted ones are zero)."""
        given = self.function.checked_cotangents(cotangents)
        if self._pullback is not None:
            return self._pullback(given)
        flat = sum(
            np.ravel(given.get(name, np.zeros_like(x))) @ self._columns[name] for name, x in self.outputs.items()
        )
        return _named(np.asarray(flat), self.values)

    def jvp(self, tangents: Mapping[str, Any]) -> Arrays:
        """Tangents of the outputs for those of the arguments (omitted ones are zero)."""
        along = self._checked(tangents)
        if not any(np.any(x) for x in along.values()):
            return {name: np.zeros_like(x) for name, x in self.outputs.items()}
        if self._moved is None:
            return self._by_rows(along)
        step = self._share / max(
            float(np.max(np.abs(x), initial=0.0)) / _size(self.values[n]) for n, x in along.items()
        )
        if self._pullback is not None:
            names = tuple(self.outputs)

            def moved(offset: float) -> np.ndarray:
                assert self._moved is not None, "of motions"
                values = {n: x + offset * along[n] for n, x in self.values.items()}
                return _flat(self._moved(values) if offset else self._again, names)

            found, fits = checked_difference(moved, step, KINKS.kinked_motion)
            return _named(found, self.outputs) if fits else self._by_rows(along)
        sides = [self._moved({n: x + k * step * along[n] for n, x in self.values.items()}) for k in OFFSETS]
        self._refuse_kinks(sides)
        return {
            name: np.tensordot(WEIGHTS, [side[name] - x for side in sides], axes=1) / step
            for name, x in self.outputs.items()
        }

    @cached_property
    def _columns(self) -> Arrays:
        """J of each output, its components x those of all arguments, by one tangent for each of these."""
        found: dict[str, list[np.ndarray]] = {name: [] for name in self.outputs}
        for name, x in self.values.items():
            for at in np.ndindex(x.shape):
                one = np.zeros_like(x)
                one[at] = 1.0
                for output, column in self.jvp({name: one}).items():
                    found[output].append(np.ravel(column))
        return {name: np.array(columns).T for name, columns in found.items()}

    @cached_property
    def _again(self) -> Arrays:
        """The outputs again, with the prescribed steps of differences."""
        assert self._moved is not None, "of motions"
        return self._moved(self.values)

    def _refuse_kinks(self, sides: list[Arrays]) -> None:
        """Raise ArgumentError if the outputs change with a kink or a jump: differences over twice the distance are then not twice
        as large, and second differences not four times."""
        for name, here in self._again.items():
            up, down, far_up, far_down = (side[name] - here for side in sides)
            size = float(np.max(np.abs(up - down), initial=0.0))
            bent = float(np.max(np.abs(4 * (up + down) - (far_up + far_down)), initial=0.0))
            uneven = float(np.max(np.abs(2 * (up - down) - (far_up - far_down)), initial=0.0))
            if max(bent, uneven) > KINKS.kinked * size + KINKS.tiny:
                raise ArgumentError(
                    f"the output '{name}' is not differentiable at these values: an arbitrarily small change makes contacts open,"
                    " close, stick or slip, or decides whether an event occurs",
                    "use other values or times, or method='optuna' of `optimize`, which needs no derivatives",
                )

    def gauss_newton_product(self, tangents: Mapping[str, Any]) -> Arrays:
        """J'J times tangents: the Gauss-Newton approximation of the Hessian of half the sum of squared outputs."""
        return self.vjp(self.jvp(tangents))

    @property
    def operator(self) -> Any:
        """J as a `scipy.sparse.linalg.LinearOperator`, outputs x arguments in the order of `of` and `by`, for example for
        `lsmr`."""
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
        """One row of J after the other."""
        by_rows = {name: np.zeros_like(x) for name, x in self.outputs.items()}
        for name, x in self.outputs.items():
            for at in np.ndindex(x.shape):
                one = np.zeros_like(x)
                one[at] = 1.0
                row = self.vjp({name: one})
                by_rows[name][at] = sum(float(np.sum(row[n] * along[n])) for n in along)
        return by_rows


def _size(x: np.ndarray) -> float:
    return float(np.max(np.abs(x), initial=0.0)) or 1.0


def _flat(arrays: Arrays, names: tuple[str, ...]) -> np.ndarray:
    return np.concatenate([np.ravel(arrays[name]) for name in names])


def _named(x: np.ndarray, like: Mapping[str, np.ndarray]) -> Arrays:
    parts = np.split(np.ravel(x), np.cumsum([y.size for y in like.values()])[:-1])
    return {name: part.reshape(y.shape) for part, (name, y) in zip(parts, like.items(), strict=True)}
