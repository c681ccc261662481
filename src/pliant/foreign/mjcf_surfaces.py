"""Geoms of MuJoCo as surfaces, and contacts of the robot with what stands still."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.foreign.document import number, placement, quaternion_rotation, vector

if TYPE_CHECKING:
    from pliant.foreign.mjcf import Reader

PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH = range(8)
"""Forms by MuJoCo's numbers."""


def add_surfaces(reader: Reader) -> None:
    """What bodies collide with, or what is seen of them where nothing collides; and what touches the ground."""
    model = reader.model
    collides = (model.geom_contype | model.geom_conaffinity) != 0
    names: dict[int, str] = {}
    for g in range(model.ngeom):
        here, given = int(model.geom_bodyid[g]), model.name("geom", g)
        if not collides[g] and collides[model.geom_bodyid == here].any():
            reader.note("what is only seen of a body is left out", given, "geom")
            continue
        found = _surface(reader, g)
        if not found:
            continue
        is_own = ("geom", given) not in reader.prepared.unnamed and given not in reader.bodies
        stem = given if given in reader.bodies else reader.bodies[here]
        name = reader.document.name(
            "things",
            given if is_own else "",
            line=reader.line(given, "geom"),
            kind="geom" if is_own else f"{stem[:50]}_geom",
        )
        kind = found.pop("type")
        parent = {} if here == 0 else {"parent": reader.bodies[here]}
        reader.document.add("surfaces", name, {"type": kind, **parent, **found}, reader.line(given, "geom"))
        if collides[g]:
            names[g] = name
    _add_contacts(reader, names)


def _surface(reader: Reader, g: int) -> dict[str, Any]:
    """A geom as a surface; empty, with a note, where it has none."""
    model, given = reader.model, reader.model.name("geom", g)
    kind, size = model.geom_type[g], model.geom_size[g]
    place = placement(model.geom_pos[g], quaternion_rotation(model.geom_quat[g]))
    if kind == PLANE:
        return {"type": "plane", **place}
    if kind == SPHERE:
        return {"type": "sphere", **placement(model.geom_pos[g], None), "radius": number(size[0])}
    if kind in (CAPSULE, CYLINDER):
        form = "capsule" if kind == CAPSULE else "cylinder"
        return {"type": form, **place, "radius": number(size[0]), "length": number(2 * size[1])}
    if kind == BOX:
        return {"type": "box", **place, "size": vector(2 * size)}
    if kind == MESH:
        return _mesh(reader, g)
    form = "an ellipsoid" if kind == ELLIPSOID else "a geom of this form"
    reader.note(f"{form} is left out: there is no such surface", given, "geom")
    return {}


def _mesh(reader: Reader, g: int) -> dict[str, Any]:
    """A mesh by its convex hull, as MuJoCo takes it; its file in the axes of the file, which MuJoCo moves to principal axes."""
    model, given = reader.model, reader.model.name("geom", g)
    m = int(model.geom_dataid[g])
    if model.mesh_facenum[m] == 0:
        reader.note("a mesh without faces is left out", given, "geom")
        return {}
    file, scale = reader.prepared.meshes.get(model.name("mesh", m)), model.mesh_scale[m]
    if file is None or np.ptp(scale) or scale[0] <= 0:
        first = model.mesh_vertadr[m]
        points = model.mesh_vert[first : first + model.mesh_vertnum[m]].astype(float)
        place = placement(model.geom_pos[g], quaternion_rotation(model.geom_quat[g]))
        return {"type": "convex", **place, "points": [vector(point) for point in points]}
    R = _matrix(model.geom_quat[g]) @ _matrix(model.mesh_quat[m]).T
    turn = _product(model.geom_quat[g], model.mesh_quat[m] * [1, -1, -1, -1])
    place = placement(model.geom_pos[g] - R @ model.mesh_pos[m], quaternion_rotation(turn))
    return {"type": "convex", **place, "file": file, **({"scale": number(scale[0])} if scale[0] != 1 else {})}


def _add_contacts(reader: Reader, names: dict[int, str]) -> None:
    """Contacts of what moves with what stands still, one for each coefficient of friction."""
    model = reader.model
    moves = model.body_weldid[model.geom_bodyid] != 0
    sides: dict[float, tuple[dict[str, None], dict[str, None]]] = {}
    own = False
    for a, first in names.items():
        for b, second in names.items():
            meet = (model.geom_contype[a] & model.geom_conaffinity[b]) or (
                model.geom_contype[b] & model.geom_conaffinity[a]
            )
            if meet and moves[a] and not moves[b]:
                friction = float(max(model.geom_friction[a][0], model.geom_friction[b][0]))
                movers, ground = sides.setdefault(friction, ({}, {}))
                movers[first], ground[second] = None, None
            own = own or bool(meet and moves[a] and moves[b] and a != b)
    for friction, (movers, ground) in sides.items():
        name = reader.document.name("contacts", "", kind="ground")
        between = [[*movers], [*ground]]
        reader.document.add("contacts", name, {"between": between, "friction": number(friction)}, None)
    if own:
        message = "contacts among the moving bodies are left out"
        reader.document.note(message, "write `contacts: {own: {between: all}}` for them")


def _matrix(q: np.ndarray) -> np.ndarray:
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _product(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    return np.array([p[0] * q[0] - p[1:] @ q[1:], *(p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:]))])
