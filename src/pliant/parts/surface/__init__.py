"""Contact surfaces, one type per file. A new type is one more file and one more name in `Surface`."""

from typing import Annotated, TypeAlias

from pliant.language.base import ByType
from pliant.parts.surface.base import SurfaceBase
from pliant.parts.surface.box import BoxSurface
from pliant.parts.surface.capsule import CapsuleSurface
from pliant.parts.surface.cylinder import CylinderSurface
from pliant.parts.surface.plane import PlaneSurface
from pliant.parts.surface.solid import ConvexSurface, HeightFieldSurface, MeshSurface
from pliant.parts.surface.sphere import SphereSurface

Surface: TypeAlias = Annotated[
    PlaneSurface
    | SphereSurface
    | CapsuleSurface
    | CylinderSurface
    | BoxSurface
    | ConvexSurface
    | MeshSurface
    | HeightFieldSurface,
    ByType("surface"),
]
