"""Cross-sections of rods. A new type is one more class and one more name here."""

from typing import Annotated, TypeAlias

from pliant.language.base import ByType
from pliant.parts.section.base import Holes
from pliant.parts.section.polygon import Polygon
from pliant.parts.section.shapes import (
    Annulus,
    Circle,
    ExplicitProperties,
    ExplicitStiffness,
    Rectangle,
    Station,
    Table,
)

Section: TypeAlias = Annotated[
    Circle | Annulus | Rectangle | Polygon | ExplicitProperties | ExplicitStiffness | Table,
    ByType("section", key="shape"),
]
