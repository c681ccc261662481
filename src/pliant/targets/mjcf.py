"""Robots as MJCF, the format of MuJoCo: rigid parts exactly, rods as links with springs, loops as equality constraints."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pliant._version import __version__
from pliant.io.c_text import ExportError
from pliant.language.message_text import enumeration
from pliant.targets.base import XmlText, exporter
from pliant.targets.rigid import RigidRobot, RigidTarget, heading
from pliant.targets.rigid_forces import Line
from pliant.targets.rigid_tree import WORLD, Joint, Link, RigidTree, Shape, quaternion


@dataclass(frozen=True)
class MujocoLimits:
    """Limits of MuJoCo, and of the steps that suit a robot."""

    least_inertia: float = 2e-15
    """Minimum mass [kg] and moments of inertia [kg m^2] of moving bodies in MuJoCo."""
    longest_step: float = 2e-3
    """Longest time step that is written [s]."""
    steps_per_radian: float = 1.0
    """Steps per radian of the fastest oscillation; below a half, MuJoCo's steps are unstable."""
    deepest: int = 450
    """Maximum nesting depth of bodies in MuJoCo's XML reader."""


MUJOCO = MujocoLimits()


class Mjcf(RigidTarget):
    """A model of [MuJoCo](https://mujoco.org). Rigid parts are exact: mass matrices, forces, accelerations and frames agree with
    Pliant's to round-off. Loops are equality constraints, which are soft in MuJoCo. Everything that is approximated or omitted is
    among the remarks of the export, and in a comment at the top of the file.

    **Rods** become `links` rigid links in series with springs and dampers in their joints: the rod model
    [`pseudo_rigid`](rod-models.md). Their joints bend and twist; those of thick rods also stretch. Slender rods are inextensible,
    because their stretching modes are so fast that MuJoCo would need tiny steps. The export measures the error of this
    approximation: it compares the first six natural frequencies and the equilibrium of the robot with links with those of the robot
    with rods. Both converge with the square of the number of links for a rod that bends and twists. If frequencies of higher modes
    differ considerably, the rod model of the original robot may be the coarser one.

    MuJoCo's time step is chosen to resolve the fastest motion, often the twist of a short thin link. Nonlinear forces (hyperelastic
    laws, dampers with powers) are linearized about the initial state, and listed.
    """

    name: ClassVar[str] = "mjcf"
    title: ClassVar[str] = "MJCF"
    summary: ClassVar[str] = "a model for MuJoCo"
    suffix: ClassVar[str] = ".xml"
    omits: ClassVar[str] = (
        "contacts, controllers; meshes and joints without a counterpart are errors; rods become links"
    )
    forms: ClassVar[Mapping[str, str]] = {
        "bodies, inertias, shapes": "bodies; a point mass gets 2e-15 kg m², the minimum of MuJoCo",
        "joints": "hinges, slides, balls, free joints, several in one body",
        "springs and dampers of joints": "`stiffness`, `springref`, `damping`",
        "limits": "`range`, with MuJoCo's stops",
        "inputs": "motors of the same names; a chamber's pressure acts on all joints of its rod",
        "axial links, tendons": "spatial tendons",
        "loads": "motors at sites",
        "coordinates tied to others": "equality constraints of joints",
        "loops": "equality constraints (`connect`, `weld`) between sites, which are soft in MuJoCo",
        "frames": "sites",
        "initial state": "keyframe `start`, with the inputs",
        "contacts": "listed",
    }

    def document(self, robot: RigidRobot) -> tuple[str, list[str]]:
        tree = robot.tree.merged(robot.forces.nodes() | {node for node, _ in robot.tree.frames.values()})
        writer = _Writer(robot, tree)
        return writer.document(), writer.remarks


export_mjcf = exporter(Mjcf)


@dataclass(frozen=True)
class _Site:
    name: str
    pose: np.ndarray


class _Writer:
    def __init__(self, robot: RigidRobot, tree: RigidTree) -> None:
        self.robot, self.tree, self.forces = robot, tree, robot.forces
        self.xml = XmlText()
        self.remarks = [*robot.forces.joint_remarks, *robot.forces.drive_remarks]
        self.sites: dict[int, list[_Site]] = {}
        for name, (node, pose) in tree.frames.items():
            self._site(node, name, pose)

    def document(self) -> str:
        """The complete text."""
        self._place_sites()
        bodies, xml = _Body(self), self.xml
        self.remarks += bodies.remarks()
        step = _step(self.robot)
        xml.comment(heading(self.robot, f"MJCF of Pliant {__version__}", self.remarks))
        xml.open("mujoco", {"model": self.tree.title})
        xml.leaf("compiler", {"angle": "radian", "inertiafromgeom": "false", "autolimits": "true"})
        option = {"gravity": self.tree.gravity, "timestep": step, "integrator": "implicitfast"}
        xml.leaf("option", option)
        xml.leaf("statistic", {"meansize": 0.05})
        xml.open("default")
        xml.leaf("geom", {"contype": "0", "conaffinity": "0", "group": "1", "rgba": "0.6 0.65 0.7 1"})
        xml.leaf("site", {"group": "4", "size": "0.005"})
        xml.leaf("equality", {"solref": [2 * step, 1], "solimp": [0.999, 0.9999, 0.001, 0.5, 2]})
        xml.close()
        xml.open("worldbody")
        bodies.write()
        xml.close()
        self._tendons()
        self._actuators()
        self._equalities()
        xml.open("keyframe")
        xml.leaf("key", {"name": "start", **self._start(bodies.order)})
        xml.close()
        xml.close()
        return xml.text()

    # -- sites -------------------------------------------------------------------------------------------------------

    def _site(self, node: int, name: str, pose: np.ndarray) -> str:
        full = pose if pose.shape == (4, 4) else np.block([[np.eye(3), pose.reshape(3, 1)], [np.zeros((1, 3)), 1]])
        self.sites.setdefault(node, []).append(_Site(name, full))
        return name

    def _place_sites(self) -> None:
        """Sites of lines, loads and loops; their names contain a colon, unlike names of frames."""
        forces = self.forces
        for line in forces.lines:
            for k, (node, point) in enumerate(line.points, start=1):
                self._site(node, f"{line.name}:{k}", point)
        for push in forces.pushes:
            self._site(push.at[0], f"{push.name}:at", push.at[1])
            if push.axes is not None:
                axes = np.eye(4)
                axes[:3, :3] = push.axes
                self._site(WORLD, f"{push.name}:axes", axes)
        for loop in forces.loops:
            self._site(loop.first[0], f"{loop.name}:first", loop.first[1])
            self._site(loop.second[0], f"{loop.name}:second", loop.second[1])

    # -- forces ---------------------------------------------------------------------------------------------------

    def _tendons(self) -> None:
        forces, xml = self.forces, self.xml
        joined = [motor for motor in forces.motors if len(motor.gears) > 1]
        if not (forces.lines or joined):
            return
        xml.open("tendon")
        for line in forces.lines:
            self._spatial(line)
        for motor in joined:
            xml.open("fixed", {"name": f"{motor.name}:joints"})
            for v_at, gear in motor.gears.items():
                xml.leaf("joint", {"joint": self.tree.by_rate[v_at].name, "coef": gear})
            xml.close()
        xml.close()

    def _spatial(self, line: Line) -> None:
        spring = {"stiffness": line.stiffness, "springlength": line.slack} if line.stiffness else {}
        damper = {"damping": line.damping} if line.damping else {}
        self.xml.open("spatial", {"name": line.name, **spring, **damper})
        for k in range(len(line.points)):
            self.xml.leaf("site", {"site": f"{line.name}:{k + 1}"})
        self.xml.close()

    def _actuators(self) -> None:
        forces, xml = self.forces, self.xml
        pulled = [line for line in forces.lines if line.pull is not None]
        if not (forces.motors or pulled or forces.pushes):
            return
        xml.open("actuator")
        for motor in forces.motors:
            if len(motor.gears) == 1:
                (v_at, gear), *_ = motor.gears.items()
                acts = {"joint": self.tree.by_rate[v_at].name, "gear": gear}
            else:
                acts = {"tendon": f"{motor.name}:joints"}
            xml.leaf("motor", {"name": motor.name, **acts, "ctrlrange": motor.bounds})
        for line in pulled:
            assert line.pull is not None
            xml.leaf("motor", {"name": line.pull.name, "tendon": line.name, "gear": -1, "ctrlrange": line.pull.bounds})
        for push in forces.pushes:
            at = {"site": f"{push.name}:at", "refsite": f"{push.name}:axes" if push.axes is not None else None}
            xml.leaf("motor", {"name": push.name, **at, "gear": np.eye(6)[push.component]})
        xml.close()

    def _equalities(self) -> None:
        forces, xml = self.forces, self.xml
        if not (forces.loops or forces.ties):
            return
        xml.open("equality")
        for loop in forces.loops:
            ends = {"site1": f"{loop.name}:first", "site2": f"{loop.name}:second"}
            xml.leaf("weld" if loop.whole else "connect", {"name": loop.name, **ends})
        for tie in forces.ties:
            names = [self.tree.by_rate[k].name for k in (tie.first, tie.second) if k >= 0]
            joints = dict(zip(("joint1", "joint2"), names, strict=False))
            xml.leaf("joint", {"name": tie.name, **joints, "polycoef": [tie.offset, tie.ratio, 0, 0, 0]})
        xml.close()

    def _start(self, order: list[tuple[Link, Joint]]) -> dict[str, Any]:
        """Positions and rates of the joints in the order of their bodies, and the commands of the motors."""
        q, v = self.robot.q, self.robot.v
        qpos, qvel = [np.zeros(0)], [np.zeros(0)]
        for link, joint in order:
            sizes = {"hinge": (1, 1), "slide": (1, 1), "ball": (4, 3), "free": (7, 6)}[joint.kind]
            value = joint.scale * q[joint.q_at : joint.q_at + sizes[0]]
            if joint.kind == "free":
                value = value + np.r_[link.placement[:3, 3], np.zeros(4)]
            qpos.append(value)
            qvel.append(joint.scale * v[joint.v_at : joint.v_at + sizes[1]])
        forces = self.forces
        ctrl = [motor.value for motor in forces.motors]
        ctrl += [line.pull.value for line in forces.lines if line.pull is not None]
        ctrl += [push.value for push in forces.pushes]
        return {"qpos": np.concatenate(qpos), "qvel": np.concatenate(qvel), "ctrl": ctrl or None}


class _Body:
    """Bodies in the order of the tree: depth first, as MuJoCo numbers them."""

    def __init__(self, writer: _Writer) -> None:
        self.writer, self.tree, self.forces, self.xml = writer, writer.tree, writer.forces, writer.xml
        self.order: list[tuple[Link, Joint]] = []
        self.shapes: dict[int, list[Shape]] = {}
        for shape in self.tree.shapes:
            self.shapes.setdefault(shape.node, []).append(shape)
        self.children: dict[int, list[Link]] = {}
        depth = {WORLD: 0}
        for link in self.tree.links:
            self.children.setdefault(link.parent, []).append(link)
            depth[link.node] = depth[link.parent] + 1
        if max(depth.values()) > MUJOCO.deepest:
            raise ExportError(
                f"the robot is a chain of {max(depth.values())} bodies, and MuJoCo supports up to {MUJOCO.deepest}",
                "use fewer links",
            )

    def remarks(self) -> list[str]:
        """Minimum masses required by MuJoCo, added to links that lack them."""
        light = [
            link.name for link in self.tree.links if link.joints and np.min(_moments(link)[0]) < MUJOCO.least_inertia
        ]
        if not light:
            return []
        return [
            f"{enumeration(light)}: moments of inertia below {MUJOCO.least_inertia:g} kg*m^2 are raised to it: MuJoCo has no "
            "point masses"
        ]

    def write(self) -> None:
        """All bodies."""
        self._contents(WORLD)
        waiting: list[Link | None] = list(reversed(self.children.get(WORLD, [])))
        while waiting:
            link = waiting.pop()
            if link is None:
                self.xml.close()
                continue
            self._begin(link)
            waiting += [None, *reversed(self.children.get(link.node, []))]

    def _begin(self, link: Link) -> None:
        self.xml.open("body", {"name": link.name, **_placed(link.pose)})
        for joint in self._joints(link):
            self._joint(link, joint)
        moments, axes = _moments(link)
        least = MUJOCO.least_inertia if link.joints else 0.0
        if link.mass > 0 or link.joints:
            self.xml.leaf(
                "inertial",
                {
                    "mass": max(link.mass, least),
                    "pos": link.center,
                    "quat": quaternion(axes),
                    "diaginertia": _possible(np.maximum(moments, least)),
                },
            )
        self._contents(link.node)

    def _joints(self, link: Link) -> list[Joint]:
        """Keep free joints that move relative to the axes of the world, as MuJoCo's do, and have no armature."""
        whole = link.parent == WORLD and len(link.joints) == 1 and np.array_equal(link.placement[:3, :3], np.eye(3))
        rates = [part.v_at for joint in link.joints for part in joint.parts()]
        whole = whole and not any(self.forces.of(v).armature for v in rates if v in self.forces.passive)
        return [part for joint in link.joints for part in ([joint] if whole else joint.parts())]

    def _joint(self, link: Link, joint: Joint) -> None:
        self.order.append((link, joint))
        if joint.kind == "free":
            self.xml.leaf("freejoint", {"name": joint.name})
            return
        seen = np.linalg.inv(link.end) @ joint.at
        axis = seen[:3, :3] @ joint.axis if joint.kind != "ball" else None
        at = None if joint.kind == "slide" else seen[:3, 3]
        acting = self.forces.passive.get(joint.v_at)
        passive: dict[str, Any] = {}
        if acting is not None:
            passive = {"damping": acting.damping or None, "armature": acting.armature or None}
            if acting.stiffness:
                passive |= {"stiffness": acting.stiffness, "springref": None if joint.kind == "ball" else acting.rest}
            if acting.range is not None:
                passive["range"] = np.clip(acting.range, -1e6, 1e6)
        self.xml.leaf("joint", {"name": joint.name, "type": joint.kind, "axis": axis, "pos": at, **passive})

    def _contents(self, node: int) -> None:
        for shape in self.shapes.get(node, []):
            size = np.array(shape.size) if shape.kind == "sphere" else np.array(shape.size) / 2
            if shape.kind in ("cylinder", "capsule"):
                size = np.array([shape.size[0], shape.size[1] / 2])
            self.xml.leaf("geom", {"name": shape.name, "type": shape.kind, "size": size, **_placed(shape.pose)})
        for site in self.writer.sites.get(node, []):
            self.xml.leaf("site", {"name": site.name, **_placed(site.pose)})


def _placed(pose: np.ndarray) -> dict[str, Any]:
    R, p = pose[:3, :3], pose[:3, 3]
    return {"pos": p if np.any(p) else None, "quat": None if np.array_equal(R, np.eye(3)) else quaternion(R)}


def _moments(link: Link) -> tuple[np.ndarray, np.ndarray]:
    """Principal moments [kg m^2] and axes, right-handed."""
    if np.count_nonzero(link.inertia - np.diag(np.diag(link.inertia))) == 0:
        return np.diag(link.inertia), np.eye(3)
    moments, axes = np.linalg.eigh(link.inertia)
    return moments, axes * np.linalg.det(axes)


def _possible(moments: np.ndarray) -> np.ndarray:
    """Moments corrected such that none exceeds the sum of the others due to round-off."""
    largest = int(np.argmax(moments))
    others = np.delete(moments, largest)
    return np.where(np.arange(3) == largest, min(moments[largest], others.sum()), moments)


def _step(robot: RigidRobot) -> float:
    """A time step [s] that resolves the fastest oscillation in MuJoCo: 1, 2 or 5 times a power of ten."""
    longest = (
        min(MUJOCO.longest_step, 1 / (MUJOCO.steps_per_radian * robot.fastest))
        if robot.fastest > 0
        else MUJOCO.longest_step
    )
    power = int(np.floor(np.log10(longest)))
    return max(step for x in (1, 2, 5) if (step := float(f"{x}e{power}")) <= longest * (1 + 1e-9))
