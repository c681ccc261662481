"""Conversion of URDF to a model document: links and joints to bodies and joints, efforts to inputs, mimic joints to ties.

The format is described at https://wiki.ros.org/urdf/XML. Extensions of other tools (spherical joints, capsules) are read if they
are unambiguous.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.foreign.document import (
    ROUNDING,
    Document,
    Element,
    angle,
    axis,
    euler_zyx,
    inertia,
    number,
    placement,
    read_markup,
    read_number,
    vector,
)
from pliant.foreign.surfaces import mesh_surface
from pliant.language.message_text import describe, suggestion
from pliant.language.source import ImportedFile, Source


@dataclass(frozen=True)
class UrdfStops:
    """Numbers that URDF does not state, or that stand for nothing."""

    angle_depth: float = 0.02
    """Depth beyond the end of a range at which the torque of a stop is equal to the effort limit of the joint [rad]."""
    length_depth: float = 2e-3
    """The same for a length and its force [m]."""
    point_mass: float = 1e-14
    """Inertia per mass below which a link is a point mass [m^2]: round-off of zero."""
    endless: float = 1e6
    """Ends of ranges that mean no limit [rad or m]."""


STOPS = UrdfStops()

WORLD = "world"
KNOWN = {
    "robot": ("link", "joint", "transmission", "material", "gazebo", "ros2_control"),
    "link": ("inertial", "visual", "collision"),
    "joint": ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "safety_controller", "calibration"),
}
"""Elements that are imported or have specific notes, by their parent element."""


def read_urdf(data: bytes, source: Source) -> ImportedFile:
    """The robot of a URDF file; raises SpecError with all faults."""
    return _Reader(read_markup(data, source.file), Document(source)).read()


@dataclass
class _Reader:
    """Converts one robot to a document."""

    root: Element
    document: Document
    links: dict[str, str] = field(default_factory=dict)
    joints: dict[str, str] = field(default_factory=dict)

    def read(self) -> ImportedFile:
        robot, document = self.root, self.document
        if robot.get("name"):
            document.head["name"] = robot.get("name")
        links, joints = robot.all("link"), robot.all("joint")
        if not links and not joints:
            document.fault("the robot has no links", "expand macros with xacro first", line=robot.line)
        ground = check_tree(document, links, joints)
        if document.faults:
            return document.finish()
        held = {child.get("link"): joint for joint in joints if (child := joint.first("child"))}
        moving = [joint for joint in joints if joint.get("type") != "fixed"]
        self.name_parts(links, ground, held, moving)
        for link in links:
            self.link(link, held.get(link.get("name")))
        driven = self.driven_joints()
        for joint in moving:
            self.joint(joint, driven)
        for link in links:
            self.geometry(link)
        self.remaining()
        return document.finish()

    def name_parts(
        self, links: list[Element], ground: Element | None, held: dict[str, Element], moving: list[Element]
    ) -> None:
        """Names of bodies and joints in the document. held: the joint above each link. moving: joints that are not fixed."""
        for link in links:
            name = link.get("name")
            is_world = link is ground and name == WORLD and not link.first("inertial")
            self.links[name] = WORLD if is_world else self.document.name("things", name, line=link.line, kind="link")
        for name, body in self.links.items():
            if body != WORLD and (name not in held or held[name].get("type") == "fixed"):
                self.document.name("joints", body)  # the weld that holds the body
        for joint in moving:
            given = joint.get("name")
            self.joints[given] = self.document.name("joints", given, line=joint.line, kind="joint")

    # -- values ------------------------------------------------------------------------------------------------------------

    def number(self, element: Element | None, name: str, otherwise: float | None = None) -> float:
        """An attribute as a number; a fault if it is not a number, or is missing and there is no `otherwise`."""
        text = element.get(name) if element is not None else ""
        if not text and otherwise is not None:
            return otherwise
        number = read_number(text)
        if number is None:
            line, tag = (element.line, element.tag) if element is not None else (None, "")
            what = f"{describe(text)} is not a finite number up to {ROUNDING.largest:g}" if text else "it is missing"
            self.document.fault(f"`{name}` of <{tag}>: {what}", _hint(text), line=line)
            return 1.0
        return number

    def vector(self, element: Element | None, name: str, otherwise: tuple[float, ...]) -> np.ndarray:
        """An attribute of several numbers."""
        text = element.get(name) if element is not None else ""
        if not text:
            return np.array(otherwise)
        numbers = [read_number(word) for word in text.split()]
        assert element is not None
        if len(numbers) != len(otherwise) or None in numbers:
            message = f"`{name}` of <{element.tag}>: expected {len(otherwise)} finite numbers, got {describe(text)}"
            self.document.fault(message, _hint(text), line=element.line)
            return np.array(otherwise)
        return np.array(numbers, dtype=float)

    def origin(self, element: Element | None) -> tuple[np.ndarray, np.ndarray]:
        """Position [m] and angles about the fixed axes x, y, z [rad] of an <origin> in an element."""
        origin = element.first("origin") if element is not None else None
        return self.vector(origin, "xyz", (0.0, 0.0, 0.0)), self.vector(origin, "rpy", (0.0, 0.0, 0.0))

    def placed(self, element: Element) -> dict[str, Any]:
        """The placement of an element."""
        xyz, rpy = self.origin(element)
        return placement(xyz, euler_zyx(*rpy))

    # -- links -------------------------------------------------------------------------------------------------------------

    def link(self, link: Element, joint: Element | None) -> None:
        """Add a body with its inertia; the root, and children of fixed joints, have their parent and placement here."""
        name = self.links[link.get("name")]
        if name == WORLD:
            return
        entry: dict[str, Any] = {}
        if joint is None:
            entry["parent"] = WORLD
        elif joint.get("type") == "fixed":
            entry |= {"parent": self.parent(joint), **self.placed(joint)}
        self.document.add("bodies", name, entry | self.inertial(link.first("inertial")), link.line)

    def inertial(self, element: Element | None) -> dict[str, Any]:
        """Mass, centre of mass and inertia in the axes of the body."""
        if element is None:
            return {}
        mass = self.number(element.first("mass"), "value") if element.first("mass") else 0.0
        given = element.first("inertia")
        (xx, xy, xz, yy, yz, zz) = (self.number(given, f"i{k}", 0.0) for k in ("xx", "xy", "xz", "yy", "yz", "zz"))
        matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        center, rpy = self.origin(element)
        if np.abs(matrix).max() < STOPS.point_mass * abs(mass):
            matrix = np.zeros((3, 3))
        if not (mass or matrix.any()):
            return {}
        entry: dict[str, Any] = {"mass": number(mass, "kg")}
        if center.any():
            entry["center_of_mass"] = vector(center)
        if matrix.any():
            diagonal, turned = not (matrix - np.diag(np.diag(matrix))).any(), euler_zyx(*rpy)
            if diagonal and turned is not None and xx == yy == zz:
                turned = None
            if turned is not None and not diagonal:
                R = _rotation(rpy)
                matrix, turned = _symmetric(R @ matrix @ R.T), None
            entry["inertia"] = inertia(matrix) | ({"rotation": turned} if turned else {})
        return entry

    def geometry(self, link: Element) -> None:
        """Add the surfaces of a link: its collision geometry, or its visual geometry if there is none."""
        parent = self.links[link.get("name")]
        shapes = link.all("collision") or link.all("visual")
        if link.all("collision") and link.all("visual"):
            message = "visual geometry of a link is not imported: its collision geometry is shown"
            self.document.note(message, line=link.line, path=f"link {link.get('name')}")
        for shape in shapes:
            surface = self.surface(shape, link)
            if surface:
                stem = f"{parent}_{shape.tag}"
                name = self.document.name("things", "", line=shape.line, kind=stem)
                entry = {"type": surface.pop("type"), "parent": parent, **self.placed(shape), **surface}
                self.document.add("surfaces", name, entry, shape.line)

    def surface(self, shape: Element, link: Element) -> dict[str, Any]:
        """The keys of the surface of a geometry; empty, with a note, if there is none."""
        geometry, path = shape.first("geometry"), f"link {link.get('name')}"
        form = geometry.children[0] if geometry is not None and geometry.children else None
        sizes: dict[str, Any] = {}
        if form is not None and form.tag == "mesh":
            scale = self.vector(form, "scale", (1.0, 1.0, 1.0))
            return mesh_surface(self.document, form.get("filename"), [*map(float, scale)], line=form.line, path=path)
        if form is not None and form.tag == "box":
            sizes = {"size": vector(self.vector(form, "size", (0.0, 0.0, 0.0)))}
        elif form is not None and form.tag in ("cylinder", "capsule"):
            sizes = {key: number(self.number(form, key)) for key in ("radius", "length")}
        elif form is not None and form.tag == "sphere":
            sizes = {"radius": number(self.number(form, "radius"))}
        if form is None or not sizes:
            what = f"<{form.tag}>" if form is not None else "a geometry without a shape"
            self.document.note(f"{what} is not imported: there is no such surface", line=shape.line, path=path)
            return {}
        if min(np.ravel([*sizes.values()])) <= 0:
            self.document.note(f"a <{form.tag}> without a size is not imported", line=form.line, path=path)
            return {}
        return {"type": form.tag, **sizes}

    # -- joints ------------------------------------------------------------------------------------------------------------

    def parent(self, joint: Element) -> str:
        """The parent body of a joint."""
        parent = joint.first("parent")
        assert parent is not None, "checked with the tree"
        return self.links[parent.get("link")]

    def driven_joints(self) -> set[str]:
        """Driven joints: those with an effort limit, and those of transmissions."""
        named = {j.get("name") for t in self.root.all("transmission") for j in t.all("joint")}
        named |= {j.get("name") for t in self.root.all("ros2_control") for j in t.all("joint")}
        efforts = {j.get("name") for j in self.root.all("joint") if self.number(j.first("limit"), "effort", 0.0) > 0}
        return named | efforts

    def joint(self, joint: Element, driven: set[str]) -> None:
        """Add a joint that is not fixed."""
        name, kind = self.joints[joint.get("name")], joint.get("type")
        child = joint.first("child")
        assert child is not None
        entry: dict[str, Any] = {"type": kind, "parent": self.parent(joint), "child": self.links[child.get("link")]}
        entry |= self.placed(joint)
        along = self.vector(joint.first("axis"), "xyz", (1.0, 0.0, 0.0))
        if not along.any() and kind in ("revolute", "continuous", "prismatic", "planar"):
            self.document.fault("the axis has no length", "give a direction", line=joint.line)
        if kind in ("revolute", "continuous", "prismatic"):
            is_angle = kind != "prismatic"
            coordinate = self.coordinate(joint, name, is_angle=is_angle, driven=joint.get("name") in driven)
            entry["type"] = "revolute" if is_angle else "prismatic"
            if axis(along) != "z":
                entry["axis"] = axis(along)
            if coordinate:
                entry["angle" if is_angle else "displacement"] = coordinate
        else:
            entry |= {"floating": {"type": "free"}, "planar": _planar(along), "spherical": {}}[kind]
            for tag in ("limit", "dynamics", "mimic"):
                if joint.first(tag):
                    self.note(f"<{tag}> of a {kind} joint is not imported", joint, tag)
        for tag in ("safety_controller", "calibration"):
            if joint.first(tag):
                self.note(f"<{tag}> has no counterpart", joint, tag)
        self.document.add("joints", name, entry, joint.line)

    def note(self, message: str, joint: Element, tag: str) -> None:
        """Record that an element of a joint is not imported."""
        element = joint.first(tag)
        line = element.line if element is not None else joint.line
        self.document.note(message, line=line, path=f"joint {joint.get('name')}")

    def coordinate(self, joint: Element, name: str, *, is_angle: bool, driven: bool) -> dict[str, Any]:
        """The keys of the coordinate of a joint."""
        limit, dynamics, mimic = joint.first("limit"), joint.first("dynamics"), joint.first("mimic")
        coordinate: dict[str, Any] = {}
        if mimic is not None:
            coordinate["equal_to"] = self.tie(mimic, is_angle=is_angle)
        elif joint.get("type") != "continuous" and limit is not None:
            coordinate |= self.limits(joint, limit, is_angle=is_angle)
        if mimic is not None and (limit is not None and (limit.get("lower") or limit.get("upper"))):
            self.note("the range of a mimic joint is not imported", joint, "limit")
        for key, field_name in (("damping", "damper"), ("friction", "friction")):
            value = self.number(dynamics, key, 0.0)
            if value < 0:
                self.document.fault(
                    f"the {key} of a joint cannot be negative", line=dynamics.line if dynamics else None
                )
            if value:
                coordinate[field_name] = number(value)
        if limit is not None and self.number(limit, "velocity", 0.0):
            self.note("the velocity limit of a joint has no counterpart", joint, "limit")
        if driven and mimic is None:
            coordinate["input"] = f"={self.input(joint, name, limit, is_angle=is_angle)}"
        elif mimic is None:
            self.document.note(
                "a joint without an effort limit has no input",
                "add `input` if it is driven",
                line=joint.line,
                path=f"joint {joint.get('name')}",
            )
        return coordinate

    def input(self, joint: Element, name: str, limit: Element | None, *, is_angle: bool) -> str:
        """Add the input that drives a joint, within its effort limit, and return its name."""
        word, unit = ("torque", "N*m") if is_angle else ("force", "N")
        parameter = self.document.name("parameters", "", kind=f"{name[:50]}_{word}")
        effort = self.number(limit, "effort", 0.0)
        entry: dict[str, Any] = {"value": f"0 {unit}", "input": True}
        if effort > 0:
            entry |= {"minimum": number(-effort, unit), "maximum": number(effort, unit)}
        self.document.add("parameters", parameter, entry, joint.line)
        return parameter

    def limits(self, joint: Element, limit: Element, *, is_angle: bool) -> dict[str, Any]:
        """The range of a joint, with stops as stiff as its effort limit requires, and an initial value within the range."""
        low, high = (self.number(limit, key, 0.0) for key in ("lower", "upper"))
        path = f"joint {joint.get('name')}"
        if low >= high:
            if low or high or joint.get("type") == "prismatic" or limit.get("lower"):
                message = f"the range from {low:g} to {high:g} is not imported: it is empty"
                self.document.note(message, line=limit.line, path=path)
            return {}
        effort, shown = self.number(limit, "effort", 0.0), angle if is_angle else number
        ends = {key: shown(x) for key, x in (("minimum", low), ("maximum", high)) if abs(x) < STOPS.endless}
        if not ends:
            return {}
        stiffness = effort / (STOPS.angle_depth if is_angle else STOPS.length_depth)
        if stiffness <= 0:
            message = "the range of a joint without an effort limit has no stops"
            self.document.note(message, "give `limits` a stiffness", line=limit.line, path=path)
        keys: dict[str, Any] = {"limits": {**ends, "stiffness": number(max(stiffness, 0.0))}}
        if not low <= 0 <= high:
            nearest = low if low > 0 else high
            keys["initial"] = shown(nearest)
            message = f"the joint starts at {nearest:g}, since 0 is outside its range"
            self.document.note(message, line=limit.line, path=path)
        return keys

    def tie(self, mimic: Element, *, is_angle: bool) -> dict[str, Any]:
        """The tie of a mimic joint."""
        other = mimic.get("joint")
        types = {joint.get("name"): joint.get("type") for joint in self.root.all("joint")}
        if types.get(other) not in ("revolute", "continuous", "prismatic"):
            known = [name for name, kind in types.items() if kind in ("revolute", "continuous", "prismatic")]
            message = f"a joint follows {describe(other)}, which is not a joint with one coordinate"
            self.document.fault(message, suggestion(other, known), line=mimic.line)
            return {"coordinate": "none"}
        ratio, offset = self.number(mimic, "multiplier", 1.0), self.number(mimic, "offset", 0.0)
        tie: dict[str, Any] = {"coordinate": self.joints[other]}
        unit = {(True, False): "rad/m", (False, True): "m/rad"}.get((is_angle, types[other] != "prismatic"), "")
        if ratio != 1 or unit:
            tie["ratio"] = number(ratio, unit)
        if offset:
            tie["offset"] = number(offset)
        return tie

    # -- other elements ----------------------------------------------------------------------------------------------------

    def remaining(self) -> None:
        """Record notes on elements that have no counterpart."""
        for element in (self.root, *self.root.all("link"), *self.root.all("joint")):
            for child in element.children:
                owner = f"{element.tag} {element.get('name')}" if element is not self.root else ""
                if child.tag not in KNOWN[element.tag]:
                    self.document.note(f"<{child.tag}> has no counterpart", line=child.line, path=owner)
        for tag in ("gazebo", "ros2_control"):
            for element in self.root.all(tag):
                self.document.note(f"<{tag}> is not imported: it is for another simulator", line=element.line)


def _hint(text: str) -> str:
    return "expand macros with xacro first" if "${" in text else ""


def _planar(normal: np.ndarray) -> dict[str, Any]:
    """The keys of a joint that moves in the plane normal to an axis."""
    if axis(normal) == "z":
        return {}
    x, y, z = normal / (np.linalg.norm(normal) or 1.0)
    if z < -1 + 1e-12:
        turn, back = {"axis": "x", "angle": "180 deg"}, {"axis": "x", "angle": "-180 deg"}
        return _moved_in(turn, back)
    q = np.array([1 + z, -y, x, 0.0]) / np.sqrt(2 + 2 * z)  # the shortest rotation from z to the normal
    return _moved_in({"quaternion": vector(q)}, {"quaternion": vector(q * [1, -1, -1, -1])})


def _moved_in(turn: dict[str, Any], back: dict[str, Any]) -> dict[str, Any]:
    moves = [{"translate": ["free", "free", 0]}, {"rotate": {"axis": "z", "angle": "free"}}]
    return {"type": "chain", "transforms": [{"rotate": turn}, *moves, {"rotate": back}]}


def _rotation(rpy: np.ndarray) -> np.ndarray:
    """Rotation matrix by angles about the fixed axes x, y, z in turn."""
    (cx, cy, cz), (sx, sy, sz) = np.cos(rpy), np.sin(rpy)
    X = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    Y = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    Z = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    return np.asarray(Z @ Y @ X)


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return np.asarray((matrix + matrix.T) / 2)


TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical")


def check_tree(document: Document, links: Sequence[Element], joints: Sequence[Element]) -> Element | None:
    """The root link; faults are recorded in the document."""
    known = {link.get("name"): link for link in links}
    _check_names(document, links)
    _check_names(document, joints)
    children: dict[str, list[str]] = {}
    held: dict[str, Element] = {}
    for joint in joints:
        if joint.get("type") not in TYPES:
            hint = suggestion(joint.get("type"), TYPES, f"known: {', '.join(TYPES)}")
            document.fault(f"unknown joint type {describe(joint.get('type'))}", hint, line=joint.line)
        ends = [_end(document, joint, tag, known) for tag in ("parent", "child")]
        parent, child = ends
        if parent is None or child is None:
            continue
        if child in held:
            message = f"the link {describe(child)} is the child of two joints, the first on line {held[child].line}"
            document.fault(message, "a URDF robot is a tree; close loops in the model instead", line=joint.line)
            continue
        held[child] = joint
        children.setdefault(parent, []).append(child)
    if document.faults:
        return None
    return _root(document, known, held, children)


def _check_names(document: Document, elements: Sequence[Element]) -> None:
    first: dict[str, int] = {}
    for element in elements:
        name = element.get("name")
        if not name:
            document.fault(f"a <{element.tag}> has no name", line=element.line)
        elif name in first:
            message = f"there are two {element.tag}s {describe(name)}, the first on line {first[name]}"
            document.fault(message, "rename one of them", line=element.line)
        first.setdefault(name, element.line)


def _end(document: Document, joint: Element, tag: str, known: dict[str, Element]) -> str | None:
    """The name of the link at one end of a joint; None, with a fault, if there is none."""
    element = joint.first(tag)
    name = element.get("link") if element is not None else ""
    if name in known:
        return name
    message = (
        f"the joint {describe(joint.get('name'))} has no <{tag}>" if not name else f"there is no link {describe(name)}"
    )
    document.fault(message, suggestion(name, known), line=element.line if element is not None else joint.line)
    return None


def _root(
    document: Document, known: dict[str, Element], held: dict[str, Element], children: dict[str, list[str]]
) -> Element | None:
    roots = [link for name, link in known.items() if name not in held]
    if len(roots) > 1:
        names = ", ".join(describe(link.get("name")) for link in roots[:5]) + (", ..." if len(roots) > 5 else "")
        message = f"{len(roots)} links are not the child of any joint: {names}"
        document.fault(message, "a URDF robot has one root; join the others by fixed joints", line=roots[1].line)
        return None
    reached, waiting = set[str](), [link.get("name") for link in roots]
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting.extend(children.get(name, ()))
    around = [name for name in known if name not in reached]
    if around:
        message = f"the joints form a loop through {describe(around[0])}"
        document.fault(message, "a URDF robot is a tree; close loops in the model instead", line=known[around[0]].line)
        return None
    return roots[0] if roots else None
