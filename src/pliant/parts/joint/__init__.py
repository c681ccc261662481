"""Joints, one type per file. A new type is one more file and one more name in `Joint`."""

from typing import Annotated, TypeAlias

from pliant.language.base import ByType
from pliant.parts.joint.base import JointBase
from pliant.parts.joint.chain import Chain
from pliant.parts.joint.cylindrical import Cylindrical
from pliant.parts.joint.free import Free
from pliant.parts.joint.planar import Planar
from pliant.parts.joint.prismatic import Prismatic
from pliant.parts.joint.revolute import Revolute
from pliant.parts.joint.spherical import Spherical
from pliant.parts.joint.universal import Universal
from pliant.parts.joint.weld import Weld

Joint: TypeAlias = Annotated[
    Revolute | Prismatic | Universal | Cylindrical | Planar | Spherical | Free | Weld | Chain, ByType("joint")
]
