"""Conversion of MJCF to a model document, from the model compiled by MuJoCo, which resolves defaults, frames, units and inertias.

The result has the numbers that MuJoCo simulates, without a second implementation of its compiler. The package mujoco is required.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.foreign.document import Document, angle, axis, number, placement, quaternion_rotation, vector
from pliant.foreign.mjcf_actuators import add_actuators
from pliant.foreign.mjcf_cable_loops import add_cables
from pliant.foreign.mjcf_compiled import CompiledMjcf, compile_model
from pliant.foreign.mjcf_equalities import add_equalities
from pliant.foreign.mjcf_keys import add_keys
from pliant.foreign.mjcf_sensors import add_sensors
from pliant.foreign.mjcf_strings import add_flexes, name_nodes
from pliant.foreign.mjcf_surfaces import add_surfaces
from pliant.foreign.mjcf_tendons import add_tendons, or_zero
from pliant.foreign.mjcf_text import MjcfText, prepare
from pliant.language.limits import limits, most
from pliant.language.source import ImportedFile, Source

FREE, BALL, SLIDE, HINGE = range(4)
"""MuJoCo's numbers of joint types."""
WORLD = "world"


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
            if model.jnt_type[j] in (SLIDE, HINGE):
                self.coordinates[j] = self.coordinate(j)
        add_equalities(self)
        add_tendons(self)
        add_actuators(self)
        joints = dict(self.joint(i) for i in moving)
        for i, (name, entry) in zip(moving, joints.items(), strict=True):
            document.add("joints", name, entry, self.line(model.name("jnt", model.body_jntadr[i]), "joint"))
        add_keys(self, moving, joints)
        for i, entry in self.entries.items():
            document.add("bodies", self.bodies[i], entry, self.line(model.name("body", i), "body"))
        add_surfaces(self)
        add_flexes(self)
        add_cables(self)
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
        """Name and gravity, and a note on fluid forces."""
        model = self.model
        name = model.title
        if name and name != "MuJoCo Model":
            self.document.head["name"] = name
        if list(model.opt_gravity) != [0, 0, -9.81]:
            self.document.head["world"] = {"gravity": vector(model.opt_gravity)}
        if model.opt_density or model.opt_viscosity or model.opt_wind.any():
            self.document.note("fluid forces (density, viscosity, wind) are not imported")

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
        self.hold_up(i)
        if model.body_mocapid[i] >= 0:
            self.note("a mocap body is fixed to the world", given, "body")
        return entry

    def hold_up(self, i: int) -> None:
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
        if len(joints) == 1 and model.jnt_type[joints[0]] == FREE:
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
        return bool(model.jnt_type[j] == BALL or model.qpos0[model.jnt_qposadr[j]] == 0)

    def plain(self, i: int, j: int, entry: dict[str, Any]) -> dict[str, Any]:
        """A single joint; if its anchor is not the origin of the body, a frame is added to the body there."""
        model, kind = self.model, self.model.jnt_type[j]
        at = model.body_pos[i]
        if kind != SLIDE and model.jnt_pos[j].any():
            at = at + rotated(model.body_quat[i], model.jnt_pos[j])
            if i not in self.anchors:
                self.anchors[i] = self.document.name(f"frames {i}", "", kind=f"{self.joint_names[j][:40]}_anchor")
                place = {"position": vector(model.jnt_pos[j])}
                self.entries[i].setdefault("frames", {})[self.anchors[i]] = place
            entry["child"] = f"{entry['child']}.{self.anchors[i]}"
        entry |= placement(at, quaternion_rotation(model.body_quat[i]))
        if kind == BALL:
            turning = self.orientation(j)
            return {"type": "spherical", **entry, **({"orientation": turning} if turning else {})}
        along = axis(model.jnt_axis[j])
        if along != "z":
            entry["axis"] = along
        coordinate = self.finished(j)
        key = "angle" if kind == HINGE else "displacement"
        return {
            "type": "revolute" if kind == HINGE else "prismatic", **entry, **({key: coordinate} if coordinate else {}),
        }  # fmt: skip

    def moves(self, j: int) -> list[dict[str, Any]]:
        """The transforms of one of several joints, in the frame moved by the previous ones: about its anchor, from its zero."""
        model, kind = self.model, self.model.jnt_type[j]
        there, back = ([{"translate": vector(side * model.jnt_pos[j])}] for side in (1, -1))
        if not model.jnt_pos[j].any():
            there, back = [], []
        if kind == BALL:
            turning = {"name": self.joint_names[j], **self.orientation(j)}
            return [*there, {"rotate": {"quaternion": turning}}, *back]
        zero, along = float(model.qpos0[model.jnt_qposadr[j]]), model.jnt_axis[j]
        coordinate = {"name": self.joint_names[j], **self.finished(j)}
        if kind == HINGE:
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
        found: dict[str, Any] = {}
        for k, letter in enumerate("xyz"):
            keys = {
                "initial": self.starts[at + k],
                "rate": self.rates[v + k],
                "damper": model.dof_damping[v + k],
                "armature": model.dof_armature[v + k],
            }
            found[letter] = {key: number(value) for key, value in keys.items() if value}
            if j in self.turned and self.turned[j][k]:
                found[letter]["input"] = "=" + " + ".join(self.turned[j][k])
        found["orientation"] = self.orientation(j)
        return {key: value for key, value in found.items() if value}

    def orientation(self, j: int) -> dict[str, Any]:
        """The keys of a free rotation: its start, and what acts on it."""
        model = self.model
        first = 3 if model.jnt_type[j] == FREE else 0
        given, v, q = model.name("jnt", j), model.jnt_dofadr[j] + first, model.jnt_qposadr[j] + first
        found: dict[str, Any] = {}
        start = quaternion_rotation(self.starts[q : q + 4])
        if start:
            found["initial"] = start
        if self.rates[v : v + 3].any():
            found["rate"] = vector(self.rates[v : v + 3])
        if model.jnt_stiffness[j] and model.jnt_type[j] == BALL:
            found["spring"] = number(model.jnt_stiffness[j])
        elif model.jnt_stiffness[j]:
            self.note("the stiffness of a free joint is not imported", given, "joint")
        if model.dof_damping[v]:
            found["damper"] = number(model.dof_damping[v])
        if model.dof_armature[v]:
            found["armature"] = number(model.dof_armature[v])
        if model.dof_frictionloss[v]:
            self.note("the friction of a ball or free joint is not imported", given, "joint")
        if model.jnt_limited[j]:
            self.note("the range of a ball joint is not imported", given, "joint")
        if or_zero(model, "jnt_stiffnesspoly", j) or or_zero(model, "dof_dampingpoly", v):
            self.note("nonlinear springs and dampers are not imported", given, "joint")
        if j in self.turned and any(self.turned[j][3:]):
            found["input"] = ["=" + " + ".join(terms) if terms else 0 for terms in self.turned[j][3:]]
        return found

    def coordinate(self, j: int) -> Coordinate:
        """The coordinate of a hinge or slide, without actuators."""
        model = self.model
        v, q, is_angle = model.jnt_dofadr[j], model.jnt_qposadr[j], model.jnt_type[j] == HINGE
        found = Coordinate(self.joint_names[j], is_angle)
        found.stiffness, found.rest = float(model.jnt_stiffness[j]), float(model.qpos_spring[q])
        found.damping = float(model.dof_damping[v])
        shown = angle if is_angle else number
        if model.dof_frictionloss[v]:
            found.entry["friction"] = number(model.dof_frictionloss[v])
        if model.dof_armature[v]:
            found.entry["armature"] = number(model.dof_armature[v])
        if model.jnt_limited[j]:
            low, high = (float(x) for x in model.jnt_range[j])
            stiffness = _stop_stiffness(model.jnt_solref[j], model.jnt_solimp[j], float(model.dof_M0[v]))
            found.entry["limits"] = {"minimum": shown(low), "maximum": shown(high), "stiffness": number(stiffness)}
            self.begin_within(j)
        if model.jnt_actfrclimited[j]:
            low, high = (float(x) for x in model.jnt_actfrcrange[j])
            found.bounds = (low, high)
        given = model.name("jnt", j)
        if or_zero(model, "jnt_stiffnesspoly", j) or or_zero(model, "dof_dampingpoly", v):
            self.note("nonlinear springs and dampers are not imported", given, "joint")
        if or_zero(model, "jnt_springyield", j):
            self.note("the yield of a spring is not imported", given, "joint")
        return found

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
        found, entry = self.coordinates[j], dict[str, Any]()
        start, rate = float(self.starts[self.model.jnt_qposadr[j]]), float(self.rates[self.model.jnt_dofadr[j]])
        if start and not found.is_tied:
            entry["initial"] = (angle if found.is_angle else number)(start)
        if rate and not found.is_tied:
            entry["rate"] = number(rate)
        if found.stiffness:
            rest = (angle if found.is_angle else number)(found.rest)
            entry["spring"] = (
                {"coefficient": number(found.stiffness), "rest": rest} if found.rest else number(found.stiffness)
            )
        if found.damping:
            entry["damper"] = number(found.damping)
        entry |= found.entry
        if found.inputs:
            total, unit = " + ".join(found.inputs), "N*m" if found.is_angle else "N"
            if found.bounds is not None and not found.has_servo:
                low, high = (number(x, unit) for x in found.bounds)
                total = f"max({low}, min({high}, {total}))"
                if self.drives_others:
                    message = "the largest force of a joint does not limit actuators of tendons and sites here"
                    self.note(message, self.model.name("jnt", j), "joint")
            elif found.bounds is not None:
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


def rotated(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """A vector rotated by a unit quaternion (scalar first)."""
    w, u = q[0], q[1:]
    return np.asarray(v + 2 * np.cross(u, np.cross(u, v) + w * v))
