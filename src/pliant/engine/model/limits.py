"""Validation of parameter values as in a model file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from pliant.engine.model.model import Model
from pliant.language.arguments import ArgumentError
from pliant.language.faults import ExpressionError, SpecError
from pliant.language.parameter import Environment, range_problem
from pliant.robot.semantic_checks import ValueChecks

# Round-off of a value that was computed to be at its limit.
ROUND_OFF = 1e-12


def declared_bounds(model: Model, name: str, environment: Environment) -> tuple[float, float]:
    """`minimum` and `maximum` of a parameter or input (SI units); infinite if not given."""
    spec = model.spec.parameters[name]
    low = -np.inf if spec.minimum is None else float(environment.value(spec.minimum))
    high = np.inf if spec.maximum is None else float(environment.value(spec.maximum))
    return low, high


def check_values(model: Model, parameters: Mapping[str, float], changed: Collection[str]) -> None:
    """Reject values of parameters (SI units) that are invalid in a model file: beyond their limits, which may depend
    on others, or such that a part cannot be built. Checks only what depends on those that are `changed`."""
    environment = model.environment_with(parameters)
    problems = _problems(model, environment, changed)
    if not problems and model.required is not None:
        amounts = np.asarray(model.required([float(environment.values[x]) for x in model.parameter_names])).ravel()
        problems = [
            f"{r.path}: {r.message} ({r.hint})" for r, x in zip(model.requirements, amounts, strict=True) if not x >= 0
        ]
    if problems:
        given = ", ".join(f"{name} = {float(environment.values[name]):g}" for name in changed)
        raise ArgumentError(f"the model rejects {given}: {'; '.join(dict.fromkeys(problems))}")


def refused_cases(model: Model, parameters: Mapping[str, float], changed: Mapping[str, np.ndarray]) -> Refusals:
    """The errors of `check_values` for each of several cases, which differ in the `changed` parameters (one number per case)."""
    allowed = np.ones(len(next(iter(changed.values()))), dtype=bool)
    if model.required is not None:
        own = model.parameter_vector(parameters)
        table = np.column_stack(
            [changed.get(name, np.full(len(allowed), x)) for name, x in zip(model.parameter_names, own, strict=True)]
        )
        allowed = np.all(np.asarray(model.required(table.T)).reshape(len(model.requirements), -1) >= 0, axis=0)

    def check(values: Mapping[str, Any]) -> None:
        environment = model.environment.with_values(
            {**parameters, **{k: x for k, x in values.items() if k != _ALLOWED}}
        )
        if not values[_ALLOWED] or _problems(model, environment, tuple(changed)):
            raise ArgumentError("at least one of them is refused")

    def refuse(values: Mapping[str, float]) -> Exception | None:
        try:
            check_values(model, {**parameters, **{k: x for k, x in values.items() if k != _ALLOWED}}, tuple(changed))
        except (ArgumentError, SpecError, ExpressionError) as reason:
            return reason
        return None

    return refusals({**changed, _ALLOWED: allowed.astype(float)}, check, refuse)


_ALLOWED = ""
"""Placeholder for the conditions of `Build.require` among the values of cases."""


def _problems(model: Model, environment: Environment, changed: Collection[str]) -> list[str]:
    """Problems of everything that depends on changed parameters, as text; values beyond their limits raise ArgumentError."""
    try:
        _check_limits(model, environment, changed)
        checks: ValueChecks = model.once("value_checks", lambda: ValueChecks(model.compiled, model.environment))
        return [
            f"{'.'.join(map(str, (collection, name, *path)))}: {message}{f' ({hint})' if hint else ''}"
            for collection, name, path, message, hint in checks.problems(changed, environment.signal)
        ]
    except (ExpressionError, ZeroDivisionError, OverflowError) as error:
        raise ArgumentError(f"with these parameters a value of the model cannot be computed: {error}") from None


def _check_limits(model: Model, environment: Environment, changed: Collection[str]) -> None:
    """Reject values beyond their declared limits; also limits and values of others that depend on the changed ones."""
    for name, used in model.once("names_behind_parameters", lambda: _names_behind(model)).items():
        if used.isdisjoint(changed):
            continue
        value, spec = environment.values[name], model.spec.parameters[name]
        if problem := range_problem(value, f"'{name}'"):
            raise ArgumentError(f"{problem[0]} with these parameters", problem[1])
        slack = ROUND_OFF * abs(value)
        if spec.minimum is not None and value < (low := environment.value(spec.minimum)) - slack:
            raise ArgumentError(f"'{name}' is {value:g}, below its minimum of {low:g}", "in SI units")
        if spec.maximum is not None and value > (high := environment.value(spec.maximum)) + slack:
            raise ArgumentError(f"'{name}' is {value:g}, above its maximum of {high:g}", "in SI units")


def _names_behind(model: Model) -> dict[str, frozenset[str]]:
    """The parameters that the value and the limits of each parameter depend on, itself included."""
    found = {}
    for name, spec in model.spec.parameters.items():
        written = (spec.value, spec.minimum, spec.maximum)
        found[name] = frozenset({name}).union(*(model.environment.uses(x) for x in written if isinstance(x, str)))
    return found


Refusals = list[Exception | None]
"""The error of each case, or None."""


class CasesDiffer(Exception):
    """Raised where cases would take different branches; `who` is true for the cases of one branch."""

    def __init__(self, who: np.ndarray) -> None:
        super().__init__("cases differ")
        self.who = who


class BatchedValue(np.ndarray):
    """Values of one quantity in several cases. Conversion to bool or float raises CasesDiffer if the cases differ."""

    def __bool__(self) -> bool:
        each = np.asarray(self, dtype=bool)
        if each.all() or not each.any():
            return bool(each.flat[0])
        raise CasesDiffer(each)

    def __float__(self) -> float:
        each = np.asarray(self)
        same = each == each.flat[0]
        if same.all():
            return float(each.flat[0])
        raise CasesDiffer(same)


def refusals(
    values: Mapping[str, np.ndarray],
    check: Callable[[Mapping[str, Any]], object],
    refuse: Callable[[Mapping[str, float]], Exception | None],
) -> Refusals:
    """The error of each of several cases.

    values: one value per case, by name. check: raises an exception if a group of cases (with a `BatchedValue` for each name) is
    not valid. refuse: the error of a single case, or None; it is called for cases that do not pass as part of a group.
    """
    count = len(next(iter(values.values()), np.zeros(1)))
    found: Refusals = [None] * count
    waiting = [np.arange(count)] if count else []
    while waiting:
        group = waiting.pop()
        if len(group) == 1:
            found[group[0]] = refuse({name: float(x[group[0]]) for name, x in values.items()})
            continue
        try:
            with np.errstate(divide="raise", over="raise", invalid="raise"):
                check({name: x[group].view(BatchedValue) for name, x in values.items()})
        except CasesDiffer as split:
            waiting += [group[split.who], group[~split.who]]
        except Exception:  # any type: `refuse` finds it in the case that causes it
            waiting += np.array_split(group, 2)
    return found
