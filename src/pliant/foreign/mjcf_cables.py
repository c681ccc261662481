"""Cables of MJCF (<composite type="cable">) as rods.

MuJoCo creates them as capsules, cylinders or boxes on ball joints, with the springs of its plugin mujoco.elasticity.cable. The rod
has the same vertices, stiffness per length, damping per length and mass; it neither stretches nor shears. The text is read here,
because MuJoCo reads cables only up to version 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pliant.foreign.document import (
    Document,
    Element,
    number,
    placement,
    plain_name,
    quaternion_rotation,
    read_number,
    vector,
)
from pliant.language.limits import limits
from pliant.language.message_text import describe
from pliant.language.source import FileProblem
from pliant.parts.rod.shape import PIECES, frames_along

if TYPE_CHECKING:
    from pliant.foreign.mjcf import Reader


DENSITY = 1000.0
"""MuJoCo's default density of geoms [kg/m^3]."""
FUNCTIONS = ("s", "cos(s)", "sin(s)", "0")
"""Allowed components of a curve."""
ELASTICITY = "mujoco.elasticity.cable"
KEPT = ("damping", "kind", "type", "axis", "pos", "name", "class", "group")
"""Attributes of the joints of a cable that are read, or have no effect."""


@dataclass
class Cable:
    """A cable.

    name: name of the rod. points: vertices in the frame of its offset (n x 3) [m]. section: section of the rod. moduli: Young's and
    shear modulus [Pa]. density: density, including the rounded ends of its capsules [kg/m^3]. damping: damping of each ball joint
    [N m s/rad]. initial: joint of its first link: none, ball or free. is_flat: whether it is stress-free when straight. line: line
    in the file. prefix: prefix of the names of its parts in the file.
    """

    name: str
    points: np.ndarray
    section: dict[str, Any]
    moduli: tuple[float, float]
    density: float
    damping: float
    initial: str
    is_flat: bool
    line: int
    prefix: str = ""

    def part_names(self) -> dict[str, int]:
        """MuJoCo's names of its bodies, joints, sites and geoms, with the number of their link, counted from 0."""
        last = len(self.points) - 2
        links = [("first", 0), *((str(k), k) for k in range(1, last)), ("last", last)]
        names = {f"{self.prefix}{letter}_{word}": k for letter in "BJS" for word, k in links}
        return names | {f"{self.prefix}G{k}": k for k in range(last + 1)}

    @property
    def length(self) -> float:
        """Length of the smooth curve through its vertices [m]."""
        return float(frames_along(self.points)[0][-1])

    @property
    def is_straight(self) -> bool:
        """Whether all vertices are on one line."""
        chords = np.linalg.norm(np.diff(self.points, axis=0), axis=1)
        return bool(np.linalg.norm(self.points[-1] - self.points[0]) > (1 - 1e-9) * chords.sum())


Classes = dict[str, dict[str, dict[str, str]]]
"""Default attributes of elements: by class, then by tag."""


def default_classes(root: Element) -> Classes:
    """Defaults of all classes, including those of the enclosing classes."""
    default_classes: Classes = {"main": {}}
    waiting: list[tuple[Element, dict[str, dict[str, str]]]] = [(top, {}) for top in root.all("default")]
    while waiting:
        here, inherited = waiting.pop()
        own = {tag: dict(attributes) for tag, attributes in inherited.items()}
        for child in here.children:
            if child.tag == "default":
                continue
            own[child.tag] = {**own.get(child.tag, {}), **child.attributes}
        default_classes[here.get("class") or "main"] = own
        waiting += [(child, own) for child in here.all("default")]
    return default_classes


def read_cable(element: Element, classes: Classes, class_name: str, document: Document) -> Cable | None:
    """A cable; None, with a note, for a <composite> that cannot be imported."""
    try:
        return _read(element, classes, class_name, document)
    except FileProblem as reason:
        document.note(f"a <composite> is not imported: {reason}", "write it under `rods`", line=element.line)
        return None


def _read(element: Element, classes: Classes, class_name: str, document: Document) -> Cable:
    if element.get("type") != "cable":
        raise FileProblem(f"only those of type cable are read, not {element.get('type')!r}")
    plugin = next((x for x in element.all("plugin") if x.get("plugin") == ELASTICITY), None)
    config = {entry.get("key"): entry.get("value") for entry in plugin.all("config")} if plugin else {}
    moduli = tuple(read_number(config.get(key, "")) or 0.0 for key in ("bend", "twist"))
    if min(moduli) <= 0:
        raise FileProblem(f"it has no elasticity (bend and twist of the plugin {ELASTICITY})")
    points = _points(element)
    if len(points) < 2 or (np.linalg.norm(np.diff(points, axis=0), axis=1) == 0).any():
        raise FileProblem("two of its vertices coincide, or it has only one")
    joint = {**classes.get(class_name, {}).get("joint", {}), **_attributes(element, "joint", classes)}
    for key in sorted(set(joint) - set(KEPT)):
        document.note(f"`{key}` of the joints of a cable is not imported", line=element.line)
    geom = {**classes.get(class_name, {}).get("geom", {}), **_attributes(element, "geom", classes)}
    section, area, rounding = _section(geom)
    cable = Cable(
        plain_name(element.get("prefix"), "cable"), points, section, (moduli[0], moduli[1]), 0.0,
        read_number(joint.get("damping", "0")) or 0.0, element.get("initial") or "free",
        config.get("flat", "false") == "true", element.line, element.get("prefix"),
    )  # fmt: skip
    if "width" in section and not cable.is_straight:
        raise FileProblem("its section is not round, and it is curved")
    each = cable.length / (len(points) - 1)
    density = read_number(geom["density"]) if "density" in geom else DENSITY
    if "mass" in geom:
        density = (read_number(geom["mass"]) or 0.0) / (area * each + rounding)
    cable.density = (density or 0.0) * (1 + rounding / (area * each))
    if cable.density <= 0:
        raise FileProblem("it has no mass")
    return cable


def _attributes(element: Element, tag: str, classes: Classes) -> dict[str, str]:
    """Attributes of the geoms or joints of a composite, including those of their class."""
    given = element.first(tag)
    if given is None:
        return {}
    return {**classes.get(given.get("class"), {}).get(tag, {}), **given.attributes}


def _numbers(element: Element, key: str, otherwise: str) -> list[float]:
    numbers = [read_number(word) for word in (element.get(key) or otherwise).split()]
    if None in numbers:
        raise FileProblem(f"`{key}` is not a list of numbers")
    return [float(x) for x in numbers if x is not None]


def _points(element: Element) -> np.ndarray:
    """Vertices of a cable: as listed, or on a curve."""
    if element.get("vertex"):
        listed = _numbers(element, "vertex", "")
        if len(listed) % 3:
            raise FileProblem("`vertex` does not have three numbers for each vertex")
        return np.array(listed).reshape(-1, 3)
    count = int(_numbers(element, "count", "1")[0])
    size = [*_numbers(element, "size", "1"), 0.0, 0.0][:3]
    curve = [*element.get("curve").split(), "0", "0", "0"][:3]
    if count > limits().parts:
        raise FileProblem(f"it has too many links ({count})")
    if count < 2 or any(word not in FUNCTIONS for word in curve):
        raise FileProblem(f"its curve is not made of {', '.join(FUNCTIONS)}, or has no length")
    s = np.linspace(0.0, 1.0, count)
    values = {
        "s": size[0] * s,
        "cos(s)": size[1] * np.cos(math.pi * size[2] * s),
        "sin(s)": size[1] * np.sin(math.pi * size[2] * s),
        "0": 0 * s,
    }
    return np.column_stack([values[word] for word in curve])


def _section(geom: dict[str, str]) -> tuple[dict[str, Any], float, float]:
    """The section of a cable, its area [m^2], and the volume of the rounded ends of each link [m^3]."""
    sizes = [read_number(word) or 0.0 for word in geom.get("size", "").split()]
    kind = geom.get("type", "sphere")
    if kind in ("capsule", "cylinder") and sizes and sizes[0] > 0:
        ends = 4 / 3 * math.pi * sizes[0] ** 3 if kind == "capsule" else 0.0
        return {"shape": "circle", "radius": number(sizes[0])}, math.pi * sizes[0] ** 2, ends
    if kind == "box" and len(sizes) == 3 and min(sizes[1:]) > 0:
        width, height = (number(2 * x) for x in sizes[1:])
        return {"shape": "rectangle", "width": width, "height": height}, 4 * sizes[1] * sizes[2], 0.0
    raise FileProblem("its geoms are not capsules, cylinders or boxes with a size")


def add_cable(document: Document, cable: Cable, frame: str, place: np.ndarray, turned: np.ndarray) -> str:
    """Add a cable as a rod; returns its name.

    frame: the frame in which its offset is given. place, turned: position [m] and quaternion of the offset.
    """
    name = document.name("things", cable.name, line=cable.line, kind="cable")
    base = placement(place, quaternion_rotation(turned))
    if cable.initial != "none" or cable.points[0].any():
        frame, base = _carried(document, cable, name, frame, base)
    points = cable.points - cable.points[0]
    rod: dict[str, Any] = {"parent": frame, **base, "length": number(cable.length)}
    if cable.is_straight:
        direction = (points[-1] / np.linalg.norm(points[-1])).round(15)
        along = {"z_along": vector(direction)} if direction[2] > -1 else {"axis": "x", "angle": "180 deg"}
        rod["rotation"] = [base["rotation"], along] if "rotation" in base else along
    else:
        rod["shape"] = {"type": "points", "points": [vector(point) for point in points]}
        rod |= {"stress_free": False} if cable.is_flat else {}
    kinds = ("sections", "section", cable.section), ("materials", "material", _material(cable))
    for collection, key, entry in kinds:
        document.add(collection, f"{name}_{key}"[:60], entry, cable.line)
        rod[key] = f"{name}_{key}"[:60]
    rod["strains"] = "kirchhoff"
    damping = number(cable.damping * cable.length / (len(points) - 1))
    rod |= {"damping": [0, 0, 0, damping, damping, damping]} if damping else {}
    rod["model"] = {"kind": "pcs", "elements": len(points) - 1}
    document.add("rods", name, rod, cable.line)
    return name


def _material(cable: Cable) -> dict[str, Any]:
    bend, twist = cable.moduli
    return {
        "density": number(cable.density, "kg/m^3"),
        "youngs_modulus": number(bend, "Pa"),
        "shear_modulus": number(twist, "Pa"),
    }


def _carried(
    document: Document, cable: Cable, name: str, frame: str, base: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Add bodies without mass that carry the rod at the first vertex of its cable, on a free or ball joint if the cable has one.

    Returns the frame that the rod is placed in, and its placement in that frame.
    """
    start = cable.points[0]
    offset = document.name("things", "", kind=f"{name}_offset")
    document.add("bodies", offset, {"parent": frame, **base}, cable.line)
    place = placement(start, None)
    if cable.initial == "none":
        return offset, place
    carrier = document.name("things", "", kind=f"{name}_base")
    document.add("bodies", carrier, {}, cable.line)
    kind = "free" if cable.initial == "free" else "spherical"
    entry: dict[str, Any] = {"type": kind, "parent": offset, "child": carrier}
    if kind == "free":
        entry |= {letter: {"initial": number(x)} for letter, x in zip("xyz", start, strict=True) if x}
    else:
        entry |= place
    document.add("joints", document.name("joints", "", kind=f"{name}_{kind}"), entry, cable.line)
    return carrier, {}


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
