"""Contact surfaces, one type per file. A new type is one more file and one more name in `Surface`."""

from typing import Annotated, TypeAlias

from pliant.language.base import ByType
from pliant.surface.base import SurfaceBase
from pliant.surface.box import BoxSurface
from pliant.surface.capsule import CapsuleSurface
from pliant.surface.cylinder import CylinderSurface
from pliant.surface.plane import PlaneSurface
from pliant.surface.solid import ConvexSurface, HeightFieldSurface, MeshSurface
from pliant.surface.sphere import SphereSurface

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
