"""IGES wireframes: lines (entity 110) and polylines (106), including those in groups and composites, placed by
transformations (124), in the units of the global section."""

import re
from enum import IntEnum

import numpy as np

from pliant.language.source import FileProblem
from pliant.parts.mesh.formats.wireframe import Drawing

UNITS = {1: "inch", 2: "mm", 4: "ft", 5: "mile", 6: "m", 7: "km", 8: "mil", 9: "um", 10: "cm", 11: "uin"}
"""Unit flags of the global section; 3 means that the unit is given by name."""
NAMES = {"IN": "inch", "INCH": "inch", "MM": "mm", "FT": "ft", "MI": "mile", "M": "m", "KM": "km", "MIL": "mil",
         "UM": "um", "CM": "cm", "UIN": "uin"}  # fmt: skip
CONTAINERS = (102, 402)
CLOSED_FORM = 63
"""Form of a polyline that is closed."""
MAX_NESTED = 20
"""Transformations that refer to each other in a longer chain are circular."""


class Entity(IntEnum):
    """Types of entities in the standard."""

    POLYLINE, LINE, POINT, TRANSFORMATION = 106, 110, 116, 124


def read_iges(text: str, what: str) -> Drawing:
    """The lines of an IGES file."""
    sections = _sections(text, what)
    separator, end, fields = _global_fields("".join(line[:72].ljust(72) for line in sections["G"]), what)
    unit, factor = _unit(fields)
    entries = _directory(sections["D"], what)
    records = _Records([line.ljust(80) for line in sections["P"]], separator, end, what)
    points: list[list[float]] = []
    lines: list[tuple[int, int]] = []
    loose: list[list[float]] = []
    ignored: dict[str, int] = {}
    for kind, pointer, count, form, matrix in entries.values():
        if kind == Entity.LINE:
            chains = [_points(records.numbers(pointer, count), 2, what)]
        elif kind == Entity.POLYLINE:
            chains = _polyline(records.numbers(pointer, count), form, what)
        elif kind == Entity.POINT:
            chains = [_points(records.numbers(pointer, count), 1, what)]
        else:
            if kind not in (*CONTAINERS, Entity.TRANSFORMATION):
                ignored[f"entity {kind}"] = ignored.get(f"entity {kind}", 0) + 1
            continue
        for chain in chains:
            placed = _placed(chain, matrix, entries, records, what) * factor
            if len(placed) == 1:
                loose.extend(placed.tolist())
                continue
            first = len(points)
            points.extend(placed.tolist())
            lines.extend((first + k, first + k + 1) for k in range(len(placed) - 1))
    return Drawing(
        np.array(points).reshape(-1, 3), np.array(lines, dtype=int).reshape(-1, 2), np.array(loose).reshape(-1, 3),
        unit, ignored,
    )  # fmt: skip


def _sections(text: str, what: str) -> dict[str, list[str]]:
    """Lines by the letter in column 73."""
    sections: dict[str, list[str]] = {letter: [] for letter in "SGDPT"}
    for line in text.splitlines():
        if len(line) > 72 and line[72] in sections:
            sections[line[72]].append(line)
    for letter, name in (("G", "global"), ("D", "directory"), ("P", "parameter")):
        if not sections[letter]:
            raise FileProblem(f"{what} is not an IGES file: it has no {name} section", "export it as IGES 5 text")
    return sections


def _global_fields(text: str, what: str) -> tuple[str, str, list[str]]:
    """Parameter separator, record end, and the fields of the global section."""
    separator, end, at = ",", ";", 0
    for index in range(2):
        match = re.match(r"\s*1H(.)", text[at:])
        if match:
            at += match.end()
            separator, end = (match[1], end) if index == 0 else (separator, match[1])
        if text[at : at + 1] in (separator, ","):
            at += 1
    fields: list[str] = ["", ""]
    while at < len(text) and len(fields) < 40:
        match = re.match(r"\s*(\d{1,6})H", text[at:])
        if match:  # a text, which may contain separators
            start = at + match.end()
            stop = start + int(match[1])
            fields.append(text[start:stop])
            at = stop
            while at < len(text) and text[at] not in (separator, end):
                at += 1
        else:
            stop = at
            while stop < len(text) and text[stop] not in (separator, end):
                stop += 1
            fields.append(text[at:stop].strip())
            at = stop
        if at >= len(text) or text[at] == end:
            break
        at += 1
    if len(fields) < 15:
        raise FileProblem(f"the global section of {what} is incomplete: it does not state the unit")
    return separator, end, fields


def _unit(fields: list[str]) -> tuple[str, float]:
    """The unit, and the factor from model space to real size."""
    try:
        scale = float(fields[12].replace("D", "E")) if fields[12] else 1.0
        flag = int(fields[13]) if fields[13] else 1
    except ValueError:
        raise FileProblem("the global section does not state the unit", "give the unit") from None
    if not 1e-12 < scale < 1e12:
        raise FileProblem(f"the global section has a scale of {scale:g}")
    name = fields[14].strip().upper()
    unit = UNITS.get(flag) or NAMES.get(name)
    if unit is None:
        raise FileProblem(f"the global section names an unknown unit ({name or flag})", "give the unit")
    return unit, 1 / scale


_Entry = tuple[int, int, int, int, int]
"""Type, first line and number of lines of its parameters, form, and the entry of its transformation (0 for none)."""


def _directory(lines: list[str], what: str) -> dict[int, _Entry]:
    """The directory by sequence number."""
    entries: dict[int, _Entry] = {}
    for k in range(0, len(lines) - 1, 2):
        first, second = lines[k].ljust(80), lines[k + 1].ljust(80)
        try:
            kind, pointer, matrix = int(first[0:8]), int(first[8:16]), int(first[48:56].strip() or 0)
            count, form = int(second[24:32].strip() or 1), int(second[32:40].strip() or 0)
        except ValueError:
            raise FileProblem(f"entry {k // 2 + 1} of the directory of {what} cannot be read") from None
        entries[k + 1] = (kind, pointer, count, form, matrix)
    return entries


class _Records:
    """Parameters of entities, by the index of their first line."""

    def __init__(self, lines: list[str], separator: str, end: str, what: str) -> None:
        self.lines, self.separator, self.end, self.what = lines, separator, end, what

    def numbers(self, pointer: int, count: int) -> list[float]:
        """All parameters after the entity's type."""
        if not (1 <= pointer <= len(self.lines) and 1 <= count <= len(self.lines)):
            raise FileProblem(f"{self.what} refers to parameters that it does not have (line {pointer})")
        text = "".join(line[:64] for line in self.lines[pointer - 1 : pointer - 1 + count])
        fields = text.partition(self.end)[0].split(self.separator)[1:]
        try:
            return [float(x.strip().upper().replace("D", "E") or 0) for x in fields]
        except ValueError:
            raise FileProblem(f"parameter line {pointer} of {self.what} has no number where one is needed") from None


def _points(numbers: list[float], count: int, what: str) -> np.ndarray:
    """The first points of parameters (count x 3)."""
    if len(numbers) < 3 * count:
        raise FileProblem(f"a {'line' if count > 1 else 'point'} of {what} has too few coordinates")
    return np.reshape(numbers[: 3 * count], (count, 3))


def _polyline(numbers: list[float], form: int, what: str) -> list[np.ndarray]:
    """Points of copious data: pairs at a common depth (1), triples (2), or with directions that are left out (3)."""
    if len(numbers) < 2 or numbers[0] not in (1, 2, 3) or not 1 <= numbers[1] <= 1e7:
        raise FileProblem(f"a polyline of {what} cannot be read")
    width = {1: 2, 2: 3, 3: 6}[int(numbers[0])]
    start = 3 if width == 2 else 2
    data = numbers[start : start + width * int(numbers[1])]
    if len(data) != width * int(numbers[1]):
        raise FileProblem(f"a polyline of {what} is incomplete")
    table = np.reshape(data, (-1, width))
    chain = np.column_stack([table, np.full(len(table), numbers[2])]) if width == 2 else table[:, :3]
    if form in (1, 2, 3):
        return [point[None] for point in chain]
    return [np.vstack([chain, chain[:1]]) if form == CLOSED_FORM else chain]


def _placed(chain: np.ndarray, matrix: int, entries: dict[int, _Entry], records: _Records, what: str) -> np.ndarray:
    """Points moved by the transformation, which may itself have one."""
    for _ in range(MAX_NESTED):
        if matrix == 0:
            return chain
        entry = entries.get(matrix)
        if entry is None or entry[0] != Entity.TRANSFORMATION:
            raise FileProblem(f"{what} refers to a transformation that it does not have")
        numbers = records.numbers(entry[1], entry[2])
        if len(numbers) < 12:
            raise FileProblem(f"a transformation of {what} is incomplete")
        rows = np.reshape(numbers[:12], (3, 4))
        chain, matrix = chain @ rows[:, :3].T + rows[:, 3], entry[4]
    raise FileProblem(f"transformations of {what} refer to each other in a circle")
