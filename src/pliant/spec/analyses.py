"""Analyses: what `pliant run` does with a model, in order, and with which settings."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field

from pliant.language.base import ByKey, Part
from pliant.language.names import CoordinateName, InputName, OutputName
from pliant.language.scalar import Number, Time


class EquilibriumSettings(Part):
    """Find a pose at rest."""

    tolerance: Number | None = None
    """Largest residual accepted, relative to the forces in play [-]; otherwise the solver's own."""


class ModesSettings(Part):
    """Natural frequencies, damping ratios and mode shapes."""

    count: Annotated[int, Field(ge=1, strict=True)] | None = None
    """How many modes, lowest first; otherwise all."""
    at: Literal["start", "equilibrium"] = "equilibrium"
    """State about which the motion is linearized."""


class LinearizeSettings(Part):
    """Linear equations about a state, for control."""

    at: Literal["start", "equilibrium"] = "equilibrium"
    """State about which the equations are linearized."""
    inputs: tuple[InputName, ...] | None = None
    """Input parameters to take; otherwise all."""
    outputs: tuple[OutputName, ...] | None = None
    """Outputs to take; otherwise all."""


class SimulateSettings(Part):
    """Motion in time from a start."""

    until: Time
    """End of the simulation [s]; it begins at 0."""
    method: Literal["explicit", "implicit", "generalized_alpha", "newmark", "semi_implicit"] | None = None
    """Integrator by name; otherwise chosen to suit the model."""
    dt: Time | None = None
    """Fixed time step [s]; without it the step is adapted to the tolerances."""
    rtol: Number | None = None
    """Relative tolerance of an adaptive integrator [-]."""
    atol: Number | None = None
    """Absolute tolerance of an adaptive integrator, in SI units of the coordinates."""
    save_every: Time | None = None
    """Time between saved states [s]; otherwise 200 intervals."""
    start: Literal["initial", "equilibrium"] = "initial"
    """State at the start: the initial values, or the equilibrium."""
    formulation: Literal["multipliers", "reduced"] | None = None
    """How constraints are treated; otherwise with multipliers."""
    independent: tuple[CoordinateName, ...] | None = None
    """Coordinates kept when the others are eliminated through the constraints."""


class EquilibriumAnalysis(Part):
    """Find a pose at rest: `{equilibrium: {}}`."""

    equilibrium: EquilibriumSettings
    """Its settings; `{}` for none."""


class ModesAnalysis(Part):
    """Natural modes: `{modes: {count: 5}}`."""

    modes: ModesSettings
    """Its settings; `{}` for none."""


class LinearizeAnalysis(Part):
    """Linear equations: `{linearize: {at: equilibrium}}`."""

    linearize: LinearizeSettings
    """Its settings; `{}` for none."""


class SimulateAnalysis(Part):
    """Motion in time: `{simulate: {until: 5 s}}`."""

    simulate: SimulateSettings
    """Its settings."""


Analysis: TypeAlias = Annotated[
    EquilibriumAnalysis | ModesAnalysis | LinearizeAnalysis | SimulateAnalysis, ByKey("analysis")
]


class Analyses(Part):
    """What `pliant run` does with the model, in order."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  mass: {mass: 1 kg}
joints:
  slide: {type: prismatic, child: mass, axis: z, displacement: {spring: 100 N/m, damper: 1 N*s/m}}
analyses:
  - equilibrium: {}
  - modes: {count: 1, at: equilibrium}
  - simulate: {until: 5 s, save_every: 10 ms, start: initial}
"""
