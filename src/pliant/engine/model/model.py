"""The compiled structure of a robot: its system, and the names of everything in it."""

from __future__ import annotations

import gc
import hashlib
import pickle
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

import casadi as ca
import numpy as np

from pliant.engine.model.enclosures import located
from pliant.engine.model.inputs import InputPlan, plan_inputs
from pliant.language.arguments import ArgumentError, mapping, number
from pliant.language.base import FromFiles
from pliant.language.evaluate import Coefficient
from pliant.language.faults import ExpressionError
from pliant.language.message_text import suggestion
from pliant.language.parameter import Environment
from pliant.language.scalar import AS_AT_START
from pliant.language.traversal import collections, leaves
from pliant.parts.assembly.build import Build
from pliant.parts.assembly.entries import (
    ArcEntry,
    CarriedNode,
    CoordinateEntry,
    NodePlan,
    Requirement,
    RodStation,
    StrainSample,
    TurnLimit,
)
from pliant.parts.assembly.signals import PrescribedPosition
from pliant.parts.assembly.system import Element, PartContributions, System
from pliant.parts.body import Body, InertiaMatrix
from pliant.parts.constraint import ROWS
from pliant.parts.geometry import se3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.joint.coordinate import (
    CONSTANTS,
    DIRECTION,
    ORIENTATION,
    ORIENTATION_FORCE,
    CoefficientCoordinates,
    Coordinate,
    LengthCoordinate,
    Orientation,
    armature,
    coordinate_force,
    varying_force,
)
from pliant.parts.motion import Quaternion, Vector
from pliant.robot.robot import RobotSpec


def add_body(build: Build, name: str, node: int, placement: Pose) -> None:
    """Add a body's mass and frames to a node."""
    body = build.robot.bodies[name]
    build.system.owner = ("bodies", name)
    mass, center, inertia = mass_properties(body, build)
    # a body without mass may still have inertia, like a wheel on a massless axle
    if not (isinstance(mass, float) and mass == 0.0 and body.inertia is None):
        build.system.mass(node, mass, center, inertia, placement)
    build.name_frame(name, node, placement)
    for frame, place in body.frames.items():
        build.name_frame(f"{name}.{frame}", node, se3.compose(placement, build.placement(place)))


def add_joint(build: Build, name: str) -> None:
    """Add a joint's motions, the forces on its coordinates, and its body."""
    joint = build.robot.joints[name]
    build.system.owner = ("joints", name)
    node, at = build.frame(joint.parent)
    at = se3.compose(at, build.placement(joint))
    steps, after = joint.steps(build)
    coordinates = joint.coordinates()
    single = len(coordinates) == 1
    added = _JointElements(name, [], {}, {})
    for step in steps:
        element = build.element(node, [NodePlan(step.motion, se3.compose(at, step.before), step.constants)])
        node, q_at, v_at = element.nodes[0], element.q_at, element.v_at
        added.elements.append(element)
        for label in step.labels:
            spec = coordinates[label]
            places = (q_at, v_at)
            own = spec.name or (name if single else f"{name}.{label}")
            q_at, v_at, initial = _coordinate(build, spec, own, q_at, v_at)
            if isinstance(spec, Coordinate):
                added.places[label], added.initial[label] = places, initial
        at = se3.identity()
    for element, step in zip(added.elements, steps, strict=True):
        _armature(build, element, [coordinates[label] for label in step.labels])
    for label in added.places:
        spec = coordinates[label]
        _scalar_forces(build, spec, spec.name or (name if single else f"{name}.{label}"), label, added)
    at = se3.compose(at, after)
    if not steps:
        node, at = build.hold("joints", name, node, at)
    body, _, held = joint.child.partition(".")
    if held:
        # the joint is at another frame of the child: the body's own frame is offset from it
        at = se3.compose(at, se3.inverse(build.placement(build.robot.bodies[body].frames[held])))
    add_body(build, body, node, at)


@dataclass(frozen=True)
class _JointElements:
    """An added joint: its elements, and by label the indices of its plain coordinates in q and v and their initial values."""

    joint: str
    elements: list[Element]
    places: dict[str, tuple[int, int]]
    initial: dict[str, Any]


def _coordinate(build: Build, spec: Coordinate | Orientation, name: str, q_at: int, v_at: int) -> tuple[int, int, Any]:
    """Name a coordinate and set its initial value; returns the following indices, and the initial value of a plain coordinate."""
    is_rotation = isinstance(spec, Orientation)
    unit = "-" if is_rotation else "m" if isinstance(spec, LengthCoordinate) else "rad"
    entry = build.coordinates[name] = CoordinateEntry(name, q_at, v_at, is_rotation, spec, unit)
    if "initial" in spec.model_fields_set:
        build.stated.update(entry.q_names)
    if "rate" in spec.model_fields_set:
        build.stated.update(f"d({rate})/dt" for rate in entry.v_names)
    if isinstance(spec, Orientation):
        start = build.quaternion(build.rotation(spec.initial))
        build.start(start, [build.value(rate) for rate in spec.rate])
        if spec.spring is not None or any(x != 0 for x in (*spec.damper, *spec.input)):
            stiffness, rest = (0.0,) * 3, [1.0, 0.0, 0.0, 0.0]
            if spec.spring is not None:
                stiffness = tuple(map(build.value, spec.spring.coefficient))
                if isinstance(spec.spring.rest, str):  # as at start
                    rest = start
                elif spec.spring.rest:
                    rest = build.quaternion(build.rotation(spec.spring.rest))
            constants = ORIENTATION.write(stiffness=stiffness, damping=tuple(map(build.value, spec.damper)), rest=rest)
            build.coordinate_force(ORIENTATION_FORCE, q_at, v_at, constants, spec.input, name)
        return q_at + Quaternion().q_size, v_at + Quaternion().v_size, None
    initial, rate = build.value(spec.initial), build.value(spec.rate)  # type: ignore[attr-defined]
    if spec.motion is not None:  # type: ignore[attr-defined]
        initial, rate = build.at_start(spec.motion)  # type: ignore[attr-defined]
    build.start([initial], [rate])
    return q_at + 1, v_at + 1, initial


def _armature(build: Build, element: Element, coordinates: list[Coordinate | Orientation]) -> None:
    """Inertia of drives on the coordinates of an element."""
    own = [[spec.armature] * (3 if isinstance(spec, Orientation) else 1) for spec in coordinates]  # type: ignore[union-attr]
    given = [x for one in own for x in one]
    if any(x != 0 for x in given):
        kind = armature(element.parts)
        build.inertia(kind, [(element.base, se3.identity())], [element], [build.value(x) for x in given])


def _scalar_forces(build: Build, spec: Any, name: str, label: str, added: _JointElements) -> None:
    if spec.limits is not None:
        spec.limits.apply(build, *added.places[label], name)
    if spec.friction is not None:
        spec.friction.apply(build, *added.places[label], name)
    if spec.spring is None and spec.damper is None and spec.input == 0:
        return
    (q_at, v_at), path = added.places[label], f"joints.{added.joint}.{label}"
    stiffness, rest = Coefficient(0.0), 0.0
    if spec.spring is not None:
        at_start = spec.spring.rest == AS_AT_START
        rest = added.initial[label] if at_start else build.value(spec.spring.rest)
        rest = build.value(spec.spring.compression) * rest
        stiffness = build.coefficient(spec.spring.coefficient, added.initial, f"{path}.spring")
    given, power = (spec.damper.coefficient, spec.damper.power) if spec.damper is not None else (0, 1)
    damping = build.coefficient(given, added.initial, f"{path}.damper")
    constants = CONSTANTS.write(
        stiffness=stiffness.plain,
        rest=rest,
        damping=damping.plain,
        power=build.value(power),
        direction=DIRECTION[spec.direction],
        smoothing=build.value(spec.smoothing),
    )
    driven = spec.input != 0
    signals = [spec.input] if driven else []
    if stiffness.formula is None and damping.formula is None:
        build.coordinate_force(coordinate_force(with_input=driven), q_at, v_at, constants, signals, name)
        return
    used = frozenset().union(*(x.formula.names for x in (stiffness, damping) if x.formula is not None))
    if used <= {label}:
        seen, (q_at, v_at) = CoefficientCoordinates((Vector(1),), (0, 0), ((label, (0, 0)),)), added.places[label]
    else:
        q_at, v_at = added.elements[0].q_at, added.elements[0].v_at
        places = {key: (q - q_at, v - v_at) for key, (q, v) in added.places.items()}
        parts = tuple(part for element in added.elements for part in element.parts)
        seen = CoefficientCoordinates(
            parts, places[label], tuple((key, places[key]) for key in places if key in used | {label})
        )
    kind = varying_force(seen, stiffness.formula, damping.formula, with_input=driven)
    build.coordinate_force(kind, q_at, v_at, [*constants, *stiffness.numbers, *damping.numbers], signals, name)


def tie_coordinates(build: Build) -> None:
    """Constraints for coordinates that equal another one or follow a prescribed motion."""
    for entry in build.coordinates.values():
        spec = entry.spec
        if not isinstance(spec, Coordinate):
            continue
        here = (entry.q_at, entry.v_at)
        if spec.equal_to is not None:
            other = build.coordinates[spec.equal_to.coordinate]
            ratio, offset = build.value(spec.equal_to.ratio), build.value(spec.equal_to.offset)
            build.system.linear_constraint([here, (other.q_at, other.v_at)], [1.0, -ratio], offset, -1, entry.name)
        motion = spec.motion  # type: ignore[attr-defined]
        if motion is not None:
            signal = build.add_signals([motion])
            build.system.linear_constraint([here], [1.0], 0.0, signal, entry.name)


# -- mass properties of bodies -------------------------------------------------------------------------------------------


def mass_properties(body: Body, build: Build) -> tuple[Any, Any, Any]:
    """Mass [kg], centre of mass [m] (3), inertia about it in body axes [kg m^2] (3x3)."""
    center = ca.vertcat(*map(build.value, body.center_of_mass))
    mass = body.total_mass(build.value, build.robot.materials)
    if isinstance(body.inertia, InertiaMatrix):
        inertia = ca.vertcat(*[ca.horzcat(*map(build.value, row)) for row in body.inertia.matrix])
    elif body.inertia is not None:
        R = build.rotation(body.inertia.rotation)
        inertia = R @ ca.diag(ca.vertcat(*map(build.value, body.inertia.principal))) @ R.T
    elif body.shape is not None:
        inertia = mass * ca.diag(ca.vertcat(*body.shape.gyration(build.value)))
    else:
        inertia = ca.DM.zeros(3, 3)
    return mass, center, inertia


@contextmanager
def no_collection() -> Iterator[None]:
    """Disable garbage collection in the enclosed code: when hundreds of thousands of persistent objects are created,
    repeated collections take as long as the work itself. Also a decorator. The setting is per process: if it was off
    it stays off, and if threads overlap, the one that found it on restores it."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


SI_HINT = "a value in SI units, without a unit"
"""How values are given in Python."""


@dataclass(frozen=True)
class FrameEntry:
    """A named frame: its node, and the index of its placement (12 numbers) in the constants."""

    node: int
    constants: int


@dataclass(frozen=True, eq=False)
class Model:
    """A compiled robot. It is pickled as its spec, and compiled again when unpickled.

    Attributes:
        spec: the flat robot, as it was written.
        compiled: the robot that was compiled: `spec` with derived values filled in.
        system: the mechanical system.
        plan: computation of signals from inputs.
        coordinates: named coordinates in the order of q.
        frames: named frames.
        environment: evaluates the model's values.
        initial: `parameters -> (q, v)` at the start.
        switches: `parameters -> times` at which inputs or signals may jump [s].
        states: `(t, parameters) -> integers` that change where inputs or signals may jump otherwise.
        link_forces, load_forces, coordinate_forces: index of the force of each link, load and coordinate.
        routes: index of the line of each tendon.
        contact_shapes: indices of the shapes of all parts that can touch.
        arcs: of rods made of circular arcs, each arc in turn.
        constraint_rows: first row of each constraint.
        followed: positions that result from prescribed rates and accelerations of constraints.
        structural: parameters that determine the number of parts; another value requires another model.
        turn_limits: limits of the rotation between sections of rods.
        carried: nodes with their own poses that are initially carried by others, carriers first.
        requirements: conditions on the parameters, and `required`: `parameters -> amounts`, nonnegative if they
            hold; None if there are none.
        stated: coordinates, and rates as `d(NAME)/dt`, whose values at the start the model gives.
        rod_stations: stations along each rod, in order.
        rod_elements: number of elements of rods with more elements than requested, by rod.
        strain_samples: samples of strains and section forces of each rod, in order.
        prepared: data that each output stores.
        tracked: contributions to the system of the parts whose energy outputs require.
        remarks: remarks for the user.
    """

    spec: RobotSpec
    compiled: RobotSpec
    system: System
    plan: InputPlan
    coordinates: tuple[CoordinateEntry, ...]
    frames: Mapping[str, FrameEntry]
    environment: Environment
    initial: ca.Function
    switches: ca.Function
    states: ca.Function
    link_forces: Mapping[str, int]
    load_forces: Mapping[str, int]
    routes: Mapping[str, int]
    contact_shapes: Mapping[str, Sequence[int]]
    arcs: Mapping[str, Sequence[ArcEntry]]
    coordinate_forces: Mapping[str, int]
    constraint_rows: Mapping[str, int]
    followed: tuple[PrescribedPosition, ...]
    structural: frozenset[str] = frozenset()
    turn_limits: tuple[TurnLimit, ...] = ()
    carried: tuple[CarriedNode, ...] = ()
    stated: frozenset[str] = frozenset()
    rod_stations: Mapping[str, tuple[RodStation, ...]] = field(default_factory=dict)
    requirements: tuple[Requirement, ...] = ()
    required: ca.Function | None = None
    rod_elements: Mapping[str, int] = field(default_factory=dict)
    strain_samples: Mapping[str, tuple[StrainSample, ...]] = field(default_factory=dict)
    prepared: Mapping[str, Any] = field(default_factory=dict)
    tracked: Mapping[tuple[str, str], PartContributions] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    _made: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, init=False, repr=False)

    def __copy__(self) -> Model:
        return self

    def __deepcopy__(self, memo: Any) -> Model:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        key = self.once("key", lambda: hashlib.sha256(pickle.dumps((self.compiled, self.structural))).hexdigest())
        _known[key] = self
        return _restored, (key, self.compiled, self.structural, self.spec)

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """An object derived from the model, cached by name: created by the first call, in any thread."""
        try:
            return self._made[name]
        except KeyError:
            with self._lock:
                if name not in self._made:
                    self._made[name] = make()
                return self._made[name]

    @cached_property
    def q_names(self) -> tuple[str, ...]:
        """Names of the numbers in q."""
        return tuple(name for c in self.coordinates for name in c.q_names)

    @cached_property
    def v_names(self) -> tuple[str, ...]:
        """Names of the numbers in v."""
        return tuple(name for c in self.coordinates for name in c.v_names)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Independent parameters, in the order of the parameter vector."""
        return self.environment.independent

    @property
    def input_names(self) -> tuple[str, ...]:
        """Inputs, in the order of the input vector."""
        return self.environment.inputs

    @cached_property
    def actuators(self) -> tuple[str, ...]:
        """Inputs that controllers use by default: all but those that only `loads` depend on, which are
        disturbances; all inputs where every one of them is a load."""
        used: set[str] = set()
        for collection in ("joints", "rods", "meshes", "links", "tendons", "constraints", "bodies", "magnets"):
            for leaf in leaves(getattr(self.spec, collection)):
                if isinstance(leaf.value, str):
                    try:
                        used |= self.environment.uses(leaf.value)
                    except ExpressionError:
                        continue  # a word
        found = tuple(name for name in self.input_names if name in used)
        return found or self.input_names

    @cached_property
    def force_inputs(self) -> tuple[str, ...]:
        """Those of the actuators that apply forces: they do not prescribe motions."""
        return tuple(name for name in self.actuators if name not in self.motion_inputs)

    @cached_property
    def signal_sources(self) -> np.ndarray:
        """Whether each signal depends on time (first column) and on each input of the plan, as booleans."""
        function = self.plan.signals
        if function is None:
            return np.zeros((0, 1 + len(self.plan.kinds)), dtype=bool)
        parts = [ca.DM(function.jac_sparsity(0, i), 1).full() for i in (0, 1)]
        return np.hstack(parts).astype(bool)

    @cached_property
    def position_inputs(self) -> frozenset[str]:
        """Inputs that prescribed positions of constraints and coordinates depend on."""
        followed = {item.position for item in self.followed}
        return self._inputs_of([s for s in self.system.row_signals() if s >= 0 and s not in followed])

    @cached_property
    def rate_inputs(self) -> frozenset[str]:
        """Inputs that prescribed rates of constraints depend on."""
        return self._inputs_of([item.signal for item in self.followed if item.order == 1])

    @property
    def smooth_inputs(self) -> frozenset[str]:
        """Inputs that prescribed positions or rates depend on: they have to be smooth."""
        return self.position_inputs | self.rate_inputs

    @cached_property
    def motion_inputs(self) -> frozenset[str]:
        """Inputs that prescribed positions, rates or accelerations depend on."""
        return self.position_inputs | self._inputs_of([item.signal for item in self.followed])

    def _inputs_of(self, signals: list[int]) -> frozenset[str]:
        used = np.any(self.signal_sources[signals, 1:], axis=0)[: len(self.input_names)]
        return frozenset(name for name, uses in zip(self.input_names, used, strict=True) if uses)

    def parameter_vector(self, values: Mapping[str, float] | None = None) -> np.ndarray:
        """Values of the independent parameters, with changes by name."""
        own, at = self.parameter_defaults
        given, out = mapping("parameters", values or {}), own.copy()
        if not given.keys() <= at.keys():
            self.environment_with(given)  # rejects names that are neither independent parameters nor inputs
        for name, value in given.items():
            if name in at:
                out[at[name]] = number(f"the parameter '{name}'", value, hint=SI_HINT)
        return out

    @cached_property
    def parameter_defaults(self) -> tuple[np.ndarray, dict[str, int]]:
        """Values of the independent parameters in the model, and the index of each."""
        own = np.array([float(self.environment.values[name]) for name in self.parameter_names])
        return own, {name: i for i, name in enumerate(self.parameter_names)}

    def switch_times(self, parameters: np.ndarray, begin: float, end: float) -> np.ndarray:
        """Times at which inputs or signals may jump [s], at these values of the parameters; those of conditions that are not linear
        in t are located between `begin` and `end`."""
        linear = np.asarray(self.switches(parameters), dtype=float).ravel() if self._has_switches else np.zeros(0)
        if not self.has_located_switches:
            return linear
        found = located(self.states, parameters, linear[np.isfinite(linear)], begin, end)
        return np.concatenate([linear, found])

    @cached_property
    def _has_switches(self) -> bool:
        return bool(self.switches.numel_out(0))

    @cached_property
    def has_located_switches(self) -> bool:
        """Whether expressions have conditions that are not linear in t, whose switching times have to be located."""
        return bool(self.states.numel_out(0))

    def environment_with(self, values: Mapping[str, float]) -> Environment:
        """The model's values with changes of its parameters by name."""
        given, known = mapping("parameters", values), self.environment.names
        for name in given:
            if name not in known:
                hint = suggestion(name, known, f"known: {', '.join(known[:12]) or 'none'}")
                raise ArgumentError(f"unknown parameter '{name}'", hint)
        return self.environment.with_values(
            {name: number(f"the parameter '{name}'", value, hint=SI_HINT) for name, value in given.items()}
        )

    @cached_property
    def text(self) -> str:
        """The flat robot as text that needs no other file."""
        return self_contained(self.spec).to_yaml()

    def constraint_names(self) -> tuple[str, ...]:
        """One name per constraint row: `constraint.component`, or the tied coordinate's name."""
        names = [""] * self.system.rows
        for c in self.system.constraints:
            # an edge of a mesh that is a rod is closed in all components
            rows = self.spec.constraints[c.name].rows if c.name in self.spec.constraints else ROWS
            for k, row in enumerate(rows):
                names[c.row + k] = f"{c.name}.{row}"
        for line in self.system.linear_constraints:
            names[line.row] = line.name
        return tuple(names)


def self_contained(flat: RobotSpec) -> RobotSpec:
    """The flat robot with what its files contain as lists."""
    changed: dict[str, Any] = {}
    for collection in collections(type(flat)):
        things = getattr(flat, collection)
        if any(isinstance(thing, FromFiles) for thing in things.values()):
            changed[collection] = {
                name: thing.without_files() if isinstance(thing, FromFiles) else thing for name, thing in things.items()
            }
    return flat.model_copy(update=changed)


_known: WeakValueDictionary[str, Model] = WeakValueDictionary()
"""Models that were pickled or unpickled here, so that a model returned by another process is recognized."""


def _restored(key: str, compiled: RobotSpec, structural: frozenset[str], written: RobotSpec) -> Model:
    """The model that was pickled."""
    model = _known.get(key)
    if model is None:
        model = _known[key] = compile_model(compiled, structural, written=written)
        model.once("key", lambda: key)  # in the backward pass it is known by the same key
    return model


def build_tree(flat: RobotSpec) -> Build:
    """The bodies, joints, rods and meshes of a flat, checked robot, without the forces between them."""
    build = Build(flat)
    build.system.gravity([build.value(x) for x in flat.world.gravity])
    for tendon in flat.tendons.values():
        tendon.reserve(build)
    for output in flat.outputs.values():
        output.reserve(build)
    for name in tree_order(flat):
        if name in flat.rods:
            build.system.owner = ("rods", name)
            flat.rods[name].apply(build, name)
        elif name in flat.meshes:
            build.system.owner = ("meshes", name)
            flat.meshes[name].apply(build, name)
        else:
            add_joint(build, name)
    return build


@no_collection()
def compile_model(
    flat: RobotSpec, structural: frozenset[str] = frozenset(), *, written: RobotSpec | None = None
) -> Model:
    """The model of a flat, checked robot.

    structural: parameters that determined its number of parts. written: the robot as written by the user, if derived values have
    been filled in.
    """
    build = build_tree(flat)
    if flat.world.fluid is not None:
        build.system.owner = ("world", "fluid")
        flat.world.fluid.apply(build)
    for collection in ("links", "tendons", "surfaces", "contacts", "loads", "magnets", "constraints"):
        for name, part in getattr(flat, collection).items():
            build.system.owner = (collection, name)
            part.apply(build, name)
    tie_coordinates(build)
    prepared = {name: output.prepare(build) for name, output in flat.outputs.items()}
    frames = _frames(build)
    system, q, v = build.finish()
    plan, switches, states = plan_inputs(flat.inputs, build.environment, build.signals, build.parameters)
    times = ca.vertcat(*switches) if switches else ca.SX(0, 1)
    required, requirements = build.requirements()
    environment = Environment(flat.parameters)
    return Model(
        spec=written or flat,
        compiled=flat,
        system=system,
        plan=plan,
        coordinates=tuple(build.coordinates.values()),
        frames=frames,
        environment=environment,
        initial=ca.Function("initial", [build.parameters], [ca.densify(ca.SX(q)), ca.densify(ca.SX(v))]),
        switches=ca.Function("switches", [build.parameters], [ca.SX(times)]),
        states=ca.Function("states", [build.signals.t, build.parameters], [ca.densify(ca.SX(ca.vertcat(*states)))]),
        link_forces=build.link_forces,
        load_forces=build.load_forces,
        routes=build.routes,
        contact_shapes=build.surfaces,
        arcs=build.arcs,
        coordinate_forces=build.coordinate_forces,
        constraint_rows=build.constraint_rows,
        followed=tuple(build.signals.followed),
        structural=structural,
        turn_limits=tuple(build.turn_limits),
        carried=tuple(build.carried),
        stated=frozenset(build.stated),
        rod_stations={rod: tuple(sorted(places, key=lambda place: place.x)) for rod, places in build.stations.items()},
        requirements=requirements,
        required=required,
        rod_elements=build.rod_elements,
        strain_samples={rod: tuple(sorted(found, key=lambda s: s.x)) for rod, found in build.strain_samples.items()},
        prepared=prepared,
        tracked=build.system.tracked,
        remarks=tuple(build.remarks),
    )


def _frames(build: Build) -> dict[str, FrameEntry]:
    """All named frames. Placements that are the same object, as those of the nodes of a mesh, are stored once."""
    stored: dict[int, int] = {}
    for _, pose in build.frames.values():
        if id(pose) not in stored:
            stored[id(pose)] = build.system.constants(build.pose_entries(pose))
    return {name: FrameEntry(node, stored[id(pose)]) for name, (node, pose) in build.frames.items()}


def tree_order(flat: RobotSpec) -> list[str]:
    """Joints, rods and meshes, parents first; siblings in the order of the file.

    Depth first, so that the coordinates of a chain are neighbours; meshes come last, as their nodes may be fixed to any frame.
    """
    carries = {name: joint.child.partition(".")[0] for name, joint in flat.joints.items()}
    carries |= {name: name for name in (*flat.rods, *flat.meshes)}
    on: dict[str, list[str]] = {}
    for name, thing in (*flat.joints.items(), *flat.rods.items()):
        on.setdefault(thing.parent.partition(".")[0], []).append(name)
    order: list[str] = []
    meshes = list(flat.meshes)
    waiting, there = list(reversed(on.get("world", []))), {"world"}
    while waiting or meshes:
        if not waiting:
            held_by = {
                name: {
                    frame.partition(".")[0] for frame in (flat.meshes[name].parent, *flat.meshes[name].held.values())
                }
                for name in meshes
            }
            waiting.append(next(name for name in meshes if held_by[name] <= there))
            meshes.remove(waiting[-1])
        name = waiting.pop()
        order.append(name)
        there.add(carries[name])
        waiting.extend(reversed(on.get(carries[name], [])))
    return order
