"""DXF drawings (text): lines, polylines and faces, in the unit of the header."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pliant.mesh.formats.wireframe import Drawing, MeshProblem

UNITS = {1: "inch", 2: "ft", 3: "mile", 4: "mm", 5: "cm", 6: "m", 7: "km", 8: "uin", 9: "mil", 10: "yd", 12: "nm",
         13: "um", 14: "dm"}  # fmt: skip
"""Unit flags `$INSUNITS`; others say nothing of lengths used here."""

CLOSED, IN_SPACE, MESHES = 1, 8, 16 | 64
"""Flags of polylines: closed, with corners in space, and not a line but a mesh of faces."""

Group = tuple[int, str]


def read_dxf(text: str, what: str) -> Drawing:
    """The lines of a DXF file; layers are labels. Blocks and curves are left out, and counted."""
    if text.startswith("AutoCAD Binary DXF"):
        raise MeshProblem(f"{what} is a binary DXF file", "save it as text (ASCII) DXF")
    groups = list(_groups(text, what))
    found = _Lines()
    for entity in _entities(groups, what):
        found.take(entity)
    kept = [(layer, chain) for layer, chain in found.chains if len(chain) > 1]
    chains = [chain for _, chain in kept]
    starts = np.cumsum([0] + [len(chain) for chain in chains])
    lines = [np.column_stack([np.arange(a, b - 1), np.arange(a + 1, b)]) for a, b in pairwise(starts)]
    return Drawing(
        np.concatenate(chains) if chains else np.zeros((0, 3)),
        np.concatenate(lines) if lines else np.zeros((0, 2), dtype=int),
        np.reshape(found.loose, (-1, 3)),
        UNITS.get(_header_unit(groups), ""),
        found.ignored,
        _members([layer for layer, _ in kept], starts),
    )


@dataclass(frozen=True)
class _Entity:
    """Something drawn: its kind, and its groups in a file."""

    kind: str
    data: list[Group]
    what: str

    def text(self, code: int, default: str) -> str:
        """The first value of a group."""
        return next((value for found, value in self.data if found == code), default)

    def numbers(self, code: int) -> list[float]:
        """All values of a group."""
        return [self._number(value) for found, value in self.data if found == code]

    def flags(self) -> int:
        """Its flags; none where they cannot be read."""
        try:
            return int(self.text(70, "0"))
        except ValueError:
            return 0

    def point(self, index: int) -> list[float]:
        """Point number `index`: groups 10 + index, 20 + index, 30 + index."""
        return [self._number(self.text(code + index, "0")) for code in (10, 20, 30)]

    def axes(self) -> np.ndarray:
        """Axes, as rows, that a flat thing is drawn in: z is given, and x follows from it by the rule of the format."""
        z = np.array([self._number(self.text(code, default)) for code, default in ((210, "0"), (220, "0"), (230, "1"))])
        length = float(np.linalg.norm(z))
        if not 0 < length < float("inf"):
            return np.eye(3)
        z = z / length
        x = np.cross([0, 1, 0] if max(abs(z[0]), abs(z[1])) < 1 / 64 else [0, 0, 1], z)
        x = x / np.linalg.norm(x)
        return np.array([x, np.cross(z, x), z])

    def _number(self, value: str) -> float:
        try:
            return float(value)
        except ValueError:
            raise MeshProblem(f"{self.what} has '{value[:30]}' where a number is needed") from None


class _Lines:
    """What has been read: chains of points with their layers, single points, and how often what was left out."""

    def __init__(self) -> None:
        self.chains: list[tuple[str, np.ndarray]] = []
        self.loose: list[np.ndarray] = []
        self.ignored: dict[str, int] = {}
        self.polyline: _Entity | None = None
        self.corners: list[list[float]] = []

    def take(self, entity: _Entity) -> None:
        """Read an entity by its kind."""
        if (67, "1") in entity.data:
            self.leave_out(f"{entity.kind} on paper")
            return
        if entity.kind in ("VERTEX", "LWPOLYLINE") and any(entity.numbers(42)):
            self.leave_out("arc of a polyline, read as straight")
        READERS.get(entity.kind, _Lines.unknown)(self, entity)

    def leave_out(self, thing: str) -> None:
        self.ignored[thing] = self.ignored.get(thing, 0) + 1

    def unknown(self, entity: _Entity) -> None:
        self.leave_out(entity.kind)

    def add(self, entity: _Entity, chain: np.ndarray, *, closed: bool = False) -> None:
        self.chains.append((entity.text(8, "0"), _closed(chain, closed)))

    def line(self, entity: _Entity) -> None:
        self.add(entity, np.array([entity.point(0), entity.point(1)]))

    def point(self, entity: _Entity) -> None:
        self.loose.append(np.array(entity.point(0)))

    def face(self, entity: _Entity) -> None:
        self.add(entity, np.array([entity.point(k) for k in range(4)]), closed=True)

    def solid(self, entity: _Entity) -> None:
        """The third and fourth corner of these are exchanged."""
        self.add(entity, np.array([entity.point(k) for k in (0, 1, 3, 2)]) @ entity.axes(), closed=True)

    def light_polyline(self, entity: _Entity) -> None:
        x, y = entity.numbers(10), entity.numbers(20)
        if len(x) != len(y):
            raise MeshProblem(f"a polyline of {entity.what} is incomplete")
        elevation = next(iter(entity.numbers(38)), 0.0)
        corners = np.column_stack([x, y, np.full(len(x), elevation)])
        self.add(entity, corners @ entity.axes(), closed=bool(entity.flags() & CLOSED))

    def begin_polyline(self, entity: _Entity) -> None:
        """Its corners follow as entities of their own."""
        self.polyline, self.corners = entity, []
        if entity.flags() & MESHES:
            self.polyline = None
            self.leave_out("POLYLINE of faces")

    def corner(self, entity: _Entity) -> None:
        if self.polyline is not None:
            self.corners.append(entity.point(0))

    def end_polyline(self, entity: _Entity) -> None:
        begun, self.polyline = self.polyline, None
        if begun is not None:
            axes = np.eye(3) if begun.flags() & IN_SPACE else begun.axes()
            self.add(begun, np.reshape(self.corners, (-1, 3)) @ axes, closed=bool(begun.flags() & CLOSED))


READERS: dict[str, Callable[[_Lines, _Entity], None]] = {
    "LINE": _Lines.line,
    "POINT": _Lines.point,
    "3DFACE": _Lines.face,
    "SOLID": _Lines.solid,
    "TRACE": _Lines.solid,
    "LWPOLYLINE": _Lines.light_polyline,
    "POLYLINE": _Lines.begin_polyline,
    "VERTEX": _Lines.corner,
    "SEQEND": _Lines.end_polyline,
}
"""How kinds of entities are read."""


def _members(layers: list[str], starts: np.ndarray) -> dict[str, np.ndarray]:
    """Points of every layer."""
    found: dict[str, list[np.ndarray]] = {}
    for name, (first, end) in zip(layers, pairwise(starts), strict=True):
        found.setdefault(name, []).append(np.arange(first, end))
    return {name: np.concatenate(parts) for name, parts in found.items()}


def _groups(text: str, what: str) -> Iterator[Group]:
    """Group codes and values, from pairs of lines."""
    lines = text.splitlines()
    for k in range(0, len(lines) - 1, 2):
        try:
            yield int(lines[k]), lines[k + 1].strip()
        except ValueError:
            raise MeshProblem(f"{what} is not a DXF file: line {k + 1} is no group code") from None


def _entities(groups: list[Group], what: str) -> Iterator[_Entity]:
    """Everything in the section ENTITIES."""
    inside, kind, data = False, "", list[Group]()
    found = False
    for k, (code, value) in enumerate(groups):
        if code == 0:
            if inside and kind:
                yield _Entity(kind, data, what)
            kind, data = value, []
            if value == "ENDSEC":
                inside, kind = False, ""
            elif value == "SECTION":
                kind = ""
                inside = k + 1 < len(groups) and groups[k + 1] == (2, "ENTITIES")
                found |= inside
        elif inside:
            data.append((code, value))
    if inside and kind:
        yield _Entity(kind, data, what)
    if not found:
        raise MeshProblem(f"{what} is not a DXF drawing: it has no section ENTITIES")


def _closed(chain: np.ndarray, closed: bool) -> np.ndarray:
    return np.vstack([chain, chain[:1]]) if closed and len(chain) > 2 else chain


def _header_unit(groups: list[Group]) -> int:
    for (code, value), (_, flag) in pairwise(groups):
        if code == 9 and value == "$INSUNITS":
            return int(flag) if flag.lstrip("-").isdigit() else 0
        if code == 2 and value == "ENTITIES":
            break
    return 0
