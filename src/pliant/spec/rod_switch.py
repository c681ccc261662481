"""The same robot with another model of one of its rods, from a word such as `cosserat:10`."""

from __future__ import annotations

from typing import get_args

from pydantic import ValidationError

from pliant.language.aliases import ALIASES, canonical
from pliant.language.arguments import ArgumentError
from pliant.language.schema_errors import read_errors
from pliant.language.words import nearest, suggestion
from pliant.rod import RodModel
from pliant.rod.base import RodModelBase
from pliant.spec.robot import RobotSpec

KINDS: dict[str, type[RodModelBase]] = {
    str(member.model_fields["kind"].default): member for member in get_args(get_args(RodModel)[0])
}
"""Rod models by kind."""


def parse_rod_model(word: str) -> RodModelBase:
    """The rod model that `KIND` or `KIND:N` stands for; N is its number of elements, or its order."""
    given, colon, number = word.strip().partition(":")
    kind = canonical(given)
    if kind not in KINDS:
        match = canonical(nearest(kind, (*KINDS, *ALIASES)))
        hint = f"did you mean '{match}'?" if match else f"known: {', '.join(KINDS)}"
        raise ArgumentError(f"unknown rod model '{kind}'", hint)
    model = KINDS[kind]
    if not colon:
        return model()
    try:
        count = int(number)
    except ValueError:
        what = "order" if model.fineness == "order" else f"number of {model.fineness}"
        raise ArgumentError(
            f"cannot read the rod model '{word}'", f"write {kind}:N with N its {what}, a whole number"
        ) from None
    try:
        return model.model_validate({model.fineness: count})
    except ValidationError as error:
        _, message, hint = next(iter(read_errors(error)))
        raise ArgumentError(f"rod model '{word}': {model.fineness}: {message}", hint) from None


def with_rod_model(spec: RobotSpec, rod: str, model: str | RodModelBase) -> RobotSpec:
    """The robot with another model of the rod of that name: `KIND:N`, or a model with its options."""
    if rod not in spec.rods:
        hint = suggestion(rod, spec.rods, f"its rods: {', '.join(spec.rods) or 'none'}")
        raise ArgumentError(f"the robot has no rod '{rod}'", hint)
    chosen = parse_rod_model(model) if isinstance(model, str) else model
    return spec.replace(rods={**spec.rods, rod: spec.rods[rod].model_copy(update={"model": chosen})})
