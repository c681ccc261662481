"""Trial build of a robot: some errors appear only then."""

from __future__ import annotations

from dataclasses import replace

from pliant.language.faults import Fault, SpecError
from pliant.model.model import compile_model
from pliant.spec.analysis_values import analysis_faults
from pliant.spec.flattening import flatten
from pliant.spec.robot import RobotSpec

MOST_ELEMENTS = 5000
"""Rods of more elements than this, all together, are not built for a check or a table: that would take seconds."""


def rod_elements(flat: RobotSpec) -> int:
    """Elements of all rods together."""
    return sum(rod.model.pieces() for rod in flat.rods.values())


def undamped(flat: RobotSpec) -> RobotSpec:
    """The robot without Rayleigh damping, which would have to be computed from the modes of its rods."""
    rods = {name: rod.model_copy(update={"rayleigh": None}) for name, rod in flat.rods.items()}
    return flat.model_copy(update={"rods": rods})


def building_faults(spec: RobotSpec) -> list[Fault]:
    """What is wrong with a checked robot by itself but shows only when it is built: shapes that turn too far for the models of
    their rods, parents that leave the plane of a rod, contacts of things that have no surface, names and units in analyses."""
    flat = flatten(spec)
    if rod_elements(flat) > MOST_ELEMENTS:
        return []
    try:
        model = compile_model(undamped(flat))
    except SpecError as error:
        return [_placed(fault, spec) for fault in error.faults]
    return analysis_faults(spec, model)


def _placed(fault: Fault, spec: RobotSpec) -> Fault:
    """The fault with the line that its path leads to, instances of repeated things left aside."""
    if fault.file is not None:
        return fault
    steps = tuple(step.partition("[")[0] for step in fault.path.split("."))
    found = spec.source.fault(steps, fault.message)
    return replace(fault, file=found.file, line=found.line)
