"""COLLADA (.dae) and glTF (.gltf, .glb) surfaces through trimesh: all triangles of their scene, at their positions in it.

COLLADA files state their unit; glTF files are in metres. Axes are those of the file, as in other readers of robots.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pliant.language.limits import limits, most
from pliant.language.source import FileProblem, check_file
from pliant.mesh.formats.wireframe import MAX_EDGES, Drawing, MeshProblem, sides

SCENES = (".dae", ".gltf", ".glb")
REPEATS = 16
"""Maximum number of instances of other nodes in a COLLADA file: nested ones multiply."""
MOST_TAGS = 1_000_000
_METRES = re.compile(r"([0-9.eE+-]+) \* meters")
HINT = "export it again, or as STL or OBJ"


def read_scene(data: bytes, what: str, path: Path) -> Drawing:
    """The sides of all triangles. path: the file; files that it refers to are in its folder."""
    kind = path.suffix.lower().removeprefix(".")
    needed = "pycollada and trimesh" if kind == "dae" else "trimesh"
    _check_markup(data, what) if kind == "dae" else _check_tree(data, what, kind)
    try:
        import trimesh

        if kind == "dae":
            import collada
    except ImportError:
        raise MeshProblem(f"{what} needs the packages {needed}", "install pliant[mesh]") from None
    beside: Any = _SiblingFiles(path.parent) if kind != "dae" else _NoFiles()  # COLLADA files refer to textures only
    # textures are not used, and small files may contain large ones
    options: dict[str, Any] = {"skip_materials": True} if kind != "dae" else {}
    try:
        if kind == "dae":
            _check_instances(collada.Collada(trimesh.util.wrap_as_stream(data), ignore=[collada.common.DaeError]), what)
        scene = trimesh.load_scene(
            trimesh.util.wrap_as_stream(data), file_type=kind, resolver=beside, process=False, **options
        )
        found = scene.to_mesh()
        points, faces = np.asarray(found.vertices, dtype=float), np.asarray(found.faces, dtype=int)
        unit = _unit(scene)
    except MeshProblem:
        raise
    except FileProblem as problem:
        raise MeshProblem(str(problem), problem.hint) from None
    except Exception:  # any exception of the readers on damaged files, including recursion errors
        raise MeshProblem(f"{what} is damaged, or has unsupported content", HINT) from None
    _check_size(len(faces), what)
    if not len(faces):
        raise MeshProblem(f"{what} has no triangles", HINT)
    if not (faces.min() >= 0 and faces.max() < len(points)):
        raise MeshProblem(f"{what} has triangles with corners that it does not have", HINT)
    return Drawing(points * unit, sides(faces), unit="m", faces=faces)


def _check_size(triangles: int, what: str) -> None:
    if 3 * triangles > MAX_EDGES:
        raise MeshProblem(f"{what} is too large ({triangles} triangles)", f"at most {MAX_EDGES // 3}")


def _check_instances(read: Any, what: str) -> None:
    """Reject COLLADA whose nodes repeat geometries too often: each instance is a copy."""
    waiting, triangles, visited = list(read.scene.nodes if read.scene is not None else ()), 0, 0
    while waiting:
        node, visited = waiting.pop(), visited + 1
        if visited > MOST_TAGS:  # nodes may also contain each other
            raise MeshProblem(f"{what} has too many instances of nodes", HINT)
        waiting += getattr(node, "children", ())
        for primitive in getattr(getattr(node, "geometry", None), "primitives", ()):
            triangles += len(primitive)
        _check_size(triangles, what)


def _unit(scene: Any) -> float:
    """Metres per unit of a scene."""
    given = {str(geometry.metadata.get("units", "")) for geometry in scene.geometry.values()}
    match = _METRES.fullmatch(given.pop()) if len(given) == 1 else None
    return float(match[1]) if match else 1.0


class _SiblingFiles:
    """Files that a scene refers to, in its folder only. trimesh reads them by `get`, or as a mapping."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.left = limits().drawing

    def get(self, name: str) -> bytes:
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise FileProblem("it refers to a file outside of its folder", HINT)
        check_file(path, f"the file {path.name}", "drawing")
        self.left -= path.stat().st_size
        if self.left < 0:
            raise FileProblem("it refers to too much data in other files", most("drawing"))
        return path.read_bytes()

    def __getitem__(self, name: str) -> bytes:
        return self.get(name)


class _NoFiles:
    """No files: trimesh omits textures that cannot be read."""

    def get(self, name: str) -> bytes:
        raise FileProblem(f"the file {name} is not read", "")


def _check_markup(data: bytes, what: str) -> None:
    """Reject document types, archives, and nodes that repeat others without limit."""
    if b"\0" in data or not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        raise MeshProblem(f"{what} is not a COLLADA file: it is not text in UTF-8", HINT)
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise MeshProblem(f"{what} has a document type or entities, which are not read", "remove its <!DOCTYPE ...>")
    if data.count(b"<") > MOST_TAGS:
        raise MeshProblem(f"{what} has too many elements", f"at most {MOST_TAGS // 2}; {HINT}")
    if data.count(b"<instance_node") > REPEATS:
        raise MeshProblem(f"{what} has too many instances of nodes", f"at most {REPEATS}; {HINT}")


def _check_tree(data: bytes, what: str, kind: str) -> None:
    """Reject glTF whose sizes do not match its data, and nodes that do not form a tree."""
    try:
        text = data if kind == "gltf" else data[20 : 20 + int.from_bytes(data[12:16], "little")]
        if kind == "glb" and data[:4] != b"glTF":
            raise ValueError
        tree = json.loads(text)
        counts = [int(accessor["count"]) for accessor in tree.get("accessors", ())]
        children = [int(child) for node in tree.get("nodes", ()) for child in node.get("children", ())]
        roots = [int(node) for scene in tree.get("scenes", ()) for node in scene.get("nodes", ())]
        sizes = [sum(_corners(each, counts) for each in mesh["primitives"]) for mesh in tree.get("meshes", ())]
        corners = sum(sizes[int(node["mesh"])] for node in tree.get("nodes", ()) if "mesh" in node)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise MeshProblem(f"{what} is not a glTF file", HINT) from None
    if sum(counts) > 3 * MAX_EDGES or min(counts, default=0) < 0:
        raise MeshProblem(f"{what} is too large ({sum(counts)} values)", f"at most {3 * MAX_EDGES}")
    _check_size(corners // 3, what)
    if len(set(children)) != len(children) or set(roots) & set(children):
        raise MeshProblem(f"{what} has nodes that do not form a tree", HINT)


def _corners(primitive: Any, counts: Sequence[int]) -> int:
    """Number of corners of the triangles of a primitive, from the numbers of values of all accessors."""
    return counts[int(primitive["indices"] if "indices" in primitive else primitive["attributes"]["POSITION"])]
