"""A triangle mesh from a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from pydantic import StrictBool

from pliant.language.source import FileProblem, Source
from pliant.mesh.formats import read_mesh
from pliant.surface.solid import TriangleSurface
from pliant.surface.triangles import Triangles


class MeshSurface(TriangleSurface):
    """Triangles of a file: STL, OBJ or PLY. Faces with more corners are cut into triangles."""

    type: Literal["mesh"] = "mesh"
    file: str
    """The file, in the folder of the model or below."""
    unit: str | None = None
    """Unit of the file's numbers, if not metres."""
    closed: StrictBool = True
    """Whether it bounds a solid; its triangles must then form a closed surface and be counterclockwise seen from
    outside. Otherwise it is a sheet that can be touched from both sides, with a thickness of twice its `rounding`."""

    @property
    def is_closed(self) -> bool:
        return self.closed

    def read(self, source: Source, value: Callable[[Any], float]) -> Triangles:
        found = read_mesh(source.find(self.file), unit=self.unit)
        if not len(found.faces):
            raise FileProblem(f"{self.file} has no faces", "export it as a surface (STL, OBJ or PLY)", ("file",))
        used, numbers = np.unique(found.faces, return_inverse=True)
        mesh = Triangles(found.nodes[used], numbers.reshape(found.faces.shape))
        flat = ~(mesh.areas > 1e-12 * mesh.areas.max())
        if flat.any():
            message = f"{int(flat.sum())} of the {len(mesh.faces)} triangles of {self.file} have no area"
            raise FileProblem(message, "remove them (most mesh tools can), or export it with fewer details", ("file",))
        if self.closed:
            check_closed(mesh, self.file)
        return mesh


def check_closed(mesh: Triangles, what: str) -> None:
    """Reject a mesh that does not bound a solid, with counts of its defects."""
    counts = mesh.edges.counts
    lonely, crowded = int((counts == 1).sum()), int((counts > 2).sum())
    ways = np.stack([mesh.faces, np.roll(mesh.faces, -1, axis=1)], axis=2).reshape(-1, 2)
    turned = len(ways) - len(np.unique(ways, axis=0)) if not crowded else 0
    said = []
    if lonely:
        said.append(f"{lonely} of its {len(counts)} edges have one triangle only")
    if crowded:
        said.append(f"{crowded} have more than two")
    if turned:
        said.append(f"{turned} have triangles that show to opposite sides")
    if said:
        place = mesh.points[mesh.edges.ends[np.flatnonzero(counts != 2)[0], 0]] if lonely or crowded else None
        near = "" if place is None else f", the first near ({', '.join(f'{x:.4g}' for x in place)}) m"
        hint = "close it with a mesh tool, or use `closed: false` for a sheet"
        raise FileProblem(f"{what} is not closed: {', '.join(said)}{near}", hint, ("file",))
    if mesh.volume < 0:
        message = f"the triangles of {what} point inwards: its volume is {mesh.volume:.4g} m^3"
        raise FileProblem(message, "flip its faces with a mesh tool", ("file",))
