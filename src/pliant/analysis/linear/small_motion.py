"""Small motions about an equilibrium or a steady motion: the linearized equations, and the distance of a state from balance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from pliant.analysis.numerics.quadratic_eigenvalues import MasslessMotion
from pliant.analysis.numerics.saddle import balancing_multipliers, null_space, partition, saddle_matrix
from pliant.analysis.numerics.state import AssembledState, assemble, driven_words
from pliant.analysis.remark import Words, remark
from pliant.engine.binding import Binding, LinearizedEquations
from pliant.engine.contacts import contacts_at_rest, from_here
from pliant.engine.equations import Equations
from pliant.engine.state import State
from pliant.language.arguments import ArgumentError
from pliant.language.time_series import TimeSeries


def rate_by_position(
    eqs: Equations, bound: Binding, state: State, linear: LinearizedEquations, a: np.ndarray
) -> np.ndarray:
    """Derivative of J v of the active rows with respect to q at constant v."""
    on = bound.active_rows
    Ev = bound.acceleration_tangent(state.t, state.q, state.v, a)[1][on]
    return np.asarray(0.5 * (Ev - linear.jacobian.toarray()[on] @ bound.bracket(state.v)))


class PrescribedMotions:
    """First-order effect of inputs on constraints (m active rows) and forces (nv).

    c: the inputs that prescribe positions, and the positions that result from prescribed rates and accelerations. They depend on
    q: by_q, and their rates on v and q: by_q, rate_by_q. Inputs that prescribe rates depend on q and v: speeds_by_q, speeds_by_v.
    S2_speed, speed_forces: derivatives with respect to those. S1, S2, S2_rate: derivatives of the prescribed rates and
    accelerations of the rows with respect to c, c, dc/dt. held: combinations of rows that are independent of c. forces,
    rate_forces: derivatives of the residual with respect to c and dc/dt. names, input_values, input_forces, input_accelerations:
    the inputs of the linear system, and derivatives of the residual and of the prescribed accelerations with respect to them.
    signals, input_signals: derivatives of all signals with respect to c and to the inputs.
    """

    def __init__(
        self, eqs: Equations, bound: Binding, state: State, linear: LinearizedEquations, a: np.ndarray
    ) -> None:
        """At a state with accelerations a, where the linearized equations are `linear`."""
        model, t, q, v = eqs.model, state.t, state.q, state.v
        J, H = linear.jacobian.toarray()[bound.active_rows], rate_by_position(eqs, bound, state, linear, a)
        by_input, rate, acceleration, acceleration_rate, direct = eqs.motion_derivatives(t)
        row_signals = np.array(model.system.row_signals(), dtype=int)[bound.active_rows]
        positions = [i for i, name in enumerate(eqs.inputs) if name in model.position_inputs]
        speeds = [i for i, name in enumerate(eqs.inputs) if name in model.rate_inputs]
        # functions of time alone are constraints
        followed = [item for item in model.followed if np.any(model.signal_sources[item.signal, 1:])]
        c = positions + [item.input for item in followed]

        def rows(table: np.ndarray, columns: list[int]) -> np.ndarray:
            found = np.zeros((len(row_signals), len(columns)))
            on = row_signals >= 0
            found[on] = table[np.ix_(row_signals[on], columns)]
            return found

        S = rows(by_input, c)
        self.S1, self.S2, self.S2_rate = rows(rate, c), rows(acceleration, c), rows(acceleration_rate, c)
        self.held = null_space(S.T) if c else np.eye(len(J))
        moving = [item.position for item in followed if item.order == 1]
        at = [k for k, signal in enumerate(row_signals) if signal in moving]
        R = rows(rate, speeds)[at]
        if (
            len(J) - self.held.shape[1] < len(c)
            or (R.size and np.linalg.matrix_rank(R) < max(R.shape))
            or set(positions) & set(speeds)
        ):
            names = ", ".join(eqs.inputs[i] for i in dict.fromkeys([*positions, *speeds]))
            raise ArgumentError(
                f"the inputs {names} do not prescribe motions independently of each other in this state; use one input for each "
                "motion"
            )
        from_rows = np.zeros((len(speeds), len(J)))
        from_rows[:, at] = np.linalg.pinv(R)
        self.speeds_by_q, self.speeds_by_v, self.S2_speed = from_rows @ H, from_rows @ J, rows(acceleration, speeds)
        inverse = np.linalg.pinv(S) if c else np.zeros((0, len(J)))
        self.by_q = inverse @ J
        self.rate_by_q = inverse @ (H - self.S1 @ self.by_q)
        by_signal = bound.input_tangent(t, q, v)
        self.signals = by_input[:, c]
        self.forces = by_signal @ self.signals
        self.rate_forces = np.column_stack([_force_by_rate(bound, t, q, v, i) for i in c] or [np.zeros((bound.nv, 0))])
        count = len(eqs.inputs)
        self.input_signals = by_input[:, :count].copy()
        self.speed_forces = by_signal @ by_input[:, speeds]
        self.input_signals[:, positions + speeds] = 0.0
        self.input_forces = by_signal @ self.input_signals
        self.input_accelerations = rows(acceleration, list(range(count)))
        self.input_accelerations[:, positions] = rows(direct, positions)
        self.input_accelerations[:, speeds] = rows(acceleration_rate, speeds)
        order = [2 if i in positions else 1 if i in speeds else 0 for i in range(count)]
        shown = ("{}", "d({})/dt", "d2({})/dt2")
        self.names = tuple(shown[k].format(name) for k, name in zip(order, eqs.inputs, strict=True))
        self.input_values = np.array([bound.input_motion(i, t)[k] for i, k in enumerate(order)])


def _force_by_rate(bound: Binding, t: float, q: np.ndarray, v: np.ndarray, index: int) -> np.ndarray:
    """Derivative of the residual with respect to the rate of an input, on which damped lines depend linearly."""
    if not bound.system.routes:
        return np.zeros(bound.nv)
    x, rate, acceleration = bound.input_motion(index, t)
    still = np.zeros(bound.nv)
    raised, lowered = (
        bound.with_series({index: TimeSeries(np.array([t]), np.array([[x, rate + h, 0.5 * acceleration]]))})
        for h in (1.0, -1.0)
    )
    return 0.5 * (raised.inverse(t, q, v, still) - lowered.inverse(t, q, v, still))


BALANCED = 1e-9
"""Unbalanced forces below this fraction of the acting forces are treated as zero (an equilibrium is computed to a tenth of it)."""
KINK_WAY = 1e-6
"""Displacement to the sides of a pose, relative to the size of the robot: beyond the tolerance with which poses are at rest."""
KINKED = 1e-3
"""Share of the change of a force over that way that indicates a kink: curvature of smooth forces is a thousandth of it."""
STEADY = 1e-6
"""A motion is steady if its linearized equations change by less than this fraction, and its accelerations are below it."""


def at_rest(bound: Binding, t: float, q: np.ndarray) -> tuple[LinearizedEquations, State]:
    """Linearization at rest with the constraint forces that minimize the imbalance."""
    zero = np.zeros(bound.nv)
    multipliers = np.zeros(bound.m)
    if bound.m:
        linear = bound.linearized(t, q, zero, zero, multipliers)
        multipliers = balancing_multipliers(linear, linear.residual, bound.active_rows)
    linear = bound.linearized(t, q, zero, zero, multipliers)
    return linear, State(q, zero, t, multipliers, contacts=contacts_at_rest(bound, t, q))


def with_contacts_from(made: AssembledState, given: State, t: float) -> AssembledState:
    """The start with static friction: as remembered by the state, or, for an equilibrium without memory, between surfaces that
    have not slid. Friction of a motion without memory depends on its velocities."""
    bound, q = made.bound, made.q
    if not bound.system.contacts.laws:
        return made
    if given.contacts is not None:
        return replace(made, bound=bound.with_contacts(given.contacts.rows, since=q))
    return made if np.any(made.v) else replace(made, bound=from_here(bound, t, q))


def largest_force(bound: Binding, t: float, q: np.ndarray) -> float:
    """Largest generalized force of any source in an equilibrium, as its work over a displacement of the size of its coordinate
    [J]."""
    by_source, sizes = bound.force_by_source(t, q, np.zeros(bound.nv)).values(), bound.sizes(q)[1]
    return max((float(np.abs(sizes * force).max(initial=0.0)) for force in by_source), default=0.0)


def imbalance(eqs: Equations, linear: LinearizedEquations, *, forces: float = 0.0) -> str:
    """Remark on the distance of a pose from equilibrium; empty at an equilibrium.

    linear: the linearized equations, with the constraint forces that minimize the imbalance. forces: from `largest_force`.
    """
    own, size = linear.in_sizes(), np.abs(linear.residual)
    in_play = max(1e-3 * float(np.abs(own.stiffness.data).max(initial=0.0)), forces)
    if np.abs(own.residual).max(initial=0.0) <= BALANCED * in_play:
        return ""
    k = int(np.argmax(np.abs(own.residual)))
    units = {"m": " N", "rad": " N m"}
    unit = [" N m" if c.is_rotation else units.get(c.unit, "") for c in eqs.model.coordinates for _ in c.v_names][k]
    return (
        f"the pose is not an equilibrium: a force of {size[k]:.3g}{unit} on '{eqs.rates[k]}' is unbalanced "
        "(`at: equilibrium` finds one)"
    )


@remark(f"an unbalanced force above {BALANCED:g} of the acting forces", "equilibria are computed to a tenth of it")
def unbalanced_pose(eqs: Equations, result: Any) -> Words:
    """The pose is not an equilibrium."""
    if np.any(result.state.v):
        return None
    bound, t, q = result.examined.pose
    return imbalance(eqs, at_rest(bound, t, q)[0], forces=largest_force(bound, t, q)) or None


def kinked_rate(bound: Binding, t: float, q: np.ndarray) -> int | None:
    """Index of the rate whose force at rest changes most unevenly to the two sides of a pose; None if all change evenly."""
    sizes, zero = bound.sizes(q)[1], np.zeros(bound.nv)
    along = sizes * np.cos(1.0 + np.arange(bound.nv))  # moves every part, and no two in the same way
    here = sizes * bound.inverse(t, q, zero, zero)

    def sides(way: float) -> tuple[np.ndarray, np.ndarray]:
        ahead, behind = (sizes * bound.inverse(t, bound.increment(q, x * along), zero, zero) for x in (way, -way))
        return np.abs(ahead + behind - 2 * here) / way, np.abs(ahead - behind) / way

    uneven, change = sides(KINK_WAY)
    if not np.any(uneven > KINKED * change):
        return None
    constant, _ = sides(KINK_WAY / 10)  # that of a kink; where forces are only curved it is a tenth
    uneven = np.where(constant > uneven / 2, uneven, 0.0)
    return int(np.argmax(uneven)) if np.any(uneven > KINKED * (change + KINKED * np.max(change))) else None


@remark(f"a force changes by {KINKED:g} more to one side of the pose", "its stiffness has two values there")
def kinked_pose(eqs: Equations, result: Any) -> Words:
    """The stiffness differs between the two sides of the pose."""
    bound, t, q = result.examined.pose
    k = kinked_rate(bound, t, q)
    if k is None or result.state.contacts is not None:
        return None
    return (
        f"along '{eqs.rates[k]}' the robot is stiffer to one side of this pose than to the other (a line at its length without "
        "tension, a stop at its limit): small motions are computed with a stiffness between the two, and hold for neither side; "
        "tighten the line, or give it a `smoothing`"
    )


@dataclass(frozen=True)
class FirstOrder:
    """dx/dt = A x for changes x = (independent coordinates y, their rates), about a state that may be moving.

    Attributes:
        A: 2f x 2f.
        chosen: indices of the independent rates (f).
        G: changes of all coordinates per change of y (nv x f); those of their rates are G times the independent ones plus P G y.
        P: nv x nv.
        kkt: matrix of accelerations and constraint forces.
        by_q, by_v: accelerations and constraint forces (in active rows) per y and per independent rate.
    """

    A: np.ndarray
    chosen: list[int]
    G: np.ndarray
    P: np.ndarray
    kkt: np.ndarray
    by_q: np.ndarray
    by_v: np.ndarray

    def second_order(self, mass: scipy.sparse.spmatrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """K, C and M of the same motion: M y'' + C y' + K y = 0."""
        f = len(self.chosen)
        T, S, R = self.A[:f, :f], self.A[f:, :f], self.A[f:, f:]
        M = self.G.T @ (mass @ self.G)
        return -M @ (S - R @ T), -M @ (T + R), M


def first_order(
    eqs: Equations, bound: Binding, state: State, a: np.ndarray, linear: LinearizedEquations,
    independent: list[int] | None = None, moved: PrescribedMotions | None = None,
) -> FirstOrder:  # fmt: skip
    """The first-order equations at a state with accelerations a, where the linearized equations are `linear`.

    moved: inputs that prescribe motions, which are then treated as free.
    """
    t, q, v = state.t, state.q, state.v
    Eq, Ev = bound.acceleration_tangent(t, q, v, a)
    on = bound.active_rows
    J, Eq, Ev = linear.jacobian.toarray()[on], Eq[on], Ev[on]
    K, C, M = linear.stiffness.toarray(), linear.damping.toarray(), linear.mass.toarray()
    gamma, H = bound.bracket(v), rate_by_position(eqs, bound, state, linear, a)
    held, J_held = np.eye(len(J)), J
    if moved is not None:
        K, C = K + moved.forces @ moved.by_q + moved.rate_forces @ moved.rate_by_q, C + moved.rate_forces @ moved.by_q
        Eq, Ev = Eq - moved.S2 @ moved.by_q - moved.S2_rate @ moved.rate_by_q, Ev - moved.S2_rate @ moved.by_q
        # inputs that prescribe rates depend on q and v
        K, C = K + moved.speed_forces @ moved.speeds_by_q, C + moved.speed_forces @ moved.speeds_by_v
        Eq, Ev = Eq - moved.S2_speed @ moved.speeds_by_q, Ev - moved.S2_speed @ moved.speeds_by_v
        H = H - moved.S1 @ moved.by_q
        held = moved.held.T  # combinations of rows that are independent of inputs
        J_held = held @ J
    chosen, G = partition(J_held, independent, eqs.rates, linear.rate_sizes)
    f, n = len(chosen), bound.nv
    # changes of v: those of the independent rates, plus the contribution of moving constraints for changes of q
    dependent = [i for i in range(n) if i not in chosen]
    P = np.zeros((n, n))
    if len(held):
        P[dependent] = -np.linalg.lstsq(J_held[:, dependent], held @ H, rcond=None)[0]
    kkt = saddle_matrix(M, J)
    try:
        by_q = np.linalg.solve(kkt, -np.vstack([K + C @ P, Eq + Ev @ P]) @ G)
    except np.linalg.LinAlgError:
        raise MasslessMotion from None
    by_v = np.linalg.solve(kkt, -np.vstack([C, Ev]) @ G)
    A = np.block([[(P @ G - gamma @ G)[chosen], np.eye(f)], [by_q[chosen], by_v[chosen]]])
    return FirstOrder(A, chosen, G, P, kkt, by_q, by_v)


def steady_start(eqs: Equations, given: State, t: float) -> tuple[AssembledState, str]:
    """The state projected on the constraints, and a remark if rates were omitted.

    It has the rates of `given` if these are a steady motion, else those that prescribed motions require if these are steady, else
    zero rates.
    """
    made = assemble(eqs, eqs.binding, t, np.array(given.q), np.array(given.v), given.given)
    made = with_contacts_from(made, given, t)
    unsteady = unsteadiness(eqs, made, t)
    if not unsteady:
        driven = "" if np.any(made.v) else driven_words(eqs, made, t)
        return made, driven and f"prescribed motions are held where they are: {driven}"
    said = f"{unsteady}: modes are computed about its pose, without {{}}"
    if np.any(given.v):
        moved = assemble(eqs, eqs.binding, t, np.array(given.q), np.zeros(len(eqs.rates)), given.given.at_rest())
        moved = with_contacts_from(moved, given, t)
        if not np.any(moved.v):
            return moved, said.format("the rates")
        if _is_steady(moved, t):
            return moved, said.format("rates that no motion prescribes")
    zero = replace(made, v=np.zeros_like(made.v))
    return with_contacts_from(zero, given, t), said.format("the rates")


def unsteadiness(eqs: Equations, made: AssembledState, t: float) -> str:
    """The beginning of a remark on a state that moves, but not steadily; empty at rest and in a steady motion."""
    if not np.any(made.v) or _is_steady(made, t):
        return ""
    k = int(np.argmax(np.abs(made.v)))
    return f"the state moves ('{eqs.rates[k]}' at {made.v[k]:.3g} in SI units), but not steadily"


def _is_steady(made: AssembledState, t: float) -> bool:
    """Whether the linearized equations of a motion are constant over a short time."""
    bound, q, v = made.bound, made.q, made.v
    a, multipliers = bound.forward(t, q, v)
    sizes = bound.sizes(q)[1]
    fastest = float(np.abs(v / sizes).max())
    if np.abs(a / sizes).max(initial=0.0) > STEADY * fastest**2:
        return False
    h, zero = 0.3 / fastest, np.zeros(bound.nv)
    try:
        further = bound.increment(q, h * v)
        here, there = (bound.linearized(s, x, v, zero, multipliers).in_sizes() for s, x in ((t, q), (t + h, further)))
    except RuntimeError:
        return False
    # compared with the inertial terms of these rates: a zero matrix is known only up to round-off
    inertia = np.abs(here.mass.data).max(initial=0.0)
    least = {"stiffness": inertia * fastest**2, "damping": inertia * fastest, "mass": inertia, "jacobian": 0.0}
    for name, size in least.items():
        one, two = getattr(here, name), getattr(there, name)
        if np.abs((one - two).data).max(initial=0.0) > STEADY * max(size, np.abs(one.data).max(initial=0.0)):
            return False
    forces = max(inertia * fastest**2, float(np.abs(here.residual).max(initial=0.0)))
    return bool(np.abs(here.residual - there.residual).max(initial=0.0) <= STEADY * forces)
