"""Modal reduction of a linear system, and the effect of feedback on the neglected modes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from pliant.control.modes import SLOW, Mode, system_modes
from pliant.language.arguments import ArgumentError
from pliant.solve.blas_threads import on_one_blas_thread
from pliant.solve.linear.state_space import StateSpace

SAME = 1e-6
"""Relative difference below which eigenvalues belong to one mode, split by round-off."""
DUAL = 1e-6
"""Left and right eigenvectors of separate modes are orthogonal to within this."""


@dataclass(frozen=True, repr=False)
class Reduction:
    """A linear system on some of its modes.

    Attributes:
        full: the original system.
        kept, neglected: modes, slowest first.
        onto: r x n, modal states from full states. If modes coincide (a free cart) they share an eigenvector, and the states
            are an orthonormal basis of their joint subspace.
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
    if (keep is None) == (below is None):
        raise ValueError("give either the number of modes to keep or the highest frequency")
    if keep is not None and keep < 1:
        raise ValueError(f"keep at least one mode, not {keep}")
    modes = system_modes(linear.A, linear.B, linear.C, linear.states)
    kept: list[Mode] = []
    neglected: list[Mode] = []
    for i, mode in enumerate(modes):
        slow = i < keep if keep is not None else mode.frequency < (below or 0.0)
        grows = mode.eigenvalue.real > 1e-9 * abs(mode.eigenvalue) or abs(mode.eigenvalue) < SLOW
        same = any(abs(mode.eigenvalue - other.eigenvalue) <= SAME * abs(other.eigenvalue) for other in kept)
        (kept if slow or grows or same else neglected).append(mode)
    if not kept:
        raise ValueError(f"no mode is below {below:g} Hz; the slowest is {modes[0]}")
    onto, back = _bases(kept)
    rest_onto, rest_back = _bases(neglected)
    if not _dual(onto, back) or not _dual(rest_onto, rest_back):
        onto, back, rest_onto, rest_back = _invariant(linear.A, kept, neglected)
    A, B, C = onto @ linear.A @ back, onto @ linear.B, linear.C @ back
    D = linear.D
    if neglected:
        # fast modes are replaced by their static response
        fast = rest_onto @ linear.A @ rest_back
        D = D - linear.C @ rest_back @ np.linalg.solve(fast, rest_onto @ linear.B)
    names = tuple(f"mode{i + 1}{part}" for i, mode in enumerate(kept) for part in ("", "'")[: mode.order])
    small = replace(linear, A=A, B=B, C=C, D=D, states=names, independent=())
    return Reduction(linear, tuple(kept), tuple(neglected), onto, back, small)


def _bases(modes: list[Mode]) -> tuple[np.ndarray, np.ndarray]:
    """Real bases with onto @ back = 1: the real and imaginary parts of the eigenvectors."""
    rows, columns = [], []
    for mode in modes:
        if mode.order == 1:
            rows.append(np.real(mode.left.conj()))
            columns.append(np.real(mode.right))
        else:
            columns += [np.real(mode.right), -np.imag(mode.right)]
            rows += [2 * np.real(mode.left.conj()), 2 * np.imag(mode.left.conj())]
    if not modes:
        return np.zeros((0, 0)), np.zeros((0, 0))
    return np.array(rows), np.array(columns).T


def _dual(onto: np.ndarray, back: np.ndarray) -> bool:
    """Whether onto @ back = 1; false if eigenvectors coincide."""
    return bool(np.all(np.abs(onto @ back - np.eye(len(onto))) < DUAL))


def _invariant(A: np.ndarray, kept: list[Mode], neglected: list[Mode]) -> tuple[np.ndarray, ...]:
    """Bases (onto, back) of the subspaces of the kept modes and of the others, without their eigenvectors."""

    def distance(value: complex, modes: list[Mode]) -> float:
        return min((abs(complex(value.real, abs(value.imag)) - mode.eigenvalue) for mode in modes), default=np.inf)

    def is_kept(real: float, imaginary: float) -> bool:
        value = complex(real, imaginary)
        return distance(value, kept) <= distance(value, neglected)

    T, Z, r = scipy.linalg.schur(A, output="real", sort=is_kept)
    # the coupling of the two blocks is removed: T11 X - X T22 = -T12
    X = scipy.linalg.solve_sylvester(T[:r, :r], -T[r:, r:], -T[:r, r:]) if r < len(A) else np.zeros((r, 0))
    return Z[:, :r].T - X @ Z[:, r:].T, Z[:, :r], Z[:, r:].T, Z[:, :r] @ X + Z[:, r:]
