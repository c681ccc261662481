"""Surfaces in OBJ and PLY files: the sides of their faces, read by trimesh. They have no unit."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from pliant.io.mesh.wireframe import Drawing, MeshProblem, sides


def read_surface(data: bytes, kind: str, what: str) -> Drawing:
    """The sides of all faces of an OBJ or PLY file."""
    try:
        import trimesh
    except ImportError:
        raise MeshProblem(f"reading {what} needs the package trimesh", "install pliant[mesh]") from None
    try:
        mesh: Any = trimesh.load(io.BytesIO(data), file_type=kind, process=False, maintain_order=True, force="mesh")
        corners, faces = np.asarray(mesh.vertices, dtype=float), np.asarray(mesh.faces, dtype=int)
    except Exception as error:  # a reader of files from anywhere raises anything
        raise MeshProblem(f"{what} cannot be read: {str(error)[:100] or type(error).__name__}") from None
    if not len(faces):
        raise MeshProblem(f"{what} has no faces", "export it as a surface")
    return Drawing(corners, sides(faces))
