"""Links: force elements between two frames. A new type is one more class and one more name here."""

from typing import Annotated, TypeAlias

from pliant.language.base import ByType
from pliant.parts.link.axial import Axial, LinkBase
from pliant.parts.link.beam import Beam

Link: TypeAlias = Annotated[Axial | Beam, ByType("link")]
