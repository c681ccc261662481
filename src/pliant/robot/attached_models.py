"""Attached models: reading them, and values for their parameters."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path as FilePath
from typing import TypeAlias

from pliant.language.dimension import Dimension
from pliant.language.evaluate import UNKNOWN, OpenDimension, evaluate, to_node, unknown_name
from pliant.language.faults import ExpressionError, SpecError
from pliant.language.message_text import KeyPath, nearest
from pliant.language.parameter import (
    TIME,
    Parameter,
    bounds_problems,
    finite,
    in_order,
    parameter_dimensions,
    wrong_dimension,
)
from pliant.language.scalar import Each, Scalar
from pliant.language.source import MODEL_FOLDER, FileProblem, Source, bundled, read_source, shown_beside, with_variant
from pliant.language.syntax import to_text
from pliant.language.tree import Tree
from pliant.robot.attach import Attach
from pliant.robot.fields import RobotFields
from pliant.robot.flat import Flat, Override

Dimensions: TypeAlias = Mapping[str, Dimension | OpenDimension]
"""Dimensions of parameters by name."""


def read_attached(spec: RobotFields, attach: Attach, path: KeyPath, flat: Flat) -> RobotFields | None:
    """Read an attached model; None after a fault, which is recorded in `flat`.

    Only its structure is checked, because its values depend on the overrides.
    """
    outer = spec.source
    try:
        key = (attach.model, attach.variant, outer.file, outer.folder, outer.roots, outer.parents)
        if key not in flat.models:
            source = source_within(outer, attach.model) if attach.model in spec.models else _file(outer, attach.model)
            flat.models[key] = type(spec).from_source(with_variant(source, attach.variant), whole=False)
            flat.notes.extend(source.notes if source.file != outer.file else ())
        found: RobotFields = flat.models[key]
        return found
    except FileProblem as problem:
        match = nearest(attach.model, (*spec.models, *bundled())) if attach.model not in spec.models else None
        what = "model" if match in spec.models else "bundled robot"
        hint = f"did you mean the {what} '{match}'?" if match else problem.hint
        flat.fault(outer, (*path, "model"), str(problem), hint)
    except SpecError as error:
        flat.faults.extend(error.faults)
    return None


def _file(outer: Source, model: str) -> Source:
    """The source of a file, or of a bundled robot."""
    file = MODEL_FOLDER / f"{model}.yaml" if model in bundled() else outer.find(model)
    _refuse_circle(outer, file.resolve())
    roots = (*outer.roots, *((outer.folder,) if outer.folder else ()))
    return read_source(file, shown=shown_beside(file, outer), roots=roots, parents=outer.parents)


def source_within(outer: Source, model: str) -> Source:
    """The source of a model under `models`, which may also attach other models of that text."""
    here = FilePath(f"{outer.file or 'the model'}: models.{model}")
    _refuse_circle(outer, here)
    assert outer.tree is not None
    models = outer.tree.value["models"]
    own: Tree = models.value[model]
    content = {"pliant": Tree(1, own.place), "models": models, **own.value}
    return replace(outer, tree=Tree(content, own.place), parents=(*outer.parents, here))


def unattached(source: Source) -> list[tuple[str, str | None]]:
    """Models under `models` that nothing attaches, and variants that nothing selects; they have to be checked separately."""
    given = source.tree.value.get("models") if source.tree is not None else None
    if given is None or not isinstance(given.value, dict):
        return []
    known = [(name, variant) for name, model in given.value.items() for variant in (None, *_variants_of(model))]
    return sorted(set(known) - set(_attachments(source.all_variants or source.tree)), key=known.index)


def _variants_of(model: Tree) -> list[str]:
    variants = model.value.get("variants") if isinstance(model.value, dict) else None
    return [*variants.value] if variants is not None and isinstance(variants.value, dict) else []


def _attachments(tree: Tree | None) -> Iterator[tuple[str, str | None]]:
    """Model and variant of every entry of an `attach` in a text, those in variants and under `models` included."""
    for key, inner in tree.value.items() if tree is not None and isinstance(tree.value, dict) else ():
        if key == "attach" and isinstance(inner.value, dict):
            for entry in inner.plain().values():
                if isinstance(entry, dict) and isinstance(entry.get("model"), str):
                    yield entry["model"], entry.get("variant")
        else:
            yield from _attachments(inner)


def _refuse_circle(outer: Source, file: FilePath) -> None:
    if file in outer.parents:
        chain = " -> ".join(step.name for step in (*outer.parents, file))
        raise FileProblem(f"circular attachment of models: {chain}", "remove one of them")


def overrides_of(inner: RobotFields, given: Mapping[str, Override], flat: Flat) -> dict[str, Override]:
    """The valid ones of the values `given` for parameters of an attached model; faults of the others are recorded in `flat`.

    Names such as `name/parameter` belong to models attached to that model.
    """
    found: dict[str, Override] = {}
    _check_overridden(inner, given, flat)
    outer = parameter_dimensions(flat.things.get("parameters", {}))[0] if given else {}
    known = _alone(inner.parameters) if given else {}
    own = parameter_dimensions(known)[0]
    for key, override in given.items():
        first, slash, _ = key.partition("/")
        name = key.partition("[")[0]
        if not slash and name in known and (name == key or known[name].count is not None):
            problem = _override_problem(name, override, known, outer, own, flat)
            if problem is None:
                found[key] = override
            else:
                flat.fault(override.source, override.path, *problem)
        elif slash and first.partition("[")[0] in inner.attach:
            found[key] = override
        else:
            hint = unknown_name(key, {**inner.parameters, **{f"{inside}/": 0 for inside in inner.attach}}).hint
            message = f"the attached model has no parameter '{key}'"
            flat.fault(override.source, override.path, message, hint)
    return found


def _check_overridden(inner: RobotFields, given: Mapping[str, Override], flat: Flat) -> None:
    """Record faults of the values that are overridden, which are not evaluated elsewhere."""
    parameters, values = _alone(inner.parameters) if given else {}, dict[str, float]()
    for name in in_order(parameters)[0]:
        try:
            values[name] = finite(parameters[name].value, values)
        except ExpressionError as error:
            if name in given and error.name not in (*parameters, TIME):
                flat.fault(inner.source, ("parameters", name, "value"), str(error), error.hint)


def _alone(parameters: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """The parameters with one value each: the first one, where values are listed per instance."""

    def one(parameter: Parameter) -> Parameter:
        value = parameter.value
        return (
            parameter.model_copy(update={"value": value.each[0]})
            if isinstance(value, Each) and value.each
            else parameter
        )

    return {name: one(parameter) for name, parameter in parameters.items()}


def _override_problem(
    name: str, override: Override, inner: Mapping[str, Parameter], outer: Dimensions, own: Dimensions, flat: Flat
) -> tuple[str, str] | None:
    """Message and hint if a value for a parameter of an attached model has a wrong dimension or is out of bounds.

    outer, own: dimensions of the parameters of the flat model and of the attached one.
    """
    try:
        problem = wrong_dimension(override.node, own[name], {**outer, "t": UNKNOWN})
        if problem:
            return problem
        value = finite(to_text(override.node), flat.values)
    except ExpressionError as error:
        varies = error.name == TIME and inner[name].input
        return None if error.name in outer or varies else (str(error), error.hint)

    def number(scalar: Scalar) -> float:
        return float(evaluate(to_node(scalar), {}))

    found = bounds_problems(name, inner[name], value, own[name], own, number)
    return next(((message, hint) for path, message, hint in found if path == ("value",)), None)
