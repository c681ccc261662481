"""A robot in a pose as things in space: solids, soft rods, joints, springs and marks, in world coordinates [m]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pliant.joint import Cylindrical, Prismatic, Revolute, Universal
from pliant.link import Axial
from pliant.spec.body import Body, Box, Cylinder, SlenderRod, Sphere, Tube
from pliant.spec.placement import (
    Attachment,
    Axis,
    AxisRotation,
    EulerRotation,
    Placement,
    QuaternionRotation,
    Rotation,
    VectorRotation,
)
from pliant.view.rod_curve import RodCurve, rod_curve

if TYPE_CHECKING:
    from pliant.equations.equations import Equations, Values

Pose = tuple[np.ndarray, np.ndarray]
UNIT = {"x": np.array([1.0, 0, 0]), "y": np.array([0, 1.0, 0]), "z": np.array([0, 0, 1.0])}


@dataclass(frozen=True)
class Solid:
    """A body. `form` says how to draw `points`: two ends of a rod or cylinder, eight corners of a box, one centre.

    `radius` [m] is that of cylinders and balls; `arms` are pairs of points joined by thin lines, for frames and joints
    that the shape does not reach.
    """

    name: str
    form: Literal["rod", "cylinder", "box", "ball", "dot", "none"]
    points: np.ndarray
    radius: float = 0.0
    arms: tuple[tuple[np.ndarray, np.ndarray], ...] = ()
    center: np.ndarray = field(default_factory=lambda: np.zeros(3))


@dataclass(frozen=True)
class JointMark:
    """A joint.

    Attributes:
        kind: its type in the language.
        base, place, child: origins of the parent frame, of the joint in it, and of the child [m].
        axis: its (first) axis, if it has one.
        grounded: whether its parent is the world.
        spring: whether one of its coordinates has a spring.
        toward: from the child's origin to its centre of mass [m].
        behind: how far the child's shape reaches from its origin against the axis [m].
    """

    kind: str
    base: np.ndarray
    place: np.ndarray
    child: np.ndarray
    axis: np.ndarray | None
    grounded: bool
    spring: bool
    toward: np.ndarray
    behind: float = 0.0


@dataclass(frozen=True)
class LinkMark:
    """A link between two points."""

    kind: Literal["spring", "line", "beam"]
    ends: np.ndarray


@dataclass(frozen=True)
class Scene:
    """Everything that is drawn. `turns` and `slides` are the world directions of the joints' axes."""

    solids: tuple[Solid, ...]
    rods: tuple[RodCurve, ...]
    joints: tuple[JointMark, ...]
    links: tuple[LinkMark, ...]
    constraints: tuple[np.ndarray, ...]
    frames: dict[str, Pose]
    gravity: np.ndarray
    turns: tuple[np.ndarray, ...]
    slides: tuple[np.ndarray, ...]

    def plane_points(self) -> np.ndarray:
        """Points that have to lie in one plane for the mechanism to be planar, whatever its bodies' widths (n x 3)."""
        parts = [s.center[None] for s in self.solids]
        parts += [np.stack([j.place, j.child]) for j in self.joints]
        parts += [r.points for r in self.rods] + [m.ends for m in self.links] + list(self.constraints)
        parts += [p[None] for _, p in self.frames.values()]
        return np.concatenate(parts) if parts else np.zeros((1, 3))

    def outline_points(self) -> np.ndarray:
        """Points of everything, bodies with their corners (n x 3)."""
        parts = [self.plane_points()] + [_outline(s) for s in self.solids]
        return np.concatenate(parts)


def _outline(solid: Solid) -> np.ndarray:
    if solid.radius == 0:
        return solid.points
    offsets = solid.radius * np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1.0]])
    return (solid.points[:, None] + offsets).reshape(-1, 3)


def make_scene(eqs: Equations, q: np.ndarray, parameters: Values | None = None) -> Scene:
    """The scene of a robot at positions q."""
    return _Maker(eqs, q, parameters).scene()


class _Maker:
    def __init__(self, eqs: Equations, q: np.ndarray, parameters: Values | None) -> None:
        self.eqs, self.spec = eqs, eqs.model.spec
        environment = eqs.model.environment.with_values(parameters or {})
        self.value: Callable[[Any], float] = lambda scalar: float(environment.value(scalar))
        self.pose: dict[str, Pose] = {
            name: (motion.rotation, motion.position) for name, motion in eqs.frames(q, parameters=parameters).items()
        }
        self.nodes = eqs.engine.node_poses(q)

    def scene(self) -> Scene:
        spec = self.spec
        marks: dict[str, JointMark] = {}
        for name, joint in spec.joints.items():
            if joint.type != "free" and not _is_ground(joint.child):
                marks[name] = self.joint(joint)
        touched: dict[str, list[np.ndarray]] = {}
        for name, joint in spec.joints.items():
            mark = marks.get(name)
            if mark is not None:
                touched.setdefault(_owner(joint.child), []).append(mark.child)
                if not (mark.kind == "prismatic" and mark.spring):  # its spring reaches from body to body
                    touched.setdefault(_owner(joint.parent), []).append(mark.place)
        links, constraints = [], []
        for link in spec.links.values():
            ends = np.stack([self.attached(end)[1] for end in link.between])
            links.append(LinkMark(_link_kind(link), ends))
            for end, point in zip(link.between, ends, strict=True):
                touched.setdefault(_owner(end.frame), []).append(point)
        for constraint in spec.constraints.values():
            ends = np.stack([self.attached(end)[1] for end in constraint.between])
            constraints.append(ends)
            for end, point in zip(constraint.between, ends, strict=True):
                touched.setdefault(_owner(end.frame), []).append(point)
        bodies = [(name, body) for name, body in spec.bodies.items() if not _is_ground(name)]
        for name, body in bodies:
            touched.setdefault(name, []).extend(self.pose[f"{name}.{frame}"][1] for frame in body.frames)
        solids = {name: self.solid(name, body, touched.get(name, [])) for name, body in bodies}
        for name, mark in marks.items():
            marks[name] = replace(mark, behind=_behind(mark, solids[_owner(spec.joints[name].child)]))
        rods = [rod_curve(self.eqs, name, rod, self.pose, self.nodes, self.value) for name, rod in spec.rods.items()]
        return Scene(
            solids=tuple(solids.values()),
            rods=tuple(rods),
            joints=tuple(marks.values()),
            links=tuple(links),
            constraints=tuple(constraints),
            frames={
                name: pose
                for name, pose in self.pose.items()
                if "." in name.rpartition("/")[2] and not _is_ground(name)
            },
            gravity=np.array([self.value(x) for x in spec.world.gravity]),
            turns=tuple(a for m in marks.values() for a in _turns(m)),
            slides=tuple(a for m in marks.values() for a in _slides(m)),
        )

    # -- parts -------------------------------------------------------------------------------------------------------

    def joint(self, joint: Any) -> JointMark:
        rotation, place = self.compose(self.pose[joint.parent], joint)
        child = _owner(joint.child)
        axis = None
        if isinstance(joint, Revolute | Prismatic | Cylindrical):
            axis = rotation @ self.direction(joint.axis)
        elif isinstance(joint, Universal):
            axis = rotation @ self.direction(joint.axis1)
        elif joint.type == "planar":
            axis = rotation[:, 2]
        springs = [c for c in joint.coordinates().values() if getattr(c, "spring", None) not in (None, 0)]
        grounded = joint.parent == "world" or _is_ground(joint.parent)
        held = self.pose[joint.child][1]
        base = self.pose[joint.parent][1]
        return JointMark(joint.type, base, place, held, axis, grounded, bool(springs), self.center(child) - held)

    def solid(self, name: str, body: Body, touched: Sequence[np.ndarray]) -> Solid:
        rotation = self.pose[name][0]
        center = self.center(name)
        shape, value = body.shape, self.value
        arms = tuple((center, point) for point in touched if np.linalg.norm(point - center) > 1e-9)
        if shape is None:
            heavy = body.mass is not None and value(body.mass) > 0
            return Solid(name, "dot" if heavy else "none", center[None], 0.0, arms, center)
        if isinstance(shape, SlenderRod | Cylinder | Tube):
            half = rotation @ UNIT[shape.axis] * value(shape.length) / 2
            ends = np.stack([center - half, center + half])
            if isinstance(shape, SlenderRod):
                return Solid(name, "rod", ends, 0.0, arms, center)
            radius = value(shape.radius if isinstance(shape, Cylinder) else shape.outer_radius)
            return Solid(name, "cylinder", ends, radius, arms, center)
        if isinstance(shape, Box):
            signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
            corners = center + (signs * np.array([value(x) for x in shape.size]) / 2) @ rotation.T
            return Solid(name, "box", corners, 0.0, arms, center)
        assert isinstance(shape, Sphere)
        return Solid(name, "ball", center[None], value(shape.radius), arms, center)

    # -- places ------------------------------------------------------------------------------------------------------

    def center(self, body: str) -> np.ndarray:
        rotation, position = self.pose[body]
        return position + rotation @ np.array([self.value(x) for x in self.spec.bodies[body].center_of_mass])

    def attached(self, item: Attachment) -> Pose:
        return self.compose(self.pose[item.frame], item)

    def compose(self, pose: Pose, placement: Placement) -> Pose:
        rotation, position = pose
        turned = rotation
        for item in placement.rotation:
            turned = turned @ self.rotation(item)
        return turned, position + rotation @ np.array([self.value(x) for x in placement.position])

    def direction(self, axis: Axis) -> np.ndarray:
        if isinstance(axis, str):
            return UNIT[axis]
        vector = np.array([self.value(x) for x in axis])
        return np.asarray(vector / np.linalg.norm(vector))

    def rotation(self, item: Rotation) -> np.ndarray:
        from scipy.spatial.transform import Rotation as Turn

        if isinstance(item, AxisRotation):
            turn = Turn.from_rotvec(self.direction(item.axis) * self.value(item.angle))
        elif isinstance(item, VectorRotation):
            turn = Turn.from_rotvec([self.value(x) for x in item.vector])
        elif isinstance(item, QuaternionRotation):
            w, x, y, z = (self.value(k) for k in item.quaternion)
            turn = Turn.from_quat([x, y, z, w])
        else:
            assert isinstance(item, EulerRotation)
            turn = Turn.from_euler(item.order.upper(), [self.value(x) for x in item.euler])
        return np.asarray(turn.as_matrix())


def _owner(frame: str) -> str:
    """The body or rod that a frame belongs to."""
    return frame.partition(".")[0]


def _is_ground(name: str) -> bool:
    """Whether a body stands for the world of an attached model."""
    return _owner(name).rpartition("/")[2] == "world"


def _link_kind(link: Any) -> Literal["spring", "line", "beam"]:
    if isinstance(link, Axial):
        return "line" if link.spring is None else "spring"
    return "beam"


def _behind(mark: JointMark, child: Solid) -> float:
    return 0.0 if mark.axis is None else float(max(0.0, ((mark.child - _outline(child)) @ mark.axis).max()))


def _turns(mark: JointMark) -> list[np.ndarray]:
    if mark.kind in ("weld", "prismatic"):
        return []
    if mark.kind in ("revolute", "cylindrical", "planar") and mark.axis is not None:
        return [mark.axis]
    return list(UNIT.values())


def _slides(mark: JointMark) -> list[np.ndarray]:
    return [mark.axis] if mark.kind in ("prismatic", "cylindrical") and mark.axis is not None else []
