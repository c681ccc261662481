"""Decentralized regulators: each group of inputs is computed from its own measurements.

The gain is zero outside of the groups, so it does not follow from the Riccati equation. Its nonzero entries minimize the same
cost, averaged over initial deviations. With the cost matrix P of the loop and the covariance L of its states, the gradient with
respect to the gain K of u = -K S x is 2 ((R + B'PB) K S - B'PA - N') L S' on these entries (Levine and Athans). The first step
goes toward the zero of this gradient at constant P and L (Anderson and Moore); quasi-Newton steps follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy

from pliant.analysis.linearize import StateSpace
from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.control.discrete import DiscreteStateSpace, held_commands, need_linear
from pliant.control.lqr import Linear, Regulator, Weights, costs, lqr, weight_matrix
from pliant.control.reduction import Reduction
from pliant.engine.core import UnknownName
from pliant.language.arguments import mapping, name_tuple, of_type, positive, real


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
    plant = (
        reduction.full
        if reduction is not None
        else linear.continuous
        if isinstance(linear, DiscreteStateSpace)
        else linear
    )
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
    rows = [
        i for i, x in enumerate(states) if x == name or _coordinate(x) == name or _coordinate(x).startswith(f"{name}.")
    ]
    if name.endswith("/"):
        rows = [i for i, x in enumerate(states) if _coordinate(x).startswith(name)]
    if not rows:
        raise UnknownName("state", name, states)
    return list(np.eye(len(states))[rows])


def _coordinate(state: str) -> str:
    return state[2:-4] if state.startswith("d(") and state.endswith(")/dt") else state


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
    plant = linear.continuous if isinstance(linear, DiscreteStateSpace) else linear
    if disturbances is None:
        given = plant.B
    else:
        n = len(plant.A if reduction is None else reduction.full.A)
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
