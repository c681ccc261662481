"""Forces on the links of a rigid tree: springs, dampers, limits, motors, lines, loads, ties and loops.

Each force of the compiled system is converted to the few forms supported by other programs. Forces without such a form are
listed, as are those that are approximated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from pliant.engine.equations import Equations
from pliant.language.message_text import enumeration
from pliant.parts.assembly.system import (
    ConstraintInstance,
    CoordinateForceInstance,
    FrameForceInstance,
    InertiaInstance,
    RouteInstance,
)
from pliant.parts.constraint import CONSTANTS as FRAMES
from pliant.parts.external_load import WRENCH
from pliant.parts.external_load import WRENCH_CONSTANTS as LOAD
from pliant.parts.formula.base import STOPS
from pliant.parts.joint.coordinate import ORIENTATION, ORIENTATION_FORCE
from pliant.parts.link import AXIAL, axial_force
from pliant.parts.tendon import CONSTANTS as ELASTIC
from pliant.parts.tendon import GIVEN_TENSION, elastic_line
from pliant.targets.rigid_tree import WORLD, RigidTree, is_solid, moved

# -- forms that other programs support --------------------------------------------------------------------------------

Place = tuple[int, np.ndarray]
"""A node, and a point [m] or a pose (4x4) on it."""


@dataclass
class Passive:
    """Passive forces of a joint: stiffness, value without force, damping, armature, and range."""

    stiffness: float = 0.0
    rest: float = 0.0
    damping: float = 0.0
    armature: float = 0.0
    range: tuple[float, float] | None = None


@dataclass(frozen=True)
class Motor:
    """Generalized forces per unit of a signal, by the index of their rate in v; `value` is the signal at the start."""

    name: str
    gears: Mapping[int, float]
    value: float
    bounds: tuple[float, float] | None


@dataclass(frozen=True)
class Line:
    """A line through points: its spring acts outside of `slack` (shortest and longest length without force [m])."""

    name: str
    points: tuple[Place, ...]
    stiffness: float = 0.0
    slack: tuple[float, float] = (0.0, 0.0)
    damping: float = 0.0
    pull: Motor | None = None


@dataclass(frozen=True)
class Push:
    """Force (component 0 to 2) or moment (3 to 5) along an axis of a frame: that of the pose `at`, or with `in_world` a fixed one
    with the axes of `axes`."""

    name: str
    at: Place
    axes: np.ndarray | None
    component: int
    value: float


@dataclass(frozen=True)
class Tie:
    """Joint value `first = offset + ratio * second`, by indices of rates in v; `second` is -1 for a fixed value."""

    name: str
    first: int
    second: int
    ratio: float
    offset: float


@dataclass(frozen=True)
class Loop:
    """Two poses on nodes that coincide: completely, or only their points."""

    name: str
    first: Place
    second: Place
    whole: bool


OMITTED = "omitted: "
"""How the remark on a part begins that has none of the forms of `RigidForces`; the reason follows."""


@dataclass
class RigidForces:
    """All forces, in the forms supported by other programs."""

    passive: dict[int, Passive] = field(default_factory=dict)
    motors: list[Motor] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    pushes: list[Push] = field(default_factory=list)
    ties: list[Tie] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    said: dict[str, list[str]] = field(default_factory=dict)
    """Remarks on joints, and the subject of each."""
    said_of_drives: dict[str, list[str]] = field(default_factory=dict)
    """Remarks on motors, lines, loads, ties and loops, which some programs do not support."""

    @property
    def joint_remarks(self) -> list[str]:
        """Approximated and omitted features of joints and of the robot, one sentence each."""
        return [f"{enumeration(about)}: {text}" for text, about in self.said.items()]

    @property
    def drive_remarks(self) -> list[str]:
        """The same for motors, lines, loads, ties and loops."""
        return [f"{enumeration(about)}: {text}" for text, about in self.said_of_drives.items()]

    @property
    def without_form(self) -> list[str]:
        """Lines, loads and constraints that have none of the forms above, so that no program has them."""
        return [name for text, about in self.said_of_drives.items() if text.startswith(OMITTED) for name in about]

    def of(self, v_at: int) -> Passive:
        """The passive forces of the joint with this index of its rate."""
        return self.passive.setdefault(v_at, Passive())

    def nodes(self) -> set[int]:
        """All nodes with attached forces or constraints."""
        places = [p for line in self.lines for p in line.points] + [push.at for push in self.pushes]
        places += [place for loop in self.loops for place in (loop.first, loop.second)]
        return {node for node, _ in places}


# -- linear form of a force ------------------------------------------------------------------------------------------

SAMPLES = 4
"""Number of states in addition to the start in which a force is compared with its linear form."""
NEARLY = 1e-9
"""Relative difference up to which a force is linear."""


@dataclass(frozen=True)
class LinearForm:
    """A force on coordinates about the positions `at`: `offset - stiffness (q - at) - damping v + gains s`.

    couples: whether stiffness or damping have entries off the diagonal; is_linear: whether the force has this form everywhere.
    """

    at: np.ndarray
    offset: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray
    gains: np.ndarray
    couples: bool
    is_linear: bool

    @classmethod
    def of(
        cls, effect: Callable[..., Any], constants: np.ndarray, signals: int, at: np.ndarray, values: np.ndarray
    ) -> LinearForm:
        """The linear form of an `effect` of a `CoordinateForce`, at rest with these values of its signals."""
        n = len(at)
        q, v, s = ca.SX.sym("q", n), ca.SX.sym("v", n), ca.SX.sym("s", signals)
        force = ca.densify(ca.SX(effect(q, v, ca.DM(constants), s).force))
        by = [ca.densify(ca.jacobian(force, x)) for x in (q, v, s)]
        function = ca.Function("form", [q, v, s], [force, *by])
        found, k, c, b = (np.array(x) for x in function(at, np.zeros(n), values))
        offset = found.ravel() - b @ values
        random, is_linear = np.random.default_rng(0), True
        for size in 10.0 ** np.arange(SAMPLES):
            dq, dv, ds = (0.1 * size * random.standard_normal(m) for m in (n, n, signals))
            there = np.array(function(at + dq, dv, values + ds)[0]).ravel()
            parts = [offset, k @ dq, c @ dv, b @ (values + ds)]
            is_linear &= bool(np.abs(there - sum(parts)).max() <= NEARLY * np.abs(parts).max())
        couples = any(np.abs(x - np.diag(np.diag(x))).max() > NEARLY * np.abs(x).max() for x in (k, c))
        return cls(at, offset, -k, -c, b, couples, is_linear)


# -- reading the compiled system -------------------------------------------------------------------------------------


def rigid_forces(eqs: Equations, tree: RigidTree, q: np.ndarray) -> RigidForces:
    """All forces on a robot, at the values of its parameters; nonlinear ones are linearized at the positions q."""
    reader = _Reader(eqs, tree, q)
    reader.read()
    return reader.found


class _Reader:
    def __init__(self, eqs: Equations, tree: RigidTree, q: np.ndarray) -> None:
        self.model, self.bound, self.q = eqs.model, eqs.binding, q
        self.system, self.constants, self.eqs = eqs.model.system, eqs.binding.constants, eqs
        self.joints = tree.by_rate
        self.names = {joint.v_at: joint.name for whole in tree.joints for joint in (whole, *whole.parts())}
        self.signals = self.bound.signals(0.0)[1]
        self.gears: dict[int, dict[int, float]] = {}
        self.sources: dict[int, str] = {}
        self.found = RigidForces()

    def read(self) -> None:
        for inertia in self.system.inertias:
            if not inertia.kind.weightless:
                self._armature(inertia)
        for force in self.system.coordinate_forces:
            self._coordinate_force(force)
        for motor in self._motors():
            self.found.motors.append(motor)
        for frame_force in self.system.frame_forces:
            self._frame_force(frame_force)
        for route in self.system.routes:
            self._route(route)
        for constraint in self.system.constraints:
            self._constraint(constraint)
        self._ties()
        self._rest()

    def remark(self, about: str, text: str, *, of_drive: bool = False) -> None:
        """Note that a feature is approximated or omitted."""
        names = (self.found.said_of_drives if of_drive else self.found.said).setdefault(text, [])
        if about not in names:
            names.append(about)

    # -- on coordinates ----------------------------------------------------------------------------------------------

    def _coordinate_force(self, force: CoordinateForceInstance) -> None:
        own = self.constants[force.constants : force.constants + force.kind.constants]
        if force.kind.name.startswith("stops"):
            self._stops(force, own)
        elif force.kind is ORIENTATION_FORCE:
            self._orientation(force, own)
        else:
            self._linear_force(force, own)

    def _armature(self, inertia: InertiaInstance) -> None:
        (element,) = (self.system.elements[k] for k in inertia.elements)
        own = self.constants[inertia.own_constants : inertia.own_constants + inertia.kind.constants]
        for k, value in enumerate(own):
            at = element.v_at + k
            if at in self.names:  # a free rotation has one joint for its three rates, with one value
                scale = self.joints[at].scale if at in self.joints else 1.0
                self.found.of(at).armature = float(value) / scale**2

    def _stops(self, force: CoordinateForceInstance, own: np.ndarray) -> None:
        at = STOPS.read(own)
        lower = float(at.minimum) if "_lower" in force.kind.name else -np.inf
        upper = float(at.maximum) if "_upper" in force.kind.name else np.inf
        for k in range(force.size):
            joint = self.joints[force.v_at + k]
            self.found.of(joint.v_at).range = (joint.scale * lower, joint.scale * upper)
        self.remark(force.source, "its stops have the stiffness of the other program")

    def _orientation(self, force: CoordinateForceInstance, own: np.ndarray) -> None:
        at, passive = ORIENTATION.read(own), self.found.of(force.v_at)
        for what, values in (("stiffness", at.stiffness), ("damping", at.damping)):
            setattr(passive, what, float(values[0]))
            if np.ptp(values):
                self.remark(force.source, f"its {what} differs between axes; that about x is written for all")
        if passive.stiffness and abs(at.rest[0]) < 1:
            self.remark(force.source, "its spring is written with the rest position zero")
        if any(self._acts(force.signals + k) for k in range(3)):
            self.remark(force.source, "the torque on a free rotation is omitted")

    def _linear_force(self, force: CoordinateForceInstance, own: np.ndarray) -> None:
        """Spring, damper and motors of a linear force, or of its linear form at the start."""
        n, kind = force.size, force.kind
        if any(force.v_at + k not in self.joints for k in range(n)):
            self.remark(force.source, "its force depends on the rotation of a free joint, and is omitted")
            return
        form = LinearForm.of(kind.effect, own, kind.signals, self.q[force.q_at : force.q_at + n], self._signals(force))
        scale = np.array([self.joints[force.v_at + k].scale for k in range(n)])
        for k in range(n):
            passive = self.found.of(force.v_at + k)
            stiffness = form.stiffness[k, k] / scale[k] ** 2
            total = passive.stiffness + stiffness
            if total:
                rest = scale[k] * (form.at[k] + form.offset[k] / form.stiffness[k, k]) if stiffness else 0.0
                passive.rest = (passive.stiffness * passive.rest + stiffness * rest) / total
            elif form.offset[k]:
                self.remark(force.source, "a constant force is omitted")
            passive.stiffness = total
            passive.damping += form.damping[k, k] / scale[k] ** 2
            for s in range(kind.signals):
                if form.gains[k, s]:
                    gears = self.gears.setdefault(force.signals + s, {})
                    gears[force.v_at + k] = gears.get(force.v_at + k, 0.0) + form.gains[k, s] / scale[k]
                    self.sources[force.signals + s] = self.names[force.v_at + k] if n == 1 else force.source
        if form.couples:
            self.remark(force.source, "the coupling of coordinates by its springs or dampers is omitted")
        if not form.is_linear:
            self.remark(
                force.source, "its spring, damper or input is nonlinear; it is linearized about the initial state"
            )

    def _signals(self, force: Any) -> np.ndarray:
        return np.array(self.signals[force.signals : force.signals + force.kind.signals])

    def _varies(self, first: int, count: int) -> np.ndarray:
        """Whether signals depend on time or inputs."""
        return np.any(self.model.signal_sources[first : first + count], axis=1)

    def _motors(self) -> Iterator[Motor]:
        """Motors of the forces on coordinates: one for each input of which signals are multiples, and for each other signal."""
        names, slopes = self.model.input_names, self.eqs.signal_derivative(0.0)
        inputs = self.eqs.input_values()
        of_inputs: dict[int, dict[int, float]] = {}
        for signal, gears in self.gears.items():
            if not self._is_multiple(signal):
                if self._acts(signal):
                    yield self._motor(signal, gears)
                continue
            for k in map(int, np.flatnonzero(slopes[signal, : len(names)])):
                own = of_inputs.setdefault(k, {})
                for v_at, gear in gears.items():
                    own[v_at] = own.get(v_at, 0.0) + gear * float(slopes[signal, k])
        for k, gears in of_inputs.items():
            yield Motor(self._new_name(names[k]), gears, inputs[names[k]], self._bounds(names[k]))

    def _acts(self, signal: int) -> bool:
        """Whether a signal is ever nonzero."""
        return bool(self.signals[signal] or self._varies(signal, 1)[0])

    def _motor(self, signal: int, gears: Mapping[int, float]) -> Motor:
        """The motor of a signal: named after the input that it equals, if no other signal uses that input."""
        uses, name = self.model.signal_sources, self.sources[signal]
        inputs = np.flatnonzero(uses[signal, 1:])
        slopes = self.eqs.signal_derivative(0.0)[signal]
        if not self._is_multiple(signal) or len(inputs) != 1 or slopes[inputs[0]] != 1:
            text = "its command is a formula of the model, not an input; the keyframe has its value at the start"
            self.remark(f"motor {name}", text, of_drive=True)
            return Motor(self._new_name(name), gears, float(self.signals[signal]), None)
        own = self.model.input_names[inputs[0]]
        alone = np.sum(uses[:, 1 + inputs[0]]) == 1
        return Motor(self._new_name(own if alone else name), gears, float(self.signals[signal]), self._bounds(own))

    def _is_multiple(self, signal: int) -> bool:
        """Whether a signal is a linear combination of inputs."""
        uses, function = self.model.signal_sources[signal], self.model.plan.signals
        count = len(self.model.input_names)
        if function is None or uses[0] or not np.any(uses[1:]) or np.any(uses[1 + count :]):
            return False
        slopes, random = self.eqs.signal_derivative(0.0)[signal], np.random.default_rng(0)
        zero = np.zeros(len(self.model.plan.kinds))
        for size in 10.0 ** np.arange(SAMPLES):
            u = np.r_[size * random.standard_normal(count), zero[count:]]
            value = float(function(0.0, u, zero, zero, self.bound.parameters)[0][signal])
            if abs(value - slopes @ u[:count]) > NEARLY * np.abs(slopes * u[:count]).max():
                return False
        return True

    def _bounds(self, name: str) -> tuple[float, float] | None:
        low, high = self.eqs.declared_bounds(name)
        return (low, high) if np.isfinite([low, high]).all() else None

    def _new_name(self, name: str) -> str:
        """A unique name for a motor."""
        taken = {motor.name for motor in self.found.motors}
        taken |= {line.pull.name for line in self.found.lines if line.pull is not None}
        number, new = 2, name
        while new in taken:
            new, number = f"{name}[{number}]", number + 1
        return new

    # -- between frames ----------------------------------------------------------------------------------------------

    def _frame_force(self, force: FrameForceInstance) -> None:
        own = self.constants[force.constants : force.constants + force.kind.constants]
        if force.kind is WRENCH:
            self._load(force, own)
        elif force.kind in (axial_force(with_input=False), axial_force(with_input=True)):
            self._axial(force, own)
        elif force.kind.name.startswith(("fluid_", "buoyant_")):
            self.remark("fluid of the world", "omitted")
        else:
            what = {"relative_drag": "damping by mass (Rayleigh)"}.get(
                force.kind.name, f"its force '{force.kind.name}'"
            )
            if force.kind.name.startswith("magnet_"):
                what = "the force of its magnetic field"
            self.remark(force.source, f"{what} is omitted")

    def _load(self, force: FrameForceInstance, own: np.ndarray) -> None:
        point, axes = own[:3], np.reshape(own[LOAD.at["axes"] :][:9], (3, 3), order="F")
        node, axes_node = force.nodes
        follows = node == axes_node and node != WORLD
        if not follows and axes_node != WORLD:
            self.remark(f"load {force.source}", "omitted: it is in the axes of another moving body", of_drive=True)
            return
        at = (node, moved(point, axes) if follows else moved(point))
        for k in range(6):
            if self._acts(force.signals + k):
                name = f"{force.source}.{('force', 'moment')[k // 3]}_{'xyz'[k % 3]}"
                self.found.pushes.append(
                    Push(name, at, None if follows else axes, k, float(self.signals[force.signals + k]))
                )

    def _axial(self, force: FrameForceInstance, own: np.ndarray) -> None:
        at = AXIAL.read(own)
        if at.damping and (at.power != 1 or at.direction):
            self.remark(
                f"link {force.source}", "its damper is replaced by a viscous one that always acts", of_drive=True
            )
        if at.direction and at.smoothing:
            self.remark(f"link {force.source}", "its spring has no `smoothing`", of_drive=True)
        slack = {0: (at.rest, at.rest), 1: (0.0, at.rest), -1: (at.rest, 1e6)}[int(at.direction)]
        pull = None
        if force.kind.signals:
            self.sources[force.signals] = force.source
            pull = self._motor(force.signals, {})
        points = tuple((node, np.array(x)) for node, x in zip(force.nodes, (at.first, at.second), strict=True))
        self.found.lines.append(
            Line(force.source, points, float(at.stiffness), (float(slack[0]), float(slack[1])), float(at.damping), pull)
        )

    def _route(self, route: RouteInstance) -> None:
        places = np.reshape(self.constants[route.constants : route.law_constants], (-1, 3))
        points = tuple((node, place) for node, place in zip(route.nodes, places, strict=True))
        if route.has_friction:
            self.remark(f"tendon {route.source}", "its friction is omitted", of_drive=True)
        if route.kind is GIVEN_TENSION:
            self.sources[route.signals] = route.source
            self.found.lines.append(Line(route.source, points, pull=self._motor(route.signals, {})))
            return
        if route.kind not in (elastic_line(wound=False), elastic_line(wound=True)):
            self.remark(
                f"tendon {route.source}", f"omitted: its law '{route.kind.name}' has no counterpart", of_drive=True
            )
            return
        at = ELASTIC.read(self.constants[route.law_constants : route.law_constants + route.kind.constants])
        wound = float(self.signals[route.signals]) if route.kind.signals else 0.0
        if route.kind.signals:
            self.remark(
                f"tendon {route.source}",
                f"its wound-in length is constant, {wound:g} m, that of the initial state",
                of_drive=True,
            )
        if at.damping:
            self.remark(f"tendon {route.source}", "its damper also acts while it is slack", of_drive=True)
        if at.smoothing:
            self.remark(f"tendon {route.source}", "its spring has no `smoothing`", of_drive=True)
        self.found.lines.append(
            Line(route.source, points, float(at.stiffness), (0.0, float(at.rest - wound)), float(at.damping))
        )

    # -- constraints -------------------------------------------------------------------------------------------------

    def _ties(self) -> None:
        for line in self.system.linear_constraints:
            first = self.joints[line.coordinates[0][1]]
            numbers = [float(self.constants[k]) for k in (*line.coefficients, line.offset)]
            if line.signal >= 0:
                value = first.scale * float(self.signals[line.signal])
                self.found.ties.append(Tie(line.name, first.v_at, -1, 0.0, value))
                if self._varies(line.signal, 1)[0]:
                    self.remark(
                        line.name, f"its prescribed motion is replaced by its initial value {value:g}", of_drive=True
                    )
                continue
            second = self.joints[line.coordinates[1][1]]
            ratio = -numbers[1] / numbers[0] * first.scale / second.scale
            self.found.ties.append(
                Tie(line.name, first.v_at, second.v_at, ratio, first.scale * numbers[2] / numbers[0])
            )

    def _constraint(self, constraint: ConstraintInstance) -> None:
        """Constrained points and poses. A component that is nominally free but constrained by the rest of the robot anyway, as
        the one normal to a planar mechanism, may be constrained too."""
        at = FRAMES.read(self.constants[constraint.constants : constraint.constants + constraint.kind.constants])
        name, rows = constraint.name, self.model.compiled.constraints[constraint.name].rows
        first, second = (_matrix(pose) for pose in (at.first, at.second))
        if any(signal >= 0 for signal in constraint.signals):
            self.remark(f"constraint {name}", "omitted: its motion is prescribed", of_drive=True)
            return
        axes, offset = np.array(at.axes), np.array(at.offset).ravel()
        if np.any(offset):
            if constraint.nodes[2] != constraint.nodes[0]:
                self.remark(
                    f"constraint {name}",
                    "omitted: the offset of its frames is in the axes of a third frame",
                    of_drive=True,
                )
                return
            first = moved(axes @ offset) @ first
        places = ((constraint.nodes[0], first), (constraint.nodes[1], second))
        slides, turns = [r for r in rows if len(r) == 1], [r for r in rows if len(r) == 2]
        jacobians = self._relative_rates(places, constraint.nodes[2], axes)
        held = [("x", "y", "z", "rx", "ry", "rz").index(row) for row in rows]
        if turns and not slides:
            self.remark(f"constraint {name}", "omitted: it constrains rotations only", of_drive=True)
        elif len(turns) == 2:
            self._hinge(name, places, turns, axes, constraint.nodes[2] == constraint.nodes[0])
        elif _spans(jacobians, held, range(3) if not turns else range(6)):
            self.found.loops.append(Loop(name, *places, whole=bool(turns)))
        else:
            self.remark(
                f"constraint {name}",
                f"omitted: its components {', '.join(rows)} have no counterpart in other programs",
                of_drive=True,
            )

    def _hinge(
        self, name: str, places: tuple[Place, Place], turns: list[str], axes: np.ndarray, own_axes: bool
    ) -> None:
        """A point and two rotations: two points on the remaining axis."""
        if not own_axes:
            self.remark(
                f"constraint {name}", "omitted: it constrains two rotations in the axes of a third frame", of_drive=True
            )
            return
        (node_a, first), (node_b, second) = places
        free = next(k for k, row in enumerate(("rx", "ry", "rz")) if row not in turns)
        along = first[:3, :3].T @ axes[:, free]  # equal in both frames, which coincide
        for number, shift in (("", np.zeros(3)), (".axis", 0.1 * along)):
            ends = ((node_a, first @ moved(shift)), (node_b, second @ moved(shift)))
            self.found.loops.append(Loop(name + number, *ends, whole=False))

    def _relative_rates(self, places: tuple[Place, Place], axes_node: int, axes: np.ndarray) -> np.ndarray:
        """Velocity of the second point relative to the first and angular velocity, along the axes, per rate of the coordinates: 6
        x len(v) in each of a few poses."""
        return np.array([self._rates_at(q, places, axes_node, axes) for q in self._poses()])

    def _rates_at(self, q: np.ndarray, places: tuple[Place, Place], axes_node: int, axes: np.ndarray) -> np.ndarray:
        rotations, positions = self.bound.node_poses(q)
        turned = rotations[axes_node] @ axes
        of_ends = []
        for node, pose in places:
            twists = self.bound.node_jacobian(q, node) if node != WORLD else np.zeros((6, self.system.v_size))
            point = positions[node] + rotations[node] @ pose[:3, 3]
            of_ends.append(np.vstack([twists[:3] + np.cross(twists[3:].T, point).T, twists[3:]]))
        difference = of_ends[1] - of_ends[0]
        return np.vstack([turned.T @ difference[:3], turned.T @ difference[3:]])

    def _poses(self) -> Iterator[np.ndarray]:
        """The start and poses around it, in which no component is constrained by coincidence."""
        random = np.random.default_rng(0)
        yield self.q
        for _ in range(2):
            q = self.q + 0.3 * random.standard_normal(len(self.q))
            for at, _ in self.system.quaternions():
                q[at : at + 4] /= np.linalg.norm(q[at : at + 4])
            yield q

    def _rest(self) -> None:
        spec = self.model.compiled
        for name, surface in spec.surfaces.items():
            if not is_solid(surface):
                self.remark(
                    f"surface {name}",
                    "omitted: of surfaces only spheres, capsules, cylinders, boxes and ellipsoids are exported",
                )
        for name in spec.contacts:
            self.remark(f"contact {name}", "omitted: geometry is only shown")


def _matrix(pose: tuple[Any, Any]) -> np.ndarray:
    return moved(np.array(pose[1]).ravel(), np.array(pose[0]))


def _spans(blocks: np.ndarray, held: list[int], wanted: Iterable[int]) -> bool:
    """Whether the existing constraints already imply all requested components, in every pose."""
    for rates in blocks:
        scale = np.abs(rates).max(initial=0.0) or 1.0
        rank = np.linalg.matrix_rank(rates[held], tol=1e-9 * scale)
        if np.linalg.matrix_rank(rates[sorted({*held, *wanted})], tol=1e-9 * scale) > rank:
            return False
    return True
