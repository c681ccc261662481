"""Linear equations of motion about a state, in independent coordinates, for control design."""

from __future__ import annotations

from typing import Any, ClassVar

from pliant.analysis.base import Analysis, CoordinateNames, InputNames, OutputNames, Seconds, StateGiven
from pliant.equations.equations import Equations
from pliant.solve.linear.state_space import linearize


class Linearize(Analysis):
    """Linear equations about a state, for control."""

    name: ClassVar[str] = "linearize"
    title: ClassVar[str] = "Linear system"
    state: ClassVar[str] = "at"
    at: StateGiven = "equilibrium"
    """State about which the equations are linearized: `equilibrium`, `initial`, or coordinates and rates by name."""
    time: Seconds | None = None
    """Time at which inputs are evaluated [s]; default: that of the state."""
    independent: CoordinateNames | None = None
    """Independent coordinates of a robot with closed loops; default: chosen for good conditioning."""
    input_names: InputNames | None = None
    """Inputs to use; default: all."""
    output_names: OutputNames | None = None
    """Outputs to use; default: all."""

    def run(self, eqs: Equations) -> Any:
        """Compute."""
        return linearize(eqs, **self.given())
