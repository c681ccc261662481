"""Kernels of inertia that is not rigid: Hamel's equations in the axes of its frames.

With momenta `p = M W`, kinetic energy `T = 1/2 W'p`, body-side increments `zeta` of the frames and increments of the
coordinates, the generalized forces that the motion asks for are

    frame        dp/dt - ad(V)' p - dT/dzeta,        ad(V)' p = -(V x* p)
    coordinates  dp/dt - Gamma(v)' p - dT/dq

which is `M dW/dt` and a rest that depends on configuration and rates. Seen from the first frame, only the relative pose
of a second one and the coordinates enter, so kernels never see the world.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import casadi as ca

from pliant.equations.kernel import Kernels, coordinate_carrier, dense_function
from pliant.geometry import se3, so3
from pliant.geometry.se3 import Pose
from pliant.interaction.inertia import Inertia


@cache
def inertia_kernels(kind: Inertia) -> Kernels:
    """Kernels of an inertia (n = 6 frames + k rates; all in the frames' own axes).

    value    (pose of the second frame in the first, q, W, constants) -> M n x n, h n: forces = M dW/dt + h
    tangent  (pose, q, W, dW/dt, constants) -> X n x 6 (no columns with one frame), Y n x n, Z n x k:
             d(forces) = X delta + Y dW + Z dq + M d(dW/dt), with delta the increment of the relative pose in the first
             frame's axes, at its origin
    """
    pair, n = kind.frames == 2, kind.size
    entries, q = ca.SX.sym("x", 12 if pair else 0), ca.SX.sym("q", kind.q_size)
    u, theta = ca.SX.sym("u", 6 if pair else 0), ca.SX.sym("c", kind.constants)
    W, W_dot = ca.SX.sym("W", n), ca.SX.sym("A", n)
    momentum = _momentum(kind, u, q, theta)
    h, U = _velocity_terms(kind, momentum, u, q, W)
    M = ca.jacobian(momentum(W), W)
    forces = momentum(W_dot) + h
    N = coordinate_carrier(kind.parts).rate_matrix(q)
    X, Y, Z = ca.jacobian(forces, u) @ U, ca.jacobian(forces, W), ca.jacobian(forces, q) @ N
    # differentiated in position and rotation vector, then fed with their expressions in the pose's entries
    value = ca.Function("value", [u, q, W, theta], [M, h], {"cse": True})
    tangent = ca.Function("tangent", [u, q, W, W_dot, theta], [X, Y, Z], {"cse": True})
    at = ca.vertcat(entries[9:12], so3.log(ca.reshape(entries[0:9], 3, 3))) if pair else u
    name = f"inertia_{kind.name}"
    inputs = [entries, q, W, theta]
    moving = [entries, q, W, W_dot, theta]
    return Kernels(
        name,
        (
            dense_function(f"{name}_value", inputs, value.call([at, q, W, theta])),
            dense_function(f"{name}_tangent", moving, tangent.call([at, q, W, W_dot, theta])),
        ),
    )


def _momentum(kind: Inertia, u: Any, q: Any, theta: Any) -> Callable[[Any], Any]:
    """`W -> M W`, without ever forming M where it is given by factors."""
    mass = kind.mass(u, q, theta)
    J, G = mass if isinstance(mass, tuple) else (ca.SX.eye(kind.size), mass)
    if J.shape[1] != kind.size or G.shape != (J.shape[0], J.shape[0]):
        raise ValueError(f"the mass matrix of '{kind.name}' must be square of size {kind.size}")
    return lambda W: J.T @ (G @ (J @ W))


def _velocity_terms(kind: Inertia, momentum: Callable[[Any], Any], u: Any, q: Any, W: Any) -> tuple[Any, Any]:
    """The velocity's part of the forces, and U with `du = U delta`."""
    carrier = coordinate_carrier(kind.parts)
    v = W[6 * kind.frames :]
    twists = [W[6 * i : 6 * i + 6] for i in range(kind.frames)]
    p = momentum(W)
    T = ca.dot(W, p) / 2
    N, gamma = carrier.rate_matrix(q), carrier.bracket(v)
    U = ca.SX(0, 6)
    pulls = [ca.SX(6, 1)] * kind.frames
    rates = [(q, N @ v)]
    if kind.frames == 2:
        second = (so3.exp(u[3:6]), u[0:3])
        U = ca.blockcat([[ca.SX.eye(3), -so3.hat(u[0:3])], [ca.SX(3, 3), so3.inverse_left_jacobian(u[3:6])]])
        rates.append((u, U @ (se3.transform_twist(second, twists[1]) - twists[0])))
        slope = U.T @ ca.gradient(T, u)
        pulls = [-slope, _wrench_into(second, slope)]
    h = ca.SX(kind.size, 1)
    for x, rate in rates:
        if x.numel():
            h += ca.jtimes(p, x, rate)
    own = p[6 * kind.frames :]
    turning = [se3.cross_wrench(V, p[6 * i : 6 * i + 6]) - pulls[i] for i, V in enumerate(twists)]
    pull = N.T @ ca.gradient(T, q) if q.numel() else ca.SX(0, 1)
    return h + ca.vertcat(*turning, -gamma.T @ own - pull), U


def _wrench_into(pose: Pose, wrench: Any) -> Any:
    """A wrench in the first frame, at its origin, rewritten in the second, whose pose is given."""
    R, p = pose
    return ca.vertcat(R.T @ wrench[0:3], R.T @ (wrench[3:6] - ca.cross(p, wrench[0:3])))
