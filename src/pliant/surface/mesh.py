"""A triangle mesh."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, StrictBool, model_validator

from pliant.language.base import fault
from pliant.language.scalar import LengthVector
from pliant.language.source import FileProblem, Source
from pliant.mesh.drawing import NodeNumber
from pliant.mesh.formats import read_mesh
from pliant.surface.solid import TriangleSurface
from pliant.surface.triangles import Triangles


class MeshSurface(TriangleSurface):
    """Triangles of a file (STL, OBJ, PLY, DAE or glTF; faces with more corners are cut into triangles), or of a list."""

    type: Literal["mesh"] = "mesh"
    file: str | None = None
    """The file, in the folder of the model or below."""
    unit: str | None = None
    """Unit of the file's numbers, if not metres."""
    points: tuple[LengthVector, ...] | None = Field(default=None, min_length=3)
    """The corners of the triangles instead [m]."""
    faces: tuple[tuple[NodeNumber, NodeNumber, NodeNumber], ...] | None = Field(default=None, min_length=1)
    """Numbers of the three corners of each triangle, from 1 on, anticlockwise seen from outside."""
    closed: StrictBool = True
    """Whether it bounds a solid; its triangles must then form a closed surface and be anticlockwise seen from
    outside. Otherwise it is a sheet that can be touched from both sides, with a thickness of twice its `rounding`."""

    @property
    def is_closed(self) -> bool:
        return self.closed

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        listed = self.points is not None and self.faces is not None
        if (self.file is None) != listed or (not listed and (self.points or self.faces)):
            message = "a surface of triangles needs either a `file`, or `points` and `faces`"
            raise fault("no_triangles", message, hint="give one of them")
        return self

    def values_read(self) -> tuple[Any, ...]:
        return tuple(x for point in self.points or () for x in point)

    def without_files(self) -> Self:
        if self.file is None or not self.is_read:
            return self
        points, faces = (tuple(map(tuple, x.tolist())) for x in (self.triangles.points, self.triangles.faces + 1))
        return self.model_copy(update={"file": None, "unit": None, "points": points, "faces": faces})

    def read(self, source: Source, value: Callable[[Any], float]) -> Triangles:
        key, what = ("faces", "the surface") if self.file is None else ("file", self.file)
        points, faces = self._listed(value) if self.file is None else self._from_file(source, self.file)
        used, numbers = np.unique(faces, return_inverse=True)
        mesh = Triangles(points[used], numbers.reshape(faces.shape))
        flat = ~(mesh.areas > 1e-12 * mesh.areas.max())
        if flat.any():
            message = f"{int(flat.sum())} of the {len(mesh.faces)} triangles of {what} have no area"
            raise FileProblem(message, "remove them (most mesh tools can), or export it with fewer details", (key,))
        if self.closed:
            check_closed(mesh, what, key)
        return mesh

    def _from_file(self, source: Source, file: str) -> tuple[np.ndarray, np.ndarray]:
        found = read_mesh(source.find(file), unit=self.unit)
        if not len(found.faces):
            raise FileProblem(f"{file} has no faces", "export it as a surface (STL, OBJ or PLY)", ("file",))
        return found.nodes, found.faces

    def _listed(self, value: Callable[[Any], float]) -> tuple[np.ndarray, np.ndarray]:
        points = np.array([[float(value(x)) for x in point] for point in self.points or ()])
        faces = np.array(self.faces) - 1
        if faces.max() >= len(points):
            hint = f"there are points 1 to {len(points)}"
            raise FileProblem(f"there is no point {faces.max() + 1}", hint, ("faces",))
        return points, faces


def check_closed(mesh: Triangles, what: str, key: str) -> None:
    """Raise FileProblem if a mesh does not bound a solid, with the number of faulty edges. key: the field that gives it."""
    counts = mesh.edges.counts
    lonely, crowded = int((counts == 1).sum()), int((counts > 2).sum())
    ways = np.stack([mesh.faces, np.roll(mesh.faces, -1, axis=1)], axis=2).reshape(-1, 2)
    turned = len(ways) - len(np.unique(ways, axis=0)) if not crowded else 0
    faults = []
    if lonely:
        faults.append(f"{lonely} of its {len(counts)} edges have one triangle only")
    if crowded:
        faults.append(f"{crowded} have more than two")
    if turned:
        faults.append(f"{turned} have triangles that face opposite ways")
    if faults:
        place = mesh.points[mesh.edges.ends[np.flatnonzero(counts != 2)[0], 0]] if lonely or crowded else None
        near = "" if place is None else f", the first near ({', '.join(f'{x:.4g}' for x in place)}) m"
        hint = "close it with a mesh tool, or give `closed: false` for a sheet that can be touched from both sides"
        raise FileProblem(f"{what} is not closed: {', '.join(faults)}{near}", hint, (key,))
    if mesh.volume < 0:
        message = f"the triangles of {what} point inwards: its volume is {mesh.volume:.4g} m^3"
        raise FileProblem(message, "flip its faces with a mesh tool", (key,))
