"""Equality constraints of the links of cables as constraints between frames of rods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pliant.foreign.document import Document, number, read_number
from pliant.foreign.markup import Element
from pliant.foreign.mjcf_cables import Cable, add_cable
from pliant.language.message_text import describe
from pliant.rod.spline import PIECES, frames_along

if TYPE_CHECKING:
    from pliant.foreign.mjcf import Reader

End: TypeAlias = str | tuple[str, int]
"""A body by its name in the file (empty for the world), or a cable by its site and the number of a vertex, counted from 0."""
NEAR = 1e-3
"""Distance between an anchor and a vertex, relative to the length of a link, above which a note is recorded."""


@dataclass
class CableLoop:
    """An equality constraint of one or two cables.

    components: constrained components. line: line in the file.
    """

    name: str
    ends: tuple[End, End]
    components: str
    line: int


def read_loop(
    element: Element, cables: Mapping[str, Cable], parts: Mapping[str, str], document: Document
) -> CableLoop | None:
    """A <connect> or <weld> of links of cables; None for other constraints.

    parts: the site of each cable, by the names of its parts.
    """
    if element.tag not in ("connect", "weld") or "site1" in element.attributes:
        return None
    first, second = (
        (parts[given], _vertex(element, cables[parts[given]], key, document)) if given in parts else given
        for key, given in ((key, element.get(key)) for key in ("body1", "body2"))
    )
    components = "position" if element.tag == "connect" else "all"
    if element.get("relpose"):
        document.note("a cable is welded in its initial pose; `relpose` is not imported", line=element.line)
    return CableLoop(element.get("name"), (first, second), components, element.line)


def _vertex(element: Element, cable: Cable, key: str, document: Document) -> int:
    """The vertex at which a cable is constrained: the one nearest to the anchor, if it is known, otherwise the end of its link."""
    link = cable.part_names()[element.get(key)]
    words = [read_number(word) for word in element.get("anchor").split()]
    if element.tag == "weld" or key == "body2" or len(words) != 3:
        if element.tag == "connect":
            document.note("a cable is connected at the end of its link, not at the anchor", line=element.line)
        return link + 1 if link == len(cable.points) - 2 else link
    length = float(np.linalg.norm(cable.points[link + 1] - cable.points[link]))
    x, y, z = (word or 0.0 for word in words)
    is_end = x > length / 2
    if float(np.linalg.norm([x - is_end * length, y, z])) > NEAR * length:
        document.note("a cable is connected at its nearest vertex, not at the anchor", line=element.line)
    return link + is_end


def add_cables(reader: Reader) -> None:
    """Add cables as rods, and their constraints."""
    model, document, rods = reader.model, reader.document, dict[str, str]()
    for s in range(model.nsite):
        site = model.name("site", s)
        if site in reader.prepared.cables:
            frame = reader.bodies[int(model.site_bodyid[s])]
            cable = reader.prepared.cables[site]
            rods[site] = add_cable(document, cable, frame, model.site_pos[s], model.site_quat[s])
    bodies = {model.name("body", i): reader.bodies[i] for i in range(1, model.nbody)} | {"": "world", "world": "world"}
    for loop in reader.prepared.loops:
        frames = []
        for end in loop.ends:
            if not isinstance(end, str):
                frames.append(_frame(document, reader.prepared.cables[end[0]], rods[end[0]], end[1]))
            elif end in bodies:
                frames.append(bodies[end])
            else:
                document.fault(f"there is no body {describe(end)}, which a cable is connected to", line=loop.line)
        # components are in the axes of the first frame, which is that of the body
        between = frames if isinstance(loop.ends[0], str) else frames[::-1]
        name = document.name("constraints", loop.name, line=loop.line, kind="loop")
        entry = {"between": between, "components": loop.components, "holds": "as at start"}
        document.add("constraints", name, entry, loop.line)


def _frame(document: Document, cable: Cable, rod: str, vertex: int) -> str:
    """The frame of a rod at a vertex of its cable; it is added to the rod if necessary."""
    if vertex in (0, len(cable.points) - 1):
        return rod if vertex == 0 else f"{rod}.tip"
    frames = document.parts["rods"][rod].setdefault("frames", {})
    frames[f"vertex{vertex + 1}"] = number(float(frames_along(cable.points)[0][PIECES * vertex]))
    return f"{rod}.vertex{vertex + 1}"
