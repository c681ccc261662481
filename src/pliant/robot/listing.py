"""Contents of a flat model: its coordinates by name."""

from __future__ import annotations

from dataclasses import dataclass

from pliant.language.message_text import KeyPath
from pliant.language.traversal import parts
from pliant.parts.joint.coordinate import Coordinate, Orientation
from pliant.robot.fields import RobotFields


@dataclass(frozen=True)
class CoordinateEntry:
    """A coordinate: its name, its joint, its label there (`angle`, `x`, ...) and its path in the joint."""

    name: str
    joint: str
    label: str
    coordinate: Coordinate | Orientation
    path: KeyPath


def coordinate_table(flat: RobotFields) -> list[CoordinateEntry]:
    """All coordinates of a flat model, in the order of its joints."""
    table: list[CoordinateEntry] = []
    for joint_name, joint in flat.joints.items():
        own = joint.coordinates()
        paths = [path for part, path in parts(joint) if isinstance(part, (Coordinate, Orientation))]
        for (label, coordinate), path in zip(own.items(), paths, strict=True):
            default = joint_name if len(own) == 1 else f"{joint_name}.{label}"
            table.append(CoordinateEntry(coordinate.name or default, joint_name, label, coordinate, path))
    return table
