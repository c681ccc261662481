"""PLY surfaces, text or binary: the sides of their faces, of any number of corners, and their edges. PLY has no unit."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

from pliant.mesh.formats.wireframe import MAX_EDGES, Drawing, MeshProblem, check_counts, fan

TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2", "uint16": "u2",
    "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "float": "f4", "float32": "f4", "double": "f8", "float64": "f8",
}  # fmt: skip
CODES = {"i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "f4": "f", "f8": "d"}
ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">", "ascii": ""}
LONGEST_HEADER = 100_000


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
            raise MeshProblem(f"the records '{element.name}' of {what} have no properties")
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
        raise MeshProblem(f"{what} has faces with corners that it does not have")
    triangles = np.array(faces, dtype=float).reshape(-1, 3).astype(int)
    return Drawing(np.array(points, dtype=float).reshape(-1, 3), found.astype(int), faces=triangles)


def _header(data: bytes, what: str) -> tuple[str, list[_Element], int]:
    """Byte order (empty for text), elements, and the offset of their values."""
    end = data.find(b"end_header", 0, LONGEST_HEADER)
    start = data.find(b"\n", end) + 1
    if not data.startswith(b"ply") or end < 0 or start == 0:
        raise MeshProblem(f"{what} is not a PLY file: it has no complete header", "export it again")
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
                raise MeshProblem(f"the header of {what} has a line that cannot be read: '{line[:40]}'")
    if order is None:
        raise MeshProblem(f"{what} does not state its format")
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
            raise MeshProblem(f"{self.what} ends too early, or has no number where one is needed") from None

    def record(self, element: _Element) -> dict[str, list[float]]:
        """The values of one record by property."""
        found = {}
        for name, kind, count_kind in element.properties:
            count = self.next(count_kind) if count_kind else 1
            if not 0 <= count <= MAX_EDGES:
                raise MeshProblem(f"{self.what} has a list of {count:g} entries")
            found[name] = [self.next(kind) for _ in range(int(count))]
        return found
