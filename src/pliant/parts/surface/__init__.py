"""Contact surfaces. A new type is one more class and one more name in `Surface`."""

from typing import Annotated, TypeAlias

from pliant.language.base import ByType
from pliant.parts.surface.shapes import (
    BoxSurface,
    CapsuleSurface,
    ConvexSurface,
    CylinderSurface,
    EllipsoidSurface,
    HeightFieldSurface,
    MeshSurface,
    PlaneSurface,
    SphereSurface,
)
from pliant.parts.surface.triangles import SurfaceBase

Surface: TypeAlias = Annotated[
    PlaneSurface
    | SphereSurface
    | CapsuleSurface
    | CylinderSurface
    | BoxSurface
    | EllipsoidSurface
    | ConvexSurface
    | MeshSurface
    | HeightFieldSurface,
    ByType("surface"),
]
