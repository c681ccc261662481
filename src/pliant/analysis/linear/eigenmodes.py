"""Eigenvalues and shapes of small motions that constraints allow, about a state at rest or in steady motion."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import scipy

from pliant.analysis.linear.small_motion import at_rest, first_order, largest_force
from pliant.analysis.numerics.quadratic_eigenvalues import (
    ROUND_OFF,
    Eigenpairs,
    NotConverged,
    SparseMatrices,
    eigenpairs,
    lowest_eigenpairs,
)
from pliant.analysis.numerics.saddle import on_allowed_motions
from pliant.analysis.statics.stability import is_symmetric, judge_large, stiffness_scaling
from pliant.engine.binding import Binding, LinearizedEquations
from pliant.engine.contacts import contacts_at
from pliant.engine.equations import Equations
from pliant.engine.state import State

DENSE_UP_TO = 500
"""Number of rates up to which all modes are computed and the lowest selected; larger robots use an iterative method."""
ALL_UP_TO = 1200
"""Number of rates up to which all modes are returned by default; larger robots return the lowest few."""
FEW = 20


Kind: TypeAlias = Literal["oscillating", "overdamped", "rigid-body", "unstable"]
"""Kinds of modes."""


@dataclass(frozen=True)
class SmallMotions:
    """Modes of a state, in no order.

    Attributes:
        found: eigenvalues [1/s], shapes in increments of q, and how far each eigenvalue may be off.
        state: the state with its constraint forces and contacts.
        stable: False if a mode grows that was not computed, None if that could not be decided.
        missing: number of modes that grow and were not computed.
    """

    found: Eigenpairs
    state: State
    stable: bool | None = True
    missing: int = 0


def small_motions(
    eqs: Equations, bound: Binding, t: float, q: np.ndarray, v: np.ndarray, count: int | None, undamped: bool
) -> SmallMotions:
    """Modes about a pose q with rates v: all, or the lowest `count` of a large robot at rest."""
    if np.any(v):
        linear, state = _in_motion(bound, t, q, v)
        order = first_order(eqs, bound, state, np.zeros(bound.nv), linear)
        D = linear.rate_sizes[order.chosen]
        K, C, M = (D[:, None] * x * D for x in order.second_order(linear.mass))
        return SmallMotions(_dense(order.G * D, K, C, M, undamped, largest_force(bound, t, q), _rubs(state)), state)
    linear, state = at_rest(bound, t, q)
    forces = largest_force(bound, t, q)
    on = bound.active_rows
    few = FEW if bound.nv > ALL_UP_TO and count is None else count
    if bound.nv > DENSE_UP_TO and few is not None and few < (bound.nv - int(on.sum())) // 4:
        try:
            return _sparse(linear, state, on, few, undamped, forces)
        except NotConverged:
            pass  # then all modes are computed, which takes longer
    return SmallMotions(_dense(*on_allowed_motions(linear, on), undamped, forces, _rubs(state)), state)


def _in_motion(bound: Binding, t: float, q: np.ndarray, v: np.ndarray) -> tuple[LinearizedEquations, State]:
    """Linearization in steady motion."""
    _, multipliers = bound.forward(t, q, v)
    touching = contacts_at(bound, t, q, v) if bound.system.contacts.laws else None
    return bound.linearized(t, q, v, np.zeros(bound.nv), multipliers), State(q, v, t, multipliers, contacts=touching)


def _rubs(state: State) -> bool:
    """Whether surfaces slide: their friction depends on the normal force, and has no potential even without damping."""
    return state.contacts is not None and not np.all(state.contacts.sticks)


def _dense(
    Z: np.ndarray, K: np.ndarray, C: np.ndarray, M: np.ndarray, undamped: bool, forces: float, rubs: bool
) -> Eigenpairs:
    if undamped:
        K, C = K if rubs else 0.5 * (K + K.T), np.zeros_like(C)
    # at an equilibrium within a tolerance, the tangent of conservative forces is slightly asymmetric
    size = np.sqrt(np.abs(np.diag(K)))
    size = np.maximum(size, max(1e-6 * float(size.max(initial=0.0)), 1e-150))
    if np.abs((K - K.T) / np.outer(size, size)).max(initial=0.0) <= 1e-9:
        K = 0.5 * (K + K.T)
    pairs = eigenpairs(K, C, M, round_off=ROUND_OFF * forces)
    return Eigenpairs(pairs.values, Z @ pairs.shapes, pairs.doubts)


def _sparse(
    linear: LinearizedEquations, state: State, on: np.ndarray, count: int, undamped: bool, forces: float
) -> SmallMotions:
    """The lowest modes of a large robot, and whether any mode grows if that can be decided without computing all."""
    sizes, linear = linear.rate_sizes, linear.in_sizes()
    C = scipy.sparse.csc_matrix(linear.damping.shape) if undamped else linear.damping
    K = 0.5 * (linear.stiffness + linear.stiffness.T) if undamped and not _rubs(state) else linear.stiffness
    J = scipy.sparse.csr_matrix(linear.jacobian[on])
    at = SparseMatrices(scipy.sparse.csc_matrix(K), scipy.sparse.csc_matrix(C), linear.mass, J, ROUND_OFF * forces)
    D = scipy.sparse.diags(stiffness_scaling(linear))
    symmetric = is_symmetric(D @ at.K @ D) and is_symmetric(at.C)
    judged = judge_large(
        replace(linear, stiffness=at.K, damping=at.C, phi=linear.phi[on], jacobian=at.J, row_sizes=linear.row_sizes[on])
    )
    wanted = count
    while True:
        pairs = lowest_eigenpairs(at, wanted, symmetric=symmetric)
        growing = int(np.sum(pairs.values.real > pairs.doubts))
        if judged is None or growing >= judged.unstable or wanted > 4 * count + 40:
            break
        wanted *= 2
    pairs = replace(pairs, shapes=sizes[:, None] * pairs.shapes)
    if judged is None:
        return SmallMotions(pairs, state, None)
    missing = judged.unstable - growing
    return SmallMotions(pairs, state, missing <= 0 and judged.stable is not False, max(missing, 0))


def in_order(pairs: Eigenpairs) -> tuple[np.ndarray, list[Kind]]:
    """Indices of the modes in the order in which they are listed, and the kind of each."""
    values = pairs.values
    # a real part within round-off is zero: a motion without damping, or stabilized by gyroscopic terms alone
    values.real[(values.imag != 0) & (np.abs(values.real) <= pairs.doubts)] = 0.0
    values.real[np.abs(values) <= pairs.doubts * (values.imag == 0)] = 0.0
    kinds: list[Kind] = []
    for value in values:
        if value == 0:
            kinds.append("rigid-body")
        elif value.real > 0:
            kinds.append("unstable")
        else:
            kinds.append("oscillating" if value.imag else "overdamped")
    grows = np.array([kind == "unstable" for kind in kinds], dtype=bool)
    return np.lexsort((np.abs(values), np.where(grows, -values.real, 0.0), ~grows)), kinds
