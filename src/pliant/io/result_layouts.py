"""Contents of result files, by layout: names, axes, and conditions that they must satisfy."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pliant.analysis.numerics.contact_table import COUNT, NAMES, ROWS, THINGS
from pliant.analysis.numerics.labelled_arrays import Variable
from pliant.analysis.numerics.result import ADDED, ENERGIES, FRAME_PARTS, Timing
from pliant.analysis.numerics.status import Status
from pliant.analysis.result import FORMAT as ANALYSIS_FORMAT
from pliant.engine.contacts import ENTRIES
from pliant.robot.analyses import analysis_names

Axes = tuple[str, ...]
Found = Mapping[str, Variable]


class LayoutError(ValueError):
    """The content of a file is invalid."""


SIZES = {"axis": 3, "quaternion_part": 4}
ABOUT = ("long_name", "units", "sample_dimension")
"""Attributes of variables."""


@dataclass(frozen=True)
class Layout:
    """The content of one type of file.

    along: the axis of saved times or points. variables: required variables, with their axes. optional: further ones, in addition to
    outputs. texts: axes whose labels are names. attributes: of the file, with their checks; those in `needed` are required. more:
    further checks of the variables.
    """

    along: str
    variables: Mapping[str, Axes]
    optional: Mapping[str, Axes]
    texts: tuple[str, ...]
    attributes: Mapping[str, Callable[[Any], bool]]
    needed: tuple[str, ...]
    more: Callable[[Found, Found], None]

    def knows(self, name: str, axes: Axes) -> bool:
        """Whether such files may have a variable of this name on these axes, or an axis with labels."""
        if axes == (name,):
            of_output = name.startswith("output.") and name.endswith((".arc_length", ".part"))
            return of_output or name in (*self.texts, self.along)
        if name.startswith("output."):
            return axes in ((self.along,), *((self.along, f"{name}.{part}") for part in ("part", "arc_length")))
        return axes == (self.variables.get(name) or self.optional.get(name))

    def is_text(self, name: str, holds_text: bool) -> bool:
        """Whether a variable must contain texts: the names along an axis. holds_text: whether it does."""
        return name in self.texts or (name.startswith("output.") and name.endswith(".part"))

    def check(self, variables: Found, labels: Found, attributes: Mapping[str, Any]) -> None:
        """Raise LayoutError if something is missing or invalid."""
        touching = [ROWS, COUNT, NAMES, THINGS] if COUNT in variables else []
        needed = [x for x in self.texts if x not in (NAMES, THINGS)] + touching[2:]
        needed += [*self.variables, *(f"contact_{x}" for x in ENTRIES if touching)]
        for name in needed:
            if name not in variables and name not in labels:
                raise LayoutError(f"'{name}' is missing")
        for name, size in SIZES.items():
            if len(_values(labels, name)) != size:
                raise LayoutError(f"the axis '{name}' does not have {size} entries")
        self._check_attributes(attributes)
        units = json.loads(attributes.get("coordinate_units", "null"))
        if units is not None and len(units) != len(_values(labels, "coordinate")):
            raise LayoutError("'coordinate_units' does not have one entry per coordinate")
        if touching:
            _check_contacts(variables, labels)
        self.more(variables, labels)

    def _check_attributes(self, attributes: Mapping[str, Any]) -> None:
        for name in self.needed:
            if name not in attributes:
                raise LayoutError(f"its '{name}' is missing")
        for name, is_right in self.attributes.items():
            if name in attributes and not is_right(attributes[name]):
                raise LayoutError(f"its '{name}' has an unexpected value")


def _values(found: Found, name: str) -> np.ndarray:
    values = found[name][1]
    assert isinstance(values, np.ndarray)
    return values


def _check_contacts(variables: Found, labels: Found) -> None:
    count = _values(variables, COUNT)
    rows = _values(variables, "contact_key")
    if (count < 0).any() or count.sum() != len(rows):
        raise LayoutError("its number of contacts is inconsistent")
    for name, axis in (("law", NAMES), ("first", THINGS), ("second", THINGS)):
        _check_places(_values(variables, f"contact_{name}"), len(_values(labels, axis)), f"contact_{name}")


def _check_places(numbers: np.ndarray, count: int, name: str) -> None:
    """Check that numbers are indices of a list."""
    if not ((numbers >= 0) & (numbers < count) & (numbers == np.round(numbers))).all():
        raise LayoutError(f"'{name}' refers to something that does not exist")


def _check_motion(variables: Found, labels: Found) -> None:
    time = _values(labels if "time" in labels else variables, "time")
    if not np.isfinite(time).all() or (np.diff(time) < 0).any():
        raise LayoutError("its times are not in increasing order")


# -- attributes -------------------------------------------------------------------------------------------------------------


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _json(kind: type[dict[str, Any]] | type[list[Any]], of: type | tuple[type, ...]) -> Callable[[Any], bool]:
    """A text that is a JSON list or object with values of one type."""

    def is_right(value: Any) -> bool:
        found = json.loads(value) if isinstance(value, str) else None
        if not isinstance(found, kind):
            return False
        return all(isinstance(x, of) for x in (found.values() if isinstance(found, dict) else found))

    return is_right


def _is_timing(value: Any) -> bool:
    return _json(dict, (int, float))(value) and set(json.loads(value)) <= {field.name for field in fields(Timing)}


NUMBERS = _json(dict, (int, float))
TEXTS = _json(list, str)
COMMON: dict[str, Callable[[Any], bool]] = {
    "model": _is_text,
    "model_text": _is_text,
    "status": lambda value: value in list(Status),
    "message": _is_text,
    "warnings": TEXTS,
    "remarks": TEXTS,
    "timing": _is_timing,
    "inputs": NUMBERS,
    "coordinate_units": TEXTS,
    "parameters": NUMBERS,
    "versions": _json(dict, str),
}
NEEDED = ("model_text", "status", "message", "timing")

# -- types of files ---------------------------------------------------------------------------------------------------------


def _contacts(along: str) -> dict[str, Axes]:
    axes: dict[str, Axes] = {COUNT: (along,)}
    return axes | {f"contact_{name}": (ROWS,) if x.size == 1 else (ROWS, "axis") for name, x in ENTRIES.items()}


MOTION = Layout(
    along="time",
    variables={
        "time": ("time",),
        "q": ("time", "coordinate"),
        "v": ("time", "rate"),
        "a": ("time", "rate"),
        "multiplier": ("time", "constraint"),
        "u": ("time", "input"),
        **dict.fromkeys(("constraint_error", *ENERGIES), ("time",)),
        **{f"frame_{name}": ("time", "frame", axis) for name, axis in FRAME_PARTS.items()},
    },
    optional={ADDED: ("time",), **_contacts("time")},
    texts=("coordinate", "rate", "frame", "constraint", "input", "axis", "quaternion_part", NAMES, THINGS),
    attributes={**COMMON, "method": _is_text, "input_units": TEXTS, "events": _json(dict, list)},
    needed=(*NEEDED, "method"),
    more=_check_motion,
)


class AnalysisLayout(Layout):
    """The content of the result of an analysis: the variables that its class declares, which the class reads."""

    def knows(self, name: str, axes: Axes) -> bool:
        """Any variable: those that the class does not declare are not used."""
        return True

    def is_text(self, name: str, holds_text: bool) -> bool:
        """Texts are variables or labels as the class declares them."""
        return holds_text

    def check(self, variables: Found, labels: Found, attributes: Mapping[str, Any]) -> None:
        """Raise LayoutError if something is missing or invalid."""
        for name in self.needed:
            if name not in attributes:
                raise LayoutError(f"its '{name}' is missing")
        for name, is_right in self.attributes.items():
            if name in attributes and not is_right(attributes[name]):
                raise LayoutError(f"its '{name}' has an unexpected value")


ANALYSIS = AnalysisLayout(
    along="",
    variables={},
    optional={},
    texts=(),
    attributes={
        **{
            name: COMMON[name]
            for name in ("model", "model_text", "status", "message", "inputs", "parameters", "versions")
        },
        "analysis": lambda value: value in analysis_names(),
        "remarks": TEXTS,
        "own": lambda value: isinstance(json.loads(value), dict),
    },
    needed=("analysis", "model_text", "status", "message", "remarks", "own", "parameters", "inputs"),
    more=lambda variables, labels: None,
)

LAYOUTS = {f"pliant-result-{version}": MOTION for version in (1, 2)}
LAYOUTS[ANALYSIS_FORMAT] = ANALYSIS
"""By the attribute `format`: layout 2 has the content of layout 1, and a checksum."""
