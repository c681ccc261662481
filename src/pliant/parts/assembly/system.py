"""The mechanical system of a robot: elements, nodes, masses, forces and constraints, by index.

A `System` is independent of the model language; the equations are assembled from it. Node 0 is the world. An element
has coordinates and the nodes that they move: a joint has one node, a rod segment several. Elements are ordered
so that every base comes before the elements attached to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from pliant.parts.assembly.contact_shapes import ContactBuilder, ContactSystem
from pliant.parts.formula.base import CoordinateForce, FrameConstraint, FrameForce, Inertia
from pliant.parts.formula.route import RouteForce
from pliant.parts.geometry.se3 import Pose, pose_scalars, scalars
from pliant.parts.motion import CoordinatePart, Motion, WithCoordinates

PLACEMENT_SIZE = 12
MASS_SIZE = 10


@dataclass(frozen=True)
class Node:
    """A frame that moves with its element's coordinates; `constants` is the index of its placement and motion data."""

    element: int
    motion: Motion
    constants: int


@dataclass(frozen=True)
class Element(WithCoordinates):
    """Coordinates `q[q_at : q_at + q_size]` with rates `v[v_at : v_at + v_size]` that move `nodes` relative to `base`."""

    base: int
    q_at: int
    v_at: int
    parts: tuple[CoordinatePart, ...]
    nodes: tuple[int, ...]


@dataclass(frozen=True)
class FrameForceInstance:
    """A force between frames: `nodes` it acts on, where its constants and signals start, its owner."""

    kind: FrameForce
    nodes: tuple[int, ...]
    constants: int
    signals: int
    source: str


@dataclass(frozen=True)
class CoordinateForceInstance:
    """A force on the coordinates starting at `q_at`/`v_at`: of one element, or of successive elements."""

    kind: CoordinateForce
    q_at: int
    v_at: int
    constants: int
    signals: int
    source: str

    @property
    def size(self) -> int:
        """Rates that it acts on."""
        return sum(part.v_size for part in self.kind.parts)


@dataclass(frozen=True)
class InertiaInstance:
    """Non-rigid inertia on `nodes` and on the coordinates of `elements`.

    `constants` is the index of the placements of its frames on the nodes, which are followed by the constants of its type.
    """

    kind: Inertia
    nodes: tuple[int, ...]
    elements: tuple[int, ...]
    constants: int

    @property
    def own_constants(self) -> int:
        """Index of the first constant of the kind."""
        return self.constants + PLACEMENT_SIZE * len(self.nodes)

    @property
    def is_shared(self) -> bool:
        """Whether it is between two frames."""
        return self.kind.frames == 2


@dataclass(frozen=True)
class RouteInstance:
    """A line through points fixed to `nodes`; `constants` begin with the points' positions on them (3 each) and, if it has
    friction, end with its constants."""

    kind: RouteForce
    nodes: tuple[int, ...]
    constants: int
    signals: int
    source: str
    has_friction: bool = False

    @property
    def law_constants(self) -> int:
        """Index of the constants of its law."""
        return self.constants + 3 * len(self.nodes)

    @property
    def friction_constants(self) -> int:
        """Index of the constants of its friction."""
        return self.law_constants + self.kind.constants

    @property
    def coupled(self) -> bool:
        """Whether a tension depends on positions or rates: it then couples all coordinates that change the length."""
        return self.kind.coupled or self.has_friction


@dataclass(frozen=True)
class ConstraintInstance:
    """A constraint between frames, filling rows `row ... row + kind.size`; `signals[i]` is -1 or a signal's index."""

    kind: FrameConstraint
    nodes: tuple[int, ...]
    constants: int
    row: int
    signals: tuple[int, ...]
    name: str


@dataclass(frozen=True)
class LinearConstraint:
    """sum(coefficient * q) = offset + signal, on plain coordinates; coefficients and offset are constants."""

    coordinates: tuple[tuple[int, int], ...]
    coefficients: tuple[int, ...]
    offset: int
    row: int
    signal: int
    name: str


@dataclass
class PartContributions:
    """Contributions of a part to the system, by index; masses are nodes and the indices of their ten constants."""

    masses: list[tuple[int, int]] = field(default_factory=list)
    inertias: list[int] = field(default_factory=list)
    coordinate_forces: list[int] = field(default_factory=list)
    frame_forces: list[int] = field(default_factory=list)
    routes: list[int] = field(default_factory=list)

    def nodes(self, system: System) -> set[int]:
        """All nodes that it is attached to or acts on."""
        found = {node for node, _ in self.masses}
        for members, indices in (
            (system.inertias, self.inertias),
            (system.frame_forces, self.frame_forces),
            (system.routes, self.routes),
        ):
            found |= {node for k in indices for node in members[k].nodes}
        return found


@dataclass(frozen=True)
class Constants:
    """The numbers of all elements, some of them expressions of the parameters.

    Number `symbolic_at[k]` is entry `symbolic_which[k]` of `symbolic(parameters)`: equal parts share their expressions.
    """

    numbers: np.ndarray
    symbolic_at: np.ndarray
    symbolic_which: np.ndarray
    symbolic: ca.Function | None

    def values(self, parameters: np.ndarray) -> np.ndarray:
        """All constants at the given parameter values."""
        return np.asarray(self.of_cases(parameters[None])[0])

    def of_cases(self, parameters: np.ndarray) -> np.ndarray:
        """All constants in several cases, cases x numbers, from values of the parameters, cases x parameters."""
        out = np.repeat(self.numbers[None], len(parameters), axis=0)
        if self.symbolic is not None:
            found = np.asarray(self.symbolic(parameters.T)).reshape(-1, len(parameters), order="F")
            out[:, self.symbolic_at] = found.T[:, self.symbolic_which]
        return out

    def tangent(self, parameters: np.ndarray, along: np.ndarray) -> np.ndarray:
        """Derivative of all constants along a direction in the space of the parameters."""
        out = np.zeros_like(self.numbers)
        if self.symbolic is not None:
            found = np.asarray(self._forward(parameters, self.symbolic(parameters), along)).ravel()
            out[self.symbolic_at] = found[self.symbolic_which]
        return out

    @cached_property
    def _forward(self) -> ca.Function:
        assert self.symbolic is not None, "some constants are expressions"
        return self.symbolic.forward(1)

    def expression(self, parameters: Any) -> Any:
        """All constants as an expression of symbolic parameters."""
        if self.symbolic is None:
            return ca.DM(self.numbers)
        out = type(parameters)(ca.DM(self.numbers))
        out[self.symbolic_at.tolist()] = self.symbolic(parameters)[self.symbolic_which.tolist()]
        return out


@dataclass(frozen=True)
class System:
    """A finished system. Sizes: `q_size` positions, `v_size` rates, `rows` constraint rows."""

    elements: tuple[Element, ...]
    nodes: tuple[Node | None, ...]
    masses: dict[int, int]
    inertias: tuple[InertiaInstance, ...]
    coordinate_forces: tuple[CoordinateForceInstance, ...]
    frame_forces: tuple[FrameForceInstance, ...]
    routes: tuple[RouteInstance, ...]
    constraints: tuple[ConstraintInstance, ...]
    linear_constraints: tuple[LinearConstraint, ...]
    constants: Constants
    q_size: int
    v_size: int
    rows: int
    signal_count: int
    contacts: ContactSystem

    def base(self, node: int) -> int:
        """The base of `node`."""
        return self.elements[self.element_of(node)].base

    def element_of(self, node: int) -> int:
        """The element that moves a node (not the world)."""
        entry = self.nodes[node]
        assert entry is not None, "the world is moved by nothing"
        return entry.element

    def path(self, node: int) -> list[int]:
        """Nodes from `node` (included) to the ground (excluded)."""
        out = []
        while node:
            out.append(node)
            node = self.base(node)
        return out

    @cached_property
    def node_elements(self) -> np.ndarray:
        """The element that moves each node; -1 for the world."""
        return np.array([-1 if node is None else node.element for node in self.nodes])

    @cached_property
    def depths(self) -> np.ndarray:
        """Number of nodes from each one (included) to the ground (excluded)."""
        bases = [element.base for element in self.elements]
        depths = [0] * len(self.nodes)
        for number, node in enumerate(self.nodes):
            if node is not None:  # the base of a node comes before it
                depths[number] = 1 + depths[bases[node.element]]
        return np.array(depths)

    def quaternions(self) -> list[tuple[int, int]]:
        """Indices of each free rotation in q and v."""
        out = []
        for element in self.elements:
            q, v = element.q_at, element.v_at
            for part in element.parts:
                if part.q_size != part.v_size:
                    out.append((q, v))
                q, v = q + part.q_size, v + part.v_size
        return out

    def row_signals(self) -> list[int]:
        """For each constraint row the index of its prescribed signal, or -1."""
        out = [-1] * self.rows
        for c in self.constraints:
            for i, s in enumerate(c.signals):
                out[c.row + i] = s
        for line in self.linear_constraints:
            out[line.row] = line.signal
        return out


@dataclass
class SystemBuilder:
    """Collects elements in order and assigns indices; `build` freezes the result."""

    parameters: Any = field(default_factory=lambda: ca.SX.sym("parameters", 0))
    _values: list[Any] = field(default_factory=list)
    _elements: list[Element] = field(default_factory=list)
    _nodes: list[Node | None] = field(default_factory=lambda: [None])
    _masses: dict[int, Any] = field(default_factory=dict)
    _inertias: list[InertiaInstance] = field(default_factory=list)
    _on_coordinates: list[CoordinateForceInstance] = field(default_factory=list)
    _applied: list[FrameForceInstance] = field(default_factory=list)
    _routed: list[RouteInstance] = field(default_factory=list)
    _constrained: list[ConstraintInstance] = field(default_factory=list)
    _linear: list[LinearConstraint] = field(default_factory=list)
    _signals: int = 0
    q_size: int = 0
    v_size: int = 0
    rows: int = 0
    contacts: ContactBuilder = field(default_factory=ContactBuilder)
    owner: tuple[str, str] = ("", "")
    """Collection and name of the current part."""
    tracked: dict[tuple[str, str], PartContributions] = field(default_factory=dict)
    """Records of the tracked parts."""
    _own_masses: list[tuple[tuple[str, str], int, Any]] = field(default_factory=list)

    def track(self, collection: str, name: str) -> None:
        """Track the contributions of a part; before it is added."""
        self.tracked.setdefault((collection, name), PartContributions())

    def _note(self, kind: str, index: int) -> None:
        if self.owner in self.tracked:
            getattr(self.tracked[self.owner], kind).append(index)

    def gravity(self, vector: Sequence[Any]) -> None:
        """Set gravity [m/s^2] in world axes; must come first."""
        assert not self._values, "gravity occupies the first three constants"
        self.constants(vector)

    def constants(self, values: Sequence[Any]) -> int:
        """Store constants (floats or expressions of the parameters); returns their index."""
        at = len(self._values)
        self._values.extend(values)
        return at

    def peek(self, at: int, count: int) -> list[Any]:
        """Constants stored before."""
        return self._values[at : at + count]

    def signals(self, count: int) -> int:
        """Reserve consecutive signals; returns the first index."""
        at = self._signals
        self._signals += count
        return at

    def element(self, base: int, motions: Sequence[tuple[Motion, Pose, Sequence[Any]]]) -> int:
        """Add coordinates on node `base` with one node per (motion, placement in the base, constants).

        All motions share the same coordinates. Returns the element's index; its nodes are consecutive.
        """
        index, parts = len(self._elements), motions[0][0].parts
        nodes = []
        for motion, placement, values in motions:
            if motion.parts != parts:
                raise ValueError(f"motions of one element need the same coordinates; '{motion.name}' differs")
            data = [*pose_scalars(placement), *values]
            nodes.append(len(self._nodes))
            self._nodes.append(Node(index, motion, self.constants(data)))
        self._elements.append(Element(base, self.q_size, self.v_size, parts, tuple(nodes)))
        self.q_size += self._elements[-1].q_size
        self.v_size += self._elements[-1].v_size
        return index

    def free_elements(self, motion: Motion, count: int) -> list[int]:
        """Add many elements on the world that move by a motion without constants; returns their nodes."""
        placement = self.constants([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
        q_size, v_size, first = motion.q_size, motion.v_size, len(self._nodes)
        for k in range(count):
            index = len(self._elements)
            self._nodes.append(Node(index, motion, placement))
            self._elements.append(Element(0, self.q_size, self.v_size, motion.parts, (first + k,)))
            self.q_size += q_size
            self.v_size += v_size
        return list(range(first, first + count))

    def last_node(self) -> int:
        """The node added last."""
        return len(self._nodes) - 1

    def element_at(self, index: int) -> Element:
        """The element of that index."""
        return self._elements[index]

    def mass(self, node: int, mass: Any, com: Any, inertia: Any, placement: Pose) -> None:
        """Add a rigid mass [kg] to a node: centre of mass [m] and inertia about it [kg m^2] in a placed frame."""
        R, p = placement
        c = p + R @ com
        about_origin = R @ inertia @ R.T + mass * (ca.dot(c, c) * ca.DM.eye(3) - c @ c.T)
        at = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
        self.mass_numbers(node, ca.vertcat(mass, mass * c, *(about_origin[i, j] for i, j in at)))

    def mass_numbers(self, node: int, values: Any) -> None:
        """Add a rigid mass to a node: mass [kg], first moment [kg m] (3), and inertia about the node's origin [kg m^2] as
        xx, yy, zz, xy, xz, yz of its matrix, in the node's axes; a vector, or a list of ten."""
        if self.owner in self.tracked:
            self._own_masses.append((self.owner, node, values))
        if node in self._masses:
            values = sum(ca.vertcat(*x) if isinstance(x, list) else x for x in (self._masses[node], values))
        self._masses[node] = values

    def inertia(
        self, kind: Inertia, frames: Sequence[tuple[int, Pose]], elements: Sequence[Element], constants: Sequence[Any]
    ) -> None:
        """Add non-rigid inertia to frames, each a node and a placement on it, and to elements' coordinates."""
        parts = tuple(part for element in elements for part in element.parts)
        if parts != kind.parts or len(frames) != kind.frames or len(constants) != kind.constants:
            raise ValueError(f"inertia '{kind.name}': frames, coordinates or constants are not those of its kind")
        placements = [x for _, placement in frames for x in pose_scalars(placement)]
        at = self.constants([*placements, *constants])
        moved = [self._nodes[element.nodes[0]] for element in elements]
        owners = tuple(node.element for node in moved if node is not None)
        self._inertias.append(InertiaInstance(kind, tuple(node for node, _ in frames), owners, at))
        self._note("inertias", len(self._inertias) - 1)

    def rigid(self, node: int, values: list[Any], placement: Pose) -> None:
        """The same for a mass given in a frame placed on the node."""
        mass, c = values[0], ca.vertcat(*values[1:4]) / values[0]
        xx, yy, zz, xy, xz, yz = values[4:]
        about_origin = ca.blockcat([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        self.mass(node, mass, c, about_origin - mass * (ca.dot(c, c) * ca.DM.eye(3) - c @ c.T), placement)

    def frame_force(
        self, kind: FrameForce, nodes: Sequence[int], constants: Sequence[Any] | int, signals: int, source: str
    ) -> int:
        """Add a force between frames; returns its index. constants: its own, or the index of shared ones."""
        at = constants if isinstance(constants, int) else self.constants(constants)
        self._applied.append(FrameForceInstance(kind, tuple(nodes), at, signals, source))
        self._note("frame_forces", len(self._applied) - 1)
        return len(self._applied) - 1

    def route(
        self, kind: RouteForce, points: Sequence[tuple[int, Any]], constants: Sequence[Any], signals: int, source: str,
        friction: Sequence[Any] = (),
    ) -> int:  # fmt: skip
        """Add a line through pairs of node and position on it, with the constants of its friction if it has any; returns its
        index."""
        places = [entry for _, place in points for entry in scalars(place)]
        nodes = tuple(node for node, _ in points)
        at = self.constants([*places, *constants, *friction])
        self._routed.append(RouteInstance(kind, nodes, at, signals, source, bool(friction)))
        self._note("routes", len(self._routed) - 1)
        return len(self._routed) - 1

    def coordinate_force(
        self, kind: CoordinateForce, q_at: int, v_at: int, constants: Sequence[Any], signals: int, source: str
    ) -> int:
        """Add a force on coordinates; returns its index."""
        self._on_coordinates.append(
            CoordinateForceInstance(kind, q_at, v_at, self.constants(constants), signals, source)
        )
        self._note("coordinate_forces", len(self._on_coordinates) - 1)
        return len(self._on_coordinates) - 1

    def constraint(
        self, kind: FrameConstraint, nodes: Sequence[int], constants: Sequence[Any], signals: Sequence[int], name: str
    ) -> int:
        """Add a constraint between frames; returns its first row."""
        row = self.rows
        self._constrained.append(
            ConstraintInstance(kind, tuple(nodes), self.constants(constants), row, tuple(signals), name)
        )
        self.rows += kind.size
        return row

    def linear_constraint(
        self, coordinates: Sequence[tuple[int, int]], coefficients: Sequence[Any], offset: Any, signal: int, name: str
    ) -> int:
        """Add sum(coefficient * q) = offset + signal over (q index, v index) pairs; returns its row."""
        row = self.rows
        first = self.constants([*coefficients, offset])
        self._linear.append(
            LinearConstraint(
                tuple(coordinates),
                tuple(range(first, first + len(coefficients))),
                first + len(coefficients),
                row,
                signal,
                name,
            )
        )
        self.rows += 1
        return row

    def build(self) -> System:
        """Freeze."""
        masses = {
            node: self.constants(values if isinstance(values, list) else scalars(values))
            for node, values in sorted(self._masses.items())
        }
        for owner, node, values in self._own_masses:
            at = self.constants(values if isinstance(values, list) else scalars(values))
            self.tracked[owner].masses.append((node, at))
        return System(
            tuple(self._elements), tuple(self._nodes), masses, tuple(self._inertias), tuple(self._on_coordinates),
            tuple(self._applied), tuple(self._routed), tuple(self._constrained), tuple(self._linear),
            self._freeze_constants(), self.q_size, self.v_size, self.rows, self._signals, self.contacts.build(),
        )  # fmt: skip

    def _freeze_constants(self) -> Constants:
        # there may be a million: lists are processed together
        matrices = {kind for kind in set(map(type, self._values)) if issubclass(kind, ca.SX | ca.DM)}
        where = [i for i, value in enumerate(self._values) if type(value) in matrices] if matrices else []
        plain = list(self._values)
        for i in where:
            plain[i] = 0.0
        numbers = np.array(plain, dtype=float)
        if not where:
            return Constants(numbers, np.zeros(0, dtype=int), np.zeros(0, dtype=int), None)
        unique = {id(self._values[i]): self._values[i] for i in where}
        rank_of = {key: k for k, key in enumerate(unique)}
        expressions = list(unique.values())
        # those without parameters are numbers
        places, members = np.array(where), np.array([rank_of[id(self._values[i])] for i in where])
        column = ca.SX(ca.vertcat(*expressions))
        depends = np.array(ca.which_depends(column, self.parameters, 1, True), dtype=bool)
        values = ca.Function("constants", [self.parameters], [column])(0).full().ravel()
        alone = ~depends[members]
        numbers[places[alone]] = values[members[alone]]
        if not depends.any():
            return Constants(numbers, np.zeros(0, dtype=int), np.zeros(0, dtype=int), None)
        function = ca.Function("constants", [self.parameters], [column[np.flatnonzero(depends).tolist()]])
        rank = np.cumsum(depends) - 1
        return Constants(numbers, places[~alone], rank[members[~alone]], function)
