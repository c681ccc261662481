"""A robot as tables: bodies with mass, joints with coordinates, the tree, totals; as text and as HTML."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from io import StringIO
from itertools import pairwise
from pathlib import Path as FilePath
from typing import Any

import casadi as ca
import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pliant.analysis.derivation.check import MOST_ELEMENTS, rod_elements, undamped
from pliant.analysis.derivation.derive import RodCoordinate, coordinates_of_rods
from pliant.analysis.result import Sheet
from pliant.engine.model.model import build_tree
from pliant.language.base import Framed
from pliant.language.faults import SpecError
from pliant.language.message_text import printable, unit_text
from pliant.language.parameter import Environment
from pliant.language.traversal import collections
from pliant.parts.assembly.build import Build
from pliant.parts.geometry import se3
from pliant.parts.joint.coordinate import Coordinate, LengthCoordinate, Orientation
from pliant.parts.mesh.base import MeshBase, place
from pliant.parts.mesh.shell import Shell
from pliant.parts.rod.properties import RodProperties, rod_properties
from pliant.parts.tendon import FramePoint
from pliant.robot.defaults import to_data
from pliant.robot.flattening import WORLD, flatten
from pliant.robot.reader import ImportedRobot
from pliant.robot.robot import RobotSpec
from pliant.robot.structure import CoordinateEntry, coordinate_table
from pliant.robot.writer import flow
from pliant.show.page import prose, table

# Points along a stretch of rod that turns by no more than this [rad]: its first moment is then exact to round-off.


@dataclass(frozen=True)
class TableNumbers:
    """Sizes of tables, and of the integration along tapered rods."""

    gauss_points: int = 8
    stretch: float = 3.0
    width: int = 110
    many: int = 6
    """Maximum number of instances shown of a repeated part; more are shortened to the first and the last."""


NUMBERS = TableNumbers()


Lump = tuple[Any, Any]
"""Mass [kg] and its centre in the world [m], as numbers or expressions of the parameters."""


@dataclass(frozen=True)
class MassBudget:
    """Masses [kg], and the centre of mass [m] in the world at the model's start, before constraints move it; None if there is
    no mass, or if the initial coordinates of rods do not determine the position of all of their mass."""

    bodies: float
    rods: float
    meshes: float
    center: np.ndarray | None

    @property
    def total(self) -> float:
        """Total mass [kg]."""
        return self.bodies + self.rods + self.meshes


def mass_budget(build: Build) -> MassBudget:
    """The masses of a robot whose bodies, rods and meshes have been built, at the model's own parameter values."""
    robot = build.robot
    bodies = list(_lumps_of_bodies(build))
    rods = [lump for name in robot.rods for lump in _rod(build, name)]
    meshes = [lump for mesh in robot.meshes.values() for lump in _mesh(build, mesh)]
    masses, moments, known = [], [], True
    for lumps in (bodies, rods, meshes):
        masses.append(sum((mass for mass, _ in lumps), 0.0))
        known = known and all(center is not None for _, center in lumps)
        moments.append(sum((mass * center for mass, center in lumps if center is not None), ca.DM.zeros(3)))
    numbers = build.nominals(ca.vertcat(*masses, sum(moments, ca.DM.zeros(3)))).ravel()
    total = float(numbers[:3].sum())
    center = numbers[3:] / total if known and total > 0 else None
    return MassBudget(float(numbers[0]), float(numbers[1]), float(numbers[2]), center)


def _lumps_of_bodies(build: Build) -> Iterator[Lump]:
    for name, body in build.robot.bodies.items():
        node, pose = build.frame(name)
        R, p = se3.compose(build.initial_pose(node), pose)
        center = p + R @ ca.vertcat(*map(build.value, body.center_of_mass))
        yield body.total_mass(build.value, build.robot.materials), center


def _rod(build: Build, name: str) -> Iterator[Lump]:
    """Point masses along a rod, from its shape, or from the pieces of its model if it has other initial values."""
    rod = build.robot.rods[name]
    properties = rod_properties(rod, name, build)
    along = list(_gauss(properties))
    if not rod.initial:
        base = se3.compose(build.initial_pose(properties.node), properties.placement)
        for x, length in along:
            place = se3.compose(base, properties.curve.pose(x * properties.length))[1]
            yield length * properties.section(x).mass, place
        return
    pieces = [
        (
            piece.length * properties.section(piece.x).mass,
            se3.compose(build.initial_pose(piece.node), piece.placement)[1],
        )
        for piece in build.rod_pieces(name)
    ]
    exact = sum(length * properties.section(x).mass for x, length in along)
    found = sum((mass for mass, _ in pieces), 0.0)
    if abs(build.nominal(found / exact) - 1) < 1e-9:
        yield from pieces
    else:  # fixed parts have no pieces
        yield exact, None


def _gauss(rod: RodProperties) -> Iterator[tuple[float, Any]]:
    """Fractions of a rod's length and the lengths [m] they represent."""
    points, weights = np.polynomial.legendre.leggauss(NUMBERS.gauss_points)
    length = rod.nominal(rod.length)
    stops = {0.0, 1.0, *(float(s.x) for s in (*rod.sections, *rod.materials) if 0 < s.x < 1)}
    stops |= {x for piece in rod.curve.pieces if 0 < (x := rod.nominal(piece.begin) / length) < 1}
    for begin, end in pairwise(sorted(stops)):
        parts = max(1, int(np.ceil(rod.curve.turn(begin * length, end * length) / NUMBERS.stretch)))
        for part in range(parts):
            width = (end - begin) / parts
            for point, weight in zip(points, weights, strict=True):
                yield begin + width * (part + 0.5 * (point + 1)), 0.5 * weight * width * rod.length


def _mesh(build: Build, mesh: MeshBase) -> Iterator[Lump]:
    """Halves of edges at their nodes; where the mass of a node is given, they are scaled to it."""
    placed, own = place(mesh, build), mesh.own_node_masses()
    weights = placed.lengths if placed.edge_mass is None else placed.edge_mass
    halves = build.nominals(weights).ravel()[placed.kind] / 2
    at_nodes = np.bincount(placed.first, halves, placed.count) + np.bincount(placed.second, halves, placed.count)
    given = [own.get(i, mesh.node_mass) for i in range(placed.count)]
    numbers = [np.nan if mass is None else build.nominal(build.value(mass)) for mass in given]
    factors = np.where(np.isnan(numbers), 1.0, numbers / at_nodes)
    world = build.nominals(placed.world)
    near, far = world[:, placed.first], world[:, placed.second]
    depth = 0.25 if isinstance(mesh, Shell) else 0.0  # of the centre of a half, as a fraction of the edge
    first, second = (halves * factors[end] for end in (placed.first, placed.second))
    moment = (near + depth * (far - near)) @ first + (far + depth * (near - far)) @ second
    total = float(first.sum() + second.sum())
    yield total, ca.DM(moment / total)


OWN_TABLE = ("parameters", "bodies", "joints", "tendons", "attach")
"""Collections that are shown in a special table, or not at all."""


@dataclass(frozen=True)
class BodyBranch:
    """A body in the tree, with its children."""

    label: str
    children: tuple[BodyBranch, ...]


@dataclass(frozen=True)
class Overview:
    """The tables of a robot."""

    title: str
    description: str
    sheets: tuple[Sheet, ...]
    tree: BodyBranch
    totals: tuple[tuple[str, str], ...]


def overview(spec: RobotSpec) -> Overview:
    """The tables, the tree and the totals of a robot."""
    flat = flatten(spec)
    environment = Environment(flat.parameters)
    coordinates = coordinate_table(flat)
    build, obstacle = _built(flat)
    of_rods = coordinates_of_rods(build) if build is not None else []
    sheets = (
        _parameters(flat, environment),
        _bodies(flat, environment),
        _joints(flat, environment),
        _coordinates(coordinates),
        _rod_coordinates(of_rods),
        _tendons(flat),
        *(_others(flat, name) for name in collections(type(flat)) if name not in OWN_TABLE),
        _analyses(flat),
    )
    shown = tuple(_used_columns(sheet) for sheet in sheets if sheet.rows)
    totals = obstacle if build is None else _totals(build, environment, coordinates, of_rods)
    title = f"{flat.title}@{spec.source.variant}" if spec.source.variant else flat.title
    return Overview(title, spec.description, shown, _tree(flat), tuple(totals.items()))


def _built(flat: RobotSpec) -> tuple[Build | None, dict[str, str]]:
    """The built robot, or None and the totals to show instead."""
    if rod_elements(flat) > MOST_ELEMENTS:
        too_many = f"not shown for rods of {rod_elements(flat)} elements; pliant.derive(robot) has them"
        return None, {"bodies": str(len(flat.bodies)), "mass and free coordinates": too_many}
    try:
        return build_tree(undamped(flat)), {}
    except SpecError as error:  # faults that are found only when the robot is built
        return None, {"cannot be built": str(error.faults[0])}


def _used_columns(sheet: Sheet) -> Sheet:
    """The sheet without empty columns."""
    return sheet.without(k for k in range(1, len(sheet.columns)) if not any(row[k] for row in sheet.rows))


def number(value: float, unit: str = "") -> str:
    """A number as shown in tables."""
    return f"{value:.4g} {unit}".strip()


def _parameters(flat: RobotSpec, environment: Environment) -> Sheet:
    rows = [
        (
            name,
            _written(parameter.value),
            number(environment.values[name], _unit(environment, name)),
            "input" if parameter.input else "",
            parameter.description,
        )
        for name, parameter in flat.parameters.items()
    ]
    return Sheet(("name", "as written", "value", "kind", "description"), tuple(rows), "parameters")


def _unit(environment: Environment, name: str) -> str:
    return unit_text(environment.dimension(name))


def _bodies(flat: RobotSpec, environment: Environment) -> Sheet:
    rows = []
    for name, body in flat.bodies.items():
        center = ", ".join(number(environment.value(entry)) for entry in body.center_of_mass)
        shape = body.shape.type if body.shape is not None else "given" if body.inertia is not None else "point"
        mass = float(body.total_mass(environment.value, flat.materials))
        inertia = shape if mass else "massless"
        rows.append((name, number(mass, "kg"), f"[{center}] m", inertia, ", ".join(body.frames)))
    return Sheet(("name", "mass", "center of mass", "inertia", "frames"), shorten(rows), "bodies")


def _joints(flat: RobotSpec, environment: Environment) -> Sheet:
    rows = []
    for name, joint in flat.joints.items():
        axes = [_written(getattr(joint, key)) for key in ("axis", "axis1", "axis2") if hasattr(joint, key)]
        place = "" if all(entry == 0 for entry in joint.position) else _written(joint.position)
        place += f", mirrored in {joint.mirror}" if joint.mirror is not None else ""
        if joint.around is not None:
            angle = number(math.degrees(environment.value(joint.around.angle or 0)), "deg")
            place += f", around {_written(joint.around.axis)} by {angle}"
        rows.append((name, joint.type, joint.parent, joint.child, ", ".join(axes), place))
    return Sheet(("name", "type", "parent", "child", "axis", "position"), shorten(rows), "joints")


def _tendons(flat: RobotSpec) -> Sheet:
    rows = []
    for name, tendon in flat.tendons.items():
        through = [
            item.frame if isinstance(item, FramePoint) else f"{item.rod} ({item.count()} eyelets)"
            for item in tendon.through
        ]
        given = {
            k: v for k, v in to_data(tendon, RobotSpec).items() if k not in ("type", "through", "count", "description")
        }
        drive = ", ".join(f"{key}: {flow(value, quotes=False)}" for key, value in given.items())
        rows.append((name, tendon.type, ", ".join(through), drive))
    return Sheet(("name", "type", "through", ""), shorten(rows), "tendons")


def _coordinates(coordinates: list[CoordinateEntry]) -> Sheet:
    rows = []
    for entry in coordinates:
        coordinate = entry.coordinate
        shown = to_data(coordinate, RobotSpec)
        given = shown if isinstance(shown, dict) else {}
        kind = "length" if isinstance(coordinate, LengthCoordinate) else "angle"
        kind = "rotation" if isinstance(coordinate, Orientation) else kind
        start = given.pop("initial", 0 if kind != "rotation" else "none")
        rate = given.pop("rate", 0)
        given.pop("name", None)
        rest = ", ".join(f"{key}: {flow(value, quotes=False)}" for key, value in given.items())
        rows.append((entry.name, entry.joint, kind, _written(start), _written(rate), rest))
    return Sheet(("name", "joint", "kind", "start", "rate", "acting on it"), shorten(rows), "coordinates")


def _rod_coordinates(coordinates: list[RodCoordinate]) -> Sheet:
    """Coordinates of rods, those that differ only by their number in one row."""
    groups: dict[tuple[str, str], list[RodCoordinate]] = {}
    for entry in coordinates:
        groups.setdefault((entry.rod, re.sub(r"\[\d+\]", "[]", entry.label)), []).append(entry)
    rows = []
    for (rod, _), entries in groups.items():
        name = entries[0].name if len(entries) == 1 else f"{entries[0].name} ... {entries[-1].name}"
        unit = "rotation" if entries[0].is_rotation else entries[0].unit
        rows.append((name, rod, str(len(entries)), unit))
    return Sheet(("name", "rod", "how many", "unit"), tuple(rows), "coordinates of rods")


def _others(flat: RobotSpec, collection: str) -> Sheet:
    rows = []
    for name, thing in getattr(flat, collection).items():
        data = to_data(thing, RobotSpec)
        if isinstance(data, dict):
            data.pop("count", None)
            data = ", ".join(f"{key}: {flow(value, quotes=False)}" for key, value in data.items())
        rows.append((name, data if isinstance(data, str) else flow(data, quotes=False)))
    return Sheet(("name", ""), shorten(rows), collection)


def _analyses(flat: RobotSpec) -> Sheet:
    pairs = [pair for analysis in flat.analyses for pair in to_data(analysis, RobotSpec).items()]
    rows = tuple((str(index), name, flow(settings, quotes=False)) for index, (name, settings) in enumerate(pairs, 1))
    return Sheet(("", "name", "settings"), rows, "analyses")


def _totals(
    build: Build, environment: Environment, coordinates: list[CoordinateEntry], of_rods: list[RodCoordinate]
) -> dict[str, str]:
    flat = build.robot
    mass = mass_budget(build)
    free = sum(_freedom(entry.coordinate) for entry in coordinates)
    free += sum(3 if entry.is_rotation else 1 for entry in of_rods)
    of_meshes = [c for c in build.coordinates.values() if c.name.partition(".")[0] in flat.meshes]
    free += sum(3 if entry.is_rotation else 1 for entry in of_meshes)
    rows = sum(len(constraint.rows) for constraint in flat.constraints.values())
    gravity = ", ".join(number(environment.value(entry) + 0.0) for entry in flat.world.gravity)
    shares = [
        f"{number(share, 'kg')} in {kind}"
        for kind, share in (("bodies", mass.bodies), ("rods", mass.rods), ("meshes", mass.meshes))
        if getattr(flat, kind)
    ]
    totals = {"mass": number(mass.total, "kg") + (f" ({', '.join(shares)})" if flat.rods or flat.meshes else "")}
    if mass.center is not None:
        least = 1e-9 * float(abs(mass.center).max())  # smaller coordinates are round-off
        place = ", ".join(number(0.0 if abs(x) < least else x) for x in mass.center.tolist())
        totals["center of mass at the start"] = f"[{place}] m"
    totals |= {"bodies": str(len(flat.bodies)), "free coordinates": str(free)}
    if rows:
        totals["constrained components"] = str(rows)
        totals["degrees of freedom"] = f"{max(free - rows, 0)}, if the constraints are independent"
    totals["gravity"] = f"[{gravity}] m/s^2"
    return totals


def _freedom(coordinate: Coordinate | Orientation) -> int:
    if isinstance(coordinate, Orientation):
        return 3
    driven = coordinate.equal_to is not None or getattr(coordinate, "motion", None) is not None
    return 0 if driven else 1


def _tree(flat: RobotSpec) -> BodyBranch:
    children: dict[str, list[tuple[str, str]]] = {}
    for name, joint in flat.joints.items():
        body, _, frame = joint.parent.partition(".")
        label = f"{joint.child}  ({joint.type} {name}" + (f", at {frame})" if frame else ")")
        children.setdefault(body, []).append((joint.child.partition(".")[0], label))
    for collection in collections(type(flat)):
        for name, thing in getattr(flat, collection).items():
            if isinstance(thing, Framed) and (parent := getattr(thing, "parent", None)) is not None:
                body, _, frame = parent.partition(".")
                label = name + (f"  (at {frame})" if frame else "")
                children.setdefault(body, []).append((name, label))
    # Children first, so that deep chains need no recursion.
    order, waiting = [], [(WORLD, WORLD)]
    while waiting:
        body, label = waiting.pop()
        order.append((body, label))
        waiting.extend(children.get(body, []))
    made: dict[str, BodyBranch] = {}
    for body, label in reversed(order):
        made[body] = BodyBranch(label, tuple(_chain(made[child]) for child, _ in children.get(body, [])))
    return made[WORLD]


def _chain(branch: BodyBranch) -> BodyBranch:
    """A long chain of instances, each the child of the one before, reduced to the first two and the last."""
    base = branch.label.partition("[")[0]
    if "[1]" not in branch.label.partition(" ")[0]:
        return branch
    chain = [branch]
    while len(chain[-1].children) == 1 and chain[-1].children[0].label.partition("[")[0] == base:
        chain.append(chain[-1].children[0])
    if len(chain) <= NUMBERS.many:
        return branch
    between = BodyBranch(f"... {len(chain) - 3} more", (chain[-1],))
    return BodyBranch(branch.label, (BodyBranch(chain[1].label, (between,)),))


def shorten(rows: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """The rows, with long runs of instances reduced to the first two and the last."""
    groups: dict[str, list[tuple[str, ...]]] = {}
    for row in rows:
        groups.setdefault(row[0].partition("[")[0], []).append(row)
    shown: list[tuple[str, ...]] = []
    for group in groups.values():
        if len(group) <= NUMBERS.many:
            shown += group
        else:
            shown += [*group[:2], ("...", *[""] * (len(group[0]) - 1)), group[-1]]
    return tuple(shown)


def _written(value: Any) -> str:
    return flow(to_data(value, RobotSpec), quotes=False)


def print_tables(spec: RobotSpec, console: Console) -> None:
    """Print the tables on a console."""
    shown = overview(spec)
    console.print(Text(printable(shown.title), style="bold"))
    if shown.description:
        console.print(Text("\n".join(map(printable, shown.description.strip().splitlines()))))
    for sheet in shown.sheets:
        table = Table(box=box.SIMPLE, title_justify="left", show_edge=False, pad_edge=False)
        for column in sheet.columns:
            table.add_column(Text(column), overflow="fold")
        for row in sheet.rows:
            table.add_row(*(Text(printable(cell)) for cell in row))
        console.print()
        console.print(Text(sheet.title, style="bold"))
        console.print(table)
    console.print()
    console.print(Text("tree", style="bold"))
    for line in tree_lines(shown.tree):
        console.print(Text(line), soft_wrap=True)
    console.print()
    console.print(Text("totals", style="bold"))
    for name, value in shown.totals:
        console.print(Text(f"  {name}: {value}"))


def tree_lines(tree: BodyBranch, *, most: int = 60) -> list[str]:
    """The tree as lines of text; deep and wide trees are cut."""
    lines: list[str] = []
    waiting: list[tuple[BodyBranch, str, str]] = [(tree, "", "")]
    while waiting and len(lines) < most:
        branch, head, margin = waiting.pop()
        lines.append("  " + head + branch.label)
        for position, child in reversed(list(enumerate(branch.children))):
            last = position == len(branch.children) - 1
            waiting.append((child, margin + ("`- " if last else "|- "), margin + ("   " if last else "|  ")))
    return [*lines, f"  ... and {_size(waiting)} more"] if waiting else lines


def _size(waiting: list[tuple[BodyBranch, str, str]]) -> int:
    branches, number_of = [branch for branch, _, _ in waiting], 0
    while branches:
        number_of += 1
        branches.extend(branches.pop().children)
    return number_of


def text(spec: RobotSpec) -> str:
    """The tables as plain text."""
    out = StringIO()
    print_tables(spec, Console(file=out, width=NUMBERS.width, color_system=None, force_terminal=False))
    return out.getvalue().rstrip("\n")


def import_text(imported: ImportedRobot) -> str:
    """Contents of a file in another format that the model lacks, as a table in plain text."""
    name = f"{FilePath(imported.robot.source.file).name}: {len(imported.robot.bodies)} bodies, {len(imported.robot.joints)} joints"
    if not imported.notes:
        return f"{name}; everything was imported"
    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False)
    for column in ("line", "element", "differences from the file"):
        table.add_column(Text(column), overflow="fold")
    for note in imported.notes:
        row = "" if note.line is None else str(note.line), note.path, note.message
        table.add_row(*(Text(printable(cell)) for cell in row))
    out = StringIO()
    Console(file=out, width=NUMBERS.width, color_system=None, force_terminal=False).print(table)
    hints = dict.fromkeys(f"{note.message}: {note.hint}" for note in imported.notes if note.hint)
    lines = [line.rstrip() for line in out.getvalue().splitlines() if line.strip()]
    return "\n".join([name, *lines, *map(printable, hints)])


def html(spec: RobotSpec, view: str = "") -> str:
    """Title, description and totals of a robot, a view of it, and its tables folded, as HTML for a notebook; every text is
    escaped."""
    shown = overview(spec)
    totals = "; ".join(f"{escape(name)}: {escape(value)}" for name, value in shown.totals)
    parts = [f"<h3>{escape(shown.title)}</h3>", f"<p>{prose(shown.description)}</p>", f"<p>{totals}</p>", view]
    for sheet in shown.sheets:
        listed = table(sheet.columns, sheet.rows)
        count = f" ({len(sheet.rows)})" if len(sheet.rows) > 1 else ""
        parts.append(f"<details><summary>{escape(sheet.title)}{count}</summary>{listed}</details>")
    tree = escape(chr(10).join(tree_lines(shown.tree)))
    return "\n".join([*parts, f"<details><summary>tree</summary><pre>{tree}</pre></details>"])
