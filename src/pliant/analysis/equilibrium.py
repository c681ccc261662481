"""Static equilibria: poses without unbalanced force, and their stability."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pliant.analysis.base import Analysis, PoseGiven, PureNumber, Seconds
from pliant.analysis.statics.equilibrium import equilibrium
from pliant.engine.equations import Equations


class FindEquilibrium(Analysis):
    """Find an equilibrium."""

    name: ClassVar[str] = "equilibrium"
    title: ClassVar[str] = "Equilibrium"
    state: ClassVar[str] = "start"
    start: PoseGiven = "initial"
    """Pose from which the search starts: `initial`, or coordinates by name."""
    time: Seconds = 0
    """Time at which inputs are evaluated [s]."""
    tolerance: PureNumber = 1e-10
    """Largest accepted unbalanced force, relative to the acting forces [-]."""
    stability: Literal["stable", "any"] = "stable"
    """Requested equilibrium: a stable one (`stable`), or the nearest even if it is unstable (`any`), for instance to
    stabilize it by a controller."""

    def run(self, eqs: Equations) -> Any:
        """Compute."""
        return equilibrium(eqs, on_failure="return", **self.given())
