"""Outputs: named quantities that an analysis records. A new one is one more class and one more name here."""

from typing import Annotated, ClassVar, TypeAlias

from pliant.language.base import ByKey, Part
from pliant.parts.output.base import ExpressionOutput
from pliant.parts.output.quantities import (
    ConstraintOutput,
    ContactOutput,
    CoordinateOutput,
    EnergyOutput,
    FluxDensityOutput,
    FrameOutput,
    LinkOutput,
    ReactionOutput,
    TendonOutput,
)
from pliant.parts.output.rod import MeshOutput, RodOutput

Output: TypeAlias = Annotated[
    FrameOutput
    | CoordinateOutput
    | LinkOutput
    | TendonOutput
    | RodOutput
    | ContactOutput
    | ConstraintOutput
    | EnergyOutput
    | ReactionOutput
    | FluxDensityOutput
    | ExpressionOutput
    | MeshOutput,
    ByKey("output"),
]


class Outputs(Part):
    """Named quantities that an analysis records."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  arm: {mass: 1 kg, center_of_mass: [0.5 m, 0, 0], frames: {tip: {position: [1 m, 0, 0]}}}
joints:
  hinge: {type: revolute, child: arm, axis: y}
links:
  rope: {type: axial, between: [{frame: world, position: [1 m, 0, 1 m]}, arm.tip], spring: 100 N/m}
outputs:
  height: {frame: arm.tip, quantity: position, component: z}
  swing: {coordinate: hinge, quantity: rate}
  pull: {link: rope, quantity: force}
  energy: {energy: total}
  support: {reaction: hinge, component: norm}
  share: {expression: =pull/support}
"""
