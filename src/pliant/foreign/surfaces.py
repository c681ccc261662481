"""Files of robots, and meshes as surfaces: by their convex hulls, as in other simulators."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import scipy

from pliant.foreign.document import Document, vector
from pliant.language.source import FileProblem
from pliant.mesh.formats import BINARY, SCENES, TEXT, read_mesh
from pliant.surface.triangles import hull

SCHEMES = ("package://", "model://")
"""Prefixes of files in packages, followed by the name of the package and the path in it."""
MESHES = (*TEXT, *BINARY, *SCENES)


def find_file(document: Document, given: str) -> str:
    """The path of a file of a robot, relative to the folder of the robot; raises FileProblem if it is not in a declared folder."""
    for name in _candidates(document, given):
        try:
            found = document.source.find(name)
        except FileProblem:
            continue
        assert document.source.folder is not None, "files are found in folders"
        return os.path.relpath(found, document.source.folder.resolve())
    hint = "declare its folder, or that of its package, with --folder (in Python, `folders`)"
    raise FileProblem("its file is in none of the declared folders", hint)


def _candidates(document: Document, given: str) -> Iterator[str]:
    """Paths to try for a file: as given, or for a package in every declared folder."""
    scheme = next((scheme for scheme in SCHEMES if given.startswith(scheme)), None)
    if scheme is None:
        yield given.removeprefix("file://")
        return
    package, _, inside = given.removeprefix(scheme).partition("/")
    for folder in (document.source.folder, *document.source.roots):
        if folder is not None:
            root = folder.resolve()
            yield str(root / package / inside)
            if root.name == package:
                yield str(root / inside)


def mesh_surface(
    document: Document, given: str, scale: Sequence[float], *, line: int | None, path: str
) -> dict[str, Any]:
    """The keys of the surface of a mesh file, scaled along x, y and z; empty, with a note, if it cannot be imported."""
    try:
        return _hull(document, given, scale)
    except FileProblem as problem:
        document.note(f"a mesh is not imported: {problem}", problem.hint, line=line, path=f"{path}: {given}")
    return {}


def _hull(document: Document, given: str, scale: Sequence[float]) -> dict[str, Any]:
    suffix = os.path.splitext(given)[1].lower()
    if suffix not in MESHES:
        raise FileProblem(
            f"meshes of the format {suffix or 'without a name'} are not supported", "convert it to STL or OBJ"
        )
    file = find_file(document, given)
    assert document.source.folder is not None
    points = read_mesh(document.source.folder / file).nodes
    try:
        solid = hull(points * list(scale))
    except (scipy.spatial.QhullError, ValueError):
        raise FileProblem("its points enclose no volume") from None
    if min(scale) == max(scale) > 0:
        return {"type": "convex", "file": file, **({"scale": scale[0]} if scale[0] != 1 else {})}
    return {"type": "convex", "points": [vector(point) for point in solid.points]}
