"""Modal reduction of a linear system, and the effect of feedback on the neglected modes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from pliant.analysis.linearize import StateSpace
from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.control.discrete import need_linear
from pliant.control.modes import TOLERANCES, Mode, system_modes
from pliant.language.arguments import ArgumentError, positive, whole


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
