"""Linear-quadratic regulators, and observers of the state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy

from pliant.analysis.linearize import StateSpace
from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.control.discrete import (
    DiscreteStateSpace,
    Mode,
    check_detectable,
    check_stabilizable,
    check_weighted,
    held,
    need_linear,
    system_modes,
)
from pliant.engine.core import UnknownName
from pliant.language.arguments import ArgumentError, mapping, number, real
from pliant.language.message_text import describe

Linear: TypeAlias = StateSpace | DiscreteStateSpace
Weights: TypeAlias = Mapping[str, float] | np.ndarray | float


@dataclass(frozen=True, repr=False)
class Regulator:
    """u = -gain x minimises the sum (or integral) of x'Qx + u'Ru.

    Attributes:
        gain: inputs x states.
        cost: the matrix P of the cost x'Px from a state on.
        linear: the system it was designed for, continuous or discrete.
        poles: eigenvalues of the closed loop, [1/s] or per sample.
    """

    gain: np.ndarray
    cost: np.ndarray
    linear: Linear
    poles: np.ndarray

    def __repr__(self) -> str:
        return f"Regulator: {' x '.join(map(str, self.gain.shape))} gain, {poles_in_words(self.linear, self.poles)}"

    @property
    def plant(self) -> StateSpace:
        """The continuous system of the design."""
        return self.linear.continuous if isinstance(self.linear, DiscreteStateSpace) else self.linear

    @property
    def modes(self) -> list[Mode]:
        """Modes of the closed loop in continuous time."""
        A = self.linear.A - self.linear.B @ self.gain
        if isinstance(self.linear, DiscreteStateSpace):
            values = [mode.eigenvalue for mode in system_modes(A)]
            logs = [complex(np.log(x)) / self.linear.sample_time for x in values if x != 0]
            empty = np.zeros(0)
            return [Mode(x, empty, empty, (), 1.0, 1.0) for x in logs if x.imag >= 0]
        return system_modes(A, names=self.linear.states)


@on_one_blas_thread
def lqr(linear: Linear, *, states: Weights = 1.0, inputs: Weights = 1.0, outputs: Weights | None = None) -> Regulator:
    """The regulator for weights on states (Q), inputs (R) and, where given, outputs (their square is added to Q).

    Weights are matrices, vectors (diagonals), one number for all, or numbers by name (unnamed states have weight 0,
    unnamed inputs 1). `linear` from `linearize` gives a continuous regulator, from `discretize` a sampled one.
    """
    need_linear("lqr", linear, StateSpace, DiscreteStateSpace)
    Q, R, N = costs(linear, states, inputs, outputs)
    discrete = isinstance(linear, DiscreteStateSpace)
    sample_time = linear.sample_time if isinstance(linear, DiscreteStateSpace) else None
    check_stabilizable(linear.A, linear.B, linear.states, sample_time=sample_time)
    check_weighted(linear.A, Q, linear.states, sample_time=sample_time)
    # weights and units may differ by many powers of ten; unit cost on every state conditions the equation
    scale = _scale(Q)
    A, B = linear.A * scale[None, :] / scale[:, None], linear.B / scale[:, None]
    Qs, Ns = Q * np.outer(scale, scale), N * scale[:, None]
    try:
        if discrete:
            P = scipy.linalg.solve_discrete_are(A, B, Qs, R, s=Ns)
            gain = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A + Ns.T)
        else:
            P = scipy.linalg.solve_continuous_are(A, B, Qs, R, s=Ns)
            gain = np.linalg.solve(R, B.T @ P + Ns.T)
    except np.linalg.LinAlgError as reason:
        raise ArgumentError(
            f"no regulator with these weights ({reason}); add weights on every mode that does not decay by itself"
        ) from None
    gain, P = gain / scale[None, :], P / np.outer(scale, scale)
    return Regulator(gain, P, linear, scipy.linalg.eigvals(linear.A - linear.B @ gain))


def poles_in_words(linear: Linear, poles: np.ndarray) -> str:
    """Decay of the slowest pole of a design, per sample or per second."""
    if not len(poles):
        return "no poles"
    if isinstance(linear, DiscreteStateSpace):
        return f"largest of {len(poles)} poles {np.abs(poles).max():.6g} per sample of {linear.sample_time:g} s"
    return f"slowest of {len(poles)} poles {np.real(poles).max():.6g} 1/s"


def costs(
    linear: Linear, states: Weights, inputs: Weights, outputs: Weights | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights on states, on inputs and between them: the cost is x'Qx + u'Ru + 2 x'Nu."""
    if linear.B.shape[1] == 0:
        raise ArgumentError("the system has no input; mark parameters as inputs in the model")
    Q = state_weights(states, linear)
    R = weight_matrix(inputs, linear.inputs, "input", 1.0)
    N = np.zeros(linear.B.shape)
    if outputs is not None:
        W = weight_matrix(outputs, linear.outputs, "output", 0.0)
        Q, N, R = Q + linear.C.T @ W @ linear.C, linear.C.T @ W @ linear.D, R + linear.D.T @ W @ linear.D
    if np.min(np.linalg.eigvalsh(R)) <= 0:
        raise ArgumentError("the weights on the inputs must be positive: otherwise the effort is unbounded")
    return Q, R, N


def _scale(Q: np.ndarray) -> np.ndarray:
    """Scales of the states at which their costs are equal, bounded; 1 for states without cost."""
    diagonal = np.diag(Q)
    typical = np.sqrt(np.median(diagonal[diagonal > 0])) if np.any(diagonal > 0) else 1.0
    root = np.sqrt(np.maximum(diagonal, 0.0)) / typical
    return 1.0 / np.where(root > 0, np.clip(root, 1e-4, 1e4), 1.0)


def plant_states(linear: Linear) -> tuple[str, ...]:
    """The states of the robot: all except past commands, which are known."""
    return linear.continuous.states if isinstance(linear, DiscreteStateSpace) else linear.states


def state_weights(weights: Weights, linear: Linear) -> np.ndarray:
    """Weights on the robot's states, zero on past commands (n x n)."""
    names = plant_states(linear)
    out = np.zeros_like(linear.A)
    out[: len(names), : len(names)] = weight_matrix(weights, names, "state", 0.0)
    return out


def weight_matrix(weights: Weights, names: tuple[str, ...], what: str, missing: float) -> np.ndarray:
    """Weights in any of their forms as a symmetric matrix (n x n)."""
    n = len(names)
    if isinstance(weights, Mapping):
        diagonal = np.full(n, missing)
        for name, value in mapping(f"the weights on the {what}s", weights).items():
            rows = [i for i, x in enumerate(names) if x == name or x.startswith(f"{name}.")]
            if not rows:
                raise UnknownName(what, name, names)
            diagonal[rows] = number(f"the weight of '{name}'", value)
        weights = diagonal
    array = real(f"the weights on the {what}s", weights)
    if array.ndim == 0:
        matrix = float(array) * np.eye(n)
    elif array.shape == (n,):
        matrix = np.diag(array)
    elif array.shape == (n, n):
        if not np.allclose(array, array.T, rtol=1e-9, atol=0.0, equal_nan=True):
            raise ArgumentError(f"the {n} x {n} weights on the {what}s must be symmetric")
        matrix = 0.5 * (array + array.T)
    else:
        raise ArgumentError(f"weights on {n} {what}s have shape {array.shape}; give {n} numbers or {n} x {n} of them")
    if not np.all(np.isfinite(matrix)) or np.min(np.linalg.eigvalsh(matrix), initial=0.0) < -1e-12 * np.max(
        np.abs(matrix), initial=0.0
    ):
        raise ArgumentError(f"the weights on the {what}s must be finite and not negative")
    return np.asarray(matrix)


@dataclass(frozen=True, repr=False)
class Observer:
    """The estimate follows x = A x + B u (its rate, or its next value) and is corrected by gain (y - C x - D u).

    Attributes:
        gain: states x outputs. In discrete time the correction comes first, before the step to the next sample.
        covariance: of the estimate's error just after a correction, if it was designed for noise; otherwise None.
        linear: the system it was designed for.
        poles: eigenvalues of the error, [1/s] or per sample.
    """

    gain: np.ndarray
    covariance: np.ndarray | None
    linear: Linear
    poles: np.ndarray

    def __repr__(self) -> str:
        return f"Observer: {' x '.join(map(str, self.gain.shape))} gain, {poles_in_words(self.linear, self.poles)}"

    def correct(self, x: np.ndarray, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The estimate (n) after a measurement y with the input u."""
        return np.asarray(x + self.gain @ (y - self.linear.C @ x - self.linear.D @ u))

    def predict(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The estimate at the next sample."""
        return np.asarray(self.linear.A @ x + self.linear.B @ u)


@on_one_blas_thread
def kalman(
    linear: Linear,
    *,
    process: Weights = 1.0,
    inputs: Weights | None = None,
    disturbances: np.ndarray | None = None,
    outputs: Weights = 1.0,
) -> Observer:
    """The observer with the smallest error variance.

    Variances of noise: `process` on the states' rates (continuous) or per sample (discrete), `inputs` of a disturbance
    that acts like the inputs, `outputs` of the sensors; matrices, vectors, one number, or by name. disturbances: effects on the
    states' rates (n, or n x k) of others of unit variance, such as columns of B of inputs that are not commanded, times their
    standard deviations. Of discrete systems disturbances are constant within a sample, and act without the delay of commands.
    """
    need_linear("kalman", linear, StateSpace, DiscreteStateSpace)
    Q, n = state_weights(process, linear), len(plant_states(linear))
    if inputs is not None:
        G = _over_a_sample(linear, _plant(linear).B)
        Q[:n, :n] += G @ weight_matrix(inputs, linear.inputs, "input", 0.0) @ G.T
    if disturbances is not None:
        given = real("disturbances", disturbances)
        if given.ndim not in (1, 2) or len(given) != n or not np.all(np.isfinite(given)):
            raise ArgumentError(
                f"the disturbances have shape {given.shape}; give their effects on the rates of the {n} states, {n} x k finite "
                "numbers"
            )
        G = _over_a_sample(linear, given.reshape(n, -1))
        Q[:n, :n] += G @ G.T
    R = weight_matrix(outputs, linear.outputs, "output", 1.0)
    if not len(R):
        raise ArgumentError("the observer has no outputs")
    if np.min(np.linalg.eigvalsh(R)) <= 0:
        raise ArgumentError("the variances of the outputs must be positive: no sensor is perfect")
    _check(linear)
    try:
        if isinstance(linear, DiscreteStateSpace):
            P = scipy.linalg.solve_discrete_are(linear.A.T, linear.C.T, Q, R)
            gain = np.linalg.solve(linear.C @ P @ linear.C.T + R, linear.C @ P).T
            error = linear.A @ (np.eye(len(P)) - gain @ linear.C)
            return Observer(gain, P - gain @ linear.C @ P, linear, scipy.linalg.eigvals(error))
        P = scipy.linalg.solve_continuous_are(linear.A.T, linear.C.T, Q, R)
    except np.linalg.LinAlgError as reason:
        raise ArgumentError(f"no observer for these variances ({reason}); add noise that acts on every mode") from None
    gain = np.linalg.solve(R, linear.C @ P).T
    return Observer(gain, P, linear, scipy.linalg.eigvals(linear.A - gain @ linear.C))


@on_one_blas_thread
def luenberger(linear: Linear, poles: np.ndarray) -> Observer:
    """The observer whose error has these poles: [1/s] for a continuous system, per sample for a discrete one."""
    need_linear("luenberger", linear, StateSpace, DiscreteStateSpace)
    try:
        wanted = np.asarray(poles)
    except ValueError:
        raise ArgumentError(f"poles must be a list of numbers, not {describe(poles)}") from None
    n = len(plant_states(linear))
    if wanted.shape != (n,) or wanted.dtype.kind not in "iufc" or not np.all(np.isfinite(wanted)):
        raise ArgumentError(f"the observer needs {n} poles, finite numbers; {wanted.size} were given: {wanted}")
    if not np.array_equal(np.sort_complex(wanted), np.sort_complex(wanted.conj())):
        raise ArgumentError("complex poles come in pairs: give the conjugate of each")
    _check(linear)
    independent = int(np.linalg.matrix_rank(linear.C))
    value, often = max(((x, int(np.sum(wanted == x))) for x in wanted), key=lambda pair: pair[1])
    if often > independent:
        raise ArgumentError(
            f"the pole {value:g} is given {often} times, but only {independent} of the outputs are independent: poles of an "
            "observer can coincide at most that often. Choose slightly different ones"
        )
    limit = np.abs(wanted) >= 1 if isinstance(linear, DiscreteStateSpace) else wanted.real >= 0
    if np.any(limit):
        raise ArgumentError(f"a pole at {wanted[limit][0]:.4g} is unstable; choose stable poles")
    if isinstance(linear, DiscreteStateSpace):
        # the correction comes before the step: place (A - A L C)
        A = linear.A[:n, :n]
        shown = linear.C[:, :n] @ A
        gain = np.zeros((len(linear.A), len(shown)))
        gain[:n] = _placed(A, shown, wanted)
        return Observer(gain, None, linear, scipy.linalg.eigvals(A - gain[:n] @ shown))
    gain = _placed(linear.A, linear.C, wanted)
    return Observer(gain, None, linear, scipy.linalg.eigvals(linear.A - gain @ linear.C))


def _placed(A: np.ndarray, C: np.ndarray, poles: np.ndarray) -> np.ndarray:
    """The gain L for which A - L C has these poles."""
    # SciPy fails if outputs are dependent: independent combinations of them carry the same information
    basis, _, _ = np.linalg.svd(C, full_matrices=False)
    basis = basis[:, : int(np.linalg.matrix_rank(C))]
    gain = scipy.signal.place_poles(A.T, (basis.T @ C).T, poles).gain_matrix.T
    return np.asarray(gain @ basis.T)


def _plant(linear: Linear) -> StateSpace:
    """The continuous system of the robot."""
    return linear.continuous if isinstance(linear, DiscreteStateSpace) else linear


def _over_a_sample(linear: Linear, rates: np.ndarray) -> np.ndarray:
    """Effects on the states at the next sample of disturbances with these effects on their rates (n x k)."""
    return held(linear.continuous.A, rates, linear.sample_time)[1] if isinstance(linear, DiscreteStateSpace) else rates


def _check(linear: Linear) -> None:
    time = linear.sample_time if isinstance(linear, DiscreteStateSpace) else None
    check_detectable(linear.A, linear.C, linear.states, sample_time=time)
