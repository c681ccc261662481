"""Linear-quadratic regulators, centralized and decentralized, and observers of the state."""

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
    Reduction,
    check_detectable,
    check_stabilizable,
    check_weighted,
    coordinate_of,
    held,
    held_commands,
    need_linear,
    system_modes,
)
from pliant.engine.core import UnknownName
from pliant.language.arguments import ArgumentError, mapping, name_tuple, number, of_type, positive, real
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
        return _plant(self.linear)

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
    return _plant(linear).states


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
    linear: Linear, *, process: Weights = 1.0, inputs: Weights | None = None, disturbances: np.ndarray | None = None,
    outputs: Weights = 1.0,
) -> Observer:  # fmt: skip
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


@dataclass(frozen=True)
class GainSearch:
    """Numbers of the search for decentralized gains."""

    iterations: int = 500
    good_enough: float = 1e-7
    """The search ends when a step reduces the cost by less than this fraction."""
    tiny: float = 1e-20
    """Variances below this fraction of the largest are zero."""
    patience: int = 5
    """Number of successive steps that may do so."""
    shortest: float = 1e-8
    """Step lengths relative to the Newton step."""
    decay: float = 1e-6
    """Margin of the poles to the unit circle [-], or to the imaginary axis [relative to the largest]."""


SEARCH = GainSearch()


@dataclass(frozen=True)
class Group:
    """A local controller: its inputs and its measurements.

    Attributes:
        inputs: names of its inputs.
        states: measured states, by the name of a coordinate (its value and its rate) or of a rate (`d(hinge)/dt`); a name that
        ends
                states: measured states, by the name of a coordinate (its value and its rate) or of a rate (`d(hinge)/dt`); a name
                    that ends with a slash, `leg1/`, is all of an attached model. In robots with closed loops only independent
                    coordinates are states.
    """

    inputs: tuple[str, ...]
    states: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    priority: float = 1.0

    def __post_init__(self) -> None:
        positive("a priority", self.priority)
        for what in ("inputs", "states", "outputs"):
            object.__setattr__(self, what, name_tuple(getattr(self, what), what) or ())
        if not self.states and not self.outputs:
            raise ValueError(
                f"the group of {', '.join(self.inputs)} has no measurements; give it `states` or `outputs`"
            )


@on_one_blas_thread
def decentralized_lqr(
    linear: Linear, groups: Mapping[str, Group], *, states: Weights = 1.0, inputs: Weights = 1.0,
    outputs: Weights | None = None, reduction: Reduction | None = None, disturbances: np.ndarray | None = None,
) -> Regulator:  # fmt: skip
    """The regulator in which each group of inputs is computed from its own states and outputs, for weights as in `lqr`.

    disturbances: initial deviations of the robot's states (of the full system, n or n x k) over which the cost is averaged; by
    default the responses to impulses of the inputs. Priorities divide the weights of inputs. With a `reduction`, `linear` is
    its reduced system, continuous or discretized; regulator and poles are then those of the full system: `StateFeedback` needs
    no `reduction`. Measurements of the groups also contain the neglected modes; `closed_loop` includes them.
    """
    need_linear("decentralized_lqr", linear, StateSpace, DiscreteStateSpace)
    groups = mapping("groups", groups)
    for name, group in groups.items():
        of_type(f"the group '{name}'", group, Group, "write pliant.control.Group(inputs=..., states=...)")
    if reduction is not None:
        of_type("reduction", reduction, Reduction, "write reduction=pliant.control.reduce(...)")
    names = [name for group in groups.values() for name in group.inputs]
    for name in names:
        if name not in linear.inputs:
            raise UnknownName("input", name, linear.inputs)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or len(names) < len(linear.inputs):
        left = [name for name in linear.inputs if name not in names]
        what = f"two groups set the input '{twice[0]}'" if twice else f"no group sets the input '{left[0]}'"
        raise ValueError(f"{what}; every input belongs to one group. Leave others out with `select`")
    priority = np.ones(len(linear.inputs))
    for group in groups.values():
        priority[[linear.inputs.index(name) for name in group.inputs]] = group.priority
    effort = weight_matrix(inputs, linear.inputs, "input", 1.0) / np.sqrt(np.outer(priority, priority))
    Q, R, N = costs(linear, states, effort, outputs)
    central = lqr(linear, states=states, inputs=effort, outputs=outputs)
    seen, mask = _measurements(linear, groups, reduction)
    small = seen if reduction is None else _on_modes(seen, linear, reduction)
    problem = _Problem(linear.A, linear.B, Q, R, N, small, mask, isinstance(linear, DiscreteStateSpace))
    K, P = problem.solve(central, _starts(linear, reduction, disturbances))
    if reduction is None:
        return Regulator(K @ seen, P, linear, scipy.linalg.eigvals(linear.A - linear.B @ K @ seen))
    whole: Linear = reduction.full
    if isinstance(linear, DiscreteStateSpace):
        whole = held_commands(reduction.full, linear.sample_time, linear.delay)
    onto = scipy.linalg.block_diag(reduction.onto, np.eye(len(whole.A) - len(reduction.full.A)))
    gain = K @ seen
    return Regulator(gain, onto.T @ P @ onto, whole, scipy.linalg.eigvals(whole.A - whole.B @ gain))


def _measurements(
    linear: Linear, groups: Mapping[str, Group], reduction: Reduction | None
) -> tuple[np.ndarray, np.ndarray]:
    """Measurements of all groups, as rows on the full states and past commands, and the inputs that each row may affect (m x
    rows)."""
    plant = _plant(linear) if reduction is None else reduction.full
    past = linear.past if isinstance(linear, DiscreteStateSpace) else 0
    n, m = plant.B.shape
    rows: list[np.ndarray] = []
    allowed: list[np.ndarray] = []
    for group in groups.values():
        own = np.isin(linear.inputs, group.inputs)
        found = [row for name in group.states for row in _state_rows(name, plant.states)]
        for name in group.outputs:
            at = [i for i, x in enumerate(plant.outputs) if x == name or x.startswith(f"{name}.")]
            if not at:
                raise UnknownName("output", name, plant.outputs)
            if np.any(np.abs(plant.D[at]) > 0):
                raise ValueError(f"the output '{name}' depends directly on inputs; a group cannot use it")
            found += list(plant.C[at])
        rows += [np.concatenate([row, np.zeros(m * past)]) for row in found]
        allowed += [own] * len(found)
        for k in range(past):  # past commands are known to the controller
            for i in np.flatnonzero(own):
                rows.append(np.eye(n + m * past)[n + m * k + i])
                allowed.append(own)
    return np.array(rows), np.array(allowed).T


def _state_rows(name: str, states: tuple[str, ...]) -> list[np.ndarray]:
    inside = name if name.endswith("/") else f"{name}."
    rows = [i for i, x in enumerate(states) if name in (x, coordinate_of(x)) or coordinate_of(x).startswith(inside)]
    if not rows:
        raise UnknownName("state", name, states)
    return list(np.eye(len(states))[rows])


def _on_modes(seen: np.ndarray, linear: Linear, reduction: Reduction) -> np.ndarray:
    """Measurements of the groups as rows on the modes of the design and past commands."""
    n = len(reduction.full.A)
    return np.hstack([seen[:, :n] @ reduction.back, seen[:, n:]])


@dataclass(frozen=True)
class _Problem:
    """Minimization of the mean cost over the entries of K allowed by the mask."""

    A: np.ndarray
    B: np.ndarray
    Q: np.ndarray
    R: np.ndarray
    N: np.ndarray
    S: np.ndarray
    mask: np.ndarray
    discrete: bool

    def solve(self, central: Regulator, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gain and cost matrix, for initial deviations of covariance X."""
        # the cost has several minima: take the better one of two
        starts = (self._nearest(central.gain, X), np.zeros(self.mask.shape))
        solutions = [pair for K in starts if (pair := self._from(K, X)) is not None]
        if not solutions:
            raise ValueError(
                "no stabilizing gains of this structure were found; add measurements to the groups, or merge some of them"
            )
        return min(solutions, key=lambda pair: float(np.sum(pair[1] * X)))

    def _from(self, K: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """The minimum found from K; None if no decaying loop is found."""
        ease = self._ease(K)
        while ease > 0:  # continuation: start with additional damping of the plant, then reduce it
            K, _ = self._descend(K, X, ease)
            less = self._ease(K)
            if less > 0.999 * ease:
                return None
            ease = less
        return self._descend(K, X, 0.0)

    def _ease(self, K: np.ndarray) -> float:
        """Smallest additional damping with which the loop decays: a factor exp(-help) on A and B, or a shift of A."""
        values = scipy.linalg.eigvals(self.A - self.B @ K @ self.S)
        if self.discrete:
            worst = float(np.log(max(np.abs(values).max(), 1e-300)))
            return max(0.0, worst + SEARCH.decay) if worst > -SEARCH.decay else 0.0
        room = SEARCH.decay * max(float(np.abs(values).max()), 1e-300)
        worst = float(values.real.max())
        return worst + room if worst > -room else 0.0

    def _loop(self, K: np.ndarray, ease: float) -> np.ndarray:
        closed = self.A - self.B @ K @ self.S
        if self.discrete:
            return closed * np.exp(-1.01 * ease)
        return closed - 1.01 * ease * np.eye(len(closed))

    def _cost(self, K: np.ndarray, X: np.ndarray, ease: float) -> tuple[float, np.ndarray, np.ndarray] | None:
        """Mean cost, cost matrix, and covariance of the states; None if the loop does not decay."""
        closed = self._loop(K, ease)
        values = scipy.linalg.eigvals(closed)
        if np.abs(values).max() >= 1 - 0.5 * SEARCH.decay if self.discrete else values.real.max() >= 0:
            return None
        F = K @ self.S
        W = self.Q + F.T @ self.R @ F - self.N @ F - F.T @ self.N.T
        if self.discrete:
            P, L = _sum(closed.T, W), _sum(closed, X)
        else:
            P, L = (
                scipy.linalg.solve_continuous_lyapunov(closed.T, -W),
                scipy.linalg.solve_continuous_lyapunov(closed, -X),
            )
        value = float(np.sum(P * X))
        return (value, 0.5 * (P + P.T), 0.5 * (L + L.T)) if np.isfinite(value) else None

    def _slope(self, K: np.ndarray, P: np.ndarray, L: np.ndarray, ease: float) -> tuple[np.ndarray, np.ndarray]:
        """Gradient of the mean cost with respect to the allowed entries of K, and its derivative at constant P and L."""
        if self.discrete:
            shrink = np.exp(-1.01 * ease)
            H, G = self.R + shrink**2 * self.B.T @ P @ self.B, shrink**2 * self.B.T @ P @ self.A + self.N.T
        else:
            H, G = self.R, self.B.T @ P + self.N.T
        Y, at = self.S @ L @ self.S.T, np.argwhere(self.mask)
        gradient = 2 * (H @ K @ Y - G @ L @ self.S.T)[self.mask]
        return gradient, 2 * H[np.ix_(at[:, 0], at[:, 0])] * Y[np.ix_(at[:, 1], at[:, 1])]

    def _masked(self, H: np.ndarray, Y: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """K with zeros outside of the mask, and H K Y = Z within it."""
        at = np.argwhere(self.mask)
        size = np.sqrt(
            np.maximum(np.diag(Y), SEARCH.tiny * np.diag(Y).max() + 1e-300)
        )  # measurements scaled to unit size
        scaled = Y / np.outer(size, size)
        matrix = H[np.ix_(at[:, 0], at[:, 0])] * scaled[np.ix_(at[:, 1], at[:, 1])]
        solution = scipy.linalg.lstsq(matrix, (Z / size)[at[:, 0], at[:, 1]], cond=1e-12)[0]
        K = np.zeros(self.mask.shape)
        K[at[:, 0], at[:, 1]] = solution
        return np.asarray(K / size)

    def _nearest(self, gain: np.ndarray, X: np.ndarray) -> np.ndarray:
        """The allowed gain whose inputs are closest to those of the centralized one, in the states reached from the initial
        deviations."""
        closed = self.A - self.B @ gain
        L = _sum(closed, X) if self.discrete else scipy.linalg.solve_continuous_lyapunov(closed, -X)
        return self._masked(self.R, self.S @ L @ self.S.T, self.R @ gain @ L @ self.S.T)

    def _descend(self, K: np.ndarray, X: np.ndarray, ease: float) -> tuple[np.ndarray, np.ndarray]:
        """A gain of locally minimal mean cost from K on, and its cost matrix."""
        here = self._cost(K, X, ease)
        assert here is not None, "the help makes it decay"
        gradient, curvature = self._slope(K, here[1], here[2], ease)
        inverse, fresh, still = _inverse(curvature), True, 0
        for _ in range(SEARCH.iterations):
            way = -inverse @ gradient
            better, step = self._along(K, way, float(gradient @ way), here[0], X, ease)
            if better is None:
                if fresh:
                    break
                inverse, fresh = _inverse(self._slope(K, here[1], here[2], ease)[1]), True
                continue
            gain = K.copy()
            gain[self.mask] += step * way
            after, _ = self._slope(gain, better[1], better[2], ease)
            inverse, fresh = _updated(inverse, step * way, after - gradient), False
            still = still + 1 if here[0] - better[0] < SEARCH.good_enough * here[0] else 0
            K, gradient, here = gain, after, better
            if still > SEARCH.patience or (ease and self._ease(K) == 0):
                break
        return K, here[1]

    def _along(
        self, K: np.ndarray, way: np.ndarray, slope: float, value: float, X: np.ndarray, ease: float
    ) -> tuple[tuple[float, np.ndarray, np.ndarray] | None, float]:
        """The cost after the largest of successively halved steps with sufficient decrease, and that step; None if there is
        none."""
        step = 1.0
        while slope < 0 and step > SEARCH.shortest:
            other = K.copy()
            other[self.mask] += step * way
            better = self._cost(other, X, ease)
            if better is not None and better[0] < value + 1e-4 * step * slope:
                return better, step
            step /= 2
        return None, 0.0


def _sum(A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """W + A W A' + A A W A' A' + ..."""
    return np.asarray(scipy.linalg.solve_discrete_lyapunov(A, W, method="bilinear"))


def _inverse(matrix: np.ndarray) -> np.ndarray:
    """Pseudo-inverse of a nearly symmetric, positive semidefinite matrix."""
    size = np.sqrt(np.maximum(np.diag(matrix), SEARCH.tiny * np.diag(matrix).max() + 1e-300))
    values, vectors = scipy.linalg.eigh(0.5 * (matrix + matrix.T) / np.outer(size, size))
    told = values > 1e-8 * values[-1]  # along the others measurements are redundant or zero
    return np.asarray((vectors[:, told] / values[told]) @ vectors[:, told].T / np.outer(size, size))


def _updated(inverse: np.ndarray, step: np.ndarray, change: np.ndarray) -> np.ndarray:
    """The inverse Hessian after a step with this change of the gradient (Broyden, Fletcher, Goldfarb and Shanno)."""
    along = float(step @ change)
    if along <= 1e-12 * float(np.linalg.norm(step) * np.linalg.norm(change)):
        return inverse
    left = np.eye(len(step)) - np.outer(step, change) / along
    return np.asarray(left @ inverse @ left.T + np.outer(step, step) / along)


def _starts(linear: Linear, reduction: Reduction | None, disturbances: np.ndarray | None) -> np.ndarray:
    """Covariance of the initial states over which the cost is averaged."""
    if disturbances is None:
        given = _plant(linear).B
    else:
        n = len(_plant(linear).A if reduction is None else reduction.full.A)
        deviations = real("disturbances", disturbances)
        given = deviations.reshape(n, -1) if deviations.size % n == 0 else np.zeros((0, 0))
        if not np.size(given) or not np.all(np.isfinite(given)):
            raise ValueError(
                f"the disturbances are deviations of the {n} states of the robot: give {n} numbers, or {n} x k"
            )
        given = given if reduction is None else reduction.onto @ given
    X = np.zeros_like(linear.A)
    X[: len(given), : len(given)] = given @ given.T
    return X
