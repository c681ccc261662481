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
from pliant.geometry import se3
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
    x, q = ca.SX.sym("x", 12 if pair else 0), ca.SX.sym("q", kind.q_size)
    pose = (ca.reshape(x[0:9], 3, 3), x[9:12]) if pair else None
    theta = ca.SX.sym("c", kind.constants)
    W, W_dot = ca.SX.sym("W", n), ca.SX.sym("A", n)
    momentum = _momentum(kind, pose, q, theta)
    h = _velocity_terms(kind, momentum, pose, x, q, W)
    forces = momentum(W_dot) + h
    N = coordinate_carrier(kind.parts).rate_matrix(q)
    X = ca.jtimes(forces, x, se3.pose_rates(pose)) if pose is not None else ca.SX(n, 0)
    Y, Z = ca.jacobian(forces, W), ca.jacobian(forces, q) @ N
    name = f"inertia_{kind.name}"
    return Kernels(
        name,
        (
            dense_function(f"{name}_value", [x, q, W, theta], [ca.jacobian(momentum(W), W), h]),
            dense_function(f"{name}_tangent", [x, q, W, W_dot, theta], [X, Y, Z]),
        ),
    )


def _momentum(kind: Inertia, pose: Pose | None, q: Any, theta: Any) -> Callable[[Any], Any]:
    """`W -> M W`, without ever forming M where it is given by factors."""
    mass = kind.mass(pose, q, theta)
    J, G = mass if isinstance(mass, tuple) else (ca.SX.eye(kind.size), mass)
    if J.shape[1] != kind.size or G.shape != (J.shape[0], J.shape[0]):
        raise ValueError(f"the mass matrix of '{kind.name}' must be square of size {kind.size}")
    return lambda W: J.T @ (G @ (J @ W))


def _velocity_terms(kind: Inertia, momentum: Callable[[Any], Any], pose: Pose | None, x: Any, q: Any, W: Any) -> Any:
    """The velocity's part of the forces; `x` are the entries of the pose."""
    carrier = coordinate_carrier(kind.parts)
    v = W[6 * kind.frames :]
    twists = [W[6 * i : 6 * i + 6] for i in range(kind.frames)]
    p = momentum(W)
    T = ca.dot(W, p) / 2
    N, gamma = carrier.rate_matrix(q), carrier.bracket(v)
    pulls = [ca.SX(6, 1)] * kind.frames
    rates = [(q, N @ v)]
    if pose is not None:
        # increments of the relative pose in the first frame's axes, at its origin
        along = se3.pose_rates(pose)
        rates.append((x, along @ (se3.transform_twist(pose, twists[1]) - twists[0])))
        slope = along.T @ ca.gradient(T, x)
        pulls = [-slope, _wrench_into(pose, slope)]
    h = ca.SX(kind.size, 1)
    for y, rate in rates:
        if y.numel():
            h += ca.jtimes(p, y, rate)
    own = p[6 * kind.frames :]
    turning = [se3.cross_wrench(V, p[6 * i : 6 * i + 6]) - pulls[i] for i, V in enumerate(twists)]
    pull = N.T @ ca.gradient(T, q) if q.numel() else ca.SX(0, 1)
    return h + ca.vertcat(*turning, -gamma.T @ own - pull)


def _wrench_into(pose: Pose, wrench: Any) -> Any:
    """A wrench in the first frame, at its origin, rewritten in the second, whose pose is given."""
    R, p = pose
    return ca.vertcat(R.T @ wrench[0:3], R.T @ (wrench[3:6] - ca.cross(p, wrench[0:3])))
