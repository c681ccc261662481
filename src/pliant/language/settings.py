"""Values of parameters that are set from outside of the model's file: of the dimension that the file gives them."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from pliant.language.environment import parameter_dimensions, to_node
from pliant.language.expected import wrong_dimension
from pliant.language.faults import Fault
from pliant.language.parameter import Parameter
from pliant.language.source import SET_FILE
from pliant.language.syntax import ExpressionError
from pliant.language.tree import Tree


def setting_faults(tree: Tree, values: Mapping[str, float | str]) -> list[Fault]:
    """Values of another dimension than the parameters of a model have. Otherwise everything that uses them would be blamed.

    What cannot be read, here or in the model, is left to the checks of the whole.
    """
    section = tree.value.get("parameters") if isinstance(tree.value, dict) else None
    known: dict[str, Parameter] = {}
    for name, given in (section.value if section is not None and isinstance(section.value, dict) else {}).items():
        try:
            known[name] = Parameter.model_validate(given.plain())
        except ValidationError:
            continue
    try:
        dimensions = parameter_dimensions(known)[0]
    except ExpressionError:
        return []
    faults = []
    for name, value in values.items():
        if name not in dimensions or not isinstance(value, str):
            continue
        try:
            problem = wrong_dimension(to_node(value), dimensions[name], dimensions)
        except ExpressionError:
            continue
        if problem:
            faults.append(Fault(*problem, path=f"parameters.{name}.value", file=SET_FILE))
    return faults
