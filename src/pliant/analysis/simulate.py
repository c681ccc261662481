"""Motions from an initial state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import StrictBool

from pliant.analysis.base import Analysis, CoordinateNames, PureNumber, Seconds, StateGiven
from pliant.analysis.motion.simulate import simulate
from pliant.engine.equations import Equations
from pliant.language.base import OneOrList


class Simulate(Analysis):
    """Simulate the motion from an initial state."""

    name: ClassVar[str] = "simulate"
    title: ClassVar[str] = "Motion"
    state: ClassVar[str] = "start"
    first: ClassVar[tuple[str, ...]] = ("until",)
    kept: ClassVar[tuple[str, ...]] = ("q", "v", "outputs")
    flags: ClassVar[Mapping[str, str]] = {"controllers": "--no-control"}

    until: Seconds = 1.0
    """End of the simulation [s]."""
    begin: Seconds = 0
    """Time at which it begins [s]."""
    start: StateGiven | None = None
    """State at the start: `initial`, `equilibrium`, or coordinates and rates by name; default: the model's `start`."""
    method: (
        Literal["explicit", "implicit", "generalized_alpha", "newmark", "semi_implicit", "symplectic_euler"] | None
    ) = None
    """Integrator: explicit, implicit, generalized_alpha, newmark, semi_implicit or symplectic_euler; default: automatic."""
    step: Seconds | None = None
    """Fixed time step [s]; without it the step is adapted to the tolerances."""
    rtol: PureNumber | None = None
    """Error per step relative to the motion of the frames [-]; default: 1e-6 for explicit and 1e-3 for implicit methods."""
    atol: PureNumber | None = None
    """Error per step that is accepted in any case [m and rad]; otherwise a hundred-thousandth of `rtol` of the robot's size."""
    save_every: Seconds | None = None
    """Time between saved states [s]; default: 200 intervals."""
    save_at: Annotated[tuple[Seconds, ...], OneOrList()] | None = None
    """Times at which states are saved [s]; steps end exactly there."""
    save_between: StrictBool = False
    """Interpolate the states at `save_at` within steps, instead of ending steps there."""
    formulation: Literal["multipliers", "reduced"] = "multipliers"
    """How constraints are treated: multipliers, or reduced to independent coordinates."""
    independent: CoordinateNames | None = None
    """Independent coordinates of the reduced formulation; default: chosen for good conditioning."""
    controllers: StrictBool = True
    """Run the model's controllers."""

    def run(self, eqs: Equations) -> Any:
        """Compute."""
        return simulate(eqs, on_failure="return", **self.given())
