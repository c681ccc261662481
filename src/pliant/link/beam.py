"""Beam link: a six-component spring, damper and input between two frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import BeforeValidator

from pliant.link.base import LinkBase
from pliant.spec.base import Path, WordOrList
from pliant.spec.dimension import ANGULAR_DAMPING, DAMPING, Dimension, damping_dimension
from pliant.spec.scalar import (
    Angle,
    AngularDamping,
    AngularStiffness,
    Damping,
    ForceSignal,
    Length,
    Number,
    Scalar,
    Stiffness,
    TorqueSignal,
    Vector,
)

COMPONENTS = ("shear-x", "shear-y", "stretch", "bend-x", "bend-y", "twist")
"""The six components in order; the beam's axis is z."""

Way: TypeAlias = Literal["both", "positive", "negative"]


def _six(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else (value,) * 6


SixNumbers: TypeAlias = Annotated[
    tuple[Number, Number, Number, Number, Number, Number], BeforeValidator(_six)
]
SixWays: TypeAlias = Annotated[tuple[Way, Way, Way, Way, Way, Way], BeforeValidator(_six)]


Rest: TypeAlias = Annotated[
    Literal["as at start"] | tuple[Length, Length, Length, Angle, Angle, Angle], WordOrList()
]


class Beam(LinkBase):
    """Six springs, dampers and inputs between frames: shear-x, shear-y, stretch, bend-x, bend-y, twist."""

    type: Literal["beam"] = "beam"
    stiffness: tuple[
        Stiffness, Stiffness, Stiffness, AngularStiffness, AngularStiffness, AngularStiffness
    ] = (0,) * 6
    """The six stiffnesses: three [N/m], three [N m/rad]."""
    damping: tuple[Damping, Damping, Damping, AngularDamping, AngularDamping, AngularDamping] = (0,) * 6
    """The six damping coefficients: three [N (s/m)^power], three [N m (s/rad)^power]."""
    damping_power: SixNumbers = (1,) * 6
    """Power of the rates, one for all components or six [-]."""
    rest: Rest = "as at start"
    """The six values at which the beam is free of force (three [m], three [rad]), or `as at start`."""
    compression: SixNumbers = (1,) * 6
    """Factors on the rest values, one for all components or six [-]."""
    direction: SixWays = ("both",) * 6
    """Where each component acts: always, only above its rest value, or only below; one word or six."""
    x_axis: Vector | None = None
    """Direction of the section's x axis in the first frame; otherwise that frame's axes are the beam's."""
    input: tuple[ForceSignal, ForceSignal, ForceSignal, TorqueSignal, TorqueSignal, TorqueSignal] = (0,) * 6
    """Forces and torques along the six components, which may vary in time: three [N], three [N m]."""

    def dimension(self, path: Path, value: Callable[[Scalar], float]) -> Dimension | None:
        """A damping coefficient's dimension depends on its power."""
        if path[0] != "damping":
            return None
        component = int(path[1])
        coefficient = DAMPING if component < 3 else ANGULAR_DAMPING
        return damping_dimension(coefficient, value(self.damping_power[component]))

    example: ClassVar[str] = """\
pliant: 1
bodies:
  plate: {mass: 1 kg, shape: {type: box, size: [20 cm, 20 cm, 1 cm]}}
joints:
  float: {type: free, child: plate, z: {initial: 30 cm}}
links:
  mount:
    type: beam
    between: [world, plate]
    stiffness: [500 N/m, 500 N/m, 2 kN/m, 3, 3, 1]
    damping: [5, 5, 20, 0.02, 0.02, 0.01]
    rest: as at start
"""
