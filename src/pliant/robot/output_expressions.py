"""Outputs computed from others: known names, components of vectors, no circular references, matching units."""

from __future__ import annotations

from collections.abc import Iterator

from pliant.language.evaluate import CONSTANTS
from pliant.language.faults import ExpressionError
from pliant.language.message_text import suggestion
from pliant.language.parameter import TIME
from pliant.language.syntax import parse, symbols
from pliant.parts.joint.coordinate import LengthCoordinate, Orientation
from pliant.parts.output.base import ExpressionOutput
from pliant.robot.fields import RobotFields
from pliant.robot.listing import coordinate_table
from pliant.robot.rods import Finding
from pliant.robot.semantic_checks import SemanticChecks


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
    for name in sorted(symbols(parse(output.expression)) - CONSTANTS.keys() - {TIME}):
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
