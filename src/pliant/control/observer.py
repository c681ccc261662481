"""Observers: estimation of the states of a linear system from measured outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy  # its parts are imported on first use: scipy.signal takes half a second

from pliant.analysis.linearize import StateSpace
from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.control.discrete import DiscreteStateSpace, held, need_linear
from pliant.control.lqr import Linear, Weights, plant_states, poles_in_words, state_weights, weight_matrix
from pliant.control.modes import check_detectable
from pliant.language.arguments import ArgumentError, real
from pliant.language.message_text import describe


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
