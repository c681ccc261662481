"""Rods: soft parts, each in one of several models. A new model is one more file and one more name here."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pliant.language.base import ByType
from pliant.rod.cc import Cc
from pliant.rod.cog import Cog
from pliant.rod.eba import Eba
from pliant.rod.ebr import Ebr
from pliant.rod.fe import Fe
from pliant.rod.rom import Rom
from pliant.rod.srl import Srl
from pliant.rod.timoshenko import Timoshenko

RodModel: TypeAlias = Annotated[Cc | Cog | Ebr | Eba | Fe | Rom | Srl | Timoshenko, ByType("rod model", key="kind")]

__all__ = ["Cc", "Cog", "Eba", "Ebr", "Fe", "RodModel", "Rom", "Srl", "Timoshenko"]
