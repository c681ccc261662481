"""The surfaces that bodies, rods and meshes have of themselves, and the stiffness that follows from what they are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import casadi as ca

from pliant.contact.law import RIGID, contact_modulus
from pliant.language.faults import Fault, SpecError
from pliant.surface.base import Corner, add_shape
from pliant.surface.sphere import SphereSurface

if TYPE_CHECKING:
    from pliant.model.build import Build

ALL = "all"
"""Every thing that has a surface."""


def shapes_of(build: Build, thing: str) -> list[int]:
    """Numbers of the shapes of a thing, which are made when they are first asked for."""
    if thing == ALL:
        robot = build.robot
        names = [*robot.surfaces, *(n for n, b in robot.bodies.items() if b.shape is not None), *robot.rods, *robot.meshes]
        return [shape for name in names for shape in shapes_of(build, name)]
    if thing not in build.surfaces:
        build.surfaces[thing] = _make(build, thing)
        own = build.surfaces[thing]
        for other, theirs in build.surfaces.items():
            if other != thing and _are_joined(build, own + theirs):
                for a in own:
                    for b in theirs:
                        build.system.contacts.exclude(a, b)
    return build.surfaces[thing]


def _are_joined(build: Build, shapes: Sequence[int]) -> bool:
    return False


def _make(build: Build, thing: str) -> list[int]:
    robot = build.robot
    if thing in robot.rods:
        return [_rod_shape(build, thing)]
    if thing in robot.meshes:
        points = build.point_sets[f"{thing}.all"]
        return [
            add_shape(build, thing, "point", [Corner(node, build.entries(pose[1]))], [(0,)]) for node, pose in points
        ]
    body = robot.bodies[thing]
    node, pose = build.frame(thing)
    if body.shape is None:
        message = f"the body '{thing}' has no shape, so nothing can touch it"
        raise SpecError([Fault(message, "give it a `shape`, or name a surface with this body as its `parent`", f"bodies.{thing}")])
    R, p = pose
    center = p + R @ ca.vertcat(*map(build.value, body.center_of_mass))
    surface = SphereSurface(radius=body.shape.radius)
    return surface.shapes(build, thing, node, (R, center))


def rod_radius(build: Build, rod: str, x: float) -> float:
    """Radius of a rod's surface at fraction x of its length [m]: half its smaller width."""
    spec = build.robot.rods[rod]
    names = spec.section
    k = min(int(x * len(names)), len(names) - 1)
    section = build.robot.sections[names[k]]
    return min(section.half_sizes(lambda s: build.nominal(build.value(s))))


def _rod_shape(build: Build, rod: str) -> int:
    """Edges between the places that the rod's model knows, each with the length that it stands for over its thickness."""
    stations = sorted(build.stations[rod], key=lambda s: s.x)
    length = build.nominal(build.value(build.robot.rods[rod].length))
    values = build.system.peek
    corners = []
    for k, station in enumerate(stations):
        before = stations[max(k - 1, 0)].x
        after = stations[min(k + 1, len(stations) - 1)].x
        radius = rod_radius(build, rod, station.x)
        share = (after - before) / 2 * length / (2 * radius)
        corners.append(Corner(station.node, values(station.constants + 9, 3), radius, share))
    spacing = min(b.x - a.x for a, b in pairwise(stations)) * length
    skip = max(1, math.ceil(math.pi * max(c.radius for c in corners) / spacing))
    items = [(k, k + 1) for k in range(len(corners) - 1)]
    return add_shape(build, rod, "wire", corners, items, skip=skip)


def default_stiffness(build: Build, between: Sequence[Sequence[str]]) -> Any:
    """Of linear contacts of these things [N/m]: the modulus of both sides together times the smallest radius."""
    moduli = [min(_modulus(build, thing) for thing in things) for things in between]
    radii = [radius for things in between for thing in things if (radius := _radius(build, thing))]
    return contact_modulus(moduli[0], moduli[-1]) * (min(radii) if radii else 0.01)


def _modulus(build: Build, thing: str) -> float:
    robot = build.robot
    part: Any = robot.rods.get(thing) or robot.bodies.get(thing) or robot.surfaces.get(thing)
    names = getattr(part, "material", None) or ()
    found = [robot.materials[n] for n in ((names,) if isinstance(names, str) else names)]
    moduli = [build.nominal(build.value(m.youngs_modulus)) for m in found if m.youngs_modulus is not None]
    return min(moduli, default=RIGID)


def _radius(build: Build, thing: str) -> float | None:
    robot = build.robot
    if thing in robot.rods:
        return rod_radius(build, thing, 0.5)
    if thing in robot.surfaces:
        extent = robot.surfaces[thing].extent(build)
        return None if extent is None else build.nominal(extent)
    shape = robot.bodies[thing].shape if thing in robot.bodies else None
    return build.nominal(build.value(shape.radius)) if hasattr(shape, "radius") else None
