"""`check`: all faults of a model, including those that only a trial build finds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from pliant.analysis.base import analysis_faults
from pliant.analysis.derivation.derive import rod_coordinate_faults
from pliant.analysis.derivation.rod_frequencies import missing_mode_faults
from pliant.engine.model.model import compile_model
from pliant.language.arguments import mapping
from pliant.language.faults import Fault, SpecError
from pliant.language.parameter import with_parameters
from pliant.language.source import Source, with_variant
from pliant.robot.attached_models import source_within, unattached
from pliant.robot.flattening import flatten
from pliant.robot.reader import model_source
from pliant.robot.robot import RobotSpec, sorted_faults

MOST_ELEMENTS = 5000
"""Number of rod elements above which a robot is not built for a check or a table, because that would take seconds."""


def check(
    model: str | os.PathLike[str],
    *,
    variant: str | None = None,
    set: Mapping[str, float | str] | None = None,
    folders: Iterable[str | os.PathLike[str]] = (),
) -> list[Fault]:
    """All faults of a model, in all its variants unless one is named."""
    try:
        source, chosen = model_source(model, variant, folders)
        return check_source(source if chosen is None else with_variant(source, chosen), set=set)
    except SpecError as error:
        return list(error.faults)


def check_source(source: Source, *, set: Mapping[str, float | str] | None = None) -> list[Fault]:
    """All faults of a model, of each of its variants, and of those of its `models` that nothing attaches."""
    faults: dict[Fault, Fault] = {}
    values = mapping("set", set)

    def note(found: list[Fault], where: str) -> None:
        for fault in found:
            faults.setdefault(fault, replace(fault, message=where + fault.message))

    for name in (None, *_variants(source)):
        found = _faults(lambda: with_parameters(with_variant(source, name), values))  # noqa: B023
        note(found, f"in variant '{name}': " if name is not None else "")
    for model, variant in unattached(source):
        found = _faults(lambda: with_variant(source_within(source, model), variant))  # noqa: B023
        in_variant = f", variant '{variant}'" if variant is not None else ""
        note(found, f"in model '{model}'{in_variant}, which is not attached: ")
    return sorted_faults([*faults.values()])


def _faults(make: Callable[[], Source]) -> list[Fault]:
    """All faults of the robot of a source."""
    try:
        return building_faults(RobotSpec.from_source(make()))
    except SpecError as error:
        return list(error.faults)


def _variants(source: Source) -> list[str]:
    given = source.tree.value.get("variants") if source.tree else None
    return [name for name in given.value if isinstance(name, str)] if given and isinstance(given.value, dict) else []


def rod_elements(flat: RobotSpec) -> int:
    """Total number of elements of all rods."""
    return sum(rod.model.pieces() for rod in flat.rods.values())


def undamped(flat: RobotSpec) -> RobotSpec:
    """The robot without Rayleigh damping, which may need the modes of its rods."""
    rods = {name: rod.model_copy(update={"rayleigh": None}) for name, rod in flat.rods.items()}
    return flat.model_copy(update={"rods": rods})


def building_faults(spec: RobotSpec) -> list[Fault]:
    """Faults of a valid spec that are found only when the robot is built: unknown coordinates of rods, shapes that turn too far for
    the models of their rods, parents that leave the plane of a rod, contacts of parts without a surface, names and units in
    analyses."""
    if faults := rod_coordinate_faults(spec):
        return faults
    flat = flatten(spec)
    if rod_elements(flat) > MOST_ELEMENTS:
        return []
    try:
        model = compile_model(undamped(flat))
        faults = missing_mode_faults(flat)
    except SpecError as error:
        faults = list(error.faults)
    return [_placed(fault, spec) for fault in faults] or analysis_faults(spec, model)


def _placed(fault: Fault, spec: RobotSpec) -> Fault:
    """The fault with the file and line of its path; instances have the location of their repeated part."""
    if fault.file is not None:
        return fault
    steps = tuple(step.partition("[")[0] for step in fault.path.split("."))
    found = spec.source.fault(steps, fault.message)
    return replace(fault, file=found.file, line=found.line)
