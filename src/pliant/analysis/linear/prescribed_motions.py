"""Inputs that prescribe motions in linear systems: prescribed coordinates are states, and derivatives of the inputs are inputs."""

from __future__ import annotations

import numpy as np

from pliant.analysis.numerics.independent_coordinates import null_space
from pliant.engine.binding import Binding
from pliant.engine.equations import Equations
from pliant.engine.linearized import LinearizedEquations
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
