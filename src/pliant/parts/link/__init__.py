"""Links: force elements between two frames, one type per file. A new type is one more name here."""

from typing import Annotated, TypeAlias

from pliant.language.base import ByType
from pliant.parts.link.axial import Axial
from pliant.parts.link.base import LinkBase
from pliant.parts.link.beam import Beam

Link: TypeAlias = Annotated[Axial | Beam, ByType("link")]
