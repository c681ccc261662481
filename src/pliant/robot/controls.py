"""Checks of controllers against the model: dimensions of limits, paths, gains and poses, and inputs with several controllers."""

from __future__ import annotations

from collections.abc import Iterator

from pliant.language.dimension import NUMBER, TIME, Dimension
from pliant.language.evaluate import to_node
from pliant.language.syntax import symbols
from pliant.language.units import parse_unit
from pliant.robot.controllers import KnownDimensions
from pliant.robot.output_expressions import coordinate_units
from pliant.robot.rods import Finding
from pliant.robot.semantic_checks import SemanticChecks


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
        coordinates={name: _dimension(unit) for name, unit in coordinates.items()},
        outputs={name: _dimension(unit) for name, unit in outputs.items() if unit},
    )


def _dimension(unit: str) -> Dimension:
    return NUMBER if unit == "-" else parse_unit(unit).dimension
