"""`derive(robot) -> Equations`: the equations of motion of a robot."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pliant.analysis.derivation.rod_frequencies import with_rod_frequencies
from pliant.engine.equations import Equations, say_once
from pliant.engine.model.model import compile_model
from pliant.language.arguments import ArgumentError
from pliant.language.faults import Fault, SpecError
from pliant.language.message_text import describe, merged_instances, suggestion
from pliant.language.names import Reference
from pliant.language.traversal import collections, leaves
from pliant.language.units import parse_unit
from pliant.parts.assembly.build import Build
from pliant.parts.rod.base import RodModelBase
from pliant.parts.rod.rod import Rod
from pliant.parts.rod.strains import LABELS
from pliant.robot.flattening import flat_spec, flatten_all, flatten_with_structure
from pliant.robot.reader import load
from pliant.robot.robot import RobotSpec, sorted_faults
from pliant.robot.semantic_checks import SemanticChecks, UnreadableEntries
from pliant.robot.structure import Finding, of_a_rod


@dataclass(frozen=True)
class RodCoordinate:
    """A coordinate of a rod: its name, that of the rod, whether it is a free rotation, and its SI unit (`-` for none)."""

    name: str
    rod: str
    is_rotation: bool
    unit: str

    @property
    def label(self) -> str:
        """Its name without that of the rod."""
        return self.name[len(self.rod) + 1 :]


def coordinates_of_rods(build: Build) -> list[RodCoordinate]:
    """All coordinates of the rods of a robot that has been built, rod by rod."""
    found: dict[str, list[RodCoordinate]] = {name: [] for name in build.robot.rods}
    for c in build.coordinates.values():
        rod = c.name.partition(".")[0]
        if rod in found:
            found[rod].append(RodCoordinate(c.name, rod, c.is_rotation, c.unit))
    return [coordinate for own in found.values() for coordinate in own]


def rod_coordinates(flat: RobotSpec, rods: Iterable[str] | None = None) -> list[RodCoordinate]:
    """All coordinates of the rods (or of the named ones) of a valid flat model, in order."""
    found = []
    for name in flat.rods if rods is None else rods:
        rod, build = flat.rods[name], Build(flat)
        for tendon in flat.tendons.values():
            tendon.reserve(build)  # sections may be placed at eyelets
        # parent, initial values and damping do not change the coordinates
        rod.model_copy(update={"parent": "world", "initial": {}, "rates": {}, "rayleigh": None}).apply(build, name)
        found += coordinates_of_rods(build)
    return found


def rod_coordinate_faults(spec: RobotSpec) -> list[Fault]:
    """Faults of references to coordinates of rods, and of initial values and rates of rods, in a valid spec."""
    if not spec.rods and not spec.attach:
        return []
    origins = flatten_all(spec)
    flat = flat_spec(spec, origins)
    checked = SemanticChecks(spec, flat, origins, UnreadableEntries())
    for finding in _problems(checked, flat):
        checked.report(*finding)
    return sorted_faults(checked.faults)


def _problems(checked: SemanticChecks, flat: RobotSpec) -> Iterator[Finding]:
    used = [
        (collection, name, leaf)
        for collection in collections(type(flat))
        for name, thing in getattr(flat, collection).items()
        for leaf in leaves(thing)
        if isinstance(leaf.marker, Reference) and leaf.marker.kind == "coordinate" and of_a_rod(flat, leaf.value)
    ]
    if not used and not any(rod.initial or rod.rates for rod in flat.rods.values()):
        return
    known = {coordinate.name: coordinate for coordinate in rod_coordinates(flat)}
    for collection, name, leaf in used:
        if leaf.value not in known:
            hint = suggestion(leaf.value, known, f"known: {', '.join(list(known)[:12])}")
            yield collection, name, leaf.path, f"there is no coordinate '{leaf.value}'", hint
        elif leaf.path[-2:] == ("equal_to", "coordinate") and known[leaf.value].is_rotation:
            message = f"'{leaf.value}' is a free rotation and cannot be equal to a single coordinate"
            yield collection, name, leaf.path, message, "tie it to a length or an angle"
    for name in flat.rods:
        yield from _starts(checked, name, {c.label: c for c in known.values() if c.rod == name})


def _starts(checked: SemanticChecks, rod: str, known: dict[str, RodCoordinate]) -> Iterator[Finding]:
    for key in ("initial", "rates"):
        for label, value in getattr(checked.flat.rods[rod], key).items():
            if label not in known:
                yield "rods", rod, (key, label), *_unknown(checked.flat.rods[rod], rod, label, known)
            elif known[label].is_rotation:
                message = f"'{label}' is a free rotation, which has no single value"
                yield "rods", rod, (key, label), message, "give the rod a `shape`"
            else:
                unit = {"-": "1", "rad": "1"}.get(known[label].unit, known[label].unit)
                dimension = parse_unit(unit if key == "initial" else f"{unit}/s").dimension
                if problem := checked.dimension_problem(value, dimension):
                    yield "rods", rod, (key, label), *problem


def _unknown(rod: Rod, name: str, label: str, known: Iterable[str]) -> tuple[str, str]:
    """Message and hint about a coordinate that a rod does not have."""
    strain = label.partition("[")[0]
    if strain in LABELS and LABELS.index(strain) not in rod.free_strains():
        message = f"the strain '{strain}' of the rod '{name}' is not free: it has no coordinate '{label}'"
        return (
            message,
            "add it to the rod's `strains`, or give the rod a `shape` or `rest` with this strain, which is then kept",
        )
    hint = suggestion(label, known, f"known: {', '.join(list(known)[:12])}")
    return f"the rod '{name}' has no coordinate '{label}' in its model", hint


def derive(robot: RobotSpec | str | Path) -> Equations:
    """Derive the equations of motion of a robot: a RobotSpec, a model file, or the name of a bundled robot."""
    if not isinstance(robot, RobotSpec | str | Path):
        raise ArgumentError(
            f"a robot cannot be {describe(robot)}", "give a RobotSpec, a model file, or the name of a bundled robot"
        )
    start = time.perf_counter()
    spec = robot if isinstance(robot, RobotSpec) else load(robot)
    if faults := rod_coordinate_faults(spec):
        raise SpecError(faults, spec.source.file)
    flat, structural = flatten_with_structure(spec)
    model = compile_model(with_rod_frequencies(flat), structural, written=flat)
    for text in merged_instances([*map(str, spec.remarks), *model.remarks]):
        say_once(text)
    return Equations(model, derive_seconds=time.perf_counter() - start)


def derive_with_rods(eqs: Equations, rods: Mapping[str, RodModelBase]) -> Equations:
    """The equations of the same robot with other models of some rods; given inputs and parameters are kept."""
    spec, start = eqs.model.spec, time.perf_counter()
    changed = {name: spec.rods[name].model_copy(update={"model": model}) for name, model in rods.items()}
    flat = spec.model_copy(update={"rods": {**spec.rods, **changed}})
    model = compile_model(with_rod_frequencies(flat), eqs.model.structural, written=flat)
    made = Equations(model, derive_seconds=time.perf_counter() - start)
    return made.at(inputs=eqs.given_inputs, parameters=eqs.given_parameters)
