"""Trial build of a robot, which finds errors that checks of the spec do not."""

from __future__ import annotations

from dataclasses import replace

from pliant.engine.model.model import compile_model
from pliant.language.faults import Fault, SpecError
from pliant.robot.analysis_values import analysis_faults
from pliant.robot.flattening import flatten
from pliant.robot.robot import RobotSpec

MOST_ELEMENTS = 5000
"""Number of rod elements above which a robot is not built for a check or a table, because that would take seconds."""


def rod_elements(flat: RobotSpec) -> int:
    """Total number of elements of all rods."""
    return sum(rod.model.pieces() for rod in flat.rods.values())


def undamped(flat: RobotSpec) -> RobotSpec:
    """The robot without Rayleigh damping, which may need the modes of its rods."""
    rods = {name: rod.model_copy(update={"rayleigh": None}) for name, rod in flat.rods.items()}
    return flat.model_copy(update={"rods": rods})


def building_faults(spec: RobotSpec) -> list[Fault]:
    """Faults of a valid spec that are found only when the robot is built: shapes that turn too far for the models of their
    rods, parents that leave the plane of a rod, contacts of parts without a surface, names and units in analyses."""
    flat = flatten(spec)
    if rod_elements(flat) > MOST_ELEMENTS:
        return []
    try:
        model = compile_model(undamped(flat))
    except SpecError as error:
        return [_placed(fault, spec) for fault in error.faults]
    return analysis_faults(spec, model)


def _placed(fault: Fault, spec: RobotSpec) -> Fault:
    """The fault with the file and line of its path; instances have the location of their repeated part."""
    if fault.file is not None:
        return fault
    steps = tuple(step.partition("[")[0] for step in fault.path.split("."))
    found = spec.source.fault(steps, fault.message)
    return replace(fault, file=found.file, line=found.line)
