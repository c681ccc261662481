"""The model's named outputs: their values in a state, and their exact derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from pliant.equations.kernel import coordinate_force_kernels, frame_force_kernels
from pliant.equations.symbolic import Tree, build_tree, route_state, stack_poses
from pliant.formula.base import world_jacobian
from pliant.geometry import se3, so3
from pliant.model.model import Model
from pliant.model.system import PLACEMENT_SIZE
from pliant.output.outputs import (
    ConstraintOutput,
    ContactOutput,
    CoordinateOutput,
    EnergyOutput,
    FrameOutput,
    LinkOutput,
    RodOutput,
    TendonOutput,
)

if TYPE_CHECKING:
    from pliant.equations.binding import Binding


def output_names(model: Model) -> tuple[str, ...]:
    """Names of the outputs in order."""
    return tuple(model.spec.outputs)


FRAME_UNITS = {
    "position": "m",
    "velocity": "m/s",
    "acceleration": "m/s^2",
    "rotation_vector": "rad",
    "quaternion": "-",
    "angular_velocity": "rad/s",
}
FORCE_UNITS = {"m": "N", "rad": "N m"}
TENDON_UNITS = {"length": "m", "rate": "m/s", "tension": "N"}
ROD_UNITS = {"angle": "rad", "plane": "rad", "radius": "m", "length": "m"}
LINK_UNITS = {"length": "m", "rate": "m/s", "force": "N"}


def output_units(model: Model) -> dict[str, str]:
    """SI unit of each output; empty where its components differ in unit or nothing is known of it."""
    return {name: _unit(model, spec) for name, spec in model.spec.outputs.items()}


def _unit(model: Model, spec: Any) -> str:
    if isinstance(spec, EnergyOutput):
        return "J"
    if isinstance(spec, FrameOutput):
        return FRAME_UNITS[spec.quantity]
    if isinstance(spec, CoordinateOutput):
        unit = next(c.unit for c in model.coordinates if c.name == spec.coordinate)
        if spec.quantity == "value" or not unit:
            return unit
        if spec.quantity == "force":
            return FORCE_UNITS.get(unit, "")
        # the rate of a free rotation is an angular velocity
        return ("rad" if unit == "-" else unit) + {"rate": "/s", "acceleration": "/s^2"}[spec.quantity]
    if isinstance(spec, LinkOutput):
        return LINK_UNITS.get(spec.quantity, "") if model.spec.links[spec.link].type == "axial" else ""
    if isinstance(spec, TendonOutput):
        return TENDON_UNITS[spec.quantity]
    if isinstance(spec, RodOutput):
        return ROD_UNITS[spec.quantity]
    if isinstance(spec, ContactOutput):
        return "N"
    if isinstance(spec, ConstraintOutput):
        rows = (spec.component,) if spec.component else model.spec.constraints[spec.constraint].rows
        kinds = {"N m" if row.startswith("r") else "N" for row in rows}
        return kinds.pop() if len(kinds) == 1 else ""
    return ""


def evaluate_outputs(
    model: Model,
    bound: Binding,
    t: float,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    multipliers: np.ndarray,
    dissipated: float,
) -> dict[str, Any]:
    """Values of all outputs: floats, or lists for vectors."""
    if not model.spec.outputs:
        return {}
    out: dict[str, Any] = {}
    signals, rates = bound.signals(t)[1], bound.signal_rates(t)[0]
    parts = output_function(model).call([q, v, a, multipliers, bound.constants, signals, rates])
    symbolic = iter(parts)
    energies: np.ndarray | None = None
    for name, spec in model.spec.outputs.items():
        if isinstance(spec, EnergyOutput):
            energies = bound.energies(t, q, v) if energies is None else energies
            values = {
                "kinetic": energies[0],
                "potential": energies[1],
                "total": energies[0] + energies[1],
                "dissipated": dissipated,
            }
            out[name] = float(values[spec.energy])
            continue
        value = np.asarray(next(symbolic)).ravel()
        out[name] = float(value[0]) if value.size == 1 else value.tolist()
    return out


def output_function(model: Model) -> ca.Function:
    """`(q, v, a, multipliers, constants, signals, signal rates) ->` one vector per output that is not an energy."""
    return model.once("output_function", lambda: _output_function(model))


def output_jacobians(model: Model) -> ca.Function:
    """Derivatives of all outputs in a row, by q, v, a, multipliers and signals, with the inputs of `output_function`."""
    return model.once("output_jacobians", lambda: _output_jacobians(model))


def _output_function(model: Model) -> ca.Function:
    system = model.system
    X = ca.SX
    q, v, a = (X.sym(n, k) for n, k in (("q", system.q_size), ("v", system.v_size), ("a", system.v_size)))
    multipliers, theta = X.sym("multipliers", system.rows), X.sym("constants", len(system.constants.numbers))
    signals, rates = X.sym("signals", system.signal_count), X.sym("signal_rates", system.signal_count)
    tree = build_tree(system, X, q, v, a, theta, X(ca.DM.zeros(6)), _needed_nodes(model))
    context = _Context(model, tree, q, v, a, multipliers, theta, signals, rates)
    outputs = [
        ca.densify(X(context.value(spec))) for spec in model.spec.outputs.values() if not isinstance(spec, EnergyOutput)
    ]
    return ca.Function("outputs", [q, v, a, multipliers, theta, signals, rates], outputs)


def _output_jacobians(model: Model) -> ca.Function:
    function = output_function(model)
    x = [ca.MX.sym(f"x{i}", *function.size_in(i)) for i in range(function.n_in())]
    stacked = ca.vertcat(*[ca.vec(part) for part in function.call(x)])
    by = (x[0], x[1], x[2], x[3], x[5])
    return ca.Function("output_jacobians", x, [ca.densify(ca.jacobian(stacked, s)) for s in by])


def _needed_nodes(model: Model) -> set[int]:
    names: set[str] = set()
    nodes: set[int] = set()
    for spec in model.spec.outputs.values():
        if isinstance(spec, FrameOutput):
            names |= {spec.frame, spec.relative_to}
        elif isinstance(spec, LinkOutput):
            nodes |= set(model.system.frame_forces[model.link_forces[spec.link]].nodes)
        elif isinstance(spec, TendonOutput):
            nodes |= set(model.system.routes[model.routes[spec.tendon]].nodes)
        elif isinstance(spec, ContactOutput):
            nodes |= {n for k in model.contact_forces[spec.contact] for n in model.system.frame_forces[k].nodes}
    nodes |= {model.frames[name].node for name in names}
    return {above for node in nodes for above in model.system.path(node)}


class _Context:
    def __init__(
        self, model: Model, tree: Tree, q: Any, v: Any, a: Any, multipliers: Any, theta: Any, signals: Any, rates: Any
    ):
        self.model, self.tree, self.q, self.v, self.a = model, tree, q, v, a
        self.multipliers, self.theta, self.signals, self.signal_rates = multipliers, theta, signals, rates

    def value(self, spec: Any) -> Any:
        if isinstance(spec, FrameOutput):
            return self._component(self._frame(spec), spec.component, spec.quantity == "quaternion")
        if isinstance(spec, CoordinateOutput):
            return self._coordinate(spec)
        if isinstance(spec, LinkOutput):
            return self._link(spec)
        if isinstance(spec, TendonOutput):
            return self._tendon(spec)
        if isinstance(spec, RodOutput):
            return self._arc(spec)
        if isinstance(spec, ContactOutput):
            return self._component(self._contact(spec), spec.component, False)
        assert isinstance(spec, ConstraintOutput)
        return self._constraint(spec)

    @staticmethod
    def _component(vector: Any, component: str | None, is_quaternion: bool) -> Any:
        if component is None:
            return vector
        if component == "norm":
            return ca.norm_2(vector)
        return vector[("wxyz" if is_quaternion else "xyz").index(component)]

    def _placed(self, name: str) -> tuple[Any, Any, Any, Any]:
        """Rotation, position, twist and acceleration of a frame's node, taken to the frame."""
        entry = self.model.frames[name]
        at = entry.constants
        placement = ca.reshape(self.theta[at : at + 9], 3, 3), self.theta[at + 9 : at + 12]
        R, p = se3.compose(self.tree.poses[entry.node], placement)
        return R, p, self.tree.twists[entry.node], self.tree.accelerations[entry.node]

    def _frame(self, spec: FrameOutput) -> Any:
        R, p, V, A = self._placed(spec.frame)
        R0, p0, V0, A0 = self._placed(spec.relative_to)
        w, w0, turn, turn0 = V[3:6], V0[3:6], A[3:6], A0[3:6]
        velocity = V[0:3] + ca.cross(w, p)
        if spec.quantity == "position":
            return R0.T @ (p - p0)
        if spec.quantity == "rotation_vector":
            return so3.log(R0.T @ R)
        if spec.quantity == "quaternion":
            Q = so3.matrix_quaternion(R0.T @ R)
            return ca.if_else(Q[0] < 0, -Q, Q)
        if spec.quantity == "angular_velocity":
            return R0.T @ (w - w0)
        # seen from the moving reference frame: subtract the velocity of its point under the frame
        relative = velocity - (V0[0:3] + ca.cross(w0, p))
        if spec.quantity == "velocity":
            return R0.T @ relative
        acceleration = A[0:3] + ca.cross(turn, p) + ca.cross(w, velocity)
        carried = A0[0:3] + ca.cross(turn0, p) + ca.cross(w0, V0[0:3] + ca.cross(w0, p))
        return R0.T @ (acceleration - carried - 2 * ca.cross(w0, relative))

    def _coordinate(self, spec: CoordinateOutput) -> Any:
        entry = next(c for c in self.model.coordinates if c.name == spec.coordinate)
        q_size, v_size = (4, 3) if entry.is_rotation else (1, 1)
        q, v, a = (
            self.q[entry.q_at : entry.q_at + q_size],
            self.v[entry.v_at : entry.v_at + v_size],
            self.a[entry.v_at : entry.v_at + v_size],
        )
        if spec.quantity == "value":
            return q
        if spec.quantity == "rate":
            return v
        if spec.quantity == "acceleration":
            return a
        if spec.coordinate not in self.model.coordinate_forces:
            return ca.DM.zeros(v_size)
        f = self.model.system.coordinate_forces[self.model.coordinate_forces[spec.coordinate]]
        return coordinate_force_kernels(f.kind).functions[0](
            q,
            v,
            self.theta[f.constants : f.constants + f.kind.constants],
            self.signals[f.signals : f.signals + f.kind.signals],
        )[0]

    def _link(self, spec: LinkOutput) -> Any:
        link = self.model.spec.links[spec.link]
        f = self.model.system.frame_forces[self.model.link_forces[spec.link]]
        constants = self.theta[f.constants : f.constants + f.kind.constants]
        symbols = [(ca.SX.sym(f"R{i}", 3, 3), ca.SX.sym(f"p{i}", 3)) for i in range(2)]
        deformation = link.deformation(symbols, constants)
        jacobian = world_jacobian(deformation, symbols)
        where = [x for pair in symbols for x in pair]
        poses = [self.tree.poses[n] for n in f.nodes]
        into = [ca.densify(x) for pair in poses for x in pair]  # the world's pose has zeros
        value, G = ca.substitute([ca.SX(deformation), jacobian], where, into)
        if spec.quantity in ("length", "deformation"):
            return value
        twists = ca.vertcat(*[self.tree.twists[n] for n in f.nodes])
        if spec.quantity == "rate":
            return G @ twists
        wrench = frame_force_kernels(f.kind).functions[0](
            stack_poses(poses), twists, constants, self.signals[f.signals : f.signals + f.kind.signals]
        )[0]
        # the force conjugate to the deformation: least squares undoes wrench = G' force exactly
        force = ca.solve(G @ G.T, G @ wrench)
        return -force if value.numel() == 1 else force

    def _tendon(self, spec: TendonOutput) -> Any:
        route = self.model.system.routes[self.model.routes[spec.tendon]]
        state = route_state(route, self.tree, self.theta, self.signals, self.signal_rates)
        return {"length": state.length, "rate": state.rate, "tension": state.tension}[spec.quantity]

    def _contact(self, spec: ContactOutput) -> Any:
        """Force on all points together, in world axes."""
        total = ca.SX.zeros(3)
        for index in self.model.contact_forces[spec.contact]:
            f = self.model.system.frame_forces[index]
            poses = stack_poses([self.tree.poses[n] for n in f.nodes])
            twists = ca.vertcat(*[self.tree.twists[n] for n in f.nodes])
            constants = self.theta[f.constants : f.constants + f.kind.constants]
            total += frame_force_kernels(f.kind).functions[0](poses, twists, constants, ca.SX(0, 1))[0][0:3]
        return total

    def _arc(self, spec: RodOutput) -> Any:
        arc = self.model.arcs[spec.rod][spec.section - 1]
        node = self.model.system.nodes[arc.node]
        assert node is not None, "an arc moves its tip"
        element = self.model.system.elements[node.element]
        at = node.constants + PLACEMENT_SIZE
        q = self.q[element.q_at : element.q_at + element.q_size]
        bend, length = arc.coordinates.shape(q, self.theta[at + 1 : at + node.motion.constants])
        angle = ca.norm_2(bend)
        if spec.quantity == "angle":
            return angle
        if spec.quantity == "plane":
            return ca.atan2(-bend[0], bend[1])
        return length if spec.quantity == "length" else length / angle

    def _constraint(self, spec: ConstraintOutput) -> Any:
        row = self.model.constraint_rows[spec.constraint]
        rows = self.model.spec.constraints[spec.constraint].rows
        if spec.component is None:
            return self.multipliers[row : row + len(rows)]
        return self.multipliers[row + rows.index(spec.component)]
