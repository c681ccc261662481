"""What a static path varies: a parameter or an input of the model, or the share of an imbalance that is applied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from pliant.equations.compiled import EvaluationError
from pliant.equations.equations import Equations, UnknownName, Values

# Step of the central difference by the parameter, as a share of its scale: truncation and round-off are then both about
# 1e-10 of the forces in play, and a parameter that enters linearly is differentiated to round-off.
DIFFERENCE = 1e-5

Imbalance = Callable[[], tuple[np.ndarray, np.ndarray]]


class Loading(Protocol):
    """One number that the equations of statics depend on."""

    name: str
    scale: float
    """Size of a change that matters, in the number's own units."""

    def apply(self, value: float) -> tuple[np.ndarray | float, np.ndarray | float]:
        """Put a value in force; returns the forces and constraint gaps to be left open there."""
        ...

    def derivative(self, value: float, imbalance: Imbalance) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives by the number of forces and constraint values; `imbalance` gives both at the value in force."""
        ...


class ModelLoading:
    """A parameter or an input of a model."""

    def __init__(
        self, eqs: Equations, name: str, scale: float, inputs: Values | None, parameters: Values | None
    ) -> None:
        if name not in eqs.inputs and name not in eqs.parameters:
            raise UnknownName("parameter or input", name, (*eqs.parameters, *eqs.inputs))
        self.name, self.scale = name, scale
        self._eqs = eqs
        self.inputs, self.parameters = dict(inputs or {}), dict(parameters or {})
        self._varied = self.inputs if name in eqs.inputs else self.parameters

    def initial(self, t: float) -> float:
        """Its value before the path begins: as given for this call, else the model's at time t [s]."""
        if self.name in self._varied:
            return float(self._varied[self.name])
        if self.name in self._eqs.inputs:
            engine = self._eqs.bind(self.inputs, self.parameters)
            return float(engine.signals(t)[0][self._eqs.inputs.index(self.name)])
        return self._eqs.parameters[self.name]

    def apply(self, value: float) -> tuple[float, float]:
        """Bind the engine to the value; nothing is left open."""
        self._varied[self.name] = float(value)
        self._eqs.bind(self.inputs, self.parameters, within_limits=False)
        return 0.0, 0.0

    def derivative(self, value: float, imbalance: Imbalance) -> tuple[np.ndarray, np.ndarray]:
        """By a central difference of the compiled equations; one-sided where the model ends on the other side."""
        step = DIFFERENCE * self.scale
        found: list[tuple[float, tuple[np.ndarray, np.ndarray]]] = []
        for place in (value + step, value - step, value):
            if len(found) == 2:
                break
            try:
                self.apply(place)
                now = imbalance()
            except EvaluationError:
                continue
            if np.all(np.isfinite(now[0])) and np.all(np.isfinite(now[1])):
                found.append((place, now))
        self.apply(value)
        if len(found) < 2:
            raise EvaluationError(f"the model cannot be evaluated for values of '{self.name}' around {value:g}")
        (a, (force_a, phi_a)), (b, (force_b, phi_b)) = found
        return (force_a - force_b) / (a - b), (phi_a - phi_b) / (a - b)


class ShareLoading:
    """Share of a start's imbalance of forces and constraint gaps that has been applied: 0 at the start, 1 in the end."""

    name = "share of the load"
    scale = 1.0

    def __init__(self, force: np.ndarray, gap: np.ndarray) -> None:
        self._force, self._gap = force, gap

    def apply(self, value: float) -> tuple[np.ndarray, np.ndarray]:
        """Leave the rest open."""
        return (1.0 - value) * self._force, (1.0 - value) * self._gap

    def derivative(self, value: float, imbalance: Imbalance) -> tuple[np.ndarray, np.ndarray]:
        """Exactly the whole imbalance."""
        return self._force, self._gap
