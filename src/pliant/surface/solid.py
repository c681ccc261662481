"""Common base of triangulated surfaces, which have their triangles once files have been read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import casadi as ca
from pydantic import PrivateAttr

from pliant.geometry.se3 import Pose
from pliant.language.base import FromFiles, Problem, positive
from pliant.language.limits import limits, most
from pliant.language.scalar import Length, Number, Scalar
from pliant.language.source import FileProblem, Source
from pliant.surface.base import SurfaceBase
from pliant.surface.faces import add_faces
from pliant.surface.triangles import Triangles

if TYPE_CHECKING:
    from typing import Self

    from pliant.model.build import Build

ROUND = 0.01
"""Default radius of the edges relative to the smallest extent."""


class TriangleSurface(FromFiles, SurfaceBase):
    """A surface whose triangles are given by files or lists."""

    scale: Number = 1
    """Factor on all its lengths [-]."""
    rounding: Length | None = None
    """Radius of its edges and corners [m]; the faces of a solid do not move. Default: a hundredth of the smallest extent of a
    solid, otherwise 0."""

    _triangles: Triangles | None = PrivateAttr(default=None)

    @abstractmethod
    def read(self, source: Source, value: Callable[[Any], float]) -> Triangles:
        """Its triangles, before `scale`; raises FileProblem."""

    @property
    def is_closed(self) -> bool:
        """Whether the back of its triangles is inside."""
        return True

    @property
    def is_solid(self) -> bool:
        """Whether it encloses a volume, so that it can be shrunk by the rounding."""
        return self.is_closed

    @property
    def triangles(self) -> Triangles:
        """Its triangles, before `scale`."""
        assert self._triangles is not None, "flattening reads the files"
        return self._triangles

    @property
    def is_read(self) -> bool:
        return self._triangles is not None

    def with_files(self, source: Source, value: Callable[[Any], float]) -> Self:
        found = self.read(source, value)
        if len(found.faces) > limits().triangles:
            message = f"the surface has {len(found.faces)} triangles"
            raise FileProblem(message, f"use a coarser mesh; {most('triangles')}")
        copy = self.model_copy()
        copy._triangles = found
        return copy

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """A scale above zero, and a rounding that is not negative."""
        yield from positive(self, value, "scale")
        if self.rounding is not None and value(self.rounding) < 0:
            yield ("rounding",), f"rounding must not be negative, but it is {value(self.rounding):g} m", ""

    def default_rounding(self) -> float:
        """Radius of the edges if none is given, before `scale` [m]."""
        return ROUND * float(self.triangles.extents[0]) if self.is_solid else 0.0

    def shapes(self, build: Build, name: str, node: int, pose: Pose) -> list[int]:
        scale = build.value(self.scale)
        radius = self.default_rounding() * scale if self.rounding is None else build.value(self.rounding)
        own = build.nominal(radius) / build.nominal(scale)
        if self.is_solid and own >= self.triangles.extents[0] / 2:
            thick = self.triangles.extents[0] * build.nominal(scale)
            most = f"half the smallest extent of the surface, {thick / 2:g} m"
            message = f"rounding must be below {most}, but it is {build.nominal(radius):g} m"
            build.require(-1.0, f"surfaces.{name}.rounding", message, "")
        core = self.triangles.shrunk(own) if self.is_solid and own > 0 else self.triangles
        points = ca.DM(core.points.T) * scale
        return [
            add_faces(
                build, name, node, pose, points, core.faces, radius=radius, closed=self.is_closed, solid=self.is_solid
            )
        ]

    def extent(self, build: Build) -> Any:
        return float(self.triangles.extents[0]) / 2 * build.value(self.scale) if self.is_solid else None
