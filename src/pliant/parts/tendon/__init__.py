"""Tendons: lines routed through points of the robot, one type per file. A new type is one more name here."""

from typing import Annotated, TypeAlias

from pliant.language.base import ByType
from pliant.parts.tendon.base import TendonBase
from pliant.parts.tendon.elastic import ElasticTendon
from pliant.parts.tendon.tension import TensionTendon

Tendon: TypeAlias = Annotated[TensionTendon | ElasticTendon, ByType("tendon")]
