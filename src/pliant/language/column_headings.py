"""Headings of columns: a name with a unit, as `tip.x [m]`, `x (mm)` or `x_mm`."""

from __future__ import annotations

import re
from fractions import Fraction

from pliant.language.dimension import NUMBER, RATE, Dimension
from pliant.language.units import Unit, UnitError, parse_unit

# A unit is in brackets at the end. Without a space before them, brackets may belong to the name (`arm.twist[1]`).
_IN_BRACKETS = re.compile(r"^(?P<name>.*\S)(?P<space>\s*)(?:\[(?P<square>[^\[\]]+)\]|\((?P<round>[^()]+)\))$")
_SPELLED = {"-": "1", "%": "percent"}


def heading(name: str, unit: str) -> str:
    """A name with its SI unit; without one, the name alone."""
    return f"{name} [{unit}]" if unit else name


def split_heading(words: str) -> tuple[str, str]:
    """Name and unit of a heading; the unit is empty if the heading has no known unit."""
    words = words.strip()
    found = _IN_BRACKETS.match(words)
    if found:
        text = (found["square"] or found["round"]).strip()
        is_unit = found["space"] or re.search("[A-Za-zµ°%]", text)
        if is_unit and read_unit(text) is not None:
            return found["name"], text
    name, underscore, text = words.rpartition("_")
    # a number after an underscore belongs to the name (`p_1`)
    is_unit = underscore and name and text and not text.isdecimal() and read_unit(text) is not None
    return (name, text) if is_unit else (words, "")


def read_unit(text: str) -> Unit | None:
    """A unit as written in tables (`-` for pure numbers, with or without brackets); None if the text is not a unit."""
    text = text.strip().strip("[]()").strip() if text.strip()[:1] in "[(" else text.strip()
    try:
        return parse_unit(_SPELLED.get(text, text))
    except UnitError:
        return None


def si_unit(text: str) -> str:
    """The SI unit for a unit as text: itself if it is one; angles keep their name."""
    unit = read_unit(text)
    if unit is None or (unit.factor == 1.0 and text != "1"):
        return text
    if unit.turns == Fraction(1) and unit.dimension in (NUMBER, RATE):
        return "rad" if unit.dimension == NUMBER else "rad/s"
    return "-" if unit.dimension == NUMBER else unit.dimension.unit


def dimension_of(unit: str) -> Dimension | None:
    """The quantity that an SI unit measures; None if it is unknown."""
    found = read_unit(unit) if unit else None
    return None if found is None else found.dimension
