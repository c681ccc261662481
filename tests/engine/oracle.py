"""The evaluations of a `Binding` by CasADi alone: values and derivatives of `engine/symbolic.py`, solved by NumPy.

Nothing of the runtime and none of its kernels' derivatives is used here, so that tests may hold the two against each other.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sp

from pliant.engine.binding import Binding, LinearizedEquations
from pliant.engine.model.inputs import EXPRESSION, SERIES
from pliant.engine.symbolic import symbolic_system
from pliant.parts.geometry import so3


class Oracle:
    """The methods of a binding, with the same values."""

    def __init__(self, binding: Binding) -> None:
        self.binding = binding
        self.system, self.plan = binding.system, binding.program.plan
        self.nq, self.nv, self.m = self.system.q_size, self.system.v_size, self.system.rows
        self.constants, self.active = binding.constants, binding.row_active.astype(float)
        self.expressions = symbolic_system(self.system)

    # -- functions, made when first needed ---------------------------------------------------------------------------

    def _function(self, name: str, outputs: list[Any], extra: tuple[Any, ...] = ()) -> ca.Function:
        x = self.expressions
        inputs = [x.q, x.v, x.a, x.constants, x.signals, x.signal_rates, x.signal_accelerations, *extra]
        return ca.Function(name, inputs, outputs)

    @cached_property
    def _dynamics(self) -> ca.Function:
        x = self.expressions
        # called with a = 0, where the residual is the bias and the constraints' acceleration is their convective part
        M, J = ca.jacobian(x.residual, x.a), ca.jacobian(x.phi_rate, x.v)
        return self._function("dynamics", [x.residual, M, x.phi, x.phi_rate, x.phi_acceleration, J])

    @cached_property
    def _residual(self) -> ca.Function:
        return self._function("residual", [self.expressions.residual])

    @cached_property
    def _tangents(self) -> ca.Function:
        x = self.expressions
        multipliers = type(x.q).sym("multipliers", self.m)
        J = ca.jacobian(x.phi_rate, x.v)
        r = x.residual - J.T @ multipliers if self.m else x.residual
        K = ca.jacobian(r, x.q) @ x.rate_matrix
        C, M = ca.jacobian(r, x.v), ca.jacobian(r, x.a)
        Eq = ca.jacobian(x.phi_acceleration, x.q) @ x.rate_matrix
        Ev = ca.jacobian(x.phi_acceleration, x.v)
        return self._function("tangents", [r, K, C, M, x.phi, J, Eq, Ev], (multipliers,))

    @cached_property
    def _inputs_tangent(self) -> ca.Function:
        x = self.expressions
        return self._function("input_tangent", [ca.jacobian(x.residual, x.signals)])

    @cached_property
    def _rate_tangent(self) -> ca.Function:
        x = self.expressions
        change = ca.jacobian(x.residual, x.signal_rates) @ x.signal_accelerations
        return self._function("rate_tangent", [change])

    @cached_property
    def _scalars(self) -> ca.Function:
        x = self.expressions
        return self._function("scalars", [ca.vertcat(x.kinetic, x.potential, x.dissipation, x.supply), x.phi])

    @cached_property
    def _motion(self) -> ca.Function:
        x = self.expressions
        R = ca.horzcat(*[ca.vec(pose[0]) for pose in x.poses])
        p = ca.horzcat(*[pose[1] for pose in x.poses])
        return self._function("motion", [R, p, ca.horzcat(*x.twists), ca.horzcat(*x.accelerations)])

    def _call(self, function: ca.Function, t: float, q: Any, v: Any, a: Any = None, *extra: Any) -> list[Any]:
        s = self._all_signals(t)
        zero = np.zeros(self.nv) if a is None else a
        return list(function.call([q, v, zero, self.constants, *s, *extra]))

    def _all_signals(self, t: float) -> list[np.ndarray]:
        count = self.system.signal_count
        if not count or self.plan.signals is None:
            return [np.zeros(count)] * 3
        return [np.asarray(x).ravel() for x in self.plan.signals(t, *self._inputs(t), self.binding.parameters)]

    def _inputs(self, t: float) -> np.ndarray:
        """Inputs and their first and second derivatives."""
        binding = self.binding
        u = np.array([binding.held, 0 * binding.held, 0 * binding.held])
        if self.plan.inputs is not None:
            values = np.array([np.asarray(x).ravel() for x in self.plan.inputs(t, binding.parameters)])
            given = binding.input_kind == EXPRESSION
            u[:, given] = values[:, given]
        for i in np.flatnonzero(binding.input_kind == SERIES):
            u[:, i] = _series(binding.series[binding.input_series[i]], t)
        return u

    # -- evaluations -------------------------------------------------------------------------------------------------

    def forward(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations [nv] and multipliers [m]."""
        h, M, _, _, gamma, J = self._call(self._dynamics, t, q, v)
        rhs = np.concatenate([-_flat(h), -_flat(gamma)])
        x = self._solve(_sparse(M), _sparse(J), rhs)
        return x[: self.nv], x[self.nv :]

    def _solve(self, M: sp.csc_matrix, J: sp.csc_matrix, rhs: np.ndarray) -> np.ndarray:
        """Solve [M, -J'; J, 0] x = rhs with rows that are switched off replaced by multiplier = 0."""
        n = self.nv
        matrix = np.diag(np.concatenate([np.zeros(n), 1 - self.active]))
        matrix[:n, :n], matrix[n:, :n] = M.toarray(), J.toarray() * self.active[:, None]
        matrix[:n, n:] = -matrix[n:, :n].T
        return np.linalg.solve(matrix, np.concatenate([rhs[:n], rhs[n:] * self.active]))

    def forward_derivatives(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Accelerations and their exact derivatives by increments of q and by v (unconstrained systems)."""
        a, multipliers = self.forward(t, q, v)
        x = self.linearized(t, q, v, a, multipliers)
        M = x.mass.toarray()
        return a, -np.linalg.solve(M, x.stiffness.toarray()), -np.linalg.solve(M, x.damping.toarray())

    def inverse(self, t: float, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """M a + h [nv]."""
        return _flat(self._call(self._residual, t, q, v, a)[0])

    def linearized(
        self, t: float, q: np.ndarray, v: np.ndarray, a: np.ndarray, multipliers: np.ndarray
    ) -> LinearizedEquations:
        """Residual, constraints and exact tangents."""
        r, K, C, M, phi, J, _, _ = self._call(self._tangents, t, q, v, a, multipliers)
        sizes = np.ones(len(v)), np.ones(len(_flat(phi)))
        return LinearizedEquations(_flat(r), _sparse(K), _sparse(C), _sparse(M), _flat(phi), _sparse(J).tocsr(), *sizes)

    def constraints(
        self, t: float, q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, sp.csr_matrix]:
        """Constraint values, rates, convective accelerations [m] and Jacobian (m x nv)."""
        _, _, phi, rate, gamma, J = self._call(self._dynamics, t, q, v)
        return _flat(phi), _flat(rate), _flat(gamma), _sparse(J).tocsr()

    def acceleration_tangent(
        self, t: float, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """d(J a + gamma)/dq and /dv (m x nv)."""
        *_, Eq, Ev = self._call(self._tangents, t, q, v, a, np.zeros(self.m))
        return np.asarray(ca.densify(Eq)), np.asarray(ca.densify(Ev))

    def input_tangent(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """d(M a + h)/d(signal), nv x signals."""
        return np.asarray(ca.densify(self._call(self._inputs_tangent, t, q, v)[0])).reshape(self.nv, -1)

    def rate_tangent(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """d(M a + h)/d(signal rates) times the signals' accelerations [nv]."""
        if not self.system.routes or not self.system.signal_count:
            return np.zeros(self.nv)
        return _flat(self._call(self._rate_tangent, t, q, v)[0])

    def mass_matrix(self, q: np.ndarray) -> sp.csc_matrix:
        """M(q), sparse."""
        return _sparse(self._call(self._dynamics, 0.0, q, np.zeros(self.nv))[1])

    def node_poses(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rotation matrices (nodes x 3 x 3) and positions (nodes x 3) of all nodes; node 0 is the world."""
        R, p, _, _ = self._call(self._motion, 0.0, q, np.zeros(self.nv))
        return np.asarray(R).T.reshape(-1, 3, 3).transpose(0, 2, 1).copy(), np.asarray(p).T.copy()

    def node_twists(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """World twists (linear at the world's origin, angular) of all nodes, nodes x 6."""
        return np.asarray(self._call(self._motion, 0.0, q, v)[2]).T.copy()

    def node_jacobian(self, q: np.ndarray, node: int) -> np.ndarray:
        """World twist of a node per rate, 6 x nv."""
        return np.array([self.node_twists(q, unit)[node] for unit in np.eye(self.nv)]).T

    def node_accelerations(self, t: float, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """World spatial accelerations of all nodes (at the world's origin), nodes x 6."""
        return np.asarray(self._call(self._motion, t, q, v, a)[3]).T.copy()

    def energies(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Kinetic, potential [J], dissipated power, supplied power [W], largest constraint error."""
        scalars, phi = self._call(self._scalars, t, q, v)
        error = np.abs(_flat(phi)) * self.active
        return np.concatenate([_flat(scalars), [error.max() if self.m else 0.0]])

    def signals(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and signals at time t."""
        return self._inputs(t)[0], self._all_signals(t)[0]

    def signal_rates(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """First and second time derivatives of the signals at time t."""
        _, rates, accelerations = self._all_signals(t)
        return rates, accelerations

    def force_by_source(self, t: float, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        """Generalized forces [nv] of every interaction, added up by source."""
        zero, kinds = np.zeros(self.nv), ("coordinate_forces", "frame_forces", "routes")

        def part(*, gravity: bool, **forces: Any) -> Oracle:
            """The system with these forces only."""
            other = Oracle(self.binding)
            other.system = replace(self.system, **(dict.fromkeys(kinds, ()) | forces))
            other.expressions = symbolic_system(other.system)
            other.constants = self.constants.copy()
            other.constants[:3] *= gravity
            return other

        out = {"gravity": -part(gravity=True).inverse(t, q, zero, zero)}
        inertial = part(gravity=False).inverse(t, q, v, zero)
        for kind in kinds:
            for member in getattr(self.system, kind):
                force = inertial - part(gravity=False, **{kind: (member,)}).inverse(t, q, v, zero)
                out[member.source] = out.get(member.source, np.zeros(self.nv)) + force
        return out

    def project(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nearest state (in the mass metric) on the constraints."""
        q, v = np.array(q, dtype=float), np.array(v, dtype=float)
        for _ in range(51):
            _, M, phi, rate, _, J = self._call(self._dynamics, t, q, v)
            if np.max(np.abs(_flat(phi)) * self.active, initial=0.0) < 1e-14:
                x = self._solve(_sparse(M), _sparse(J), np.concatenate([np.zeros(self.nv), -_flat(rate)]))
                return q, v + x[: self.nv]
            x = self._solve(_sparse(M), _sparse(J), np.concatenate([np.zeros(self.nv), -_flat(phi)]))
            q = self.increment(q, x[: self.nv])
        raise AssertionError("the constraints cannot be satisfied from this state")

    def increment(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """q with the increment x (nv) applied on the group."""
        quaternions = self.system.quaternions()
        plain_q = np.setdiff1d(np.arange(self.nq), [a + k for a, _ in quaternions for k in range(4)])
        plain_v = np.setdiff1d(np.arange(self.nv), [b + k for _, b in quaternions for k in range(3)])
        out = np.array(q, dtype=float)
        out[plain_q] += np.asarray(x)[plain_v]
        for a, b in quaternions:
            turned = so3.quaternion_product(ca.DM(q[a : a + 4]), so3.quaternion_exp(ca.DM(x[b : b + 3])))
            out[a : a + 4] = np.asarray(turned).ravel() / float(ca.norm_2(turned))
        return out


def _series(series: Any, t: float) -> tuple[float, float, float]:
    time_, poly = series.time, series.poly
    outside = t < time_[0] or t > time_[-1]
    clipped = min(max(t, time_[0]), time_[-1])
    i = int(np.searchsorted(time_, clipped, side="right")) - 1
    piece = np.polynomial.Polynomial(poly[i])
    value, rate, acceleration = (float(piece.deriv(k)(clipped - time_[i])) for k in range(3))
    return (value, 0.0, 0.0) if outside else (value, rate, acceleration)


def _flat(x: Any) -> np.ndarray:
    return np.asarray(ca.densify(x)).ravel()


def _sparse(x: Any) -> sp.csc_matrix:
    return sp.csc_matrix(ca.DM(x).sparse())
