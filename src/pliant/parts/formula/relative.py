"""Forces that depend only on the relative pose of two frames, with small kernels.

Such a force acts on both frames with opposite signs, and is invariant under common motions of both. So it is
sufficient to differentiate with respect to six local coordinates `u = (p, alpha)`: position and rotation vector of the second
frame relative to the first. With `delta` the relative increment in the first frame's axes at its origin,

    du = U(u) delta,     deformation rate = E relative twist,  E = d(deformation)/du U,     wrench = E' force,

and the rest is a change of axes. Differentiating the same force with respect to the entries of both poses gives the same
numbers with a kernel about twenty-five times as long.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import casadi as ca

from pliant.parts.formula.base import Effect, FrameForce, meeting_square
from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion import Fields

Deformation = Callable[[Any, Any, Any], Any]
Law = Callable[[Any, Any, Any, Any], Effect]
Local = Callable[[Pose, Any, Any, Any], tuple[Any, ...]]

POINTS = Fields("first:3", "second:3")
"""Leading constants of a force between points: the points, each in its frame [m]."""

ENDS = Fields("first:pose", "second:pose")
"""Leading constants: placement of the first end in its frame and of the second in its own."""


@dataclass(frozen=True, kw_only=True)
class RelativeForce(FrameForce):
    """A force between two frames that depends only on their relative pose and twist.

    Kernels evaluate it in the first end's axes, at its origin; the runtime transforms it, for several instances at once.

    Attributes:
        placed: whether the constants begin with `ENDS`; otherwise the ends are the frames themselves.
        answer: `(pose, twist, constants, signals) -> wrench (6) on the second end, energy, dissipation, supply`, of the pose and
            the twist of the second end relative to the first.
        slopes: of the same arguments, `wrench, K (6 x 6), C (6 x 6), S (6 x s)`: its change per relative increment, relative twist
            and signal. The constants of both are those after `ENDS`.
    """

    placed: bool
    answer: Local
    slopes: Local


def relative_force(name: str, *, constants: int, signals: int, deformation: Deformation, law: Law) -> RelativeForce:
    """A force between two frames that does work on a deformation, a function of their relative pose.

    `deformation(p, alpha, constants)` are the strains or lengths; `law(deformation, rate, constants, signals)` gives
    the force conjugate to them. The `constants` begin with `ENDS`.
    """
    local = cache(partial(_local_functions, constants, signals, deformation, law))

    def answer(pose: Pose, twist: Any, own: Any, signal: Any) -> tuple[Any, ...]:
        return tuple(local()[0].call([_coordinates(pose), twist, own, signal]))

    def slopes(pose: Pose, twist: Any, own: Any, signal: Any) -> tuple[Any, ...]:
        return tuple(local()[1].call([_coordinates(pose), twist, own, signal]))

    return in_world(name, constants, signals, True, answer, slopes)


def force_between_points(name: str, *, constants: int, signals: int, law: Law) -> RelativeForce:
    """A force along the line between a point of each frame; the constants begin with `POINTS`.

    `law(length, rate, constants, signals)` gives the force along the line, negative for a stretched spring. With b the second
    point and d the difference of both, seen from the first frame, an increment moves b by B = [1, -hat(b)], and

        wrench = B' F(d, d'),    K = B' (dF/dd + dF/dd' hat(omega)) B - [0; hat(F) B],    C = B' dF/dd' B.
    """
    local = cache(partial(_line_functions, constants, signals, law))

    def line(pose: Pose, twist: Any, own: Any) -> tuple[Any, Any, Any]:
        """The second point; difference of the points, and its rate."""
        points = POINTS.read(own)
        b = pose[1] + pose[0] @ points.second
        return b, b - points.first, twist[0:3] + ca.cross(twist[3:6], b)

    def answer(pose: Pose, twist: Any, own: Any, signal: Any) -> tuple[Any, ...]:
        b, d, d_rate = line(pose, twist, own)
        F, *powers = local()[0].call([d, d_rate, own, signal])
        return ca.vertcat(F, ca.cross(b, F)), *powers

    def slopes(pose: Pose, twist: Any, own: Any, signal: Any) -> tuple[Any, ...]:
        b, d, d_rate = line(pose, twist, own)
        F, by_d, by_rate, by_signal = local()[1].call([d, d_rate, own, signal])
        B = ca.horzcat(ca.SX.eye(3), -so3.hat(b))
        K = B.T @ (by_d + by_rate @ so3.hat(twist[3:6])) @ B - ca.vertcat(ca.SX(3, 6), so3.hat(F) @ B)
        return ca.vertcat(F, ca.cross(b, F)), K, B.T @ by_rate @ B, B.T @ by_signal

    return in_world(name, constants, signals, False, answer, slopes)


def _line_functions(constants: int, signals: int, law: Law) -> tuple[ca.Function, ca.Function]:
    """Functions of the difference of a line's ends and its rate: force, energy and powers; force and its derivatives."""
    d, d_rate = ca.SX.sym("d", 3), ca.SX.sym("dd", 3)
    c, signal = ca.SX.sym("c", constants), ca.SX.sym("s", signals)
    points = POINTS.read(c)
    length = ca.sqrt(ca.dot(d, d) + meeting_square(points.first, points.first + d, points.second))
    response = law(length, ca.dot(d, d_rate) / length, c, signal)
    force = response.force * d / length
    inputs = [d, d_rate, c, signal]
    powers = [response.energy, response.dissipation, response.supply]
    change = [ca.jacobian(force, x) for x in (d, d_rate, signal)]
    return (
        ca.Function("value", inputs, [ca.densify(ca.SX(y)) for y in (force, *powers)], {"cse": True}),
        ca.Function("tangent", inputs, [ca.densify(ca.SX(y)) for y in (force, *change)], {"cse": True}),
    )


def in_world(name: str, constants: int, signals: int, placed: bool, answer: Local, slopes: Local) -> RelativeForce:
    """A `RelativeForce` from its arguments, with effect and tangent in world axes on both frames."""

    def seen(poses: Sequence[Pose], twists: Sequence[Any], c: Any) -> tuple[Pose, Pose, Any, Any]:
        return _state(poses, twists, c) if placed else _seen(poses[0], poses[1], twists)

    def effect(poses: Sequence[Pose], twists: Sequence[Any], c: Any, signal: Any) -> Effect:
        first, pose, relative, _ = seen(poses, twists, c)
        wrench, energy, dissipation, supply = answer(pose, relative, c[ENDS.size * placed :], signal)
        world = _transform_wrench(first, wrench)
        return Effect(ca.vertcat(-world, world), energy, dissipation, supply)

    def tangent(poses: Sequence[Pose], twists: Sequence[Any], c: Any, signal: Any) -> tuple[Any, Any, Any]:
        first, pose, relative, of_second = seen(poses, twists, c)
        return _world_tangent(first, of_second, *slopes(pose, relative, c[ENDS.size * placed :], signal))

    return RelativeForce(name, 2, constants, signals, effect, tangent, placed=placed, answer=answer, slopes=slopes)


def relative_deformation(
    poses: Sequence[Pose], twists: Sequence[Any], c: Any, deformation: Deformation
) -> tuple[Any, Any, Any]:
    """The deformation between two frames, its rate in a state, and E, as in `relative_force`."""
    _, pose, relative, _ = _state(poses, twists, c)
    u = ca.SX.sym("u", 6)
    _, e, E = _deformed(u, c, deformation)
    e, E = ca.substitute([ca.SX(e), E], [u], [ca.densify(ca.SX(_coordinates(pose)))])
    return e, E @ relative, E


def relative_chain(
    name: str, *, elements: int, constants: int, signals: int, deformation: Deformation,
    shared: Callable[[Any, Any], tuple[Any, Any]], law: Callable[[Any, Any, Any, Any, Any], Effect],
) -> FrameForce:  # fmt: skip
    """Forces between neighbours among `elements` + 1 frames that also depend on a mean over all of them.

    `constants` and `deformation` of each element are as in `relative_force`; `shared(deformation, constants)` returns an
    element's contribution to the mean and its constant weight; `law(deformation, rate, constants, signals, (mean, rate of
    the mean))` gives the force, which does not depend on the rate of the mean.
    """
    local = cache(partial(_chain_functions, constants, signals, deformation, shared, law))

    def states(poses: Sequence[Pose], twists: Sequence[Any], c: Any) -> tuple[list[Any], Any, Any, Any]:
        """State of each element with its constants; the mean and its rate; the total weight."""
        found, total, rate, weights = [], 0.0, 0.0, 0.0
        for k in range(elements):
            own = c[constants * k : constants * (k + 1)]
            first, pose, relative, seen = _state(poses[k : k + 2], twists[k : k + 2], own)
            u = _coordinates(pose)
            amount, weight, along = local()[1](u, own)
            total, weights, rate = total + amount, weights + weight, rate + along @ relative
            found.append((own, first, u, relative, seen, along))
        return found, total / weights, rate / weights, weights

    def effect(poses: Sequence[Pose], twists: Sequence[Any], c: Any, signal: Any) -> Effect:
        found, mean, mean_rate, _ = states(poses, twists, c)
        wrenches, powers = [ca.SX(6, 1) for _ in range(elements + 1)], ca.SX(3, 1)
        for k, (own, first, u, relative, _, _) in enumerate(found):
            wrench, own_powers = local()[0](u, relative, own, signal, mean, mean_rate)[0:2]
            world = _transform_wrench(first, wrench)
            wrenches[k], wrenches[k + 1], powers = wrenches[k] - world, wrenches[k + 1] + world, powers + own_powers
        return Effect(ca.vertcat(*wrenches), powers[0], powers[1], powers[2])

    def tangent(poses: Sequence[Pose], twists: Sequence[Any], c: Any, signal: Any) -> tuple[Any, Any, Any]:
        found, mean, mean_rate, weights = states(poses, twists, c)
        size = 6 * (elements + 1)
        K, C, S = ca.SX(size, size), ca.SX(size, size), ca.SX(size, signals)
        by_mean, mean_by = ca.SX(size, 1), ca.SX(1, size)
        for k, (own, first, u, relative, seen, along) in enumerate(found):
            wrench, _, K_own, C_own, S_own, by = local()[0](u, relative, own, signal, mean, mean_rate)
            K_own, C_own, S_own = _world_tangent(first, seen, wrench, K_own, C_own, S_own)
            here = slice(6 * k, 6 * k + 12)
            K[here, here] += K_own
            C[here, here] += C_own
            S[here, :] += S_own
            world = _transform_wrench(first, by)
            by_mean[here] += ca.vertcat(-world, world)
            moved = along @ _inverse_twist_axes(first) / weights
            mean_by[:, here] += ca.horzcat(-moved, moved)
        return K + by_mean @ mean_by, C, S

    return FrameForce(name, elements + 1, constants * elements, signals, effect, tangent)


def _chain_functions(
    constants: int, signals: int, deformation: Deformation, shared: Any, law: Any
) -> tuple[ca.Function, ca.Function]:
    """Functions of an element of a chain: wrench, powers and derivatives, also with respect to the mean; its contribution to the
    mean, its weight, and the derivative of the contribution with respect to the relative increment."""
    u, twist = ca.SX.sym("u", 6), ca.SX.sym("twist", 6)
    c, signal = ca.SX.sym("c", constants), ca.SX.sym("s", signals)
    mean, mean_rate = ca.SX.sym("m"), ca.SX.sym("md")
    U, e, E = _deformed(u, c, deformation)
    answer = law(e, E @ twist, c, signal, (mean, mean_rate))
    wrench, powers = E.T @ answer.force, ca.vertcat(answer.energy, answer.dissipation, answer.supply)
    derivatives = [ca.jacobian(wrench, u) @ U, ca.jacobian(wrench, twist), ca.jacobian(wrench, signal)]
    outputs = [wrench, powers, *derivatives, ca.jacobian(wrench, mean)]
    amount, weight = shared(e, c)
    inputs = [u, twist, c, signal, mean, mean_rate]
    return (
        ca.Function("value", inputs, [ca.densify(ca.SX(x)) for x in outputs], {"cse": True}),
        ca.Function("shared", [u, c], [ca.SX(amount), ca.SX(weight), ca.densify(ca.jacobian(amount, u) @ U)]),
    )


def _coordinates(pose: Pose) -> Any:
    """Position and rotation vector of a pose."""
    R, p = pose
    return ca.vertcat(p, so3.log(R))


def _state(poses: Sequence[Pose], twists: Sequence[Any], c: Any) -> tuple[Pose, Pose, Any, Any]:
    """Pose of the first end; pose of the second, relative twist and the second frame's twist in the first end's axes."""
    ends = ENDS.read(c)
    return _seen(se3.compose(poses[0], ends.first), se3.compose(poses[1], ends.second), twists)


def _seen(first: Pose, second: Pose, twists: Sequence[Any]) -> tuple[Pose, Pose, Any, Any]:
    back = se3.inverse(first)
    relative = se3.transform_twist(back, twists[1] - twists[0])
    return first, se3.compose(back, second), relative, se3.transform_twist(back, twists[1])


def _world_tangent(first: Pose, seen: Any, wrench: Any, K: Any, C: Any, S: Any) -> tuple[Any, Any, Any]:
    """Tangents of both ends' world wrenches from those of the second's in the first one's axes."""
    # the relative twist changes by the increment's rate and by `delta x` the second frame's twist
    K = K - C @ _twist_matrix(seen)
    # the second end's wrench is convected with the second frame, but is given in the first one's axes
    turning = wrench_matrix(wrench)
    out, K_a, K_b, C_w = _wrench_axes(first), K, K + turning, C
    into = _inverse_twist_axes(first)
    K_a, K_b, C_w, S = out @ K_a @ into, out @ K_b @ into, out @ C_w @ into, out @ S
    return (
        ca.vertcat(ca.horzcat(K_a, -K_a), ca.horzcat(-K_b, K_b)),
        ca.vertcat(ca.horzcat(C_w, -C_w), ca.horzcat(-C_w, C_w)),
        ca.vertcat(-S, S),
    )


def _local_functions(
    constants: int, signals: int, deformation: Deformation, law: Law
) -> tuple[ca.Function, ca.Function]:
    """Wrench on the second frame in the first one's axes; its derivatives with respect to relative increment, twist and signal.
    Both use the constants after `ENDS`."""
    u, twist = ca.SX.sym("u", 6), ca.SX.sym("twist", 6)
    own, signal = ca.SX.sym("c", constants - ENDS.size), ca.SX.sym("s", signals)
    c = ca.vertcat(ca.SX.sym("ends", ENDS.size), own)
    U, e, E = _deformed(u, c, deformation)
    answer = law(e, E @ twist, c, signal)
    wrench = E.T @ answer.force
    inputs = [u, twist, own, signal]
    powers = [answer.energy, answer.dissipation, answer.supply]
    derivatives = [ca.jacobian(wrench, u) @ U, ca.jacobian(wrench, twist), ca.jacobian(wrench, signal)]
    return (
        ca.Function("value", inputs, [ca.densify(ca.SX(x)) for x in (wrench, *powers)], {"cse": True}),
        ca.Function("tangent", inputs, [ca.densify(ca.SX(x)) for x in (wrench, *derivatives)], {"cse": True}),
    )


def _deformed(u: Any, c: Any, deformation: Deformation) -> tuple[Any, Any, Any]:
    """du per relative increment, the deformation, and its change per relative increment."""
    p, alpha = u[0:3], u[3:6]
    U = ca.blockcat([[ca.SX.eye(3), -so3.hat(p)], [ca.SX(3, 3), so3.inverse_left_jacobian(alpha)]])
    e = deformation(p, alpha, c)
    return U, e, ca.jacobian(e, u) @ U


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


def wrench_matrix(wrench: Any) -> Any:
    """X with `X delta = -(delta x* wrench)`."""
    f, n = so3.hat(wrench[0:3]), so3.hat(wrench[3:6])
    return ca.blockcat([[ca.SX(3, 3), f], [f, n]])


HelixLaw = Callable[[Any, Any, Any, Any], Effect]
HelixSlopes = Callable[[Any, Any, Any, Any], tuple[Any, Any, Any, Any]]


def helical_force(name: str, *, constants: int, signals: int, law: HelixLaw, slopes: HelixSlopes) -> RelativeForce:
    """A force between two frames on the helix from one to the other.

    `law(x, rate, constants, signals)` gives the force conjugate to the logarithm x (6), `slopes` of the same arguments this force
    and its derivatives with respect to x, rate and signals (6 x 6, 6 x 6, 6 x s). The `constants` begin with `ENDS`.
    """

    def answer(pose: Pose, twist: Any, own: Any, signal: Any) -> tuple[Any, ...]:
        x, functions = _logarithm(pose)
        rate = _rate(x, functions, twist)
        effect = law(x, rate, _with_ends(own), signal)
        return _wrench(x, functions, effect.force), effect.energy, effect.dissipation, effect.supply

    def tangent(pose: Pose, twist: Any, own: Any, signal: Any) -> tuple[Any, ...]:
        x, functions = _logarithm(pose)
        rate = _rate(x, functions, twist)
        force, by_x, by_rate, by_signal = slopes(x, rate, _with_ends(own), signal)
        D, P, Q = _helix_derivatives()(x, functions, twist, force)
        K = (D.T @ (by_x + by_rate @ P) + Q) @ D
        return _wrench(x, functions, force), K, D.T @ by_rate @ D, D.T @ by_signal

    return in_world(name, constants, signals, True, answer, tangent)


def _with_ends(own: Any) -> Any:
    """The constants in the layout of the law, with zeros for the placement of the ends."""
    return ca.vertcat(ca.SX(ENDS.size, 1), own)


def _logarithm(pose: Pose) -> tuple[Any, Any]:
    """The logarithm of a pose, and c, c', c'' of its angle, with a single inverse tangent."""
    R, p = pose
    Q = so3.matrix_quaternion(R)
    sign = ca.if_else(Q[0] < 0, -1.0, 1.0)
    cosine, sines = sign * Q[0], sign * Q[1:4]
    half = so3.angle_per_sine(ca.dot(sines, sines), cosine)
    alpha = 2 * half * sines
    functions = so3.inverse_jacobian_functions(ca.dot(alpha, alpha), half * cosine)
    c = functions[0]
    v = p - ca.cross(alpha, p) / 2 + c * (alpha * ca.dot(alpha, p) - ca.dot(alpha, alpha) * p)
    return ca.vertcat(v, alpha), functions


def _rate(x: Any, functions: Any, twist: Any) -> Any:
    """D twist."""
    c, slope = functions[0], functions[1]
    v, alpha, u, w = x[0:3], x[3:6], twist[0:3], twist[3:6]
    a2, along = ca.dot(alpha, alpha), ca.dot(alpha, v)

    def turned(y: Any) -> Any:
        """hat(alpha)^2 y"""
        return alpha * ca.dot(alpha, y) - a2 * y

    mixed = v * ca.dot(alpha, w) + alpha * ca.dot(v, w) - 2 * along * w
    linear = u + (ca.cross(u, alpha) + ca.cross(w, v)) / 2 + c * (turned(u) + mixed) + slope * along * turned(w)
    return ca.vertcat(linear, w + ca.cross(w, alpha) / 2 + c * turned(w))


def _wrench(x: Any, functions: Any, force: Any) -> Any:
    """D' force: like D, with v and alpha negated and the two parts exchanged."""
    turned = _rate(-x, functions, ca.vertcat(force[3:6], force[0:3]))
    return ca.vertcat(turned[3:6], turned[0:3])


@cache
def _helix_derivatives() -> ca.Function:
    """For x, (c, c', c''), twist and force: D, P and Q of the module's docstring, as sparse matrices."""
    x, functions = ca.SX.sym("x", 6), ca.SX.sym("c", 3)
    twist, force = ca.SX.sym("twist", 6), ca.SX.sym("force", 6)
    angle = ca.horzcat(ca.SX(1, 3), x[3:6].T)  # half the derivative of the squared angle with respect to x

    def by_x(y: Any) -> Any:
        return ca.jacobian(y, x) + (ca.jacobian(y, functions[0:2]) @ functions[1:3]) @ angle

    rate, wrench = _rate(x, functions, twist), _wrench(x, functions, force)
    D = ca.jacobian(rate, twist)
    return ca.Function("helix", [x, functions, twist, force], [D, by_x(rate), by_x(wrench)], {"cse": True})
