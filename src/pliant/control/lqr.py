"""Linear quadratic regulators: gains that trade deviations of states against effort of inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy

from pliant.analysis.linearize import StateSpace
from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.control.discrete import DiscreteStateSpace, need_linear
from pliant.control.modes import Mode, check_stabilizable, check_weighted, system_modes
from pliant.engine.core import UnknownName
from pliant.language.arguments import ArgumentError, mapping, number, real

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
