"""Sensors of MuJoCo as outputs: positions and rates of joints, and the motion of frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pliant.foreign.markup import Element

if TYPE_CHECKING:
    from pliant.foreign.mjcf import Reader

OF_JOINTS = {"jointpos": "value", "jointvel": "rate"}
OF_FRAMES = {
    "framepos": "position",
    "framequat": "quaternion",
    "framelinvel": "velocity",
    "frameangvel": "angular_velocity",
}
"""Sensors and the quantities of outputs that they measure."""
FIXED = ("framepos", "framequat")
"""Sensors that may be relative to another frame; relative velocities are defined differently in MuJoCo."""


def add_sensors(reader: Reader) -> None:
    """Add all sensors; those without a corresponding output are noted."""
    for sensor in reader.prepared.sensors:
        entry = _of_joint(reader, sensor) if sensor.tag in OF_JOINTS else _of_frame(reader, sensor)
        if entry is None:
            message = f"a sensor is not imported: <{sensor.tag}> of this object has no counterpart"
            reader.document.note(message, line=sensor.line, path=sensor.get("name"))
            continue
        if sensor.get("cutoff", "0") not in ("0", "0.0"):
            reader.document.note("the cutoff of a sensor is not imported", line=sensor.line, path=sensor.get("name"))
        target = sensor.get("joint") or sensor.get("objname")
        name = reader.document.name("outputs", sensor.get("name"), line=sensor.line, kind=f"{target}_{sensor.tag}")
        reader.document.add("outputs", name, entry, sensor.line)


def _of_joint(reader: Reader, sensor: Element) -> dict[str, Any] | None:
    """The output of a hinge or slide."""
    for j, coordinate in reader.coordinates.items():
        if reader.model.name("jnt", j) == sensor.get("joint"):
            quantity = OF_JOINTS[sensor.tag]
            return {"coordinate": coordinate.name} | ({"quantity": quantity} if quantity != "value" else {})
    return None


def _of_frame(reader: Reader, sensor: Element) -> dict[str, Any] | None:
    """The output of a site or body."""
    frame = _frame(reader, sensor.get("objtype"), sensor.get("objname"))
    if sensor.tag not in OF_FRAMES or frame is None:
        return None
    found: dict[str, Any] = {"frame": frame, "quantity": OF_FRAMES[sensor.tag]}
    if sensor.get("refname"):
        other = _frame(reader, sensor.get("reftype"), sensor.get("refname"))
        if other is None or sensor.tag not in FIXED:
            return None
        found["relative_to"] = other
    return found


def _frame(reader: Reader, kind: str, name: str) -> str | None:
    """A frame by its type and name in the file: a site, a body, or its inertial frame if that is the frame of the body."""
    model = reader.model
    if kind == "site":
        return next((frame for s, frame in reader.sites.items() if model.name("site", s) == name), None)
    if kind not in ("xbody", "body"):
        return None
    for i in range(model.nbody):
        if model.name("body", i) == name:
            is_centred = not model.body_ipos[i].any() and abs(model.body_iquat[i][0]) == 1.0
            return reader.bodies[i] if kind == "xbody" or is_centred else None
    return None
