"""Kernels: one small CasADi function per kind of element and purpose, with its own exact derivatives.

A kernel sees one instance: its coordinates or the poses and twists of its frames, its constants and signals. The assembled system
calls kernels in a loop; nothing ever differentiates the assembled system. All inputs and outputs are dense and column-major.

World twists are taken at the world's origin. A variation of a pose is a world-side increment `eta`; with `eta_dot`, `eta_ddot` its
time derivatives along the motion,

    d(twist)        = eta_dot + eta x twist
    d(acceleration) = eta_ddot + eta_dot x twist + eta x acceleration

and tangents of wrenches are given in convected form, `d(wrench) - eta x* wrench`, because wrench and frame then turn together and
the recursion needs no further terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial, wraps
from typing import Any

import casadi as ca

from pliant.parts.formula.base import (
    CoordinateForce,
    FrameConstraint,
    FrameForce,
    Inertia,
    vector_rates,
    world_jacobian,
)
from pliant.parts.formula.relative import ENDS, RelativeForce
from pliant.parts.formula.route import RouteForce
from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion import CoordinatePart, Motion, Vector


@dataclass(frozen=True, eq=False)
class Kernels:
    """The functions of one type, in the order required by the compiled runtime; the first `lanes` of them evaluate several
    instances at once.

    They are created on first use, which is unnecessary if their compiled code is known.
    """

    name: str
    purposes: tuple[str, ...]
    make: Callable[[], tuple[ca.Function, ...]]
    lanes: int = 0

    @property
    def on_lanes(self) -> tuple[ca.Function, ...]:
        """The functions that evaluate several instances at once."""
        return self.functions[: self.lanes]

    @property
    def single(self) -> tuple[ca.Function, ...]:
        """The other functions."""
        return self.functions[self.lanes :]

    def is_on_lanes(self, name: str) -> bool:
        """Whether the function of this name evaluates several instances at once."""
        return name in self.function_names[: self.lanes]

    @property
    def function_names(self) -> tuple[str, ...]:
        """Names of the functions, by which code is found."""
        return tuple(f"{self.name}_{purpose}" if purpose else self.name for purpose in self.purposes)

    @cached_property
    def functions(self) -> tuple[ca.Function, ...]:
        """The functions themselves."""
        made = self.make()
        assert tuple(f.name() for f in made) == self.function_names
        return made

    @classmethod
    def of(cls, name: str, *functions: ca.Function, lanes: int = 0) -> Kernels:
        """Kernels from existing functions, whose names begin with `name`."""
        purposes = tuple(f.name().removeprefix(name).removeprefix("_") for f in functions)
        return cls(name, purposes, lambda: functions, lanes)


VALUE_TANGENT = ("value", "tangent")
"""Functions that most types have."""


Formulas = Sequence[tuple[Sequence[Any], Sequence[Any]]]
"""Inputs and outputs of the functions of a type, as expressions."""


def _kernels_of(
    prefix: str, purposes: tuple[str, ...] = VALUE_TANGENT, lanes: int = 0
) -> Callable[[Callable[[Any], Formulas]], Callable[[Any], Kernels]]:
    """Decorator of the formulas of a kind: its kernels, which are named after it."""

    def decorated(formulas: Callable[[Any], Formulas]) -> Callable[[Any], Kernels]:
        @cache
        @wraps(formulas)
        def kernels(kind: Any) -> Kernels:
            name = f"{prefix}_{kind.name}"
            return Kernels(name, purposes, partial(_functions, name, purposes, formulas, kind), lanes)

        return kernels

    return decorated


def _functions(
    name: str, purposes: tuple[str, ...], formulas: Callable[[Any], Formulas], kind: Any
) -> tuple[ca.Function, ...]:
    """The functions of a kind, as the runtime calls them: dense outputs, common subexpressions shared."""
    return tuple(
        ca.Function(f"{name}_{purpose}", list(inputs), [ca.densify(ca.SX(x)) for x in outputs], {"cse": True})
        for purpose, (inputs, outputs) in zip(purposes, formulas(kind), strict=True)
    )


def _zero_to_empty(size: int, name: str) -> Any:
    return ca.SX.sym(name, size)


@_kernels_of("motion", ("kinematics", "tangent"), lanes=2)
def motion_kernels(motion: Motion) -> Formulas:
    """Kernels of a motion, in base axes.

    kinematics  (q, v, constants) -> R, p, s, c: c = s_dot v, the acceleration due to the rates alone
    tangent     (q, v, a, constants, wrench) -> vq, av, aq: eta_dot = vq dq + s dv, eta_ddot = aq dq + av dv + s da, both
                for a base at rest; and d(s' wrench)/dq for a wrench fixed in the base
    """
    q, v, a = (_zero_to_empty(n, x) for n, x in ((motion.q_size, "q"), (motion.v_size, "v"), (motion.v_size, "a")))
    theta, wrench = _zero_to_empty(motion.constants, "c"), ca.SX.sym("f", 6)
    R, p = motion.pose(q, theta)
    A = ca.DM.eye(motion.v_size) if motion.through is None else motion.through(theta)
    z, z_dot, z_ddot = (q, v, a) if motion.through is None else (A @ q, A @ v, A @ a)
    y = ca.SX(0, 1) if motion.functions is None else motion.functions.values(z, theta)
    subspace, tangent, own = _differentiated_motion(motion, A.shape[0])
    s, convection = subspace.call([z, y, z_dot, theta])
    if motion.acceleration is not None:
        convection = motion.acceleration(q, theta, v)
    tangents = [x @ A for x in tangent.call([z, y, z_dot, z_ddot, theta])]
    block = A.T @ own.call([z, y, theta, wrench])[0] @ A
    return (([q, v, theta], [R, p, s @ A, convection]), ([q, v, a, theta, wrench], [*tangents, block]))


def _differentiated_motion(motion: Motion, size: int) -> tuple[ca.Function, ca.Function, ca.Function]:
    """The kernels in terms of the coordinates in which the subspace is stated (`size` rates), and of functions of these."""
    q = _zero_to_empty(motion.q_size if motion.through is None else size, "q")
    v, a, theta, wrench = (ca.SX.sym(x, n) for x, n in (("v", size), ("a", size), ("c", motion.constants), ("f", 6)))
    y = ca.SX.sym("y", 0 if motion.functions is None else motion.functions.size)
    if motion.subspace is None:
        s = ca.SX(motion.differentiated_subspace(q, theta))
    else:
        s = ca.SX(motion.subspace(q, theta, *(() if motion.functions is None else (y,))))
    carrier = motion if motion.through is None else coordinate_carrier((Vector(size),))
    N, gamma, gamma_a = carrier.rate_matrix(q), carrier.bracket(v), carrier.bracket(a)
    moving, rate = ca.vertcat(q, y), N @ v
    own = ca.jacobian(s.T @ wrench, q) @ N
    if motion.functions is not None:
        by_s, s_by_q = motion.functions.slopes(q, theta, y)
        rate = ca.vertcat(rate, by_s @ (s_by_q @ v))
        own += motion.functions.derivative(s.T @ wrench, q, theta, y)
    if motion.own is not None:
        own = motion.own(q, theta, wrench)
    s_dot = _time_derivative(s, moving, rate)
    s_ddot = _time_derivative(s_dot, moving, rate) + _time_derivative(s_dot, v, a)
    vq = s_dot - s @ gamma
    av = 2 * s_dot - s @ gamma
    aq = s_ddot - 2 * s_dot @ gamma - s @ gamma_a + s @ gamma @ gamma
    return (
        ca.Function("subspace", [q, y, v, theta], [s, _time_derivative(s @ v, moving, rate)]),
        ca.Function("tangent", [q, y, v, a, theta], [vq, av, aq]),
        ca.Function("own", [q, y, theta, wrench], [own]),
    )


def has_constant_subspace(motion: Motion) -> bool:
    """Whether the twist per unit rate is constant in the base, so that its derivatives can be skipped."""
    if not motion.q_size:
        return True
    q = ca.SX.sym("q", motion.q_size)
    theta = ca.SX.sym("c", motion.constants)
    s = ca.SX(motion.twist_per_rate(q, theta))
    return not ca.depends_on(s, q)


def _time_derivative(expression: Any, x: Any, rate: Any) -> Any:
    if x.numel() == 0 or expression.numel() == 0:
        return ca.SX(expression.shape[0], expression.shape[1])
    flat = ca.jtimes(ca.vec(expression), x, rate)
    return ca.reshape(flat, expression.shape[0], expression.shape[1])


@dataclass(frozen=True)
class _Frames:
    """Symbols for the poses, twists and accelerations of an interaction's frames."""

    flat_pose: Any
    poses: list[Pose]
    flat_twist: Any
    twists: list[Any]
    flat_acceleration: Any
    accelerations: list[Any]


def _frames(count: int) -> _Frames:
    pose = [ca.SX.sym(f"x{i}", 12) for i in range(count)]
    twist = [ca.SX.sym(f"V{i}", 6) for i in range(count)]
    acceleration = [ca.SX.sym(f"A{i}", 6) for i in range(count)]
    poses = [(ca.reshape(x[0:9], 3, 3), x[9:12]) for x in pose]
    return _Frames(ca.vertcat(*pose), poses, ca.vertcat(*twist), twist, ca.vertcat(*acceleration), acceleration)


def _twist_cross(vectors: Sequence[Any]) -> Any:
    """Block diagonal matrix X with `X eta = eta x vector` for each frame."""
    blocks = []
    for x in vectors:
        v, w = so3.hat(x[0:3]), so3.hat(x[3:6])
        blocks.append(-ca.vertcat(ca.horzcat(w, v), ca.horzcat(ca.SX(3, 3), w)))
    return ca.diagcat(*blocks)


def _wrench_cross(wrench: Any, count: int) -> Any:
    """Block diagonal matrix X with `X eta = eta x* wrench` for each frame."""
    blocks = []
    for i in range(count):
        f, n = so3.hat(wrench[6 * i : 6 * i + 3]), so3.hat(wrench[6 * i + 3 : 6 * i + 6])
        blocks.append(-ca.vertcat(ca.horzcat(ca.SX(3, 3), f), ca.horzcat(f, n)))
    return ca.diagcat(*blocks)


@_kernels_of("force")
def frame_force_kernels(kind: FrameForce) -> Formulas:
    """Kernels of a force between frames (k frames, s signals).

    value    (poses, twists, constants, signals) -> wrenches 6k, (energy, dissipation, supply)
    tangent  same inputs -> K 6k x 6k, C 6k x 6k, S 6k x s: convected d(wrench) = K eta + C eta_dot + S dsignal
    """
    frames = _frames(kind.frames)
    theta, signal = _zero_to_empty(kind.constants, "c"), _zero_to_empty(kind.signals, "s")
    effect = kind.effect(frames.poses, frames.twists, theta, signal)
    inputs = [frames.flat_pose, frames.flat_twist, theta, signal]
    stated = kind.tangent or partial(_differentiated_tangent, kind)
    K, C, S = stated(frames.poses, frames.twists, theta, signal)
    scalars = ca.vertcat(effect.energy, effect.dissipation, effect.supply)
    return ((inputs, [effect.force, scalars]), (inputs, [K, C, S]))


def _differentiated_tangent(
    kind: FrameForce, poses: Sequence[Pose], twists: Sequence[Any], theta: Any, signal: Any
) -> tuple[Any, Any, Any]:
    """K, C, S by differentiating the effect with respect to the entries of symbolic poses and twists."""
    force = kind.effect(poses, twists, theta, signal).force
    C = ca.jacobian(force, ca.vertcat(*twists))
    K = world_jacobian(force, poses) + C @ _twist_cross(twists) - _wrench_cross(force, kind.frames)
    return K, C, ca.jacobian(force, signal)


@_kernels_of("constraint")
def constraint_kernels(kind: FrameConstraint) -> Formulas:
    """Kernels of a constraint between frames (k frames, m components).

    value    (poses, twists, constants) -> e m, G m x 6k, gamma m: de/dt = G twist, d2e/dt2 = G acceleration + gamma
    tangent  (poses, twists, accelerations, constants, multipliers) -> K 6k x 6k (convected, of the wrench
             G' multipliers), Eq and Ev m x 6k: d(d2e/dt2) = Eq eta + Ev eta_dot + G eta_ddot
    """
    frames = _frames(kind.frames)
    theta, multiplier = _zero_to_empty(kind.constants, "c"), ca.SX.sym("l", kind.size)
    attached = kind.attached(frames.poses, theta)
    vectors = [ca.SX.sym(f"z{i}", 3) for i in range(len(attached))]
    z = ca.vertcat(*vectors)
    rates = ca.vertcat(*[vector_rates(x, v, kind.frames) for x, v in zip(attached, vectors, strict=True)])

    def along(expression: Any) -> Any:
        """Derivative with respect to the frames' increments."""
        return ca.jacobian(expression, z) @ rates

    e = kind.value(vectors, theta)
    G = along(e)
    V, A = frames.flat_twist, frames.flat_acceleration
    gamma = along(G @ V) @ V
    gamma_V = ca.jacobian(gamma, V)
    Ev = gamma_V + G @ _twist_cross(frames.twists)
    Eq = along(G @ A + gamma) + gamma_V @ _twist_cross(frames.twists) + G @ _twist_cross(frames.accelerations)
    wrench = G.T @ multiplier
    K = along(wrench) - _wrench_cross(wrench, kind.frames)
    # differentiated with respect to the vectors, whose expressions in the poses are then substituted
    value = ca.Function("value", [z, V, theta], [e, G, gamma], {"cse": True})
    tangent = ca.Function("tangent", [z, V, A, theta, multiplier], [K, Eq, Ev], {"cse": True})
    placed = ca.vertcat(*[x.vector for x in attached])
    return (
        ([frames.flat_pose, V, theta], value.call([placed, V, theta])),
        ([frames.flat_pose, V, A, theta, multiplier], tangent.call([placed, V, A, theta, multiplier])),
    )


@_kernels_of("coordinate")
def coordinate_force_kernels(kind: CoordinateForce) -> Formulas:
    """Kernels of a force on coordinates (k rates, s signals).

    value    (q, v, constants, signals) -> force k, (energy, dissipation, supply)
    tangent  same inputs -> d force/dq k x k, d force/dv k x k, d force/dsignal k x s
    """
    carrier = coordinate_carrier(kind.parts)
    q, v = ca.SX.sym("q", carrier.q_size), ca.SX.sym("v", carrier.v_size)
    theta, signal = _zero_to_empty(kind.constants, "c"), _zero_to_empty(kind.signals, "s")
    effect = kind.effect(q, v, theta, signal)
    inputs = [q, v, theta, signal]
    dq = ca.jacobian(effect.force, q) @ carrier.rate_matrix(q)
    tangent = [dq, ca.jacobian(effect.force, v), ca.jacobian(effect.force, signal)]
    scalars = ca.vertcat(effect.energy, effect.dissipation, effect.supply)
    return ((inputs, [effect.force, scalars]), (inputs, tangent))


@_kernels_of("route")
def route_kernels(kind: RouteForce) -> Formulas:
    """Kernels of a routed line's law (s signals); its geometry belongs to the assembled system.

    value    (length, rate, constants, signals, signal rates) -> tension, (energy, dissipation, supply)
    tangent  same inputs -> d tension/d length, d tension/d rate, d tension/d signals 1 x s, d tension/d signal rates 1 x s
    """
    length, rate = ca.SX.sym("l"), ca.SX.sym("r")
    theta = _zero_to_empty(kind.constants, "c")
    signal, signal_rate = _zero_to_empty(kind.signals, "s"), _zero_to_empty(kind.signals, "sd")
    effect = kind.law(length, rate, theta, signal, signal_rate)
    inputs = [length, rate, theta, signal, signal_rate]
    tension = ca.SX(effect.force)
    tangent = [ca.jacobian(tension, x) for x in (length, rate, signal, signal_rate)]
    scalars = ca.vertcat(effect.energy, effect.dissipation, effect.supply)
    return ((inputs, [tension, scalars]), (inputs, tangent))


def coordinate_carrier(parts: tuple[CoordinatePart, ...]) -> Motion:
    """A motion that only provides coordinates, for its rate matrix and sizes."""
    return Motion("carrier", parts, 0, lambda q, c: se3.identity())


@_kernels_of("relative", lanes=2)
def relative_force_kernels(kind: RelativeForce) -> Formulas:
    """Kernels of a force between two frames by their relative motion, in the first end's axes at its origin (s signals).

    value    (pose of the second end, relative twist, constants after the placements, signals)
             -> wrench 6 on the second end, (energy, dissipation, supply)
    tangent  same inputs -> wrench 6, K 6 x 6, C 6 x 6, S 6 x s: by relative increment, relative twist and signal
    """
    x, twist = ca.SX.sym("x", 12), ca.SX.sym("V", 6)
    own, signal = _zero_to_empty(kind.constants - ENDS.size * kind.placed, "c"), _zero_to_empty(kind.signals, "s")
    pose = ca.reshape(x[0:9], 3, 3), x[9:12]
    inputs = [x, twist, own, signal]
    wrench, *powers = kind.answer(pose, twist, own, signal)
    return ((inputs, [wrench, ca.vertcat(*powers)]), (inputs, kind.slopes(pose, twist, own, signal)))


# -- kernels of inertia that is not rigid --------------------------------------------------------------------------------


@_kernels_of("inertia", lanes=2)
def inertia_kernels(kind: Inertia) -> Formulas:
    """Kernels of an inertia (n = 6 frames + k rates; all in the frames' own axes).

    value    (pose of the second frame in the first, q, W, constants) -> M n x n, h n: forces = M dW/dt + h
    tangent  (pose, q, W, dW/dt, constants) -> X n x 6 (no columns with one frame), Y n x n, Z n x k:
             d(forces) = X delta + Y dW + Z dq + M d(dW/dt), with delta the increment of the relative pose in the first
             frame's axes, at its origin
    """
    x, q = ca.SX.sym("x", 12 if kind.frames == 2 else 0), ca.SX.sym("q", kind.q_size)
    W, W_dot, theta = ca.SX.sym("W", kind.size), ca.SX.sym("A", kind.size), ca.SX.sym("c", kind.constants)
    own = kind.through(theta) if kind.through is not None else ca.SX.eye(kind.v_size)
    into = ca.diagcat(ca.SX.eye(6 * kind.frames), own)
    z = own @ q if kind.through is not None else q
    y = kind.functions.values(z, theta) if kind.functions is not None else ca.SX(0, 1)
    value, tangent = _inner_kernels(kind, own.shape[0])
    M, h = value.call([x, z, y, into @ W, theta])
    X, Y, Z = tangent.call([x, z, y, into @ W, into @ W_dot, theta])
    outputs = [into.T @ X, into.T @ Y @ into, into.T @ Z @ own]
    return (
        ([x, q, W, theta], [ca.triu2symm(ca.triu(into.T @ M @ into)), into.T @ h]),
        ([x, q, W, W_dot, theta], outputs),
    )


@_kernels_of("shared_inertia", ("value", "tangent", "mass"), lanes=3)
def shared_inertia_kernels(kind: Inertia) -> Formulas:
    """Kernels of an inertia between two frames, without coordinates (W: 12 numbers; all in the frames' own axes).

    value    (pose of the second frame in the first, W, dW/dt, constants) -> forces 12
    tangent  same inputs -> X 12 x 6, Y 12 x 12, M 12 x 12: d(forces) = X delta + Y dW + M d(dW/dt), delta as in `inertia_kernels`
    mass     (pose, W, dW/dt, constants) -> M 12 x 12
    """
    x, none = ca.SX.sym("x", 12), ca.SX.sym("q", 0)
    W, W_dot, theta = ca.SX.sym("W", 12), ca.SX.sym("A", 12), ca.SX.sym("c", kind.constants)
    value, tangent = _inner_kernels(kind, 0)
    M, _ = value.call([x, none, none, W, theta])
    X, Y, _ = tangent.call([x, none, none, W, W_dot, theta])
    inputs = [x, W, W_dot, theta]
    return ((inputs, _forces(kind).call(inputs)), (inputs, [X, Y, M]), (inputs, [M]))


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
