"""DXF drawings (text), read with ezdxf: lines, polylines, curves as chords, faces and blocks, in the unit of the header."""

import io
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pliant.language.message_text import printable
from pliant.language.source import FileProblem
from pliant.parts.mesh.formats.wireframe import LIMITS, Drawing, check_counts


@dataclass(frozen=True)
class DxfLimits:
    """Limits of blocks, and the accuracy of curves."""

    flatness: float = 0.01
    """Largest distance of a curve from its chords, relative to its radius or its extent."""
    depth: int = 16
    """Maximum nesting depth of blocks."""
    copies: int = 20_000
    """Maximum number of entities that references to blocks may add to a drawing."""


BLOCKS = DxfLimits()

UNITS = {1: "inch", 2: "ft", 3: "mile", 4: "mm", 5: "cm", 6: "m", 7: "km", 8: "uin", 9: "mil", 10: "yd", 12: "nm",
         13: "um", 14: "dm"}  # fmt: skip
"""Unit flags `$INSUNITS`; others do not define a length used here."""

_HEADER_UNIT = re.compile(r"^\s*\$INSUNITS\s*\n\s*70\s*\n\s*(\d{1,3})\s*$", re.MULTILINE)
_HEADER = re.compile(r"^\s*2\s*\n\s*HEADER\s*\n", re.MULTILINE)
_VERSION = re.compile(r"^(\s*\$ACADVER\s*\n\s*1\s*\n\s*)AC10(?:0\d|1[0-4])\b", re.MULTILINE)
_ENTITIES = re.compile(r"^\s*2\s*\n\s*ENTITIES\s*$", re.MULTILINE)

Chain = Iterable[Any]
"""A sequence of points."""


def read_dxf(text: str, what: str) -> Drawing:
    """The lines of a DXF file; layers are labels. Other entities are skipped, and counted."""
    if text.startswith("AutoCAD Binary DXF"):
        raise FileProblem(f"{what} is a binary DXF file", "save it as text (ASCII) DXF")
    if not _ENTITIES.search(text):
        raise FileProblem(f"{what} is not a DXF drawing: it has no section ENTITIES")
    document = _document(text, what)
    found = _Lines(what)
    for entity in document.modelspace():
        found.take(entity)
    for layout in document.layouts:
        for entity in () if layout.is_modelspace else layout:
            found.leave_out(f"{entity.dxftype()} on paper")
    unit = _HEADER_UNIT.search(text)
    return found.drawing(UNITS.get(int(unit[1]), "") if unit else "")


def _document(text: str, what: str) -> Any:
    try:
        import ezdxf
    except ImportError:
        raise FileProblem(f"reading {what} needs the package ezdxf", "install pliant[mesh]") from None
    # without a handler its remarks on odd files would be printed
    logging.getLogger("ezdxf").addHandler(logging.NullHandler())
    try:
        return ezdxf.read(io.StringIO(_with_version(text)))
    except Exception as error:  # the reader may raise any exception on a broken file
        why = f": {printable(str(error)[:100])}" if isinstance(error, ezdxf.DXFError) and str(error) else ""
        raise FileProblem(f"{what} is not a DXF file, or a broken one{why}", "export it again") from None


def _with_version(text: str) -> str:
    """The text with a version that supports polylines in their own axes, if it contains such polylines and states no version, or
    an older one: ezdxf would place them in the axes of the drawing."""
    if "LWPOLYLINE" not in text:
        return text
    version = "9\n$ACADVER\n1\nAC1015\n"
    if "$ACADVER" in text:
        return _VERSION.sub(r"\g<1>AC1015", text)
    if _HEADER.search(text):
        return _HEADER.sub(lambda found: found[0] + version, text, count=1)
    return f"0\nSECTION\n2\nHEADER\n{version}0\nENDSEC\n{text}"


class _Lines:
    """Imported data: chains of points with their layers, single points, and numbers of skipped entities."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.chains: list[tuple[str, np.ndarray]] = []
        self.loose: list[Any] = []
        self.ignored: dict[str, int] = {}
        self.points = self.copies = 0

    def take(self, entity: Any, outer: str = "0", depth: int = 0) -> None:
        """Read an entity; entities of a block on layer 0 are on the layer `outer` of the reference to it."""
        kind = entity.dxftype()
        if kind not in ("INSERT", "POINT", *CHAINS):
            self.leave_out(printable(kind[:30]))
            return
        try:
            layer = outer if entity.dxf.layer == "0" else entity.dxf.layer
            if kind == "INSERT":
                self.block(entity, layer, depth)
            elif kind == "POINT":
                self.loose.append(list(entity.dxf.location))
            else:
                for chain in CHAINS[kind](entity):
                    self.add(layer, np.array([list(point) for point in chain], dtype=float).reshape(-1, 3))
        except FileProblem:
            raise
        except Exception:  # a missing number or point is detected only when it is used
            raise FileProblem(f"{self.what} has a {kind} that cannot be read", "export it again") from None

    def block(self, reference: Any, layer: str, depth: int) -> None:
        """The content of a block, at all positions of a reference to it."""
        if depth >= BLOCKS.depth:
            raise FileProblem(f"{self.what} has blocks within blocks, more than {BLOCKS.depth} deep", "explode them")
        block = reference.block()
        if block is None or block.block.is_xref:
            self.leave_out("INSERT of a block that is not in the file")
            return
        single = reference.mcount == 1
        for one in [reference] if single else reference.multi_insert():
            for entity in one.virtual_entities(
                skipped_entity_callback=lambda entity, _: self.leave_out(entity.dxftype())
            ):
                self.copies += 1
                if self.copies > BLOCKS.copies:
                    hint = f"references to blocks may create {BLOCKS.copies} entities; explode fewer of them"
                    raise FileProblem(f"{self.what} is too large", hint)
                self.take(entity, layer, depth + 1)

    def add(self, layer: str, chain: np.ndarray) -> None:
        self.points += len(chain)
        check_counts(self.points, max(self.points - len(self.chains), 0), self.what)
        if len(chain) > 1:
            self.chains.append((layer, chain))

    def leave_out(self, thing: str) -> None:
        self.ignored[thing] = self.ignored.get(thing, 0) + 1

    def drawing(self, unit: str) -> Drawing:
        """The imported data as a drawing."""
        chains = [chain for _, chain in self.chains]
        starts = np.cumsum([0] + [len(chain) for chain in chains])
        lines = [np.column_stack([np.arange(a, b - 1), np.arange(a + 1, b)]) for a, b in pairwise(starts)]
        return Drawing(
            np.concatenate(chains) if chains else np.zeros((0, 3)),
            np.concatenate(lines) if lines else np.zeros((0, 2), dtype=int),
            np.array(self.loose, dtype=float).reshape(-1, 3),
            unit,
            self.ignored,
            _members([layer for layer, _ in self.chains], starts),
        )


def _line(entity: Any) -> Iterator[Chain]:
    yield [entity.dxf.start, entity.dxf.end]


def _face(entity: Any) -> Iterator[Chain]:
    yield entity.wcs_vertices(close=True)


def _circle(entity: Any) -> Iterator[Chain]:
    """Points on the circle, or on a part of it."""
    yield entity.flattening(BLOCKS.flatness * abs(entity.dxf.radius))


def _ellipse(entity: Any) -> Iterator[Chain]:
    yield entity.flattening(BLOCKS.flatness * entity.dxf.major_axis.magnitude)


def _spline(entity: Any) -> Iterator[Chain]:
    points = np.array([list(p) for p in (*entity.control_points, *entity.fit_points)], dtype=float).reshape(-1, 3)
    extent = float(np.linalg.norm(np.ptp(points, axis=0))) if len(points) else 0.0
    if not 0 < extent < float("inf") or len(points) > LIMITS.edges // 64:
        raise ValueError("no curve")
    yield entity.flattening(BLOCKS.flatness * extent, segments=8)


def _polyline(entity: Any) -> Iterator[Chain]:
    """Straight polylines as one chain, others as lines and arcs; those that represent faces as the sides of the faces."""
    if entity.dxftype() == "POLYLINE" and (entity.is_poly_face_mesh or entity.is_polygon_mesh):
        from ezdxf.render import MeshBuilder

        mesh = MeshBuilder.from_polyface(entity)
        yield from ([mesh.vertices[k] for k in (*face, face[0])] for face in mesh.faces if len(face) > 1)
        return
    if getattr(entity, "has_arc", False):
        for part in entity.virtual_entities():
            yield from CHAINS[part.dxftype()](part)
        return
    light = entity.dxftype() == "LWPOLYLINE"
    corners = list(entity.vertices_in_wcs() if light else entity.points_in_wcs())
    closed = entity.closed if light else entity.is_closed
    yield corners + corners[:1] if closed and len(corners) > 2 else corners


CHAINS: dict[str, Callable[[Any], Iterator[Chain]]] = {
    "LINE": _line,
    "3DFACE": _face,
    "SOLID": _face,
    "TRACE": _face,
    "CIRCLE": _circle,
    "ARC": _circle,
    "ELLIPSE": _ellipse,
    "SPLINE": _spline,
    "LWPOLYLINE": _polyline,
    "POLYLINE": _polyline,
}
"""Readers of entity types."""


def _members(layers: list[str], starts: np.ndarray) -> dict[str, np.ndarray]:
    """Points of every layer."""
    found: dict[str, list[np.ndarray]] = {}
    for name, (first, end) in zip(layers, pairwise(starts), strict=True):
        found.setdefault(name, []).append(np.arange(first, end))
    return {name: np.concatenate(parts) for name, parts in found.items()}
