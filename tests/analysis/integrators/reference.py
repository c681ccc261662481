"""Steps of all methods in plain NumPy, on top of single evaluations: the reference of the runtime's time loop.

Written from the formulas and not for speed: dense matrices, Newton's method without any safeguard, polynomials by SciPy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.interpolate import BPoly

from pliant.analysis.integrators import Method
from pliant.analysis.numerics.configuration_group import ConfigurationGroup
from pliant.engine.binding import Binding

DORMAND_PRINCE = np.zeros((7, 7))
DORMAND_PRINCE[1, :1] = [1 / 5]
DORMAND_PRINCE[2, :2] = [3 / 40, 9 / 40]
DORMAND_PRINCE[3, :3] = [44 / 45, -56 / 15, 32 / 9]
DORMAND_PRINCE[4, :4] = [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729]
DORMAND_PRINCE[5, :5] = [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656]
DORMAND_PRINCE[6, :6] = [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84]
ORDER_4 = np.array([5179 / 57600, 0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40])

RODASP = np.zeros((6, 6))
RODASP[1, :1] = [3]
RODASP[2, :2] = [1.831036793486759, 0.4955183967433795]
RODASP[3, :3] = [2.304376582692669, -0.05249275245743001, -1.176798761832782]
RODASP[4, :4] = [-7.170454962423024, -4.741636671481785, -16.31002631330971, -1.062004044111401]
RODASP[5, :5] = [*RODASP[4, :4], 1]
RODASP_G = np.zeros((6, 6))
RODASP_G[1, :1] = [-12]
RODASP_G[2, :2] = [-8.791795173947035, -2.207865586973518]
RODASP_G[3, :3] = [10.81793056857153, 6.780270611428266, 19.5348594464241]
RODASP_G[4, :4] = [34.19095006749676, 15.49671153725963, 54.7476087596413, 14.16005392148534]
RODASP_G[5, :5] = [34.62605830930532, 15.30084976114473, 56.99955578662667, 18.40807009793095, -5.714285714285717]
RODASP_NODES = (0, 0.75, 0.21, 0.63, 1, 1)
RODASP_TIMES = (0.25, -0.5, -0.023504, -0.0362, 0, 0)

EXPONENTS = {"explicit": 5, "implicit": 4, "generalized_alpha": 3, "newmark": 3}
"""Power of the step with which the error estimate of a method shrinks."""


@dataclass(frozen=True)
class State:
    """A state of a run: energies dissipated and supplied are `work` [J], their rates `power` [W]; generalized-alpha's
    averaged acceleration is `a + h lead`."""

    t: float
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    multipliers: np.ndarray
    work: np.ndarray
    power: np.ndarray
    lead: np.ndarray


class Reference:
    """A run by a method: `step` moves `state`, `between` interpolates the last step."""

    def __init__(self, binding: Binding, method: Method, q: np.ndarray, v: np.ndarray) -> None:
        self.binding, self.method, self.group = binding, method, ConfigurationGroup(binding.system)
        self.nv = binding.nv
        signals = np.array(binding.system.row_signals(), dtype=int)
        self.driven = np.flatnonzero(signals >= 0)
        self.driven_signals = signals[self.driven]
        a, multipliers = binding.forward(0.0, q, v)
        power = self.power(0.0, q, v, multipliers)
        self.state = State(0.0, q, v, a, multipliers, np.zeros(2), power, np.zeros(self.nv))
        self.before: State | None = None
        self.start, self.extent, self.size = binding.node_poses(q), np.zeros(4), binding.sizes(q)[0]
        """Poses of all nodes at the start; largest displacement, turn, speed and spin of any since; the robot's size [m]."""
        self.own = np.zeros(4)
        """The same of the motion beside the rigid one closest to it."""

    def step(self, h: float) -> float:
        """One step of size h [s]; returns the estimated error over the tolerance."""
        s, kind = self.state, self.method.name
        if kind == "explicit":
            end, error = self._explicit(s, h)
        elif kind == "implicit":
            end, error = self._implicit(s, h)
        elif kind == "semi_implicit":
            end, error = self._semi_implicit(s, h), 0.0
        elif kind == "symplectic_euler":
            end, error = self._symplectic_euler(s, h), 0.0
        else:
            end, error = self._newmark_family(s, h)
        self.before, self.state = s, end
        return error

    # -- methods -------------------------------------------------------------------------------------------------------

    def _explicit(self, s: State, h: float) -> tuple[State, float]:
        """Dormand and Prince's method of orders 5 and 4 on (q, v, work)."""
        k_q, k_v, k_work = [], [], []
        for row in DORMAND_PRINCE:
            t, past = s.t + h * row.sum(), row[: len(k_q)]
            q, v = (x + h * sum((c * k for c, k in zip(past, ks, strict=True)), 0 * x) for x, ks in
                    ((s.q, k_q), (s.v, k_v)))  # fmt: skip
            at = self.binding.increment(q, np.zeros(self.nv))  # forces are those of unit quaternions
            a, multipliers = self.binding.forward(t, at, v)
            k_q.append(self.group.rates(q, v))
            k_v.append(a)
            k_work.append(self.power(t, at, v, multipliers))
        weights = h * (DORMAND_PRINCE[6] - ORDER_4)
        e_q = self.group.motion(q, weights @ np.array(k_q), 0 * q)[0]
        error = 4 * self._motion_error(h, e_q, weights @ np.array(k_v), q, v)
        q, v = self.binding.project(t, self.binding.increment(q, np.zeros(self.nv)), v)
        a, multipliers = self.binding.forward(t, q, v)
        work = s.work + h * DORMAND_PRINCE[6] @ np.array(k_work)
        power = self.power(t, q, v, multipliers)
        return State(s.t + h, q, v, a, multipliers, work, power, np.zeros(self.nv)), error

    def _implicit(self, s: State, h: float) -> tuple[State, float]:
        """RODASP on dx/dt = B(x) v, dv/dt = z, 0 = r(t, q, v, z, y), 0 = J z + gamma, as one large linear system."""
        b, n, m = self.binding, self.nv, self.binding.m
        at = b.linearized(s.t, s.q, s.v, s.a, s.multipliers)
        c_q, c_v = b.acceleration_tangent(s.t, s.q, s.v, s.a)
        J, identity = at.jacobian.toarray(), np.eye(n)
        # Jacobian of (B(x) v, z, -r, -c) by (x, v, z, y), and its derivative by time
        F = np.zeros((3 * n + m, 3 * n + m))
        F[:n, :n], F[:n, n : 2 * n] = -0.5 * self._hat(s.v), identity
        F[n : 2 * n, 2 * n : 3 * n] = identity
        F[2 * n : 3 * n] = -np.hstack([at.stiffness.toarray(), at.damping.toarray(), at.mass.toarray(), -J.T])
        F[3 * n :] = -np.hstack([c_q, c_v, J, np.zeros((m, m))])
        rates, accelerations = b.signal_rates(s.t)
        F_t = np.zeros(3 * n + m)
        F_t[2 * n : 3 * n] = -b.input_tangent(s.t, s.q, s.v) @ rates
        later = b.signal_rates(s.t + 1e-5 * h)[1]
        # signals are subtracted from the values of their rows
        F_t[3 * n + self.driven] = (later - accelerations)[self.driven_signals] / (1e-5 * h)
        mass = np.zeros(3 * n + m)
        mass[: 2 * n] = 1
        matrix = np.diag(mass) / (0.25 * h) - F
        start, stages = np.concatenate([np.zeros(n), s.v, s.a, s.multipliers]), np.zeros((6, 3 * n + m))
        for i in range(6):
            y = start + RODASP[i] @ stages
            right = self._slope(s.t + RODASP_NODES[i] * h, s.q, y) + h * RODASP_TIMES[i] * F_t
            stages[i] = np.linalg.solve(matrix, right + mass * (RODASP_G[i] @ stages) / h)
        end = y + stages[5]
        q, v = b.increment(s.q, end[:n]), end[n : 2 * n]
        # rates of what is stiff count for the way they lead: twice through the matrix for x and y, z and v eliminated
        r, M = 4 / h, at.mass.toarray()
        S = r * identity + 0.5 * self._hat(s.v)
        seen = np.block([[(r * M + at.damping.toarray()) @ S + at.stiffness.toarray(), -J.T],
                         [(r * J + c_v) @ S + c_q, np.zeros((m, m))]])  # fmt: skip
        rates = stages[5, n : 2 * n]
        for _ in range(2):
            rates = np.linalg.solve(seen, np.concatenate([r * r * M @ rates, np.zeros(m)]))[:n]
        error = self._motion_error(h, stages[5, :n], 0.1 * rates, q, v)
        self.closing = np.linalg.inv(seen)[:n, n:] * r * r
        q, v = self._restore(s.t + h, q, v)
        return self._with_work(s, h, q, v, end[2 * n : 3 * n], end[3 * n :]), error

    def _restore(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The state on the constraints, to which it moves by the matrix of the step."""
        b = self.binding
        for _ in range(30):
            q = b.increment(q, -self.closing @ b.constraints(t, q, v)[0])
        for _ in range(30):
            v = v - self.closing @ b.constraints(t, q, v)[1]
        return q, v

    def _slope(self, t: float, q0: np.ndarray, y: np.ndarray) -> np.ndarray:
        n = self.nv
        x, v, z, multipliers = y[:n], y[n : 2 * n], y[2 * n : 3 * n], y[3 * n :]
        q = self.binding.increment(q0, x)
        _, _, gamma, J = self.binding.constraints(t, q, v)
        r = self.binding.inverse(t, q, v, z) - J.T @ multipliers
        return np.concatenate([self._tangent(x) @ v, z, -r, -(J @ z + gamma)])

    def _newmark_family(self, s: State, h: float) -> tuple[State, float]:
        """The equations at the step's end, positions and rates from an averaged acceleration with
        (1 - alpha_m) average' + alpha_m average = (1 - alpha_f) a' + alpha_f a; then rates on the constraints."""
        b, n, m, t = self.binding, self.nv, self.binding.m, s.t + h
        alpha_m, alpha_f, beta, gamma = (
            self.method.coefficients.get(x, 0.0) for x in ("alpha_m", "alpha_f", "beta", "gamma")
        )
        average = s.a + h * s.lead
        factor = (1 - alpha_f) / (1 - alpha_m)

        def averaged(a: np.ndarray) -> np.ndarray:
            return ((1 - alpha_f) * a + alpha_f * s.a - alpha_m * average) / (1 - alpha_m)

        a, multipliers, change = s.a, s.multipliers, np.inf
        for _ in range(30):
            x = h * s.v + h * h * ((0.5 - beta) * average + beta * averaged(a))
            v, q = s.v + h * ((1 - gamma) * average + gamma * averaged(a)), b.increment(s.q, x)
            if change < 1e-11 * (1 + np.abs(a).max()) + 1e-14 / (h * h):  # round-off of positions
                break
            at = b.linearized(t, q, v, a, multipliers)
            M, C, K, J = (y.toarray() for y in (at.mass, at.damping, at.stiffness, at.jacobian))
            B = self._tangent(x)  # x changes by B times the increments of q
            newton = (M + h * gamma * factor * C) @ B + h * h * beta * factor * K
            # accelerations change by B y / (h h beta factor)
            matrix = np.block([[newton, -J.T], [J, np.zeros((m, m))]])
            found = np.linalg.solve(matrix, -np.concatenate([h * h * beta * factor * at.residual, at.phi]))
            found /= h * h * beta * factor
            a, multipliers, change = a + B @ found[:n], multipliers + found[n:], np.abs(found[:n]).max()
        else:
            raise AssertionError("Newton's method does not converge in the reference")
        # what stiffness holds back does not count
        raw = self._differences(s, h, a, alpha_m, alpha_f, beta, gamma)
        errors = [np.linalg.solve(matrix, np.concatenate([M @ e, np.zeros(m)]))[:n] for e in raw]
        if m:
            # but what constraints hold back shows how well a prescribed motion is resolved
            projector = np.linalg.inv(np.block([[M, -J.T], [J, np.zeros((m, m))]]))
            v = v - (projector @ np.concatenate([np.zeros(n), b.constraints(t, q, v)[1]]))[:n]
            a, multipliers = b.forward(t, q, v)
            raw = self._differences(s, h, a, alpha_m, alpha_f, beta, gamma)
            errors = [
                e + (projector @ np.concatenate([np.zeros(n), J @ r]))[:n] for e, r in zip(errors, raw, strict=True)
            ]
        error = 4 * self._motion_error(h, errors[0], 0.1 * errors[1], q, v)
        return replace(self._with_work(s, h, q, v, a, multipliers, x), lead=(averaged(a) - a) / h), error

    def _differences(
        self, s: State, h: float, a: np.ndarray, alpha_m: float, alpha_f: float, beta: float, gamma: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Local errors of positions and rates: h^3 a' in positions, h^2 a' (first-order members) and h^3 a'' in rates."""
        shift, jump = alpha_m - alpha_f, a - s.a
        e_q = max(abs(beta + 0.5 * shift - 1 / 6), 1 / 24) * h * h * jump
        e_v = (gamma + shift - 0.5) * h * jump
        turns = self.group.rotation_v  # the axis of a rotation turns within the step
        e_q[turns] -= h**3 / 12 * np.cross(s.v[turns], s.a[turns])
        if self.before is not None:
            past = h / (s.t - self.before.t)
            second = 2 * past / (1 + past) * (jump - past * (s.a - self.before.a))
            e_v += (shift * (alpha_m - 0.5) + gamma * (0.5 + shift) - 1 / 6) * h * second
        return e_q, e_v

    def _semi_implicit(self, s: State, h: float) -> State:
        """(M + h C + h^2 K) dv - J' p = -h (r + h K v),   J (v + dv) = -phi(q, t + h) / h - h (dJ/dt v - s''/2)."""
        b, n, m, t = self.binding, self.nv, self.binding.m, s.t + h
        at = b.linearized(t, s.q, s.v, np.zeros(n), np.zeros(m))
        M, C, K, J = (x.toarray() for x in (at.mass, at.damping, at.stiffness, at.jacobian))
        turning = b.constraints(t, s.q, s.v)[2]
        turning[self.driven] += 0.5 * b.signal_rates(t)[1][self.driven_signals]
        matrix = np.block([[M + h * C + h * h * K, -J.T], [J, np.zeros((m, m))]])
        rows = -J @ s.v - at.phi / h - h * turning
        found = np.linalg.solve(matrix, np.concatenate([-h * (at.residual + h * (K @ s.v)), rows]))
        v = s.v + found[:n]
        q, v = b.project(t, b.increment(s.q, h * v), v)
        return self._with_work(s, h, q, v, found[:n] / h, found[n:] / h)

    def _symplectic_euler(self, s: State, h: float) -> State:
        """v1 = v + h a, q1 = q (+) h v1."""
        b, t, v = self.binding, s.t + h, s.v + h * s.a
        q, v = b.project(t, b.increment(s.q, h * v), v)
        return self._with_work(s, h, q, v, *b.forward(t, q, v))

    # -- energies and states between steps -----------------------------------------------------------------------------

    def power(self, t: float, q: np.ndarray, v: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        """Dissipated and supplied power [W]: of forces, and of prescribed motions through their multipliers."""
        out = self.binding.energies(t, q, v)[2:4].copy()
        out[1] += multipliers[self.driven] @ self.binding.signal_rates(t)[0][self.driven_signals]
        return out

    def _with_work(self, s: State, h: float, q: Any, v: Any, a: Any, multipliers: Any, moved: Any = None) -> State:
        """The end of a step with energies by Simpson's rule; of first order by the trapezoidal rule, of second
        order by the midpoint rule with the mean rate of the step."""
        power = self.power(s.t + h, q, v, multipliers)
        end = State(s.t + h, q, v, a, multipliers, s.work, power, np.zeros(self.nv))
        if self.method.order == 1:
            return replace(end, work=s.work + 0.5 * h * (s.power + power))
        q, v, _ = self._polynomial(s, end, 0.5)
        middle = 0.5 * (s.multipliers + multipliers)
        if self.method.name == "implicit" and len(self.driven):
            middle = self.binding.forward(s.t + 0.5 * h, q, v)[1]
        if moved is not None:
            return replace(end, work=s.work + h * self.power(s.t + 0.5 * h, q, moved / h, middle))
        return replace(end, work=s.work + h / 6 * (s.power + 4 * self.power(s.t + 0.5 * h, q, v, middle) + power))

    def between(self, t: float) -> State:
        """The state at a time [s] within the last step."""
        old, new = self.before, self.state
        assert old is not None
        x = (t - old.t) / (new.t - old.t)
        q, v, a = self._polynomial(old, new, x)
        multipliers = (1 - x) * old.multipliers + x * new.multipliers
        if self.method.name != "implicit":
            a = (1 - x) * old.a + x * new.a
        if self.binding.m:
            q, v = (self._restore if self.method.name == "implicit" else self.binding.project)(t, q, v)
        if self.method.name == "explicit":
            a, multipliers = self.binding.forward(t, q, v)
        work = BPoly.from_derivatives([old.t, new.t], [[old.work, old.power], [new.work, new.power]])(t)
        return State(t, q, v, a, multipliers, work, new.power, new.lead)

    def _polynomial(self, old: State, new: State, x: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The quintic through positions and their first and second derivatives, quaternions component by component."""
        group, ends = self.group, []
        for s in (old, new):
            second = group.rates(s.q, s.a)
            speed = np.sum(s.v[group.rotation_v] ** 2, axis=1, keepdims=True)
            second[group.rotation_q] -= 0.25 * speed * s.q[group.rotation_q]
            ends.append([s.q, group.rates(s.q, s.v), second])
        quintic = BPoly.from_derivatives([old.t, new.t], ends)
        t = old.t + x * (new.t - old.t)
        q = quintic(t)
        v, a = group.motion(q, quintic(t, 1), quintic(t, 2))
        return self.binding.increment(q, np.zeros(self.nv)), v, a

    # -- rotations and norms -------------------------------------------------------------------------------------------

    def _hat(self, x: np.ndarray) -> np.ndarray:
        """Skew matrices of rotations on the diagonal."""
        out = np.zeros((self.nv, self.nv))
        for rows in self.group.rotation_v:
            out[np.ix_(rows, rows)] = np.cross(x[rows], np.eye(3)).T
        return out

    def _tangent(self, x: np.ndarray) -> np.ndarray:
        """B(x): how the increment x from a fixed start changes with the rates."""
        out = np.eye(self.nv)
        for rows in self.group.rotation_v:
            angle, hat = np.linalg.norm(x[rows]), np.cross(x[rows], np.eye(3)).T
            third = (1 - 0.5 * angle / np.tan(0.5 * angle)) / angle**2 if angle > 1e-3 else 1 / 12 + angle**2 / 720
            out[np.ix_(rows, rows)] += 0.5 * hat + third * hat @ hat
        return out

    def _frames(self, q: np.ndarray, x: np.ndarray) -> tuple[float, float]:
        """Largest displacement and turn of any node for small increments x, or their rates."""
        twists, places = self.binding.node_twists(q, x)[1:], self.binding.node_poses(q)[1][1:]
        moves = twists[:, :3] + np.cross(twists[:, 3:], places)
        return np.linalg.norm(moves, axis=1).max(), np.linalg.norm(twists[:, 3:], axis=1).max()

    def _motion_error(self, h: float, e_q: np.ndarray, e_v: np.ndarray, q: np.ndarray, v: np.ndarray) -> float:
        """Errors of increments and rates as motions of frames, over the tolerances and the size of the motion so far."""
        rtol, atol = self.method.relative_tolerance, self.method.absolute_tolerance
        rotations, places = (x[1:] for x in self.binding.node_poses(q))
        start_rotations, start_places = (x[1:] for x in self.start)
        way = np.linalg.norm(places - start_places, axis=1).max()
        turn = np.linalg.norm((rotations - start_rotations).reshape(len(rotations), -1), axis=1).max() / np.sqrt(2)
        self.extent = np.maximum(self.extent, [way, turn, *self._frames(q, v)])
        way, turn, speed, spin = self.extent
        size = max(self.size, way)
        least = atol + max(1e-5 * rtol, 1e-14) * np.array([size, 1.0])
        far = least + rtol * np.array([max(way, size * turn), max(turn, way / size)])
        fast = least / h + rtol * np.array([max(speed, size * spin), max(spin, speed / size)])
        error = max(np.max(self._frames(q, e_q) / far), np.max(self._frames(q, e_v) / fast))
        return float(max(error, self._own_error(h, e_q, e_v, q, v)))

    def _own_error(self, h: float, e_q: np.ndarray, e_v: np.ndarray, q: np.ndarray, v: np.ndarray) -> float:
        """Errors beside those of the rigid motion closest to them, relative to the motion beside the rigid one closest to it."""
        rtol, atol, size = self.method.relative_tolerance, self.method.absolute_tolerance, self.size
        rotations, places = (x[1:] for x in self.binding.node_poses(q))
        start_rotations, start_places = (x[1:] for x in self.start)
        if len(places) < 2:
            return 0.0
        d, d0 = places - places.mean(axis=0), start_places - start_places.mean(axis=0)
        products = d.T @ d0 + size**2 * np.einsum("gij,gkj->ik", rotations, start_rotations)
        left, _, right = np.linalg.svd(products)
        common = left @ right
        way = np.linalg.norm(d - d0 @ common.T, axis=1).max()
        turn = np.linalg.norm(rotations - common @ start_rotations, axis=(1, 2)).max() / np.sqrt(2)
        self.own = np.maximum(self.own, [way, turn, *self._own_frames(q, v)])
        way, turn, speed, spin = self.own
        error, (all_way, all_turn, all_speed, all_spin) = 0.0, self.extent
        least, wide = atol + max(1e-5 * rtol, 1e-14) * size, max(size, all_way)
        for e, whole, own, floor in (
            (e_q, max(all_way, wide * all_turn), max(way, size * turn, 1e-3 * size), least),
            (e_v, max(all_speed, wide * all_spin), max(speed, size * spin, 1e-3 * size / h), least / h),
        ):
            if whole > 10 * own:
                tolerance = floor + rtol * max(own, (10 * own) ** 2 / whole)
                moving, turning = self._own_frames(q, e)
                error = max(error, moving / tolerance, turning * size / tolerance)
        return error

    def _own_frames(self, q: np.ndarray, x: np.ndarray) -> tuple[float, float]:
        """As `_frames`, less the rigid motion closest to that of all nodes."""
        twists, places = self.binding.node_twists(q, x)[1:], self.binding.node_poses(q)[1][1:]
        moves, n = twists[:, :3] + np.cross(twists[:, 3:], places), len(places)
        d = places - places.mean(axis=0)
        rows = np.zeros((n, 6, 6))
        rows[:, :3, :3] = np.eye(3)
        rows[:, :3, 3:] = np.cross(np.eye(3)[None], d[:, None]).transpose(0, 2, 1)
        rows[:, 3:, 3:] = self.size * np.eye(3)
        both = np.concatenate([moves, self.size * twists[:, 3:]], axis=1).ravel()
        matrix = rows.reshape(-1, 6)
        left = (both - matrix @ np.linalg.lstsq(matrix, both, rcond=None)[0]).reshape(n, 6)
        return np.linalg.norm(left[:, :3], axis=1).max(), np.linalg.norm(left[:, 3:], axis=1).max() / self.size


def assert_newmark_steps(
    binding: Binding, method: Method, time: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> None:
    """Successive states of an unconstrained system (one per row) solve the equations of generalized-alpha or Newmark."""
    alpha_m, alpha_f, beta, gamma = (method.coefficients.get(x, 0.0) for x in ("alpha_m", "alpha_f", "beta", "gamma"))
    group, lead = ConfigurationGroup(binding.system), np.zeros(binding.nv)
    for k, h in enumerate(np.diff(time)):
        average = a[k] + h * lead
        after = ((1 - alpha_f) * a[k + 1] + alpha_f * a[k] - alpha_m * average) / (1 - alpha_m)
        x = h * v[k] + h * h * ((0.5 - beta) * average + beta * after)
        np.testing.assert_allclose(group.difference(q[k], q[k + 1]), x, rtol=0, atol=1e-12)
        rates = v[k] + h * ((1 - gamma) * average + gamma * after)
        np.testing.assert_allclose(v[k + 1], rates, rtol=0, atol=1e-10)
        state = time[k + 1], q[k + 1], v[k + 1]
        force = np.abs(binding.inverse(*state, 0 * lead)).max()
        np.testing.assert_allclose(binding.inverse(*state, a[k + 1]), 0, atol=1e-7 * force)
        lead = (after - a[k + 1]) / h
