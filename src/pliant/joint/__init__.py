"""Joints, one type per file. A new type is one more file and one more name in `Joint`."""

from typing import Annotated, TypeAlias

from pliant.joint.base import JointBase
from pliant.joint.chain import Chain
from pliant.joint.cylindrical import Cylindrical
from pliant.joint.free import Free
from pliant.joint.planar import Planar
from pliant.joint.prismatic import Prismatic
from pliant.joint.revolute import Revolute
from pliant.joint.spherical import Spherical
from pliant.joint.universal import Universal
from pliant.joint.weld import Weld
from pliant.language.base import ByType

Joint: TypeAlias = Annotated[
    Revolute | Prismatic | Universal | Cylindrical | Planar | Spherical | Free | Weld | Chain, ByType("joint")
]
