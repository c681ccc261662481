"""Mass properties of bodies: given, or those of a uniform shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from pliant.parts.body import Body, InertiaMatrix

if TYPE_CHECKING:
    from pliant.engine.model.build import Build


def mass_properties(body: Body, build: Build) -> tuple[Any, Any, Any]:
    """Mass [kg], centre of mass [m] (3), inertia about it in body axes [kg m^2] (3x3)."""
    center = ca.vertcat(*map(build.value, body.center_of_mass))
    mass = body.total_mass(build.value, build.robot.materials)
    if isinstance(body.inertia, InertiaMatrix):
        inertia = ca.vertcat(*[ca.horzcat(*map(build.value, row)) for row in body.inertia.matrix])
    elif body.inertia is not None:
        R = build.rotation(body.inertia.rotation)
        inertia = R @ ca.diag(ca.vertcat(*map(build.value, body.inertia.principal))) @ R.T
    elif body.shape is not None:
        inertia = mass * ca.diag(ca.vertcat(*body.shape.gyration(build.value)))
    else:
        inertia = ca.DM.zeros(3, 3)
    return mass, center, inertia
