"""Joints. A new type is one more class and one more name in `Joint`."""

from typing import Annotated, TypeAlias

from pliant.language.base import ByType
from pliant.parts.joint.types import (
    Chain,
    Cylindrical,
    Free,
    JointBase,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
    Weld,
)

Joint: TypeAlias = Annotated[
    Revolute | Prismatic | Universal | Cylindrical | Planar | Spherical | Free | Weld | Chain, ByType("joint")
]
