"""Inverse dynamics: the generalized forces of a motion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from pliant.analysis.base import Analysis, Seconds, StateGiven, ValuesByName, function_of, named_values
from pliant.analysis.numerics.status import Status
from pliant.analysis.result import Along, AnalysisResult, Sheet
from pliant.analysis.states import about
from pliant.engine.equations import Equations
from pliant.engine.model.model import Model
from pliant.engine.state import State
from pliant.language.base import Problem


@dataclass(frozen=True, repr=False, eq=False)
class MotionForces(AnalysisResult):
    """Generalized forces of a motion.

    Attributes:
        forces: those that the motion requires in addition to the forces of the model, including constraint forces [N, or N m for
            rotations].
        inertial: mass matrix times accelerations.
        accelerations: of the rates.
        state: positions and rates.
    """

    forces: Annotated[np.ndarray, Along("rate")]
    inertial: Annotated[np.ndarray, Along("rate")]
    accelerations: Annotated[np.ndarray, Along("rate")]
    state: State
    equations: Equations
    status: Status = Status.COMPLETED
    message: str = ""

    def sheets(self) -> tuple[Sheet, ...]:
        """Forces by rate."""
        columns = zip(self.equations.rates, self.forces, self.inertial, self.accelerations, strict=True)
        rows = tuple((name, *(f"{x:.9g}" for x in values)) for name, *values in columns)
        return (Sheet(("rate", "force (SI)", "of inertia", "acceleration"), rows, words="rates"),)


class InverseDynamics(Analysis):
    """Generalized forces that a motion requires in addition to those of the model: M a + h.

    They are the forces that would have to act on the coordinates for these accelerations; in closed loops they include the forces
    of the constraints. `required_inputs` finds the inputs that produce them.
    """

    name: ClassVar[str] = "inverse_dynamics"
    title: ClassVar[str] = "Inverse dynamics"
    result = MotionForces
    first: ClassVar[tuple[str, ...]] = ("at",)

    at: StateGiven = "initial"
    """State: `initial`, `equilibrium`, or coordinates and rates by name."""
    accelerations: ValuesByName = Field(default_factory=dict)
    """Accelerations by the names of the rates; others are zero."""
    time: Seconds | None = None
    """Time at which inputs are evaluated [s]; default: that of the state."""

    def faults(self, model: Model) -> Iterator[Problem]:
        """Names of rates that the robot does not have."""
        yield from super().faults(model)
        yield from named_values(("accelerations",), self.accelerations, dict.fromkeys(model.v_names), "rate", model)

    def run(self, eqs: Equations) -> MotionForces:
        """Evaluate the equations of motion."""
        eqs, state, t = about(eqs, self.at, self.inputs, self.parameters, self.time)
        a = np.array([self.accelerations.get(name, 0.0) for name in eqs.rates], dtype=float)
        forces = eqs.inverse_dynamics(state.q, state.v, a, t=t)
        return MotionForces(forces, np.asarray(eqs.mass_matrix(state.q) @ a), a, state, eqs)


inverse_dynamics = function_of(InverseDynamics)
