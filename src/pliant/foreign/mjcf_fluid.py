"""MuJoCo's fluid forces: a medium without a surface that carries nothing, with one of two models of drag for each body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.foreign.document import number, placement, quaternion_rotation, vector

if TYPE_CHECKING:
    from pliant.foreign.mjcf import Reader

SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX = 2, 3, 4, 5, 6
"""Types of geoms."""
NO_DENSITY = 1e-6
"""Density of a medium that has viscosity alone [kg/m^3]."""
LEAST = 1e-15
"""Square of the smallest size of a box (mjMINVAL) [m^2]."""


def has_fluid(reader: Reader) -> bool:
    """Whether there is a medium."""
    return bool(reader.model.opt_density or reader.model.opt_viscosity)


def world_fluid(reader: Reader) -> dict[str, Any]:
    """The medium, as part of the world; empty without one."""
    model = reader.model
    if not has_fluid(reader):
        return {}
    fluid: dict[str, Any] = {"density": number(model.opt_density or NO_DENSITY, "kg/m^3")}
    if model.opt_viscosity:
        fluid["viscosity"] = number(model.opt_viscosity, "Pa*s")
    if model.opt_wind.any():
        fluid["current"] = vector(model.opt_wind)
    return {"fluid": fluid}


def add_fluid(reader: Reader) -> None:
    """Add what the medium does to moving bodies: by their geoms that have a shape in the fluid, or by the box of their inertia."""
    model = reader.model
    if not has_fluid(reader):
        return
    for i, entry in reader.entries.items():
        if model.body_weldid[i] == 0:
            continue
        first = int(model.body_geomadr[i])
        shaped = [g for g in range(first, first + int(model.body_geomnum[i])) if model.geom_fluid[g, 0] > 0]
        for g in shaped:
            place = placement(model.geom_pos[g], quaternion_rotation(model.geom_quat[g]))
            shape = {"type": "ellipsoid", "semi_axes": vector(_semi_axes(reader, g))}
            _add_body(reader, i, place, {"shape": shape}, _by_shape(reader, g))
        if not shaped and model.body_mass[i] > 0 and model.body_inertia[i].all():
            turned = quaternion_rotation(model.body_iquat[i])
            if turned is None:
                entry["fluid"] = _by_box(reader, i)
            else:
                _add_body(reader, i, placement(model.body_ipos[i], turned), {}, _by_box(reader, i))


def add_fluid_of_rods(reader: Reader) -> None:
    """Cables: rods that the medium does not carry either."""
    if has_fluid(reader):
        for rod in reader.document.parts.get("rods", {}).values():
            rod["fluid"] = {"buoyancy": False}


def _add_body(reader: Reader, i: int, place: dict[str, Any], more: dict[str, Any], fluid: dict[str, Any]) -> None:
    """Add a massless body on a body, on which the fluid acts."""
    name = reader.document.name("things", "", kind=f"{reader.bodies[i][:40]}_in_fluid")
    entry = {"parent": reader.bodies[i], **place, "mass": 0, **more, "fluid": fluid}
    reader.document.add("bodies", name, entry, reader.line(reader.model.name("body", i), "body"))


def _by_box(reader: Reader, i: int) -> dict[str, Any]:
    """Drag of the box with a body's inertia, about its principal axes."""
    model = reader.model
    a, b, c = model.body_inertia[i]
    box = np.sqrt(np.maximum(6 * np.array([b + c - a, a + c - b, a + b - c]) / model.body_mass[i], LEAST))
    across = np.array([np.delete(box, k) for k in range(3)])
    fluid: dict[str, Any] = {"buoyancy": False, "has_added_mass": False}
    mean, viscosity, density = box.mean(), model.opt_viscosity, model.opt_density
    slow = viscosity * np.pi * mean * np.array([3, 3, 3, mean**2, mean**2, mean**2])
    fast = density * np.array([*(across.prod(axis=1) / 2), *(box * (across**4).sum(axis=1) / 64)])
    for key, diagonal in (("linear_drag", slow), ("quadratic_drag", fast)):
        if diagonal.any():
            fluid[key] = [vector(row) for row in np.diag(diagonal)]
    return fluid


def _semi_axes(reader: Reader, g: int) -> np.ndarray:
    """Semi-axes of the ellipsoid that stands for a geom."""
    kind, (a, b, c) = reader.model.geom_type[g], reader.model.geom_size[g]
    if kind == SPHERE:
        return np.array([a, a, a])
    if kind in (CAPSULE, CYLINDER):
        return np.array([a, a, b + a if kind == CAPSULE else b])
    return np.array([a, b, c])


def _by_shape(reader: Reader, g: int) -> dict[str, Any]:
    """Drag along the axes as MuJoCo has it, and Kirchhoff's added mass."""
    axes, (_, blunt, slender, *_) = _semi_axes(reader, g), reader.model.geom_fluid[g]
    areas = np.array([np.delete(axes, k).prod() for k in range(3)])
    message = (
        "drag of an ellipsoid is that of MuJoCo along its axes, otherwise that of Pliant; added mass also counts in accelerations; "
        "lift by circulation and by spin is not imported"
    )
    reader.note(message, reader.model.name("geom", g), "geom")
    return {"buoyancy": False, "drag_coefficients": vector(2 * (blunt + slender * (areas.max() / areas - 1)))}
