"""Modes of a linear system, and their controllability and observability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from pliant.control.limits import DesignError
from pliant.language.arguments import ArgumentError, matrix, name_tuple


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
        labels = tuple(dict.fromkeys(_plain(names[k]) for k in leading)) if names else ()
        alike = np.abs(values - value) <= TOLERANCES.alike * max(abs(value), 1e-6)
        reach = _reach(left[:, alike].conj(), B) if B is not None else 1.0
        shown = _reach(right[:, alike], C.T) if C is not None else 1.0
        modes.append(Mode(value, u, w, labels, reach, shown))
    return modes


def _plain(name: str) -> str:
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
    lost = [
        m
        for m in system_modes(A, B, None, names)
        if m.controllability < TOLERANCES.reach and not _decays(m, sample_time)
    ]
    if lost:
        # w' [A - value, B] = 0: uncontrollable directions (Popov, Belevitch and Hautus)
        said = _spoken(
            lost, lambda value: np.hstack([A - value * np.eye(len(A)), _unit(B)]).T.conj(), names, sample_time
        )
        raise DesignError(
            f"the inputs cannot stabilize {said}. Add an input that moves it, or leave that mode out of the design "
            "(`reduce`; `keep` or `below` in a model file) if it need not be controlled"
        )


def check_detectable(A: np.ndarray, C: np.ndarray, names: tuple[str, ...], *, sample_time: float | None) -> None:
    """Check that the outputs determine every mode that does not decay by itself."""
    lost = [
        m for m in system_modes(A, None, C, names) if m.observability < TOLERANCES.reach and not _decays(m, sample_time)
    ]
    if lost:
        said = _spoken(lost, lambda value: np.vstack([A - value * np.eye(len(A)), _unit(C.T).T]), names, sample_time)
        raise DesignError(
            f"the outputs do not determine {said}. Measure a quantity that it moves as well, or leave that "
            "mode out of the design (`reduce`; `keep` or `below` in a model file) if it need not be controlled"
        )


def check_weighted(A: np.ndarray, Q: np.ndarray, names: tuple[str, ...], *, sample_time: float | None) -> None:
    """Check that every mode that neither grows nor decays has a weight: the optimal feedback would not move its eigenvalue."""
    lost = [
        m
        for m in system_modes(A, None, Q, names)
        if m.observability < TOLERANCES.reach and not _decays(m, sample_time) and not _grows(m, sample_time)
    ]
    if lost:
        said = _spoken(lost, lambda value: np.vstack([A - value * np.eye(len(A)), _unit(Q.T).T]), names, sample_time)
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
    lost: list[Mode], test: Callable[[complex], np.ndarray], names: tuple[str, ...], sample_time: float | None
) -> str:
    """Modes as text, each with the coordinates of its uncontrollable or unobservable part, which distinguishes modes
    of one frequency.

    The null space of the matrix `test(eigenvalue)` is the uncontrollable or unobservable part.
    """
    said: list[str] = []
    for mode in lost:
        _, size, rows = np.linalg.svd(test(mode.eigenvalue))
        share = np.abs(rows[size <= 1e-6 * size[0]]).max(axis=0, initial=0.0)
        leading = [int(k) for k in np.argsort(-share)[:3] if share[k] > max(0.2 * share.max(), 1e-9)]
        states = tuple(dict.fromkeys(_plain(names[k]) for k in leading)) if names else ()
        value = mode.eigenvalue
        if sample_time is not None and value != 0:
            value = complex(np.log(value) / sample_time)
        text = str(Mode(value, mode.right, mode.left, states or mode.states, 0.0, 0.0))
        if text not in said:
            said.append(text)
    return "; ".join(said)
