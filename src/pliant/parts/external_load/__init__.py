"""Loads, one type per file. A new type is one more file and one more name here."""

from typing import Annotated, TypeAlias

from pliant.language.base import ByType
from pliant.parts.external_load.distributed import Distributed
from pliant.parts.external_load.wrench import Wrench

Load: TypeAlias = Annotated[Wrench | Distributed, ByType("load", default="wrench")]
