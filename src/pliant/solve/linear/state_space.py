"""Linearized equations of motion about a state in independent coordinates, for control design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pliant.equations.binding import Binding
from pliant.equations.core import UnknownName, check_names
from pliant.equations.equations import Equations, InputValues, Values
from pliant.equations.outputs import output_function, output_jacobians, symbolic_outputs
from pliant.equations.state import State
from pliant.language.arguments import ArgumentError, known_keywords, name_tuple, need_equations
from pliant.model.time_series import TimeSeries
from pliant.solve.configuration_group import ConfigurationGroup
from pliant.solve.independent_coordinates import null_space, partition
from pliant.solve.linear.modal import at_rest
from pliant.solve.options import LinearizeOptions
from pliant.solve.saddle import saddle_matrix
from pliant.solve.state import Start, assemble, followed_positions
from pliant.solve.statics.equilibrium import about


@dataclass(frozen=True)
class StateSpace:
    """dx/dt = A x + B u, y = C x + D u for small changes about a state.

    x = (changes of the independent coordinates, changes of their rates). `states`, `inputs`, `outputs` name the rows
    and columns; `input_values` are the inputs at the state; `residual` is the largest acceleration there (zero at an
    equilibrium).

    Coordinates that inputs prescribe are states as others are. An input that prescribes an acceleration acts as it is. One that
    prescribes a position acts through its second derivative, which takes its place: `d2(u)/dt2`; one that prescribes a rate
    through its first: `d(u)/dt`.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    independent: tuple[str, ...]
    state: State
    input_values: np.ndarray
    residual: float

    def select(self, inputs: tuple[str, ...] | None = None, outputs: tuple[str, ...] | None = None) -> StateSpace:
        """The same system with some of its inputs and outputs (an output's name takes all its components)."""
        for name in inputs or ():
            refuse_smooth(name, self.inputs)
        check_names("input", inputs or (), self.inputs)
        for name in outputs or ():
            if not any(x == name or x.startswith(f"{name}.") for x in self.outputs):
                raise UnknownName("output", name, self.outputs)
        columns = list(range(len(self.inputs))) if inputs is None else [self.inputs.index(name) for name in inputs]
        rows = list(range(len(self.outputs)))
        if outputs is not None:
            rows = [i for name in outputs for i, x in enumerate(self.outputs) if x == name or x.startswith(f"{name}.")]
        return replace(
            self, B=self.B[:, columns], C=self.C[rows], D=self.D[np.ix_(rows, columns)],
            inputs=tuple(self.inputs[i] for i in columns), input_values=self.input_values[columns],
            outputs=tuple(self.outputs[i] for i in rows),
        )  # fmt: skip

    def to_control(self) -> Any:
        """The same as a `control.StateSpace` with named signals."""
        import control

        def allowed(names: tuple[str, ...]) -> list[str]:
            return [name.replace(".", "_") for name in names]  # python-control keeps the dot for itself

        return control.ss(
            self.A, self.B, self.C, self.D,
            states=allowed(self.states), inputs=allowed(self.inputs), outputs=allowed(self.outputs),
        )  # fmt: skip


def refuse_smooth(name: str, inputs: tuple[str, ...]) -> None:
    """Say why an input that prescribes a position or a rate is not among the inputs of a linear system."""
    for what, derivative in (("position", f"d2({name})/dt2"), ("rate", f"d({name})/dt")):
        if derivative in inputs:
            raise ArgumentError(
                f"the input '{name}' prescribes a {what}, so the linear system has its derivative '{derivative}' in its place; "
                f"for a feedback prescribe an acceleration in the model (a constraint with `acceleration: ={name}`)"
            )


@known_keywords(LinearizeOptions.renamed)
def linearize(
    eqs: Equations,
    *,
    at: Start = "initial",
    independent: Sequence[str] | None = None,
    inputs: InputValues | None = None,
    parameters: Values | None = None,
    time: float | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> StateSpace:
    """Exact linearization about a state, which may be moving.

    at: "initial" (the default here; model files and the command line take the equilibrium), "equilibrium", a State, positions,
    coordinates and rates by name, or an `Equilibrium`, which brings its inputs and parameters along. time: at which inputs are read
    [s], by default that of the state. input_names, output_names: those to take, all by default.

    With constraints, changes are those of a set of independent coordinates: `independent` by rate name, or chosen for
    good conditioning. What inputs prescribe counts as free: its position and rate are states, and its acceleration is an input
    (see `StateSpace`). Outputs are the model's outputs, or all coordinates where it names none.
    """
    need_equations(eqs)
    independent = name_tuple(independent)
    eqs, given, t = about(eqs, at, inputs, parameters, time)
    followed = followed_positions(eqs.model, eqs.binding, t, given.q, given.v)
    made = assemble(eqs, eqs.binding.with_series(followed), t, np.array(given.q), np.array(given.v))
    bound, q, v = made.bound, made.q, made.v
    a, multipliers = bound.forward(t, q, v)
    residual = float(np.max(np.abs(a), initial=0.0))
    if not np.any(v) and residual < 1e-6:
        # at an equilibrium: drop the round-off accelerations
        a = np.zeros(bound.nv)
        multipliers = at_rest(bound, t, q)[1].multipliers
    linear = bound.linearized(t, q, v, a, multipliers)
    Eq, Ev = bound.acceleration_tangent(t, q, v, a)
    on = bound.active_rows
    J, Eq, Ev = linear.jacobian.toarray()[on], Eq[on], Ev[on]
    K, C, M = linear.stiffness.toarray(), linear.damping.toarray(), linear.mass.toarray()
    gamma = _bracket(eqs, v)
    # d(J v) for changes of q
    H = 0.5 * (Ev - J @ gamma)
    moved = _Moved(eqs, bound, t, q, v, J, H)
    K, C = K + moved.forces @ moved.by_q + moved.rate_forces @ moved.rate_by_q, C + moved.rate_forces @ moved.by_q
    Eq, Ev = Eq - moved.S2 @ moved.by_q - moved.S2_rate @ moved.rate_by_q, Ev - moved.S2_rate @ moved.by_q
    # inputs of rates follow from q and v
    K, C = K + moved.speed_forces @ moved.speeds_by_q, C + moved.speed_forces @ moved.speeds_by_v
    Eq, Ev = Eq - moved.S2_speed @ moved.speeds_by_q, Ev - moved.S2_speed @ moved.speeds_by_v
    held = moved.held.T  # combinations of rows that no input moves
    chosen, G = partition(held @ J, None if independent is None else _indices(eqs, independent), eqs.rates)
    f, n = len(chosen), bound.nv
    # changes of v: those of the independent rates, plus what the moving constraints add for changes of q
    dependent = [i for i in range(n) if i not in chosen]
    P = np.zeros((n, n))
    if len(held):
        P[dependent] = -np.linalg.lstsq((held @ J)[:, dependent], held @ (H - moved.S1 @ moved.by_q), rcond=None)[0]
    kkt = saddle_matrix(M, J)
    by_q = np.linalg.solve(kkt, -np.vstack([K + C @ P, Eq + Ev @ P]) @ G)
    by_v = np.linalg.solve(kkt, -np.vstack([C, Ev]) @ G)
    by_u = np.linalg.solve(kkt, np.vstack([-moved.input_forces, moved.input_accelerations]))
    A = np.block([[(P @ G - gamma @ G)[chosen], np.eye(f)], [by_q[chosen], by_v[chosen]]])
    B = np.vstack([np.zeros((f, by_u.shape[1])), by_u[chosen]])
    full = np.zeros((eqs.model.system.rows, 2 * f + by_u.shape[1]))
    full[on] = np.hstack([by_q[n:], by_v[n:], by_u[n:]])
    changes = (by_q[:n], by_v[:n], by_u[:n])
    names, out_C, out_D = _outputs(eqs, bound, t, q, v, a, multipliers, G, P, *changes, full, f, moved)
    labels = tuple(eqs.rates[i] for i in chosen)
    space = StateSpace(
        A, B, out_C, out_D, labels + tuple(f"d({x})/dt" for x in labels), moved.names, names, labels,
        State(q, v, t, multipliers), moved.input_values, residual,
    )  # fmt: skip
    return space.select(name_tuple(input_names), name_tuple(output_names))


class _Moved:
    """How inputs move constraints (m active rows) and push (nv forces), to first order.

    c: the inputs that prescribe positions, and the positions that prescribed rates and accelerations lead to. They follow from q:
    by_q, and their rates from v and q: by_q, rate_by_q. Inputs that prescribe rates follow from q and v: speeds_by_q, speeds_by_v.
    S2_speed, speed_forces: derivatives by those. S1, S2, S2_rate: derivatives of the prescribed rates and accelerations of the
    rows by c, c, dc/dt. held: combinations of rows that c does not move. forces, rate_forces: of the residual by c and dc/dt.
    names, input_values, input_forces, input_accelerations: the inputs of the linear system, and derivatives of the residual and
    of the prescribed accelerations by them. signals, input_signals: derivatives of all signals by c and by the inputs.
    """

    def __init__(
        self, eqs: Equations, bound: Binding, t: float, q: np.ndarray, v: np.ndarray, J: np.ndarray, H: np.ndarray
    ) -> None:
        model = eqs.model
        by_input, rate, acceleration, acceleration_rate, direct = eqs.motion_derivatives(t)
        row_signals = np.array(model.system.row_signals(), dtype=int)[bound.active_rows]
        positions = [i for i, name in enumerate(eqs.inputs) if name in model.position_inputs]
        speeds = [i for i, name in enumerate(eqs.inputs) if name in model.rate_inputs]
        # what depends on time alone is held to it
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
    """Derivative of the residual by the rate of an input, which damped lines feel: they are linear in it."""
    if not bound.system.routes:
        return np.zeros(bound.nv)
    x, rate, acceleration = bound.input_motion(index, t)
    still = np.zeros(bound.nv)
    raised, lowered = (
        bound.with_series({index: TimeSeries(np.array([t]), np.array([[x, rate + h, 0.5 * acceleration]]))})
        for h in (1.0, -1.0)
    )
    return 0.5 * (raised.inverse(t, q, v, still) - lowered.inverse(t, q, v, still))


def _indices(eqs: Equations, names: tuple[str, ...]) -> list[int]:
    check_names("coordinate", names, eqs.rates)
    return [eqs.rates.index(name) for name in names]


def _bracket(eqs: Equations, v: np.ndarray) -> np.ndarray:
    """Gamma with d(increment)/dt = change of v - Gamma increment."""
    gamma = np.zeros((len(v), len(v)))
    for _, at in eqs.model.system.quaternions():
        w = v[at : at + 3]
        gamma[at : at + 3, at : at + 3] = [[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]
    return gamma


def _outputs(
    eqs: Equations, bound: Binding, t: float, q: np.ndarray, v: np.ndarray, a: np.ndarray, multipliers: np.ndarray,
    G: np.ndarray, P: np.ndarray, a_q: np.ndarray, a_v: np.ndarray, a_u: np.ndarray, multiplier_rows: np.ndarray, f: int,
    moved: _Moved,
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:  # fmt: skip
    """Names, C and D of the outputs."""
    model = eqs.model
    wanted = symbolic_outputs(model)
    if not wanted:
        names = eqs.rates
        return names, np.hstack([G, np.zeros_like(G)]), np.zeros((len(names), a_u.shape[1]))
    signals, rates = bound.signals(t)[1], bound.signal_rates(t)[0]
    d_q, d_v, d_a, d_l, d_s = (
        np.asarray(part)
        for part in output_jacobians(model).call([q, v, a, multipliers, bound.constants, signals, rates])
    )
    d_q = d_q @ ConfigurationGroup(model.system).rate_matrix(q)
    by_y = (d_q + d_v @ P + d_s @ moved.signals @ moved.by_q) @ G + d_a @ a_q + d_l @ multiplier_rows[:, :f]
    by_r = d_v @ G + d_a @ a_v + d_l @ multiplier_rows[:, f : 2 * f]
    by_u = d_a @ a_u + d_l @ multiplier_rows[:, 2 * f :] + d_s @ moved.input_signals
    labels: list[str] = []
    for i, name in enumerate(wanted):
        size = output_function(model).size1_out(i)
        labels += (
            [name]
            if size == 1
            else [f"{name}.{k}" for k in ("wxyz" if size == 4 else "xyz" if size == 3 else range(size))]
        )
    C = np.hstack([by_y, by_r])
    for name, row in zip(labels, np.hstack([C, by_u]), strict=True):
        if not np.all(np.isfinite(row)):
            raise ArgumentError(
                f"output '{name}' has no derivative in this state (the norm of a vector that is zero?); "
                "ask for its components instead, or linearize about another state"
            )
    return tuple(labels), C, by_u
