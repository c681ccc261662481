"""The model's named outputs: their values in a state, and their exact derivatives."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from pliant.engine.contact_sums import SIZE, contact_questions, model_sums
from pliant.engine.kernel import coordinate_force_kernels, frame_force_kernels
from pliant.engine.libraries import extension_module, runtime, virtual_kernel
from pliant.engine.model.model import Model
from pliant.engine.program import check
from pliant.engine.symbolic import (
    Tree,
    build_tree,
    carried_function,
    constraint_wrench,
    mass_energies,
    route_state,
    stack_poses,
)
from pliant.language.message_text import suggestion
from pliant.language.names import outputs_named, stacked, with_repeated
from pliant.parts.assembly.system import PLACEMENT_SIZE, ConstraintInstance, CoordinateForceInstance, FrameForceInstance
from pliant.parts.geometry import se3
from pliant.parts.output.base import CONTACT_SUMS, ContactQuery, FrameSymbols

if TYPE_CHECKING:
    from pliant.engine.binding import Binding
    from pliant.parts.assembly.entries import SectionState, StrainSample


def output_names(model: Model) -> tuple[str, ...]:
    """Names of the outputs in order."""
    return tuple(model.spec.outputs)


def output_size(model: Model, name: str) -> int:
    """Number of components of an output."""
    return int(output_function(model).size1_out(output_names(model).index(name)))


def output_parts(model: Model, name: str) -> list[str]:
    """Names of the components of an output: its own, or `place.x` etc. of a vector."""
    size = output_size(model, name)
    if size == 1:
        return [name]
    known = model.spec.outputs[name].components(model.spec)
    usual = {3: tuple("xyz"), 4: tuple("wxyz")}.get(size, tuple(str(k + 1) for k in range(size)))
    return [f"{name}.{label}" for label in (known if len(known) == size else usual)]


def output_units(model: Model) -> dict[str, str]:
    """SI unit of each output; empty if unknown or if its components differ in unit."""
    return dict(model.once("output_units", lambda: _output_units(model)))


def _output_units(model: Model) -> dict[str, str]:
    coordinates = {entry.name: entry.unit for entry in model.coordinates}
    return {name: spec.unit(model.spec, coordinates) for name, spec in model.spec.outputs.items()}


def evaluate_outputs(
    model: Model, bound: Binding, t: float, q: np.ndarray, v: np.ndarray, a: np.ndarray, multipliers: np.ndarray,
    dissipated: float,
) -> dict[str, Any]:  # fmt: skip
    """Values of all outputs: floats, or lists for vectors."""
    if not model.spec.outputs:
        return {}
    _, signals, rates, _ = bound.program.calls.signals(bound, t)
    carried, energies = np.zeros(0), np.zeros(3)
    if nodes := carrying_nodes(model):
        carried = bound.carried([t], q, v, a, multipliers, nodes).ravel()
    if energy_outputs(model):
        energies = np.array([*bound.energies(t, q, v)[:2], dissipated])
    sums = model_sums(model, bound, [t], q, v).ravel()
    parts = _buffer(model)(q, v, a, multipliers, bound.constants, signals, rates, carried, energies, sums)
    return OutputValues(model, zip(output_names(model), (x[0] if len(x) == 1 else x for x in parts), strict=True))


class OutputValues(dict[str, Any]):
    """Outputs by name. Components (`tip.x`) and the names of repeated outputs, which denote all instances, can be read too."""

    def __init__(self, model: Model, values: Iterable[tuple[str, Any]]) -> None:
        super().__init__(values)
        self._model = model

    def __missing__(self, name: str) -> Any:
        found = outputs_named(name, self, lambda x: output_parts(self._model, x))
        if not found:
            known = [*with_repeated(self), *(part for x in self for part in output_parts(self._model, x))]
            hint = suggestion(name, known, f"there are {', '.join(known[:12])}")
            raise KeyError(f"the model has no output '{name}'; {hint}")
        return stacked(found, self.__getitem__, 0).tolist()

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


class _Buffer:
    """A CasADi function with preallocated arguments and results, so that calls convert nothing. For use in one thread."""

    def __init__(self, function: ca.Function) -> None:
        self._arguments: list[Any] = [np.zeros(function.nnz_in(i)) for i in range(function.n_in())]
        self._results: list[Any] = [np.zeros(function.nnz_out(i)) for i in range(function.n_out())]
        buffer: Any
        buffer, self._evaluate = function.buffer()
        for i, array in enumerate(self._arguments):
            buffer.set_arg(i, memoryview(array))
        for i, array in enumerate(self._results):
            buffer.set_res(i, memoryview(array))
        self._kept = buffer, function  # CasADi stores addresses only

    def __call__(self, *values: np.ndarray) -> list[list[float]]:
        """The results at these arguments."""
        for place, value in zip(self._arguments, values, strict=True):
            place[:] = value
        self._evaluate()
        return [result.tolist() for result in self._results]


def _buffer(model: Model) -> _Buffer:
    """This thread's buffer of `output_function`."""
    local = model.once("output_buffers", threading.local)
    try:
        buffer: _Buffer = local.buffer
    except AttributeError:
        buffer = local.buffer = _Buffer(output_function(model))
    return buffer


def carrying_nodes(model: Model) -> tuple[int, ...]:
    """The nodes whose transmitted wrenches the outputs need, in the order of `output_function`."""
    return model.once("carrying_nodes", lambda: _carrying_nodes(model))


def _carrying_nodes(model: Model) -> tuple[int, ...]:
    return tuple(sorted({node for spec in model.spec.outputs.values() for node in spec.carrying(model)}))


def energy_outputs(model: Model) -> frozenset[str]:
    """Outputs that depend on the energies of the robot, which have no derivatives here."""
    return model.once("energy_outputs", lambda: _energy_outputs(model))


def _energy_outputs(model: Model) -> frozenset[str]:
    function = output_function(model)
    return frozenset(
        name for i, name in enumerate(output_names(model)) if function.jac_sparsity(i, ENERGIES_AT).nnz() > 0
    )


def output_axes(model: Model, bound: Binding) -> dict[str, np.ndarray]:
    """Arc lengths [m] of the outputs that are profiles along a rod, by name."""
    found = {name: spec.arc_lengths(model.prepared[name], bound.constants) for name, spec in model.spec.outputs.items()}
    return {name: np.asarray(at, dtype=float) for name, at in found.items() if at is not None}


def part_labels(model: Model, bound: Binding) -> dict[str, tuple[str, ...]]:
    """Names along the axes of outputs with several values, such as x, y and z, by name of the axis; profiles have arc lengths."""
    profiles = output_axes(model, bound)
    parts = {name: output_parts(model, name) for name in output_names(model) if name not in profiles}
    return {
        f"output.{name}.part": tuple(part[len(name) + 1 :] for part in own)
        for name, own in parts.items()
        if len(own) > 1
    }


ENERGIES_AT, CONTACTS_AT = 8, 9
"""Indices of the energies and the sums of contacts among the inputs of `output_function`."""


def output_function(model: Model) -> ca.Function:
    """`(q, v, a, multipliers, constants, signals, signal rates, transmitted wrenches, energies, contacts) ->` one vector per
    output.

    Transmitted wrenches are those of `carrying_nodes`, energies the kinetic, potential and dissipated energy of the robot,
    contacts the results of `contact_questions`.
    """
    return model.once("output_function", lambda: _output_function(model))


def output_rows(model: Model) -> RowFunction:
    """`output_function` for many states in one call."""
    return model.once("output_rows", lambda: RowFunction(output_function(model)))


def output_jacobians(model: Model) -> ca.Function:
    """Derivatives of all outputs, stacked, with respect to q, v, a, multipliers, signals, sums of contacts and transmitted
    wrenches;
    the arguments are the first seven of `output_function` and these sums.

    Dependence through transmitted wrenches is included, except for forces of contacts; derivatives with respect to energies are
    omitted
    (`energy_outputs`).
    """
    return model.once("output_jacobians", lambda: _output_jacobians(model))


def _output_function(model: Model) -> ca.Function:
    system = model.system
    X = ca.SX
    q, v, a = (X.sym(n, k) for n, k in (("q", system.q_size), ("v", system.v_size), ("a", system.v_size)))
    multipliers, theta = X.sym("multipliers", system.rows), X.sym("constants", len(system.constants.numbers))
    signals, rates = X.sym("signals", system.signal_count), X.sym("signal_rates", system.signal_count)
    carrying = carrying_nodes(model)
    carried, energies = X.sym("carried", 6 * len(carrying)), X.sym("energies", 3)
    questions = contact_questions(model)
    contacts = X.sym("contacts", SIZE * len(questions))
    answers = {question: contacts[SIZE * k : SIZE * (k + 1)] for k, question in enumerate(questions)}
    specs = model.spec.outputs
    nodes = {above for spec in specs.values() for node in spec.nodes(model) for above in system.path(node)}
    tree = build_tree(system, X, q, v, a, theta, X(ca.DM.zeros(6)), nodes)
    wrenches = {node: carried[6 * k : 6 * k + 6] for k, node in enumerate(carrying)}
    state = StateSymbols(model, tree, q, v, a, multipliers, theta, signals, rates, wrenches, energies, answers)
    outputs = [ca.densify(X(state.output(name))) for name in specs]
    return ca.Function("outputs", [q, v, a, multipliers, theta, signals, rates, carried, energies, contacts], outputs)


def _output_jacobians(model: Model) -> ca.Function:
    function, nodes = output_function(model), carrying_nodes(model)
    x = [ca.MX.sym(f"x{i}", *function.size_in(i)) for i in range(ENERGIES_AT - 1)]
    more = ca.MX.sym("more", 6 * len(nodes))
    carried = carried_function(model.system, nodes)(*x) + more if nodes else more
    contacts = ca.MX.sym("contacts", *function.size_in(CONTACTS_AT))
    stacked = ca.vertcat(*[ca.vec(part) for part in function.call([*x, carried, ca.MX(ca.DM.zeros(3)), contacts])])
    by = (x[0], x[1], x[2], x[3], x[5], contacts, more)
    return ca.Function("output_jacobians", [*x, contacts, more], [ca.densify(ca.jacobian(stacked, s)) for s in by])


@dataclass
class StateSymbols:
    """A state in symbols, as used by outputs (`parts/output/base.py: Symbols`)."""

    model: Model
    tree: Tree
    q: Any
    v: Any
    a: Any
    multipliers: Any
    theta: Any
    signals: Any
    signal_rates: Any
    wrenches: Mapping[int, Any]
    energies: Any
    contacts: Mapping[ContactQuery, Any]
    prepared: Any = None
    found: dict[str, Any] = field(default_factory=dict)
    sections: dict[StrainSample, SectionState] = field(default_factory=dict)

    def output(self, name: str) -> Any:
        """The value of another output."""
        if name not in self.found:
            here = replace(self, prepared=self.model.prepared[name])
            self.found[name] = self.model.spec.outputs[name].value(here)
        return self.found[name]

    def carried(self, node: int) -> Any:
        """The wrench exerted on a node by its base, in world axes about the world's origin."""
        return self.wrenches[node]

    def contact(self, question: ContactQuery, quantity: str) -> Any:
        """A sum over contacts: one of `CONTACT_SUMS`."""
        at, size = CONTACT_SUMS[quantity]
        return self.contacts[question][at : at + size]

    def constraint_wrench(self, constraint: str) -> tuple[Any, Any, Any]:
        """The wrench of a constraint on its second frame in world axes about the world's origin, the position of this frame, and
        the axes of the constraint."""
        held = next(c for c in self.model.system.constraints if c.name == constraint)
        point, axes = self.model.spec.constraints[constraint].held_at(self.poses(held.nodes), self.constants(held))
        return constraint_wrench(held, self.tree, self.theta, self.multipliers), point, axes

    def numbers(self, at: int, count: int) -> Any:
        """Constants of the model by index."""
        return self.theta[at : at + count]

    def signal(self, index: int) -> Any:
        """A signal by index."""
        return self.signals[index]

    def section(self, sample: StrainSample) -> SectionState:
        """A section of a rod whose model provides strains."""
        if sample not in self.sections:
            self.sections[sample] = self._section(sample)
        return self.sections[sample]

    def _section(self, sample: StrainSample) -> SectionState:
        system = self.model.system
        if sample.on_frames:
            force = system.frame_forces[sample.force]
            twists = [self.tree.twists[n] for n in force.nodes]
            return sample.state(self.poses(force.nodes), twists, self.constants(force), self._driven(force))
        on = system.coordinate_forces[sample.force]
        q_size = sum(part.q_size for part in on.kind.parts)
        q, v = self.q[on.q_at : on.q_at + q_size], self.v[on.v_at : on.v_at + on.size]
        return sample.state(q, v, self.constants(on), self._driven(on))

    def part_energies(self, collection: str, name: str) -> tuple[Any, Any, Any]:
        """Kinetic, gravitational and elastic energy of a tracked part [J]."""
        system, part = self.model.system, self.model.tracked[collection, name]
        kinetic, gravity = mass_energies(system, part, self.q, self.v, self.a, self.theta, self.tree)
        elastic: Any = ca.SX(0)
        for on in (system.coordinate_forces[k] for k in part.coordinate_forces):
            q_size = sum(given.q_size for given in on.kind.parts)
            q, v = self.q[on.q_at : on.q_at + q_size], self.v[on.v_at : on.v_at + on.size]
            elastic += coordinate_force_kernels(on.kind).functions[0](q, v, self.constants(on), self._driven(on))[1][0]
        for force in (system.frame_forces[k] for k in part.frame_forces):
            elastic += self._frame_force(force)[1][0]
        for route in (system.routes[k] for k in part.routes):
            elastic += route_state(route, self.tree, self.theta, self.signals, self.signal_rates).scalars[0]
        return kinetic, gravity, elastic

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
        """Twists of nodes, stacked."""
        return ca.vertcat(*[self.tree.twists[n] for n in nodes])

    def constants(self, force: FrameForceInstance | CoordinateForceInstance | ConstraintInstance) -> Any:
        """The constants of a force or constraint."""
        return self.theta[force.constants : force.constants + force.kind.constants]

    def wrench(self, force: FrameForceInstance) -> Any:
        """Wrenches of a force on its nodes, stacked."""
        return self._frame_force(force)[0]

    def _frame_force(self, force: FrameForceInstance) -> Any:
        poses, twists = stack_poses(self.poses(force.nodes)), self.twists(force.nodes)
        return frame_force_kernels(force.kind).functions[0](poses, twists, self.constants(force), self._driven(force))

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
        """Bending (2) [rad] and length [m] of an arc of a rod; arcs are numbered from 1."""
        arc = self.model.arcs[rod][section - 1]
        node = self.model.system.nodes[arc.node]
        assert node is not None, "an arc moves its tip"
        element = self.model.system.elements[node.element]
        at = node.constants + PLACEMENT_SIZE
        q = self.q[element.q_at : element.q_at + element.q_size]
        bend, length = arc.coordinates.shape(q, self.theta[at + 1 : at + node.motion.constants])
        return bend, length


# -- functions evaluated for many rows in one call ---------------------------------------------------------------------


class RowFunction:
    """A function of vectors (SX), evaluated row by row in the runtime."""

    def __init__(self, function: ca.Function) -> None:
        self._struct = virtual_kernel(function)
        self._kernel, self._library = ctypes.addressof(self._struct), runtime()
        self._sizes = np.array(
            [function.sz_arg(), function.sz_res(), function.sz_iw(), function.sz_w()], dtype=np.int32
        )
        self._inputs = [function.numel_in(i) for i in range(function.n_in())]
        self._outputs = [function.numel_out(i) for i in range(function.n_out())]
        self._steps = np.array(self._outputs, dtype=np.int32)

    @property
    def addresses(self) -> tuple[int, int, int]:
        """Arrays of its kernel, of the sizes of its results, and of its work sizes."""
        address = extension_module().address
        return self._kernel, address(self._steps), address(self._sizes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the results."""
        return tuple(self._outputs)

    def __call__(self, count: int, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Its results, each count x size; an argument is one vector for all rows, or an array with one row each."""
        given = [np.ascontiguousarray(x, dtype=float) for x in arguments]
        for x, size in zip(given, self._inputs, strict=True):
            if x.shape not in ((size,), (count, size)):
                raise ValueError(f"an argument of {size} numbers for {count} rows cannot have the shape {x.shape}")
        found = [np.empty((count, size)) for size in self._outputs]
        steps = np.array([size if x.ndim == 2 else 0 for x, size in zip(given, self._inputs, strict=True)], np.int32)
        address = extension_module().address
        check(
            self._library.pl_rows(
                self._kernel, count, len(given), _addresses(given), address(steps), len(found), _addresses(found),
                address(self._steps), address(self._sizes),
            )
        )  # fmt: skip
        return found


def _addresses(arrays: Sequence[np.ndarray]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * max(1, len(arrays)))(*map(extension_module().address, arrays))
