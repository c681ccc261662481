"""Kernels of inertia that is not rigid: Hamel's equations in the axes of its frames.

With momenta `p = M W`, kinetic energy `T = 1/2 W'p`, body-side increments of the frames and increments of the coordinates,
the generalized forces that the motion requires are

    frame        dp/dt - ad(V)' p - dT/d(increment),        ad(V)' p = -(V x* p)
    coordinates  dp/dt - Gamma(v)' p - dT/d(increment)

Seen from the first frame, only the relative pose of a second one and the coordinates change M, so kernels are independent of the
world. With x these, D the derivatives with respect to their increments, `B W` the increments' rates and `P = D p`,

    forces = M dW/dt + P (B W) - B' (P'W) / 2 + k(W) p,

where k(W) p are the terms with ad and Gamma. P contains all required derivatives of M: one more D gives the tangents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import casadi as ca

from pliant.engine.kernel import VALUE_TANGENT, Kernels, coordinate_carrier, dense_function
from pliant.parts.formula.base import Inertia
from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion.base import Motion, Vector


@cache
def inertia_kernels(kind: Inertia) -> Kernels:
    """Kernels of an inertia (n = 6 frames + k rates; all in the frames' own axes).

    value    (pose of the second frame in the first, q, W, constants) -> M n x n, h n: forces = M dW/dt + h
    tangent  (pose, q, W, dW/dt, constants) -> X n x 6 (no columns with one frame), Y n x n, Z n x k:
             d(forces) = X delta + Y dW + Z dq + M d(dW/dt), with delta the increment of the relative pose in the first
             frame's axes, at its origin
    """
    return Kernels(f"inertia_{kind.name}", VALUE_TANGENT, partial(_inertia_functions, kind), lanes=2)


def _inertia_functions(kind: Inertia) -> tuple[ca.Function, ...]:
    x, q = ca.SX.sym("x", 12 if kind.frames == 2 else 0), ca.SX.sym("q", kind.q_size)
    W, W_dot, theta = ca.SX.sym("W", kind.size), ca.SX.sym("A", kind.size), ca.SX.sym("c", kind.constants)
    own = kind.through(theta) if kind.through is not None else ca.SX.eye(kind.v_size)
    into = ca.diagcat(ca.SX.eye(6 * kind.frames), own)
    z = own @ q if kind.through is not None else q
    y = kind.functions.values(z, theta) if kind.functions is not None else ca.SX(0, 1)
    value, tangent = _inner_kernels(kind, own.shape[0])
    M, h = value.call([x, z, y, into @ W, theta])
    X, Y, Z = tangent.call([x, z, y, into @ W, into @ W_dot, theta])
    name = f"inertia_{kind.name}"
    outputs = [into.T @ X, into.T @ Y @ into, into.T @ Z @ own]
    return (
        dense_function(f"{name}_value", [x, q, W, theta], [ca.triu2symm(ca.triu(into.T @ M @ into)), into.T @ h]),
        dense_function(f"{name}_tangent", [x, q, W, W_dot, theta], outputs),
    )


@cache
def shared_inertia_kernels(kind: Inertia) -> Kernels:
    """Kernels of an inertia between two frames, without coordinates (W: 12 numbers; all in the frames' own axes).

    value    (pose of the second frame in the first, W, dW/dt, constants) -> forces 12
    tangent  same inputs -> X 12 x 6, Y 12 x 12, M 12 x 12: d(forces) = X delta + Y dW + M d(dW/dt), delta as in `inertia_kernels`
    mass     (pose, W, dW/dt, constants) -> M 12 x 12
    """
    return Kernels(
        f"shared_inertia_{kind.name}", ("value", "tangent", "mass"), partial(_shared_inertia_functions, kind), lanes=3
    )


def _shared_inertia_functions(kind: Inertia) -> tuple[ca.Function, ...]:
    x, none = ca.SX.sym("x", 12), ca.SX.sym("q", 0)
    W, W_dot, theta = ca.SX.sym("W", 12), ca.SX.sym("A", 12), ca.SX.sym("c", kind.constants)
    value, tangent = _inner_kernels(kind, 0)
    M, _ = value.call([x, none, none, W, theta])
    X, Y, _ = tangent.call([x, none, none, W, W_dot, theta])
    name, inputs = f"shared_inertia_{kind.name}", [x, W, W_dot, theta]
    return (
        dense_function(f"{name}_value", inputs, _forces(kind).call(inputs)),
        dense_function(f"{name}_tangent", inputs, [X, Y, M]),
        dense_function(f"{name}_mass", inputs, [M]),
    )


def _forces(kind: Inertia) -> ca.Function:
    """The forces of an inertia between two frames, by directional derivatives, without forming matrices."""
    W, W_dot, theta = ca.SX.sym("W", 12), ca.SX.sym("A", 12), ca.SX.sym("c", kind.constants)
    at = _setting(kind, 0, theta)
    momentum = _momentum(kind, 12, at, theta)
    if kind.velocity_forces is not None:
        forces = momentum(W_dot) + kind.velocity_forces(at.pose, at.q, W, theta, *at.functions)
        return ca.Function("forces", [at.x, W, W_dot, theta], [forces], {"cse": True})
    p = momentum(W)
    along = ca.jtimes(p, at.x, at.increments @ at.rate(W))
    slope = at.increments.T @ ca.gradient(ca.dot(W, p) / 2, at.x)
    forces = momentum(W_dot) + along - at.pull(slope) + at.turn(W, p)
    return ca.Function("forces", [at.x, W, W_dot, theta], [forces], {"cse": True})


@dataclass(frozen=True)
class _KernelSymbols:
    """Symbols and maps of a type of inertia: y are functions of the coordinates, with respect to which `through_y` differentiates;
    `rate(W)` are the increments' rates, `pull(g)` is B' g, `turn(W, p)` is k(W) p."""

    x: Any
    pose: Pose | None
    q: Any
    y: Any
    through_y: Callable[[Any], Any] | None
    carrier: Motion
    increments: Any
    rate: Callable[[Any], Any]
    pull: Callable[[Any], Any]
    turn: Callable[[Any, Any], Any]

    @property
    def functions(self) -> tuple[Any, ...]:
        """The last argument of formulas that have one."""
        return (self.y,) if self.y.numel() else ()

    def by_increments(self, expression: Any) -> Any:
        """D of a column: relative pose first, then coordinates."""
        found = ca.jacobian(expression, ca.vertcat(self.x, self.q)) @ self.increments
        return found if self.through_y is None else found + self.through_y(expression)


def _setting(kind: Inertia, own: int, theta: Any) -> _KernelSymbols:
    # coordinates that enter through a constant matrix are plain ones
    carrier = coordinate_carrier(kind.parts if kind.through is None else (Vector(own),))
    f, k = 6 * kind.frames, carrier.v_size
    x, q = ca.SX.sym("x", 12 if kind.frames == 2 else 0), ca.SX.sym("q", carrier.q_size)
    y = ca.SX.sym("y", 0 if kind.functions is None else kind.functions.size)
    N = carrier.rate_matrix(q)
    through_y = None
    if kind.functions is not None:
        relative, functions = ca.SX(1, 6 * (kind.frames - 1)), kind.functions

        def through_y(expression: Any) -> Any:
            by_q = functions.derivative(expression, q, theta, y) @ N
            return ca.horzcat(ca.repmat(relative, by_q.shape[0], 1), by_q)

    def turn(W: Any, p: Any) -> Any:
        frames = [se3.cross_wrench(W[i : i + 6], p[i : i + 6, :]) for i in range(0, f, 6)]
        return ca.vertcat(*frames, -carrier.bracket(W[f:]).T @ p[f:, :])

    if kind.frames == 1:
        return _KernelSymbols(
            x, None, q, y, through_y, carrier, N, lambda W: W[f:], lambda g: ca.vertcat(ca.SX(f, g.shape[1]), g), turn
        )
    R, p = pose = ca.reshape(x[0:9], 3, 3), x[9:12]
    Ad = ca.blockcat([[R, so3.hat(p) @ R], [ca.SX(3, 3), R]])
    B = ca.diagcat(ca.horzcat(-ca.SX.eye(6), Ad), ca.SX.eye(k))
    increments = ca.diagcat(se3.pose_rates(pose), N)
    return _KernelSymbols(x, pose, q, y, through_y, carrier, increments, lambda W: B @ W, lambda g: B.T @ g, turn)


def _inner_kernels(kind: Inertia, own: int) -> tuple[ca.Function, ca.Function]:
    """The kernels in terms of the coordinates in which M is stated, and of functions of these."""
    theta = ca.SX.sym("c", kind.constants)
    at = _setting(kind, own, theta)
    n = 6 * kind.frames + at.carrier.v_size
    W, W_dot = ca.SX.sym("W", n), ca.SX.sym("A", n)
    momentum = _momentum(kind, n, at, theta)
    if kind.velocity_forces is None:
        M, h, Y, by_x = _hamel(at, momentum, W, W_dot)
    else:
        M, h = ca.jacobian(momentum(W), W), kind.velocity_forces(at.pose, at.q, W, theta, *at.functions)
        Y, by_x = ca.jacobian(h, W), at.by_increments(momentum(W_dot) + h)
    split = 6 * (kind.frames - 1)
    inputs = [at.x, at.q, at.y, W, theta]
    moving = [at.x, at.q, at.y, W, W_dot, theta]
    return (
        ca.Function("value", inputs, [M, h], {"cse": True}),
        ca.Function("tangent", moving, [by_x[:, :split], Y, by_x[:, split:]], {"cse": True}),
    )


def _hamel(at: _KernelSymbols, momentum: Callable[[Any], Any], W: Any, W_dot: Any) -> list[Any]:
    """M, the velocity-dependent forces, and the derivatives of all forces with respect to W and to increments, from the momentum
    alone."""
    p = momentum(W)
    M, P = ca.jacobian(p, W), at.by_increments(p)
    rate, slope = ca.SX.sym("r", P.shape[1]), ca.SX.sym("g", P.shape[1])
    carried = ca.SX.sym("p", p.numel())
    actual = [rate, slope, carried], [ca.densify(ca.SX(x)) for x in (at.rate(W), P.T @ W / 2, p)]
    h = P @ rate - at.pull(slope) + at.turn(W, p)
    Y = ca.jacobian(P @ rate, W) + P @ ca.jacobian(at.rate(W), W) - at.pull(P.T)
    Y += at.turn(W, M) + ca.jacobian(at.turn(W, carried), W)
    by_x = at.by_increments(momentum(W_dot)) + at.turn(W, P) + P @ at.by_increments(at.rate(W))
    by_x -= at.by_increments(at.pull(slope))
    again = [at.by_increments(P[:, a]) for a in range(P.shape[1])]
    if again:
        by_x += sum(rate[a] * again[a] for a in range(len(again)))
        by_x -= at.pull(ca.vertcat(*[W.T @ x / 2 for x in again]))
    return [M, *ca.substitute([ca.SX(h), ca.SX(Y), ca.SX(by_x)], *actual)]


def _momentum(kind: Inertia, size: int, at: _KernelSymbols, theta: Any) -> Callable[[Any], Any]:
    """`W -> M W`, without forming M if it is given by factors."""
    mass = kind.mass(at.pose, at.q, theta, *at.functions)
    J, G = mass if isinstance(mass, tuple) else (ca.SX.eye(size), mass)
    if J.shape[1] != size or G.shape != (J.shape[0], J.shape[0]):
        raise ValueError(f"the mass matrix of '{kind.name}' must be square of size {size}")
    return lambda W: J.T @ (G @ (J @ W))
