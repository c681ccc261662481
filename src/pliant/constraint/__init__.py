"""Constraints, one type per file. A new type is one more file and one more name here."""

from typing import Annotated, TypeAlias

from pliant.constraint.frames import Frames
from pliant.language.base import ByType

Constraint: TypeAlias = Annotated[Frames, ByType("constraint", default="frames")]
