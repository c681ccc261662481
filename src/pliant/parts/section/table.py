"""A section that varies along the rod, given by a table of stations."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from pliant.language.base import Part, Problem
from pliant.language.names import SectionName
from pliant.language.scalar import Length, Scalar
from pliant.parts.section.base import Evaluate, SectionBase


class Station(Part):
    """A section at an arc length."""

    at: Length
    """Arc length from the rod's base [m]."""
    section: SectionName
    """The section there."""


class Table(SectionBase):
    """Sections by arc length from base to tip. Stiffness and inertia change linearly in between; two stations at the
    same arc length make a step."""

    needs_material: ClassVar[bool] = False

    shape: Literal["table"] = "table"
    stations: Annotated[tuple[Station, ...], Field(min_length=2)]
    """Stations in order; the first at 0, the last at the rod's length."""

    def problems(self, value: Evaluate) -> Iterator[Problem]:
        """Stations are in order and start at the base."""
        places = [value(station.at) for station in self.stations]
        if places[0] != 0:
            yield ("stations", 0, "at"), f"the first station is at {places[0]:g} m", "begin at 0, the rod's base"
        for index, (a, b) in enumerate(pairwise(places), start=1):
            if b < a:
                text = f"the station at {b:g} m comes after the one at {a:g} m"
                yield ("stations", index, "at"), text, "put the stations in the order of arc length"
            if index > 1 and places[index - 2] == a == b:
                yield ("stations", index, "at"), f"three stations are at {b:g} m", "two make a step"

    def stations_by_arc_length(self) -> tuple[tuple[Scalar, str], ...]:
        """As given."""
        return tuple((station.at, station.section) for station in self.stations)
