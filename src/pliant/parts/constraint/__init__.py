"""Constraints, one type per file. A new type is one more file and one more name here."""

from typing import Annotated, TypeAlias

from pliant.language.base import ByType
from pliant.parts.constraint.frames import Frames

Constraint: TypeAlias = Annotated[Frames, ByType("constraint", default="frames")]
