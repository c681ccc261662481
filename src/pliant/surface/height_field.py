"""Terrain given by heights on a grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from pliant.language.base import Problem, fault
from pliant.language.scalar import Length, Scalar
from pliant.language.source import FileProblem, Source, check_file
from pliant.surface.solid import TriangleSurface
from pliant.surface.triangles import Triangles


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

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Extents above zero."""
        yield from super().problems(value)
        for index, entry in enumerate(self.size):
            if value(entry) <= 0:
                yield ("size", index), f"size must be above zero, but it is {value(entry):g} m", ""

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
