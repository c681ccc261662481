"""Joints. A new type is one more class and one more name in `Joint`."""

from typing import Annotated, TypeAlias

from pliant.language.base import ByType
from pliant.parts.joint.base import JointBase
from pliant.parts.joint.chain import Chain
from pliant.parts.joint.types import Cylindrical, Free, Planar, Prismatic, Revolute, Spherical, Universal, Weld

Joint: TypeAlias = Annotated[
    Revolute | Prismatic | Universal | Cylindrical | Planar | Spherical | Free | Weld | Chain, ByType("joint")
]
