"""Conversion of MJCF to a model document, from the model compiled by MuJoCo, which resolves defaults, frames, units and inertias.

The result has the numbers that MuJoCo simulates, without a second implementation of its compiler. The package mujoco is required.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

from pliant.foreign.document import Document, Element, angle, axis, number, placement, quaternion_rotation, vector
from pliant.foreign.mjcf_cables import add_cables
from pliant.foreign.mjcf_compiled import CompiledMjcf, MjcfText, compile_model, prepare
from pliant.foreign.mjcf_fluid import add_fluid, add_fluid_of_rods, world_fluid
from pliant.foreign.surfaces import add_surfaces
from pliant.language.limits import limits, most
from pliant.language.source import ImportedFile, Source
from pliant.parts.geometry import arrays

WORLD = "world"


class JointType(IntEnum):
    """MuJoCo's joint types (mjtJoint)."""

    FREE, BALL, SLIDE, HINGE = range(4)


class PathObject(IntEnum):
    """MuJoCo's objects in the path of a tendon (mjtWrap); geoms have higher numbers."""

    JOINT, PULLEY, SITE = 1, 2, 3


class Transmission(IntEnum):
    """MuJoCo's types of transmissions of actuators (mjtTrn)."""

    JOINT, JOINT_IN_PARENT, CRANK, TENDON, SITE, BODY = range(6)


class ActuatorDynamics(IntEnum):
    """MuJoCo's dynamics of actuators (mjtDyn): none, or the integral of the input."""

    NONE, INTEGRATOR = range(2)


class EqualityType(IntEnum):
    """MuJoCo's types of equality constraints (mjtEq)."""

    CONNECT, WELD, JOINT, TENDON = range(4)


class ObjectType(IntEnum):
    """MuJoCo's type of the objects of an equality constraint (mjtObj), if they are sites."""

    SITE = 6


def read_mjcf(data: bytes, source: Source) -> ImportedFile:
    """The robot of an MJCF file; raises SpecError with all faults."""
    document = Document(source)
    prepared = prepare(data, document)
    if document.faults:
        return document.finish()
    model = compile_model(prepared, document)
    if model.nbody + model.njnt + model.ngeom > limits().parts:
        document.fault("the robot has too many bodies, joints and geoms", most("parts"))
        return document.finish()
    return Reader(document, prepared, model).read()


@dataclass
class Coordinate:
    """A coordinate under construction: its name, and what acts on it.

    entry: keys of the coordinate in the model. inputs: terms of the input, as expressions. bounds: limits of their sum.
    """

    name: str
    is_angle: bool
    entry: dict[str, Any] = field(default_factory=dict)
    stiffness: float = 0.0
    rest: float = 0.0
    damping: float = 0.0
    inputs: list[str] = field(default_factory=list)
    has_servo: bool = False
    bounds: tuple[float, float] | None = None

    @property
    def is_tied(self) -> bool:
        """Whether it is tied to another coordinate, or prescribed."""
        return "equal_to" in self.entry or "motion" in self.entry

    def add_spring(self, stiffness: float, rest: float) -> None:
        """Add a spring in parallel."""
        total = self.stiffness + stiffness
        if stiffness:
            self.rest = (self.stiffness * self.rest + stiffness * rest) / total if total else 0.0
            self.stiffness = total

    def add_armature(self, inertia: float) -> None:
        """Add the inertia of a drive [kg m^2 or kg]."""
        if inertia:
            self.entry["armature"] = number(float(self.entry.get("armature", 0.0)) + inertia)


@dataclass
class Reader:
    """Converts a compiled model of MuJoCo to a document.

    bodies, entries, coordinates, joint_names, sites, inputs: names and keys in the document, by MuJoCo's numbers. turned: terms of
    the forces and torques on free and ball joints, six lists each. anchors: names of the frames at the anchors of joints by body,
    and of chains of joints by negative body. starts, rates: initial positions and rates. flexes, nodes: names of flexes, and frames
    of their nodes by body. drives_others: whether actuators act on tendons or sites. is_quiet: whether notes are suppressed,
    because they were recorded before.
    """

    document: Document
    prepared: MjcfText
    model: CompiledMjcf
    bodies: list[str] = field(default_factory=list)
    entries: dict[int, dict[str, Any]] = field(default_factory=dict)
    coordinates: dict[int, Coordinate] = field(default_factory=dict)
    joint_names: dict[int, str] = field(default_factory=dict)
    sites: dict[int, str] = field(default_factory=dict)
    inputs: dict[int, str] = field(default_factory=dict)
    turned: dict[int, list[list[str]]] = field(default_factory=dict)
    anchors: dict[int, str] = field(default_factory=dict)
    starts: np.ndarray = field(default_factory=lambda: np.zeros(0))
    rates: np.ndarray = field(default_factory=lambda: np.zeros(0))
    flexes: dict[int, str] = field(default_factory=dict)
    nodes: dict[int, str] = field(default_factory=dict)
    drives_others: bool = False
    is_quiet: bool = False

    def read(self) -> ImportedFile:
        model, document = self.model, self.document
        self.starts, self.rates = np.array(model.qpos0), np.zeros(model.nv)
        self.world()
        self.nodes = name_nodes(self)
        solid = [i for i in range(1, model.nbody) if i not in self.nodes]
        moving = [i for i in solid if model.body_jntnum[i]]
        self.bodies = [WORLD, *(self.body_name(i) for i in range(1, model.nbody))]
        for j in [j for i in moving for j in range(model.body_jntadr[i], model.body_jntadr[i] + model.body_jntnum[i])]:
            given = model.name("jnt", j)
            self.joint_names[j] = document.name("joints", given, line=self.line(given, "joint"), kind="joint")
        for i in solid:
            self.entries[i] = self.body(i)
        self.add_sites()
        for j in self.joint_names:
            if model.jnt_type[j] in (JointType.SLIDE, JointType.HINGE):
                self.coordinates[j] = self.coordinate(j)
        add_equalities(self)
        add_tendons(self)
        add_actuators(self)
        joints = dict(self.joint(i) for i in moving)
        for i, (name, entry) in zip(moving, joints.items(), strict=True):
            document.add("joints", name, entry, self.line(model.name("jnt", model.body_jntadr[i]), "joint"))
        add_keys(self, moving, joints)
        add_fluid(self)
        for i, entry in self.entries.items():
            document.add("bodies", self.bodies[i], entry, self.line(model.name("body", i), "body"))
        add_surfaces(self)
        add_flexes(self)
        add_cables(self)
        add_fluid_of_rods(self)
        add_sensors(self)
        return document.finish()

    def body_name(self, i: int) -> str:
        """The name of a body; for a fixed body, also reserves the name of its weld."""
        if i in self.nodes:
            return self.nodes[i]
        given = self.model.name("body", i)
        name = self.document.name("things", given, line=self.line(given, "body"), kind="body")
        if self.model.body_jntnum[i] == 0:
            self.document.name("joints", name)
        return name

    def line(self, name: str, *tags: str) -> int | None:
        """The line of the element with one of these tags and this name."""
        return self.prepared.line(name, *tags)

    def note(self, message: str, name: str, *tags: str, hint: str = "") -> None:
        """Record a note on a named element."""
        if self.is_quiet:
            return
        tag = next((tag for tag in tags if self.line(name, tag) is not None), tags[0])
        self.document.note(message, hint, line=self.line(name, tag), path=f"{tag} {name}")

    def world(self) -> None:
        """Name, gravity and fluid."""
        model = self.model
        name = model.title
        if name and name != "MuJoCo Model":
            self.document.head["name"] = name
        world = {} if list(model.opt_gravity) == [0, 0, -9.81] else {"gravity": vector(model.opt_gravity)}
        world |= world_fluid(self)
        if world:
            self.document.head["world"] = world

    # -- bodies ------------------------------------------------------------------------------------------------------------

    def body(self, i: int) -> dict[str, Any]:
        """A body with its inertia; a body without joints also has its placement."""
        model, entry = self.model, dict[str, Any]()
        given = model.name("body", i)
        if model.body_jntnum[i] == 0:
            entry["parent"] = self.bodies[model.body_parentid[i]]
            entry |= placement(model.body_pos[i], quaternion_rotation(model.body_quat[i]))
        if model.body_mass[i] or model.body_inertia[i].any():
            entry["mass"] = number(model.body_mass[i], "kg")
            if model.body_ipos[i].any():
                entry["center_of_mass"] = vector(model.body_ipos[i])
            turned = quaternion_rotation(model.body_iquat[i])
            round_one = np.ptp(model.body_inertia[i]) == 0
            if model.body_inertia[i].any():
                entry["inertia"] = {"principal": vector(model.body_inertia[i])}
                entry["inertia"] |= {"rotation": turned} if turned is not None and not round_one else {}
        self.add_gravity_compensation(i)
        if model.body_mocapid[i] >= 0:
            self.note("a mocap body is fixed to the world", given, "body")
        return entry

    def add_gravity_compensation(self, i: int) -> None:
        """Add the force that compensates the weight of a body, or a part of it."""
        model = self.model
        force = -model.body_gravcomp[i] * model.body_mass[i] * model.opt_gravity
        if force.any():
            load = {"frame": self.bodies[i], "force": vector(force)}
            if model.body_ipos[i].any():
                load["position"] = vector(model.body_ipos[i])
            name = self.document.name("loads", "", kind=f"{self.bodies[i][:40]}_gravity_compensation")
            self.document.add("loads", name, load, self.line(model.name("body", i), "body"))

    def add_sites(self) -> None:
        """Add sites as frames of their bodies; those of the world as fixed bodies."""
        model = self.model
        for s in range(model.nsite):
            given, i = model.name("site", s), int(model.site_bodyid[s])
            if given in self.prepared.cables:
                continue
            place = placement(model.site_pos[s], quaternion_rotation(model.site_quat[s]))
            if i == 0:
                self.sites[s] = self.document.name("things", given, line=self.line(given, "site"), kind="site")
                self.document.add("bodies", self.sites[s], {"parent": WORLD, **place}, self.line(given, "site"))
            else:
                name = self.document.name(f"frames {i}", given, line=self.line(given, "site"), kind="site")
                self.entries[i].setdefault("frames", {})[name] = place
                self.sites[s] = f"{self.bodies[i]}.{name}"

    # -- joints ------------------------------------------------------------------------------------------------------------

    def joint(self, i: int) -> tuple[str, dict[str, Any]]:
        """The joints of a body as one joint, with its name: a simple joint if possible, otherwise a chain."""
        model = self.model
        joints = range(model.body_jntadr[i], model.body_jntadr[i] + model.body_jntnum[i])
        place = placement(model.body_pos[i], quaternion_rotation(model.body_quat[i]))
        entry = {"parent": self.bodies[model.body_parentid[i]], "child": self.bodies[i]}
        name = self.joint_names[joints[0]]
        if len(joints) == 1 and model.jnt_type[joints[0]] == JointType.FREE:
            entry = {"type": "free", **entry, **self.free(i, joints[0])}
        elif len(joints) == 1 and self.is_plain(joints[0]):
            entry = self.plain(i, joints[0], entry)
        else:
            if len(joints) > 1:
                name = self.chained(i)
            moves = [move for j in joints for move in self.moves(j)]
            entry = {"type": "chain", **entry, **place, "transforms": moves}
        return name, entry

    def chained(self, i: int) -> str:
        """The name of the chain of the joints of a body."""
        if -i not in self.anchors:
            self.anchors[-i] = self.document.name("joints", "", kind=f"{self.bodies[i][:50]}_joints")
        return self.anchors[-i]

    def is_plain(self, j: int) -> bool:
        """Whether a joint needs no chain: its value is zero in the pose in which the body is defined."""
        model = self.model
        return bool(model.jnt_type[j] == JointType.BALL or model.qpos0[model.jnt_qposadr[j]] == 0)

    def plain(self, i: int, j: int, entry: dict[str, Any]) -> dict[str, Any]:
        """A single joint; if its anchor is not the origin of the body, a frame is added to the body there."""
        model, kind = self.model, self.model.jnt_type[j]
        at = model.body_pos[i]
        if kind != JointType.SLIDE and model.jnt_pos[j].any():
            at = at + arrays.rotated(model.body_quat[i], model.jnt_pos[j])
            if i not in self.anchors:
                self.anchors[i] = self.document.name(f"frames {i}", "", kind=f"{self.joint_names[j][:40]}_anchor")
                place = {"position": vector(model.jnt_pos[j])}
                self.entries[i].setdefault("frames", {})[self.anchors[i]] = place
            entry["child"] = f"{entry['child']}.{self.anchors[i]}"
        entry |= placement(at, quaternion_rotation(model.body_quat[i]))
        if kind == JointType.BALL:
            turning = self.orientation(j)
            return {"type": "spherical", **entry, **({"orientation": turning} if turning else {})}
        along = axis(model.jnt_axis[j])
        if along != "z":
            entry["axis"] = along
        coordinate = self.finished(j)
        key = "angle" if kind == JointType.HINGE else "displacement"
        return {
            "type": "revolute" if kind == JointType.HINGE else "prismatic", **entry, **({key: coordinate} if coordinate else {}),
        }  # fmt: skip

    def moves(self, j: int) -> list[dict[str, Any]]:
        """The transforms of one of several joints, in the frame moved by the previous ones: about its anchor, from its zero."""
        model, kind = self.model, self.model.jnt_type[j]
        there, back = ([{"translate": vector(side * model.jnt_pos[j])}] for side in (1, -1))
        if not model.jnt_pos[j].any():
            there, back = [], []
        if kind == JointType.BALL:
            turning = {"name": self.joint_names[j], **self.orientation(j)}
            return [*there, {"rotate": {"quaternion": turning}}, *back]
        zero, along = float(model.qpos0[model.jnt_qposadr[j]]), model.jnt_axis[j]
        coordinate = {"name": self.joint_names[j], **self.finished(j)}
        if kind == JointType.HINGE:
            turned = [{"rotate": {"axis": axis(along), "angle": angle(-zero)}}] if zero else []
            return [*there, *turned, {"rotate": {"axis": axis(along), "angle": coordinate}}, *back]
        letter = axis(along)
        if isinstance(letter, str):
            move: list[Any] = [coordinate if letter == x else 0 for x in "xyz"]
            fixed = [-zero if letter == x else 0 for x in "xyz"]
            return [*([{"translate": fixed}] if zero else []), {"translate": move}]
        to, fro = _turns_to(along)
        return [to, *([{"translate": [0, 0, -zero]}] if zero else []), {"translate": [0, 0, coordinate]}, fro]

    def free(self, i: int, j: int) -> dict[str, Any]:
        """The keys of a free joint; its coordinates in MuJoCo are the pose of the body in the world."""
        model = self.model
        at, v = model.jnt_qposadr[j], model.jnt_dofadr[j]
        keys_by_letter: dict[str, Any] = {}
        for k, letter in enumerate("xyz"):
            keys = {
                "initial": self.starts[at + k],
                "rate": self.rates[v + k],
                "damper": model.dof_damping[v + k],
                "armature": model.dof_armature[v + k],
            }
            keys_by_letter[letter] = {key: number(value) for key, value in keys.items() if value}
            if j in self.turned and self.turned[j][k]:
                keys_by_letter[letter]["input"] = "=" + " + ".join(self.turned[j][k])
        keys_by_letter["orientation"] = self.orientation(j)
        return {key: value for key, value in keys_by_letter.items() if value}

    def orientation(self, j: int) -> dict[str, Any]:
        """The keys of a free rotation: its start, and what acts on it."""
        model = self.model
        first = 3 if model.jnt_type[j] == JointType.FREE else 0
        given, v, q = model.name("jnt", j), model.jnt_dofadr[j] + first, model.jnt_qposadr[j] + first
        is_ball = model.jnt_type[j] == JointType.BALL
        unsupported = {
            "the stiffness of a free joint is not imported": model.jnt_stiffness[j] and not is_ball,
            "the friction of a ball or free joint is not imported": model.dof_frictionloss[v],
            "the range of a ball joint is not imported": model.jnt_limited[j],
            "nonlinear springs and dampers are not imported": model.largest("jnt_stiffnesspoly", j)
            or model.largest("dof_dampingpoly", v),
        }
        for message, is_given in unsupported.items():
            if is_given:
                self.note(message, given, "joint")
        orientation: dict[str, Any] = {}
        start = quaternion_rotation(self.starts[q : q + 4])
        if start:
            orientation["initial"] = start
        if self.rates[v : v + 3].any():
            orientation["rate"] = vector(self.rates[v : v + 3])
        values = {
            "spring": model.jnt_stiffness[j] if is_ball else 0.0,
            "damper": model.dof_damping[v],
            "armature": model.dof_armature[v],
        }
        orientation |= {key: number(value) for key, value in values.items() if value}
        if j in self.turned and any(self.turned[j][3:]):
            orientation["input"] = ["=" + " + ".join(terms) if terms else 0 for terms in self.turned[j][3:]]
        return orientation

    def coordinate(self, j: int) -> Coordinate:
        """The coordinate of a hinge or slide, without actuators."""
        model = self.model
        v, q, is_angle = model.jnt_dofadr[j], model.jnt_qposadr[j], model.jnt_type[j] == JointType.HINGE
        coordinate = Coordinate(self.joint_names[j], is_angle)
        coordinate.stiffness, coordinate.rest = float(model.jnt_stiffness[j]), float(model.qpos_spring[q])
        coordinate.damping = float(model.dof_damping[v])
        shown = angle if is_angle else number
        if model.dof_frictionloss[v]:
            coordinate.entry["friction"] = number(model.dof_frictionloss[v])
        if model.dof_armature[v]:
            coordinate.entry["armature"] = number(model.dof_armature[v])
        if model.jnt_limited[j]:
            low, high = (float(x) for x in model.jnt_range[j])
            stiffness = _stop_stiffness(model.jnt_solref[j], model.jnt_solimp[j], float(model.dof_M0[v]))
            coordinate.entry["limits"] = {"minimum": shown(low), "maximum": shown(high), "stiffness": number(stiffness)}
            self.begin_within(j)
        if model.jnt_actfrclimited[j]:
            low, high = (float(x) for x in model.jnt_actfrcrange[j])
            coordinate.bounds = (low, high)
        given = model.name("jnt", j)
        if model.largest("jnt_stiffnesspoly", j) or model.largest("dof_dampingpoly", v):
            self.note("nonlinear springs and dampers are not imported", given, "joint")
        if model.largest("jnt_springyield", j):
            self.note("the yield of a spring is not imported", given, "joint")
        return coordinate

    def begin_within(self, j: int, when: str = "") -> None:
        """Move the start of a joint into its range, with a note."""
        model, q = self.model, self.model.jnt_qposadr[j]
        given = float(self.starts[q])
        self.starts[q] = np.clip(given, *model.jnt_range[j])
        if self.starts[q] != given:
            message = f"the joint starts at {self.starts[q]:g}{when}, since {given:g} is outside its range"
            self.note(message, model.name("jnt", j), "joint")

    def finished(self, j: int) -> dict[str, Any]:
        """The keys of a coordinate, with everything that acts on it."""
        coordinate, entry = self.coordinates[j], dict[str, Any]()
        start, rate = float(self.starts[self.model.jnt_qposadr[j]]), float(self.rates[self.model.jnt_dofadr[j]])
        if start and not coordinate.is_tied:
            entry["initial"] = (angle if coordinate.is_angle else number)(start)
        if rate and not coordinate.is_tied:
            entry["rate"] = number(rate)
        if coordinate.stiffness:
            rest = (angle if coordinate.is_angle else number)(coordinate.rest)
            entry["spring"] = (
                {"coefficient": number(coordinate.stiffness), "rest": rest}
                if coordinate.rest
                else number(coordinate.stiffness)
            )
        if coordinate.damping:
            entry["damper"] = number(coordinate.damping)
        entry |= coordinate.entry
        if coordinate.inputs:
            total, unit = " + ".join(coordinate.inputs), "N*m" if coordinate.is_angle else "N"
            if coordinate.bounds is not None and not coordinate.has_servo:
                low, high = (number(x, unit) for x in coordinate.bounds)
                total = f"max({low}, min({high}, {total}))"
                if self.drives_others:
                    message = "the largest force of a joint does not limit actuators of tendons and sites here"
                    self.note(message, self.model.name("jnt", j), "joint")
            elif coordinate.bounds is not None:
                message = "the largest force of all actuators of a joint is not imported, since one of them is a servo"
                self.note(message, self.model.name("jnt", j), "joint")
            entry["input"] = f"={total}"
        return entry


def _stop_stiffness(solref: np.ndarray, solimp: np.ndarray, inertia: float) -> float:
    """Stiffness of a stop that is equivalent to MuJoCo's soft constraint [N/m or N m/rad]."""
    first, second, most = float(solref[0]), float(solref[1]), float(solimp[1])
    rate = -first / most**2 if first <= 0 else 1 / (most * first * second) ** 2  # [1/s^2]
    return float(f"{rate * inertia:.4g}")


def _turns_to(direction: np.ndarray) -> tuple[dict[str, Any], dict[str, Any]]:
    """The shortest rotation from z to a direction, and back, as transforms of a chain."""
    x, y, z = direction
    if z < -1 + 1e-12:
        return tuple({"rotate": {"axis": "x", "angle": f"{side} deg"}} for side in (180, -180))  # type: ignore[return-value]
    q = np.array([1 + z, -y, x, 0.0]) / np.sqrt(2 + 2 * z)
    there, back = ({"rotate": {"quaternion": vector(p)}} for p in (q, q * [1, -1, -1, -1]))
    return there, back


TENDONS = ("spatial", "fixed")


def add_tendons(reader: Reader) -> None:
    """Add springs and dampers of tendons; forces of actuators are added with the actuators."""
    model = reader.model
    for t in range(model.ntendon):
        given = model.name("tendon", t)
        if model.tendon_limited[t]:
            reader.note("the range of a tendon is not imported", given, *TENDONS)
        if model.tendon_frictionloss[t] or model.largest("tendon_armature", t):
            reader.note("friction and armature of a tendon are not imported", given, *TENDONS)
        if model.largest("tendon_stiffnesspoly", t) or model.largest("tendon_dampingpoly", t):
            reader.note("nonlinear springs and dampers are not imported", given, *TENDONS)
        if not (model.tendon_stiffness[t] or model.tendon_damping[t]):
            continue
        through, coefficients = points(reader, t), joints(reader, t)
        if through is not None:
            _spring(reader, t, through)
        elif coefficients is not None and len(coefficients) == 1:
            _joint_spring(reader, t, *coefficients.items())
        else:
            message = (
                "spring and damper of a tendon are not imported: its path consists of neither sites only nor one joint"
            )
            reader.note(message, given, *TENDONS)


def points(reader: Reader, t: int) -> list[str] | None:
    """The frames in the path of a tendon; None if it contains other objects than sites."""
    model = reader.model
    wraps = _wraps(reader, t)
    if any(model.wrap_type[w] != PathObject.SITE for w in wraps):
        return None
    return [reader.sites[int(model.wrap_objid[w])] for w in wraps]


def joints(reader: Reader, t: int) -> dict[int, float] | None:
    """The coefficients of a fixed tendon by joint; None for other tendons, and joints other than hinges and slides."""
    model, joints = reader.model, dict[int, float]()
    for w in _wraps(reader, t):
        j = int(model.wrap_objid[w])
        if model.wrap_type[w] != PathObject.JOINT or j not in reader.coordinates:
            return None
        joints[j] = joints.get(j, 0.0) + float(model.wrap_prm[w])
    return joints


def _wraps(reader: Reader, t: int) -> range:
    start = int(reader.model.tendon_adr[t])
    return range(start, start + int(reader.model.tendon_num[t]))


def _joint_spring(reader: Reader, t: int, only: tuple[int, float]) -> None:
    """Add the spring and damper of a tendon of one joint to the joint."""
    model, (j, coefficient) = reader.model, only
    low, high = (float(x) for x in model.tendon_lengthspring[t])
    stiffness = float(model.tendon_stiffness[t]) * coefficient**2
    if stiffness and low != high:
        reader.note(
            "a spring of a tendon that is slack within a range is not imported", model.name("tendon", t), *TENDONS
        )
        stiffness = 0.0
    own = reader.coordinates[j]
    own.add_spring(stiffness, high / coefficient if coefficient else 0.0)
    own.damping += float(model.tendon_damping[t]) * coefficient**2


def _spring(reader: Reader, t: int, through: list[str]) -> None:
    """Add the spring of a tendon: as a link between two sites, which can push, otherwise as a tendon, which only pulls."""
    model, given = reader.model, reader.model.name("tendon", t)
    low, high = model.tendon_lengthspring[t]
    stiffness, damping = float(model.tendon_stiffness[t]), float(model.tendon_damping[t])
    line = reader.line(given, "spatial")
    if len(through) == 2 and (low == high or not stiffness):
        spring = {"spring": {"coefficient": number(stiffness), "rest": number(high)}} if stiffness else {}
        damper = {"damper": number(damping)} if damping else {}
        name = reader.document.name("links", given, line=line, kind="tendon")
        reader.document.add("links", name, {"type": "axial", "between": through, **spring, **damper}, line)
        return
    if low > 0 or damping:
        reader.note("tendons can only pull: pushing, and damping while slack, are not imported", given, "spatial")
    if not stiffness:
        return
    name = reader.document.name("tendons", given, line=line, kind="tendon")
    entry = {"type": "elastic", "through": through, "stiffness": number(stiffness), "rest": number(high)}
    reader.document.add("tendons", name, entry | ({"damper": number(damping)} if damping else {}), line)


ACTUATORS = (
    "motor",
    "position",
    "velocity",
    "intvelocity",
    "general",
    "damper",
    "cylinder",
    "muscle",
    "adhesion",
    "dcmotor",
    "pid",
    "orientation",
)


@dataclass
class Actuator:
    """An actuator: `force = gain * input + constant - stiffness * length - damping * rate`.

    index: its number. name: its name in the file. kind, target: type of the transmission, and number of what it drives. shares:
    force on each hinge or slide per force of the actuator. through: the sites on its tendon. Lengths are those of the transmission,
    gear included.
    """

    index: int
    name: str
    kind: int
    target: int
    gear: np.ndarray
    gain: float
    constant: float
    stiffness: float
    damping: float
    shares: dict[int, float] = field(default_factory=dict)
    through: list[str] | None = None

    @property
    def is_servo(self) -> bool:
        """Whether its force depends on the state of what it drives."""
        return bool(self.stiffness or self.damping)


def add_actuators(reader: Reader) -> None:
    """Add all actuators."""
    for u in range(reader.model.nu):
        actuator = _read(reader, u)
        if actuator is not None:
            _add(reader, actuator)


def _read(reader: Reader, u: int) -> Actuator | None:
    """An actuator with a linear force; None, with a note, for others."""
    model, given = reader.model, reader.model.name("actuator", u)
    kind, gear = int(model.actuator_trntype[u]), model.actuator_gear[u].astype(float)
    target = int(model.actuator_trnid[u][0])
    group = int(model.actuator_group[u])
    if 0 <= group < 31 and int(model.opt_disableactuator) >> group & 1:
        reader.note("an actuator of a disabled group is not imported", given, *ACTUATORS)
        return None
    if model.actuator_gaintype[u] != 0 or model.actuator_biastype[u] > 1:
        reader.note(
            "an actuator whose force is not linear in its input and its joint is not imported", given, *ACTUATORS
        )
        return None
    bias = model.actuator_biasprm[u][:3].astype(float) if model.actuator_biastype[u] == 1 else np.zeros(3)
    constant, stiffness, damping = float(bias[0]), -float(bias[1]), -float(bias[2])
    gain = float(model.actuator_gainprm[u][0])
    actuator = Actuator(u, given, kind, target, gear, gain, constant, stiffness, damping)
    if not _transmits(reader, actuator):
        message = "an actuator that acts on neither joints, sites nor tendons of these is not imported"
        reader.note(message, given, *ACTUATORS)
        return None
    if actuator.is_servo and not (len(actuator.shares) == 1 or actuator.through):
        reader.note("a servo on several coordinates is not imported", given, *ACTUATORS)
        return None
    if int(model.actuator_dyntype[u]) == ActuatorDynamics.INTEGRATOR:
        message = "the force of an actuator follows its input here, not the integral of its input"
        reader.note(message, given, *ACTUATORS)
    elif model.actuator_dyntype[u] != 0:
        reader.note("actuator dynamics are not imported: the force follows the input without delay", given, *ACTUATORS)
    if model.largest("actuator_delay", u):
        reader.note("the delay of an actuator is not imported", given, *ACTUATORS)
    return actuator


def _transmits(reader: Reader, actuator: Actuator) -> bool:
    """Determine what an actuator drives; False if there is no counterpart."""
    kind, target = actuator.kind, actuator.target
    if kind in (Transmission.JOINT, Transmission.JOINT_IN_PARENT) and target in reader.coordinates:
        actuator.shares = {target: float(actuator.gear[0])}
        return True
    if kind == Transmission.JOINT:
        return not actuator.is_servo  # a ball or free joint
    if kind == Transmission.TENDON:
        actuator.through, shares = points(reader, target), joints(reader, target)
        actuator.shares = {j: float(actuator.gear[0]) * share for j, share in (shares or {}).items()}
        return actuator.through is not None or shares is not None
    return (
        kind == Transmission.SITE and int(reader.model.actuator_trnid[actuator.index][1]) < 0 and not actuator.is_servo
    )


def _add(reader: Reader, actuator: Actuator) -> None:
    model, u = reader.model, actuator.index
    armature, damping = (model.largest(f"actuator_{key}", u) for key in ("armature", "damping"))
    if (armature or damping) and len(actuator.shares) == 1:
        ((j, share),) = actuator.shares.items()
        reader.coordinates[j].damping += share**2 * damping
        reader.coordinates[j].add_armature(share**2 * armature)
    elif armature or damping or model.largest("actuator_dampingpoly", u):
        reader.note("armature and damping of an actuator are not imported", actuator.name, *ACTUATORS)
    name = _input(reader, actuator)
    if len(actuator.shares) == 1 and actuator.is_servo:
        ((j, share),) = actuator.shares.items()
        reader.coordinates[j].add_spring(share**2 * actuator.stiffness, 0.0)
        reader.coordinates[j].damping += share**2 * actuator.damping
    expression = _force(reader, actuator, name)
    first = next((reader.coordinates[j].is_angle for j in actuator.shares), True)
    for j, share in actuator.shares.items():
        own = reader.coordinates[j]
        other = "" if own.is_angle == first else "/1 m" if first else "*1 m"
        own.inputs.append(scaled(share, expression) + other)
        own.has_servo = own.has_servo or actuator.is_servo
    reader.drives_others = reader.drives_others or actuator.kind == Transmission.SITE or bool(actuator.through)
    if actuator.kind == Transmission.SITE:
        _push(reader, actuator, expression)
    elif actuator.through:
        _pull(reader, actuator, name, expression)
    elif actuator.kind == Transmission.JOINT and not actuator.shares:
        _drive_freely(reader, actuator, expression)


def _units(reader: Reader, actuator: Actuator) -> tuple[str, str, str]:
    """Units of force, of the input of a servo, and of its gain."""
    is_angle = bool(actuator.shares) and reader.coordinates[next(iter(actuator.shares))].is_angle
    is_angle = is_angle or _on_ball(reader, actuator)
    force = "N*m" if is_angle else "N"
    if not actuator.is_servo:
        return force, force, ""
    if actuator.stiffness:
        return force, "" if is_angle else "m", "N*m" if is_angle else "N/m"
    return force, "rad/s" if is_angle else "m/s", "N*m*s" if is_angle else "N*s/m"


def _on_ball(reader: Reader, actuator: Actuator) -> bool:
    return actuator.kind == Transmission.JOINT and int(reader.model.jnt_type[actuator.target]) == JointType.BALL


def _input(reader: Reader, actuator: Actuator) -> str:
    """Add the input of an actuator with its bounds, and return its name."""
    model, u = reader.model, actuator.index
    line = reader.line(actuator.name, *ACTUATORS)
    name = reader.document.name("parameters", actuator.name, line=line, kind="input")
    unit = _units(reader, actuator)[1]
    entry: dict[str, Any] = {"value": number(0, unit), "input": True}
    if model.actuator_ctrllimited[u]:
        low, high = (number(x, unit) for x in model.actuator_ctrlrange[u])
        entry |= {"minimum": low, "maximum": high}
        if not model.actuator_ctrlrange[u][0] <= 0 <= model.actuator_ctrlrange[u][1]:
            entry["value"] = min((low, high), key=lambda text: abs(float(str(text).split()[0])))
    reader.document.add("parameters", name, entry, line)
    reader.inputs[u] = name
    return name


def _force(reader: Reader, actuator: Actuator, name: str) -> str:
    """The force of an actuator as an expression of its input, without the terms that depend on the state."""
    model, u = reader.model, actuator.index
    unit, _, gain_unit = _units(reader, actuator)
    force = f"{number(actuator.gain, gain_unit)} * {name}" if actuator.is_servo else scaled(actuator.gain, name)
    if actuator.constant:
        force = f"({force} + {number(actuator.constant, unit)})"
    if model.actuator_forcelimited[u]:
        low, high = (number(x, unit) for x in model.actuator_forcerange[u])
        if actuator.is_servo:
            reader.note("the force limit of a servo is not imported", actuator.name, *ACTUATORS)
        else:
            force = f"max({low}, min({high}, {force}))"
    return force


def scaled(factor: float, expression: str) -> str:
    """An expression times a factor."""
    return (
        expression
        if factor == 1
        else f"({number(factor)})*{expression}"
        if factor < 0
        else f"{number(factor)}*{expression}"
    )


def _push(reader: Reader, actuator: Actuator, expression: str) -> None:
    """Add a load on a site, in the axes of the site."""
    frame, gear = reader.sites[actuator.target], actuator.gear
    name = reader.document.name("loads", "", kind=f"{actuator.name[:50] or 'push'}_load")
    force = [f"={scaled(float(x), expression)}" if x else 0 for x in gear[:3]]
    moment = [f"={scaled(float(x), expression)}*1 m" if x else 0 for x in gear[3:6]]
    entry = {"frame": frame, **({"force": force} if gear[:3].any() else {})}
    entry |= {**({"moment": moment} if gear[3:6].any() else {}), "expressed_in": frame}
    reader.document.add("loads", name, entry, reader.line(actuator.name, *ACTUATORS))


def _drive_freely(reader: Reader, actuator: Actuator, expression: str) -> None:
    """Add forces on a free joint along the axes of the world, and torques on a free rotation in moving axes."""
    is_free = int(reader.model.jnt_type[actuator.target]) == 0
    driven = reader.turned.setdefault(actuator.target, [[] for _ in range(6)])
    gear = actuator.gear if is_free else np.concatenate([np.zeros(3), actuator.gear[:3]])
    for k, factor in enumerate(gear):
        if factor:
            driven[k].append(scaled(float(factor), expression) + ("*1 m" if is_free and k >= 3 else ""))


def _pull(reader: Reader, actuator: Actuator, name: str, expression: str) -> None:
    """Add the tendon or link that an actuator pulls; in MuJoCo, positive forces lengthen it."""
    assert actuator.through is not None
    gear, line = float(actuator.gear[0]), reader.line(actuator.name, *ACTUATORS)
    stem = f"{reader.model.name('tendon', actuator.target)[:40] or 'line'}_pulled"
    stiffness, damping = gear**2 * actuator.stiffness, gear**2 * actuator.damping
    damper = {"damper": number(damping)} if damping else {}
    pull = scaled(-gear, expression)
    if len(actuator.through) == 2:  # a link can also push
        spring = {"spring": {"coefficient": number(stiffness), "rest": 0}} if stiffness else {}
        entry = {"type": "axial", "between": actuator.through, **spring, **damper, "input": f"={pull}"}
        reader.document.add("links", reader.document.name("links", "", kind=stem), entry, line)
        return
    through: dict[str, Any] = {"through": actuator.through}
    reader.note("a tendon driven by an actuator can only pull", actuator.name, *ACTUATORS)
    if stiffness:
        entry = {"type": "elastic", **through, "stiffness": number(stiffness), "rest": 0, **damper}
        entry["shortening"] = f"={pull}/{number(stiffness, 'N/m')}"
    else:
        entry = {"type": "tension", **through, "tension": f"={pull}"}
        if damping:
            reader.note("the damping of a tendon's actuator is not imported", actuator.name, *ACTUATORS)
    reader.document.add("tendons", reader.document.name("tendons", "", kind=stem), entry, line)


EQUALITIES = ("connect", "weld", "joint", "tendon", "flex", "flexvert", "flexstrain")


def add_equalities(reader: Reader) -> None:
    """Add loops and ties."""
    model = reader.model
    for k in range(model.neq):
        given = model.name("eq", k)
        if not model.eq_active0[k]:
            reader.note("an inactive equality constraint is not imported", given, *EQUALITIES)
        elif model.eq_type[k] == EqualityType.JOINT:
            _tie(reader, k)
        elif model.eq_type[k] in (EqualityType.CONNECT, EqualityType.WELD):
            name = reader.document.name("constraints", given, line=reader.line(given, *EQUALITIES), kind="loop")
            ends = _loop_ends(reader, k)
            components = "position" if model.eq_type[k] == EqualityType.CONNECT else "all"
            entry = {"between": ends, "components": components}
            reader.document.add("constraints", name, entry, reader.line(given, *EQUALITIES))
        else:
            reader.note("an equality constraint of tendons or flexes is not imported", given, *EQUALITIES)


def _loop_ends(reader: Reader, k: int) -> list[Any]:
    """The two frames that a loop connects."""
    model, data = reader.model, reader.model.eq_data[k]
    first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    if model.eq_objtype[k] == ObjectType.SITE:
        return [reader.sites[first], reader.sites[second]]
    if model.eq_type[k] == EqualityType.CONNECT:
        places = [placement(data[0:3], None), placement(data[3:6], None)]
    else:
        places = [placement(data[3:6], quaternion_rotation(data[6:10])), placement(data[0:3], None)]
    names = [reader.bodies[first], reader.bodies[second]]
    return [{"frame": name, **place} if place else name for name, place in zip(names, places, strict=True)]


def _tie(reader: Reader, k: int) -> None:
    """Tie a joint linearly to another, or fix its value."""
    model, data = reader.model, reader.model.eq_data[k]
    first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    given = model.name("eq", k)
    joints = (first,) if second < 0 else (first, second)
    if (data[2:5].any() and second >= 0) or any(j not in reader.coordinates for j in joints):
        reader.note(
            "a nonlinear equality constraint of joints is not imported", given or model.name("jnt", first), "joint"
        )
        return
    own, zero = reader.coordinates[first], float(model.qpos0[model.jnt_qposadr[first]])
    if second < 0:
        if not own.is_tied:
            own.entry["motion"] = number(data[0] + zero)
        else:
            reader.note("an equality constraint of a joint that is already tied is not imported", given, "joint")
        return
    other, ratio = reader.coordinates[second], float(data[1])
    offset = float(data[0] + zero - ratio * model.qpos0[model.jnt_qposadr[second]])
    if own.is_tied and not other.is_tied and ratio:  # a second equality of the joint determines the other one
        own, other, ratio, offset = other, own, 1 / ratio, -offset / ratio
    if own.is_tied or _follows(reader, other, own):
        reader.note("an equality constraint of a joint that is already tied is not imported", given, "joint")
        return
    unit = {(True, False): "rad/m", (False, True): "m/rad"}.get((own.is_angle, other.is_angle), "")
    own.entry["equal_to"] = {"coordinate": other.name}
    if ratio != 1 or unit:
        own.entry["equal_to"]["ratio"] = number(ratio, unit)
    if offset:
        own.entry["equal_to"]["offset"] = number(offset)


def _follows(reader: Reader, first: Coordinate, second: Coordinate) -> bool:
    """Whether a coordinate is tied to another, directly or through others."""
    by_name = {coordinate.name: coordinate for coordinate in reader.coordinates.values()}
    here: Coordinate | None = first
    while here is not None and here is not second:
        tie = here.entry.get("equal_to")
        here = by_name[tie["coordinate"]] if tie else None
    return here is second


def add_keys(reader: Reader, moving: list[int], joints: dict[str, dict[str, Any]]) -> None:
    """Add the variants. moving: numbers of the bodies with joints. joints: their joints by name, without a keyframe."""
    model, variants = reader.model, dict[str, Any]()
    for k in range(model.nkey):
        given = model.name("key", k)
        reader.starts, reader.rates = np.array(model.key_qpos[k]), np.array(model.key_qvel[k])
        for j in reader.coordinates:
            if model.jnt_limited[j]:
                reader.begin_within(j, f" in the keyframe {given!r}")
        reader.is_quiet = True
        starts = {name: changes(joints[name], entry) for name, entry in map(reader.joint, moving)}
        reader.is_quiet = False
        if model.nmocap or model.na or reader.nodes:
            reader.note(
                "a keyframe does not set mocap bodies, states of actuators and nodes of flexes here", given, "key"
            )
        values = {"parameters": _inputs(reader, k), "joints": {name: entry for name, entry in starts.items() if entry}}
        name = reader.document.name("variants", given, line=reader.line(given, "key"), kind="key")
        variants[name] = {key: value for key, value in values.items() if value}
    if variants:
        reader.document.head["variants"] = variants


def _inputs(reader: Reader, k: int) -> dict[str, Any]:
    """Values of inputs that differ from those of the model, in the same units."""
    inputs: dict[str, Any] = {}
    for u, name in reader.inputs.items():
        value = float(reader.model.key_ctrl[k][_control(reader.model, u)])
        entry = reader.document.parts["parameters"][name]
        if reader.model.actuator_ctrllimited[u]:
            value = float(np.clip(value, *reader.model.actuator_ctrlrange[u]))  # as MuJoCo applies it
        if value != float(str(entry["value"]).partition(" ")[0]):
            inputs[name] = {"value": number(value, str(entry["value"]).partition(" ")[2])}
    return inputs


def _control(model: CompiledMjcf, u: int) -> int:
    """Index of the input of an actuator; in newer versions, actuators may have several inputs."""
    addresses = getattr(model, "actuator_ctrladr", None)
    return u if addresses is None else int(addresses[u])


def changes(base: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The mapping to merge into `base` to get `other`. Numbers missing in `other` are zero; rotations are replaced."""
    changed: dict[str, Any] = {}
    for key in {**base, **other}:
        here, there = base.get(key), other.get(key)
        if here == there:
            continue
        if key == "initial" and (isinstance(here, dict) or isinstance(there, dict)):
            changed[key] = {"axis": "z", "angle": 0} if there is None else there
        elif isinstance(here or {}, dict) and isinstance(there or {}, dict):
            changed[key] = changes(here or {}, there or {})
        else:
            changed[key] = 0 if there is None else there
    return changed


OF_JOINTS = {"jointpos": "value", "jointvel": "rate"}
OF_FRAMES = {
    "framepos": "position",
    "framequat": "quaternion",
    "framelinvel": "velocity",
    "frameangvel": "angular_velocity",
}
"""Sensors and the quantities of outputs that they measure."""
RELATIVE = ("framepos", "framequat")
"""Sensors that may be relative to another frame; relative velocities are defined differently in MuJoCo."""


def add_sensors(reader: Reader) -> None:
    """Add all sensors; those without a corresponding output are noted."""
    for sensor in reader.prepared.sensors:
        entry = _of_joint(reader, sensor) if sensor.tag in OF_JOINTS else _of_frame(reader, sensor)
        if entry is None:
            message = f"a sensor is not imported: <{sensor.tag}> of this object has no counterpart"
            reader.document.note(message, line=sensor.line, path=sensor.get("name"))
            continue
        if sensor.get("cutoff", "0") not in ("0", "0.0"):
            reader.document.note("the cutoff of a sensor is not imported", line=sensor.line, path=sensor.get("name"))
        target = sensor.get("joint") or sensor.get("objname")
        name = reader.document.name("outputs", sensor.get("name"), line=sensor.line, kind=f"{target}_{sensor.tag}")
        reader.document.add("outputs", name, entry, sensor.line)


def _of_joint(reader: Reader, sensor: Element) -> dict[str, Any] | None:
    """The output of a hinge or slide."""
    for j, coordinate in reader.coordinates.items():
        if reader.model.name("jnt", j) == sensor.get("joint"):
            quantity = OF_JOINTS[sensor.tag]
            return {"coordinate": coordinate.name} | ({"quantity": quantity} if quantity != "value" else {})
    return None


def _of_frame(reader: Reader, sensor: Element) -> dict[str, Any] | None:
    """The output of a site or body."""
    frame = _frame(reader, sensor.get("objtype"), sensor.get("objname"))
    if sensor.tag not in OF_FRAMES or frame is None:
        return None
    output: dict[str, Any] = {"frame": frame, "quantity": OF_FRAMES[sensor.tag]}
    if sensor.get("refname"):
        other = _frame(reader, sensor.get("reftype"), sensor.get("refname"))
        if other is None or sensor.tag not in RELATIVE:
            return None
        output["relative_to"] = other
    return output


def _frame(reader: Reader, kind: str, name: str) -> str | None:
    """A frame by its type and name in the file: a site, a body, or its inertial frame if that is the frame of the body."""
    model = reader.model
    if kind == "site":
        return next((frame for s, frame in reader.sites.items() if model.name("site", s) == name), None)
    if kind not in ("xbody", "body"):
        return None
    for i in range(model.nbody):
        if model.name("body", i) == name:
            is_centred = not model.body_ipos[i].any() and abs(model.body_iquat[i][0]) == 1.0
            return reader.bodies[i] if kind == "xbody" or is_centred else None
    return None


def name_nodes(reader: Reader) -> dict[int, str]:
    """Frames of the nodes by the number of their body; also names the flexes."""
    model, names = reader.model, dict[int, str]()
    for f in range(model.nflex):
        given = model.name("flex", f)
        name = reader.document.name("things", given, line=reader.line(given, "flexcomp"), kind="flex")
        reader.flexes[f] = name
        for k, i in enumerate(_vertices(reader, f)):
            if model.body_jntnum[i] == 3 and model.body_mass[i] and i not in names:
                names[int(i)] = f"{name}.n{k + 1}"
    return names


def _vertices(reader: Reader, f: int) -> np.ndarray:
    """Numbers of the bodies that the vertices of a flex belong to."""
    start = int(reader.model.flex_vertadr[f])
    return np.asarray(reader.model.flex_vertbodyid[start : start + int(reader.model.flex_vertnum[f])])


def add_flexes(reader: Reader) -> None:
    """Add flexes as meshes."""
    model = reader.model
    for f, name in reader.flexes.items():
        bodies, start = _vertices(reader, f), int(model.flex_vertadr[f])
        own = [i for i in bodies if i in reader.nodes]
        parent = int(model.body_parentid[own[0]]) if own else 0
        held = [k for k, i in enumerate(bodies) if i not in reader.nodes]
        given = model.name("flex", f)
        if not own or any(int(bodies[k]) != parent for k in held):
            reader.note("a flex whose nodes belong to several bodies is not imported", given, "flexcomp")
            continue
        places = [model.body_pos[i] if i in reader.nodes else model.flex_vert[start + k] for k, i in enumerate(bodies)]
        entry: dict[str, Any] = {"type": "membrane", "parent": reader.bodies[parent]}
        entry["drawing"] = {"nodes": [vector(place) for place in places], **_edges(reader, f)}
        if held:
            entry["sets"] = {"pinned": {"nodes": [k + 1 for k in held]}}
            entry["held"] = {"pinned": reader.bodies[parent]}
        entry |= {"ends": "free", "node_mass": number(model.body_mass[own[0]], "kg"), "direction": "both"}
        springs = _springs(reader, f)
        if "sets" in entry and "sets" in springs:
            springs["sets"] = entry["sets"] | springs["sets"]
        reader.document.add("meshes", name, entry | springs, reader.line(given, "flexcomp"))
        if model.nmeeting and (model.flex_contype[f] or model.flex_conaffinity[f]):
            reader.note("contacts of a flex are not imported", given, "flexcomp")


def _edges(reader: Reader, f: int) -> dict[str, Any]:
    return {"edges": [[int(a) + 1, int(b) + 1] for a, b in reader.model.flex_edge[_range(reader, f)]]}


def _range(reader: Reader, f: int) -> slice:
    start = int(reader.model.flex_edgeadr[f])
    return slice(start, start + int(reader.model.flex_edgenum[f]))


def _springs(reader: Reader, f: int) -> dict[str, Any]:
    """Stiffness and damping per strain, which MuJoCo has per length: for all edges, or for each if lengths differ."""
    model = reader.model
    lengths, ends = model.flexedge_length0[_range(reader, f)], model.flex_edge[_range(reader, f)]
    stiffness, damping = float(model.flex_edgestiffness[f]), float(model.flex_edgedamping[f])
    first = float(lengths[0])
    springs: dict[str, Any] = {"stiffness": number(stiffness * first, "N")}
    if np.ptp(lengths) < 1e-12 * first:
        return springs | ({"edges": {"all": {"viscosity": number(damping * first)}}} if damping else {})
    sets = {f"edge{k + 1}": {"nodes": [int(a) + 1, int(b) + 1]} for k, (a, b) in enumerate(ends)}
    values = {
        name: {
            "stiffness": number(stiffness * length, "N"),
            **({"viscosity": number(damping * length)} if damping else {}),
        }
        for name, length in zip(sets, lengths, strict=True)
    }
    return springs | {"sets": sets, "edges": values}
