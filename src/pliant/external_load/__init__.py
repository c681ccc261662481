"""Loads, one type per file. A new type is one more file and one more name here."""

from typing import Annotated, TypeAlias

from pliant.external_load.distributed import Distributed
from pliant.external_load.wrench import Wrench
from pliant.language.base import ByType

Load: TypeAlias = Annotated[Wrench | Distributed, ByType("load", default="wrench")]
