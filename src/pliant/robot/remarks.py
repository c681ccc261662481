"""Remarks on what is valid but rarely intended: implausible values, unused parameters, joints that move no mass."""

import math
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from pliant.language.base import Part
from pliant.language.faults import ExpressionError
from pliant.language.parameter import TIME, finite
from pliant.language.scalar import Scalar
from pliant.language.syntax import Item, Node, children, parse, symbols
from pliant.language.traversal import parts
from pliant.parts.contact import ALL
from pliant.parts.field.magnetics import MU_0
from pliant.parts.joint.coordinate import AngleCoordinate
from pliant.parts.rod.rod import Rod
from pliant.parts.section.base import OneSection
from pliant.parts.tendon import HelicalStretch, ParallelStretch, PointStretch
from pliant.robot.semantic_checks import SemanticChecks
from pliant.robot.structure import Finding

SOFTEST, STIFFEST = 100.0, 2e12
"""Range of Young's moduli of materials: from soft gels to diamond [Pa]."""
LIGHTEST, HEAVIEST = 5.0, 25e3
"""Range of densities of solids: from the lightest foams to osmium [kg/m^3]."""
STOUTEST = 2.0
"""Largest plausible ratio of the thickness of a rod to its length."""
WIDEST = 1.0
"""Largest plausible ratio of the distance of a tendon or a chamber from the axis of its rod to the length of the rod."""
FARTHEST = 100.0
"""Largest plausible ratio of the deflection under a carried weight, by linear theory, to the length of the rod."""
DENSEST = 1e6
"""Largest plausible ratio of the mass of a body to the volume of its shape [kg/m^3]."""
MOST_MAGNETIC, STRONGEST_FIELD = 2.0e6, 50.0
"""Magnetization of the most magnetic materials, just above iron-cobalt [A/m], flux density of the strongest steady fields [T]."""
TURNS = 2.0
"""Largest plausible number of turns of an initial angle; larger ones are probably in degrees."""
SOUND = (340.0, "air"), (1500.0, "water")
"""Speed of sound [m/s] in gases and liquids, and of which."""
LIQUID = 100.0
"""Density above which a fluid is a liquid [kg/m^3]."""
UNIT = "is a unit missing? Numbers without one are SI: m, kg, Pa"


def remarks(checked: SemanticChecks) -> Iterator[Finding]:
    """Remarks on a valid model."""
    yield from _materials(checked)
    yield from _inertias(checked)
    yield from _dense_bodies(checked)
    yield from _many_turns(checked)
    yield from _stout_rods(checked)
    yield from _far_lines(checked)
    yield from _heavy_loads(checked)
    yield from _strong_magnets(checked)
    yield from _rods_touching(checked)
    yield from _fast_currents(checked)
    yield from _massless_ends(checked)
    yield from _below_zero(checked)
    yield from _unused_parameters(checked)


def _value(checked: SemanticChecks, scalar: Scalar | None) -> float | None:
    if scalar is None:
        return None
    try:
        found = checked.number(scalar)
    except (ExpressionError, OverflowError):
        return None  # it depends on the state, or overflows
    return found if math.isfinite(found) else None


def _materials(checked: SemanticChecks) -> Iterator[Finding]:
    """Materials with a modulus or density outside the range of solids."""
    ranges = {
        "youngs_modulus": ("Young's modulus", "Pa", SOFTEST, STIFFEST, "gels have some hundred Pa, diamond 1.2 TPa"),
        "density": ("density", "kg/m^3", LIGHTEST, HEAVIEST, "foams have some ten kg/m^3, osmium 22600 kg/m^3"),
    }
    for name, material in checked.flat.materials.items():
        for key, (words, unit, low, high, examples) in ranges.items():
            value = _value(checked, getattr(material, key))
            if value is not None and value > 0 and not low <= value <= high:
                message = f"no solid has a {words} of {value:.3g} {unit}: {examples}"
                yield "materials", name, (key,), message, UNIT


def _inertias(checked: SemanticChecks) -> Iterator[Finding]:
    """Inertias that no distribution of mass has. Not a fault: the equations can be solved, and many published robots have them."""
    for name, body in checked.flat.bodies.items():
        moments = body.principal_moments(checked.number)
        if moments and 2 * max(moments) > sum(moments) + 1e-9 * max(moments):
            shown = ", ".join(f"{moment:.4g}" for moment in moments)
            message = (
                f"no body has the principal moments of inertia {shown} kg*m^2: one exceeds the sum of the other two"
            )
            yield "bodies", name, ("inertia",), message, "check the numbers and their axes"


def _dense_bodies(checked: SemanticChecks) -> Iterator[Finding]:
    """Bodies with a given mass that is implausible for their shape."""
    for name, body in checked.flat.bodies.items():
        mass = _value(checked, body.mass)
        if not mass or body.shape is None:
            continue
        try:
            volume = float(body.shape.volume(checked.number))
        except (ArithmeticError, ExpressionError, NotImplementedError):
            continue
        if volume > 0 and mass > DENSEST * volume:
            message = f"a mass of {mass:.3g} kg in a shape of {volume:.3g} m^3 is {mass / volume:.2g} kg/m^3: no solid is so dense"
            yield "bodies", name, ("mass",), message, UNIT


def _many_turns(checked: SemanticChecks) -> Iterator[Finding]:
    """Initial angles of several turns."""
    for name, joint in checked.flat.joints.items():
        for label, coordinate in joint.coordinates().items():
            angle = _value(checked, coordinate.initial) if isinstance(coordinate, AngleCoordinate) else None
            if angle is not None and abs(angle) > TURNS * 2 * math.pi:
                message = f"the initial angle is {angle:.4g} rad, {abs(angle) / (2 * math.pi):.3g} turns"
                yield "joints", name, (label, "initial"), message, f"is it {angle:.4g} deg?"


def _half_sizes(checked: SemanticChecks, rod: Rod) -> np.ndarray | None:
    """Half width and half height of the section at the base of the rod [m]; None if it has no sizes."""
    section = checked.flat.sections.get(rod.section[0])
    if not isinstance(section, OneSection):
        return None
    try:
        return np.array([float(x) for x in section.half_sizes(checked.number)])
    except (ArithmeticError, ValueError):  # sizes may overflow or be undefined
        return None


def _stout_rods(checked: SemanticChecks) -> Iterator[Finding]:
    """Rods that are much thicker than long."""
    for name, rod in checked.flat.rods.items():
        length, sizes = _value(checked, rod.length), _half_sizes(checked, rod)
        if length and sizes is not None and 2 * float(sizes.max()) > STOUTEST * length:
            message = f"the rod is {2 * float(sizes.max()):.3g} m thick and {length:.3g} m long"
            yield "rods", name, ("section",), message, UNIT


def _far_lines(checked: SemanticChecks) -> Iterator[Finding]:
    """Tendons and chambers farther from the axis of a rod than the rod is long."""
    lines: list[tuple[str, tuple[Any, ...], str, Sequence[Scalar]]] = []
    for name, tendon in checked.flat.tendons.items():
        for index, item in enumerate(tendon.through):
            if isinstance(item, HelicalStretch):
                lines.append(("tendon", ("tendons", name, ("through", index, "radius")), item.rod, (item.radius,)))
            elif isinstance(item, ParallelStretch):
                lines.append(("tendon", ("tendons", name, ("through", index, "offset")), item.rod, item.offset))
            elif isinstance(item, PointStretch):
                lines += [
                    ("tendon", ("tendons", name, ("through", index, "points", k, "offset")), item.rod, point.offset)
                    for k, point in enumerate(item.points)
                ]
    for name, rod in checked.flat.rods.items():
        lines += [
            ("chamber", ("rods", name, ("chambers", chamber, "positions", k)), name, position)
            for chamber, one in rod.chambers.items()
            for k, position in enumerate(one.positions)
        ]
    for what, (collection, name, path), rod_name, offset in lines:
        length = _value(checked, checked.flat.rods[rod_name].length) if rod_name in checked.flat.rods else None
        away = math.hypot(*(_value(checked, x) or 0.0 for x in offset))
        if length and away > WIDEST * length:
            message = f"the {what} is {away:.3g} m from the axis of a rod that is {length:.3g} m long"
            yield collection, name, path, message, UNIT


def _strong_magnets(checked: SemanticChecks) -> Iterator[Finding]:
    """Magnetizations and fields beyond those of any magnet."""
    limits = {
        "magnetization": ("material has a magnetization", "A/m", MOST_MAGNETIC, "iron-cobalt saturates at 1.95 MA/m"),
        "remanence": ("material has a remanence", "T", MU_0 * MOST_MAGNETIC, "neodymium magnets have up to 1.5 T"),
        "flux_density": ("laboratory has a steady field", "T", STRONGEST_FIELD, "scanners have a few tesla"),
    }
    for name, magnet in checked.flat.magnets.items():
        for key, (words, unit, most, examples) in limits.items():
            values = [_value(checked, x) or 0.0 for x in getattr(magnet, key, None) or ()]
            if math.hypot(*values) > most:
                yield "magnets", name, (key,), f"no {words} of {math.hypot(*values):.3g} {unit}: {examples}", UNIT


def _heavy_loads(checked: SemanticChecks) -> Iterator[Finding]:
    """Bodies attached to a rod that cannot carry them."""
    flat = checked.flat
    gravity = math.hypot(*(_value(checked, x) or 0.0 for x in flat.world.gravity))
    for joint in flat.joints.values():
        rod, body = flat.rods.get(joint.parent.partition(".")[0]), joint.child.partition(".")[0]
        if rod is None or body not in flat.bodies or not rod.material or rod.material[0] not in flat.materials:
            continue
        mass = float(flat.bodies[body].total_mass(checked.number, flat.materials))
        fluid, shape = flat.world.fluid, flat.bodies[body].shape
        if fluid is not None and shape is not None:  # which carries what it displaces
            mass -= checked.number(fluid.density) * shape.volume(checked.number)
        length, sizes = _value(checked, rod.length), _half_sizes(checked, rod)
        modulus = _value(checked, flat.materials[rod.material[0]].youngs_modulus)
        if not (length and modulus and sizes is not None and sizes.max() > 0):
            continue
        with np.errstate(all="ignore"):  # extreme sizes overflow
            stiffness = modulus * math.pi / 4 * sizes.max() ** 4  # upper bound
            deflection = float(mass * gravity * np.float64(length) ** 2 / (3 * stiffness))
        if deflection > FARTHEST:
            carrier = joint.parent.partition(".")[0]
            message = (
                f"the {mass:.3g} kg of '{body}' would bend the rod '{carrier}' by {deflection:.2g} times its length"
            )
            yield "bodies", body, ("mass",), message, UNIT


def _fast_currents(checked: SemanticChecks) -> Iterator[Finding]:
    """A current above the speed of sound, at the world's origin and time zero."""
    fluid = checked.flat.world.fluid
    density = None if fluid is None else _value(checked, fluid.density)
    if fluid is None or density is None:
        return
    sound, what = SOUND[density > LIQUID]
    for k, given in enumerate(fluid.current):
        try:
            speed = finite(given, {**checked.numbers, TIME: 0.0, **dict.fromkeys("xyz", 0.0)})
        except (ExpressionError, OverflowError):
            continue  # it has no value there
        if abs(speed) > sound:
            message = f"a current of {abs(speed):.3g} m/s is faster than sound in {what}, {sound:g} m/s"
            yield "world", "", ("fluid", "current", k), message, UNIT


def _rods_touching(checked: SemanticChecks) -> Iterator[Finding]:
    """Rods in contacts whose sections have outlines with different numbers of corners: these touch as round rods."""
    flat = checked.flat
    for name, contact in flat.contacts.items():
        listed = dict.fromkeys(part for group in contact.between for part in group)  # in a fixed order
        for rod in flat.rods if ALL in listed else [part for part in listed if part in flat.rods]:
            names = flat.rods[rod].section
            table = (
                flat.sections[names[0]].stations_by_arc_length()
                if len(names) == 1 and names[0] in flat.sections
                else ()
            )
            sections = [flat.sections.get(section) for section in [section for _, section in table] or names]
            counts = {len(x.outline(checked.number)) if isinstance(x, OneSection) else 0 for x in sections}
            if len(counts) > 1:
                message = (
                    f"the sections of the rod '{rod}' have different numbers of corners, so it touches as a round rod of half its "
                    "smaller width with hemispherical ends"
                )
                hint = "use sections with as many corners as each other, or place surfaces on frames along the rod"
                yield "contacts", name, ("between",), message, hint


def _massless_ends(checked: SemanticChecks) -> Iterator[Finding]:
    """Joints that move no mass and no constrained part."""
    flat = checked.flat
    constrained = {end.frame.partition(".")[0] for item in flat.constraints.values() for end in item.between}
    heavy = {
        name
        for name, body in flat.bodies.items()
        if float(body.total_mass(checked.number, flat.materials)) > 0 or any(body.principal_moments(checked.number))
    }
    parents = {joint.child.partition(".")[0]: joint.parent.partition(".")[0] for joint in flat.joints.values()}
    parents |= {name: rod.parent.partition(".")[0] for name, rod in flat.rods.items()}
    carried: set[str] = set()
    for name in {*heavy, *constrained, *flat.rods, *(frame.partition(".")[0] for frame in _mesh_holders(checked))}:
        here: str | None = name
        while here is not None and here not in carried:
            carried.add(here)
            here = parents.get(here)
    for name, joint in flat.joints.items():
        free = [
            c
            for c in joint.coordinates().values()
            if not getattr(c, "motion", None) and not getattr(c, "equal_to", None)
        ]
        child = joint.child.partition(".")[0]
        if free and child not in carried:
            message = f"the joint moves '{child}' and nothing else, and that has no mass: its motion is not determined"
            yield "joints", name, ("child",), message, f"give '{child}' a mass, or attach a body with mass to it"


def _mesh_holders(checked: SemanticChecks) -> Iterator[str]:
    for mesh in checked.flat.meshes.values():
        yield mesh.parent
        yield from mesh.held.values()


def _below_zero(checked: SemanticChecks) -> Iterator[Finding]:
    """Springs and dampers with negative coefficients."""
    for collection in ("joints", "rods", "links", "tendons"):
        for name, thing in getattr(checked.flat, collection).items():
            for part, path in parts(thing) if isinstance(thing, Part) else ():
                for field, meaning in part.odd_below_zero.items():
                    lowest = min(_values(checked, getattr(part, field)), default=0.0)
                    if lowest < 0:
                        yield collection, name, (*path, field), f"{lowest:g} is below zero: {meaning}", ""


def _values(checked: SemanticChecks, given: Any) -> Iterator[float]:
    """The values of a field, except those that depend on the state."""
    if isinstance(given, tuple):
        for entry in given:
            yield from _values(checked, entry)
    elif isinstance(given, (str, int, float)):
        value = _value(checked, given)
        if value is not None:
            yield value


def _unused_parameters(checked: SemanticChecks) -> Iterator[Finding]:
    """Parameters that no expression uses, in any variant."""
    source = checked.spec.source
    texts = [tree.plain() for tree in (source.tree, source.all_variants) if tree is not None]
    used = set(_names(texts or checked.spec))
    for name in checked.spec.parameters:
        if name not in used:
            yield (
                "parameters",
                name,
                (),
                f"the parameter '{name}' is not used",
                "remove it, or use it in an expression",
            )


def _names(data: Any) -> Iterator[str]:
    """Names in all expressions and indices of plain data or parts."""
    if isinstance(data, dict):
        for value in data.values():
            yield from _names(value)
    elif isinstance(data, (list, tuple)):
        for value in data:
            yield from _names(value)
    elif isinstance(data, Part):
        yield from _names(data.__dict__)
    elif isinstance(data, str) and ("=" in data or "[" in data):
        yield from _in_text(data)


@lru_cache(maxsize=4096)
def _in_text(text: str) -> frozenset[str]:
    """Names in an expression, or in the indices of a reference; none in other text."""
    own = text.lstrip().startswith("=")
    names: set[str] = set()
    for expression in [text] if own else ["=" + index for index in re.findall(r"\[([^\[\]]+)\]", text)]:
        try:
            names.update(_in_expression(parse(expression)))
        except ExpressionError:
            continue
    return frozenset(names)


def _in_expression(node: Node) -> Iterator[str]:
    if isinstance(node, Item):
        yield node.name
    for name in symbols(node):
        yield name.partition("[")[0]
    for child in children(node):
        yield from _in_expression(child)
