"""Reading of untrusted XML: elements with their lines. No document types, no entities, limited depth and size."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from xml.parsers import expat

import numpy as np

from pliant.language.faults import Fault, Place, SpecError
from pliant.language.limits import limits, most
from pliant.language.message_text import describe
from pliant.language.names import MAX_NAME, SYMBOLS, WORLD
from pliant.language.source import FileProblem, ImportedFile, Source
from pliant.language.tree import Tree, from_plain
from pliant.language.units import UNITS

MAX_DEPTH = 400


@dataclass
class Element:
    """An element: its tag, attributes, children, and the line on which it begins."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)

    def get(self, name: str, otherwise: str = "") -> str:
        """An attribute without surrounding spaces, or `otherwise`."""
        return self.attributes.get(name, otherwise).strip()

    def all(self, tag: str) -> list[Element]:
        """The children of that tag."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> Element | None:
        """The first child of that tag."""
        return next((child for child in self.children if child.tag == tag), None)

    def walk(self) -> Iterator[Element]:
        """This element and all elements in it, in the order of the text."""
        waiting = [self]
        while waiting:
            here = waiting.pop()
            yield here
            waiting.extend(reversed(here.children))


def read_markup(data: bytes, file: str) -> Element:
    """The root element of XML; raises SpecError if it is not well formed, or not allowed here."""
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    skipped = data[: len(data) - len(start)].count(b"\n")  # XML allows nothing before the declaration, so it is removed
    reader = _Reader(file, skipped)
    try:
        reader.parser.Parse(start, True)
    except expat.ExpatError as error:
        message = f"the XML is not well formed: {expat.ErrorString(error.code)}"
        raise SpecError([Fault(message, file=file, line=error.lineno + skipped)], file) from None
    except (LookupError, ValueError) as error:
        raise SpecError([Fault(f"the XML cannot be read: {error}", "save it as UTF-8", file=file)], file) from None
    assert reader.root is not None, "well-formed XML has a root"
    return reader.root


class _Reader:
    """Builds elements from the events of the parser."""

    def __init__(self, file: str, skipped: int) -> None:
        self.file, self.skipped = file, skipped
        self.root: Element | None = None
        self.open: list[Element] = []
        self.left = int(limits().values)
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._refuse_type
        self.parser.EntityDeclHandler = self._refuse_type
        self.parser.ExternalEntityRefHandler = self._refuse_type

    def _fail(self, message: str, hint: str) -> SpecError:
        line = self.parser.CurrentLineNumber + self.skipped
        return SpecError([Fault(message, hint, file=self.file, line=line)], self.file)

    def _refuse_type(self, *_: object) -> int:
        raise self._fail("document types and entities are not allowed", "remove the <!DOCTYPE ...> declaration")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self.open) >= MAX_DEPTH:
            raise self._fail("elements are nested too deeply", f"at most {MAX_DEPTH} levels")
        self.left -= 1 + len(attributes)
        if self.left < 0:
            raise self._fail("the file contains too many values", most("values"))
        here = Element(tag, attributes, self.parser.CurrentLineNumber + self.skipped)
        if self.open:
            self.open[-1].children.append(here)
        else:
            self.root = here
        self.open.append(here)

    def _end(self, tag: str) -> None:
        self.open.pop()


@dataclass(frozen=True)
class Rounding:
    """Limits of numbers in files, and their round-off."""

    largest: float = 1e100
    """Largest accepted number: products of three such numbers are finite."""
    negligible: float = 1e-14
    """Relative differences that are round-off of numbers in a file."""
    nowhere: float = 1e-15
    """Lengths that are round-off [m]."""
    angle: float = 1e-12
    """Difference between an angle and a multiple of five degrees that is round-off [rad]."""


ROUNDING = Rounding()

Numbers: TypeAlias = Sequence[float] | np.ndarray
"""Numbers of a vector or quaternion."""
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
ANGLES = {round(math.radians(degrees), 12): degrees for degrees in range(-360, 361, 5)}
"""Angles that are written in degrees [deg], by their value [rad]."""
SCHEMES = ("package://", "model://")
"""Prefixes of files in packages, followed by the name of the package and the path in it."""


class Document:
    """Parts of a model that are read from a file of another format.

    source: the file, and the folders it may read from. Faults are collected, and raised together by `finish`.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.head: dict[str, Any] = {}
        self.parts: dict[str, dict[str, dict[str, Any]]] = {}
        self._lines: dict[tuple[str, str], int | None] = {}
        self.faults: list[Fault] = []
        self.notes: list[Fault] = []
        self._names: dict[str, set[str]] = {}

    def fault(self, message: str, hint: str = "", *, line: int | None = None, path: str = "") -> None:
        """Record an error in the file."""
        self.faults.append(Fault(message, hint, path, self.source.file, line))

    def note(self, message: str, hint: str = "", *, line: int | None = None, path: str = "") -> None:
        """Record a difference between the file and the model."""
        self.notes.append(Fault(message, hint, path, self.source.file, line))

    def add(self, collection: str, name: str, entry: Mapping[str, Any], line: int | None) -> None:
        """Add a part under a name from `name`."""
        self.parts.setdefault(collection, {})[name] = dict(entry)
        self._lines[collection, name] = line

    def name(self, space: str, given: str, *, line: int | None = None, kind: str = "part") -> str:
        """A valid name that is unique in a name space, as similar as possible to the given one; a note records the change."""
        taken = self._names.setdefault(space, set())
        name = plain_name(given, kind)
        if space == "parameters" and name in UNITS:  # as in `2 N*m`
            name = f"{name}_{kind}"
        if name in taken:
            stem = name[: MAX_NAME - 6]
            name = next(n for n in (f"{stem}_{k}" for k in range(2, len(taken) + 3)) if n not in taken)
        taken.add(name)
        if name != given and given:
            self.note(f"the {kind} {describe(given)} was renamed to '{name}'", line=line)
        return name

    def finish(self) -> ImportedFile:
        """The finished document; raises SpecError with all faults."""
        if self.faults:
            raise SpecError(self.faults, self.source.file)
        explicit = self._tree({})
        notes = tuple(sorted(self.notes, key=lambda note: note.line or 0))
        return ImportedFile(self._tree(pull_defaults(self.parts)), explicit, notes)

    def _tree(self, defaults: dict[str, Any]) -> Tree:
        """The document with these defaults and the current parts."""
        place = Place(self.source.file, 1)
        head = {"pliant": 1, **self.head, **({"defaults": defaults} if defaults else {})}
        tree = {key: from_plain(value, place) for key, value in head.items()}
        for collection, entries in self.parts.items():
            tree[collection] = Tree({name: self._placed(collection, name) for name in entries}, place)
        return Tree(tree, place)

    def _placed(self, collection: str, name: str) -> Tree:
        """A part with its line."""
        return from_plain(self.parts[collection][name], Place(self.source.file, self._lines[collection, name]))


def plain_name(given: str, kind: str) -> str:
    """A valid name: letters, digits and underscores, beginning with a letter."""
    kind = re.sub(r"[^A-Za-z0-9_]+", "_", kind)[: MAX_NAME - 8]
    name = re.sub(r"[^A-Za-z0-9_]+", "_", given)[: MAX_NAME - 8].strip("_") or kind.strip("_") or "part"
    name = name if name[0].isalpha() else f"{kind if kind[:1].isalpha() else 'part'}_{name}"[: MAX_NAME - 8]
    return f"{name}_1" if name == WORLD or name in SYMBOLS else name


def read_number(text: str) -> float | None:
    """A number up to `LARGEST`; None if the text is not one."""
    if not _NUMBER.fullmatch(text.strip()) or not abs(float(text)) <= ROUNDING.largest:
        return None
    return float(text)


def find_file(document: Document, given: str) -> str:
    """The path of a file of a robot, relative to the folder of the robot; raises FileProblem if it is not in a declared folder."""
    for name in _candidates(document, given):
        try:
            file = document.source.find(name)
        except FileProblem:
            continue
        assert document.source.folder is not None, "files are found in folders"
        return os.path.relpath(file, document.source.folder.resolve())
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


# -- values in short form ------------------------------------------------------------------------------------------------------


def number(value: float, unit: str = "") -> Any:
    """A number with nine digits if the rest is round-off, otherwise with fifteen; with a unit, as text."""
    short = float(f"{value:.9g}")
    value = short if abs(short - value) <= ROUNDING.negligible * abs(value) else float(f"{value:.15g}")
    plain: Any = int(value) if abs(value) < 1e15 and value == int(value) else value
    return plain if not unit else f"{plain!r} {unit}"


def angle(value: float) -> Any:
    """An angle [rad]; multiples of five degrees are written in degrees."""
    degrees = ANGLES.get(round(float(value), 12))
    if value and degrees is not None and abs(value - math.radians(degrees)) < ROUNDING.angle:
        return f"{degrees} deg"
    return number(value)


def vector(values: Iterable[float]) -> list[Any]:
    """The numbers of a vector; those that are round-off become zero."""
    numbers = [float(value) for value in values]
    least = ROUNDING.negligible * 1e-2 * max(map(abs, numbers), default=0.0)
    return [number(value if abs(value) > least else 0.0) for value in numbers]


def axis(direction: Numbers) -> Any:
    """An axis as x, y or z, or as three numbers."""
    for k, letter in enumerate("xyz"):
        if direction[k] > 0 and all(direction[j] == 0 for j in range(3) if j != k):
            return letter
    return vector(direction)


def euler_zyx(roll: float, pitch: float, yaw: float) -> dict[str, Any] | None:
    """The rotation by angles about the fixed axes x, y, z in turn; None for no rotation."""
    turns = [(letter, value) for letter, value in zip("xyz", (roll, pitch, yaw), strict=True) if value]
    if not turns:
        return None
    if len(turns) == 1:
        return {"axis": turns[0][0], "angle": angle(turns[0][1])}
    return {"euler": [angle(yaw), angle(pitch), angle(roll)], "order": "zyx"}


def quaternion_rotation(q: Numbers) -> dict[str, Any] | None:
    """The rotation of a unit quaternion (scalar first): by an angle if its axis is x, y or z; None for no rotation."""
    w, *xyz = (float(x) for x in q)
    size = math.hypot(*xyz)
    if size < 1e-15:
        return None
    for k, letter in enumerate("xyz"):
        if math.hypot(*(xyz[j] for j in range(3) if j != k)) < 1e-16:
            turned = 2 * math.atan2(xyz[k], w)
            return {"axis": letter, "angle": angle(math.remainder(turned, 2 * math.pi))}
    return {"quaternion": vector(q)}


def placement(position: Numbers, rotation: dict[str, Any] | None) -> dict[str, Any]:
    """The keys of a placement that are not at their defaults."""
    placement: dict[str, Any] = {}
    there = [x if abs(x) > ROUNDING.nowhere else 0.0 for x in position]
    if any(there):
        placement["position"] = vector(there)
    if rotation is not None:
        placement["rotation"] = rotation
    return placement


def inertia(matrix: np.ndarray) -> dict[str, Any]:
    """The keys of an inertia about the centre of mass, in the axes of the body (3 x 3) [kg m^2]."""
    if not (matrix - np.diag(np.diag(matrix))).any():
        return {"principal": vector(np.diag(matrix))}
    return {"matrix": [vector(row) for row in matrix]}


FEWEST = 3
"""Smallest number of parts for which a shared value becomes a default."""
KINDS = ("joints", "surfaces")
"""Collections whose parts have a `type`, with defaults for each."""
COLLECTIONS = ("parameters", *KINDS)
OWN = (
    "parent",
    "child",
    "description",
    "file",
    "position",
    "rotation",
    "transforms",
    "value",
    "name",
    "points",
    "size",
    "type",
)
"""Keys that are specific to a part, and remain in it."""


def pull_defaults(parts: dict[str, dict[str, dict[str, Any]]]) -> dict[str, Any]:
    """Defaults of the collections; their values are removed from the parts."""
    found: dict[str, Any] = {}
    for collection in COLLECTIONS:
        entries = [*parts.get(collection, {}).values()]
        defaults = _of_kinds(entries) if collection in KINDS else _taken(entries)
        if defaults:
            found[collection] = defaults
    return found


def _of_kinds(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Defaults for the parts of each type, and the most frequent type; both are removed from the parts."""
    found: dict[str, Any] = {}
    types = Counter(entry["type"] for entry in entries)
    for kind in types:
        shared = _taken([entry for entry in entries if entry["type"] == kind])
        if shared:
            found[kind] = shared
    kind, count = types.most_common(1)[0] if types else ("", 0)
    if count >= FEWEST:
        for entry in entries:
            if entry["type"] == kind:
                del entry["type"]
        found = {"type": kind, **found}
    return found


def _taken(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Values that are equal in all entries, key by key in mappings; they are removed from the entries."""
    if len(entries) < FEWEST:
        return {}
    found: dict[str, Any] = {}
    for key in [key for key in entries[0] if key not in OWN and all(key in entry for entry in entries)]:
        values = [entry[key] for entry in entries]
        if all(isinstance(value, dict) for value in values):
            inner = _taken(values)
            if inner:
                found[key] = inner
        elif all(value == values[0] for value in values):
            found[key] = values[0]
            for entry in entries:
                del entry[key]
    for entry in entries:
        for key in [key for key, value in entry.items() if value == {}]:
            del entry[key]
    return found
