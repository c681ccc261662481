"""The parameter or input that a static path varies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pliant.engine.binding import Binding
from pliant.engine.core import check_names
from pliant.engine.equations import Equations
from pliant.engine.workspace import EvaluationError

# Step of the central difference with respect to the parameter, relative to its scale: truncation and round-off are then both about
# 1e-10 of the acting forces, and a parameter that enters linearly is differentiated to round-off.
DIFFERENCE = 1e-5

Imbalance = Callable[[float], tuple[np.ndarray, np.ndarray]]


class PathParameter:
    """A parameter or an input of a model; `scale` is the size of a significant change, in its own units."""

    def __init__(self, eqs: Equations, name: str, scale: float) -> None:
        check_names("parameter or input", [name], (*eqs.parameters, *eqs.inputs))
        self.name, self.scale = name, scale
        self._eqs = eqs

    def initial(self, t: float) -> float:
        """Its value at the beginning of the path: as given for this call, else the model's at time t [s]."""
        if self.name in self._eqs.inputs:
            return self._eqs.input_values(t)[self.name]
        return self._eqs.parameters[self.name]

    def equations(self, value: float) -> Equations:
        """The equations with this value, which may be outside of the model's limits."""
        change = {self.name: float(value)}
        if self.name in self._eqs.inputs:
            return self._eqs.at(inputs=change)
        return self._eqs.at(parameters=change, within_limits=False)

    def at(self, value: float, bound: Binding) -> Binding:
        """The binding with this value, and with the active constraint rows, the positions that prescribed rates and accelerations
        leave unchanged, and the contact memory of `bound`."""
        held = {item.input: bound.series[bound.input_series[item.input]] for item in self._eqs.model.followed}
        return self.equations(value).binding.with_rows(bound.row_active).with_series(held).with_memory_of(bound)

    def derivative(self, value: float, imbalance: Imbalance) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of forces and constraint values, which `imbalance` returns for a value, with respect to the parameter: by a
        central difference, or a one-sided one if the model cannot be evaluated on the other side."""
        step = DIFFERENCE * self.scale
        found: list[tuple[float, tuple[np.ndarray, np.ndarray]]] = []
        for place in (value + step, value - step, value):
            if len(found) == 2:
                break
            try:
                now = imbalance(place)
            except EvaluationError:
                continue
            if np.all(np.isfinite(now[0])) and np.all(np.isfinite(now[1])):
                found.append((place, now))
        if len(found) < 2:
            raise EvaluationError(f"the model cannot be evaluated for values of '{self.name}' around {value:g}")
        (a, (force_a, phi_a)), (b, (force_b, phi_b)) = found
        return (force_a - force_b) / (a - b), (phi_a - phi_b) / (a - b)
