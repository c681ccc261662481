"""The fluid around a robot: its density, viscosity, current and surface, for all that it acts on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

import casadi as ca

from pliant.language.base import Part, Problem, not_negative
from pliant.language.scalar import Density, Length, Scalar, SpeedField, Viscosity
from pliant.parts.assembly.build import Build
from pliant.parts.field.medium import Medium, MediumKind
from pliant.parts.field.rod import RodFluid


class Fluid(Part):
    """A fluid around the robot, at rest or flowing. It acts on all rods and bodies, as their `fluid` adjusts: buoyancy by
    their outline, drag, and added mass, which moves with them."""

    density: Density
    """Density [kg/m^3]: 1000 kg/m^3 for water, 1.2 kg/m^3 for air."""
    viscosity: Viscosity = 0
    """Dynamic viscosity [Pa s]: 1 mPa*s for water, 18 uPa*s for air. Without it drag is quadratic in the speed."""
    current: tuple[SpeedField, SpeedField, SpeedField] = (0, 0, 0)
    """Velocity of the fluid far from the robot, in world axes [m/s]. It may depend on the place `x`, `y` and `z` [m], on the time
    `t`, and on inputs and parameters: `["=0.3 m/s*(z/1 m)^(1/7)", 0, 0]`. It accelerates what it carries, by its change along
    its own path; where it depends on inputs, only their present values count for that."""
    surface: Length | None = None
    """Height of the free surface [m]: distance from the world's origin, opposite to gravity. Default: none, the fluid is
    everywhere."""

    example: ClassVar[str] = """\
pliant: 1
world:
  fluid: {density: 1000 kg/m^3, viscosity: 1 mPa*s, current: [0.2 m/s, 0, 0], surface: 30 cm}
sections: {round: {shape: circle, radius: 1 cm}}
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}}
rods:
  reed: {length: 40 cm, section: round, material: rubber}
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Density above zero, viscosity not below."""
        if value(self.density) <= 0:
            yield ("density",), f"a fluid has a density above zero, but this one is {value(self.density):g} kg/m^3", ""
        yield from not_negative(self, value, "viscosity")

    def apply(self, build: Build) -> None:
        """Add what the fluid does to all parts of the robot."""
        medium = self.medium(build)
        for name, rod in build.robot.rods.items():
            build.system.owner = ("rods", name)
            (rod.fluid or RodFluid()).apply(build, name, medium)
        for name, body in build.robot.bodies.items():
            build.system.owner = ("bodies", name)
            body.immerse(build, name, medium)

    def medium(self, build: Build) -> Medium:
        """The fluid as numbers and signals of a robot under construction."""
        expressions, numbers, signals = build.state_expressions(self.current, "xyz")
        still = all(isinstance(entry, int | float) and entry == 0 for entry in self.current)
        rates = [ca.jacobian(signal, build.signals.t) for signal in signals]
        kind = MediumKind(expressions, still=still, has_surface=self.surface is not None)
        constants = kind.fields.write(
            density=build.value(self.density),
            viscosity=build.value(self.viscosity),
            gravity=[build.value(x) for x in build.robot.world.gravity],
            surface=build.value(self.surface or 0),
            current=numbers,
        )
        at = build.add_signal_expressions([*signals, *rates]) if signals else 0
        viscosity = build.value(self.viscosity)
        is_viscous = not (isinstance(viscosity, int | float) and viscosity == 0)
        return Medium(kind, constants, at, build.value(self.density), viscosity, is_viscous)
