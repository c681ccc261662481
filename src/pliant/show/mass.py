"""Mass of a robot and of its types of parts, and its initial centre of mass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from pliant.engine.model.build import Build
from pliant.parts.geometry import se3
from pliant.parts.mesh.base import MeshBase, place
from pliant.parts.mesh.shell import Shell
from pliant.parts.rod.properties import RodProperties, rod_properties

# Points along a stretch of rod that turns by no more than this [rad]: its first moment is then exact to round-off.
GAUSS_POINTS, STRETCH = 8, 3.0

Lump = tuple[Any, Any]
"""Mass [kg] and its centre in the world [m], as numbers or expressions of the parameters."""


@dataclass(frozen=True)
class MassBudget:
    """Masses [kg], and the centre of mass [m] in the world at the model's start, before constraints move it; None if there is
    no mass, or if the initial coordinates of rods do not determine the position of all of their mass."""

    bodies: float
    rods: float
    meshes: float
    center: np.ndarray | None

    @property
    def total(self) -> float:
        """Total mass [kg]."""
        return self.bodies + self.rods + self.meshes


def mass_budget(build: Build) -> MassBudget:
    """The masses of a robot whose bodies, rods and meshes have been built, at the model's own parameter values."""
    robot = build.robot
    bodies = list(_bodies(build))
    rods = [lump for name in robot.rods for lump in _rod(build, name)]
    meshes = [lump for mesh in robot.meshes.values() for lump in _mesh(build, mesh)]
    masses, moments, known = [], [], True
    for lumps in (bodies, rods, meshes):
        masses.append(sum((mass for mass, _ in lumps), 0.0))
        known = known and all(center is not None for _, center in lumps)
        moments.append(sum((mass * center for mass, center in lumps if center is not None), ca.DM.zeros(3)))
    numbers = build.nominals(ca.vertcat(*masses, sum(moments, ca.DM.zeros(3)))).ravel()
    total = float(numbers[:3].sum())
    center = numbers[3:] / total if known and total > 0 else None
    return MassBudget(float(numbers[0]), float(numbers[1]), float(numbers[2]), center)


def _bodies(build: Build) -> Iterator[Lump]:
    for name, body in build.robot.bodies.items():
        node, pose = build.frame(name)
        R, p = se3.compose(build.initial_pose(node), pose)
        center = p + R @ ca.vertcat(*map(build.value, body.center_of_mass))
        yield body.total_mass(build.value, build.robot.materials), center


def _rod(build: Build, name: str) -> Iterator[Lump]:
    """Point masses along a rod, from its shape, or from the pieces of its model if it has other initial values."""
    rod = build.robot.rods[name]
    properties = rod_properties(rod, name, build)
    along = list(_gauss(properties))
    if not rod.initial:
        base = se3.compose(build.initial_pose(properties.node), properties.placement)
        for x, length in along:
            place = se3.compose(base, properties.curve.pose(x * properties.length))[1]
            yield length * properties.section(x).mass, place
        return
    pieces = [
        (
            piece.length * properties.section(piece.x).mass,
            se3.compose(build.initial_pose(piece.node), piece.placement)[1],
        )
        for piece in build.rod_pieces(name)
    ]
    exact = sum(length * properties.section(x).mass for x, length in along)
    found = sum((mass for mass, _ in pieces), 0.0)
    if abs(build.nominal(found / exact) - 1) < 1e-9:
        yield from pieces
    else:  # fixed parts have no pieces
        yield exact, None


def _gauss(rod: RodProperties) -> Iterator[tuple[float, Any]]:
    """Fractions of a rod's length and the lengths [m] they represent."""
    points, weights = np.polynomial.legendre.leggauss(GAUSS_POINTS)
    length = rod.nominal(rod.length)
    stops = {0.0, 1.0, *(float(s.x) for s in (*rod.sections, *rod.materials) if 0 < s.x < 1)}
    stops |= {x for piece in rod.curve.pieces if 0 < (x := rod.nominal(piece.begin) / length) < 1}
    for begin, end in pairwise(sorted(stops)):
        parts = max(1, int(np.ceil(rod.curve.turn(begin * length, end * length) / STRETCH)))
        for part in range(parts):
            width = (end - begin) / parts
            for point, weight in zip(points, weights, strict=True):
                yield begin + width * (part + 0.5 * (point + 1)), 0.5 * weight * width * rod.length


def _mesh(build: Build, mesh: MeshBase) -> Iterator[Lump]:
    """Halves of edges at their nodes; where the mass of a node is given, they are scaled to it."""
    placed, own = place(mesh, build), mesh.own_node_masses()
    weights = placed.lengths if placed.edge_mass is None else placed.edge_mass
    halves = build.nominals(weights).ravel()[placed.kind] / 2
    at_nodes = np.bincount(placed.first, halves, placed.count) + np.bincount(placed.second, halves, placed.count)
    given = [own.get(i, mesh.node_mass) for i in range(placed.count)]
    numbers = [np.nan if mass is None else build.nominal(build.value(mass)) for mass in given]
    factors = np.where(np.isnan(numbers), 1.0, numbers / at_nodes)
    world = build.nominals(placed.world)
    near, far = world[:, placed.first], world[:, placed.second]
    depth = 0.25 if isinstance(mesh, Shell) else 0.0  # of the centre of a half, as a fraction of the edge
    first, second = (halves * factors[end] for end in (placed.first, placed.second))
    moment = (near + depth * (far - near)) @ first + (far + depth * (near - far)) @ second
    total = float(first.sum() + second.sum())
    yield total, ca.DM(moment / total)
