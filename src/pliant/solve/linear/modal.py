"""Natural modes about a state, on the motions that the constraints allow."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la
import scipy.sparse.linalg as spla

from pliant.equations.binding import Binding, Linearized
from pliant.equations.equations import Equations, InputValues, Values
from pliant.equations.state import State
from pliant.language.arguments import ArgumentError, known_keywords, need_equations, whole
from pliant.language.display import shown
from pliant.solve.options import ModesOptions
from pliant.solve.saddle import balancing_multipliers, first_order_matrix, on_allowed_motions
from pliant.solve.state import Start, assemble
from pliant.solve.statics.equilibrium import about

DENSE_UP_TO = 1200


@dataclass(frozen=True)
class Modes:
    """Natural modes, lowest frequency first.

    Attributes:
        frequencies: undamped natural frequencies [Hz]; negative for unstable directions (the growth rate over 2 pi).
        shapes: mode shapes in increments of q, nv x modes, mass-normalized.
        eigenvalues: complex eigenvalues of the damped system [1/s], matched to the modes.
        damping_ratios: minus the real part over the magnitude of `eigenvalues` [-].
        stable: no eigenvalue grows.
        warnings: rigid-body or unstable modes, by number.
    """

    frequencies: np.ndarray
    shapes: np.ndarray
    eigenvalues: np.ndarray
    damping_ratios: np.ndarray
    stable: bool
    warnings: tuple[str, ...]
    state: State
    equations: Equations

    def __repr__(self) -> str:
        rows = [
            f"{k + 1:4d}  {f:12.6g} Hz   damping ratio {z:.4g}"
            for k, (f, z) in enumerate(zip(self.frequencies, self.damping_ratios, strict=True))
        ]
        return "\n".join(["Modes", *rows, *self.warnings])

    def _repr_html_(self) -> str:
        return str(shown("Modes.html", self))


@known_keywords(ModesOptions.renamed)
def modes(
    eqs: Equations,
    *,
    at: Start = "initial",
    count: int | None = None,
    inputs: InputValues | None = None,
    parameters: Values | None = None,
    time: float | None = None,
) -> Modes:
    """Modes about a state at rest: `count` of them, or all.

    at: "initial" (the default here; model files and the command line take the equilibrium), "equilibrium", a State, positions,
    coordinates by name, or an `Equilibrium`, which brings its inputs and parameters along. time: at which inputs are read [s], by
    default that of the state.

    The stiffness is the derivative of all position-dependent forces there, gravity and constraint forces included.
    """
    need_equations(eqs)
    if count is not None:
        whole("count", count, least=1, hint="or leave it out for all modes")
    eqs, given, t = about(eqs, at, inputs, parameters, time)
    made = assemble(eqs, eqs.binding, t, given.q, np.zeros(len(eqs.rates)), given.given.at_rest())
    bound = made.bound
    linear, state = at_rest(bound, t, made.q)
    if bound.nv > DENSE_UP_TO and not bound.m and count is not None:
        squares, shapes = _sparse(linear, count)
        eigenvalues = _perturbed(linear, squares, shapes)
    else:
        squares, shapes, eigenvalues = _dense(linear, count)
    frequencies = np.sign(squares) * np.sqrt(np.abs(squares)) / (2 * np.pi)
    size = np.abs(eigenvalues)
    ratios = np.divide(-eigenvalues.real, size, out=np.zeros_like(size), where=size > 1e-12)
    ratios[np.abs(ratios) < 1e-12] = 0.0  # round-off of an undamped mode
    highest = float(np.max(np.abs(squares), initial=1e-300))
    notes = []
    for k, (square, value) in enumerate(zip(squares, eigenvalues, strict=True)):
        if abs(square) <= 1e-10 * highest:
            notes.append(f"mode {k + 1} is a rigid-body mode: it moves without stiffness")
        elif square < 0 or value.real > 1e-9 * size.max(initial=1.0):
            notes.append(f"mode {k + 1} is unstable: it grows by a factor e in {1 / max(value.real, 1e-300):.3g} s")
    stable = not any("unstable" in note for note in notes)
    return Modes(frequencies, shapes, eigenvalues, ratios, stable, tuple(notes), state, eqs)


def at_rest(bound: Binding, t: float, q: np.ndarray) -> tuple[Linearized, State]:
    """Linearization at rest with the constraint forces that balance the pose best."""
    zero = np.zeros(bound.nv)
    multipliers = np.zeros(bound.m)
    if bound.m:
        linear = bound.linearized(t, q, zero, zero, multipliers)
        multipliers = balancing_multipliers(linear, linear.residual, bound.active_rows)
    linear = bound.linearized(t, q, zero, zero, multipliers)
    return linear, State(q, zero, t, multipliers)


def _dense(linear: Linearized, count: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    Z, K, C, M = on_allowed_motions(linear)
    f = len(K)
    if f == 0:
        return np.zeros(0), np.zeros((Z.shape[0], 0)), np.zeros(0, dtype=complex)
    symmetric = np.allclose(K, K.T, atol=1e-8 * max(1e-300, np.abs(K).max()))
    if not symmetric:
        warnings.warn(
            "the stiffness is not symmetric here (follower loads?): modes use its symmetric part", stacklevel=3
        )
    try:
        squares, shapes = la.eigh(0.5 * (K + K.T), M)
    except la.LinAlgError:
        raise ArgumentError(
            "the mass matrix is not positive definite on the allowed motions: give every moving body mass and inertia"
        ) from None
    count = f if count is None else min(count, f)
    squares, shapes = squares[:count], shapes[:, :count]
    # damped eigenvalues, matched to the undamped modes by the largest share of modal energy
    values, vectors = la.eig(first_order_matrix(K, C, M))
    energy = np.abs(shapes.T @ M @ vectors[:f]) ** 2
    total = np.einsum("ij,ij->j", vectors[:f].conj(), M @ vectors[:f]).real
    share = energy / np.maximum(total, 1e-300)
    share[:, values.imag < -1e-12] = -1.0
    taken: set[int] = set()
    eigenvalues = np.zeros(count, dtype=complex)
    for k in range(count):
        # an unstable direction has a growing and a decaying eigenvalue: the growing one is the news
        order = np.argsort(-share[k] - (values.real > 0) * (squares[k] < 0))
        best = next(int(j) for j in order if int(j) not in taken)
        taken.add(best)
        eigenvalues[k] = values[best]
    return squares, Z @ shapes, eigenvalues


def _sparse(linear: Linearized, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Lowest modes of a large unconstrained system by shift and invert."""
    K = 0.5 * (linear.stiffness + linear.stiffness.T)
    shift = -1e-6 * np.abs(K.diagonal()).max() / np.abs(linear.mass.diagonal()).max()
    squares, shapes = spla.eigsh(K, k=count, M=linear.mass, sigma=shift, which="LM")
    order = np.argsort(squares)
    return squares[order], shapes[:, order]


def _perturbed(linear: Linearized, squares: np.ndarray, shapes: np.ndarray) -> np.ndarray:
    """Damped eigenvalues from the modal damping of each mode alone (couplings between modes left out)."""
    damping = np.einsum("ij,ij->j", shapes, linear.damping @ shapes)
    return np.asarray(-0.5 * damping + np.sqrt((0.25 * damping**2 - squares).astype(complex)))
