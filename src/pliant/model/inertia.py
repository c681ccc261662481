"""Mass properties of bodies: given, or those of a uniform shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from pliant.spec.body import Body, Box, Cylinder, InertiaMatrix, SlenderRod, Sphere, Tube

if TYPE_CHECKING:
    from pliant.model.build import Build


def mass_properties(body: Body, build: Build) -> tuple[Any, Any, Any]:
    """Mass [kg], centre of mass [m] (3), inertia about it in body axes [kg m^2] (3x3)."""
    center = ca.vertcat(*map(build.value, body.center_of_mass))
    mass = _mass(body, build)
    if isinstance(body.inertia, InertiaMatrix):
        inertia = ca.vertcat(*[ca.horzcat(*map(build.value, row)) for row in body.inertia.matrix])
    elif body.inertia is not None:
        R = build.rotation(body.inertia.rotation)
        inertia = R @ ca.diag(ca.vertcat(*map(build.value, body.inertia.principal))) @ R.T
    elif body.shape is not None:
        inertia = mass * ca.diag(ca.vertcat(*_square_radii(body.shape, build)))
    else:
        inertia = ca.DM.zeros(3, 3)
    return mass, center, inertia


def _mass(body: Body, build: Build) -> Any:
    if body.mass is not None:
        return build.value(body.mass)
    if body.shape is None or body.material is None:
        return 0.0
    density = build.robot.materials[body.material].density
    assert density is not None, "checked when the model was read"
    return build.value(density) * _volume(body.shape, build)


def _volume(shape: Any, build: Build) -> Any:
    value = build.value
    if isinstance(shape, Box):
        return value(shape.size[0]) * value(shape.size[1]) * value(shape.size[2])
    if isinstance(shape, Sphere):
        return 4 / 3 * ca.pi * value(shape.radius) ** 3
    if isinstance(shape, Tube):
        return ca.pi * (value(shape.outer_radius) ** 2 - value(shape.inner_radius) ** 2) * value(shape.length)
    assert isinstance(shape, Cylinder), "a slender rod has no volume"
    return ca.pi * value(shape.radius) ** 2 * value(shape.length)


def _square_radii(shape: Any, build: Build) -> list[Any]:
    """Squared radii of gyration about the body axes [m^2]."""
    value = build.value
    if isinstance(shape, Sphere):
        return [0.4 * value(shape.radius) ** 2] * 3
    if isinstance(shape, Box):
        a, b, c = (value(x) ** 2 / 12 for x in shape.size)
        return [b + c, a + c, a + b]
    if isinstance(shape, SlenderRod):
        along, across = 0.0, value(shape.length) ** 2 / 12
    elif isinstance(shape, Tube):
        squares = value(shape.outer_radius) ** 2 + value(shape.inner_radius) ** 2
        along, across = squares / 2, squares / 4 + value(shape.length) ** 2 / 12
    else:
        square = value(shape.radius) ** 2
        along, across = square / 2, square / 4 + value(shape.length) ** 2 / 12
    radii = [across, across, across]
    radii["xyz".index(shape.axis)] = along
    return radii
