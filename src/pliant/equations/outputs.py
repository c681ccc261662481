"""The model's named outputs: their values in a state, and their exact derivatives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from pliant.equations.kernel import coordinate_force_kernels, frame_force_kernels
from pliant.equations.symbolic import Tree, build_tree, route_state, stack_poses
from pliant.geometry import se3
from pliant.model.model import Model
from pliant.model.system import PLACEMENT_SIZE, CoordinateForceInstance, FrameForceInstance
from pliant.output.base import FrameSymbols, NumericOutput, SymbolicOutput

if TYPE_CHECKING:
    from pliant.equations.binding import Binding


def output_names(model: Model) -> tuple[str, ...]:
    """Names of the outputs in order."""
    return tuple(model.spec.outputs)


def symbolic_outputs(model: Model) -> dict[str, SymbolicOutput]:
    """The outputs that are functions of the state, in the order of `output_function`."""
    return {name: spec for name, spec in model.spec.outputs.items() if isinstance(spec, SymbolicOutput)}


def output_units(model: Model) -> dict[str, str]:
    """SI unit of each output; empty where its components differ in unit or nothing is known of it."""
    coordinates = {entry.name: entry.unit for entry in model.coordinates}
    return {name: spec.unit(model.spec, coordinates) for name, spec in model.spec.outputs.items()}


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
    signals, rates = bound.signals(t)[1], bound.signal_rates(t)[0]
    parts = output_function(model).call([q, v, a, multipliers, bound.constants, signals, rates])
    values = {name: np.asarray(part).ravel() for name, part in zip(symbolic_outputs(model), parts, strict=True)}
    if len(values) < len(model.spec.outputs):
        kinetic, potential = bound.energies(t, q, v)[:2]
        values = with_numeric(model, values, kinetic, potential, dissipated)
    return {name: float(np.ravel(x)[0]) if np.size(x) == 1 else x.tolist() for name, x in values.items()}


def with_numeric(
    model: Model, symbolic: dict[str, Any], kinetic: Any, potential: Any, dissipated: Any
) -> dict[str, Any]:
    """All outputs in the order of the model: those given, and those that follow from energies [J]."""
    return {
        name: spec.value(kinetic, potential, dissipated) if isinstance(spec, NumericOutput) else symbolic[name]
        for name, spec in model.spec.outputs.items()
    }


def output_function(model: Model) -> ca.Function:
    """`(q, v, a, multipliers, constants, signals, signal rates) ->` one vector per symbolic output."""
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
    specs = symbolic_outputs(model).values()
    nodes = {above for spec in specs for node in spec.nodes(model) for above in system.path(node)}
    tree = build_tree(system, X, q, v, a, theta, X(ca.DM.zeros(6)), nodes)
    state = StateSymbols(model, tree, q, v, a, multipliers, theta, signals, rates)
    outputs = [ca.densify(X(spec.value(state))) for spec in specs]
    return ca.Function("outputs", [q, v, a, multipliers, theta, signals, rates], outputs)


def _output_jacobians(model: Model) -> ca.Function:
    function = output_function(model)
    x = [ca.MX.sym(f"x{i}", *function.size_in(i)) for i in range(function.n_in())]
    stacked = ca.vertcat(*[ca.vec(part) for part in function.call(x)])
    by = (x[0], x[1], x[2], x[3], x[5])
    return ca.Function("output_jacobians", x, [ca.densify(ca.jacobian(stacked, s)) for s in by])


@dataclass
class StateSymbols:
    """A state in symbols, as outputs see it (`output/base.py: Symbols`)."""

    model: Model
    tree: Tree
    q: Any
    v: Any
    a: Any
    multipliers: Any
    theta: Any
    signals: Any
    signal_rates: Any

    def frame(self, name: str) -> FrameSymbols:
        """The motion of a frame."""
        entry = self.model.frames[name]
        at = entry.constants
        placement = ca.reshape(self.theta[at : at + 9], 3, 3), self.theta[at + 9 : at + 12]
        R, p = se3.compose(self.tree.poses[entry.node], placement)
        return FrameSymbols(R, p, self.tree.twists[entry.node], self.tree.accelerations[entry.node])

    def poses(self, nodes: Iterable[int]) -> list[Any]:
        """Poses of nodes."""
        return [self.tree.poses[n] for n in nodes]

    def twists(self, nodes: Iterable[int]) -> Any:
        """Twists of nodes, one under the other."""
        return ca.vertcat(*[self.tree.twists[n] for n in nodes])

    def constants(self, force: FrameForceInstance | CoordinateForceInstance) -> Any:
        """The constants of a force."""
        return self.theta[force.constants : force.constants + force.kind.constants]

    def wrench(self, force: FrameForceInstance) -> Any:
        """Wrenches of a force on its nodes, one under the other."""
        poses, twists = stack_poses(self.poses(force.nodes)), self.twists(force.nodes)
        return frame_force_kernels(force.kind).functions[0](poses, twists, self.constants(force), self._driven(force))[
            0
        ]

    def coordinate_force(self, force: CoordinateForceInstance, q: Any, v: Any) -> Any:
        """A force on coordinates."""
        return coordinate_force_kernels(force.kind).functions[0](q, v, self.constants(force), self._driven(force))[0]

    def _driven(self, force: FrameForceInstance | CoordinateForceInstance) -> Any:
        return self.signals[force.signals : force.signals + force.kind.signals]

    def line(self, tendon: str) -> tuple[Any, Any, Any, Any]:
        """Length [m], its rate [m/s] and the tensions at its first and its last point [N] of a routed line."""
        route = self.model.system.routes[self.model.routes[tendon]]
        state = route_state(route, self.tree, self.theta, self.signals, self.signal_rates)
        return state.length, state.rate, state.tension, state.tension * state.last

    def arc(self, rod: str, section: int) -> tuple[Any, Any]:
        """Bending (2) [rad] and length [m] of an arc of a rod, counted from 1."""
        arc = self.model.arcs[rod][section - 1]
        node = self.model.system.nodes[arc.node]
        assert node is not None, "an arc moves its tip"
        element = self.model.system.elements[node.element]
        at = node.constants + PLACEMENT_SIZE
        q = self.q[element.q_at : element.q_at + element.q_size]
        bend, length = arc.coordinates.shape(q, self.theta[at + 1 : at + node.motion.constants])
        return bend, length
