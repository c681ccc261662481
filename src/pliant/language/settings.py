"""Values of parameters set outside of the model file; they must have the dimension of the values in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic import ValidationError

from pliant.language.evaluate import to_node
from pliant.language.faults import ExpressionError, Fault, Place, SpecError
from pliant.language.message_text import describe, suggestion
from pliant.language.parameter import Parameter, parameter_dimensions, wrong_dimension
from pliant.language.source import SET_FILE, Source
from pliant.language.tree import Tree, from_plain, merge


def setting_faults(tree: Tree, values: Mapping[str, float | str]) -> list[Fault]:
    """Faults of values that do not have the dimension of their parameter; otherwise each use of the parameter would be reported.

    Values that cannot be read, here or in the model, are reported by the checks of the complete model.
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


def with_parameters(source: Source, values: dict[str, float | str]) -> Source:
    """The model with other values of parameters; `left/length` is a parameter of the model attached as `left`."""
    tree = source.tree or Tree({})
    faults: list[Fault] = setting_faults(tree, values) if values else []
    for name, value in values.items():
        prefix, slash, rest = name.partition("/")
        section = tree.value.get("attach" if slash else "parameters")
        known = section.value if section is not None and isinstance(section.value, dict) else {}
        if prefix not in known:
            what = "attached model" if slash else "parameter"
            names = ", ".join(map(str, known)) or "none"
            hint = suggestion(prefix, map(str, known), f"known: {names}")
            faults.append(Fault(f"cannot set {describe(name)}: there is no {what} {describe(prefix)}", hint))
            continue
        driven = tree.value.get("inputs")
        if not slash and driven is not None and isinstance(driven.value, dict) and name in driven.value:
            what = f"cannot set {describe(name)}: `inputs` of the model drives it, so a value has no effect"
            faults.append(Fault(what, "use --input (in Python: inputs=)"))
            continue
        new = Tree({"parameters": Tree({rest if slash else name: from_plain(value, Place(SET_FILE, None))})})
        tree = merge(tree, Tree({"attach": Tree({prefix: new})}) if slash else new)
    if faults:
        raise SpecError(faults, source.file)
    return replace(source, tree=tree)
