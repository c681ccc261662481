"""Limits that a model gives its parameters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pliant.language.arguments import ArgumentError
from pliant.language.environment import Environment
from pliant.model.model import Model

# Round-off of a value that was computed to lie on its limit.
ROUND_OFF = 1e-12


def declared_bounds(model: Model, name: str, environment: Environment) -> tuple[float, float]:
    """`minimum` and `maximum` of a parameter or input (SI units); infinite where the model gives none."""
    spec = model.spec.parameters[name]
    low = -np.inf if spec.minimum is None else float(environment.value(spec.minimum))
    high = np.inf if spec.maximum is None else float(environment.value(spec.maximum))
    return low, high


def check_limits(model: Model, parameters: Mapping[str, float]) -> None:
    """Refuse values (SI units) beyond their limits, which may depend on the other parameters."""
    specs = model.spec.parameters
    limited = [x for x in parameters if x in specs and not (specs[x].minimum is None and specs[x].maximum is None)]
    if not limited:
        return
    environment = model.environment_with(parameters)
    for name in limited:
        value = float(environment.values[name])
        low, high = declared_bounds(model, name, environment)
        slack = ROUND_OFF * abs(value)
        if value < low - slack:
            raise ArgumentError(f"'{name}' is {value:g}, below its minimum of {low:g}", "in SI units")
        if value > high + slack:
            raise ArgumentError(f"'{name}' is {value:g}, above its maximum of {high:g}", "in SI units")
