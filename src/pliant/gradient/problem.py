"""The optimization problem in scaled variables from 0 to 1, with derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from pliant.equations.equations import Equations
from pliant.gradient.differentiable import Analysis, Differentiable, differentiable
from pliant.gradient.quantity import Condition, Quantity
from pliant.solve.motion.simulate import simulate
from pliant.solve.statics.equilibrium import equilibrium

HOLDS = 1e-6
"""Accepted violation of a condition, relative to its size."""


@dataclass(frozen=True)
class Evaluation:
    """A point evaluated by a search.

    Attributes:
        values: of the variables, by name (SI units).
        objective: value of the objective [its SI unit].
        spare: margin of each condition, relative to its size; negative if it is violated.
    """

    values: Mapping[str, float]
    objective: float
    spare: Mapping[str, float]

    @property
    def missed(self) -> float:
        """Largest violation of the conditions, relative to their size; 0 if all are satisfied."""
        most = -min(self.spare.values(), default=0.0)
        return most if most > HOLDS else 0.0


@dataclass(frozen=True)
class Outcome:
    """Objective, then conditions (at most zero, or zero), each at the point x, and their derivatives, one row each."""

    objective: float
    conditions: np.ndarray
    gradient: np.ndarray
    jacobian: np.ndarray


@dataclass
class Problem:
    """Objective and conditions, bounds of the variables by name (SI units), and the analysis with its options that computes
    outputs."""

    eqs: Equations
    minimize: Quantity
    conditions: tuple[Condition, ...]
    bounds: Mapping[str, tuple[float, float]]
    analysis: Analysis
    options: Mapping[str, Any]
    progress: Callable[[Evaluation], None] | None = None
    way: list[Evaluation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._seen: dict[bytes, Outcome] = {}

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """All required outputs."""
        wanted = [self.minimize, *(c.quantity for c in self.conditions)]
        return tuple(sorted({name for x in wanted for name in x.outputs}))

    @cached_property
    def function(self) -> Differentiable:
        """Outputs with derivatives. Raises ArgumentError if there are none."""
        return differentiable(self.eqs, self.outputs, tuple(self.bounds), analysis=self.analysis, **self.options)

    @property
    def equal(self) -> np.ndarray:
        """Whether each row of the conditions is an equality; available after the first evaluation."""
        return np.repeat([c.equal for c in self.conditions], self._times).astype(bool)

    def values(self, x: np.ndarray) -> dict[str, float]:
        """The variables, by name, at fractions x of their ranges."""
        return {n: float(low + s * (high - low)) for s, (n, (low, high)) in zip(x, self.bounds.items(), strict=True)}

    def look(self, x: np.ndarray) -> Outcome:
        """Objective and conditions with derivatives with respect to x."""
        key = np.asarray(x, dtype=float).tobytes()
        if key not in self._seen:
            values = self.values(x)
            outputs, pullback = self.function.vjp(values)
            self._note(values, outputs)
            found = [self._pulled(c.quantity, values, outputs, pullback) for c in self.conditions]
            gradient = self._pulled(self.minimize, values, outputs, pullback).mean(axis=0)
            jacobian = np.concatenate(
                [np.zeros((0, len(x))), *(d / s for d, s in zip(found, self._sizes, strict=True))]
            )
            width = np.array([high - low for low, high in self.bounds.values()])
            self._seen[key] = Outcome(self._objective, self._rows, gradient * width, jacobian * width)
        return self._seen[key]

    def try_out(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Objective and conditions, without derivatives."""
        values = self.values(x)
        parameters = {
            **(self.options.get("parameters") or {}),
            **{n: v for n, v in values.items() if n not in self.eqs.inputs},
        }
        inputs = {**(self.options.get("inputs") or {}), **{n: v for n, v in values.items() if n in self.eqs.inputs}}
        options = {**self.options, "parameters": parameters or None, "inputs": inputs or None}
        if self.analysis == "equilibrium":
            rest = equilibrium(self.eqs, **options)
            self._note(values, {name: np.atleast_1d(rest.outputs[name]) for name in self.outputs})
        else:
            if options.get("save_at") is None:
                options["save_at"] = [options["until"]]
            run = simulate(self.eqs, **options)
            self._note(values, {name: run[name].values for name in self.outputs})
        return self._objective, self._rows

    def _note(self, values: Mapping[str, float], outputs: Mapping[str, np.ndarray]) -> None:
        """Objective and conditions of these outputs; the point is recorded."""
        self._objective = float(self.minimize.value(values, outputs).mean())
        rows = [c.quantity.value(values, outputs) for c in self.conditions]
        self._times = len(rows[0]) if rows else 0
        if not self.way:  # sizes are taken at the start
            sides = [[np.max(np.abs(side.value(values, outputs))) for side in c.sides] for c in self.conditions]
            self._sizes = [max(both) or 1.0 for both in sides]
        self._rows = np.concatenate([np.zeros(0), *(r / s for r, s in zip(rows, self._sizes, strict=True))])
        spare = {
            c.text: -float(np.max(np.abs(r) if c.equal else r)) / size + 0.0
            for c, r, size in zip(self.conditions, rows, self._sizes, strict=True)
        }
        visit = Evaluation(dict(values), self._objective, spare)
        self.way.append(visit)
        if self.progress is not None:
            self.progress(visit)

    def _pulled(self, of: Quantity, values: Mapping[str, float], outputs: Any, pullback: Any) -> np.ndarray:
        """Derivatives of a quantity with respect to the variables, one row per time."""
        direct, by_outputs = of.derivatives(values, outputs)
        if not by_outputs:
            return direct
        rows = []
        for t, row in enumerate(direct):
            given = {}
            for name, d in by_outputs.items():
                one = np.zeros_like(d)
                one[t] = d[t]
                given[name] = one.reshape(np.shape(outputs[name]))
            back = pullback(given)
            rows.append(row + np.array([float(back[name]) for name in self.bounds]))
        return np.array(rows)
