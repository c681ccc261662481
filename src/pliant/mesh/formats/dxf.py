"""DXF drawings (text): lines, polylines and faces, in the unit of the header."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from pliant.mesh.formats.wireframe import Drawing, MeshProblem

UNITS = {1: "inch", 2: "ft", 3: "mile", 4: "mm", 5: "cm", 6: "m", 7: "km", 8: "uin", 9: "mil", 10: "yd", 12: "nm",
         13: "um", 14: "dm"}  # fmt: skip
"""Unit flags `$INSUNITS`; others say nothing of lengths used here."""

FLAT = ("LWPOLYLINE", "POLYLINE", "SOLID", "TRACE")
"""Drawn in axes of their own, which follow from the direction that their plane is square to."""
CLOSED, IN_SPACE, MESHES = 1, 8, 16 | 64
"""Flags of polylines: closed, with corners in space, and not a line but a mesh of faces."""

Group = tuple[int, str]


def read_dxf(text: str, what: str) -> Drawing:
    """The lines of a DXF file; layers are labels. Blocks and curves are left out, and counted."""
    if text.startswith("AutoCAD Binary DXF"):
        raise MeshProblem(f"{what} is a binary DXF file", "save it as text (ASCII) DXF")
    groups = list(_groups(text, what))
    chains: list[np.ndarray] = []
    loose: list[np.ndarray] = []
    ignored: dict[str, int] = {}
    polyline: list[list[float]] | None = None
    closed = False
    layers: list[str] = []
    layer = ""
    axes = np.eye(3)

    def leave_out(thing: str) -> None:
        ignored[thing] = ignored.get(thing, 0) + 1

    for kind, data in _entities(groups, what):
        if any(code == 67 and value == "1" for code, value in data):
            leave_out(f"{kind} on paper")
            continue
        if kind not in ("VERTEX", "SEQEND"):
            layer = next((value for code, value in data if code == 8), "0")
            axes = _axes(data, what) if kind in FLAT else np.eye(3)
        if kind in ("VERTEX", "LWPOLYLINE") and any(code == 42 and _number(value, what) for code, value in data):
            leave_out("arc of a polyline, read as straight")
        if kind == "VERTEX" and polyline is not None:
            polyline.append(_point(data, 0, what))
        elif kind in ("VERTEX", "SEQEND") and polyline is None:
            pass  # of a mesh that is left out
        elif kind == "SEQEND" and polyline is not None:
            chains.append(_closed(np.reshape(polyline, (-1, 3)) @ axes, closed))
            polyline = None
        elif kind == "POLYLINE":
            flags = _integer(data, 70)
            polyline, closed = [], bool(flags & CLOSED)
            if flags & MESHES:
                polyline = None
                leave_out("POLYLINE of faces")
            if flags & IN_SPACE:
                axes = np.eye(3)
        elif kind == "LINE":
            chains.append(np.array([_point(data, 0, what), _point(data, 1, what)]))
        elif kind == "LWPOLYLINE":
            chains.append(_closed(_light_polyline(data, what) @ axes, bool(_integer(data, 70) & CLOSED)))
        elif kind in ("3DFACE", "SOLID", "TRACE"):
            corners = np.array([_point(data, k, what) for k in range(4)])
            chains.append(_closed(corners if kind == "3DFACE" else corners[[0, 1, 3, 2]] @ axes, True))
        elif kind == "POINT":
            loose.append(np.array(_point(data, 0, what)))
        else:
            leave_out(kind)
        layers += [layer] * (len(chains) - len(layers))
    layers = [name for name, chain in zip(layers, chains, strict=True) if len(chain) > 1]
    chains = [chain for chain in chains if len(chain) > 1]
    starts = np.cumsum([0] + [len(chain) for chain in chains])
    lines = [np.column_stack([np.arange(a, b - 1), np.arange(a + 1, b)]) for a, b in pairwise(starts)]
    return Drawing(
        np.concatenate(chains) if chains else np.zeros((0, 3)),
        np.concatenate(lines) if lines else np.zeros((0, 2), dtype=int),
        np.reshape(loose, (-1, 3)),
        UNITS.get(_header_unit(groups), ""),
        ignored,
        _members(layers, starts),
    )


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


def _entities(groups: list[Group], what: str) -> Iterator[tuple[str, list[Group]]]:
    """Kind and groups of everything in the section ENTITIES."""
    inside, kind, data = False, "", list[Group]()
    found = False
    for k, (code, value) in enumerate(groups):
        if code == 0:
            if inside and kind:
                yield kind, data
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
        yield kind, data
    if not found:
        raise MeshProblem(f"{what} is not a DXF drawing: it has no section ENTITIES")


def _number(value: str, what: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise MeshProblem(f"{what} has '{value[:30]}' where a number is needed") from None


def _point(data: list[Group], index: int, what: str) -> list[float]:
    """Point number `index` of an entity: groups 10 + index, 20 + index, 30 + index."""
    found = dict(reversed(data))
    return [_number(found.get(code + index, "0"), what) for code in (10, 20, 30)]


def _axes(data: list[Group], what: str) -> np.ndarray:
    """Axes, as rows, that a flat thing is drawn in: z is given, and x follows from it by the rule of the format."""
    found = dict(reversed(data))
    z = np.array([_number(found.get(code, default), what) for code, default in ((210, "0"), (220, "0"), (230, "1"))])
    length = float(np.linalg.norm(z))
    if not 0 < length < float("inf"):
        return np.eye(3)
    z = z / length
    x = np.cross([0, 1, 0] if max(abs(z[0]), abs(z[1])) < 1 / 64 else [0, 0, 1], z)
    x = x / np.linalg.norm(x)
    return np.array([x, np.cross(z, x), z])


def _integer(data: list[Group], code: int) -> int:
    try:
        return int(dict(reversed(data)).get(code, "0"))
    except ValueError:
        return 0


def _light_polyline(data: list[Group], what: str) -> np.ndarray:
    x = [_number(value, what) for code, value in data if code == 10]
    y = [_number(value, what) for code, value in data if code == 20]
    if len(x) != len(y):
        raise MeshProblem(f"a polyline of {what} is incomplete")
    elevation = next((_number(value, what) for code, value in data if code == 38), 0.0)
    return np.column_stack([x, y, np.full(len(x), elevation)])


def _closed(chain: np.ndarray, closed: bool) -> np.ndarray:
    return np.vstack([chain, chain[:1]]) if closed and len(chain) > 2 else chain


def _header_unit(groups: list[Group]) -> int:
    for (code, value), (_, flag) in pairwise(groups):
        if code == 9 and value == "$INSUNITS":
            return int(flag) if flag.lstrip("-").isdigit() else 0
        if code == 2 and value == "ENTITIES":
            break
    return 0
