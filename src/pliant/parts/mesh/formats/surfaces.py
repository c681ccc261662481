"""Surfaces from files: STL, OBJ and PLY, and the scenes that trimesh reads (COLLADA, glTF).

A surface consists of the sides of its faces, which may have any number of corners in OBJ and PLY, and of the lines of the
file. STL, OBJ and PLY have no unit; COLLADA files state theirs, and glTF files are in metres. Axes are those of the file, as in
other readers of robots.
"""

import json
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pliant.language.limits import limits, most
from pliant.language.source import FileProblem, check_file
from pliant.parts.mesh.formats.wireframe import LIMITS, Drawing, check_counts, fan, sides


@dataclass(frozen=True)
class FileLimits:
    """Limits of what a file may state."""

    ply_header: int = 100_000
    """Of a PLY file [bytes]."""
    repeats: int = 16
    """Maximum number of instances of other nodes in a COLLADA file: nested ones multiply."""
    tags: int = 1_000_000
    """Elements of a COLLADA file."""


FILES = FileLimits()

HEADER, RECORD = 84, 50


def read_stl(data: bytes, what: str) -> Drawing:
    """The sides of all triangles."""
    count = int.from_bytes(data[80:HEADER], "little") if len(data) >= HEADER else -1
    if count >= 0 and len(data) == HEADER + RECORD * count:
        if 3 * count > LIMITS.edges:
            raise FileProblem(
                f"{what} is too large ({count} triangles)", f"at most {LIMITS.edges // 3}; use a coarser mesh"
            )
        records = np.frombuffer(data, dtype=np.uint8, offset=HEADER).reshape(count, RECORD)
        with np.errstate(invalid="ignore"):  # NaN is rejected with the coordinates
            corners = records[:, 12:48].copy().view("<f4").reshape(-1, 3).astype(float)
    else:
        corners = _text_corners(data, what)
    triangles = np.arange(len(corners)).reshape(-1, 3)
    lines = sides(triangles) if len(triangles) else np.zeros((0, 2), dtype=int)
    return Drawing(corners, lines, faces=triangles)


def _text_corners(data: bytes, what: str) -> np.ndarray:
    try:
        words = data.decode("utf-8").split()
    except UnicodeDecodeError:
        words = []
    if not words or words[0].lower() != "solid":
        raise FileProblem(f"{what} is not an STL file: neither its text nor its size fits", "export it again")
    at = [k for k, word in enumerate(words) if word.lower() == "vertex"]
    if len(at) % 3 or (at and at[-1] + 3 >= len(words)):
        raise FileProblem(f"{what} ends within a triangle", "export it again")
    try:
        return np.array([[float(x) for x in words[k + 1 : k + 4]] for k in at]).reshape(-1, 3)
    except ValueError:
        raise FileProblem(f"{what} has a corner that is not three numbers") from None


def read_obj(text: str, what: str) -> Drawing:
    """The sides of faces and the lines of an OBJ file; groups (`g`) and objects (`o`) are labels."""
    points: list[list[float]] = []
    lines: list[tuple[int, int]] = []
    faces: list[tuple[int, int, int]] = []
    labels: dict[str, list[int]] = {}
    ignored: dict[str, int] = {}
    current: list[str] = []
    for number, line in enumerate(text.replace("\\\n", " ").splitlines(), start=1):
        key, *words = line.split("#", 1)[0].split() or [""]
        if key == "v":
            points.append(_obj_numbers(words, number, what))
        elif key in ("f", "l"):
            corners = [_obj_corner(word, len(points), number, what) for word in words]
            if len(corners) < 2 or len(lines) + len(corners) > LIMITS.edges:
                check_counts(len(points), len(lines) + len(corners), what)
                raise FileProblem(f"line {number} of {what} has too few corners")
            after = corners[1:] + corners[:1] if key == "f" and len(corners) > 2 else corners[1:]
            lines += zip(corners, after, strict=False)
            faces += fan(corners) if key == "f" else []
            for name in current:
                labels.setdefault(name, []).extend(corners)
        elif key in ("g", "o"):
            current = words
        elif key in ("curv", "curv2", "surf"):
            ignored[key] = ignored.get(key, 0) + 1
    return Drawing(
        np.array(points, dtype=float).reshape(-1, 3),
        np.array(lines, dtype=int).reshape(-1, 2),
        ignored=ignored,
        labels={name: np.unique(members) for name, members in labels.items()},
        faces=np.array(faces, dtype=int).reshape(-1, 3),
    )


def _obj_numbers(words: list[str], number: int, what: str) -> list[float]:
    try:
        x, y, z = (float(word) for word in words[:3])
    except ValueError:
        raise FileProblem(f"line {number} of {what} is not a point of three numbers") from None
    return [x, y, z]


def _obj_corner(word: str, count: int, number: int, what: str) -> int:
    """Index of a point: from 1 on, or counted back from the last one."""
    try:
        index = int(word.partition("/")[0])
    except ValueError:
        index = 0
    index = index - 1 if index > 0 else count + index
    if not 0 <= index < count or word.startswith("0"):
        raise FileProblem(f"line {number} of {what} refers to a point that it does not have")
    return index


TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2", "uint16": "u2",
    "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "float": "f4", "float32": "f4", "double": "f8", "float64": "f8",
}  # fmt: skip
CODES = {"i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "f4": "f", "f8": "d"}
ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">", "ascii": ""}


@dataclass
class _Element:
    """A type of records: their number, and name, type and type of the count (empty if it is not a list) of each property."""

    name: str
    count: int
    properties: list[tuple[str, str, str]] = field(default_factory=list)


def read_ply(data: bytes, what: str) -> Drawing:
    """The sides of faces and the edges of a PLY file."""
    order, elements, start = _header(data, what)
    for element in elements:
        check_counts(element.count, 0, what)
    numbers = _Numbers(data[start:], order, what)
    points: list[list[float]] = []
    lines: list[tuple[float, float]] = []
    faces: list[tuple[float, float, float]] = []
    for element in elements:
        if element.count and not element.properties:
            raise FileProblem(f"the records '{element.name}' of {what} have no properties")
        for _ in range(element.count):
            record = numbers.record(element)
            if element.name == "vertex":
                points.append([(record.get(axis) or [np.nan])[0] for axis in "xyz"])
            elif element.name == "face":
                corners = record.get("vertex_indices", record.get("vertex_index", []))
                lines += zip(corners, corners[1:] + corners[:1], strict=True)
                faces += fan(corners)
            elif element.name == "edge":
                lines.append(((record.get("vertex1") or [-1])[0], (record.get("vertex2") or [-1])[0]))
            check_counts(len(points), len(lines), what)
    found = np.array(lines, dtype=float).reshape(-1, 2)
    if len(found) and not (found.min() >= 0 and found.max() < len(points)):
        raise FileProblem(f"{what} has faces with corners that it does not have")
    triangles = np.array(faces, dtype=float).reshape(-1, 3).astype(int)
    return Drawing(np.array(points, dtype=float).reshape(-1, 3), found.astype(int), faces=triangles)


def _header(data: bytes, what: str) -> tuple[str, list[_Element], int]:
    """Byte order (empty for text), elements, and the offset of their values."""
    end = data.find(b"end_header", 0, FILES.ply_header)
    start = data.find(b"\n", end) + 1
    if not data.startswith(b"ply") or end < 0 or start == 0:
        raise FileProblem(f"{what} is not a PLY file: it has no complete header", "export it again")
    order, elements = None, list[_Element]()
    for line in data[:end].decode("latin-1").splitlines():
        match line.split():
            case ["format", name, *_] if name in ORDERS:
                order = ORDERS[name]
            case ["element", name, count] if count.isascii() and count.isdigit() and len(count) < 10:
                elements.append(_Element(name, int(count)))
            case ["property", "list", count, kind, name] if elements and {count, kind} <= TYPES.keys():
                elements[-1].properties.append((name, TYPES[kind], TYPES[count]))
            case ["property", kind, name] if elements and kind in TYPES:
                elements[-1].properties.append((name, TYPES[kind], ""))
            case [] | ["ply"] | ["comment" | "obj_info", *_]:
                pass
            case _:
                raise FileProblem(f"the header of {what} has a line that cannot be read: '{line[:40]}'")
    if order is None:
        raise FileProblem(f"{what} does not state its format")
    return order, elements, start


class _Numbers:
    """The numbers after the header, one by one."""

    def __init__(self, data: bytes, order: str, what: str) -> None:
        self.data, self.order, self.what, self.at = data, order, what, 0
        self.words = data.split() if order == "" else []

    def next(self, kind: str) -> float:
        """The next number, which has this type in binary files."""
        try:
            if self.order == "":
                self.at += 1
                return float(self.words[self.at - 1])
            found = struct.unpack_from(self.order + CODES[kind], self.data, self.at)[0]
            self.at += int(kind[1])
            return float(found)
        except (ValueError, IndexError, struct.error):
            raise FileProblem(f"{self.what} ends too early, or has no number where one is needed") from None

    def record(self, element: _Element) -> dict[str, list[float]]:
        """The values of one record by property."""
        found = {}
        for name, kind, count_kind in element.properties:
            count = self.next(count_kind) if count_kind else 1
            if not 0 <= count <= LIMITS.edges:
                raise FileProblem(f"{self.what} has a list of {count:g} entries")
            found[name] = [self.next(kind) for _ in range(int(count))]
        return found


SCENES = (".dae", ".gltf", ".glb")
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
        raise FileProblem(f"{what} needs the packages {needed}", "install pliant[mesh]") from None
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
    except FileProblem:
        raise
    except Exception:  # any exception of the readers on damaged files, including recursion errors
        raise FileProblem(f"{what} is damaged, or has unsupported content", HINT) from None
    _check_size(len(faces), what)
    if not len(faces):
        raise FileProblem(f"{what} has no triangles", HINT)
    if not (faces.min() >= 0 and faces.max() < len(points)):
        raise FileProblem(f"{what} has triangles with corners that it does not have", HINT)
    return Drawing(points * unit, sides(faces), unit="m", faces=faces)


def _check_size(triangles: int, what: str) -> None:
    if 3 * triangles > LIMITS.edges:
        raise FileProblem(f"{what} is too large ({triangles} triangles)", f"at most {LIMITS.edges // 3}")


def _check_instances(read: Any, what: str) -> None:
    """Reject COLLADA whose nodes repeat geometries too often: each instance is a copy."""
    waiting, triangles, visited = list(read.scene.nodes if read.scene is not None else ()), 0, 0
    while waiting:
        node, visited = waiting.pop(), visited + 1
        if visited > FILES.tags:  # nodes may also contain each other
            raise FileProblem(f"{what} has too many instances of nodes", HINT)
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
        raise FileProblem(f"{what} is not a COLLADA file: it is not text in UTF-8", HINT)
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise FileProblem(f"{what} has a document type or entities, which are not read", "remove its <!DOCTYPE ...>")
    if data.count(b"<") > FILES.tags:
        raise FileProblem(f"{what} has too many elements", f"at most {FILES.tags // 2}; {HINT}")
    if data.count(b"<instance_node") > FILES.repeats:
        raise FileProblem(f"{what} has too many instances of nodes", f"at most {FILES.repeats}; {HINT}")


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
        sizes = [
            sum(_primitive_corners(each, counts) for each in mesh["primitives"]) for mesh in tree.get("meshes", ())
        ]
        corners = sum(sizes[int(node["mesh"])] for node in tree.get("nodes", ()) if "mesh" in node)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise FileProblem(f"{what} is not a glTF file", HINT) from None
    if sum(counts) > 3 * LIMITS.edges or min(counts, default=0) < 0:
        raise FileProblem(f"{what} is too large ({sum(counts)} values)", f"at most {3 * LIMITS.edges}")
    _check_size(corners // 3, what)
    if len(set(children)) != len(children) or set(roots) & set(children):
        raise FileProblem(f"{what} has nodes that do not form a tree", HINT)


def _primitive_corners(primitive: Any, counts: Sequence[int]) -> int:
    """Number of corners of the triangles of a primitive, from the numbers of values of all accessors."""
    return counts[int(primitive["indices"] if "indices" in primitive else primitive["attributes"]["POSITION"])]
