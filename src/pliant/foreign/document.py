"""A model document under construction: parts by collection, valid names, placements, and notes on missing features."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from pliant.foreign.shared_values import pull_defaults
from pliant.language.faults import Fault, Place, SpecError
from pliant.language.message_text import describe
from pliant.language.names import MAX_NAME, RESERVED
from pliant.language.source import ImportedFile, Source
from pliant.language.tree import Tree, from_plain
from pliant.language.units import UNITS

Numbers: TypeAlias = Sequence[float] | np.ndarray
"""A few numbers."""
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
ANGLES = {round(math.radians(degrees), 12): degrees for degrees in range(-360, 361, 5)}
"""Angles that people give in degrees [deg], by their value [rad]."""
LARGEST = 1e100
"""Numbers up to which products are finite; robots have none beyond."""
NEGLIGIBLE = 1e-14
"""Relative differences that are round-off of what a file says."""
NOWHERE = 1e-15
"""Lengths that are round-off [m]: smaller than a nucleus."""
ROUND_OFF = 1e-12
"""Numbers that are nearer than this to what a person would write are that."""


class Document:
    """Parts of a model as they are read from a file of another format.

    source: where the file is, and what it may read. Faults are gathered, and raised together by `finish`.
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
        """Note something that is wrong with the file."""
        self.faults.append(Fault(message, hint, path, self.source.file, line))

    def note(self, message: str, hint: str = "", *, line: int | None = None, path: str = "") -> None:
        """Note something that the model does not say as the file does."""
        self.notes.append(Fault(message, hint, path, self.source.file, line))

    def add(self, collection: str, name: str, entry: Mapping[str, Any], line: int | None) -> None:
        """Add a part under a name that `name` gave."""
        self.parts.setdefault(collection, {})[name] = dict(entry)
        self._lines[collection, name] = line

    def name(self, space: str, given: str, *, line: int | None = None, kind: str = "part") -> str:
        """A name that is allowed and not taken in a space of names, as near to the given one as can be."""
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
        """The document; raises SpecError with everything that is wrong."""
        if self.faults:
            raise SpecError(self.faults, self.source.file)
        place = Place(self.source.file, 1)
        defaults = pull_defaults(self.parts)
        head = {"pliant": 1, **self.head, **({"defaults": defaults} if defaults else {})}
        tree = {key: from_plain(value, place) for key, value in head.items()}
        for collection, entries in self.parts.items():
            tree[collection] = Tree({name: self._placed(collection, name) for name in entries}, place)
        return ImportedFile(Tree(tree, place), tuple(sorted(self.notes, key=lambda note: note.line or 0)))

    def _placed(self, collection: str, name: str) -> Tree:
        """A part with its line."""
        return from_plain(self.parts[collection][name], Place(self.source.file, self._lines[collection, name]))


def plain_name(given: str, kind: str) -> str:
    """A name that is allowed: letters, digits and underscores, a letter first."""
    kind = re.sub(r"[^A-Za-z0-9_]+", "_", kind)[: MAX_NAME - 8]
    name = re.sub(r"[^A-Za-z0-9_]+", "_", given)[: MAX_NAME - 8].strip("_") or kind.strip("_") or "part"
    name = name if name[0].isalpha() else f"{kind if kind[:1].isalpha() else 'part'}_{name}"[: MAX_NAME - 8]
    return f"{name}_1" if name in RESERVED else name


def read_number(text: str) -> float | None:
    """A number up to `LARGEST`, None where the text is none."""
    if not _NUMBER.fullmatch(text.strip()) or not abs(float(text)) <= LARGEST:
        return None
    return float(text)


# -- values as people write them -----------------------------------------------------------------------------------------------


def number(value: float, unit: str = "") -> Any:
    """A number to fifteen digits, or as people write it where that is the same but for round-off; with a unit as text."""
    short = float(f"{value:.9g}")
    value = short if abs(short - value) <= NEGLIGIBLE * abs(value) else float(f"{value:.15g}")
    plain: Any = int(value) if abs(value) < 1e15 and value == int(value) else value
    return plain if not unit else f"{plain!r} {unit}"


def angle(value: float) -> Any:
    """An angle, in degrees where it is a multiple of five [rad]."""
    degrees = ANGLES.get(round(float(value), 12))
    if value and degrees is not None and abs(value - math.radians(degrees)) < ROUND_OFF:
        return f"{degrees} deg"
    return number(value)


def vector(values: Iterable[float]) -> list[Any]:
    """Numbers of a vector; those that are zero but for round-off are zero."""
    found = [float(value) for value in values]
    least = NEGLIGIBLE * 1e-2 * max(map(abs, found), default=0.0)
    return [number(value if abs(value) > least else 0.0) for value in found]


def axis(direction: Numbers) -> Any:
    """An axis by its letter, or by three numbers."""
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
    """The rotation of a unit quaternion (scalar first): about one axis where that is x, y or z; None for no rotation."""
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
    found: dict[str, Any] = {}
    there = [x if abs(x) > NOWHERE else 0.0 for x in position]
    if any(there):
        found["position"] = vector(there)
    if rotation is not None:
        found["rotation"] = rotation
    return found


def inertia(matrix: np.ndarray) -> dict[str, Any]:
    """An inertia about the centre of mass in the body's axes (3 x 3) [kg m^2]."""
    if not (matrix - np.diag(np.diag(matrix))).any():
        return {"principal": vector(np.diag(matrix))}
    return {"matrix": [vector(row) for row in matrix]}
