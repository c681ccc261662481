"""Contact surfaces, one type per file. A new type is one more file and one more name in `Surface`."""

from typing import Annotated, TypeAlias

from pliant.language.base import ByType
from pliant.surface.base import SurfaceBase
from pliant.surface.box import BoxSurface
from pliant.surface.capsule import CapsuleSurface
from pliant.surface.convex import ConvexSurface
from pliant.surface.cylinder import CylinderSurface
from pliant.surface.height_field import HeightFieldSurface
from pliant.surface.mesh import MeshSurface
from pliant.surface.plane import PlaneSurface
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
