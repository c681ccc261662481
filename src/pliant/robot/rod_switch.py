"""The same robot with another model of one of its rods, given as text such as `cosserat:10`."""

import warnings
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from pliant.language.arguments import ArgumentError
from pliant.language.base import read_errors
from pliant.language.message_text import nearest, suggestion
from pliant.language.names import ALIASES, canonical
from pliant.parts.output.base import ExpressionOutput
from pliant.parts.output.rod import RodOutput
from pliant.parts.rod import KINDS
from pliant.parts.rod.base import RodModelBase
from pliant.parts.rod.strains import ALL, IN_PLANE, LABELS, free_strains, named, plane_of
from pliant.robot.fields import Robot, RobotFields

OF_ONE_KIND = frozenset({"kind", "mass_points"})
"""Options with a different meaning in each model, besides its number of elements or its order."""
OF_ONE_FINENESS = frozenset({"names"})
"""Options that belong to one number of elements, or to one order."""


def parse_rod_model(word: str) -> RodModelBase:
    """The rod model of the text `KIND` or `KIND:N`; N is its number of elements, or its order."""
    model, fineness = _read_word(word)
    return _made(model, fineness, f"rod model '{word}'")


def with_fineness(model: RodModelBase, count: int) -> RodModelBase:
    """The same rod model with another number of elements, or another order."""
    kept = {name: getattr(model, name) for name in model.model_fields_set if name not in OF_ONE_FINENESS}
    return type(model).model_validate({**kept, model.fineness: count})


def with_rod_model(spec: Robot, rod: str, model: str | RodModelBase, options: dict[str, Any] | None = None) -> Robot:
    """The robot with another model of the rod `rod`: `KIND:N`, or a model with its options. The name of a repeated rod stands for
    all its instances.

    With `KIND:N` the options that both models share, such as `mass`, are kept; dropped ones are listed in a warning.
    Free `strains` that the new model supports are kept; strains that become free or are lost, and outputs that the
    new model cannot compute, are listed in a warning too. options: options of the new model, which take precedence.
    """
    if rod not in spec.rods and (instances := rods_named(spec.rods, rod)):
        for name in instances:
            spec = with_rod_model(spec, name, model, options)
        return spec
    if rod not in spec.rods:
        hint = suggestion(rod, spec.rods, f"its rods: {', '.join(spec.rods) or 'none'}")
        raise ArgumentError(f"the robot has no rod '{rod}'", hint)
    chosen = _chosen(spec.rods[rod].model, rod, model, options or {}) if isinstance(model, str) else model
    if not isinstance(model, str) and options:
        raise ArgumentError("options cannot be combined with a complete rod model", "include them in the model")
    changed: dict[str, Any] = {"model": chosen}
    if isinstance(model, str):
        changed["strains"] = _strains(spec.rods[rod].strains, chosen, f"the rod '{rod}' as '{model}'")
    changes: dict[str, Any] = {"rods": {**spec.rods, rod: spec.rods[rod].model_copy(update=changed)}}
    lost = _lost_outputs(spec.model_copy(update=changes), rod)
    if lost:
        changes["outputs"] = {name: output for name, output in spec.outputs.items() if name not in lost}
        for why in dict.fromkeys(lost.values()):
            names = [name for name, reason in lost.items() if reason == why]
            one = f"output {names[0]}" if len(names) == 1 else f"outputs {', '.join(names)}"
            warnings.warn(f"{one} omitted: {why}", stacklevel=2)
    return spec.replace(**changes)


def rods_named(rods: Iterable[str], name: str) -> list[str]:
    """The rods of a name among those of a robot: the rod itself, or in a flat robot all instances of a repeated one."""
    return [rod for rod in rods if rod == name or rod.startswith(f"{name}[")]


def _lost_outputs(spec: RobotFields, rod: str) -> dict[str, str]:
    """Names of the outputs that the model of the rod cannot compute, and of expressions of them, each with the reason."""
    lost: dict[str, str] = {}
    for name, output in spec.outputs.items():
        if isinstance(output, RodOutput) and rods_named([output.rod], rod):
            for _, message, _ in output.problems_in(spec):
                lost.setdefault(name, message)
    found = -1
    while found < len(lost):
        found = len(lost)
        for name, output in spec.outputs.items():
            used = {other for other, _ in output.used(spec).values()} if isinstance(output, ExpressionOutput) else set()
            if gone := sorted(used & lost.keys()):
                lost.setdefault(name, f"it is computed from {', '.join(gone)}")
    return lost


def _strains(words: tuple[str, ...] | None, model: RodModelBase, what: str) -> tuple[str, ...] | None:
    """The strains of a rod in another model: as written if the model supports them, otherwise the nearest that it supports."""
    requested = free_strains(words)
    supported = model.takes(requested)
    extra, lost = ([k for k in a if k not in b] for a, b in ((supported, requested), (requested, supported)))
    if words is None or not requested or not supported:
        return words  # nothing to change, or a fault in any model
    if not extra and not any(LABELS[k] in words for k in lost):
        return words
    changes = [f"is also free in {named(extra)}"] if extra else []
    changes += [f"has no {named(lost)}"] if lost else []
    kind = type(model).model_fields["kind"].default
    warnings.warn(
        f"{what} {' and '.join(changes)}, unlike its `strains`: '{kind}' does not support {named(requested)} only",
        stacklevel=4,
    )
    plane = plane_of(supported)
    if supported == model.takes(ALL):
        return None
    return (f"planar_{plane}",) if plane and supported == IN_PLANE[plane] else tuple(LABELS[k] for k in supported)


def _read_word(word: str) -> tuple[type[RodModelBase], dict[str, Any]]:
    """The rod model of a text, and its number of elements or order, if given."""
    given, colon, number = word.strip().partition(":")
    kind = canonical(given)
    if kind not in KINDS:
        match = canonical(nearest(kind, (*KINDS, *ALIASES)))
        hint = f"did you mean '{match}'?" if match else f"known: {', '.join(KINDS)}"
        raise ArgumentError(f"unknown rod model '{kind}'", hint)
    model = KINDS[kind]
    if not colon:
        return model, {}
    try:
        return model, {model.fineness: int(number)}
    except ValueError:
        what = "order" if model.fineness == "order" else f"number of {model.fineness}"
        raise ArgumentError(
            f"cannot read the rod model '{word}'", f"write {kind}:N with N its {what}, an integer"
        ) from None


def _made(model: type[RodModelBase], options: dict[str, Any], what: str) -> RodModelBase:
    try:
        return model.model_validate(options)
    except ValidationError as error:
        path, message, hint = next(iter(read_errors(error)))
        where = ".".join(map(str, path))
        raise ArgumentError(f"{what}: {f'{where}: ' if where else ''}{message}", hint) from None


def _chosen(old: RodModelBase, rod: str, word: str, options: dict[str, Any]) -> RodModelBase:
    """The rod model of a text with the options that it shares with the old one."""
    kind, fineness = _read_word(word)
    what = f"rod model '{word}'"
    own = _made(kind, {**fineness, **options}, what)
    kept: dict[str, Any] = {}
    dropped = []
    for name in type(old).model_fields:
        if name not in old.model_fields_set or name in own.model_fields_set:
            continue
        if type(old) is not kind and name in (*OF_ONE_KIND, old.fineness, kind.fineness):
            continue
        value = getattr(old, name)
        if name in OF_ONE_FINENESS and getattr(own, kind.fineness) != getattr(old, old.fineness):
            continue
        if name in kind.model_fields and _takes(kind, name, value):
            kept[name] = value
        else:
            dropped.append(f"`{name}: {value}`" if isinstance(value, str | bool | int) else f"`{name}`")
    if dropped:
        warnings.warn(
            f"the rod '{rod}' as '{word}' does not keep {', '.join(dropped)} of its model: "
            f"'{kind.model_fields['kind'].default}' has no such option",
            stacklevel=4,
        )
    return _made(kind, {**kept, **fineness, **options}, what)


def _takes(kind: type[RodModelBase], name: str, value: Any) -> bool:
    """Whether an option of a rod model can have that value."""
    try:
        kind.model_validate({name: value})
    except ValidationError:
        return False
    return True
