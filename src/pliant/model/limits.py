"""Whether values of parameters are such as the model could have in its text."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from pliant.language.arguments import ArgumentError
from pliant.language.environment import Environment, is_finite
from pliant.language.syntax import ExpressionError
from pliant.model.model import Model
from pliant.model.value_problems import ValueChecks

# Round-off of a value that was computed to lie on its limit.
ROUND_OFF = 1e-12


def declared_bounds(model: Model, name: str, environment: Environment) -> tuple[float, float]:
    """`minimum` and `maximum` of a parameter or input (SI units); infinite where the model gives none."""
    spec = model.spec.parameters[name]
    low = -np.inf if spec.minimum is None else float(environment.value(spec.minimum))
    high = np.inf if spec.maximum is None else float(environment.value(spec.maximum))
    return low, high


def check_values(model: Model, parameters: Mapping[str, float], changed: Collection[str]) -> None:
    """Refuse values of parameters (SI units) that the text would be refused for: beyond their limits, which may depend on others,
    or such that a part cannot be made with them. Looks at what depends on those that are `changed` only."""
    environment = model.environment_with(parameters)
    try:
        _check_limits(model, environment, changed)
        checks: ValueChecks = model.once("value_checks", lambda: ValueChecks(model.compiled, model.environment))
        found = [
            f"{'.'.join(map(str, (collection, name, *path)))}: {message}{f' ({hint})' if hint else ''}"
            for collection, name, path, message, hint in checks.problems(changed, environment.signal)
        ]
    except (ExpressionError, ZeroDivisionError, OverflowError) as error:
        raise ArgumentError(f"with these parameters a value of the model cannot be computed: {error}") from None
    if not found and model.required is not None:
        amounts = np.asarray(model.required([float(environment.values[x]) for x in model.parameter_names])).ravel()
        found = [
            f"{r.path}: {r.message} ({r.hint})" for r, x in zip(model.requirements, amounts, strict=True) if not x >= 0
        ]
    if found:
        given = ", ".join(f"{name} = {float(environment.values[name]):g}" for name in changed)
        raise ArgumentError(f"the model refuses {given}: {'; '.join(dict.fromkeys(found))}")


def _check_limits(model: Model, environment: Environment, changed: Collection[str]) -> None:
    """Refuse values beyond their declared limits; also limits and values of others that depend on the changed ones."""
    for name, used in model.once("names_behind_parameters", lambda: _names_behind(model)).items():
        if used.isdisjoint(changed):
            continue
        value = float(environment.values[name])
        if not is_finite(value):
            raise ArgumentError(f"the value of '{name}' is not a finite number with these parameters")
        low, high = declared_bounds(model, name, environment)
        slack = ROUND_OFF * abs(value)
        if value < low - slack:
            raise ArgumentError(f"'{name}' is {value:g}, below its minimum of {low:g}", "in SI units")
        if value > high + slack:
            raise ArgumentError(f"'{name}' is {value:g}, above its maximum of {high:g}", "in SI units")


def _names_behind(model: Model) -> dict[str, frozenset[str]]:
    """The parameters that the value and the limits of each parameter depend on, itself included."""
    found = {}
    for name, spec in model.spec.parameters.items():
        written = (spec.value, spec.minimum, spec.maximum)
        found[name] = frozenset({name}).union(*(model.environment.uses(x) for x in written if isinstance(x, str)))
    return found
