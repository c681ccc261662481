"""Derivatives of equilibria and of linearized equations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import scipy

from pliant.analysis.statics.factorization import TOLERANCES
from pliant.analysis.statics.stability import TOLERANCES as STABILITY
from pliant.analysis.statics.stability import stiffness_scaling
from pliant.engine.binding import Binding, LinearizedEquations
from pliant.engine.differences import OFFSETS, WEIGHTS, checked_difference, difference
from pliant.engine.equations import Equations
from pliant.gradient.parameter_derivatives import SHARE, ParameterTangents, step_of
from pliant.language.arguments import ArgumentError, mapping

if TYPE_CHECKING:
    from pliant.gradient.differentiable import Arrays, Differentiable


class EquilibriumChange:
    """How an equilibrium moves with a quantity that the equations depend on: increments of the pose, and changes of multipliers.

    rates: names of the increments.
    """

    def __init__(self, bound: Binding, t: float, q: np.ndarray, multipliers: np.ndarray, rates: Sequence[str]) -> None:
        self.t, self.q, self.multipliers = t, q, multipliers
        self.rates = rates
        self.bound = bound
        self.active, self.row_active = bound.active_rows, bound.row_active

    @cached_property
    def at(self) -> LinearizedEquations:
        """The equations of equilibrium in this pose."""
        return self._linearized(self.bound)

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

    def _solved(self, given: np.ndarray) -> np.ndarray:
        if not given.size:  # nothing can move
            return given
        solution: np.ndarray = self._sizes * self._factors.solve(self._sizes * given)
        return solution

    def by(self, moved: Callable[[float], Binding], step: float) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of the pose (increments of q) and of the multipliers for an increasing quantity.

        moved: the equations with the quantity changed by an offset; step: an offset for differences of forces in one pose.

        Where the pose is at a kink (a line at its length without tension, a stop at its limit), the stiffness is that of one side,
        and the change that follows from it may lead to the other. The prediction is therefore tested a short way along itself, and
        where it does not hold, it is corrected with the stiffness found there.
        """
        change = -self._solved(difference(lambda offset: self._unbalanced(moved(offset)), step))
        size = self._largest(change)
        if not KINKS.nothing < step * size < np.inf:
            return self._split(change)
        h = min(step, KINKS.way / size)
        before, bound, x = self._unbalanced(self.bound), moved(h), h * change
        there = self._beside(bound, x)
        left = there._unbalanced(bound) - before
        if self._largest(self._solved(left)) <= KINKS.kinked_rest * self._largest(x):
            return self._split(change)
        for _ in range(KINKS.corrections):
            correction = there._solved(left)
            x = x - correction
            if self._largest(correction) <= KINKS.settled * self._largest(x):
                return self._split(x / h)
            there = self._beside(bound, x)
            left = there._unbalanced(bound) - before
        raise ArgumentError(
            "the equilibrium has no derivatives: forces have a kink there (of a line at its length without tension, a stop at its "
            "limit, a contact that closes), and no equilibrium is found beside it",
            "use other values, or a `smoothing` of the line",
        )

    def _split(self, change: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Increments of q, and changes of all multipliers."""
        multipliers = np.zeros(len(self.active))
        multipliers[self.active] = change[len(self.rates) :]
        return change[: len(self.rates)], multipliers

    @cached_property
    def _reference(self) -> np.ndarray:
        return self.bound.sizes(self.q)[1]

    def _largest(self, change: np.ndarray) -> float:
        """The largest increment of the pose, relative to the size of the robot."""
        return float(np.max(np.abs(change[: len(self.rates)]) / self._reference, initial=0.0))

    def _beside(self, bound: Binding, change: np.ndarray) -> EquilibriumChange:
        by_q, by_multipliers = self._split(change)
        q, multipliers = self.bound.increment(self.q, by_q), self.multipliers + by_multipliers
        return EquilibriumChange(bound.with_rows(self.row_active), self.t, q, multipliers, self.rates)

    def _unbalanced(self, bound: Binding) -> np.ndarray:
        """Unbalanced forces and errors of the active constraints, in this pose with other values."""
        if not self.active.any():  # without constraints only the forces, which is much cheaper
            zero = np.zeros(bound.nv)
            return bound.inverse(self.t, self.q, zero, zero)
        at = self._linearized(bound)
        return np.concatenate([at.residual, at.phi[self.active]])

    def _linearized(self, bound: Binding) -> LinearizedEquations:
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
        self._eqs, self._change = eqs, EquilibriumChange(bound, t, q, multipliers, eqs.rates)
        self._by_q, self._by_multipliers = by_q, np.zeros(bound.m) if by_multipliers is None else by_multipliers

    def parameter(self, name: str) -> float:
        """By a parameter."""
        made = self._tangents
        return self._paired(partial(made.moved, name), made.step(name))

    def input(self, name: str, value: float) -> float:
        """By an input, which has this value at rest."""
        at = self._eqs.at
        return self._paired(lambda offset: at(inputs={name: value + offset}).binding, step_of(value))

    def _paired(self, moved: Callable[[float], Binding], step: float) -> float:
        by_q, by_multipliers = self._change.by(moved, step)
        return float(self._by_q @ by_q + self._by_multipliers @ by_multipliers)


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
    way: float = 1e-6
    """Largest displacement over which changes of an equilibrium are tested, relative to the size of the robot: beyond the
    tolerance of an equilibrium, and too short for others than kinks at the pose."""
    nothing: float = 1e-12
    """The same of changes that are not tested, because round-off of forces moves the pose as far."""
    kinked_rest: float = 1e-3
    """Of these changes, the share that may change over that way."""
    settled: float = 1e-5
    """Relative correction that is the last: the next is much smaller, unless another line turns taut or slack."""
    corrections: int = 20
    """At most: each may turn another line taut or slack."""


KINKS = KinkTolerances()


@dataclass(frozen=True)
class Linearization:
    """Linearization of a function at `values`: products of its Jacobian J with tangents, and of J' with cotangents, by name.


    Tangents of a simulation are fourth-order finite differences along their direction: five simulations with the time steps of

    the one at `values`, consistent with the adjoint of these steps. Simulations with contacts or events have no adjoint, and that
    of a rest at a kink is of any side: J is assembled from such tangents, at kinks those for increasing arguments.

    Attributes:
        values: of all arguments; outputs: there.
    """

    function: Differentiable
    values: Arrays
    outputs: Arrays
    _pullback: Callable[[Arrays], Arrays] | None
    _moved: Callable[[Arrays], Arrays] | None
    _share: float = SHARE
    _at_a_kink: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        # a copy records the motion again: a record is large, and part of it is memory of the runtime
        return self.function.linearize, (self.values,)

    def vjp(self, cotangents: Mapping[str, Any]) -> Arrays:
        """Cotangents of the arguments for those of the outputs (omitted ones are zero)."""
        given = self.function.checked_cotangents(cotangents)
        if self._pullback is not None and not self._at_a_kink:
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
            return _named(found, self.outputs) if fits or self._at_a_kink else self._by_rows(along)
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
