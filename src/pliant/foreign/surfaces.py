"""Files of robots, and meshes as surfaces: by their convex hulls, as in other simulators."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from pliant.foreign.document import Document, find_file, number, placement, quaternion_rotation, vector
from pliant.foreign.mjcf_compiled import CompiledMjcf
from pliant.language.limits import limits
from pliant.language.source import FileProblem
from pliant.parts.geometry import arrays
from pliant.parts.mesh.formats import BINARY, SCENES, TEXT, read_mesh
from pliant.parts.surface.triangles import hull

if TYPE_CHECKING:
    from pliant.foreign.mjcf import Reader


MESHES = (*TEXT, *BINARY, *SCENES)


def mesh_surface(
    document: Document, given: str, scale: Sequence[float], *, line: int | None, path: str
) -> dict[str, Any]:
    """The keys of the surface of a mesh file, scaled along x, y and z; empty, with a note, if it cannot be imported."""
    try:
        return _hull(document, given, scale)
    except FileProblem as problem:
        document.note(f"a mesh is not imported: {problem}", problem.hint, line=line, path=f"{path}: {given}")
    return {}


def _hull(document: Document, given: str, scale: Sequence[float]) -> dict[str, Any]:
    suffix = os.path.splitext(given)[1].lower()
    if suffix not in MESHES:
        raise FileProblem(
            f"meshes of the format {suffix or 'without a name'} are not supported", "convert it to STL or OBJ"
        )
    file = find_file(document, given)
    assert document.source.folder is not None
    points = read_mesh(document.source.folder / file).nodes
    try:
        solid = hull(points * list(scale))
    except (scipy.spatial.QhullError, ValueError):
        raise FileProblem("its points enclose no volume") from None
    if min(scale) == max(scale) > 0:
        return {"type": "convex", "file": file, **({"scale": scale[0]} if scale[0] != 1 else {})}
    return {"type": "convex", "points": [vector(point) for point in solid.points]}


PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH = range(8)
"""MuJoCo's numbers of geom types."""


def add_surfaces(reader: Reader) -> None:
    """Add the collision geometry of bodies, or the visual one of bodies without it; and contacts with static geometry."""
    model = reader.model
    collides = (model.geom_contype | model.geom_conaffinity) != 0
    names: dict[int, str] = {}
    for g in range(model.ngeom):
        here, given = int(model.geom_bodyid[g]), model.name("geom", g)
        if not collides[g] and collides[model.geom_bodyid == here].any():
            reader.note("visual geometry of a body is not imported", given, "geom")
            continue
        surface = _surface(reader, g)
        if not surface:
            continue
        is_own = ("geom", given) not in reader.prepared.unnamed and given not in reader.bodies
        stem = given if given in reader.bodies else reader.bodies[here]
        name = reader.document.name(
            "things",
            given if is_own else "",
            line=reader.line(given, "geom"),
            kind="geom" if is_own else f"{stem[:50]}_geom",
        )
        kind = surface.pop("type")
        parent = {} if here == 0 else {"parent": reader.bodies[here]}
        reader.document.add("surfaces", name, {"type": kind, **parent, **surface}, reader.line(given, "geom"))
        if collides[g]:
            names[g] = name
    _add_contacts(reader, names)


def _surface(reader: Reader, g: int) -> dict[str, Any]:
    """The keys of the surface of a geom; empty, with a note, if there is none."""
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
    if kind == ELLIPSOID:
        return {"type": "ellipsoid", **place, "semi_axes": vector(size)}
    if kind == HFIELD:
        return _height_field(reader, g)
    reader.note("a geom of this shape is not imported: there is no such surface", given, "geom")
    return {}


def _height_field(reader: Reader, g: int) -> dict[str, Any]:
    """The keys of a height field over a rectangle, without the block that MuJoCo adds below it."""
    model, given = reader.model, reader.model.name("geom", g)
    h = int(model.geom_dataid[g])
    rows, columns, first = (int(x[h]) for x in (model.hfield_nrow, model.hfield_ncol, model.hfield_adr))
    if 2 * rows * columns > limits().triangles:
        reader.note(f"a height field is not imported: it has too many heights ({rows * columns})", given, "geom")
        return {}
    half_x, half_y, top, _ = (float(x) for x in model.hfield_size[h])
    heights = top * np.asarray(model.hfield_data[first : first + rows * columns], dtype=float).reshape(rows, columns)
    place = placement(model.geom_pos[g], quaternion_rotation(model.geom_quat[g]))
    size = vector([2 * half_x, 2 * half_y])
    # heights are stored in single precision
    return {
        "type": "height_field",
        **place,
        "size": size,
        "heights": [[float(f"{x:.7g}") for x in row] for row in heights],
    }


def _mesh(reader: Reader, g: int) -> dict[str, Any]:
    """The convex hull of a mesh, which is also what collides in MuJoCo. MuJoCo moves meshes to principal axes; a file is placed in
    its own axes."""
    model, given = reader.model, reader.model.name("geom", g)
    m = int(model.geom_dataid[g])
    if model.mesh_facenum[m] == 0:
        reader.note("a mesh without faces is not imported", given, "geom")
        return {}
    first = model.mesh_vertadr[m]
    points = model.mesh_vert[first : first + model.mesh_vertnum[m]].astype(float)
    try:
        solid = hull(points)
    except (scipy.spatial.QhullError, ValueError):
        reader.note("a mesh is not imported: its points enclose no volume", given, "geom")
        return {}
    file, scale = reader.prepared.meshes.get(model.name("mesh", m)), model.mesh_scale[m]
    if file is None or np.ptp(scale) or scale[0] <= 0:
        place = placement(model.geom_pos[g], quaternion_rotation(model.geom_quat[g]))
        return {"type": "convex", **place, "points": [vector(point) for point in solid.points]}
    R = arrays.quaternion_matrix(model.geom_quat[g]) @ arrays.quaternion_matrix(model.mesh_quat[m]).T
    turn = arrays.quaternion_product(model.geom_quat[g], arrays.quaternion_conjugate(model.mesh_quat[m]))
    place = placement(model.geom_pos[g] - R @ model.mesh_pos[m], quaternion_rotation(turn))
    return {"type": "convex", **place, "file": file, **({"scale": number(scale[0])} if scale[0] != 1 else {})}


def _add_contacts(reader: Reader, names: dict[int, str]) -> None:
    """Add contacts of moving with static geometry: one for each friction and each set of partners."""
    model = reader.model
    moves = model.body_weldid[model.geom_bodyid] != 0
    partners: dict[tuple[int, float], list[str]] = {}
    meetings, own = _meetings(reader, names, moves)
    for (mover, ground), friction in meetings.items():
        partners.setdefault((mover, friction), []).append(names[ground])
    groups: dict[tuple[float, tuple[str, ...]], list[str]] = {}
    for (mover, friction), others in partners.items():
        groups.setdefault((friction, tuple(others)), []).append(names[mover])
    for (friction, still), movers in groups.items():
        name = reader.document.name("contacts", "", kind="ground")
        entry = {"between": [movers, [*still]], "friction": number(friction)}
        reader.document.add("contacts", name, entry, None)
    if own:
        message = "contacts between moving bodies are not imported"
        reader.document.note(message, "write `contacts: {own: {between: all}}` for them")
    _note_forces(reader, names)


def _meetings(reader: Reader, names: dict[int, str], moves: np.ndarray) -> tuple[dict[tuple[int, int], float], bool]:
    """Friction of each pair of a moving and a static geom that may touch, and whether two moving geoms may touch.

    Pairs result from the bits of geoms, without excluded ones, and from the list of pairs.
    """
    model, friction, own = reader.model, dict[tuple[int, int], float](), False
    if not model.nmeeting:
        return friction, own
    every = np.array([*names], dtype=int)
    types, bits, bodies = (
        key[every].astype(int) for key in (model.geom_contype, model.geom_conaffinity, model.geom_bodyid)
    )
    moving = moves[every]
    for k in np.flatnonzero(moving):
        a = every[k]
        signature = (np.minimum(bodies[k], bodies) << 16) + np.maximum(bodies[k], bodies)
        meets = ((types[k] & bits) | (types & bits[k])) != 0
        meets &= (bodies != bodies[k]) & ~np.isin(signature, model.exclude_signature)
        own = own or bool((meets & moving).any())
        friction |= {(int(a), int(b)): _friction(model, int(a), int(b)) for b in every[meets & ~moving]}
    for pair in range(model.npair):
        ends = (int(model.pair_geom1[pair]), int(model.pair_geom2[pair]))
        first, second = sorted(ends, key=lambda g: not moves[g])
        if first in names and second in names and moves[first]:
            own = own or bool(moves[second])
            if not moves[second]:
                friction[first, second] = float(model.pair_friction[pair][0]) if model.pair_dim[pair] > 1 else 0.0
    return friction, own


def _friction(model: CompiledMjcf, a: int, b: int) -> float:
    """Friction of two geoms: that of the geom with the higher priority, otherwise the larger; zero in frictionless contacts."""
    chosen = [g for g in (a, b) if model.geom_priority[g] == max(model.geom_priority[a], model.geom_priority[b])]
    if max(int(model.geom_condim[g]) for g in chosen) == 1:
        return 0.0
    return max(float(model.geom_friction[g][0]) for g in chosen)


def _note_forces(reader: Reader, names: dict[int, str]) -> None:
    """Record notes on forces between surfaces that are not imported."""
    model = reader.model
    for g in names:
        given = model.name("geom", g)
        if model.geom_margin[g] or model.geom_gap[g]:
            reader.note("margin and gap of a geom are not imported", given, "geom")
        if model.largest("geom_adhesion", g) or model.largest("geom_surfacevel", g):
            reader.note("adhesion and velocity of a surface are not imported", given, "geom")
