"""Robots as URDF: links, joints, inertias, limits, damping, mimic joints and shapes. Springs, motors and loops are listed."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from pliant._version import __version__
from pliant.io.c_text import ExportError
from pliant.language.message_text import enumeration
from pliant.targets.base import XmlText, exporter, written
from pliant.targets.rigid import RigidRobot, RigidTarget, heading
from pliant.targets.rigid_tree import WORLD, Joint, Link, Shape

UNLIMITED = 1e6
"""Value of limits that the model does not define, but URDF requires [N, N m, m, m/s or rad/s]."""
ROOT = "world"


class Urdf(RigidTarget):
    """A robot for programs that read URDF (ROS, Pinocchio, Drake). Inertias, joints, limits, damping and ties of coordinates are
    exact. A joint with several coordinates becomes several joints with massless links between them. Rods become links as in
    [MJCF](#mjcf). URDF has no springs, motors, tendons, loads and loops: these are among the remarks of the export and in a comment
    at the top of the file, springs with their values.
    """

    name: ClassVar[str] = "urdf"
    title: ClassVar[str] = "URDF"
    summary: ClassVar[str] = "a URDF file"
    suffix: ClassVar[str] = ".urdf"
    omits: ClassVar[str] = (
        "springs, inputs, links, tendons, loads, loops, the initial state, contacts, controllers; free rotations, meshes and "
        "joints without a counterpart are errors; rods become links"
    )
    forms: ClassVar[Mapping[str, str]] = {
        "bodies, inertias, shapes": "links",
        "joints": "a joint for each coordinate; free rotations are an error",
        "springs and dampers of joints": "damping; springs are listed with their values",
        "limits": "`limit`",
        "inputs": "listed",
        "axial links, tendons": "listed",
        "loads": "listed",
        "coordinates tied to others": "`mimic`",
        "loops": "listed: the tree is open",
        "frames": "links without mass",
        "initial state": "none",
        "contacts": "listed",
    }

    def document(self, robot: RigidRobot) -> tuple[str, list[str]]:
        balls = [joint.name for joint in robot.tree.joints if joint.kind == "ball"]
        if balls:
            raise ExportError(
                f"URDF has no joint for the free rotation {', '.join(balls)}",
                "export MJCF, or write it as a `chain` of rotations",
            )
        writer = _Writer(robot)
        return writer.document(), writer.remarks


export_urdf = exporter(Urdf)


class _Writer:
    def __init__(self, robot: RigidRobot) -> None:
        self.robot, self.tree, self.forces, self.xml = robot, robot.tree, robot.forces, XmlText()
        self.remarks = [*robot.forces.joint_remarks, *_missing(robot)]
        self.names = {WORLD: ROOT, **self.tree.link_names()}
        # the frame of a link is at its last joint; everything on it is moved accordingly
        self.shift = {WORLD: np.eye(4)}
        for link in self.tree.links:
            at = link.joints[-1].at if link.joints else np.eye(4)
            self.shift[link.node] = np.linalg.inv(at) @ link.end if link.joints else np.eye(4)
        self.mimic = {tie.first: tie for tie in self.forces.ties if tie.second >= 0}
        self.shapes: dict[int, list[Shape]] = {}
        for shape in self.tree.shapes:
            if shape.kind == "ellipsoid":
                self.remarks.append(f"shape of {shape.name}: omitted: URDF has no ellipsoids")
                continue
            self.shapes.setdefault(shape.node, []).append(shape)

    def document(self) -> str:
        """The complete text."""
        xml = self.xml
        first = f"URDF of Pliant {__version__}. Gravity, {written(self.tree.gravity)} m/s^2, and the start are not part of URDF."
        first += f" Limits of {UNLIMITED:g} mean no limit."
        xml.comment([*heading(self.robot, first, self.remarks), *self._springs()])
        xml.open("robot", {"name": self.tree.title})
        self._link(ROOT, None)
        for link in self.tree.links:
            self._joints(link)
            self._link(link.name, link)
        taken = set(self.names.values())
        for name, (node, pose) in self.tree.frames.items():
            placed = self.shift[node] @ pose
            if name == self.names[node] and np.array_equal(placed, np.eye(4)):
                continue
            own = f"{name}:frame" if name in taken else name
            self._link(own, None)
            self._fixed(own, self.names[node], own, placed)
        xml.close()
        return xml.text()

    def _springs(self) -> list[str]:
        """Springs with their values, which are not in the rest of the file."""
        names = {joint.v_at: joint.name for whole in self.tree.joints for joint in (whole, *whole.parts())}
        sprung = {names[v]: acting for v, acting in self.forces.passive.items() if acting.stiffness}
        if not sprung:
            return []
        lines = [f"  {name}: {written(x.stiffness)} from {written(x.rest)}" for name, x in sprung.items()]
        return ["Stiffness [N/m or N m/rad] of the joints, and the value that it acts from [m or rad]:", *lines]

    # -- links -------------------------------------------------------------------------------------------------------

    def _link(self, name: str, link: Link | None) -> None:
        node = WORLD if link is None else link.node
        shapes = self.shapes.get(node, []) if link is not None or name == ROOT else []
        if not shapes and (link is None or not link.mass):
            self.xml.leaf("link", {"name": name})
            return
        self.xml.open("link", {"name": name})
        if link is not None and link.mass:
            self._inertial(link)
        for shape in shapes:
            self._visual(shape)
        self.xml.close()

    def _inertial(self, link: Link) -> None:
        shift, xml = self.shift[link.node], self.xml
        R = shift[:3, :3]
        inertia = R @ link.inertia @ R.T
        xml.open("inertial")
        xml.leaf("origin", {"xyz": shift[:3, 3] + R @ link.center, "rpy": "0 0 0"})
        xml.leaf("mass", {"value": link.mass})
        at = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
        xml.leaf("inertia", {name: inertia[place] for name, place in at.items()})
        xml.close()

    def _visual(self, shape: Shape) -> None:
        xml = self.xml
        xml.open("visual", {"name": shape.name})
        xml.leaf("origin", _origin(self.shift[shape.node] @ shape.pose))
        xml.open("geometry")
        if shape.kind == "box":
            xml.leaf("box", {"size": shape.size})
        elif shape.kind == "sphere":
            xml.leaf("sphere", {"radius": shape.size[0]})
        else:
            xml.leaf("cylinder", {"radius": shape.size[0], "length": shape.size[1]})
        xml.close()
        xml.close()

    # -- joints ------------------------------------------------------------------------------------------------------

    def _joints(self, link: Link) -> None:
        """The joints of a link, with massless links between them."""
        parent, before = self.names[link.parent], self.shift[link.parent] @ link.placement
        if not link.joints:
            self._fixed(f"{link.name}:joint", parent, link.name, before @ link.end)
            return
        last = len(link.joints) - 1
        for k, joint in enumerate(link.joints):
            child = link.name if k == last else f"{link.name}:{k + 1}"
            if k < last:
                self.xml.leaf("link", {"name": child})
            self._joint(joint, parent, child, before @ joint.at)
            parent, before = child, np.linalg.inv(joint.at)

    def _joint(self, joint: Joint, parent: str, child: str, pose: np.ndarray) -> None:
        acting = self.forces.passive.get(joint.v_at)
        limits = None if acting is None else acting.range
        kind = {"hinge": "continuous" if limits is None else "revolute", "slide": "prismatic", "free": "floating"}[
            joint.kind
        ]
        xml = self.xml
        xml.open("joint", {"name": joint.name, "type": kind})
        xml.leaf("origin", _origin(pose))
        xml.leaf("parent", {"link": parent})
        xml.leaf("child", {"link": child})
        if joint.kind != "free":
            xml.leaf("axis", {"xyz": joint.axis})
            ends = None if kind == "continuous" else np.clip(limits or (-np.inf, np.inf), -UNLIMITED, UNLIMITED)
            given = {} if ends is None else {"lower": ends[0], "upper": ends[1]}
            xml.leaf("limit", {**given, "effort": self._effort(joint), "velocity": UNLIMITED})
            if acting is not None and acting.damping:
                xml.leaf("dynamics", {"damping": acting.damping, "friction": 0})
            tie = self.mimic.get(joint.v_at)
            if tie is not None:
                other = self.tree.by_rate[tie.second].name
                xml.leaf("mimic", {"joint": other, "multiplier": tie.ratio, "offset": tie.offset})
        xml.close()

    def _effort(self, joint: Joint) -> float:
        """The largest force or torque of the motors of a joint, if all of them are limited."""
        motors = [motor for motor in self.forces.motors if joint.v_at in motor.gears]
        if not motors or any(motor.bounds is None for motor in motors):
            return UNLIMITED
        return float(sum(abs(m.gears[joint.v_at]) * np.max(np.abs(m.bounds or 0.0)) for m in motors))

    def _fixed(self, name: str, parent: str, child: str, pose: np.ndarray) -> None:
        self.xml.open("joint", {"name": name, "type": "fixed"})
        self.xml.leaf("origin", _origin(pose))
        self.xml.leaf("parent", {"link": parent})
        self.xml.leaf("child", {"link": child})
        self.xml.close()


def _missing(robot: RigidRobot) -> list[str]:
    """Features of the robot that URDF does not support."""
    forces, joints = robot.forces, robot.tree.by_rate
    names = {part.v_at: part.name for joint in robot.tree.joints for part in joint.parts()}
    sprung = [joints[v].name for v, acting in forces.passive.items() if acting.stiffness and v in joints]
    armed = [names[v] for v, acting in forces.passive.items() if acting.armature and v in names]
    left_out: dict[str, list[str]] = {
        "springs of the joints {}, with the numbers below": sprung,
        "armature of the joints {}": armed,
        "motors {}": [motor.name for motor in forces.motors],
        "links and tendons {}": [line.name for line in forces.lines],
        "loads {}": [push.name for push in forces.pushes],
        "loops {}: the tree is open there": [loop.name for loop in forces.loops],
        "prescribed motions {}: these joints are free": [tie.name for tie in forces.ties if tie.second < 0],
        "{}": forces.without_form,
    }
    return [
        f"omitted, because URDF does not support them: {text.format(enumeration(names))}"
        for text, names in left_out.items()
        if names
    ]


def _origin(pose: np.ndarray) -> dict[str, Any]:
    """Position, and the rotations about x, y and z (roll, pitch, yaw) in this order, about fixed axes. Exact also for a pitch of
    90 degrees: the roll is the remaining rotation after yaw and pitch."""
    R = pose[:3, :3]
    yaw, pitch = np.arctan2(R[1, 0], R[0, 0]), np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    s, c = np.sin(yaw), np.cos(yaw)
    roll = np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return {"xyz": pose[:3, 3], "rpy": [roll, pitch, yaw]}
