"""Modes about a state: eigenvalues and shapes of small motions that constraints allow, with damping and gyroscopic terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy

from pliant.equations.binding import Binding
from pliant.equations.contacts import contacts_at
from pliant.equations.equations import Equations, InputValues, Values
from pliant.equations.linearized import LinearizedEquations
from pliant.equations.state import State
from pliant.language.arguments import ArgumentError, flag, known_keywords, need_equations, whole
from pliant.language.display import shown, with_remarks
from pliant.solve.blas_threads import on_one_blas_thread
from pliant.solve.contact_remarks import linear_remarks
from pliant.solve.input_limits import beyond_limits
from pliant.solve.linear.small_motion import at_rest, first_order, imbalance, largest_force, steady_start
from pliant.solve.quadratic_eigenvalues import ROUND_OFF, Eigenpairs, MasslessMotion, eigenpairs
from pliant.solve.saddle import on_allowed_motions
from pliant.solve.sparse_eigenvalues import NotConverged, SparseMatrices, lowest_eigenpairs
from pliant.solve.state import Start
from pliant.solve.statics.eigenvalue_count import is_symmetric
from pliant.solve.statics.equilibrium import about
from pliant.solve.statics.stability import judge_large, stiffness_scaling
from pliant.solve.validity import friction_remarks

DENSE_UP_TO = 500
"""Number of rates up to which all modes are computed and the lowest selected; larger robots use an iterative method."""
ALL_UP_TO = 1200
"""Number of rates up to which all modes are returned by default; larger robots return the lowest few."""
FEW = 20
SHOWN = 10
"""Number of modes in a short table, unless only two more are left."""
WIDEST = 36
"""Width of the coordinate names in a table, unless one name is longer."""


Kind: TypeAlias = Literal["oscillating", "overdamped", "rigid-body", "unstable"]
"""Kinds of modes."""


@dataclass(frozen=True)
class Modes:
    """Modes: eigenvalues of the linearized motion with their shapes. Growing ones come first, then by magnitude, lowest first.

    A conjugate pair of eigenvalues is one mode. Two real ones are two modes, unless they are opposite with the same shape
    due to missing damping (a rigid-body mode, an unstable direction).

    Attributes:
        eigenvalues: complex, with the positive imaginary part of a pair, or the one that grows [1/s].
        frequencies: magnitude of `eigenvalues` over 2 pi [Hz]; without damping the natural frequency. Negative for a motion that
            grows without oscillating.
        damping_ratios: minus the real part over the magnitude of `eigenvalues` [-]; negative for a motion that grows, 1 for one
            that decays without oscillating, 0 for a rigid-body mode.
        kinds: oscillating, overdamped (decays without oscillating), rigid-body (moves without stiffness), unstable.
        shapes: in increments of q, nv x modes, with x^H M x = 1; complex where parts of the robot move out of phase, as where
            damping or gyroscopic terms couple the undamped modes. The motion is the real part of x exp(eigenvalue t).
        stable: no mode grows, listed or not; None where that could not be decided.
        warnings: a pose that is not in equilibrium, unstable and rigid-body modes, omitted terms.
        state: the linearization point.
    """

    eigenvalues: np.ndarray
    frequencies: np.ndarray
    damping_ratios: np.ndarray
    kinds: tuple[Kind, ...]
    shapes: np.ndarray
    stable: bool | None
    warnings: tuple[str, ...]
    state: State
    equations: Equations

    def __len__(self) -> int:
        return len(self.eigenvalues)

    def phase(self, mode: int, angle: float) -> np.ndarray:
        """Increments of q in a mode (from 0) at an angle of its oscillation [rad]: a quarter of a turn is its largest swing."""
        return np.asarray((self.shapes[:, mode] * (-1j * np.exp(1j * angle))).real)

    @cached_property
    def energy_shares(self) -> np.ndarray:
        """Shares of the rates in the kinetic energy of each mode, nv x modes: the real part of conj(x_i) (M x)_i, with sum 1.

        Unlike amplitudes they have no units: coordinates in metres, radians and 1/m can be compared. A share may be negative where
        coordinates move against each other.
        """
        momenta = self.equations.binding.mass_matrix(self.state.q) @ self.shapes
        return np.asarray((np.conj(self.shapes) * momenta).real)

    def leading(self, mode: int) -> tuple[str, ...]:
        """The rates with the largest shares of the kinetic energy of a mode (from 0): up to three."""
        share = self.energy_shares[:, mode]
        # shares that differ by rounding errors only, as in symmetric robots, are listed in the order of the rates
        most = np.argsort(-np.round(share / max(share.max(initial=0.0), 1e-300), 6), kind="stable")[:3]
        return tuple(self.equations.rates[i] for i in most if share[i] > 0.05 * share.max())

    @property
    def shown_first(self) -> tuple[int, ...]:
        """Modes for a short table (from 0): all if they are few, otherwise the first, and all unstable and rigid-body ones."""
        every = range(len(self))
        if len(self) <= SHOWN + 2:
            return tuple(every)
        return tuple(k for k in every if k < SHOWN or self.kinds[k] in ("unstable", "rigid-body"))

    def table(self, modes: Sequence[int] | None = None) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Titles and rows of a table for display, of all modes or of the given ones (from 0)."""
        head = ("mode", "eigenvalue [1/s]", "frequency [Hz]", "damping ratio", "kind", "moves most")
        rows: list[tuple[str, ...]] = [
            (str(k + 1), _eigenvalue(value), f"{self.frequencies[k]:.6g}" if value.imag or value == 0 else "-",
             f"{self.damping_ratios[k]:.4g}", str(self.kinds[k]), _shortened(_merged(self.leading(k))))
            for k in (range(len(self)) if modes is None else modes)
            for value in (self.eigenvalues[k],)
        ]  # fmt: skip
        return head, rows

    def words(self, mode: int) -> str:
        """Short description of a mode (from 0): its frequency, or its type."""
        value = self.eigenvalues[mode]
        if self.kinds[mode] == "rigid-body":
            return "rigid-body"
        grows = self.kinds[mode] == "unstable"
        if value.imag == 0:
            return f"{'unstable' if grows else 'overdamped'}, {abs(1 / value.real):.3g} s"
        return f"{abs(self.frequencies[mode]):.4g} Hz{', unstable' if grows else ''}"

    def __repr__(self) -> str:
        modes = self.shown_first
        head, rows = self.table(modes)
        widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]
        lines = [
            "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in (head, *rows)
        ]
        left = len(self) - len(modes)
        more = [f"{left} more modes are not shown; `table()` lists all"] if left else []
        return with_remarks("\n".join(["Modes", *lines, *more]), self.warnings)

    def _repr_html_(self) -> str:
        return str(shown("Modes.html", self))

    def plot(self, **options: Any) -> Any:
        """Draw frequencies and damping ratios; returns the axes. Options: those of `pliant.plot.modes`."""
        return shown("Modes.plot", self, **options)


def _merged(names: tuple[str, ...]) -> list[str]:
    """Merge names that differ in one number: rod.bend_x[1], rod.bend_x[2] become rod.bend_x[1,2]."""
    numbers: dict[tuple[str, str], list[str]] = {}
    for name in names:
        before, bracket, rest = name.partition("[")
        number, _, after = rest.partition("]")
        numbers.setdefault((before + bracket, after), []).append(number)
    for found in numbers.values():
        if all(number.isdigit() for number in found):
            found.sort(key=int)
    return [f"{before}{','.join(found)}]{after}" if found[0] else before for (before, after), found in numbers.items()]


def _shortened(names: list[str]) -> str:
    """The first names, as many as fit in a table."""
    kept = [name for k, name in enumerate(names) if k == 0 or len(", ".join(names[: k + 1])) <= WIDEST]
    return ", ".join(kept)


def _eigenvalue(value: complex) -> str:
    if value == 0:
        return "0"
    if value.imag == 0:
        return f"{value.real:.4g}"
    return f"±{value.imag:.4g}i" if value.real == 0 else f"{value.real:.4g} ± {value.imag:.4g}i"


@known_keywords
@on_one_blas_thread
def modes(
    eqs: Equations,
    *,
    at: Start = "equilibrium",
    count: int | None = None,
    undamped: bool = False,
    inputs: InputValues | None = None,
    parameters: Values | None = None,
    time: float | None = None,
) -> Modes:
    """Modes about a state at rest or in steady motion: `count` of them, by default all (20 for more than 1200 rates).

    at: "equilibrium", "initial", a State, positions, coordinates by name, or an `Equilibrium`, whose inputs and
    parameters are used. undamped: omit damping and gyroscopic terms: natural frequencies and real, mass-normalized shapes. time:
    at which inputs are evaluated [s], by default that of the state.

    The stiffness is the derivative of all position-dependent forces there, including gravity and constraint forces. Rates are
    included if the motion is steady: that of a rotor, or with a prescribed motion.
    """
    need_equations(eqs)
    flag("undamped", undamped)
    if count is not None:
        count = whole("count", count, least=1, hint="or omit it for all modes")
    eqs, given, t = about(eqs, at, inputs, parameters, time)
    made, moving = steady_start(eqs, given, t)
    notes = [*made.messages, *([moving] if moving else []), *friction_remarks(eqs.model, linear=True)]
    notes += beyond_limits(eqs.model, made.bound, t)
    found, state, stable, more = _solved(eqs, made.bound, t, made.q, made.v, count, undamped)
    notes += [*linear_remarks(state.contacts), *more]
    order, kinds = _in_order(found)
    unlisted = [] if count is None else [kinds[k] for k in order[count:]]
    order = order[:count]
    values, kinds = found.values[order], [kinds[k] for k in order]
    size = np.abs(values)
    ratios = np.divide(-values.real, size, out=np.zeros_like(size), where=size > 0) + 0.0  # no minus in front of zero
    frequencies = np.where((values.imag == 0) & (values.real > 0), -1.0, 1.0) * size / (2 * np.pi)
    if stable is not False:
        stable = False if "unstable" in (*kinds, *unlisted) else stable
    notes += _words(values, kinds, unlisted)
    shapes = found.shapes[:, order]
    if np.iscomplexobj(shapes) and not np.any(shapes.imag):
        shapes = shapes.real
    return Modes(values, frequencies, ratios, tuple(kinds), shapes, stable, tuple(notes), state, eqs)


def _solved(
    eqs: Equations, bound: Binding, t: float, q: np.ndarray, v: np.ndarray, count: int | None, undamped: bool
) -> tuple[Eigenpairs, State, bool | None, list[str]]:
    """Eigenvalues and shapes in increments of q, the state, whether it is stable (None if unknown), and warnings."""
    if np.any(v):
        linear, state = _in_motion(bound, t, q, v)
        order = first_order(eqs, bound, state, np.zeros(bound.nv), linear)
        D = linear.rate_sizes[order.chosen]
        K, C, M = (D[:, None] * x * D for x in order.second_order(linear.mass))
        return _dense(order.G * D, K, C, M, undamped, largest_force(bound, t, q), _rubs(state)), state, True, []
    linear, state = at_rest(bound, t, q)
    forces = largest_force(bound, t, q)
    said = imbalance(eqs, linear, forces=forces)
    notes = [said] if said else []
    on = bound.active_rows
    few = count
    if bound.nv > ALL_UP_TO and count is None:
        few = FEW
        notes.append(f"the lowest {FEW} modes of {bound.nv - int(on.sum())}; use count to compute more")
    if bound.nv > DENSE_UP_TO and few is not None and few < (bound.nv - int(on.sum())) // 4:
        try:
            found, stable, more = _sparse(linear, on, few, undamped, forces, _rubs(state))
            return found, state, stable, notes + more
        except NotConverged:
            pass  # then all modes are computed, which takes longer
    return _dense(*on_allowed_motions(linear, on), undamped, forces, _rubs(state)), state, True, notes


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
    try:
        found = eigenpairs(K, C, M, round_off=ROUND_OFF * forces)
    except MasslessMotion:
        raise ArgumentError(
            "the mass matrix is not positive definite on the allowed motions: give every moving body mass and inertia"
        ) from None
    return Eigenpairs(found.values, Z @ found.shapes, found.doubts)


def _sparse(
    linear: LinearizedEquations, on: np.ndarray, count: int, undamped: bool, forces: float, rubs: bool
) -> tuple[Eigenpairs, bool | None, list[str]]:
    """The lowest modes of a large robot, and whether any mode grows if that can be decided without computing all."""
    sizes, linear = linear.rate_sizes, linear.in_sizes()
    C = scipy.sparse.csc_matrix(linear.damping.shape) if undamped else linear.damping
    K = 0.5 * (linear.stiffness + linear.stiffness.T) if undamped and not rubs else linear.stiffness
    J = scipy.sparse.csr_matrix(linear.jacobian[on])
    at = SparseMatrices(scipy.sparse.csc_matrix(K), scipy.sparse.csc_matrix(C), linear.mass, J, ROUND_OFF * forces)
    D = scipy.sparse.diags(stiffness_scaling(linear))
    symmetric = is_symmetric(D @ at.K @ D) and is_symmetric(at.C)
    judged = judge_large(
        replace(linear, stiffness=at.K, damping=at.C, phi=linear.phi[on], jacobian=at.J, row_sizes=linear.row_sizes[on])
    )
    wanted = count
    while True:
        found = lowest_eigenpairs(at, wanted, symmetric=symmetric)
        growing = int(np.sum(found.values.real > found.doubts))
        if judged is None or growing >= judged.unstable or wanted > 4 * count + 40:
            break
        wanted *= 2
    found = replace(found, shapes=sizes[:, None] * found.shapes)
    if judged is None:
        return (
            found,
            None,
            [f"stability of the other modes was not determined: {len(found.values)} modes were computed"],
        )
    missing = judged.unstable - growing
    if missing > 0:
        return found, False, [f"{missing} more modes grow, faster than the computed ones"]
    return found, judged.stable is not False, []


def _in_order(found: Eigenpairs) -> tuple[np.ndarray, list[Kind]]:
    """Indices of the modes in the order in which they are listed, and the kind of each."""
    values = found.values
    # a real part within round-off is zero: a motion without damping, or stabilized by gyroscopic terms alone
    values.real[(values.imag != 0) & (np.abs(values.real) <= found.doubts)] = 0.0
    values.real[np.abs(values) <= found.doubts * (values.imag == 0)] = 0.0
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


def _words(values: np.ndarray, kinds: list[Kind], unlisted: list[Kind]) -> list[str]:
    """Warnings about unstable and rigid-body modes, with the number of those that are not listed."""
    notes = []
    for k, (value, kind) in enumerate(zip(values, kinds, strict=True)):
        if kind == "rigid-body":
            notes.append(f"mode {k + 1} is a rigid-body mode: it moves without stiffness")
        elif kind == "unstable":
            notes.append(f"mode {k + 1} is unstable: it grows by a factor e in {1 / value.real:.3g} s")
    for kind in ("unstable", "rigid-body"):
        if left := unlisted.count(kind):
            notes.append(f"{left} more {'mode is' if left == 1 else 'modes are'} {kind}")
    return notes
