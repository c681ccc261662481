"""Checks of the structure of a model: references, the tree of bodies, coordinates, inputs, outputs and controllers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from pliant.language import parameter
from pliant.language.base import Framed
from pliant.language.dimension import LENGTH, NUMBER, TIME, Dimension
from pliant.language.evaluate import CONSTANTS, to_node
from pliant.language.faults import ExpressionError
from pliant.language.message_text import KeyPath, suggestion
from pliant.language.names import Reference
from pliant.language.source import FileProblem
from pliant.language.syntax import parse, symbols
from pliant.language.traversal import Leaf, collections, leaves, parts
from pliant.language.units import parse_unit
from pliant.parts.input import Samples, Series, SeriesInput
from pliant.parts.joint.coordinate import Coordinate, LengthCoordinate, Orientation
from pliant.parts.mesh.base import MeshBase
from pliant.parts.output.base import ExpressionOutput
from pliant.parts.section.material import FIBRE_LAWS
from pliant.robot.controllers import KnownDimensions
from pliant.robot.fields import RobotFields
from pliant.robot.flat import HOMES
from pliant.robot.semantic_checks import SemanticChecks


@dataclass(frozen=True)
class CoordinateEntry:
    """A coordinate: its name, its joint, its label there (`angle`, `x`, ...) and its path in the joint."""

    name: str
    joint: str
    label: str
    coordinate: Coordinate | Orientation
    path: KeyPath


def coordinate_table(flat: RobotFields) -> list[CoordinateEntry]:
    """All coordinates of a flat model, in the order of its joints."""
    table: list[CoordinateEntry] = []
    for joint_name, joint in flat.joints.items():
        own = joint.coordinates()
        paths = [path for part, path in parts(joint) if isinstance(part, (Coordinate, Orientation))]
        for (label, coordinate), path in zip(own.items(), paths, strict=True):
            default = joint_name if len(own) == 1 else f"{joint_name}.{label}"
            table.append(CoordinateEntry(coordinate.name or default, joint_name, label, coordinate, path))
    return table


def structure_problems(checked: SemanticChecks) -> Iterator[Finding]:
    """All problems of the structure of a model."""
    if not any(framed(checked)) and not checked.lacks("bodies", "rods", "meshes", "attach"):
        yield "bodies", "", (), "the model has no bodies", "add `bodies`, `rods` or `meshes`, or `attach` another model"
    yield from _references(checked)
    yield from _tree(checked)
    yield from _coordinates(checked)
    yield from _inputs(checked)
    yield from _outputs(checked)
    yield from expression_problems(checked)
    yield from _same_ends(checked)
    yield from _thing_names(checked)
    yield from control_problems(checked)
    yield from task_problems(checked)
    yield from _masses(checked)
    yield from rod_problems(checked)
    yield from mesh_problems(checked)


def framed(checked: SemanticChecks) -> Iterator[tuple[str, str, Framed]]:
    """Collection, name and part of everything that has frames."""
    for collection in collections(type(checked.flat)):
        for name, thing in getattr(checked.flat, collection).items():
            if isinstance(thing, Framed):
                yield collection, name, thing


def frame_names(checked: SemanticChecks) -> set[str]:
    """All frames: the world, those of parts, and their named frames."""
    frames = {"world"}
    for _, name, thing in framed(checked):
        frames |= {name, *(f"{name}.{frame}" for frame in thing.frame_names())}
    for name, own in checked.broken.frames.items():
        frames |= {f"{name}.{frame}" if frame else name for frame in own}
    return frames


def _homes(checked: SemanticChecks, kind: str) -> tuple[str, ...]:
    return tuple(collections(type(checked.flat))) if kind == "frame" else HOMES.get(kind, (kind + "s",))


def _references(checked: SemanticChecks) -> Iterator[Finding]:
    """Check that every reference has a target."""
    flat = checked.flat
    known: dict[str, set[str]] = {
        "frame": frame_names(checked),
        "coordinate": {entry.name for entry in coordinate_table(flat)},
        "rod": set(flat.rods),
        "link": set(flat.links),
        "tendon": set(flat.tendons),
        "mesh": set(flat.meshes),
        "surface": set(flat.surfaces),
        "contact": set(flat.contacts),
        "constraint": set(flat.constraints),
        "material": set(flat.materials),
        "section": set(flat.sections),
        "input": checked.inputs,
        "output": set(flat.outputs),
        "parameter": set(flat.parameters),
    }
    for kind, homes in HOMES.items():
        if kind not in known:
            known[kind] = {name for home in homes for name in getattr(flat, home)}
    known["body, rod, mesh or surface"].add("all")
    for collection in collections(type(flat)):
        for name, thing in getattr(flat, collection).items():
            for leaf in leaves(thing):
                if isinstance(leaf.marker, Reference) and _lost(checked, leaf, known[leaf.marker.kind]):
                    yield collection, name, leaf.path, *_missing(checked, leaf, known[leaf.marker.kind])
    for index, analysis in enumerate(flat.analyses):
        for leaf in leaves(analysis, (index,)):
            if isinstance(leaf.marker, Reference) and _lost(checked, leaf, known[leaf.marker.kind]):
                yield "analyses", "", leaf.path, *_missing(checked, leaf, known[leaf.marker.kind])


def _lost(checked: SemanticChecks, leaf: Leaf, names: set[str]) -> bool:
    """Whether a reference has no target; false if the target may be an entry that could not be read."""
    assert isinstance(leaf.marker, Reference)
    kind = leaf.marker.kind
    target = leaf.value.partition(".")[0].partition("[")[0]
    homes = _homes(checked, kind)
    if leaf.value in names or checked.lacks("attach") or (kind in ("frame", "mesh") and checked.lacks("meshes")):
        return False
    if kind == "body, rod, mesh or surface" and checked.lacks("meshes", "surfaces"):
        return False
    if kind == "coordinate" and of_a_rod(checked.flat, leaf.value):
        return False  # they depend on the model of the rod, and are checked when it is built
    if kind == "frame" and target in checked.broken.frames:
        return True  # the part has other faults, but its frames are known
    if any(checked.broken.touches(home, target) for home in homes):
        return False
    if checked.origins.full and any(checked.origins.counts.get((home, target)) == 0 for home in homes):
        return False  # more instances than are allowed, which is reported at their number
    return not (kind == "coordinate" and (checked.broken.lacks("joints") or checked.broken.trimmed))


def of_a_rod(flat: RobotFields, reference: str) -> bool:
    """Whether a reference to a coordinate is to one of a rod, whether it exists or not."""
    return any(reference.startswith(f"{rod}.") for rod in flat.rods)


def _missing(checked: SemanticChecks, leaf: Leaf, names: set[str]) -> tuple[str, str]:
    """Message and hint for a reference without a target."""
    assert isinstance(leaf.marker, Reference)
    kind, value = leaf.marker.kind, leaf.value
    body, dot, frame = value.partition(".")
    bare = body.partition("[")[0]
    homes = _homes(checked, kind)
    count = next((n for home in homes if (n := checked.origins.counts.get((home, bare))) is not None), None)
    if count is not None and body not in names:
        if "[" in body:
            hint = f"it has instances 1 to {count}"
            if kind == "frame" and leaf.path == ("parent",):
                hint += "; give the parent of the first instance as `first_parent`"
            return f"there is no {body}", hint
        return f"'{bare}' is repeated: an index is missing", f"write {bare}[1] to {bare}[{count}]"
    if kind == "frame" and dot and body in names:
        own = [name.partition(".")[2] for name in names if name.startswith(body + ".")]
        listed = f"it has: {', '.join(sorted(own))}" if own else "it has no named frames"
        return f"'{body}' has no frame '{frame}'", suggestion(frame, own, listed)
    hint = suggestion(value, names, f"known: {', '.join(sorted(names)[:12]) or 'none'}")
    if kind == "input" and value in checked.flat.parameters:
        return f"parameter '{value}' is not an input", "mark it with `input: true`"
    return f"there is no {kind} '{value}'", hint


def _tree(checked: SemanticChecks) -> Iterator[Finding]:
    """Check that every part with frames has one parent, and that every chain of parents ends at the world."""
    carriers = ("joints", *{collection for collection, _, _ in framed(checked)})
    if checked.lacks("attach", *carriers):
        return
    seat: dict[str, tuple[str, str, str]] = {}  # carrier of each part: collection, name, and the parent frame
    carried: list[str] = []
    for collection, name, thing in framed(checked):
        if name in seat or name in carried:
            yield collection, name, (), f"the name '{name}' is used twice for parts with frames", "rename one"
        parent = getattr(thing, "parent", None)
        if parent is None:
            carried.append(name)
        else:
            seat[name] = (collection, name, parent)
    yield from _carried_by_joints(checked, seat, carried)
    lost = any(joint.child.partition(".")[0] not in carried for joint in checked.flat.joints.values())
    for collection, name, _ in framed(checked):
        if name not in seat and not lost:
            message = f"the body '{name}' has no joint"
            hint = f"add a joint with `child: {name}`: type free to let it float, type weld to fix it"
            yield collection, name, (), message, hint
    yield from _circles(seat)


def _carried_by_joints(
    checked: SemanticChecks, seat: dict[str, tuple[str, str, str]], carried: list[str]
) -> Iterator[Finding]:
    """Add the joints to `seat` as carriers of their children, and check that each child has one carrier."""
    for name, joint in checked.flat.joints.items():
        child = joint.child.partition(".")[0]
        if child == "world":
            yield "joints", name, ("child",), "the world cannot be the child of a joint", "swap parent and child"
        elif child in seat:
            message = f"'{child}' is already the child of joint '{seat[child][1]}'"
            if seat[child][0] != "joints":
                message = f"'{child}' is fixed to its `parent` and cannot be the child of a joint"
            hint = "every body is the child of one joint; close a loop with a constraint"
            yield "joints", name, ("child",), message, hint
        elif child in carried:
            seat[child] = ("joints", name, joint.parent)


def _circles(seat: dict[str, tuple[str, str, str]]) -> Iterator[Finding]:
    """Check that no chain of parents is closed."""
    safe = {"world"}
    for start in seat:
        name, chain = start, list[str]()
        while name in seat and name not in safe and name not in chain:
            chain.append(name)
            name = seat[name][2].partition(".")[0]
        if name in chain:
            circle = [seat[thing] for thing in chain[chain.index(name) :]]
            names = ", ".join(carrier for _, carrier, _ in reversed(circle))
            message = f"{names} form a circle"
            hint = "attach one of the bodies to the world, and close the loop with a constraint"
            yield circle[-1][0], circle[-1][1], ("parent",), message, hint
        safe.update(chain)


def _coordinates(checked: SemanticChecks) -> Iterator[Finding]:
    """Check that coordinates have different names, and that each has at most one driver."""
    table = coordinate_table(checked.flat)
    by_name: dict[str, Any] = {}
    for entry in table:
        if entry.name in by_name:
            message = f"the coordinate name '{entry.name}' is used twice"
            yield "joints", entry.joint, entry.path, message, f"also in joint '{by_name[entry.name].joint}'"
        by_name.setdefault(entry.name, entry)
    for entry in table:
        coordinate = entry.coordinate
        if isinstance(coordinate, Orientation):
            continue
        if coordinate.equal_to is not None:
            yield from _tie(checked, entry, by_name)
        if getattr(coordinate, "motion", None) is None and coordinate.equal_to is None:
            continue
        driver = "motion" if coordinate.equal_to is None else "equal_to"
        for key in ("initial", "rate", *(["motion"] if driver == "equal_to" else [])):
            if key in coordinate.model_fields_set and getattr(coordinate, key) is not None:
                message = f"`{key}` has no effect: `{driver}` prescribes the coordinate"
                yield "joints", entry.joint, (*entry.path, key), message, f"remove `{key}` or `{driver}`"


def _tie(checked: SemanticChecks, entry: Any, by_name: dict[str, Any]) -> Iterator[Finding]:
    """Check a coordinate tied to another: no circular reference, and the right dimensions of ratio and offset."""
    tie = entry.coordinate.equal_to
    path = (*entry.path, "equal_to")
    chain = [entry.name]
    name = tie.coordinate
    while name in by_name and name not in chain:
        chain.append(name)
        other = by_name[name].coordinate
        name = other.equal_to.coordinate if isinstance(other, Coordinate) and other.equal_to else ""
    if name == entry.name:
        yield "joints", entry.joint, path, f"'{entry.name}' is tied to itself", "remove the circular reference"
        return
    if tie.coordinate not in by_name:
        return
    other = by_name[tie.coordinate].coordinate
    if isinstance(other, Orientation):
        message = f"'{tie.coordinate}' is a free rotation and cannot be equal to a single coordinate"
        yield "joints", entry.joint, (*path, "coordinate"), message, "tie it to a length or an angle"
        return
    own_dimension, other_dimension = _dimension(entry.coordinate), _dimension(other)
    expected = {"ratio": own_dimension / other_dimension, "offset": own_dimension}
    for key, dimension in expected.items():
        problem = checked.dimension_problem(getattr(tie, key), dimension)
        if problem:
            yield "joints", entry.joint, (*path, key), *problem


def _dimension(coordinate: Coordinate) -> Dimension:
    return LENGTH if isinstance(coordinate, LengthCoordinate) else NUMBER


def _inputs(checked: SemanticChecks) -> Iterator[Finding]:
    """Check that inputs drive input parameters, and that recorded series can be read."""
    for name, signal in checked.flat.inputs.items():
        if name not in checked.flat.parameters:
            if not checked.lacks("parameters"):
                hint = suggestion(name, checked.inputs, f"add parameters: {{{name}: {{value: 0, input: true}}}}")
                yield "inputs", name, (), f"there is no parameter '{name}' to drive", hint
        elif name not in checked.inputs:
            yield "inputs", name, (), f"parameter '{name}' is not an input", "mark it with `input: true`"
        if isinstance(signal, SeriesInput):
            try:
                signal.interpolated(checked.number)
            except FileProblem as problem:
                yield "inputs", name, ("series",), str(problem), problem.hint
            except ExpressionError:
                continue  # reported at the value
            else:
                yield from _series_units(checked, name, signal.series)
                yield from _heading_unit(checked, name, signal.series, signal.samples)


def _series_units(checked: SemanticChecks, name: str, series: Series) -> Iterator[Finding]:
    """Check that the units of a recorded series are those of a time and of the parameter."""
    expected = {"time_unit": TIME, "unit": checked.dimensions.get(name)}
    for key, dimension in expected.items():
        unit = getattr(series, key)
        problem = None
        if isinstance(dimension, Dimension) and unit is not None:
            problem = checked.dimension_problem(f"1 {unit}", dimension)
        if problem:
            yield "inputs", name, ("series", key), problem[0], ""


def _heading_unit(checked: SemanticChecks, name: str, series: Series, samples: Samples) -> Iterator[Finding]:
    """Check that the unit in the heading of a column is one of the parameter."""
    expected = checked.dimensions.get(name)
    if series.unit is None and samples.unit is not None and isinstance(expected, Dimension):
        found = samples.unit.dimension
        if found != expected:
            words = (
                f"the column '{series.column}' of {series.file} is in a unit of {found}, but '{name}' is a {expected}"
            )
            yield "inputs", name, ("series", "column"), words, "use another column"


def _outputs(checked: SemanticChecks) -> Iterator[Finding]:
    """Check that outputs refer to quantities that exist."""
    for name, output in checked.flat.outputs.items():
        for path, message, hint in output.problems_in(checked.flat):
            yield "outputs", name, path, message, hint


def _same_ends(checked: SemanticChecks) -> Iterator[Finding]:
    """Check that links and constraints connect two different frames."""
    for collection in ("links", "constraints"):
        for name, thing in getattr(checked.flat, collection).items():
            first, second = thing.between
            if first == second:
                message = f"both ends are the same frame '{first.frame}'"
                yield collection, name, ("between",), message, "name two different frames"


def _thing_names(checked: SemanticChecks) -> Iterator[Finding]:
    """Check that names in contacts are unambiguous: surfaces, bodies, rods and meshes have different names, and none is `all`."""
    flat = checked.flat
    for collection in HOMES["body, rod, mesh or surface"]:
        if "all" in getattr(flat, collection):
            yield collection, "all", (), "the name 'all' is reserved for all parts in contacts", "choose another name"
    for collection in ("bodies", "rods", "meshes"):
        for name in getattr(flat, collection):
            if name in flat.surfaces:
                message = f"'{name}' is also a name in `{collection}`, so its use in contacts is ambiguous"
                yield "surfaces", name, (), message, "choose another name"


def _masses(checked: SemanticChecks) -> Iterator[Finding]:
    """Check that the material of a body without a given mass has a density."""
    for name, body in checked.flat.bodies.items():
        if body.mass is not None or body.shape is None or body.material not in checked.flat.materials:
            continue
        density = checked.flat.materials[body.material].density
        if density is None and not checked.broken.touches("materials", body.material):
            message = f"the mass of '{name}' is unknown: its material '{body.material}' has no density"
            yield "bodies", name, ("material",), message, "add `mass`, or `density` to the material"


def coordinate_units(flat: RobotFields) -> dict[str, str]:
    """SI units of the coordinates of joints, except free rotations."""
    return {
        entry.name: "m" if isinstance(entry.coordinate, LengthCoordinate) else "rad"
        for entry in coordinate_table(flat)
        if not isinstance(entry.coordinate, Orientation)
    }


def expression_problems(checked: SemanticChecks) -> Iterator[Finding]:
    """Problems of outputs that are expressions."""
    flat = checked.flat
    for name, output in flat.outputs.items():
        if not isinstance(output, ExpressionOutput):
            continue
        found = [*_names(checked, output)]
        for message, hint in found:
            yield "outputs", name, ("expression",), message, hint
        if found:
            continue
        if _leads_back(flat, name):
            message = f"the output '{name}' is computed from itself"
            yield "outputs", name, ("expression",), message, "remove the circular reference"
            continue
        try:
            output.result_dimension(flat, coordinate_units(flat), (name,))
            checked.evaluate_constants(output.expression, output.used(flat))
        except ExpressionError as error:
            yield "outputs", name, ("expression",), str(error), error.hint


def _names(checked: SemanticChecks, output: ExpressionOutput) -> Iterator[tuple[str, str]]:
    """Messages and hints about unknown or ambiguous names, and vectors without a component."""
    flat = checked.flat
    used = output.used(flat)
    for name in sorted(symbols(parse(output.expression)) - CONSTANTS.keys() - {parameter.TIME}):
        if name in used:
            if name in flat.parameters:
                message = f"both a parameter and an output are called '{name}'"
                yield message, "rename one of them"
            yield from _component(flat, *used[name])
        elif name not in flat.parameters and not checked.lacks("outputs", "parameters", "attach"):
            known = [*flat.outputs, *flat.parameters]
            listed = f"known outputs: {', '.join([*flat.outputs][:12])}"
            yield f"there is no output or parameter '{name}'", suggestion(name.partition(".")[0], known, listed)


def _component(flat: RobotFields, name: str, part: str) -> Iterator[tuple[str, str]]:
    labels = flat.outputs[name].components(flat)
    if labels and labels[0].isdigit():
        yield (
            f"the output '{name}' is a profile along a rod, not a number",
            "use the quantity `at` one arc length instead",
        )
    elif labels and not part:
        yield f"the output '{name}' is a vector", f"choose a component: {name}.{labels[0]}"
    elif part and part not in (*labels, *(("norm",) if len(labels) == 3 else ())):
        hint = f"it has {', '.join(labels)}" if labels else f"it is a number: write {name}"
        yield f"the output '{name}' has no component {part}", hint


def _leads_back(flat: RobotFields, start: str) -> bool:
    waiting, seen = [start], set[str]()
    while waiting:
        output = flat.outputs[waiting.pop()]
        if isinstance(output, ExpressionOutput):
            for name, _ in output.used(flat).values():
                if name == start:
                    return True
                if name not in seen:
                    seen.add(name)
                    waiting.append(name)
    return False


def control_problems(checked: SemanticChecks) -> Iterator[Finding]:
    """Check the dimensions of values of controllers, and that no input has two controllers."""
    owner: dict[str, str] = {}
    known = _known(checked)
    for name, controller in checked.flat.control.items():
        for path, value, expected in controller.dimensioned(known):
            problem = None if expected is None else checked.dimension_problem(value, expected)
            if problem and expected is not None:
                message, hint = problem
                if path[-1] == "rate":
                    hint = f"give a change per second, in {(expected * TIME).unit}/s"
                yield "control", name, path, message, hint
        for input_name in controller.inputs or sorted(checked.inputs):
            if input_name in owner:
                message = f"the input '{input_name}' is also set by the controller '{owner[input_name]}'"
                yield "control", name, ("inputs",), message, "list the inputs of each controller under `inputs`"
            owner.setdefault(input_name, name)


def task_problems(checked: SemanticChecks) -> Iterator[Finding]:
    """Check that bounds of tasks have the right dimensions, actions have limits, and random parameters are plain values."""
    known, parameters = _known(checked), checked.flat.parameters
    for name, task in checked.flat.task.items():
        for path, value, expected in task.dimensioned(known):
            problem = None if expected is None else checked.dimension_problem(value, expected)
            if problem:
                yield "task", name, path, *problem
        for index, action in enumerate(task.actions or ()):
            given = parameters.get(action)
            if given is not None and (given.minimum is None or given.maximum is None):
                message = f"the input '{action}' has no limits, so the space of actions has none"
                yield "task", name, ("actions", index), message, "give the parameter a `minimum` and a `maximum`"
        for index, drawn in enumerate(task.randomize):
            given = parameters.get(drawn.parameter)
            if given is not None and (given.input or symbols(to_node(given.value))):
                what = "an input" if given.input else "computed from others"
                message = f"the parameter '{drawn.parameter}' is {what} and cannot be drawn"
                yield "task", name, ("randomize", index, "parameter"), message, "name a parameter that is a plain value"


def _known(checked: SemanticChecks) -> KnownDimensions:
    """Dimensions by name; those of rods' coordinates are checked when the robot is built."""
    flat = checked.flat
    coordinates = coordinate_units(flat)
    outputs = {name: output.unit(flat, coordinates) for name, output in flat.outputs.items()}
    return KnownDimensions(
        inputs={name: found for name, found in checked.dimensions.items() if isinstance(found, Dimension)},
        coordinates={name: _dimension_of_unit(unit) for name, unit in coordinates.items()},
        outputs={name: _dimension_of_unit(unit) for name, unit in outputs.items() if unit},
    )


def _dimension_of_unit(unit: str) -> Dimension:
    return NUMBER if unit == "-" else parse_unit(unit).dimension


Finding: TypeAlias = tuple[str, str, KeyPath, str, str]
"""Collection, name of the part, path in it, message and hint."""

NEEDED = {"density": "kg/m^3", "youngs_modulus": "Pa"}
"""Properties that every material of a rod needs, with units."""


def rod_problems(checked: SemanticChecks) -> Iterator[Finding]:
    """Check that materials are complete, and that a table of sections describes the entire rod and contains no tables."""
    for name, rod in checked.flat.rods.items():
        sections = [checked.flat.sections[key] for key in rod.section if key in checked.flat.sections]
        if len(sections) < len(rod.section):
            continue  # reported as a reference to nothing
        yield from _materials(checked, name, rod, sections)
        yield from _tables(checked, name, rod, sections)


def _materials(checked: SemanticChecks, name: str, rod: Any, sections: list[Any]) -> Iterator[Finding]:
    inner = [checked.flat.sections.get(key) for section in sections for _, key in section.stations_by_arc_length()]
    needed = any(section.needs_material for section in [*sections, *inner] if section is not None)
    if needed and not rod.material:
        message = f"the rod '{name}' has no material"
        yield "rods", name, (), message, "add `material`; only sections of shape `stiffness` need none"
    law = FIBRE_LAWS.get(rod.law)
    key_of_law = law.key if law is not None else ""
    if key_of_law and not needed and not rod.material:
        message = f"the law '{rod.law}' needs `{key_of_law}` of a material, and the rod '{name}' has none"
        yield "rods", name, ("law",), message, f"add a `material` with `{key_of_law}`, or choose another law"
    for index, key in enumerate(rod.material):
        material = checked.flat.materials.get(key)
        if material is None or checked.broken.touches("materials", key):
            continue
        missing = [field for field in NEEDED if getattr(material, field) is None]
        if material.poissons_ratio is None and material.shear_modulus is None:
            missing.append("poissons_ratio")
        if missing:
            message = f"the rod '{name}' needs {' and '.join(missing)} of its material '{key}'"
            yield "rods", name, ("material", index), message, f"add {' and '.join(missing)} to the material"
        if key_of_law and getattr(material, key_of_law) is None:
            message = f"the law '{rod.law}' of the rod '{name}' needs `{key_of_law}` of its material '{key}'"
            yield "rods", name, ("law",), message, f"add `{key_of_law}` to the material, or choose another law"


def _tables(checked: SemanticChecks, name: str, rod: Any, sections: list[Any]) -> Iterator[Finding]:
    for index, section in enumerate(sections):
        stations = section.stations_by_arc_length()
        if not stations:
            continue
        if len(sections) > 1:
            message = f"the section '{rod.section[index]}' is a table, which describes the entire rod"
            yield "rods", name, ("section", index), message, "give only the table"
            continue
        if any(
            checked.flat.sections[key].stations_by_arc_length() for _, key in stations if key in checked.flat.sections
        ):
            yield "sections", rod.section[index], ("stations",), "a table cannot contain another table", ""


def mesh_problems(checked: SemanticChecks) -> Iterator[Finding]:
    """Check that sections apply to every edge, and that materials are complete."""
    for name, mesh in checked.flat.meshes.items():
        found: set[tuple[KeyPath, str]] = set()
        for number in mesh.edge_numbers:
            for path, message, hint in _edge_problems(checked, name, mesh, number):
                if (path, message) not in found:
                    found.add((path, message))
                    yield "meshes", name, path, message, hint


def _edge_problems(
    checked: SemanticChecks, name: str, mesh: MeshBase, number: int
) -> Iterator[tuple[KeyPath, str, str]]:
    """Faults of the section and the material of the edges of an entry of `edges`, counted from 1; 0 for the others."""
    section_name, material_name = mesh.section_of(number)
    section, material = checked.flat.sections.get(section_name or ""), checked.flat.materials.get(material_name or "")
    if section is not None and section.stations_by_arc_length():
        message = f"the section '{section_name}' is a table, which describes a rod from base to tip"
        yield mesh.path_of(number, "section"), message, "name one of the sections in it"
    elif section is not None and section.needs_material and material_name is None:
        yield mesh.path_of(number, "section"), "`section` needs `material` beside it", "add `material`"
    if material is None or checked.broken.touches("materials", material_name or ""):
        return
    for need in mesh.material_needs(number):
        if all(getattr(material, key) is None for key in need):
            message = f"the mesh '{name}' needs {' or '.join(need)} of its material '{material_name}'"
            yield mesh.path_of(number, "material"), message, f"add {need[0]} to the material"
