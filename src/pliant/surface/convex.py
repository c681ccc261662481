"""The convex hull of points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy
from pydantic import Field, model_validator

from pliant.language.base import fault
from pliant.language.scalar import LengthVector
from pliant.language.source import FileProblem, Source
from pliant.mesh.formats import read_mesh
from pliant.surface.solid import TriangleSurface
from pliant.surface.triangles import Triangles, hull


class ConvexSurface(TriangleSurface):
    """The convex hull of points from a list or a file."""

    type: Literal["convex"] = "convex"
    file: str | None = None
    """File with the points, in the folder of the model or below: STL, OBJ, PLY, DAE or glTF."""
    unit: str | None = None
    """Unit of the file's numbers, if not metres."""
    points: tuple[LengthVector, ...] | None = Field(default=None, min_length=4)
    """The points instead [m], at least four."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  wedge: {mass: 300 g, inertia: {principal: [2e-4, 2e-4, 2e-4 kg*m^2]}}
joints:
  flight: {type: free, child: wedge, z: {initial: 10 cm}}
surfaces:
  floor: {type: plane}
  skin:
    {type: convex, parent: wedge, points: [[-4 cm, -3 cm, -2 cm], [4 cm, -3 cm, -2 cm], [-4 cm, 3 cm, -2 cm],
     [4 cm, 3 cm, -2 cm], [-4 cm, -3 cm, 3 cm], [-4 cm, 3 cm, 3 cm]]}
contacts:
  ground: {between: [skin, floor], friction: 0.4}
"""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.file is None) == (self.points is None):
            raise fault("no_points", "a convex surface needs either `points` or a `file`", hint="give one of them")
        return self

    def values_read(self) -> tuple[Any, ...]:
        return tuple(x for point in self.points or () for x in point)

    def without_files(self) -> Self:
        if self.file is None or not self.is_read:
            return self
        points = tuple(map(tuple, self.triangles.points.tolist()))
        return self.model_copy(update={"file": None, "unit": None, "points": points})

    def read(self, source: Source, value: Callable[[Any], float]) -> Triangles:
        if self.file is not None:
            points, key = read_mesh(source.find(self.file), unit=self.unit).nodes, "file"
        else:
            points, key = np.array([[value(x) for x in point] for point in self.points or ()]), "points"
        try:
            return hull(points)
        except (scipy.spatial.QhullError, ValueError):
            message = f"the {len(points)} points have no volume around them"
            raise FileProblem(message, "give points that do not all lie in one plane", (key,)) from None
