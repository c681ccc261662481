"""A robot in a pose as a `Scene`, from which pictures, films, the live page and reports are drawn."""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Any

import casadi as ca
import numpy as np

from pliant.analysis.motion.result import Result
from pliant.analysis.numerics.state import assemble
from pliant.analysis.result import AnalysisResult, Poses
from pliant.engine.contacts import Contacts, contacts_at
from pliant.engine.equations import Equations, Values
from pliant.engine.frames import frame_motion
from pliant.engine.kernel import route_kernels
from pliant.engine.model.model import Model
from pliant.language.placement import Attachment, Axis, Placement
from pliant.language.scalar import AS_AT_START
from pliant.parts.assembly import placement_matrices
from pliant.parts.body import Body, Box, Cylinder, Ellipsoid, SlenderRod, Sphere, Tube
from pliant.parts.external_load import Wrench
from pliant.parts.joint import Cylindrical, Planar, Prismatic, Revolute, Universal
from pliant.parts.joint.coordinate import LengthCoordinate
from pliant.parts.link import AXIAL, ROPE, Axial, Beam, driven_rope_force, rope_force
from pliant.parts.magnet import Coil, Dipole, MagneticBody, MagneticRod, UniformField
from pliant.parts.mesh import MeshBase
from pliant.parts.surface import (
    BoxSurface,
    CapsuleSurface,
    ConvexSurface,
    CylinderSurface,
    EllipsoidSurface,
    HeightFieldSurface,
    MeshSurface,
    PlaneSurface,
    SphereSurface,
    SurfaceBase,
)
from pliant.parts.surface.shapes import TriangleSurface
from pliant.parts.surface.triangles import BOX, BOX_FACES, Triangles, ball
from pliant.robot.robot import RobotSpec
from pliant.show.marks import (
    ChosenPlaces,
    JointMark,
    LinkMark,
    LoadMark,
    MagnetMark,
    MeshMark,
    Pose,
    PushMark,
    Scene,
    Solid,
    SolidForm,
    SurfaceForm,
    SurfaceMark,
    TendonMark,
    coarser,
    outline,
    rod_curve,
)
from pliant.show.outlines import ring


@dataclass(frozen=True)
class SceneLayout:
    """Thresholds of what a scene shows."""

    rounding: float = 1e-14
    """Relative error of distances."""
    shorter: float = 1e-6
    """An edge is slack if it is shorter than at rest by this fraction; initially a net is at rest, up to round-off."""
    far_link: float = 5.0
    """Links that are longer than this many times the robot's size are drawn short."""
    short_link: float = 0.3
    """Their drawn length, relative to the robot's size."""


LAYOUT = SceneLayout()


UNIT = {"x": np.array([1.0, 0, 0]), "y": np.array([0, 1.0, 0]), "z": np.array([0, 0, 1.0])}


def make_scene(
    eqs: Equations, q: np.ndarray, parameters: Values | None = None, *, inputs: Values | None = None, t: float = 0.0,
    contacts: Contacts | None = None,
) -> Scene:  # fmt: skip
    """The scene of a robot at positions q and time t [s], which loads and inputs may depend on; contacts as in `SceneMaker.at`."""
    return SceneMaker(eqs, parameters, inputs=inputs).at(q, t, contacts)


class SceneMaker:
    """Creates scenes of one robot in many poses; numbers of the model are evaluated once.

    poses: positions q between which the robot moves, by default the initial ones. Parts of the ground that have no place in the
    model, such as the ends of rails, are placed by them, and are the same in all scenes.
    """

    def __init__(
        self, eqs: Equations, parameters: Values | None = None, *, inputs: Values | None = None,
        poses: Sequence[np.ndarray] = (),
    ) -> None:  # fmt: skip
        self.eqs, self.spec, self.poses = eqs, eqs.model.spec, poses
        self.travels: dict[str, tuple[float, float]] = {}
        self.drives: dict[str, float] = {}
        self.swept: np.ndarray | None = None
        self.chosen = ChosenPlaces()
        self.parameters, self.inputs = dict(parameters or {}), dict(inputs or {})
        self.given = eqs.given_parameters | self.parameters
        self.environment = eqs.model.environment.with_values(self.given)
        self.value: Callable[[Any], float] = lru_cache(None)(lambda scalar: float(self.environment.value(scalar)))
        self.signal: Callable[[Any], float] = self.value
        self.looks = {
            name: SURFACES[type(surface)](surface, self.value) for name, surface in self.spec.surfaces.items()
        }
        self.nets = [MeshIndices(eqs.model, name, mesh) for name, mesh in self.spec.meshes.items()]
        # nodes of meshes have thousands of frames: show only those with attached parts
        attached = {frame for part in _attaching(self.spec) for frame in part}
        self.named = tuple(f for f in eqs.frame_names if _owner(f) not in self.spec.meshes or f in attached)
        self.pose: dict[str, Pose] = {}
        self.nodes: Pose = (np.zeros((0, 3, 3)), np.zeros((0, 3)))
        self.signals, self.signal_rates = np.zeros(0), np.zeros(0)
        self.contacts = Contacts()
        shapes = eqs.model.system.contacts.shapes
        self.pushing = {n for n, x in self.spec.links.items() if isinstance(x, Axial) and x.direction == "compression"}
        self.fixed = {shape.name for shape in shapes if all(vertex.node == 0 for vertex in shape.vertices)}

    def at(self, q: np.ndarray, t: float = 0.0, contacts: Contacts | None = None) -> Scene:
        """The scene at positions q and time t [s]; contacts: the current ones, by default those at zero velocity."""
        if self.swept is None:
            self._refer()
        self._place(q, t, contacts)
        return with_short_links(self._scene(), self.pushing)

    def _refer(self) -> None:
        """Determine the travel of slides, the direction of their drives, and the space that the robot needs in all `poses`."""
        self.swept = np.zeros((0, 3))
        slides = [name for name, joint in self.spec.joints.items() if isinstance(joint, Prismatic | Cylindrical)]
        if not slides:
            return
        # inputs may move the robot: the ground is where the model begins, whatever their values in a scene
        here = self.eqs.at(parameters=self.parameters, within_limits=False)
        points = []
        for q in self.poses or [here.initial_state().q]:
            self._place(q, 0.0, Contacts())
            for name in slides:
                mark = self.joint(name, self.spec.joints[name])
                assert mark.axis is not None
                way = float((mark.child - mark.place) @ mark.axis)
                low, high = self.travels.get(name, (way, way))
                self.travels[name] = min(low, way), max(high, way)
                if mark.drive is not None:
                    self.drives.setdefault(name, float(mark.drive @ mark.axis))
            points.append(with_short_links(self._scene(), self.pushing).outline_points())
        self.swept = np.concatenate(points)
        if not self.poses:
            for name in slides:
                self._reflect(name)

    def _reflect(self, name: str) -> None:
        """Extend the travel of a slide with a spring, which is only that of one pose, to the other side of the spring's rest."""
        low, high = self.travels[name]
        for coordinate in self.spec.joints[name].coordinates().values():
            spring = coordinate.spring if isinstance(coordinate, LengthCoordinate) else None
            if spring is not None and spring.rest != AS_AT_START:
                rest = self.value(spring.rest)
                self.travels[name] = min(low, 2 * rest - high), max(high, 2 * rest - low)

    def _place(self, q: np.ndarray, t: float, contacts: Contacts | None) -> None:
        here = self.eqs.at(inputs=self.inputs, parameters=self.parameters, within_limits=False)
        bound = here.binding
        moved = frame_motion(self.eqs.model, bound.program.calls, bound, q, None, None, self.named)
        self.pose = {name: (motion.rotation, motion.position) for name, motion in moved.items()}
        self.nodes = bound.node_poses(np.asarray(q, dtype=float))
        self.signals, self.signal_rates = bound.signals(t)[1], bound.signal_rates(t)[0]
        self.q, self.theta = np.asarray(q, dtype=float), bound.constants
        if self.spec.magnets:
            now = self.environment.with_values(self.given | here.input_values(t))
            self.signal = lambda scalar: float(now.signal(scalar, t))
        self.contacts = contacts_at(bound, t, self.q, np.zeros(bound.nv)) if contacts is None else contacts

    def _scene(self) -> Scene:
        spec = self.spec
        marks = {
            name: self.joint(name, joint)
            for name, joint in spec.joints.items()
            if joint.type != "free" and not _is_ground(joint.child)
        }
        link_ends, constraints = (
            {name: np.stack([self.attached(end)[1] for end in part.between]) for name, part in parts.items()}
            for parts in (spec.links, spec.constraints)
        )
        links = [LINKS[type(link)](self, name, link, link_ends[name]) for name, link in spec.links.items()]
        touched = self._touched(marks, link_ends, constraints)
        solids = {
            name: self.solid(name, body, touched[name]) for name, body in spec.bodies.items() if not _is_ground(name)
        }
        for name, mark in marks.items():
            marks[name] = replace(mark, behind=_behind(mark, solids[_owner(spec.joints[name].child)]))
        rods = [
            rod_curve(self.eqs, name, rod, self.pose, self.nodes, self.value, self.q, self.theta, self.chosen)
            for name, rod in spec.rods.items()
        ]
        return Scene(
            solids=tuple(solids.values()),
            rods=tuple(rods),
            joints=tuple(marks.values()),
            links=tuple(links),
            tendons=tuple(self.tendon(name) for name in spec.tendons),
            loads=tuple(self.load(name, load) for name, load in spec.loads.items() if isinstance(load, Wrench)),
            constraints=tuple(constraints.values()),
            frames={
                name: pose
                for name, pose in self.pose.items()
                if "." in name.rpartition("/")[2] and not _is_ground(name) and _owner(name) not in spec.meshes
            },
            gravity=np.array([self.value(x) for x in spec.world.gravity]),
            turns=tuple(a for m in marks.values() for a in _turns(m)),
            slides=tuple(a for m in marks.values() for a in _slides(m)),
            meshes=tuple(net.mark(self.nodes, self.theta) for net in self.nets),
            surfaces=(*(self.surface(name, surface) for name, surface in spec.surfaces.items()), *self.water()),
            pushes=tuple(self.pushes()),
            magnets=tuple(
                MAGNETS[type(magnet)](self, name, magnet)
                for name, magnet in spec.magnets.items()
                if not isinstance(magnet, MagneticRod)
            ),
            swept=np.zeros((0, 3)) if self.swept is None else self.swept,
        )

    def _touched(
        self,
        marks: Mapping[str, JointMark],
        link_ends: Mapping[str, np.ndarray],
        constraint_ends: Mapping[str, np.ndarray],
    ) -> Mapping[str, list[np.ndarray]]:
        """The points [m] of each body at which parts are attached to it: joints, links, constraints, and its frames."""
        spec = self.spec
        touched: dict[str, list[np.ndarray]] = defaultdict(list)
        for name, mark in marks.items():
            joint = spec.joints[name]
            touched[_owner(joint.child)].append(mark.child)
            if not (mark.kind == "prismatic" and mark.spring):  # its spring reaches from body to body
                touched[_owner(joint.parent)].append(mark.place)
        for parts, ends in ((spec.links, link_ends), (spec.constraints, constraint_ends)):
            for name, points in ends.items():
                for end, point in zip(parts[name].between, points, strict=True):
                    touched[_owner(end.frame)].append(point)
        for name, body in spec.bodies.items():
            if not _is_ground(name):
                touched[name].extend(self.pose[f"{name}.{frame}"][1] for frame in body.frames)
        return touched

    # -- parts -------------------------------------------------------------------------------------------------------

    def joint(self, name: str, joint: Any) -> JointMark:
        rotation, place = self.compose(self.pose[joint.parent], joint)
        child = _owner(joint.child)
        own = JOINT_AXES.get(type(joint))
        axis = None if own is None else rotation @ self.direction(own(joint))
        springs = [c for c in joint.coordinates().values() if getattr(c, "spring", None) not in (None, 0)]
        grounded = joint.parent == "world" or _is_ground(joint.parent)
        held = self.pose[joint.child][1]
        base = self.pose[joint.parent][1]
        mark = JointMark(joint.type, base, place, held, axis, grounded, bool(springs), self.center(child) - held)
        driven = any(getattr(c, "motion", None) is not None for c in joint.coordinates().values())
        if driven and axis is not None:
            mark = replace(mark, drive=self.drives[name] * axis if name in self.drives else self.outward(held, axis))
        return replace(mark, travel=self.travels.get(name, (0.0, 0.0)))

    def outward(self, place: np.ndarray, axis: np.ndarray) -> np.ndarray:
        """The direction along an axis that points away from the middle of the robot."""
        middle = np.mean([position for _, position in self.pose.values()], axis=0)
        return axis if (place - middle) @ axis > 0 else -axis

    def solid(self, name: str, body: Body, touched: Sequence[np.ndarray]) -> Solid:
        center = self.center(name)
        arms = tuple((center, point) for point in touched if np.linalg.norm(point - center) > 1e-12)
        if body.shape is None:
            heavy = body.mass is not None and self.value(body.mass) > 0
            return Solid(name, "dot" if heavy else "none", center[None], 0.0, arms, center)
        form, points, radius = SHAPES[type(body.shape)](body.shape, self.value)
        return Solid(name, form, center + points @ self.pose[name][0].T, radius, arms, center)

    def tendon(self, name: str) -> TendonMark:
        route = self.eqs.model.system.routes[self.eqs.model.routes[name]]
        nodes = list(route.nodes)
        places = self.theta[route.constants : route.law_constants].reshape(-1, 3)
        points = self.nodes[1][nodes] + np.einsum("nij,nj->ni", self.nodes[0][nodes], places)
        length = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
        law = self.theta[route.law_constants : route.law_constants + route.kind.constants]
        signals = slice(route.signals, route.signals + route.kind.signals)
        answer = route_kernels(route.kind).functions[0](
            length, 0.0, law, self.signals[signals], self.signal_rates[signals]
        )
        return TendonMark(name, points, float(answer[0]) <= 0)

    def load(self, name: str, load: Wrench) -> LoadMark:
        rotation, position = self.pose[load.frame]
        axes = self.pose[load.expressed_in][0]
        first = self.eqs.model.system.frame_forces[self.eqs.model.load_forces[name]].signals
        force, moment = self.signals[first : first + 3], self.signals[first + 3 : first + 6]
        point = position + rotation @ np.array([self.value(x) for x in load.position])
        return LoadMark(name, point, axes @ force, axes @ moment)

    def placed(self, thing: Dipole | Coil) -> Pose:
        """Pose of a magnet that is placed on a frame."""
        return self.compose(self.pose[thing.frame], thing)

    def surface(self, name: str, surface: SurfaceBase) -> SurfaceMark:
        rotation, place = self.compose(self.pose[surface.parent], surface)
        moves = surface.parent != "world" and not _is_ground(surface.parent)
        form, axis, radius, half_length, solid = self.looks[name]
        return SurfaceMark(
            name, form, place, rotation @ self.direction(axis), radius, half_length, moves,
            place + solid.points @ rotation.T, solid.faces, _owner(surface.parent),
        )  # fmt: skip

    def water(self) -> Iterator[SurfaceMark]:
        """The free surface of the fluid, if there is one."""
        world = self.eqs.model.spec.world
        if world.fluid is not None and world.fluid.surface is not None:
            gravity = np.array([self.value(x) for x in world.gravity])
            if not np.any(gravity):
                return
            up = -gravity / np.linalg.norm(gravity)
            yield SurfaceMark("fluid", "water", self.value(world.fluid.surface) * up, up)

    def pushes(self) -> Iterator[PushMark]:
        """Forces of contacts, on the first of two parts unless that is fixed to the world. Parts that only touch have none,
        whatever rounding makes of their gap."""
        found, fixed = self.contacts, self.fixed
        touching = LAYOUT.rounding * float(np.max([np.abs(position).max() for _, position in self.pose.values()]))
        for key, (a, b), place, force, gap in zip(
            found.rows[:, 0], found.pairs, found.place, found.force, found.gap, strict=True
        ):
            if abs(gap) > touching:
                yield PushMark(int(key), place, -force if a in fixed and b not in fixed else force)

    # -- places ------------------------------------------------------------------------------------------------------

    def center(self, body: str) -> np.ndarray:
        rotation, position = self.pose[body]
        return position + rotation @ np.array([self.value(x) for x in self.spec.bodies[body].center_of_mass])

    def attached(self, item: Attachment) -> Pose:
        return self.compose(self.pose[item.frame], item)

    def compose(self, pose: Pose, placement: Placement) -> Pose:
        rotation, position = pose
        turned, moved = (np.asarray(ca.DM(part)) for part in placement_matrices.pose(placement, self.value))
        return rotation @ turned, position + rotation @ moved.ravel()

    def direction(self, axis: Axis) -> np.ndarray:
        return np.array([float(x) for x in placement_matrices.direction(axis, self.value)])


def _attaching(spec: RobotSpec) -> Iterator[tuple[str, ...]]:
    """Frames that joints, rods, links, constraints, loads, magnets and surfaces are attached to."""
    for joint in spec.joints.values():
        yield joint.parent, joint.child
    for rod in spec.rods.values():
        yield (rod.parent,)
    for pair in (*spec.links.values(), *spec.constraints.values()):
        yield tuple(end.frame for end in pair.between)
    for load in spec.loads.values():
        if isinstance(load, Wrench):
            yield load.frame, load.expressed_in
    for magnet in spec.magnets.values():
        if isinstance(magnet, Dipole | Coil | UniformField):
            yield (magnet.frame,)
    for surface in spec.surfaces.values():
        yield (surface.parent,)


def _owner(frame: str) -> str:
    """The body or rod that a frame belongs to."""
    return frame.partition(".")[0]


def _is_ground(name: str) -> bool:
    """Whether a body is the world of an attached model."""
    return _owner(name).rpartition("/")[2] == "world"


def _behind(mark: JointMark, child: Solid) -> float:
    return 0.0 if mark.axis is None else float(max(0.0, ((mark.child - outline(child)) @ mark.axis).max()))


def _turns(mark: JointMark) -> list[np.ndarray]:
    if mark.kind in ("weld", "prismatic"):
        return []
    if mark.kind in ("revolute", "cylindrical", "planar") and mark.axis is not None:
        return [mark.axis]
    return list(UNIT.values())


def _slides(mark: JointMark) -> list[np.ndarray]:
    return [mark.axis] if mark.kind in ("prismatic", "cylindrical") and mark.axis is not None else []


# -- appearance of each type ------------------------------------------------------------------------------------------

Value = Callable[[Any], float]

JOINT_AXES: dict[type, Callable[[Any], Axis]] = {
    Revolute: lambda joint: joint.axis,
    Prismatic: lambda joint: joint.axis,
    Cylindrical: lambda joint: joint.axis,
    Universal: lambda joint: joint.axis1,
    Planar: lambda joint: "z",
}
"""The displayed axis of a joint, in its own axes; other types have none."""


def _between_ends(shape: Any, value: Value) -> np.ndarray:
    half = UNIT[shape.axis] * value(shape.length) / 2
    return np.stack([-half, half])


def _corners(box: Box, value: Value) -> np.ndarray:
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return np.asarray(signs * np.array([value(x) for x in box.size]) / 2)


SHAPES: dict[type, Callable[[Any, Value], tuple[SolidForm, np.ndarray, float]]] = {
    SlenderRod: lambda shape, value: ("rod", _between_ends(shape, value), 0.0),
    Cylinder: lambda shape, value: ("cylinder", _between_ends(shape, value), value(shape.radius)),
    Tube: lambda shape, value: ("cylinder", _between_ends(shape, value), value(shape.outer_radius)),
    Box: lambda shape, value: ("box", _corners(shape, value), 0.0),
    Sphere: lambda shape, value: ("ball", np.zeros((1, 3)), value(shape.radius)),
    Ellipsoid: lambda shape, value: ("ellipsoid", np.diag([value(axis) for axis in shape.semi_axes]), 0.0),
}
"""Form, points in the body's axes from its centre (n x 3) [m] and radius [m] of a `Solid`."""

Look = tuple[SurfaceForm, Axis, float, float, Triangles]
NO_FACES = Triangles(np.zeros((0, 3)), np.zeros((0, 3), dtype=int))


def _triangles(surface: TriangleSurface, value: Value) -> Look:
    solid = coarser(surface.triangles)
    return "faces", "z", 0.0, 0.0, Triangles(solid.points * value(surface.scale), solid.faces)


SURFACES: dict[type, Callable[[Any, Value], Look]] = {
    PlaneSurface: lambda surface, value: ("plane", surface.normal, 0.0, 0.0, NO_FACES),
    SphereSurface: lambda surface, value: ("capsule", "z", value(surface.radius), 0.0, NO_FACES),
    CapsuleSurface: lambda surface, value: (
        "capsule", surface.axis, value(surface.radius), value(surface.length) / 2, NO_FACES,
    ),
    CylinderSurface: lambda surface, value: (
        "cylinder", surface.axis, value(surface.radius), 0.0 if surface.length is None else value(surface.length) / 2, NO_FACES,
    ),
    BoxSurface: lambda surface, value: (
        "faces", "z", 0.0, 0.0, Triangles(BOX * [value(x) / 2 for x in surface.size], BOX_FACES),
    ),
    EllipsoidSurface: lambda surface, value: (
        "faces", "z", 0.0, 0.0, Triangles(ball().points * [value(x) for x in surface.semi_axes], ball().faces),
    ),
    ConvexSurface: _triangles,
    MeshSurface: _triangles,
    HeightFieldSurface: _triangles,
}  # fmt: skip
"""Form, axis or normal, radius [m], half length [m] and triangles of a `SurfaceMark`, in the surface's own axes."""


def _axial(maker: SceneMaker, name: str, link: Axial, ends: np.ndarray) -> LinkMark:
    slack = False
    if link.direction != "both":
        force = maker.eqs.model.system.frame_forces[maker.eqs.model.link_forces[name]]
        rest = maker.theta[force.constants + AXIAL.at["rest"]]
        longer = float(np.linalg.norm(ends[1] - ends[0])) > rest
        slack = longer != (link.direction == "tension")
    return LinkMark(name, "line" if link.spring is None else "spring", ends, slack)


def _beam(maker: SceneMaker, name: str, link: Beam, ends: np.ndarray) -> LinkMark:
    return LinkMark(name, "beam", ends)


LINKS: dict[type, Callable[[SceneMaker, str, Any, np.ndarray], LinkMark]] = {Axial: _axial, Beam: _beam}
"""The mark of a link between two points (2 x 3) [m]."""


def _unit(vector: np.ndarray) -> np.ndarray:
    """A vector of length one, or zero."""
    length = np.linalg.norm(vector)
    return vector / length if length > 0 else 0.0 * vector


def _dipole(maker: SceneMaker, name: str, magnet: Dipole) -> MagnetMark:
    rotation, place = maker.placed(magnet)
    moment = _unit(np.array([maker.signal(x) for x in magnet.moment]))
    return MagnetMark(name, place, rotation @ moment, is_dipole=True)


def _magnetic_body(maker: SceneMaker, name: str, magnet: MagneticBody) -> MagnetMark:
    given = magnet.remanence or magnet.magnetization or ()
    along = maker.pose[magnet.body][0] @ _unit(np.array([maker.value(x) for x in given]))
    return MagnetMark(name, maker.center(magnet.body), along, is_dipole=True)


def _coil(maker: SceneMaker, name: str, coil: Coil) -> MagnetMark:
    rotation, place = maker.placed(coil)
    axis, current = rotation @ maker.direction(coil.axis), maker.signal(coil.current)
    turns = ring(place, axis, maker.value(coil.radius))
    return MagnetMark(name, place, np.sign(current) * axis, np.concatenate([turns, turns[:1]]))


def _uniform(maker: SceneMaker, name: str, uniform: UniformField) -> MagnetMark:
    rotation, place = maker.pose[uniform.frame]
    return MagnetMark(name, place, rotation @ _unit(np.array([maker.signal(x) for x in uniform.flux_density])))


MAGNETS: dict[type, Callable[[SceneMaker, str, Any], MagnetMark]] = {
    Dipole: _dipole,
    MagneticBody: _magnetic_body,
    Coil: _coil,
    UniformField: _uniform,
}
"""The mark of a magnet; magnetized rods have none."""


class MeshIndices:
    """Indices of a mesh's nodes and ropes in the tables of a model, determined once."""

    def __init__(self, model: Model, name: str, mesh: MeshBase) -> None:
        self.name, self.edges, self.held = name, mesh.lattice.edges, mesh.held_nodes
        entries = [model.frames[f"{name}.n{i + 1}"] for i in range(len(mesh.lattice.shares))]
        self.nodes = np.array([entry.node for entry in entries])
        # a placement is nine numbers of a rotation and three of a position
        self.places = np.array([entry.constants for entry in entries])[:, None] + np.arange(9, 12)
        kinds = (rope_force(), driven_rope_force(with_input=False), driven_rope_force(with_input=True))
        ropes = [f.constants for f in model.system.frame_forces if f.source == name and f.kind in kinds]
        # between two points of one body there is no rope
        apart = np.flatnonzero(self.nodes[self.edges[:, 0]] != self.nodes[self.edges[:, 1]])
        self.roped: np.ndarray = apart if ropes else apart[:0]
        self.ropes = np.array(ropes, dtype=int)
        assert len(self.roped) == len(self.ropes), "a membrane has a rope on every edge"

    def mark(self, poses: Pose, theta: np.ndarray) -> MeshMark:
        """The mesh for these poses of the model's nodes and these constants."""
        rotations, positions = poses
        points = positions[self.nodes] + np.einsum("nij,nj->ni", rotations[self.nodes], theta[self.places])
        ends = points[self.edges[self.roped]]
        lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
        pulls_only = theta[self.ropes + ROPE.at["direction"]] != 0
        slack = self.roped[pulls_only & (lengths < (1 - LAYOUT.shorter) * theta[self.ropes + ROPE.at["rest"]])]
        return MeshMark(self.name, points, self.edges, self.held, slack)


def with_short_links(scene: Scene, pushing: Collection[str]) -> Scene:
    """The scene with only the ends of very long links that push: otherwise the picture would show the links, and a small robot.

    pushing: names of the links that can only push.
    """
    if not pushing:
        return scene
    parts = [outline(solid) for solid in scene.solids] + [rod.points for rod in scene.rods]
    parts += [mesh.nodes for mesh in scene.meshes] + [link.ends for link in scene.links if link.name not in pushing]
    points = np.concatenate(parts) if parts else np.zeros((1, 3))
    middle, size = 0.5 * (points.min(axis=0) + points.max(axis=0)), float(np.ptp(points, axis=0).max())
    links, far = [], []
    for link in scene.links:
        far_end = int(np.argmax(np.linalg.norm(link.ends - middle, axis=1)))
        way, near = link.ends[far_end] - link.ends[1 - far_end], link.ends[1 - far_end]
        length = float(np.linalg.norm(way))
        if link.name not in pushing or size == 0 or length < LAYOUT.far_link * size:
            links.append(link)
            continue
        far.append(link.ends[far_end])
        ends = link.ends.copy()
        ends[far_end] = near + LAYOUT.short_link * size / length * way
        links.append(replace(link, ends=ends))
    if not far:
        return scene

    def is_near(point: np.ndarray) -> bool:
        return min(float(np.linalg.norm(point - end)) for end in far) > 1e-9 * size

    return replace(
        scene,
        links=tuple(links),
        frames={name: pose for name, pose in scene.frames.items() if is_near(pose[1])},
        solids=tuple(replace(s, arms=tuple(arm for arm in s.arms if is_near(arm[1]))) for s in scene.solids),
    )


@dataclass(frozen=True)
class ClipLayout:
    """Size and speed of moving pictures."""

    most_frames: int = 1200
    """Maximum number of frames: longer runs are shown at evenly spaced saved times."""
    most_edges: int = 1_000_000
    """Maximum number of edges of meshes in all frames together: such a page has about 40 MB."""
    most_slides: int = 12
    """Maximum number of coordinates of slides whose extremes are drawn."""


CLIPS = ClipLayout()


@dataclass(frozen=True)
class Clip:
    """Scenes at increasing times [s].

    Attributes:
        name: description.
        times: of the scenes [s].
        scenes: one for each time.
        loops: whether it starts again at its end.
        words: shown instead of the time, such as a frequency.
        captions: shown instead of the time, one for each scene.
    """

    name: str
    times: np.ndarray
    scenes: tuple[Scene, ...]
    loops: bool = False
    words: str = ""
    captions: tuple[str, ...] = ()


def run_clip(eqs: Equations, run: Result, *, name: str = "motion", most: int = CLIPS.most_frames) -> Clip:
    """A simulated run, at up to `most` times, fewer for large meshes."""
    chosen = spread_indices(run.time, min(most, most_frames(eqs)))
    return Clip(name, run.time[chosen] - run.time[0], tuple(run_scenes(eqs, run, chosen)))


def most_frames(eqs: Equations) -> int:
    """Number of frames of a robot on one page: fewer for large meshes, whose edges move individually."""
    edges = sum(len(mesh.lattice.edges) for mesh in eqs.model.spec.meshes.values())
    return max(2, min(CLIPS.most_frames, CLIPS.most_edges // max(edges, 1)))


def run_maker(eqs: Equations, run: Result) -> SceneMaker:
    """Creates the scenes of a run, whose rails and mounts are the same at all its times."""
    return SceneMaker(eqs, parameters_of_run(eqs, run), poses=_extremes(eqs, run.q))


def run_scenes(eqs: Equations, run: Result, chosen: Iterable[int], maker: SceneMaker | None = None) -> Iterator[Scene]:
    """Scenes of a run at some of its saved times, with the active parameters and inputs. maker: that of `run_maker`, if there is
    one."""
    spec = eqs.model.spec
    # inputs are visible only in loads and tendons; without these they need not be evaluated
    inputs = run.inputs if spec.loads or spec.tendons or spec.magnets else {}
    q, times, touching = run.q, run.time, run.contacts
    maker = run_maker(eqs, run) if maker is None else maker
    for k in chosen:
        maker.inputs = {name: float(values[k]) for name, values in inputs.items() if name in eqs.inputs}
        yield maker.at(q[k], float(times[k]), touching.sample(k) if touching.names else None)


def _extremes(eqs: Equations, q: np.ndarray) -> list[np.ndarray]:
    """Poses among those of a run (times x coordinates): the first, and those at the ends of the travel of each slide."""
    columns = [c.q_at for c in eqs.model.coordinates if isinstance(c.spec, LengthCoordinate)][: CLIPS.most_slides]
    rows = {0, *(int(f(q[:, k])) for k in columns for f in (np.argmin, np.argmax))} if len(q) else set()
    return [q[k] for k in sorted(rows)]


def parameters_of_run(eqs: Equations, run: Result) -> dict[str, float]:
    """The parameters of a result, as far as these equations accept them."""
    known = set(eqs.parameters) - eqs.model.structural
    return {
        name: float(value) for name, value in json.loads(run.recorded.attributes["parameters"]).items() if name in known
    }


def spread_indices(times: np.ndarray, most: int) -> np.ndarray:
    """Indices of all times, or of `most` of them at nearly equal distances, including the first and the last."""
    if len(times) <= most:
        return np.arange(len(times))
    wanted = np.linspace(times[0], times[-1], most)
    return np.unique(np.clip(np.searchsorted(times, wanted - 1e-12 * abs(times[-1])), 0, len(times) - 1))


def start_clip(eqs: Equations, *, name: str = "start") -> Clip:
    """The initial pose, moved onto its constraints."""
    start = eqs.initial_state()
    made = assemble(eqs, eqs.binding, 0.0, start.q, start.v, start.given)
    return Clip(name, np.zeros(1), (SceneMaker(eqs).at(made.q),))


def result_clips(result: AnalysisResult, *, most: int = 12) -> list[Clip]:
    """The poses that a result plays: at most `most` series of them, fewer for large meshes."""
    eqs, left = result.equations, most_frames(result.equations)
    played: list[Poses] = []
    for poses in islice(result.poses(), most):
        left -= len(poses.q)
        if left < 0 and played:
            break
        played.append(poses)
    extremes = _extremes(eqs, np.concatenate([x.q for x in played])) if played else []
    maker = SceneMaker(eqs, poses=extremes)
    clips = []
    for poses in played:
        chosen = spread_indices(poses.times, most_frames(eqs))
        t, scenes = np.broadcast_to(poses.t, len(poses.q)), []
        for k in chosen:
            if poses.varied is not None:
                name, values = poses.varied
                change, is_input = {name: float(values[k])}, name in eqs.inputs
                maker = SceneMaker(
                    eqs, None if is_input else change, inputs=change if is_input else None, poses=extremes
                )
            scenes.append(maker.at(poses.q[k], float(t[k]), poses.contacts[k] if poses.contacts else None))
        captions = tuple(poses.captions[k] for k in chosen) if poses.captions else ()
        clips.append(Clip(poses.name, poses.times[chosen], tuple(scenes), poses.loops, poses.words, captions))
    return clips


def all_scenes(clips: Sequence[Clip]) -> list[Scene]:
    """The scenes of all clips, concatenated."""
    return [scene for clip in clips for scene in clip.scenes]
