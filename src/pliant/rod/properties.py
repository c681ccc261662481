"""What every rod model needs to know of a rod: stiffness, inertia and actuation of its section, per length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca

from pliant.geometry import se3
from pliant.geometry.se3 import Pose
from pliant.rod.section_law import Law

if TYPE_CHECKING:
    from pliant.model.build import Build
    from pliant.rod.rod import Rod
    from pliant.spec.library import Material

LABELS = ("shear_x", "shear_y", "stretch", "bend_x", "bend_y", "twist")
"""The six strains in order; the rod's tangent is its z axis."""


@dataclass(frozen=True)
class SectionProperties:
    """A section in numbers or expressions of parameters.

    stiffness: of the six strains (kGA, kGA, EA [N], EI_x, EI_y, GJ [N m^2]); mass: per length [kg/m]; rotary: inertia
    per length about the section's x, y, z [kg m].
    """

    stiffness: tuple[Any, ...]
    mass: Any
    rotary: tuple[Any, Any, Any]


@dataclass(frozen=True)
class RodProperties:
    """A rod in numbers or expressions of parameters.

    Attributes:
        name: the rod's name.
        node, placement: the node it hangs on, and where its base sits there.
        length: undeformed length [m].
        stations: sections at equal distances along the rod, one for a uniform rod.
        rest: strains without stress (6).
        damping, damping_power: of the six strains.
        law: how the section answers.
        attachments: arc length of each named frame [m].
        actuation: index of the first of six signals that act along the strains, or None.
    """

    name: str
    node: int
    placement: Pose
    length: Any
    stations: tuple[SectionProperties, ...]
    rest: tuple[Any, ...]
    damping: tuple[Any, ...]
    damping_power: tuple[Any, ...]
    law: Law
    attachments: dict[str, Any]
    actuation: int | None

    def section(self, x: float) -> SectionProperties:
        """The section at fraction x of the length, interpolated between stations."""
        if len(self.stations) == 1:
            return self.stations[0]
        place = x * (len(self.stations) - 1)
        k = min(int(place), len(self.stations) - 2)
        share, a, b = place - k, self.stations[k], self.stations[k + 1]

        def mix(u: Any, w: Any) -> Any:
            return (1 - share) * u + share * w

        return SectionProperties(
            tuple(map(mix, a.stiffness, b.stiffness)), mix(a.mass, b.mass), tuple(map(mix, a.rotary, b.rotary))
        )

    def unstressed(self, arc_length: Any) -> Pose:
        """Pose of the section an arc length [m] (positive or negative) further on, in the rod without stress."""
        shear_x, shear_y, stretch, *bends = self.rest
        along = arc_length * ca.vertcat(shear_x, shear_y, 1 + stretch)
        if all(isinstance(bend, int | float) and bend == 0 for bend in bends):
            return ca.DM.eye(3), along  # straight rods are many, and the exponential is long to write down
        return se3.exp(ca.vertcat(along, arc_length * ca.vertcat(*bends)))

    def law_constants(self, length: Any, x: float) -> list[Any]:
        """Constants of the section law for a piece of rod of that length around fraction x."""
        return [length, *self.section(x).stiffness, *self.rest, *self.damping, *self.damping_power]


def rod_properties(rod: Rod, name: str, build: Build) -> RodProperties:
    """Properties of a rod from its sections and material."""
    value = build.value
    material = build.robot.materials[rod.material]
    node, at = build.frame(rod.parent)
    wrenches = [chamber.wrench(build) for chamber in rod.chambers.values()]
    return RodProperties(
        name=name,
        node=node,
        placement=se3.compose(at, build.placement(rod)),
        length=value(rod.length),
        stations=tuple(_section(section, rod, material, build) for section in rod.section),
        rest=tuple(map(value, rod.rest)),
        damping=tuple(map(value, rod.damping)),
        damping_power=tuple(map(value, rod.damping_power)),
        law=rod.law,
        attachments={frame: value(place.at) for frame, place in rod.frames.items()},
        actuation=build.add_signal_expressions(build.entries(sum(wrenches[1:], wrenches[0]))) if wrenches else None,
    )


def _section(name: str, rod: Rod, material: Material, build: Build) -> SectionProperties:
    value, section = build.value, build.robot.sections[name]
    assert material.youngs_modulus is not None, "checked when the model was read"
    assert material.density is not None, "checked when the model was read"
    E, density = value(material.youngs_modulus), value(material.density)
    if material.shear_modulus is not None:
        G = value(material.shear_modulus)
        poissons_ratio = E / (2 * G) - 1
    else:
        assert material.poissons_ratio is not None, "checked when the model was read"
        poissons_ratio = value(material.poissons_ratio)
        G = E / (2 * (1 + poissons_ratio))
    area, (I_x, I_y), torsion = section.area(value), section.second_moments(value), section.torsion(value)
    shear = section.shear_factor(value, poissons_ratio) * G * area
    plain = (shear, shear, E * area, E * I_x, E * I_y, G * torsion)
    stiffness = tuple(value(f) * k for f, k in zip(rod.stiffness_factors, plain, strict=True))
    return SectionProperties(stiffness, density * area, (density * I_x, density * I_y, density * (I_x + I_y)))
