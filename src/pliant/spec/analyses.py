"""Analyses that `pliant run` performs on a model, in order, with their options."""

from __future__ import annotations

from typing import Annotated, ClassVar, TypeAlias

from pliant.language.base import ByKey, Part
from pliant.solve.options import (
    ContinuationOptions,
    EquilibriumOptions,
    LinearizeOptions,
    ModesOptions,
    Options,
    SimulateOptions,
)


class AnalysisBase(Part):
    """An analysis: its name, which is the only key, and its options."""

    @property
    def options(self) -> Options:
        """The options of the analysis."""
        (name,) = type(self).model_fields
        found: Options = getattr(self, name)
        return found


class EquilibriumAnalysis(AnalysisBase):
    """Find an equilibrium: `{equilibrium: {}}`."""

    equilibrium: EquilibriumOptions
    """Options; `{}` for the defaults."""


class ModesAnalysis(AnalysisBase):
    """Natural modes: `{modes: {count: 5}}`."""

    modes: ModesOptions
    """Options; `{}` for the defaults."""


class LinearizeAnalysis(AnalysisBase):
    """Linear equations: `{linearize: {at: equilibrium}}`."""

    linearize: LinearizeOptions
    """Options; `{}` for the defaults."""


class SimulateAnalysis(AnalysisBase):
    """Motion in time: `{simulate: {until: 5 s}}`."""

    simulate: SimulateOptions
    """Options."""


class PathAnalysis(AnalysisBase):
    """Equilibria while a parameter changes: `{path: {parameter: load, to: 5 N}}`."""

    path: ContinuationOptions
    """Options."""


Analysis: TypeAlias = Annotated[
    EquilibriumAnalysis | ModesAnalysis | LinearizeAnalysis | SimulateAnalysis | PathAnalysis, ByKey("analysis")
]


class Analyses(Part):
    """Analyses that `pliant run` performs, in order."""

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
