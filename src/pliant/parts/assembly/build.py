"""RobotSpec to System: the context in which joints, links, loads and constraints are added."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from pliant.language.evaluate import Coefficient, StateExpressions, coefficient, evaluate, state_expressions
from pliant.language.faults import Fault, SpecError
from pliant.language.parameter import TIME, Environment
from pliant.language.placement import Attachment, Axis, Placement, Rotation
from pliant.language.scalar import Scalar
from pliant.language.syntax import symbols, to_text
from pliant.parts.assembly import placement_matrices
from pliant.parts.assembly.entries import (
    ArcEntry,
    CarriedNode,
    CoordinateEntry,
    NodePlan,
    PartsByName,
    PieceArguments,
    Requirement,
    RodPiece,
    RodSpan,
    RodStation,
    StrainSample,
    TurnLimit,
)
from pliant.parts.assembly.signals import SignalTable
from pliant.parts.assembly.system import Element, System, SystemBuilder
from pliant.parts.formula.base import CoordinateForce, FrameConstraint, FrameForce, Inertia
from pliant.parts.formula.route import RouteForce, measure
from pliant.parts.geometry import cached_functions, se3, so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion import FIXED, ArcCoordinates, Motion, Quaternion


class Column:
    """A column of numbers and expressions that grows at its end: by scalars, or by many entries at once as a matrix.

    Thousands of scalars take CasADi long to stack; a matrix is kept unchanged.
    """

    def __init__(self) -> None:
        self._pieces: list[Any] = [[]]  # lists of scalars, and matrices of one column
        self._begins = [0]
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, scalar: Any) -> None:
        """Add a scalar."""
        self.extend([scalar])

    def extend(self, scalars: Iterable[Any]) -> None:
        """Add scalars."""
        if not isinstance(self._pieces[-1], list):
            self._begin([])
        before = len(self._pieces[-1])
        self._pieces[-1].extend(scalars)
        self._size += len(self._pieces[-1]) - before

    def extend_by_columns(self, matrix: Any) -> None:
        """Add the entries of a matrix, column by column."""
        self._begin(ca.vec(ca.densify(matrix)))
        self._size += matrix.numel()

    def _begin(self, piece: Any) -> None:
        self._pieces.append(piece)
        self._begins.append(self._size)

    def part(self, begin: int, count: int) -> Any:
        """`count` entries from `begin` on that were added together, as a matrix of one column."""
        number = bisect_right(self._begins, begin) - 1
        at = begin - self._begins[number]
        found = self._pieces[number][at : at + count]
        return ca.vertcat(*found) if isinstance(found, list) else found

    def whole(self) -> Any:
        """All entries as a matrix of one column."""
        return ca.vertcat(*[ca.vertcat(*piece) if isinstance(piece, list) else piece for piece in self._pieces])


class Build:
    """Context for adding elements: values, frames, and the system under construction."""

    def __init__(self, robot: PartsByName) -> None:
        names = Environment(robot.parameters)
        parameters = {name: ca.SX.sym(name) for name in names.independent}
        self.parameters = ca.vertcat(*parameters.values()) if parameters else ca.SX.sym("parameters", 0)
        inputs = {name: ca.SX.sym(name) for name in names.inputs}
        self.robot = robot
        self.environment = names.with_values({**parameters, **inputs})
        self._held = names.with_values(parameters)
        self.system = SystemBuilder(parameters=self.parameters)
        self.signals = SignalTable(self.environment, self.parameters, inputs)
        self.coordinates: dict[str, CoordinateEntry] = {}
        self.link_forces: dict[str, int] = {}
        self.load_forces: dict[str, int] = {}
        self.magnets: dict[str, Any] = {}  # elements of magnets, of a type of their own
        self.routes: dict[str, int] = {}
        self.surfaces: dict[str, list[int]] = {}
        self.arcs: dict[str, list[ArcEntry]] = {}
        self.point_sets: dict[str, list[tuple[int, Pose]]] = {}
        self.coordinate_forces: dict[str, int] = {}
        self.constraint_rows: dict[str, int] = {}
        self.rod_elements: dict[str, int] = {}
        self.remarks: list[str] = []
        self._rod_pieces: dict[str, list[RodPiece]] = {}
        self._later_pieces: dict[str, Callable[[], Iterable[PieceArguments]]] = {}
        self._rod_spans: dict[str, list[RodSpan]] = {}
        self.turn_limits: list[TurnLimit] = []
        self.stations: dict[str, list[RodStation]] = {}
        self.strain_samples: dict[str, list[StrainSample]] = {}
        self._placements: dict[tuple[Any, ...], int] = {}
        self.carried: list[CarriedNode] = []
        self.stated: set[str] = set()
        self._required: list[tuple[Any, Requirement]] = []
        self._started: dict[str, Any] = {}
        self._moving: dict[str, Any] = {}
        self._frames: dict[str, tuple[int, Pose]] = {"world": (0, se3.identity())}
        self._reserved: dict[str, dict[str, Any]] = {}
        self._cuts: set[tuple[str, str]] = set()
        self._quaternions: dict[tuple[float, ...], list[Any]] = {}
        self._initial_q, self._initial_v = Column(), Column()
        self._initial_poses: dict[int, Pose] = {0: se3.identity()}
        self._motions: dict[int, tuple[int, NodePlan, int]] = {}
        self._rates_at: dict[int, int] = {}

    # -- values ------------------------------------------------------------------------------------------------------

    def value(self, scalar: Scalar) -> Any:
        """A scalar of the model as a float or an expression of the parameters (SI units)."""
        return self.environment.value(scalar)

    def coefficient(self, scalar: Scalar, state: Mapping[str, Any], path: str) -> Coefficient:
        """A coefficient that may use quantities of the state by name, with initial values `state`; `path` is its location."""
        found = coefficient(scalar, state, self.environment.values)
        if found.formula is not None and not np.isfinite(self.nominal(found.at(state))):
            message = f"the value of {scalar} is not a finite number at the start"
            raise SpecError([Fault(message, "check its divisions, roots and logarithms", path)])
        return found

    def state_expressions(
        self, scalars: Sequence[Scalar], state: Collection[str]
    ) -> tuple[StateExpressions, list[Any], list[Any]]:
        """Expressions that may use time, inputs and quantities of the state by name: with the values of their constants, and the
        expressions of their signals."""
        varying = {TIME, *self.environment.inputs}
        found, nodes = state_expressions(
            scalars, state, self.environment.values, lambda node: bool(symbols(node) & varying)
        )
        constants = [
            evaluate(node, self.environment.values)
            for node, varies in zip(nodes, found.varying, strict=True)
            if not varies
        ]
        signals = [
            self.signal_expression(to_text(node)) for node, varies in zip(nodes, found.varying, strict=True) if varies
        ]
        return found, constants, signals

    def direction(self, axis: Axis) -> tuple[Any, Any, Any]:
        """A unit vector."""
        return placement_matrices.direction(axis, self.value)

    def rotation(self, rotations: Sequence[Rotation]) -> Any:
        """Rotation matrix of rotations applied in turn."""
        return placement_matrices.rotation(rotations, self.value)

    def placement(self, placement: Placement) -> Pose:
        """Pose of a placed frame in the frame it is placed in."""
        return placement_matrices.pose(placement, self.value)

    @staticmethod
    def entries(matrix: Any) -> list[Any]:
        """Entries of a small matrix, column-major."""
        return se3.scalars(matrix)

    def pose_entries(self, pose: Pose) -> list[Any]:
        """The twelve numbers of a pose."""
        return se3.pose_scalars(pose)

    # -- frames ------------------------------------------------------------------------------------------------------

    def frame(self, name: str) -> tuple[int, Pose]:
        """Node that a named frame belongs to, and its placement there."""
        return self._frames[name]

    @property
    def frames(self) -> Mapping[str, tuple[int, Pose]]:
        """All frames that the model names."""
        reserved = {f"{rod}.{frame}" for rod, frames in self._reserved.items() for frame in frames}
        return {name: entry for name, entry in self._frames.items() if name not in reserved}

    def reserve_frame(self, rod: str, name: str, arc_length: Any) -> None:
        """Request a frame of a rod at an arc length [m] that has no name in the model; before the rod is added.

        The name must be one that a model cannot use; equal names are one frame.
        """
        self._reserved.setdefault(rod, {}).setdefault(name, arc_length)

    def reserved_frames(self, rod: str) -> dict[str, Any]:
        """Arc lengths [m] of the frames reserved on a rod, by name."""
        return self._reserved.get(rod, {})

    def reserve_cut(self, collection: str, name: str) -> None:
        """Request a separate node for the reaction of a joint or rod; before the joint or rod is added."""
        self._cuts.add((collection, name))

    def hold(self, collection: str, name: str, node: int, placement: Pose) -> tuple[int, Pose]:
        """Node of a part that is fixed to a node without coordinates: that node, or a separate one if it was reserved."""
        if (collection, name) not in self._cuts:
            return node, placement
        return self.element(node, [self.plan(FIXED, placement)]).nodes[0], se3.identity()

    def attachment(self, item: Attachment) -> tuple[int, Pose]:
        """Node and placement of a frame with an offset."""
        node, pose = self.frame(item.frame)
        return node, se3.compose(pose, self.placement(item))

    def initial_pose(self, node: int) -> Pose:
        """World pose of a node at the initial coordinates, as numbers or expressions of the parameters."""
        if node not in self._initial_poses:
            base, plan, q_at = self._motions[node]
            q = self._initial_q.part(q_at, plan.motion.q_size)
            moved = plan.motion.pose(q, ca.vertcat(*plan.constants) if plan.constants else ca.DM(0, 1))
            self._initial_poses[node] = se3.compose(se3.compose(self.initial_pose(base), plan.placement), moved)
        return self._initial_poses[node]

    def initial_twists(self, node: int) -> Any:
        """World twists of a node at the start per unit rate of everything that moves it, as columns."""
        columns = [ca.SX(6, 0)]
        while node:
            base, plan, q_at = self._motions[node]
            q = self._initial_q.part(q_at, plan.motion.q_size)
            constants = ca.vertcat(*plan.constants) if plan.constants else ca.DM(0, 1)
            place = se3.compose(self.initial_pose(base), plan.placement)
            columns.append(ca.SX(se3.transform_twist(place, plan.motion.twist_per_rate(q, constants))))
            node = base
        return ca.horzcat(*columns)

    def initial_twist(self, node: int) -> Any:
        """World twist of a node at the start (linear at the world's origin, angular)."""
        twist = ca.DM.zeros(6)
        while node:
            base, plan, q_at = self._motions[node]
            v_at = self._rates_at[node]
            q = self._initial_q.part(q_at, plan.motion.q_size)
            rates = self._initial_v.part(v_at, plan.motion.v_size)
            if not (isinstance(rates, ca.DM) and rates.is_zero()):
                constants = ca.vertcat(*plan.constants) if plan.constants else ca.DM(0, 1)
                place = se3.compose(self.initial_pose(base), plan.placement)
                twist = twist + se3.transform_twist(place, plan.motion.twist_per_rate(q, constants)) @ rates
            node = base
        return twist

    def carry(self, node: int, carrier: int) -> None:
        """Record that a node with its own pose is initially carried by another one."""
        if carrier:
            self.carried.append(CarriedNode(node, carrier))

    def initial_point(self, node: int, point: Any) -> Any:
        """World position at the start of a point fixed to a node."""
        R, p = self.initial_pose(node)
        return p + R @ point

    def initial_length(self, passes: Sequence[tuple[int, Any]]) -> Any:
        """Length at the start [m] of a line through points, given by node and position: as the line measures it in motion, also
        where two points coincide, so that it has derivatives there."""
        points = [self.initial_point(node, place) for node, place in passes]
        return measure(points, [ca.DM.zeros(3)] * len(points)).length

    # -- elements ----------------------------------------------------------------------------------------------------

    def frame_force(
        self, kind: FrameForce, nodes: Sequence[int], constants: Sequence[Any], signals: Sequence[Scalar], source: str
    ) -> int:
        """Add a force between frames, with its signals; returns its index, which links and loads store."""
        at = self.add_signals(signals)
        return self.system.frame_force(kind, nodes, constants, at, source)

    def inertia(
        self, kind: Inertia, frames: Sequence[tuple[int, Pose]], elements: Sequence[Element], constants: Sequence[Any]
    ) -> None:
        """Add non-rigid inertia to frames (node and placement each) and to the coordinates of elements."""
        self.system.inertia(kind, frames, elements, constants)

    def route(
        self, kind: RouteForce, points: Sequence[tuple[int, Any]], constants: Sequence[Any],
        signals: Sequence[Scalar], source: str, friction: Sequence[Any] = (),
    ) -> None:  # fmt: skip
        """Add a line through pairs of node and position on it, with its signals and the constants of its friction."""
        at = self.add_signals(signals)
        self.routes[source] = self.system.route(kind, points, constants, at, source, friction)

    def constraint(
        self, kind: FrameConstraint, nodes: Sequence[int], constants: Sequence[Any], prescribed: Sequence[Scalar],
        order: int, name: str,
    ) -> None:  # fmt: skip
        """Add a constraint between frames; its values (order 0), rates (1) or accelerations (2) may be prescribed per component."""
        first = self.add_signals(prescribed)
        rows = list(range(first, first + kind.size)) if prescribed else [-1] * kind.size
        if prescribed and order:
            followed = self.system.signals(kind.size)
            rows = list(range(followed, followed + kind.size))
            for k in range(kind.size):
                self.signals.add_followed_input(self.system.rows + k, first + k, order)
        self.constraint_rows[name] = self.system.constraint(kind, nodes, constants, rows, name)

    @staticmethod
    def plan(motion: Motion, placement: Pose, constants: Sequence[Any] = ()) -> NodePlan:
        """A node to be moved by `element`."""
        return NodePlan(motion, placement, tuple(constants))

    def nominal(self, expression: Any) -> float:
        """The value of an expression at the model's own parameter values."""
        if isinstance(expression, int | float):
            return float(expression)
        return float(ca.Function("nominal", [self.parameters], [ca.SX(expression)])(self._nominal_parameters))

    def is_settled(self, expression: Any) -> bool:
        """Whether an expression has the same value for all parameters, such as half of a length over that length."""
        column = ca.SX(expression)
        if column.is_constant():
            return True
        function, here = ca.Function("value", [self.parameters], [column]), np.array(self._nominal_parameters)
        random = np.random.default_rng(0)
        tried = [float(function(here * (1 + 0.1 * random.random(len(here))))) for _ in range(3)]
        return bool(np.ptp([float(function(here)), *tried]) < 1e-12)

    def nominals(self, matrix: Any) -> np.ndarray:
        """A matrix at the model's own parameter values."""
        return np.array(ca.Function("nominals", [self.parameters], [ca.SX(matrix)])(self._nominal_parameters))

    def require(self, amount: Any, path: str, message: str, hint: str) -> None:
        """Require an amount to be nonnegative, in the model and for later values of its parameters; otherwise a fault
        at that path."""
        if self.nominal(amount) < 0:
            raise SpecError([Fault(message, hint, path)])
        if not ca.SX(amount).is_constant():
            self._required.append((amount, Requirement(path, message, hint)))

    def requirements(self) -> tuple[ca.Function | None, tuple[Requirement, ...]]:
        """Amounts that must be nonnegative as a function of the parameters, and the problem otherwise."""
        if not self._required:
            return None, ()
        amounts = ca.vertcat(*(ca.SX(amount) for amount, _ in self._required))
        function = ca.Function("requirements", [self.parameters], [ca.densify(amounts)])
        return function, tuple(requirement for _, requirement in self._required)

    @cached_property
    def _nominal_parameters(self) -> list[float]:
        values = Environment(self.robot.parameters)
        return [float(values.values[name]) for name in values.independent]

    def at_start(self, signal: Scalar) -> tuple[Any, Any]:
        """Value and rate of a signal at time zero, with inputs at their values in the model."""
        t = ca.SX.sym("t")
        expression = ca.SX(self._held.signal(signal, t))
        found = (ca.substitute(x, t, ca.SX(0)) for x in (expression, ca.jacobian(expression, t)))
        value, rate = (float(x) if x.is_constant() else x for x in found)
        return value, rate if np.isfinite(self.nominal(rate)) else 0.0

    def signal_expression(self, scalar: Scalar) -> Any:
        """A signal as an expression of time, inputs and parameters, for use in `add_signal_expressions`."""
        return self.signals.expression(scalar)

    def add_signal_expressions(self, expressions: Sequence[Any]) -> int:
        """Add signals given as expressions; returns the index of the first."""
        at = self.system.signals(len(expressions))
        for expression in expressions:
            self.signals.add_expression(expression)
        return at

    def add_signals(self, signals: Sequence[Scalar]) -> int:
        """Add signals as written in the model; returns the index of the first."""
        at = self.system.signals(len(signals))
        for scalar in signals:
            self.signals.add(scalar)
        return at

    def element(self, base: int, nodes: Sequence[NodePlan]) -> Element:
        """Add coordinates on a base node that move the given nodes; name them with `coordinate`."""
        index = self.system.element(base, [(n.motion, n.placement, n.constants) for n in nodes])
        element = self.system.element_at(index)
        for number, plan in zip(element.nodes, nodes, strict=True):
            self._motions[number] = (base, plan, element.q_at)
            self._rates_at[number] = element.v_at
        return element

    def free_nodes(self, motion: Motion, names: Sequence[str], places: Any, rotation: Any, carrier: int) -> list[int]:
        """Add many nodes on the world that move by TRANSLATION or FREE, and start at `places` (3 x n) [m] with a carrier.

        Coordinates are called `name.x`, `name.y`, `name.z` and, with a `rotation` at the start, `name.orientation`. Returns the
        nodes.
        """
        nodes = self.system.free_elements(motion, len(names))
        plan = NodePlan(motion, se3.identity())
        q_at, v_at = len(self._initial_q), len(self._initial_v)
        twist = self.initial_twist(carrier)
        velocities = ca.repmat(twist[0:3], 1, len(names)) + so3.hat(twist[3:6]) @ places
        positions, rates = [places], [ca.DM.zeros(3, len(names)) if twist.is_zero() else velocities]
        if rotation is not None:
            positions.append(ca.repmat(cached_functions.matrix_quaternion(rotation), 1, len(names)))
            rates.append(ca.repmat(rotation.T @ twist[3:6], 1, len(names)))
        self._initial_q.extend_by_columns(ca.vertcat(*positions))
        self._initial_v.extend_by_columns(ca.vertcat(*rates))
        for node, name in zip(nodes, names, strict=True):
            self._motions[node] = (0, plan, q_at)
            self._rates_at[node] = v_at
            self.carry(node, carrier)
            for k, axis in enumerate("xyz"):
                self.coordinates[f"{name}.{axis}"] = CoordinateEntry(f"{name}.{axis}", q_at + k, v_at + k, False)
            if rotation is not None:
                whole = f"{name}.orientation"
                self.coordinates[whole] = CoordinateEntry(whole, q_at + 3, v_at + 3, True)
            q_at, v_at = q_at + motion.q_size, v_at + motion.v_size
        return nodes

    def coordinate(self, name: str, q_at: int, v_at: int, initial: Any, rate: Any = 0.0, *, unit: str = "") -> None:
        """Name a plain coordinate of the last element and set its initial value and its SI unit ("-" for a pure number)."""
        self.coordinates[name] = CoordinateEntry(name, q_at, v_at, False, unit=unit)
        self._initial_q.append(self._started.get(name, initial))
        self._initial_v.append(self._moving.get(name, rate))

    def start(self, positions: Sequence[Any], rates: Sequence[Any]) -> None:
        """Initial positions and rates of the following coordinates."""
        self._initial_q.extend(positions)
        self._initial_v.extend(rates)

    def start_coordinates(self, owner: str, initial: Mapping[str, Scalar], rates: Mapping[str, Scalar]) -> None:
        """Initial values and rates that replace those of the coordinates `owner.name`, which are added later."""
        self.stated |= {f"{owner}.{name}" for name in initial} | {f"d({owner}.{name})/dt" for name in rates}
        self._started |= {f"{owner}.{name}": self.value(value) for name, value in initial.items()}
        self._moving |= {f"{owner}.{name}": self.value(value) for name, value in rates.items()}

    def add_arc(self, rod: str, node: int, coordinates: ArcCoordinates) -> None:
        """Register the next circular arc of a rod for outputs."""
        self.arcs.setdefault(rod, []).append(ArcEntry(node, coordinates))

    def orientation(self, name: str, q_at: int, v_at: int, initial: Any, rates: Any = None) -> None:
        """Name a free rotation of the element added last.

        initial: its initial rotation matrix, or its unit quaternion if the sign matters, as a vector or by its entries.
        rates: its initial angular velocity in its own axes [rad/s]; None: at rest.
        """
        self.coordinates[name] = CoordinateEntry(name, q_at, v_at, True, unit="-")
        is_matrix = not isinstance(initial, list) and initial.shape == (3, 3)
        self._initial_q.extend(self.quaternion(initial) if is_matrix else self._numbers(initial))
        self._initial_v.extend([0.0] * Quaternion().v_size if rates is None else self._numbers(rates))

    def _numbers(self, vector: Any) -> list[Any]:
        return vector if isinstance(vector, list) else self.entries(vector)

    def quaternion(self, R: Any) -> list[Any]:
        """Entries of a rotation's quaternion, which are equal for all sections of a straight rod and for most free bodies."""
        if not isinstance(R, ca.DM):
            return self.entries(cached_functions.matrix_quaternion(R))
        key = tuple(self.entries(R))
        if key not in self._quaternions:
            self._quaternions[key] = self.entries(cached_functions.matrix_quaternion(R))
        return self._quaternions[key]

    def is_loaded_along(self, rod: str) -> bool:
        """Whether loads or fields act along a rod, so that it needs pieces even if its mass is no sum over them."""
        loads = (*self.robot.loads.values(), *self.robot.magnets.values())
        return self.robot.world.fluid is not None or any(rod in load.rods for load in loads)

    def rod_piece(
        self, rod: str, node: int, placement: Pose, length: Any, x: float, span: tuple[float, float] | None = None
    ) -> None:
        """Register a piece of rod of this length [m] that moves with a node, around fraction x of the rod.

        span: fractions of the ends of the part of the rod that it represents together with the other pieces of this span.
        """
        self._rod_pieces.setdefault(rod, []).append(RodPiece(node, placement, length, x, span))

    def later_rod_pieces(self, rod: str, pieces: Callable[[], Iterable[PieceArguments]]) -> None:
        """Record pieces of a rod that are computed on demand, each as an argument of `rod_piece`."""
        self._later_pieces[rod] = pieces

    def rod_pieces(self, rod: str) -> list[RodPiece]:
        """Pieces of a rod that move with nodes."""
        if rod in self._later_pieces:
            for piece in self._later_pieces.pop(rod)():
                self.rod_piece(rod, *piece)
        return self._rod_pieces.get(rod, [])

    def rod_span(
        self, rod: str, ends: Sequence[tuple[int, Pose]], length: Any, tangent: Sequence[Any],
        fractions: Sequence[float],
    ) -> None:  # fmt: skip
        """Register a part of a rod of this length [m] between two sections, each a node and a placement on it, with their tangent
        in their axes and their fractions of the rod's length; loads along it act on both."""
        (near, far), (begin, end) = ends, fractions
        self._rod_spans.setdefault(rod, []).append(RodSpan(near, far, length, tangent, (begin, end)))

    def rod_spans(self, rod: str) -> list[RodSpan]:
        """Parts of a rod between sections, base to tip, if loads along it act on these."""
        return self._rod_spans.get(rod, [])

    def rod_stations(self, rod: str, places: Sequence[tuple[int, Pose]], fractions: Sequence[float]) -> None:
        """Register stations along a rod, each a node and a placement on it, by their fractions of its length; strains between
        them are monitored."""
        for (node, placement), x in zip(places, fractions, strict=True):
            entries = tuple(self.pose_entries(placement))
            key = entries if all(isinstance(entry, float) for entry in entries) else (id(placement),)
            if key not in self._placements:
                self._placements[key] = self.system.constants(list(entries))
            self.stations.setdefault(rod, []).append(RodStation(node, self._placements[key], x))

    def rod_strains(self, rod: str, sample: StrainSample) -> None:
        """Register the samples at which the model of a rod provides strains and section forces, for outputs."""
        self.strain_samples.setdefault(rod, []).append(sample)

    def limit_turn(self, rod: str, first: tuple[int, Pose], second: tuple[int, Pose], angle: float, hint: str) -> None:
        """Limit the rotation of a rod's section (a node) relative to another one to less than an angle [rad]."""
        at = self.system.constants(self.pose_entries(first[1]))
        self.turn_limits.append(TurnLimit(rod, first[0], second[0], at, angle, hint))

    def name_frame(self, name: str, node: int, placement: Pose) -> None:
        """Register a frame by name."""
        self._frames[name] = (node, placement)

    def coordinate_force(
        self, kind: CoordinateForce, q_at: int, v_at: int, constants: Sequence[Any], signals: Sequence[Scalar],
        name: str,
    ) -> None:  # fmt: skip
        """Add a force on coordinates, with its signals."""
        at = self.add_signals(signals)
        self.coordinate_forces[name] = self.system.coordinate_force(kind, q_at, v_at, constants, at, name)

    def finish(self) -> tuple[System, Any, Any]:
        """The system, and the initial q and v as expressions of the parameters."""
        return self.system.build(), self._initial_q.whole(), self._initial_v.whole()
