"""A robot as a tree of rigid links with single joints, as in the file formats of other programs (`mjcf`, `urdf`).

It is derived from the compiled system, so that all joints, welds and repeated parts are reduced to the same few types: a link for
each node, with hinges, slides, balls or a free joint in sequence. Poses are 4x4 matrices. Rods must have been replaced by rigid
links before (`rigid.with_links`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy

from pliant.engine.equations import Equations
from pliant.engine.model.model import Model
from pliant.io.c_text import ExportError
from pliant.language.scalar import Scalar
from pliant.parts.assembly import placement_matrices
from pliant.parts.assembly.system import Node
from pliant.parts.motion import FIXED, FREE, PLANAR_XZ, PLANAR_YZ, ROTATION, SCREW, TRANSLATION
from pliant.parts.rod.pseudo_rigid import PseudoRigid
from pliant.parts.rod.strains import held_strains
from pliant.parts.section.shapes import Table
from pliant.robot.robot import RobotSpec

WORLD = 0
"""The node of the world."""

Kind = Literal["hinge", "slide", "ball", "free"]


@dataclass(frozen=True)
class Joint:
    """A single joint. Its value is `scale` times the coordinate `q[q_at]`, whose rate is `v[v_at]`.

    axis: unit vector in the frame `at`, the pose of the joint in the frame that its link is placed in while the joints of the link
    are at zero. A ball has a quaternion and the angular velocity in the moved frame, a free joint a displacement in the axes of
    `at` before these.
    """

    name: str
    kind: Kind
    axis: np.ndarray
    at: np.ndarray
    q_at: int
    v_at: int
    scale: float = 1.0

    def parts(self) -> list[Joint]:
        """Slides and a ball for a free joint; other joints are returned unchanged."""
        if self.kind != "free":
            return [self]
        slides = [
            replace(self, name=f"{self.name}.{x}", kind="slide", axis=np.eye(3)[k], q_at=self.q_at + k, v_at=self.v_at + k)
            for k, x in enumerate("xyz")
        ]  # fmt: skip
        ball = replace(self, name=f"{self.name}.orientation", kind="ball", q_at=self.q_at + 3, v_at=self.v_at + 3)
        return [*slides, ball]


@dataclass(frozen=True)
class Link:
    """A rigid link: its node, its parent's node, its frame on the parent, its joints, and its pose in that frame at zero joint
    values. Mass [kg], centre of mass [m] and inertia about it [kg m^2] in its own axes."""

    name: str
    node: int
    parent: int
    placement: np.ndarray
    joints: tuple[Joint, ...]
    end: np.ndarray
    mass: float
    center: np.ndarray
    inertia: np.ndarray

    @property
    def pose(self) -> np.ndarray:
        """Pose in its parent at zero joint values."""
        return self.placement @ self.end


@dataclass(frozen=True)
class Shape:
    """Appearance of a link: a solid of `kind` with its sizes [m] (radius; radius and length along z; edge lengths)."""

    name: str
    node: int
    pose: np.ndarray
    kind: Literal["sphere", "cylinder", "capsule", "box", "ellipsoid"]
    size: tuple[float, ...]


@dataclass(frozen=True)
class RigidTree:
    """Links in an order in which parents come first, named frames (node and pose on it), shapes, gravity [m/s^2]."""

    title: str
    links: tuple[Link, ...]
    frames: Mapping[str, tuple[int, np.ndarray]]
    shapes: tuple[Shape, ...]
    gravity: np.ndarray

    @cached_property
    def joints(self) -> tuple[Joint, ...]:
        """All joints, with free joints not split."""
        return tuple(joint for link in self.links for joint in link.joints)

    @cached_property
    def by_rate(self) -> dict[int, Joint]:
        """Hinges and slides by the index of their rate in v."""
        found = (part for joint in self.joints for part in joint.parts())
        return {joint.v_at: joint for joint in found if joint.kind != "ball"}

    def link_names(self) -> dict[int, str]:
        """Names of the links by node."""
        return {link.node: link.name for link in self.links}

    def merged(self, needed: set[int]) -> RigidTree:
        """The same without links that have no mass, a single child, and nothing attached: their joints are moved to the child."""
        links = {link.node: link for link in self.links}
        for link in self.links:
            children = [child for child in links.values() if child.parent == link.node]
            own = links[link.node]
            if own.mass > 0 or len(children) != 1 or link.node in needed:
                continue
            child, before = children[0], own.end @ children[0].placement
            joints = tuple(replace(joint, at=before @ joint.at) for joint in child.joints)
            links[child.node] = replace(
                child, parent=own.parent, placement=own.placement, joints=own.joints + joints, end=before @ child.end
            )
            del links[link.node]
        return replace(self, links=tuple(links[link.node] for link in self.links if link.node in links))


def rigid_tree(eqs: Equations) -> RigidTree:
    """The links of a robot, at the values of its parameters in `eqs`. Raises ExportError, which names all joints that are not
    series of hinges, slides, balls and free joints."""
    model, constants = eqs.model, eqs.binding.constants
    reader = _Reader(model, constants)
    links = tuple(reader.links())
    if reader.refused:
        raise ExportError(
            f"{'; '.join(reader.refused)}: other programs have no counterpart",
            "write it as a `chain` of rotations about axes, or export C or an FMU",
        )
    frames = {
        name: (entry.node, _pose(constants[entry.constants : entry.constants + 12]))
        for name, entry in model.frames.items()
    }
    return RigidTree(model.spec.title, links, frames, tuple(_shapes(eqs, frames)), np.array(constants[:3]))


def quaternion(R: np.ndarray) -> np.ndarray:
    """Unit quaternion w, x, y, z of a rotation matrix."""
    x, y, z, w = scipy.spatial.transform.Rotation.from_matrix(R).as_quat()
    return np.array([w, x, y, z])


def moved(p: Sequence[float] | np.ndarray, R: np.ndarray | None = None) -> np.ndarray:
    """The pose at a position [m], with a rotation."""
    pose = np.eye(4)
    pose[:3, 3] = p
    if R is not None:
        pose[:3, :3] = R
    return pose


def _pose(numbers: np.ndarray) -> np.ndarray:
    return moved(numbers[9:12], np.reshape(numbers[:9], (3, 3), order="F"))


class _Reader:
    """Traverses the nodes of a system."""

    def __init__(self, model: Model, constants: np.ndarray) -> None:
        self.model, self.system, self.constants = model, model.system, constants
        self.names = {entry.q_at: entry.name for entry in model.coordinates}
        self.rods = {
            station.node: (name, k)
            for name, stations in model.rod_stations.items()
            for k, station in enumerate(stations)
            if k  # the first is the base of the rod
        }
        self.refused: list[str] = []

    def links(self) -> Iterator[Link]:
        named = self._link_names()
        for number, node in enumerate(self.system.nodes):
            if node is None:
                continue
            placement = _pose(self.constants[node.constants : node.constants + 12])
            joints, end = self._joints(number, node)
            yield Link(
                named[number], number, self.system.base(number), placement, tuple(joints), end, *self._mass(number)
            )

    def _link_names(self) -> dict[int, str]:
        """Name of each node: the first body on it, the rod and its link's number, or the coordinate that moves it."""
        names: dict[int, str] = {}
        for body in self.model.spec.bodies:
            if body in self.model.frames:
                names.setdefault(self.model.frames[body].node, body)
        for number, node in enumerate(self.system.nodes):
            if node is None or number in names:
                continue
            if number in self.rods:
                rod, k = self.rods[number]
                names[number] = f"{rod}.link[{k}]"
            else:
                coordinate = self.names.get(self.system.elements[node.element].q_at, f"node {number}")
                names[number] = f"{coordinate}.link"
        return names

    def _mass(self, number: int) -> tuple[float, np.ndarray, np.ndarray]:
        at = self.system.masses.get(number)
        if at is None or self.constants[at] == 0:
            return 0.0, np.zeros(3), np.zeros((3, 3))
        mass, *rest = self.constants[at : at + 10]
        center = np.array(rest[:3]) / mass
        xx, yy, zz, xy, xz, yz = rest[3:]
        about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return float(mass), center, about_origin - mass * (center @ center * np.eye(3) - np.outer(center, center))

    def _joints(self, number: int, node: Node) -> tuple[list[Joint], np.ndarray]:
        """The joints of a node, and its pose at zero joint values."""
        element, motion = self.system.elements[node.element], node.motion
        q, v = element.q_at, element.v_at
        own = self.constants[node.constants + 12 : node.constants + 12 + motion.constants]
        identity = np.eye(4)

        def single(kind: Kind, axis: np.ndarray, k: int, at: np.ndarray = identity, scale: float = 1.0) -> Joint:
            return Joint(self.names.get(q + k, f"coordinate {q + k}"), kind, axis, at, q + k, v + k, scale)

        if motion is FIXED:
            return [], identity
        if motion is SCREW and not (np.any(own[:3]) and np.any(own[3:])):
            return [single("hinge", own[3:], 0) if np.any(own[3:]) else single("slide", own[:3], 0)], identity
        if motion is ROTATION:
            return [single("ball", np.zeros(3), 0)], identity
        if motion is FREE:
            joint = self.names.get(q, "").rpartition(".")[0] or self.names.get(q, f"free {number}")
            return [Joint(joint, "free", np.zeros(3), identity, q, v)], identity
        if motion is TRANSLATION:
            return [single("slide", np.eye(3)[k], k) for k in range(3)], identity
        if motion in (PLANAR_XZ, PLANAR_YZ):
            along, normal = (0, 1) if motion is PLANAR_XZ else (1, 0)
            x, z, n = (np.eye(3)[k] for k in (along, 2, normal))
            return [single("slide", x, 0), single("slide", z, 1), single("hinge", n, 2)], identity
        rod = self.rods.get(number)
        if rod is not None and isinstance(model := self.model.compiled.rods[rod[0]].model, PseudoRigid):
            return _link_joints(model, self.model.compiled.rods[rod[0]].free_strains(), own, single)
        self.refused.append(f"'{self.names.get(q, f'node {number}')}' moves by '{motion.name}'")
        return [], identity


def _link_joints(
    model: PseudoRigid, free: tuple[int, ...], own: np.ndarray, single: object
) -> tuple[list[Joint], np.ndarray]:
    """Slides and turns of a link of a rod: its strains times its length, in the order of `rod.pseudo_rigid`."""
    length, held = float(own[0]), dict(zip(held_strains(free), own[1:], strict=False))
    joints, at = [], moved([0, 0, length / 2 if model.map == "midpoint" else length])
    for k in range(6):
        axis, kind = np.eye(3)[k % 3], "slide" if k < 3 else "hinge"
        if k in free:
            joints.append(single(kind, axis, free.index(k), at, length))  # type: ignore[operator]
        else:
            step = length * held.get(k, 0.0) * axis
            turned = scipy.spatial.transform.Rotation.from_rotvec(step).as_matrix()
            at = at @ (moved(step) if k < 3 else moved(np.zeros(3), turned))
    return joints, at @ moved([0, 0, length / 2]) if model.map == "midpoint" else at


# -- shapes ----------------------------------------------------------------------------------------------------------


def _shapes(eqs: Equations, frames: Mapping[str, tuple[int, np.ndarray]]) -> Iterator[Shape]:
    """Shapes of bodies, and a capsule for each link of a rod."""
    spec = eqs.model.compiled
    values = eqs.model.environment_with(eqs.given_parameters).value
    for name, body in spec.bodies.items():
        if body.shape is None or name not in frames:
            continue
        node, pose = frames[name]
        yield _body_shape(name, node, pose @ moved([values(x) for x in body.center_of_mass]), body.shape, values)
    for name, surface in spec.surfaces.items():
        if is_solid(surface) and surface.parent in frames:
            node, pose = frames[surface.parent]
            R, p = placement_matrices.pose(surface, values)
            pose = pose @ moved(np.array(p, dtype=float).ravel(), np.array(R, dtype=float))
            if surface.type in ("capsule", "cylinder"):
                direction = np.array(placement_matrices.direction(surface.axis, values), dtype=float).ravel()
                turn, _ = scipy.spatial.transform.Rotation.align_vectors([direction], [[0, 0, 1]])
                pose = pose @ moved(np.zeros(3), turn.as_matrix() if direction[2] < 1 else np.eye(3))
            kind: Any = surface.type
            yield Shape(name, node, pose, kind, _size(surface, values))
    for name, rod in spec.rods.items():
        stations = eqs.model.rod_stations[name]
        length = float(values(rod.length)) / (len(stations) - 1)
        radius = _radius(spec, rod.section[0], values)
        for k, station in enumerate(stations[1:], start=1):
            # a link represents the rod half-way to its neighbours
            end = length / 2 if k < len(stations) - 1 else 0.0
            middle = moved([0, 0, (end - length / 2) / 2])
            yield Shape(f"{name}[{k}]", station.node, middle, "capsule", (radius, end + length / 2))


def _body_shape(name: str, node: int, pose: np.ndarray, shape: Any, values: Callable[[Scalar], Any]) -> Shape:
    """The shape of a body, with its centre at a pose on a node."""
    if shape.type == "box":
        return Shape(name, node, pose, "box", tuple(float(values(x)) for x in shape.size))
    if shape.type == "sphere":
        return Shape(name, node, pose, "sphere", (float(values(shape.radius)),))
    if shape.type == "ellipsoid":
        return Shape(name, node, pose, "ellipsoid", tuple(2 * float(values(x)) for x in shape.semi_axes))
    length = float(values(shape.length))
    wide = getattr(shape, "radius", None) or getattr(shape, "outer_radius", None)
    radius = length / 50 if wide is None else float(values(wide))
    return Shape(name, node, pose @ moved(np.zeros(3), _along(shape.axis)), "cylinder", (radius, length))


def is_solid(surface: Any) -> bool:
    """Whether a surface has a counterpart in other programs: a sphere, capsule, box, ellipsoid, or cylinder with ends."""
    solids = ("sphere", "capsule", "box", "ellipsoid")
    return surface.type in solids or (surface.type == "cylinder" and surface.length is not None)


def _size(surface: Any, values: Callable[[Scalar], Any]) -> tuple[float, ...]:
    if surface.type == "box":
        return tuple(float(values(x)) for x in surface.size)
    if surface.type == "ellipsoid":
        return tuple(2 * float(values(x)) for x in surface.semi_axes)
    lengths = (surface.radius,) if surface.type == "sphere" else (surface.radius, surface.length)
    return tuple(float(values(x)) for x in lengths)


def _radius(spec: RobotSpec, section: str, values: Callable[[Scalar], Any]) -> float:
    """Half the smaller width of a section, or of the first one of a table [m]."""
    one = spec.sections[section]
    if isinstance(one, Table):
        return _radius(spec, one.stations[0].section, values)
    return float(min(one.half_sizes(values)))


def _along(axis: str) -> np.ndarray:
    """Rotation that takes z to an axis."""
    turns = {"x": ("y", np.pi / 2), "y": ("x", -np.pi / 2), "z": ("z", 0.0)}
    return scipy.spatial.transform.Rotation.from_euler(*turns[axis]).as_matrix()
