"""Forces that depend on the relative pose of two frames alone, with small kernels.

Such a force is felt by both frames with opposite signs, and turning or moving both together changes nothing. So it is
enough to differentiate in six local coordinates `u = (p, alpha)`: position and rotation vector of the second frame seen
from the first. With `delta` the relative increment in the first frame's axes at its origin,

    du = U(u) delta,     deformation rate = E relative twist,  E = d(deformation)/du U,     wrench = E' force,

and everything else is a change of axes. Differentiating the same force by the entries of both poses gives the same
numbers from a kernel some twenty-five times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca

from pliant.formula.base import Effect, FrameForce
from pliant.geometry import se3, so3
from pliant.geometry.se3 import Pose
from pliant.motion.fields import Fields

Deformation = Callable[[Any, Any, Any], Any]
Law = Callable[[Any, Any, Any, Any], Effect]

ENDS = Fields("first:pose", "second:pose")
"""Constants that come first: placement of the first end in its frame and of the second in its own."""


def relative_force(name: str, *, constants: int, signals: int, deformation: Deformation, law: Law) -> FrameForce:
    """A force between two frames that works on a deformation of their relative pose.

    `deformation(p, alpha, constants)` are the strains or lengths; `law(deformation, rate, constants, signals)` gives
    the force conjugate to them. The `constants` begin with `ENDS`.
    """
    local = _local_functions(constants, signals, deformation, law)

    def state(poses: Sequence[Pose], twists: Sequence[Any], c: Any) -> tuple[Pose, Any, Any, Any]:
        ends = ENDS.read(c)
        first, second = se3.compose(poses[0], ends.first), se3.compose(poses[1], ends.second)
        R, p = se3.compose(se3.inverse(first), second)
        seen = se3.transform_twist(se3.inverse(first), twists[1])
        relative = se3.transform_twist(se3.inverse(first), twists[1] - twists[0])
        return first, ca.vertcat(p, so3.log(R)), relative, seen

    def effect(poses: Sequence[Pose], twists: Sequence[Any], c: Any, signal: Any) -> Effect:
        first, u, relative, _ = state(poses, twists, c)
        wrench, energy, dissipation, supply = local[0](u, relative, c, signal)
        world = _transform_wrench(first, wrench)
        return Effect(ca.vertcat(-world, world), energy, dissipation, supply)

    def tangent(poses: Sequence[Pose], twists: Sequence[Any], c: Any, signal: Any) -> tuple[Any, Any, Any]:
        first, u, relative, seen = state(poses, twists, c)
        wrench, K, C, S = local[1](u, relative, c, signal)
        # the relative twist changes by the increment's rate and by `delta x` the second frame's twist
        K = K - C @ _twist_matrix(seen)
        # the second end's wrench is convected with the second frame, but is given in the first one's axes
        turning = _wrench_matrix(wrench)
        out, K_a, K_b, C_w = _wrench_axes(first), K, K + turning, C
        into = _inverse_twist_axes(first)
        K_a, K_b, C_w, S = out @ K_a @ into, out @ K_b @ into, out @ C_w @ into, out @ S
        return (
            ca.vertcat(ca.horzcat(K_a, -K_a), ca.horzcat(-K_b, K_b)),
            ca.vertcat(ca.horzcat(C_w, -C_w), ca.horzcat(-C_w, C_w)),
            ca.vertcat(-S, S),
        )

    return FrameForce(name, 2, constants, signals, effect, tangent)


def relative_deformation(
    poses: Sequence[Pose], twists: Sequence[Any], c: Any, deformation: Deformation
) -> tuple[Any, Any, Any]:
    """The deformation between two frames, its rate in a state, and E, as `relative_force` sees them."""
    ends = ENDS.read(c)
    first, second = se3.compose(poses[0], ends.first), se3.compose(poses[1], ends.second)
    R, p = se3.compose(se3.inverse(first), second)
    relative = se3.transform_twist(se3.inverse(first), twists[1] - twists[0])
    u = ca.SX.sym("u", 6)
    e = ca.SX(deformation(u[0:3], u[3:6], c))
    E = ca.jacobian(e, u) @ _increments(u)
    e, E = ca.substitute([e, E], [u], [ca.densify(ca.SX(ca.vertcat(p, so3.log(R))))])
    return e, E @ relative, E


def _increments(u: Any) -> Any:
    """U of the module's text."""
    return ca.blockcat([[ca.SX.eye(3), -so3.hat(u[0:3])], [ca.SX(3, 3), so3.inverse_left_jacobian(u[3:6])]])


def _local_functions(
    constants: int, signals: int, deformation: Deformation, law: Law
) -> tuple[ca.Function, ca.Function]:
    """Wrench on the second frame in the first one's axes; its derivatives by relative increment, twist and signal."""
    u, twist = ca.SX.sym("u", 6), ca.SX.sym("twist", 6)
    c, signal = ca.SX.sym("c", constants), ca.SX.sym("s", signals)
    p, alpha = u[0:3], u[3:6]
    U = _increments(u)
    e = deformation(p, alpha, c)
    E = ca.jacobian(e, u) @ U
    answer = law(e, E @ twist, c, signal)
    wrench = E.T @ answer.force
    inputs = [u, twist, c, signal]
    powers = [answer.energy, answer.dissipation, answer.supply]
    derivatives = [ca.jacobian(wrench, u) @ U, ca.jacobian(wrench, twist), ca.jacobian(wrench, signal)]
    return (
        ca.Function("value", inputs, [ca.densify(ca.SX(x)) for x in (wrench, *powers)], {"cse": True}),
        ca.Function("tangent", inputs, [ca.densify(ca.SX(x)) for x in (wrench, *derivatives)], {"cse": True}),
    )


def _transform_wrench(pose: Pose, wrench: Any) -> Any:
    """A wrench given in B, at B's origin, rewritten in A, at A's origin."""
    R, p = pose
    force = R @ wrench[0:3]
    return ca.vertcat(force, R @ wrench[3:6] + ca.cross(p, force))


def _wrench_axes(pose: Pose) -> Any:
    R, p = pose
    return ca.blockcat([[R, ca.SX(3, 3)], [so3.hat(p) @ R, R]])


def _inverse_twist_axes(pose: Pose) -> Any:
    R, p = pose
    return ca.blockcat([[R.T, -R.T @ so3.hat(p)], [ca.SX(3, 3), R.T]])


def _twist_matrix(twist: Any) -> Any:
    """X with `X delta = twist x delta`."""
    v, w = so3.hat(twist[0:3]), so3.hat(twist[3:6])
    return ca.blockcat([[w, v], [ca.SX(3, 3), w]])


def _wrench_matrix(wrench: Any) -> Any:
    """X with `X delta = -(delta x* wrench)`."""
    f, n = so3.hat(wrench[0:3]), so3.hat(wrench[3:6])
    return ca.blockcat([[ca.SX(3, 3), f], [f, n]])
