"""Equality constraints of MuJoCo as ties of coordinates and loops. They are soft in MuJoCo, and exact here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pliant.foreign.document import number, placement, quaternion_rotation

if TYPE_CHECKING:
    from pliant.foreign.mjcf import Coordinate, Reader

CONNECT, WELD, JOINT, TENDON = range(4)
"""MuJoCo's numbers of equality constraint types."""
SITE_OBJECT = 6
TAGS = ("connect", "weld", "joint", "tendon", "flex", "flexvert", "flexstrain")


def add_equalities(reader: Reader) -> None:
    """Add loops and ties."""
    model = reader.model
    for k in range(model.neq):
        given = model.name("eq", k)
        if not model.eq_active0[k]:
            reader.note("an inactive equality constraint is not imported", given, *TAGS)
        elif model.eq_type[k] == JOINT:
            _tie(reader, k)
        elif model.eq_type[k] in (CONNECT, WELD):
            name = reader.document.name("constraints", given, line=reader.line(given, *TAGS), kind="loop")
            ends = _ends(reader, k)
            components = "position" if model.eq_type[k] == CONNECT else "all"
            entry = {"between": ends, "components": components}
            reader.document.add("constraints", name, entry, reader.line(given, *TAGS))
        else:
            reader.note("an equality constraint of tendons or flexes is not imported", given, *TAGS)


def _ends(reader: Reader, k: int) -> list[Any]:
    """The two frames that a loop connects."""
    model, data = reader.model, reader.model.eq_data[k]
    first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    if model.eq_objtype[k] == SITE_OBJECT:
        return [reader.sites[first], reader.sites[second]]
    if model.eq_type[k] == CONNECT:
        places = [placement(data[0:3], None), placement(data[3:6], None)]
    else:
        places = [placement(data[3:6], quaternion_rotation(data[6:10])), placement(data[0:3], None)]
    names = [reader.bodies[first], reader.bodies[second]]
    return [{"frame": name, **place} if place else name for name, place in zip(names, places, strict=True)]


def _tie(reader: Reader, k: int) -> None:
    """Tie a joint linearly to another, or fix its value."""
    model, data = reader.model, reader.model.eq_data[k]
    first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    given = model.name("eq", k)
    joints = (first,) if second < 0 else (first, second)
    if (data[2:5].any() and second >= 0) or any(j not in reader.coordinates for j in joints):
        reader.note(
            "a nonlinear equality constraint of joints is not imported", given or model.name("jnt", first), "joint"
        )
        return
    own, zero = reader.coordinates[first], float(model.qpos0[model.jnt_qposadr[first]])
    if second < 0:
        if not own.is_tied:
            own.entry["motion"] = number(data[0] + zero)
        else:
            reader.note("an equality constraint of a joint that is already tied is not imported", given, "joint")
        return
    other, ratio = reader.coordinates[second], float(data[1])
    offset = float(data[0] + zero - ratio * model.qpos0[model.jnt_qposadr[second]])
    if own.is_tied and not other.is_tied and ratio:  # a second equality of the joint determines the other one
        own, other, ratio, offset = other, own, 1 / ratio, -offset / ratio
    if own.is_tied or _follows(reader, other, own):
        reader.note("an equality constraint of a joint that is already tied is not imported", given, "joint")
        return
    unit = {(True, False): "rad/m", (False, True): "m/rad"}.get((own.is_angle, other.is_angle), "")
    own.entry["equal_to"] = {"coordinate": other.name}
    if ratio != 1 or unit:
        own.entry["equal_to"]["ratio"] = number(ratio, unit)
    if offset:
        own.entry["equal_to"]["offset"] = number(offset)


def _follows(reader: Reader, first: Coordinate, second: Coordinate) -> bool:
    """Whether a coordinate is tied to another, directly or through others."""
    by_name = {coordinate.name: coordinate for coordinate in reader.coordinates.values()}
    here: Coordinate | None = first
    while here is not None and here is not second:
        tie = here.entry.get("equal_to")
        here = by_name[tie["coordinate"]] if tie else None
    return here is second
