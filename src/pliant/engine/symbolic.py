"""The equations as CasADi expressions: for optimal control, for printing, and for machines without a compiler.

The same kernels as in compiled code, called along the tree by Python. Expressions are SX (inlined, for small systems) or MX
(kernels remain function calls, for large ones).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca

from pliant.engine.kernel import (
    constraint_kernels,
    coordinate_force_kernels,
    frame_force_kernels,
    inertia_kernels,
    motion_kernels,
    route_kernels,
)
from pliant.engine.model.model import Model
from pliant.engine.program import EvaluationError
from pliant.language.arguments import ArgumentError
from pliant.language.message_text import describe
from pliant.parts.assembly.system import (
    MASS_SIZE,
    PLACEMENT_SIZE,
    ConstraintInstance,
    PartContributions,
    RouteInstance,
    System,
)
from pliant.parts.formula.route import FRICTION, measure, slide
from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion import Motion

# Number of nodes above which the inlined graph is too large.
INLINE_UP_TO = 80


@dataclass(frozen=True)
class SymbolicSystem:
    """Symbols and expressions of a system's equations.

    Symbols: positions `q`, rates `v`, accelerations `a`, constraint multipliers, element constants, signals with their
    first and second derivatives. Expressions: `residual` = M a + h (without constraint forces), constraint values
    `phi`, their rates and accelerations, node poses and twists, energies [J] and powers [W].
    """

    q: Any
    v: Any
    a: Any
    constants: Any
    signals: Any
    signal_rates: Any
    signal_accelerations: Any
    residual: Any
    phi: Any
    phi_rate: Any
    phi_acceleration: Any
    rate_matrix: Any
    poses: list[Pose]
    twists: list[Any]
    accelerations: list[Any]
    kinetic: Any
    potential: Any
    dissipation: Any
    supply: Any


def symbolic_system(system: System, *, inline: bool | None = None) -> SymbolicSystem:
    """Build the expressions; `inline` chooses SX (True) or MX (False), by size when None."""
    X = ca.SX if (inline if inline is not None else len(system.nodes) <= INLINE_UP_TO) else ca.MX
    q, v, a = X.sym("q", system.q_size), X.sym("v", system.v_size), X.sym("a", system.v_size)
    theta = X.sym("constants", len(system.constants.numbers))
    s, sd, sdd = (X.sym(n, system.signal_count) for n in ("signals", "signal_rates", "signal_accelerations"))
    gravity = ca.vertcat(theta[0:3], ca.DM.zeros(3))
    tree = build_tree(system, X, q, v, a, theta, gravity)
    residual, energy, dissipation, supply, wrenches = _forces(system, X, q, v, theta, s, sd, tree)
    kinetic, weight = _inertia(system, theta, tree, wrenches, gravity)
    more = _distributed(system, q, v, a, theta, tree, wrenches, residual, gravity)
    kinetic, weight = kinetic + more[0], weight + more[1]
    # propagate wrenches to the ground and add their work on each coordinate to the residual
    carried = list(wrenches)
    for element in reversed(system.elements):
        for node in element.nodes:
            work = tree.subspaces[node].T @ carried[node]
            for k in range(element.v_size):
                residual[element.v_at + k] += work[k]
            carried[element.base] = carried[element.base] + carried[node]
    phi, phi_rate, phi_acceleration = _constraints(system, X, q, v, a, theta, s, sd, sdd, tree, gravity)
    flat = ca.vertcat(*residual) if residual else X(0, 1)
    return SymbolicSystem(
        q, v, a, theta, s, sd, sdd, flat, phi, phi_rate, phi_acceleration,
        _rate_matrix(system, q), tree.poses, tree.twists, [x + gravity for x in tree.accelerations],
        kinetic, weight + energy, dissipation, supply,
    )  # fmt: skip


@dataclass(frozen=True)
class Tree:
    """World poses, twists, accelerations and subspaces by node (None for omitted nodes)."""

    poses: list[Any]
    twists: list[Any]
    accelerations: list[Any]
    subspaces: list[Any]


def build_tree(
    system: System, X: Any, q: Any, v: Any, a: Any, theta: Any, gravity: Any, nodes: set[int] | None = None
) -> Tree:
    """Kinematics from the ground outward, of all nodes or of a set that contains all their bases.

    Accelerations are relative to a ground that accelerates upward with gravity.
    """
    tree = Tree([(X(ca.DM.eye(3)), X(ca.DM.zeros(3)))], [X(ca.DM.zeros(6))], [-gravity], [X(6, 0)])
    for number, node in enumerate(system.nodes[1:], start=1):
        assert node is not None
        if nodes is not None and number not in nodes:
            for part in (tree.poses, tree.twists, tree.accelerations, tree.subspaces):
                part.append(None)
            continue
        element = system.elements[node.element]
        base = element.base
        # two indices: with a single index CasADi would return a scalar
        qe = q[element.q_at : element.q_at + element.q_size, 0]
        ve, ae = (x[element.v_at : element.v_at + element.v_size, 0] for x in (v, a))
        at = node.constants
        placement = (ca.reshape(theta[at : at + 9], 3, 3), theta[at + 9 : at + 12])
        own = theta[at + 12 : at + 12 + node.motion.constants]
        R, p, local, convection = motion_kernels(node.motion).functions[0](qe, ve, own)
        joint = se3.compose(tree.poses[base], placement)
        S = se3.transform_twist(joint, local)
        bias = se3.cross_twist(tree.twists[base], S @ ve) + se3.transform_twist(joint, convection)
        tree.poses.append(se3.compose(joint, (R, p)))
        tree.twists.append(tree.twists[base] + S @ ve)
        tree.accelerations.append(tree.accelerations[base] + S @ ae + bias)
        tree.subspaces.append(S)
    return tree


def stack_poses(poses: list[Pose]) -> Any:
    """Twelve numbers per pose, the form required by kernels."""
    return ca.vertcat(*[ca.vertcat(ca.vec(R), p) for R, p in poses])


@dataclass(frozen=True)
class RouteState:
    """A routed line in a state: world points, pull on each per unit of the tension at the first one, length, rate, tension at the
    first point, ratio of the tensions at the last and the first point, and the line's scalars (energy, dissipation, supply)."""

    points: list[Any]
    pulls: list[Any]
    length: Any
    rate: Any
    tension: Any
    last: Any
    scalars: Any


def route_state(route: RouteInstance, tree: Tree, theta: Any, s: Any, sd: Any) -> RouteState:
    """A routed line in the state of a tree."""
    points, velocities = [], []
    for k, node in enumerate(route.nodes):
        at = route.constants + 3 * k
        (R, p), twist = tree.poses[node], tree.twists[node]
        points.append(p + R @ theta[at : at + 3])
        velocities.append(twist[0:3] + ca.cross(twist[3:6], points[-1]))
    spans = measure(points, velocities)
    at, first, kind = route.law_constants, route.signals, route.kind
    constants, signals, rates = theta[at : at + kind.constants], s[first : first + kind.signals], sd
    tension, scalars = route_kernels(kind).functions[0](
        spans.length, spans.rate, constants, signals, rates[first : first + kind.signals]
    )
    if not route.has_friction:
        return RouteState(
            points, spans.pulls([1.0] * len(spans.lengths)), spans.length, spans.rate, tension, 1.0, scalars
        )
    winding = rates[first] if kind.signals else 0.0
    at = route.friction_constants
    rubbed = slide(spans, theta[at : at + FRICTION], spans.rate + winding if kind.coupled else None)
    mean, tension = tension, tension * rubbed.first
    wound = (tension - mean) * winding if kind.coupled else 0.0
    scalars = scalars + ca.vertcat(0.0, tension * rubbed.lost, wound)
    return RouteState(points, spans.pulls(rubbed.shares), spans.length, spans.rate, tension, rubbed.shares[-1], scalars)


def _forces(
    system: System, X: Any, q: Any, v: Any, theta: Any, s: Any, sd: Any, tree: Tree
) -> tuple[list[Any], Any, Any, Any, list[Any]]:
    residual = [X(0) for _ in range(system.v_size)]
    wrenches = [X(ca.DM.zeros(6)) for _ in system.nodes]
    totals = X(ca.DM.zeros(3))
    for c in system.coordinate_forces:
        kernel = coordinate_force_kernels(c.kind).functions[0]
        qc = q[c.q_at : c.q_at + kernel.size1_in(0)]
        vc = v[c.v_at : c.v_at + kernel.size1_in(1)]
        force, scalars = kernel(
            qc, vc, theta[c.constants : c.constants + c.kind.constants], s[c.signals : c.signals + c.kind.signals]
        )
        for k in range(kernel.size1_in(1)):
            residual[c.v_at + k] -= force[k]
        totals += scalars
    for f in system.frame_forces:
        force, scalars = frame_force_kernels(f.kind).functions[0](
            stack_poses([tree.poses[n] for n in f.nodes]),
            ca.vertcat(*[tree.twists[n] for n in f.nodes]),
            theta[f.constants : f.constants + f.kind.constants],
            s[f.signals : f.signals + f.kind.signals],
        )
        for k, node in enumerate(f.nodes):
            wrenches[node] -= force[6 * k : 6 * k + 6]
        totals += scalars
    for route in system.routes:
        state = route_state(route, tree, theta, s, sd)
        for node, point, pull in zip(route.nodes, state.points, state.pulls, strict=True):
            force = state.tension * pull
            wrenches[node] -= ca.vertcat(force, ca.cross(point, force))
        totals += state.scalars
    return residual, totals[0], totals[1], totals[2], wrenches


def _inertia(system: System, theta: Any, tree: Tree, wrenches: list[Any], gravity: Any) -> tuple[Any, Any]:
    """Add inertia wrenches to `wrenches`; returns kinetic and gravitational energy."""
    kinetic: Any = 0
    weight: Any = 0
    for node, at in system.masses.items():
        spatial, first = _spatial_inertia(theta[at : at + MASS_SIZE], tree.poses[node])
        momentum = spatial @ tree.twists[node]
        kinetic += 0.5 * ca.dot(tree.twists[node], momentum)
        weight -= ca.dot(gravity[0:3], first)
        wrenches[node] += spatial @ tree.accelerations[node] + se3.cross_wrench(tree.twists[node], momentum)
    return kinetic, weight


def _spatial_inertia(c: Any, pose: Pose) -> tuple[Any, Any]:
    """Spatial inertia of a rigid mass in world axes, 6 x 6, and its first moment about the world's origin, from its ten numbers."""
    R, p = pose
    inertia = ca.vertcat(ca.horzcat(c[4], c[7], c[8]), ca.horzcat(c[7], c[5], c[9]), ca.horzcat(c[8], c[9], c[6]))
    mass, arm = c[0], R @ c[1:4]
    first = arm + mass * p
    cross = so3.hat(p) @ so3.hat(arm)
    about = R @ inertia @ R.T - cross - cross.T - mass * so3.hat(p) @ so3.hat(p)
    return ca.vertcat(ca.horzcat(mass * ca.DM.eye(3), -so3.hat(first)), ca.horzcat(so3.hat(first), about)), first


def mass_energies(
    system: System, part: PartContributions, q: Any, v: Any, a: Any, theta: Any, tree: Tree
) -> tuple[Any, Any]:
    """Kinetic and gravitational energy [J] of the masses of a part."""
    gravity = ca.vertcat(theta[0:3], ca.DM.zeros(3))
    own = replace(system, inertias=tuple(system.inertias[k] for k in part.inertias))
    ignored: list[Any] = [ca.SX.zeros(6) for _ in system.nodes]
    kinetic, weight = _distributed(own, q, v, a, theta, tree, ignored, [ca.SX(0)] * system.v_size, gravity)
    for node, at in part.masses:
        spatial, first = _spatial_inertia(theta[at : at + MASS_SIZE], tree.poses[node])
        kinetic += 0.5 * ca.dot(tree.twists[node], spatial @ tree.twists[node])
        weight -= ca.dot(gravity[0:3], first)
    return kinetic, weight


def carried_function(system: System, nodes: Sequence[int]) -> ca.Function:
    """`(q, v, a, multipliers, constants, signals, signal rates) ->` the wrenches transmitted by nodes to their bases (6 each), as
    computed by `pl_carried` of the runtime: for their exact derivatives."""
    X: Any = ca.SX if len(system.nodes) <= INLINE_UP_TO else ca.MX
    q, v, a = X.sym("q", system.q_size), X.sym("v", system.v_size), X.sym("a", system.v_size)
    multipliers, theta = X.sym("multipliers", system.rows), X.sym("constants", len(system.constants.numbers))
    s, sd = X.sym("signals", system.signal_count), X.sym("signal_rates", system.signal_count)
    gravity = ca.vertcat(theta[0:3], ca.DM.zeros(3))
    tree = build_tree(system, X, q, v, a, theta, gravity)
    residual, _, _, _, wrenches = _forces(system, X, q, v, theta, s, sd, tree)
    _inertia(system, theta, tree, wrenches, gravity)
    _distributed(system, q, v, a, theta, tree, wrenches, residual, gravity)
    for c in system.constraints:
        G = _constraint_kernel(c, tree, theta)[1]
        for k, node in enumerate(c.nodes):
            wrenches[node] -= G[:, 6 * k : 6 * k + 6].T @ multipliers[c.row : c.row + c.kind.size]
    for element in reversed(system.elements):
        for node in element.nodes:
            wrenches[element.base] = wrenches[element.base] + wrenches[node]
    carried = ca.vertcat(*[wrenches[node] for node in nodes])
    return ca.Function("carried", [q, v, a, multipliers, theta, s, sd], [ca.densify(carried)])


def constraint_wrench(c: ConstraintInstance, tree: Tree, theta: Any, multipliers: Any) -> Any:
    """World wrench of a constraint on its second frame (6)."""
    G = _constraint_kernel(c, tree, theta)[1]
    # the axes of the displacements may belong to the same node
    slots = [k for k, node in enumerate(c.nodes) if k == 1 or (k == 2 and node == c.nodes[1])]
    return sum(G[:, 6 * k : 6 * k + 6].T @ multipliers[c.row : c.row + c.kind.size] for k in slots)


def _constraint_kernel(c: ConstraintInstance, tree: Tree, theta: Any) -> Any:
    poses, twists = stack_poses([tree.poses[n] for n in c.nodes]), ca.vertcat(*[tree.twists[n] for n in c.nodes])
    return constraint_kernels(c.kind).functions[0](poses, twists, theta[c.constants : c.constants + c.kind.constants])


def _distributed(
    system: System, q: Any, v: Any, a: Any, theta: Any, tree: Tree, wrenches: list[Any], residual: list[Any],
    gravity: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """Add forces of non-rigid inertia; returns kinetic and gravitational energy."""
    kinetic: Any = 0
    weight: Any = 0
    for inert in system.inertias:
        frames = []
        for i, node in enumerate(inert.nodes):
            at = inert.constants + PLACEMENT_SIZE * i
            placement = (ca.reshape(theta[at : at + 9], 3, 3), theta[at + 9 : at + 12])
            frames.append(se3.compose(tree.poses[node], placement))
        owners = [system.elements[e] for e in inert.elements]
        local = [se3.inverse(frame) for frame in frames]
        W, W_dot = (
            ca.vertcat(
                *[se3.transform_twist(x, twists[n]) for x, n in zip(local, inert.nodes, strict=True)],
                *[rates[e.v_at : e.v_at + e.v_size] for e in owners],
            )
            for twists, rates in ((tree.twists, v), (tree.accelerations, a))
        )
        second = stack_poses([se3.compose(local[0], frame) for frame in frames[1:]])
        if inert.kind.weightless:
            W_dot += ca.vertcat(*[se3.transform_twist(x, gravity) for x in local])
        own = theta[inert.own_constants : inert.own_constants + inert.kind.constants]
        positions = ca.vertcat(*[q[e.q_at : e.q_at + e.q_size] for e in owners])
        M, h = inertia_kernels(inert.kind).functions[0](second, positions, W, own)
        forces = M @ W_dot + h
        kinetic += ca.dot(W, M @ W) / 2
        for i, (node, (R, p)) in enumerate(zip(inert.nodes, frames, strict=True)):
            force, moment = R @ forces[6 * i : 6 * i + 3], R @ forces[6 * i + 3 : 6 * i + 6]
            wrenches[node] += ca.vertcat(force, moment + ca.cross(p, force))
        at = 6 * len(frames)
        for element in owners:
            for k in range(element.v_size):
                residual[element.v_at + k] += forces[at + k]
            at += element.v_size
        if inert.kind.weightless:
            continue
        # for a common translation of the frames: total mass, and the moment about the world's origin
        shift = ca.vertcat(*[ca.vertcat(R.T, ca.DM.zeros(3, 3)) for R, _ in frames], ca.DM.zeros(inert.kind.v_size, 3))
        momentum, moment = M @ shift, ca.DM.zeros(3, 3)
        for i, (R, p) in enumerate(frames):
            linear = R @ momentum[6 * i : 6 * i + 3, :]
            moment += R @ momentum[6 * i + 3 : 6 * i + 6, :] + so3.hat(p) @ linear
        weight -= ca.dot(gravity[0:3], so3.vee(moment))
    return kinetic, weight


def _constraints(
    system: System, X: Any, q: Any, v: Any, a: Any, theta: Any, s: Any, sd: Any, sdd: Any, tree: Tree, gravity: Any
) -> tuple[Any, Any, Any]:
    values: list[Any] = [X(0)] * system.rows
    rates: list[Any] = [X(0)] * system.rows
    accelerations: list[Any] = [X(0)] * system.rows
    for c in system.constraints:
        twists = ca.vertcat(*[tree.twists[n] for n in c.nodes])
        e, G, gamma = _constraint_kernel(c, tree, theta)
        rate = G @ twists
        acceleration = G @ ca.vertcat(*[tree.accelerations[n] + gravity for n in c.nodes]) + gamma
        for k in range(c.kind.size):
            values[c.row + k], rates[c.row + k], accelerations[c.row + k] = e[k], rate[k], acceleration[k]
    for line in system.linear_constraints:
        values[line.row] = -theta[line.offset]
        for (i, j), k in zip(line.coordinates, line.coefficients, strict=True):
            values[line.row] = values[line.row] + theta[k] * q[i]
            rates[line.row] = rates[line.row] + theta[k] * v[j]
            accelerations[line.row] = accelerations[line.row] + theta[k] * a[j]
    for row, signal in enumerate(system.row_signals()):
        if signal >= 0:
            values[row] = values[row] - s[signal]
            rates[row] = rates[row] - sd[signal]
            accelerations[row] = accelerations[row] - sdd[signal]
    if not system.rows:
        return X(0, 1), X(0, 1), X(0, 1)
    return ca.vertcat(*values), ca.vertcat(*rates), ca.vertcat(*accelerations)


def _rate_matrix(system: System, q: Any) -> Any:
    blocks = []
    for element in system.elements:
        carrier = Motion("carrier", element.parts, 0, lambda q, c: se3.identity())
        blocks.append(carrier.rate_matrix(q[element.q_at : element.q_at + element.q_size, 0]))
    return ca.diagcat(*blocks) if blocks else ca.DM(0, 0)


# -- CasADi functions of a robot's equations, in terms of its inputs and parameters --------------------------------------

WITH_FORCES = ("forward_dynamics", "inverse_dynamics", "energy")
"""Functions that would lack the forces of contacts."""
NAMES = ("forward_dynamics", "inverse_dynamics", "mass_matrix", "constraints", "energy", "rates", "frame:NAME")


def casadi_function(model: Model, name: str) -> ca.Function:
    """The function of that name; see `Equations.casadi`."""
    if not isinstance(name, str):
        raise ArgumentError(f"the name of a CasADi function cannot be {describe(name)}", f"known: {', '.join(NAMES)}")
    if model.system.contacts.laws and name in WITH_FORCES:
        raise EvaluationError(
            f"CasADi's {name} does not include the contacts of this robot, which only the compiled equations detect."
            " Use the methods of Equations instead, or load the model without its contacts."
        )
    x = symbolic_system(model.system)
    X = type(x.q)
    t, u = X.sym("t"), X.sym("u", len(model.input_names))
    p = X.sym("p", len(model.parameter_names))
    bind = _binding(model, x, t, u, p)
    if name == "inverse_dynamics":
        return ca.Function(name, [t, x.q, x.v, x.a, u, p], bind([x.residual]), list("tqvaup"), ["residual"])
    if name == "forward_dynamics":
        return _forward(name, x, bind, [t, x.q, x.v, u, p])
    if name == "mass_matrix":
        return ca.Function(name, [x.q, p], bind([ca.jacobian(x.residual, x.a)]), ["q", "p"], ["M"])
    if name == "constraints":
        return ca.Function(name, [t, x.q, x.v, u, p], bind([x.phi, x.phi_rate]), list("tqvup"), ["value", "rate"])
    if name == "energy":
        energies = bind([x.kinetic, x.potential])
        return ca.Function(name, [t, x.q, x.v, u, p], energies, list("tqvup"), ["kinetic", "potential"])
    if name == "rates":
        return ca.Function(name, [x.q, x.v], [x.rate_matrix @ x.v], ["q", "v"], ["q_dot"])
    if name.startswith("frame:") and name[6:] in model.frames:
        entry = model.frames[name[6:]]
        R, position = x.poses[entry.node]
        at = entry.constants
        placement = ca.reshape(x.constants[at : at + 9], 3, 3), x.constants[at + 9 : at + 12]
        outputs = bind([R @ placement[0], position + R @ placement[1]])
        return ca.Function("frame", [x.q, p], outputs, ["q", "p"], ["rotation", "position"])
    known = ", ".join(NAMES)
    raise ArgumentError(f"no CasADi function '{name}'; there are {known} (NAME one of {', '.join(model.frames)})")


def _binding(model: Model, x: SymbolicSystem, t: Any, u: Any, p: Any) -> Callable[[list[Any]], list[Any]]:
    """Replaces constants and signals by their expressions of time, inputs and parameters."""
    constants = model.system.constants.expression(p)
    signals: list[Any] = []
    if model.plan.signals is not None:
        # inputs are constant here: optimization varies them
        zero = ca.DM.zeros(len(model.plan.kinds))
        held = ca.vertcat(u, ca.DM.zeros(len(model.plan.kinds) - u.numel()))
        signals = list(model.plan.signals(t, held, zero, zero, p))

    def bind(expressions: list[Any]) -> list[Any]:
        old, new = [x.constants], [type(p)(constants)]
        if signals:
            old += [x.signals, x.signal_rates, x.signal_accelerations]
            new += signals
        if isinstance(p, ca.SX):
            return list(ca.substitute([ca.SX(e) for e in expressions], old, [ca.SX(n) for n in new]))
        return list(ca.graph_substitute([ca.MX(e) for e in expressions], old, new))

    return bind


def _forward(name: str, x: SymbolicSystem, bind: Any, inputs: list[Any]) -> ca.Function:
    """Accelerations by one linear solve, which remains a node of an MX graph for any kind of terms."""
    n, m = x.v.numel(), x.phi.numel()
    J = ca.jacobian(x.phi_rate, x.v)
    M = ca.jacobian(x.residual, x.a)
    terms = bind([M, x.residual, J, x.phi_acceleration])
    zero = type(x.a)(ca.DM.zeros(n))
    if isinstance(x.a, ca.SX):
        terms = ca.substitute(terms, [x.a], [zero])
    else:
        terms = ca.graph_substitute(terms, [x.a], [zero])
    evaluate = ca.Function("terms", inputs, [ca.densify(e) for e in terms])
    outer = [ca.MX.sym(label, *symbol.shape) for label, symbol in zip("tqvup", inputs, strict=True)]
    M, h, J, gamma = evaluate(*outer)
    if not m:
        return ca.Function(name, outer, [ca.solve(M, -h)], list("tqvup"), ["a"])
    kkt = ca.vertcat(ca.horzcat(M, -J.T), ca.horzcat(J, ca.MX(m, m)))
    solution = ca.solve(ca.densify(kkt), ca.vertcat(-h, -gamma))
    return ca.Function(name, outer, [solution[:n], solution[n:]], list("tqvup"), ["a", "multipliers"])
