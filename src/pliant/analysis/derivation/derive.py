"""`derive(robot) -> Equations`: the equations of motion of a robot."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from pliant.analysis.derivation.rod_coordinates import rod_coordinate_faults
from pliant.analysis.derivation.rod_frequencies import with_rod_frequencies
from pliant.engine.equations import Equations, say_once
from pliant.engine.model.model import compile_model
from pliant.language.arguments import ArgumentError
from pliant.language.faults import SpecError
from pliant.language.message_text import describe, merged_instances
from pliant.parts.rod.base import RodModelBase
from pliant.robot.flattening import flatten_with_structure
from pliant.robot.reader import load
from pliant.robot.robot import RobotSpec


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
