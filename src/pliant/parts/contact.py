"""Contacts: the contact law, and the collision shapes of bodies, rods and meshes."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import reduce
from itertools import combinations, pairwise, product
from typing import Annotated, Any, ClassVar, TypeAlias

import casadi as ca
import numpy as np
from pydantic import Field

from pliant.language.base import OneOrList, Part, Problem
from pliant.language.dimension import FORCE, LENGTH, Dimension
from pliant.language.faults import Fault, SpecError
from pliant.language.message_text import KeyPath
from pliant.language.names import ThingName
from pliant.language.scalar import Number, Repeated, Scalar, Slowness, Value
from pliant.parts.assembly.build import Build
from pliant.parts.assembly.entries import RodStation
from pliant.parts.body import Box, Cylinder, Ellipsoid, SlenderRod, Sphere, Tube
from pliant.parts.section.base import OneSection
from pliant.parts.surface.shapes import BoxSurface, CapsuleSurface, CylinderSurface, EllipsoidSurface, SphereSurface
from pliant.parts.surface.triangles import (
    Corner,
    SurfaceBase,
    Triangles,
    add_shape,
    inset,
    is_clockwise,
    near_order,
    thickness,
    tube,
    tube_smooth_edges,
)


@dataclass(frozen=True)
class ContactDefaults:
    """Speeds, times and moduli of contacts that the model does not state."""

    slow: float = 2e-3
    """Coefficients of restitution apply to impacts faster than this fraction of sqrt(gravity * radius)."""
    recent: float = 0.2
    """If the history of a contact is unknown, its surfaces are assumed to have slid at their velocity for this fraction of
    sqrt(radius / gravity)."""
    earth: float = 9.81
    """Gravity in these if the robot has none [m/s^2]."""
    rigid: float = 1e8
    """Elastic modulus of parts without a material, for the stiffness of their contacts [Pa]."""


DEFAULTS = ContactDefaults()


@dataclass(frozen=True)
class LawNumbers:
    """Numbers of a contact law: stiffness [N/m^exponent], exponent, dissipation [s/m], impact (`impact_number`, 0 for none),
    tangential stiffness relative to the normal one, friction along and across, static friction as a multiple of sliding
    friction, slow speed [m/s] and recent time [s] (`slow_and_recent`)."""

    stiffness: Any
    exponent: Any
    dissipation: Any
    impact: Any
    tangential: Any
    along: Any
    across: Any
    at_rest: Any
    slow: Any
    recent: Any

    def entries(self) -> list[Any]:
        """The numbers in the order of the runtime."""
        return [getattr(self, field.name) for field in fields(self)]

    @classmethod
    def place(cls, name: str) -> int:
        """Index of a number among the constants of a law."""
        return [field.name for field in fields(cls)].index(name)


def impact_number(restitution: float) -> float:
    """Dissipation times impact speed for which a normal force k x^p (1 + dissipation dx/dt) gives this coefficient of
    restitution.

    For a mass m, dv/dx = -k x^p (1 + c v) / (m v), so v / (1 + c v) dv is the same function of x on the way in and on the way
    out; with w = c v_in and restitution e this gives w (1 + e) = log((1 + w) / (1 - e w)), independent of mass, stiffness
    and exponent.
    """
    if restitution >= 1:
        return 0.0

    def excess(w: float) -> float:
        return math.log1p(w) - math.log1p(-restitution * w) - w * (1 + restitution)

    # another root is w = 0; `excess` is negative between the roots, and unbounded as e w approaches 1
    low, high = 1e-9, (1 - 1e-15) / restitution
    while high - low > 1e-15 * high:
        middle = math.sqrt(low * high)
        if not low < middle < high:
            break
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return high


def slow_and_recent(gravity: Sequence[Any], radius: Any) -> tuple[Any, Any]:
    """A speed [m/s] and a time [s] that are small for parts of this radius [m] under this gravity (3) [m/s^2]: numbers or
    expressions."""
    strength = ca.sqrt(sum(x * x for x in gravity))
    strength = strength + DEFAULTS.earth * (strength == 0)
    return DEFAULTS.slow * ca.sqrt(strength * radius), DEFAULTS.recent * ca.sqrt(radius / strength)


def contact_modulus(first: Any, second: Any) -> Any:
    """Combined modulus of two bodies in contact [Pa]."""
    return first * second / (first + second)


Things: TypeAlias = Annotated[tuple[ThingName, ...], OneOrList(), Field(min_length=1)]


class Friction(Part):
    """Coulomb friction: surfaces stick until the tangential force reaches the coefficient times the normal force."""

    short_form: ClassVar[str | None] = "along"
    not_below_zero = ("along", "across")

    along: Number
    """Coefficient of friction [-]; if `across` is given, that along the axis of the touching rod or capsule."""
    across: Number | None = None
    """Coefficient across that axis [-]; default: the same as along it."""
    at_rest: Number = 1
    """Coefficient of static friction as a multiple of that of sliding friction [-]; at least 1."""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Coefficients are not negative, and static friction is not below sliding friction."""
        if value(self.at_rest) < 1:
            text = f"at_rest must be 1 or more, but it is {value(self.at_rest):g}"
            yield ("at_rest",), text, "static friction is the larger one"


class Contact(Repeated):
    """Contact forces between parts that overlap, with friction.

    Bodies touch with their `shape`, surfaces with their geometry, meshes with their triangles and edges (as thick as
    their section; blocks end at their outermost nodes). Rods are straight between the stations of their model: rods
    with rectangular or polygonal sections are prisms whose edges have a radius of a tenth of their thickness, all
    others are round, of half their smaller width, with hemispherical ends beyond their tips. Touching pairs are
    detected automatically. The normal force is `stiffness * depth^exponent * (1 + dissipation * rate of depth)`,
    never negative. Friction is Coulomb friction with sticking: sticking surfaces are connected by a spring with the
    tangential stiffness of contacts between elastic bodies, which slips when its force reaches the friction limit.
    """

    above_zero, not_below_zero = ("stiffness", "exponent", "tangential_stiffness"), ("dissipation",)

    between: Annotated[tuple[Things, ...], OneOrList(), Field(min_length=1, max_length=2)]
    """The parts that can touch: `[finger, ball]`, `[[finger, thumb], ball]` for any of the first with any of the
    second, `rope` for self-contact, `all` for all parts with each other and with themselves. Parts that are fixed to
    the same frame, or whose frames are connected by a joint, the base of a rod or a constraint, do not touch each
    other; surfaces of the world touch all parts."""
    stiffness: Value | None = None
    """Normal force per depth to the power of `exponent` [N/m for exponent 1]: for a ball, a corner, a crossing of two
    rods, and for each piece of a rod that is as long as it is thick. Default: from the materials and radii of the
    parts; parts without a material are rigid."""
    exponent: Number = 1
    """Power of the depth [-]: 1 linear, 1.5 as between balls (Hertz)."""
    dissipation: Slowness = "50 s/m"
    """Relative increase of the normal force per rate of depth [s/m]."""
    restitution: Number | None = None
    """Coefficient of restitution, the ratio of the speeds after and before an impact [-], above 0 up to 1, instead of
    `dissipation`."""
    friction: Friction = Friction(along=0)
    """Coefficient of friction [-], or several."""
    tangential_stiffness: Number = "=2/3"
    """Tangential stiffness of sticking surfaces relative to the normal stiffness [-]."""
    description: str = ""
    """Description for readers."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  block: {mass: 1 kg, shape: {type: sphere, radius: 2 cm}}
joints:
  flight: {type: free, child: block, z: {initial: 2 cm}, x: {rate: 1 m/s}}
surfaces:
  floor: {type: plane}
contacts:
  ground: {between: [block, floor], friction: 0.3, stiffness: 20 kN/m}
"""

    def dimension(self, path: KeyPath, value: Callable[[Scalar], float]) -> Dimension | None:
        """The stiffness's dimension depends on the exponent."""
        if path != ("stiffness",):
            return None
        return FORCE / LENGTH ** Fraction(value(self.exponent)).limit_denominator(1000)

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Values within their ranges."""
        if self.restitution is not None and not 0 < value(self.restitution) <= 1:
            text = f"restitution must be above 0 and up to 1, but it is {value(self.restitution):g}"
            yield ("restitution",), text, "for impacts without rebound raise `dissipation`"

    def apply(self, build: Build, name: str) -> None:
        """Add the law between the shapes of all listed parts."""
        things = [parts_named(build, names) for names in self.between]
        _check_rods(build, name, things)
        sides = [[shape for thing in group for shape in shapes_of(build, thing)] for group in things]
        exclude_joined(build, things[0], things[-1])
        if not can_touch(build, sides[0], sides[-1]):
            raise SpecError([Fault(*_why_not(things), f"contacts.{name}.between")])
        if are_thin(build, [*sides[0], *sides[-1]]):
            names = " and ".join(", ".join(group) for group in things)
            message = f"{names} have no thickness: lines and points never meet"
            raise SpecError([Fault(message, "give one of them a radius", f"contacts.{name}.between")])
        stiffness = default_stiffness(build, things) if self.stiffness is None else build.value(self.stiffness)
        along = build.value(self.friction.along)
        numbers = LawNumbers(
            stiffness, build.value(self.exponent), build.value(self.dissipation) if self.restitution is None else 0.0,
            0.0 if self.restitution is None else self._impact(build, name), build.value(self.tangential_stiffness),
            along, along if self.friction.across is None else build.value(self.friction.across),
            build.value(self.friction.at_rest),
            *slow_and_recent([build.value(x) for x in build.robot.world.gravity], smallest_radius(build, things)),
        )  # fmt: skip
        build.system.contacts.law(name, sides[0], sides[-1], build.system.constants(numbers.entries()))

    def _impact(self, build: Build, name: str) -> float:
        """The impact number of the restitution. It is computed once: derived equations reject other values."""
        assert self.restitution is not None, "used only if it is given"
        restitution = build.value(self.restitution)
        value = build.nominal(restitution)
        message, hint = "restitution cannot be changed in derived equations", "load the model again with set={...}"
        build.require(1e-12 - ca.fabs(restitution - value), f"contacts.{name}.restitution", message, hint)
        return impact_number(value)


def _check_rods(build: Build, name: str, things: list[list[str]]) -> None:
    """Reject rods whose models have no stations, between which the surface of a rod extends."""
    for rod in (thing for group in things for thing in group if thing in build.robot.rods):
        if rod not in build.stations:
            kind = build.robot.rods[rod].model.kind
            message = (
                f"rods of the model '{kind}' cannot touch: it is for small displacements, and '{rod}' has no surface"
            )
            raise SpecError(
                [Fault(message, "choose another model of the rod, such as pcs", f"contacts.{name}.between")]
            )


def _why_not(things: list[list[str]]) -> tuple[str, str]:
    """Why these parts cannot touch, and a hint."""
    if len({thing for group in things for thing in group}) == 1:
        return f"'{things[0][0]}' is one rigid piece and cannot touch itself", "give two parts, such as [ball, floor]"
    if not things[0] or not things[-1]:
        return "no part can touch another", "give bodies a `shape`, or add `surfaces`"
    names = " and ".join(", ".join(group) for group in things)
    return (
        f"{names} cannot touch: they are fixed to the same frame, or a joint, a rod's base or a constraint joins them",
        "use parts that move relative to each other",
    )


ALL = "all"
"""Keyword for every part that has a surface."""
CROWDED = 0.4
"""Largest radius of the surface of a mesh relative to its shortest edge: neighbours must not touch at rest."""
ROUNDED = 0.1
"""Radius of the edges of rods that are not round, relative to their thickness: edges that cross by more are not detected."""

BODY_SURFACES: dict[type, Callable[[Any], SurfaceBase]] = {
    SlenderRod: lambda shape: CapsuleSurface(radius=0, length=shape.length, axis=shape.axis),
    Cylinder: lambda shape: CylinderSurface(radius=shape.radius, length=shape.length, axis=shape.axis),
    Tube: lambda shape: CylinderSurface(radius=shape.outer_radius, length=shape.length, axis=shape.axis),
    Box: lambda shape: BoxSurface(size=shape.size),
    Sphere: lambda shape: SphereSurface(radius=shape.radius),
    Ellipsoid: lambda shape: EllipsoidSurface(semi_axes=shape.semi_axes),
}
"""The surface of a body by its shape: slender rods are lines, tubes are closed by flat ends."""


def parts_named(build: Build, names: Iterable[str]) -> list[str]:
    """The parts on one side of a contact, without duplicates."""
    robot, parts = build.robot, dict[str, None]()
    for name in names:
        with_shape = [n for n, body in robot.bodies.items() if body.shape is not None]
        everything = [*robot.surfaces, *with_shape, *robot.rods, *robot.meshes]
        parts |= dict.fromkeys(everything if name == ALL else [name])
    return list(parts)


def shapes_of(build: Build, thing: str) -> list[int]:
    """Indices of the collision shapes of a part, which are created on first use."""
    if thing not in build.surfaces:
        build.surfaces[thing] = _make(build, thing)
    return build.surfaces[thing]


def _make(build: Build, thing: str) -> list[int]:
    robot = build.robot
    if thing in robot.rods:
        return [_rod_shape(build, thing)]
    if thing in robot.meshes:
        return [_mesh_shape(build, thing)]
    body = robot.bodies[thing]
    if body.shape is None:
        message = f"the body '{thing}' has no shape, so nothing can touch it"
        raise SpecError(
            [Fault(message, "give it a `shape`, or use a surface with this body as its `parent`", f"bodies.{thing}")]
        )
    node, (R, p) = build.frame(thing)
    center = p + R @ ca.vertcat(*map(build.value, body.center_of_mass))
    return BODY_SURFACES[type(body.shape)](body.shape).shapes(build, thing, node, (R, center))


# -- pairs that do not touch ----------------------------------------------------------------------------------------------


def exclude_joined(build: Build, first: Sequence[str], second: Sequence[str]) -> None:
    """Exclude contact between parts of two groups that are fixed to the same frame, or whose frames are connected by a joint
    other than a free one, a rod's base or a constraint.

    The world is an exception: parts connected to it can touch its surfaces. Meshes can touch the parts that they are fixed
    to, except at the fixed nodes.
    """
    groups = [_by_carrier(build, things) for things in (first, second)]
    pairs = [(carrier, carrier) for carrier in groups[0] if carrier in groups[1]]
    joined = _joints(build)
    for a, b in [*pairs, *joined, *((b, a) for a, b in joined)]:
        for one, other in product(groups[0].get(a, ()), groups[1].get(b, ())):
            if one == other:
                continue
            for p, q in product(shapes_of(build, one), shapes_of(build, other)):
                build.system.contacts.exclude(p, q)


def can_touch(build: Build, first: Sequence[int], second: Sequence[int]) -> bool:
    """Whether any of the first shapes can touch any of the second ones."""
    contacts = build.system.contacts
    for a, b in product(first, second):
        nodes = contacts.shapes[a].node, contacts.shapes[b].node
        rigid = nodes[0] >= 0 and nodes[0] == nodes[1]
        planes = contacts.shapes[a].form == "plane" and contacts.shapes[b].form == "plane"
        if not rigid and not planes and (min(a, b), max(a, b)) not in contacts.excluded:
            return True
    return False


def are_thin(build: Build, shapes: Iterable[int]) -> bool:
    """Whether none of these shapes has an interior or a radius."""
    known = [build.system.contacts.shapes[k] for k in shapes]
    radii = [build.system.peek(vertex.constants + 3, 1)[0] for shape in known for vertex in shape.vertices]
    has_inside = any(shape.form in ("plane", "faces") for shape in known)
    return not has_inside and all(build.nominal(radius) == 0 for radius in radii)


def _carrier(build: Build, frame: str) -> int | str:
    """Owner of a frame: a rod or mesh by name, a rigid part by its node."""
    owner = frame.partition(".")[0]
    if owner in build.robot.rods or owner in build.robot.meshes:
        return owner
    return build.frame(owner)[0]


def _by_carrier(build: Build, things: Iterable[str]) -> dict[int | str, list[str]]:
    shapes_by_carrier: dict[int | str, list[str]] = defaultdict(list)
    for thing in things:
        surface = build.robot.surfaces.get(thing)
        carrier = _carrier(build, thing if surface is None else surface.parent)
        if carrier != 0:
            shapes_by_carrier[carrier].append(thing)
    return shapes_by_carrier


def _joints(build: Build) -> list[tuple[int | str, int | str]]:
    """Pairs of carriers that are connected by a joint, a rod's base or a constraint."""
    robot = build.robot
    pairs = [(joint.parent, joint.child) for joint in robot.joints.values() if joint.type != "free"]
    pairs += [(rod.parent, name) for name, rod in robot.rods.items()]
    pairs += [(item.between[0].frame, item.between[1].frame) for item in robot.constraints.values()]
    return list(dict.fromkeys((_carrier(build, a), _carrier(build, b)) for a, b in pairs))


# -- rods and meshes --------------------------------------------------------------------------------------------------------


def rod_radius(build: Build, rod: str, x: float) -> Any:
    """Radius of a rod's surface at fraction x of its length [m]: half its smaller width, a number or an expression."""
    return sum(w * _half_width(build, name) for w, name in _sections_at(build, rod, x))


def _sections_at(build: Build, rod: str, x: float) -> list[tuple[float, str]]:
    """The sections of a rod with their weights at fraction x of its length: linear between stations."""
    spec = build.robot.rods[rod]
    table = _table(build, rod)
    names = [name for _, name in table] or list(spec.section)
    length = build.nominal(build.value(spec.length))
    places = [build.nominal(build.value(at)) / length for at, _ in table] or np.linspace(0, 1, len(names))
    weights = [float(np.interp(x, places, row)) for row in np.eye(len(names))]
    return [(w, name) for w, name in zip(weights, names, strict=True) if w]


def _table(build: Build, rod: str) -> Sequence[tuple[Any, str]]:
    """Arc length and name of each section of a rod whose sections are given by a table."""
    names = build.robot.rods[rod].section
    return build.robot.sections[names[0]].stations_by_arc_length() if len(names) == 1 else ()


def _half_width(build: Build, name: str) -> Any:
    """Half the smaller width of a section [m], a number or an expression."""
    section = build.robot.sections[name]
    assert isinstance(section, OneSection), "tables do not refer to tables"
    return _least(section.half_sizes(build.value))


def _least(values: Iterable[Any]) -> Any:
    """The smallest of numbers or expressions."""
    return reduce(ca.fmin, values)


def _rod_shape(build: Build, rod: str) -> int:
    """The surface of a rod between the stations of its model: edges with a radius if it is round, otherwise triangles."""
    stations = sorted(build.stations[rod], key=lambda s: s.x)
    length = build.nominal(build.value(build.robot.rods[rod].length))
    # the share of each station: its part of the length, over its thickness
    ends = [stations[0].x, *((a.x + b.x) / 2 for a, b in pairwise(stations)), stations[-1].x]
    radii = [rod_radius(build, rod, station.x) for station in stations]
    shares = [(b - a) * length / (2 * radius) for (a, b), radius in zip(pairwise(ends), radii, strict=True)]
    outlines = _outlines(build, rod)
    if outlines:
        return _tube_shape(build, rod, stations, shares, outlines)
    corners = [
        Corner(station.node, build.system.peek(station.constants + 9, 3), radius, share)
        for station, radius, share in zip(stations, radii, shares, strict=True)
    ]
    spacing = min(b.x - a.x for a, b in pairwise(stations)) * length
    skip = max(1, math.ceil(math.pi * max(build.nominal(c.radius) for c in corners) / spacing))
    items = [(k, k + 1) for k in range(len(corners) - 1)]
    return add_shape(build, rod, "wire", corners, items, skip=skip)


@dataclass(frozen=True)
class Outline:
    """The outline of a section that is not round: its corners, moved inwards by the radius of its edges, anticlockwise [m]; that
    radius [m]; and its thickness [m]."""

    corners: Sequence[tuple[Any, Any]]
    radius: Any
    thickness: float


def _outlines(build: Build, rod: str) -> dict[str, Outline]:
    """The outlines of the sections of a rod; empty if one of them is round, or if their numbers of corners differ."""
    names = [name for _, name in _table(build, rod)] or list(build.robot.rods[rod].section)
    outlines = {name: _outline(build, name) for name in names}
    counts = {0 if outline is None else len(outline.corners) for outline in outlines.values()}
    return {name: x for name, x in outlines.items() if x is not None} if len(counts) == 1 else {}


def _outline(build: Build, name: str) -> Outline | None:
    section = build.robot.sections[name]
    assert isinstance(section, OneSection), "tables do not refer to tables"
    corners = list(section.outline(build.value))
    if not corners:
        return None
    points = build.nominals(ca.horzcat(*(ca.vertcat(*corner) for corner in corners))).T
    if is_clockwise(points):
        corners, points = corners[::-1], points[::-1]
    thick = thickness(points)
    half = _half_width(build, name)
    radius = ROUNDED * thick / build.nominal(half) * half  # expressions of parameters change with the section
    return Outline(inset(corners, radius), radius, thick)


def _tube_shape(
    build: Build, rod: str, stations: Sequence[RodStation], shares: Sequence[Any], outlines: Mapping[str, Outline]
) -> int:
    """Triangles between the outlines of the sections at the stations, closed at both ends. A rod that lies on one of its sides
    touches with two corners of each section."""
    corners = []
    for k, (station, share) in enumerate(zip(stations, shares, strict=True)):
        here = [(w, outlines[name]) for w, name in _sections_at(build, rod, station.x)]
        pose = build.system.peek(station.constants, 12)
        R, p = ca.reshape(ca.vertcat(*pose[:9]), 3, 3), ca.vertcat(*pose[9:])
        radius = sum(w * outline.radius for w, outline in here)
        z = radius if k == 0 else -radius if k == len(stations) - 1 else 0.0
        for around in zip(*(outline.corners for _, outline in here), strict=True):
            x, y = (sum(w * point[axis] for (w, _), point in zip(here, around, strict=True)) for axis in (0, 1))
            corners.append(Corner(station.node, build.entries(R @ ca.vertcat(x, y, z) + p), radius, share / 2))
    first = next(iter(outlines.values()))
    flat = build.nominals(ca.horzcat(*(ca.vertcat(*corner) for corner in first.corners))).T
    items = tube(flat, len(stations))
    depth = min(outline.thickness / 2 - build.nominal(outline.radius) for outline in outlines.values())
    return add_shape(
        build, rod, "faces", corners, items, constants=[depth], closed=True,
        smooth=tube_smooth_edges(flat, items, len(stations)), section_corners=len(flat),
    )  # fmt: skip


def _mesh_shape(build: Build, name: str) -> int:
    """The triangles of the mesh and the edges that belong to none; of solids, the outer triangles only."""
    mesh = build.robot.meshes[name]
    points, lattice = build.point_sets[f"{name}.all"], mesh.lattice
    sides = {tuple(sorted(pair)) for face in lattice.faces.tolist() for pair in combinations(face, 2)}
    inner = sides | _in_faces(lattice.faces)
    radius = mesh_radius(build, name)
    corners = [Corner(node, build.entries(pose[1]), radius) for node, pose in points]
    places = lattice.shares * mesh_size(build, name)
    if mesh.surface == "nodes":
        return add_shape(build, name, "point", corners, [(int(k),) for k in near_order(places)])
    loose = [] if lattice.solid else [(a, b) for a, b in lattice.edges.tolist() if (min(a, b), max(a, b)) not in inner]
    items: list[tuple[int, ...]] = [*map(tuple, lattice.faces.tolist()), *loose]
    order = near_order(np.array([places[list(item)].mean(axis=0) for item in items]))
    depth = [Triangles(places, lattice.faces).depth()] if lattice.solid else []
    return add_shape(build, name, "faces", corners, [items[k] for k in order], constants=depth, closed=lattice.solid)


def _in_faces(faces: np.ndarray) -> set[tuple[Any, ...]]:
    """Pairs of nodes opposite a side that two triangles share: the second diagonals of cells."""
    opposite: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for face in faces.tolist():
        for pair in combinations(sorted(face), 2):
            opposite[pair].append(next(k for k in face if k not in pair))
    return {(min(ends), max(ends)) for ends in opposite.values() if len(ends) == 2}


def mesh_size(build: Build, name: str) -> np.ndarray:
    """Size of a mesh (3) [m]: the positions of its nodes are their shares times this."""
    return np.array([build.nominal(x) for x in build.robot.meshes[name].drawing.size(build.value)])


def mesh_radius(build: Build, name: str) -> Any:
    """Radius of a mesh's surface [m]: half its least thickness, limited to `CROWDED` times its shortest edge. The surface of a
    solid is at its nodes."""
    mesh = build.robot.meshes[name]
    sections = [mesh.section_of(number)[0] for number in mesh.edge_numbers]
    widths = [_half_width(build, section) for section in sections if section is not None]
    if mesh.lattice.solid or len(widths) < len(sections):
        return 0.0
    ends = mesh.lattice.shares[mesh.lattice.edges] * mesh_size(build, name)
    shortest = float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).min())
    return _least([*widths, CROWDED * shortest])


# -- stiffness ---------------------------------------------------------------------------------------------------------------


def default_stiffness(build: Build, sides: Sequence[Sequence[str]]) -> Any:
    """Stiffness of linear contacts between these parts [N/m]: the combined modulus times the smallest radius."""
    moduli = [_least(_modulus(build, thing) for thing in things) for things in sides]
    return contact_modulus(moduli[0], moduli[-1]) * smallest_radius(build, sides)


def smallest_radius(build: Build, sides: Sequence[Sequence[str]]) -> Any:
    """Smallest radius of parts that touch [m]; one centimetre if none has a radius."""
    found = [_radius(build, thing) for things in sides for thing in things]
    radii = [radius for radius in found if radius is not None and build.nominal(radius) > 0]
    return _least(radii) if radii else 0.01


def _modulus(build: Build, thing: str) -> Any:
    robot = build.robot
    part: Any = robot.rods.get(thing) or robot.bodies.get(thing) or robot.surfaces.get(thing)
    if thing in robot.meshes:
        given = {robot.meshes[thing].section_of(number)[1] for number in robot.meshes[thing].edge_numbers}
        names: Any = sorted(name for name in given if name)
    else:
        names = getattr(part, "material", None) or ()
    materials = [robot.materials[n] for n in ((names,) if isinstance(names, str) else names)]
    moduli = [build.value(m.youngs_modulus) for m in materials if m.youngs_modulus is not None]
    return _least(moduli) if moduli else DEFAULTS.rigid


def _radius(build: Build, thing: str) -> Any:
    robot = build.robot
    if thing in robot.rods:
        return rod_radius(build, thing, 0.5)
    if thing in robot.meshes:
        return mesh_radius(build, thing)
    shape = robot.bodies[thing].shape if thing in robot.bodies else None
    surface = robot.surfaces[thing] if shape is None else BODY_SURFACES[type(shape)](shape)
    return surface.extent(build)
