"""Tendons: lines routed through points of the robot. A new type is one more class and one more name here."""

from typing import Annotated, TypeAlias

from pliant.language.base import ByType
from pliant.parts.tendon.tendons import ElasticTendon, TendonBase, TensionTendon

Tendon: TypeAlias = Annotated[TensionTendon | ElasticTendon, ByType("tendon")]
