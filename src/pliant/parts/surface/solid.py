"""Common base of triangulated surfaces, which have their triangles once files have been read."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import casadi as ca
import numpy as np
import scipy
from pydantic import Field, PrivateAttr, StrictBool, model_validator

from pliant.language.base import FromFiles, fault
from pliant.language.limits import limits, most
from pliant.language.scalar import Length, LengthVector, Number
from pliant.language.source import FileProblem, Source, check_file
from pliant.parts.assembly.build import Build
from pliant.parts.field import hydrodynamics
from pliant.parts.field.hydrodynamics import Hull
from pliant.parts.geometry.se3 import Pose
from pliant.parts.mesh.drawing import NodeNumber
from pliant.parts.mesh.formats import read_mesh
from pliant.parts.surface.triangles import SurfaceBase, Triangles, add_faces, hull

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

    above_zero, not_below_zero = ("scale",), ("rounding",)

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

    def hull(self, build: Build) -> tuple[Hull, Pose] | None:
        if not self.is_solid:
            return None
        scale = build.value(self.scale)
        hull, axes, center = hydrodynamics.polyhedron(self.triangles.points, self.triangles.faces, scale)
        return hull, (ca.DM(axes), ca.DM(center) * scale)

    def extent(self, build: Build) -> Any:
        return float(self.triangles.extents[0]) / 2 * build.value(self.scale) if self.is_solid else None


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


class HeightFieldSurface(TriangleSurface):
    """Terrain over a rectangle around the origin of the surface: heights along z at the points of a grid, two triangles in each
    cell."""

    type: Literal["height_field"] = "height_field"
    size: tuple[Length, Length]
    """Extents of the rectangle along x and y [m]."""
    heights: tuple[tuple[Length, ...], ...] | None = Field(default=None, min_length=2)
    """Rows of heights [m]: the first row at the smallest y, the first entry of each at the smallest x."""
    file: str | None = None
    """File with the rows instead, in the folder of the model or below: numbers in metres, separated by spaces or commas."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  ball: {mass: 100 g, shape: {type: sphere, radius: 3 cm}}
joints:
  flight: {type: free, child: ball, z: {initial: 10 cm}}
surfaces:
  bowl: {type: height_field, size: [60 cm, 60 cm], heights: [[6 cm, 4 cm, 6 cm], [4 cm, 0, 4 cm], [6 cm, 4 cm, 6 cm]]}
contacts:
  ground: {between: [ball, bowl], friction: 0.4}
"""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.file is None) == (self.heights is None):
            raise fault("no_heights", "a height field needs either `heights` or a `file`", hint="give one of them")
        return self

    @property
    def is_solid(self) -> bool:
        return False

    above_zero = ("size",)

    def values_read(self) -> tuple[Any, ...]:
        return (*self.size, *(x for row in self.heights or () for x in row))

    def without_files(self) -> Self:
        if self.file is None or not self.is_read:
            return self
        points = self.triangles.points
        rows = np.split(points[:, 2], np.flatnonzero(np.diff(points[:, 1]) != 0) + 1)
        return self.model_copy(update={"file": None, "heights": tuple(tuple(row.tolist()) for row in rows)})

    def read(self, source: Source, value: Callable[[Any], float]) -> Triangles:
        heights = self._rows(source, value)
        rows, columns = heights.shape
        if rows < 2 or columns < 2:
            message = f"a height field needs at least 2 x 2 heights, but it has {rows} x {columns}"
            raise FileProblem(message, "", ("heights" if self.file is None else "file",))
        x, y = (
            value(size) * (np.arange(n) / (n - 1) - 0.5) for size, n in zip(self.size, (columns, rows), strict=True)
        )
        points = np.stack([np.tile(x, rows), np.repeat(y, columns), heights.ravel()], axis=1)
        index = np.arange(rows * columns).reshape(rows, columns)
        a, b, c, d = (k.ravel() for k in (index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]))
        faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
        return Triangles(points, faces)

    def _rows(self, source: Source, value: Callable[[Any], float]) -> np.ndarray:
        if self.heights is not None:
            lengths = {len(row) for row in self.heights}
            if len(lengths) > 1:
                message = f"all rows must have the same number of heights, but they have {', '.join(map(str, sorted(lengths)))}"
                raise FileProblem(message, "", ("heights",))
            return np.array([[value(x) for x in row] for row in self.heights])
        return read_rows(source, self.file or "")


def read_rows(source: Source, name: str) -> np.ndarray:
    """Rows of numbers in a text file, as a matrix; raises FileProblem."""
    path = source.find(name)
    try:
        check_file(path, name, "table")
        text = path.read_bytes().decode("utf-8-sig")
    except FileProblem as problem:
        raise FileProblem(str(problem), problem.hint, ("file",)) from None
    except UnicodeDecodeError:
        raise FileProblem(f"{name} is not a text file", "save the heights as numbers in lines", ("file",)) from None
    rows: list[list[float]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split("#", 1)[0].replace(",", " ").split()
        if not words:
            continue
        try:
            row = [float(word) for word in words]
        except ValueError:
            raise FileProblem(f"line {number} of {name} is not a row of numbers", "", ("file",)) from None
        if not np.all(np.abs(row) < 1e9):
            raise FileProblem(f"line {number} of {name} has a height that is not a finite number", "", ("file",))
        if rows and len(row) != len(rows[0]):
            message = f"line {number} of {name} has {len(row)} heights, but the first row has {len(rows[0])}"
            raise FileProblem(message, "", ("file",))
        rows.append(row)
    if not rows:
        raise FileProblem(f"{name} has no heights", "", ("file",))
    return np.array(rows)


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
