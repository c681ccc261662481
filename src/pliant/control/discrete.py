"""Linear systems in discrete time, modes of linear systems, and reduction to the slow ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from pliant.analysis.linearize import StateSpace
from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.control.limits import DesignError
from pliant.language.arguments import ArgumentError, matrix, name_tuple, number, positive, whole
from pliant.language.message_text import with_article


@dataclass(frozen=True)
class ModeTolerances:
    """When eigenvalues, eigenvectors and modes count as equal, free or uncontrollable."""

    reach: float = 1e-9
    """A mode is uncontrollable if its controllability, relative to the best possible input, is below this."""
    alike: float = 1e-7
    """Relative difference below which eigenvalues are equal."""
    same_direction: float = 1e-5
    """Eigenvectors with a smaller difference are equal; those of a double eigenvalue differ by the square root of round-off."""
    slow: float = 1e-6
    """Eigenvalues below this are those of free motions [1/s]."""
    round_off: float = 1e-9
    """Damping ratios below this are zero."""


TOLERANCES = ModeTolerances()


@dataclass(frozen=True, repr=False)
class Mode:
    """A mode of dx/dt = A x: one real eigenvalue or a conjugate pair (the one with positive imaginary part).

    Attributes:
        eigenvalue: [1/s].
        right, left: eigenvectors (n), scaled so that left^H right = 1.
        states: names of its dominant states.
        controllability, observability: cosine of the angle to the range of the inputs and outputs, 0 to 1.
    """

    eigenvalue: complex
    right: np.ndarray
    left: np.ndarray
    states: tuple[str, ...]
    controllability: float
    observability: float

    @property
    def order(self) -> int:
        """Number of its states: 1 or 2."""
        return 1 if self.eigenvalue.imag == 0 else 2

    @property
    def frequency(self) -> float:
        """Undamped frequency [Hz]."""
        return abs(self.eigenvalue) / (2 * np.pi)

    @property
    def damping_ratio(self) -> float:
        """Damping ratio; 1 for a real eigenvalue that decays, -1 for one that grows."""
        size = abs(self.eigenvalue)
        return float(-self.eigenvalue.real / size) if size > 0 else 0.0

    def __repr__(self) -> str:
        return f"Mode: {self}"

    def __str__(self) -> str:
        where = f" (mostly {', '.join(self.states)})" if self.states else ""
        if abs(self.eigenvalue) < TOLERANCES.slow:
            return f"the mode that neither grows nor decays{where}"
        if self.order == 1:
            verb = "decays" if self.eigenvalue.real < 0 else "grows"
            return f"the mode that {verb} by {abs(self.eigenvalue.real):.4g} 1/s{where}"
        ratio = self.damping_ratio
        damping = "without damping" if abs(ratio) < TOLERANCES.round_off else f"damping ratio {ratio:.3g}"
        return f"the mode at {self.frequency:.4g} Hz, {damping}{where}"


def system_modes(
    A: np.ndarray, B: np.ndarray | None = None, C: np.ndarray | None = None, names: tuple[str, ...] = ()
) -> list[Mode]:
    """All modes, slowest first, with measures of their controllability by B and observability in C."""
    A = matrix("A", A)
    n = len(A)
    if A.shape != (n, n):
        raise ArgumentError(f"A must be a square matrix; it has shape {A.shape}")
    B, C = (None if x is None else matrix(name, x) for name, x in (("B", B), ("C", C)))
    if (B is not None and B.shape[0] != n) or (C is not None and C.shape[1] != n):
        raise ArgumentError(f"B must have a row, and C a column, for each of the {n} states")
    names = name_tuple(names) or ()
    if names and len(names) != n:
        raise ArgumentError(f"names must be those of the {n} states; there are {len(names)}")
    if n == 0:
        return []
    values, left, right = scipy.linalg.eig(A, left=True, right=True)
    modes = []
    for i in np.argsort(np.abs(values), kind="stable"):
        value = complex(values[i])
        if value.imag < 0:
            continue
        w, u = left[:, i], right[:, i]
        product = np.vdot(w, u)
        w = w / np.conj(product) if abs(product) > 1e-14 else w
        share = np.abs(u) * np.abs(w)
        leading = [int(k) for k in np.argsort(-share)[:3] if share[k] > 0.2 * share.max(initial=0.0)]
        labels = tuple(dict.fromkeys(coordinate_of(names[k]) for k in leading)) if names else ()
        alike = np.abs(values - value) <= TOLERANCES.alike * max(abs(value), 1e-6)
        reach = _reach(left[:, alike].conj(), B) if B is not None else 1.0
        shown = _reach(right[:, alike], C.T) if C is not None else 1.0
        modes.append(Mode(value, u, w, labels, reach, shown))
    return modes


def coordinate_of(name: str) -> str:
    """The coordinate of a state, by its name."""
    return name[2:-4] if name.startswith("d(") and name.endswith(")/dt") else name


def _reach(vectors: np.ndarray, columns: np.ndarray) -> float:
    """Controllability of all combinations of some eigenvectors by these columns: the smallest singular value of their products,
    with unit lengths. Modes of equal frequency are combined: one input cannot stabilize two of them."""
    length = np.linalg.norm(columns, axis=0)
    used = columns[:, length > 0] / length[length > 0]
    # equal eigenvalues may have only one eigenvector (a free mass): then that one is used
    basis, size, _ = np.linalg.svd(vectors, full_matrices=False)
    basis = basis[:, size > TOLERANCES.same_direction * size[0]]
    if used.shape[1] < basis.shape[1]:
        return 0.0
    return float(np.linalg.svd(basis.T @ used, compute_uv=False)[-1])


def check_stabilizable(A: np.ndarray, B: np.ndarray, names: tuple[str, ...], *, sample_time: float | None) -> None:
    """Check that the inputs can stabilize every mode that does not decay by itself."""
    modes = [m for m in system_modes(A, B, None, names) if m.controllability < TOLERANCES.reach]
    # w' [A - value, B] = 0: uncontrollable directions (Popov, Belevitch and Hautus)
    if said := _spoken(
        modes, lambda value: np.hstack([A - value * np.eye(len(A)), _unit(B)]).T.conj(), names, sample_time
    ):
        raise DesignError(
            f"the inputs cannot stabilize {said}. Add an input that moves it, or leave that mode out of the design "
            "(`reduce`; `keep` or `below` in a model file) if it need not be controlled"
        )


def check_detectable(A: np.ndarray, C: np.ndarray, names: tuple[str, ...], *, sample_time: float | None) -> None:
    """Check that the outputs determine every mode that does not decay by itself."""
    modes = [m for m in system_modes(A, None, C, names) if m.observability < TOLERANCES.reach]
    if said := _spoken(modes, lambda value: np.vstack([A - value * np.eye(len(A)), _unit(C.T).T]), names, sample_time):
        raise DesignError(
            f"the outputs do not determine {said}. Measure a quantity that it moves as well, or leave that "
            "mode out of the design (`reduce`; `keep` or `below` in a model file) if it need not be controlled"
        )


def check_weighted(A: np.ndarray, Q: np.ndarray, names: tuple[str, ...], *, sample_time: float | None) -> None:
    """Check that every mode that neither grows nor decays has a weight: the optimal feedback would not move its eigenvalue."""
    unseen = [m for m in system_modes(A, None, Q, names) if m.observability < TOLERANCES.reach]
    modes = [m for m in unseen if not _grows(m, sample_time)]
    if said := _spoken(modes, lambda value: np.vstack([A - value * np.eye(len(A)), _unit(Q.T).T]), names, sample_time):
        raise DesignError(
            f"the weights do not include {said}, which the regulator would therefore not damp. Add a weight on a quantity "
            "that it moves"
        )


def _grows(mode: Mode, sample_time: float | None) -> bool:
    margin = 1e-6
    if sample_time is None:
        return mode.eigenvalue.real > margin * max(1.0, abs(mode.eigenvalue))
    return abs(mode.eigenvalue) > 1 + margin


def _decays(mode: Mode, sample_time: float | None) -> bool:
    margin = 1e-9
    if sample_time is None:
        return mode.eigenvalue.real < -margin * max(1.0, abs(mode.eigenvalue))
    return abs(mode.eigenvalue) < 1 - margin


def _unit(columns: np.ndarray) -> np.ndarray:
    """Columns of unit length."""
    length = np.linalg.norm(columns, axis=0)
    return columns / np.where(length > 0, length, 1.0)


def _spoken(
    modes: list[Mode], test: Callable[[complex], np.ndarray], names: tuple[str, ...], sample_time: float | None
) -> str:
    """Those of the modes that do not decay by themselves as text, each with the coordinates of its uncontrollable or unobservable
    part, which distinguishes modes of one frequency.

    The null space of the matrix `test(eigenvalue)` is the uncontrollable or unobservable part.
    """
    said: list[str] = []
    for mode in (x for x in modes if not _decays(x, sample_time)):
        _, size, rows = np.linalg.svd(test(mode.eigenvalue))
        share = np.abs(rows[size <= 1e-6 * size[0]]).max(axis=0, initial=0.0)
        leading = [int(k) for k in np.argsort(-share)[:3] if share[k] > max(0.2 * share.max(), 1e-9)]
        states = tuple(dict.fromkeys(coordinate_of(names[k]) for k in leading)) if names else ()
        value = mode.eigenvalue
        if sample_time is not None and value != 0:
            value = complex(np.log(value) / sample_time)
        text = str(Mode(value, mode.right, mode.left, states or mode.states, 0.0, 0.0))
        if text not in said:
            said.append(text)
    return "; ".join(said)


ANSWERED = 1e3
"""Largest growth of deviations before the controller can respond."""


@dataclass(frozen=True, repr=False)
class DiscreteStateSpace:
    """x[k+1] = A x[k] + B u[k], y[k] = C x[k] + D u[k] for commands u[k] computed at sample k.

    x = (states of `continuous`, then, for delayed commands, the past commands that have not taken effect yet, latest first).

    Attributes:
        sample_time: time between samples [s].
        delay: time from a sample until its command takes effect [s].
        past: number of past commands in x.
        continuous: the original system.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    sample_time: float
    delay: float
    past: int
    continuous: StateSpace

    def __repr__(self) -> str:
        sizes = f"{len(self.states)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs"
        past = f", {self.past} past commands among the states" if self.past else ""
        return f"DiscreteStateSpace: {sizes}; samples of {self.sample_time:g} s, delay {self.delay:g} s{past}"

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states."""
        old = tuple(f"{name}[{-k - 1}]" for k in range(self.past) for name in self.inputs)
        return self.continuous.states + old

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return self.continuous.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return self.continuous.outputs

    def select(
        self, inputs: str | Sequence[str] | None = None, outputs: str | Sequence[str] | None = None
    ) -> DiscreteStateSpace:
        """The same system with some of its inputs and outputs, as `StateSpace.select`."""
        return discretize(self.continuous.select(inputs, outputs), self.sample_time, delay=self.delay)


@on_one_blas_thread
def discretize(linear: StateSpace, sample_time: float, *, delay: float = 0.0) -> DiscreteStateSpace:
    """Exact discrete equations for a zero-order hold with a delay of `delay` [s].

    Rejects sample times that alias an oscillation of the system, or in which, including the delay, an unstable mode
    grows a thousandfold.
    """
    sample_time = positive("the sample time", sample_time, hint="in seconds")
    delay = number("the delay", delay, at_least=0, hint="in seconds")
    need_linear("discretize", linear, StateSpace)
    _check_sample_time(linear, sample_time, delay)
    return held_commands(linear, sample_time, delay)


def need_linear(function: str, given: Any, *kinds: type) -> None:
    """Reject arguments that are not linear systems, with a hint."""
    if isinstance(given, kinds):
        return
    kind = type(given).__name__
    if isinstance(getattr(given, "linear", None), kinds):
        hint = f"its system is `.linear`: {function}({'reduced' if kind == 'Reduction' else 'found'}.linear, ...)"
    elif isinstance(given, DiscreteStateSpace):
        hint = "it is sampled already; give the continuous system"
    else:
        hint = "pliant.linearize(eqs) gives one"
    raise ArgumentError(f"{function} takes a linear system, not {with_article(kind)}", hint)


def held_commands(linear: StateSpace, sample_time: float, delay: float) -> DiscreteStateSpace:
    """As `discretize`, for any sample time, including aliased oscillations."""
    n, m = linear.B.shape
    whole = int(np.floor(delay / sample_time + 1e-9))
    late = max(0.0, delay - whole * sample_time)
    late = 0.0 if late < 1e-9 * sample_time else late
    A, early_part = held(linear.A, linear.B, sample_time - late)
    if late:
        # the previous command acts for the first `late` seconds, the new one for the rest
        first_A, first_B = held(linear.A, linear.B, late)
        blocks = [early_part, A @ first_B]
        A = A @ first_A
    else:
        blocks = [early_part]
    past = whole + len(blocks) - 1
    size = n + m * past
    big_A, big_B = np.zeros((size, size)), np.zeros((size, m))
    big_A[:n, :n] = A
    for k, block in enumerate(blocks, start=whole):
        # the command computed k samples ago
        if k == 0:
            big_B[:n] = block
        else:
            big_A[:n, n + m * (k - 1) : n + m * k] = block
    if past:
        big_B[n : n + m] = np.eye(m)
        big_A[n + m :, n:-m] = np.eye(m * (past - 1))
    C = np.hstack([linear.C, np.zeros((len(linear.C), m * past))])
    D = linear.D if past == 0 else np.zeros_like(linear.D)
    if past and np.any(linear.D):
        # direct feedthrough at the sample is that of the command active then
        in_force = whole + (1 if late else 0)
        C[:, n + m * (in_force - 1) : n + m * in_force] = linear.D
    return DiscreteStateSpace(big_A, big_B, C, D, sample_time, delay, past, linear)


def held(A: np.ndarray, B: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
    """exp(A time) and the integral of exp(A s) B over it: the response to a constant input."""
    n, m = B.shape
    whole = scipy.linalg.expm(time * np.block([[A, B], [np.zeros((m, n + m))]]))
    return whole[:n, :n], whole[:n, n:]


def _check_sample_time(linear: StateSpace, sample_time: float, delay: float) -> None:
    modes = system_modes(linear.A, names=linear.states)
    falling = max(modes, key=lambda mode: mode.eigenvalue.real, default=None)
    late = sample_time + delay
    if falling is not None and falling.eigenvalue.real * late > np.log(ANSWERED):
        raise DesignError(
            f"a sample time of {sample_time:g} s with a delay of {delay:g} s is too long for {falling}: deviations become "
            f"{np.exp(min(700.0, falling.eigenvalue.real * late)):.2g} times as large before the controller responds. Their sum"
            f" must be below {np.log(ANSWERED) / falling.eigenvalue.real:.3g} s, and well below to be robust to model errors"
        )
    fastest = max(modes, key=lambda mode: mode.eigenvalue.imag, default=None)
    if fastest is not None and fastest.eigenvalue.imag * sample_time >= np.pi:
        raise DesignError(
            f"a sample time of {sample_time:g} s is too long for {fastest}: less than "
            f"{np.pi / fastest.eigenvalue.imag:.3g} s is needed to resolve it. Sample faster, or leave"
            f" the modes above {0.5 / sample_time:.3g} Hz out of the design (`reduce`; `keep` or `below` in a model file)"
        )


@dataclass(frozen=True)
class ReductionTolerances:
    """When eigenvalues belong to one mode and eigenvectors are a basis."""

    same: float = 1e-6
    """Relative difference below which eigenvalues belong to one mode, split by round-off."""
    distinct: float = 1e4
    """Condition of the eigenvectors of the kept modes, each of unit length, up to which they are used as a basis."""
    refinements: int = 2
    """Corrections of the subspaces, each of which squares their error."""


REDUCTION = ReductionTolerances()


@dataclass(frozen=True, repr=False)
class Reduction:
    """A linear system on some of its modes.

    Attributes:
        full: the original system.
        kept, neglected: modes, slowest first.
        onto: r x n, modal states from full states. If modes coincide (a free cart) eigenvectors are not unique: the modal states
            are then the values of some of the full states, as the kept modes move these.
        back: n x r, full states from modal ones.
        linear: the reduced system on modal states z; the static gain of the outputs is exact.
    """

    full: StateSpace
    kept: tuple[Mode, ...]
    neglected: tuple[Mode, ...]
    onto: np.ndarray
    back: np.ndarray
    linear: StateSpace

    def __repr__(self) -> str:
        """Number of kept modes, and the two modes at the cut."""
        head = f"Reduction: {len(self.kept)} of {len(self.kept) + len(self.neglected)} modes, {len(self.linear.states)} states"
        lines = [f"fastest kept: {self.kept[-1]}"]
        lines += [f"slowest left out: {self.neglected[0]}"] if self.neglected else []
        return "\n".join([f"{head} of {len(self.full.states)}", *lines])

    def spillover(self, gain: np.ndarray) -> Spillover:
        """The effect of the feedback u = -gain z on the full system, for known modal states and no delay.

        Sampling, delay and observers are not included; see `closed_loop` of the complete controller.
        """
        gain, expected = np.asarray(gain), (len(self.full.inputs), len(self.linear.states))
        if gain.shape != expected:
            raise ArgumentError(
                f"the gain has the shape {gain.shape}; the reduced system has {expected[0]} inputs and {expected[1]} states",
                "select the inputs before the reduction: reduce(linear.select(inputs=...), ...)",
            )
        closed = system_modes(self.full.A - self.full.B @ gain @ self.onto, names=self.full.states)
        return Spillover(tuple(closed), self.neglected)


@dataclass(frozen=True, repr=False)
class Spillover:
    """Closed-loop modes of the full system, and those neglected by the design."""

    closed: tuple[Mode, ...]
    neglected: tuple[Mode, ...]

    def __repr__(self) -> str:
        """Whether it is stable, and which mode decays most slowly, or grows."""
        last = max(self.closed, key=lambda mode: mode.eigenvalue.real)
        head = f"Spillover: {'stable' if self.stable else 'unstable'}, {len(self.closed)} modes in the loop"
        return f"{head}, {len(self.neglected)} of them not in the design\nleast damped: {last}"

    @property
    def stable(self) -> bool:
        """Whether every mode of the full system decays in the loop."""
        return all(mode.eigenvalue.real < 0 for mode in self.closed)

    def shifts(self) -> list[tuple[Mode, Mode]]:
        """Each neglected mode with the closest mode of the loop."""
        near = [min(self.closed, key=lambda c: abs(c.eigenvalue - mode.eigenvalue)) for mode in self.neglected]
        return list(zip(self.neglected, near, strict=True))


@on_one_blas_thread
def reduce(linear: StateSpace, *, keep: int | None = None, below: float | None = None) -> Reduction:
    """The system on its `keep` slowest modes, or on those below a frequency [Hz].

    A mode is an oscillation or a single decay; modes that are unstable, free or equal to a kept one are always kept.
    """
    need_linear("reduce", linear, StateSpace)
    if (keep is None) == (below is None):
        raise ArgumentError("give either the number of modes to keep or the highest frequency")
    if keep is not None:
        keep = whole("keep", keep, least=1, hint="the number of modes")
    if below is not None:
        positive("below", below, hint="a frequency in Hz")
    modes = system_modes(linear.A, linear.B, linear.C, linear.states)
    kept: list[Mode] = []
    neglected: list[Mode] = []
    for i, mode in enumerate(modes):
        slow = i < keep if keep is not None else mode.frequency < (below or 0.0)
        grows = mode.eigenvalue.real > 1e-9 * abs(mode.eigenvalue) or abs(mode.eigenvalue) < TOLERANCES.slow
        same = any(abs(mode.eigenvalue - other.eigenvalue) <= REDUCTION.same * abs(other.eigenvalue) for other in kept)
        (kept if slow or grows or same else neglected).append(mode)
    if not modes:
        raise ValueError(
            "the linear system has no states, so there are no modes to keep: nothing of the robot can move"
        )
    if not kept:
        raise ValueError(f"no mode is below {below:g} Hz; the slowest is {modes[0]}")
    onto, back, rest_onto, rest_back = _subspaces(linear.A, kept, neglected)
    onto, back = _modal(onto, back, linear.A)
    A, B, C = onto @ linear.A @ back, onto @ linear.B, linear.C @ back
    D = linear.D
    if neglected:
        # fast modes are replaced by their static response
        fast = rest_onto @ linear.A @ rest_back
        D = D - linear.C @ rest_back @ np.linalg.solve(fast, rest_onto @ linear.B)
    names = tuple(f"mode{i + 1}{part}" for i, mode in enumerate(kept) for part in ("", "'")[: mode.order])
    small = replace(linear, A=A, B=B, C=C, D=D, states=names, independent=())
    return Reduction(linear, tuple(kept), tuple(neglected), onto, back, small)


def _modal(onto: np.ndarray, back: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bases of the same subspace: real and imaginary parts of the eigenvectors or, if these are not unique, values of some of the
    states. Both depend smoothly on A: signs and phases of eigenvectors are fixed by their largest entries."""
    modes, columns = system_modes(onto @ A @ back), list[np.ndarray]()
    values = [mode.eigenvalue for mode in modes]
    separate = all(
        abs(x - y) > max(TOLERANCES.slow, REDUCTION.same * abs(x)) for i, x in enumerate(values) for y in values[:i]
    )
    scale = np.linalg.norm(back, axis=1)
    scale = np.where(scale > 0, scale, 1.0)
    for mode in modes:
        full = back @ mode.right
        largest = full[np.argmax(np.abs(full))]
        full = full * (np.conj(largest) / abs(largest)) / np.linalg.norm(full)
        columns += [np.real(full)] if mode.order == 1 else [np.real(full), -np.imag(full)]
    basis = np.array(columns).T
    scaled = basis / scale[:, None]
    if (
        not separate
        or basis.shape != back.shape
        or np.linalg.cond(scaled / np.linalg.norm(scaled, axis=0)) > REDUCTION.distinct
    ):
        units = np.linalg.qr(back / scale[:, None])[0]
        chosen = np.sort(scipy.linalg.qr(units.T, pivoting=True, mode="r")[1][: back.shape[1]])
        basis = scale[:, None] * np.linalg.solve(units[chosen].T, units.T).T / scale[chosen]
    # onto @ back = 1 before: the same change of the states, inverted
    return np.linalg.solve(onto @ basis, onto), basis


def _subspaces(A: np.ndarray, kept: list[Mode], neglected: list[Mode]) -> tuple[np.ndarray, ...]:
    """Bases (onto, back) of the subspaces of the kept modes and of the others.

    Entries of stiff systems differ by many orders of magnitude: the matrix is balanced, and the bases are refined.
    """

    def distance(value: complex, modes: list[Mode]) -> float:
        return min((abs(complex(value.real, abs(value.imag)) - mode.eigenvalue) for mode in modes), default=np.inf)

    def is_kept(real: float, imaginary: float) -> bool:
        value = complex(real, imaginary)
        return distance(value, kept) <= distance(value, neglected)

    balanced, scaling = scipy.linalg.matrix_balance(A, permute=False)
    d = np.diag(scaling)
    T, Z, r = scipy.linalg.schur(balanced, output="real", sort=is_kept)
    if r == len(A):
        return Z.T / d, d[:, None] * Z, np.zeros((0, len(A))), np.zeros((len(A), 0))
    # the coupling of the two blocks is removed: T11 X - X T22 = -T12
    X = scipy.linalg.solve_sylvester(T[:r, :r], -T[r:, r:], -T[:r, r:])
    back, rest = Z[:, :r], Z[:, :r] @ X + Z[:, r:]
    onto, rest_onto = Z[:, :r].T - X @ Z[:, r:].T, Z[:, r:].T
    for _ in range(REDUCTION.refinements):
        slow, fast = onto @ balanced @ back, rest_onto @ balanced @ rest
        by_rest = scipy.linalg.solve_sylvester(fast, -slow, -rest_onto @ balanced @ back)
        by_kept = scipy.linalg.solve_sylvester(slow, -fast, -onto @ balanced @ rest)
        back, rest = back + rest @ by_rest, rest + back @ by_kept
        both = np.linalg.inv(np.hstack([back, rest]))
        onto, rest_onto = both[:r], both[r:]
    return onto / d, d[:, None] * back, rest_onto / d, d[:, None] * rest
