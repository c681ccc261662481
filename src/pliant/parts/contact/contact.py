"""A contact in the language: the parts that can touch, and the contact law."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar, TypeAlias

import casadi as ca
from pydantic import Field

from pliant.language.base import OneOrList, Part, Problem, positive
from pliant.language.dimension import FORCE, LENGTH, Dimension
from pliant.language.faults import Fault, SpecError
from pliant.language.message_text import KeyPath
from pliant.language.names import ThingName
from pliant.language.repeated import Repeated
from pliant.language.scalar import Number, Scalar, Slowness, Value
from pliant.parts.contact.collision_shapes import (
    are_thin,
    can_touch,
    default_stiffness,
    exclude_joined,
    parts_named,
    shapes_of,
    smallest_radius,
)
from pliant.parts.contact.law import LawNumbers, impact_number, slow_and_recent

if TYPE_CHECKING:
    from pliant.engine.model.build import Build

Things: TypeAlias = Annotated[tuple[ThingName, ...], OneOrList(), Field(min_length=1)]


class Friction(Part):
    """Coulomb friction: surfaces stick until the tangential force reaches the coefficient times the normal force."""

    short_form: ClassVar[str | None] = "along"

    along: Number
    """Coefficient of friction [-]; if `across` is given, that along the axis of the touching rod or capsule."""
    across: Number | None = None
    """Coefficient across that axis [-]; default: the same as along it."""
    at_rest: Number = 1
    """Coefficient of static friction as a multiple of that of sliding friction [-]; at least 1."""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Coefficients are not negative, and static friction is not below sliding friction."""
        for field in ("along", "across"):
            given = getattr(self, field)
            if given is not None and value(given) < 0:
                yield (field,), f"a coefficient of friction must not be negative, but it is {value(given):g}", ""
        if value(self.at_rest) < 1:
            text = f"at_rest must be 1 or more, but it is {value(self.at_rest):g}"
            yield ("at_rest",), text, "static friction is the larger one"


class Contact(Repeated):
    """Contact forces between parts that overlap, with friction.

    Bodies touch with their `shape`, surfaces with their geometry, meshes with their triangles and edges (as thick as
    their section; blocks end at their outermost nodes). Rods are straight between the stations of their model: rods
    with rectangular or polygonal sections are prisms whose edges have a radius of a tenth of their thickness, all
    others are round, of half their smaller width, with hemispherical ends beyond their tips. Touching pairs are
    detected automatically. The normal force is `stiffness * depth^exponent * (1 + dissipation * rate of depth)`,
    never negative. Friction is Coulomb friction with sticking: sticking surfaces are connected by a spring with the
    tangential stiffness of contacts between elastic bodies, which slips when its force reaches the friction limit.
    """

    between: Annotated[tuple[Things, ...], OneOrList(), Field(min_length=1, max_length=2)]
    """The parts that can touch: `[finger, ball]`, `[[finger, thumb], ball]` for any of the first with any of the
    second, `rope` for self-contact, `all` for all parts with each other and with themselves. Parts that are fixed to
    the same frame, or whose frames are connected by a joint, the base of a rod or a constraint, do not touch each
    other; surfaces of the world touch all parts."""
    stiffness: Value | None = None
    """Normal force per depth to the power of `exponent` [N/m for exponent 1]: for a ball, a corner, a crossing of two
    rods, and for each piece of a rod that is as long as it is thick. Default: from the materials and radii of the
    parts; parts without a material are rigid."""
    exponent: Number = 1
    """Power of the depth [-]: 1 linear, 1.5 as between balls (Hertz)."""
    dissipation: Slowness = "50 s/m"
    """Relative increase of the normal force per rate of depth [s/m]."""
    restitution: Number | None = None
    """Coefficient of restitution, the ratio of the speeds after and before an impact [-], above 0 up to 1, instead of
    `dissipation`."""
    friction: Friction = Friction(along=0)
    """Coefficient of friction [-], or several."""
    tangential_stiffness: Number = "=2/3"
    """Tangential stiffness of sticking surfaces relative to the normal stiffness [-]."""
    description: str = ""
    """Description for readers."""

    example: ClassVar[str] = """\
pliant: 1
bodies:
  block: {mass: 1 kg, shape: {type: sphere, radius: 2 cm}}
joints:
  flight: {type: free, child: block, z: {initial: 2 cm}, x: {rate: 1 m/s}}
surfaces:
  floor: {type: plane}
contacts:
  ground: {between: [block, floor], friction: 0.3, stiffness: 20 kN/m}
"""

    def dimension(self, path: KeyPath, value: Callable[[Scalar], float]) -> Dimension | None:
        """The stiffness's dimension depends on the exponent."""
        if path != ("stiffness",):
            return None
        return FORCE / LENGTH ** Fraction(value(self.exponent)).limit_denominator(1000)

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Values within their ranges."""
        given = ("stiffness",) if self.stiffness is not None else ()
        yield from positive(self, value, *given, "exponent", "tangential_stiffness")
        if value(self.dissipation) < 0:
            yield ("dissipation",), f"dissipation must not be negative, but it is {value(self.dissipation):g} s/m", ""
        if self.restitution is not None and not 0 < value(self.restitution) <= 1:
            text = f"restitution must be above 0 and up to 1, but it is {value(self.restitution):g}"
            yield ("restitution",), text, "for impacts without rebound raise `dissipation`"

    def apply(self, build: Build, name: str) -> None:
        """Add the law between the shapes of all listed parts."""
        things = [parts_named(build, names) for names in self.between]
        _check_rods(build, name, things)
        sides = [[shape for thing in group for shape in shapes_of(build, thing)] for group in things]
        exclude_joined(build, things[0], things[-1])
        if not can_touch(build, sides[0], sides[-1]):
            raise SpecError([Fault(*_why_not(things), f"contacts.{name}.between")])
        if are_thin(build, [*sides[0], *sides[-1]]):
            names = " and ".join(", ".join(group) for group in things)
            message = f"{names} have no thickness: lines and points never meet"
            raise SpecError([Fault(message, "give one of them a radius", f"contacts.{name}.between")])
        stiffness = default_stiffness(build, things) if self.stiffness is None else build.value(self.stiffness)
        along = build.value(self.friction.along)
        numbers = LawNumbers(
            stiffness,
            build.value(self.exponent),
            build.value(self.dissipation) if self.restitution is None else 0.0,
            0.0 if self.restitution is None else self._impact(build, name),
            build.value(self.tangential_stiffness),
            along,
            along if self.friction.across is None else build.value(self.friction.across),
            build.value(self.friction.at_rest),
            *slow_and_recent([build.value(x) for x in build.robot.world.gravity], smallest_radius(build, things)),
        )
        build.system.contacts.law(name, sides[0], sides[-1], build.system.constants(numbers.entries()))

    def _impact(self, build: Build, name: str) -> float:
        """The impact number of the restitution. It is computed once: derived equations reject other values."""
        assert self.restitution is not None, "used only if it is given"
        restitution = build.value(self.restitution)
        found = build.nominal(restitution)
        message, hint = "restitution cannot be changed in derived equations", "load the model again with set={...}"
        build.require(1e-12 - ca.fabs(restitution - found), f"contacts.{name}.restitution", message, hint)
        return impact_number(found)


def _check_rods(build: Build, name: str, things: list[list[str]]) -> None:
    """Reject rods whose models have no stations, between which the surface of a rod extends."""
    for rod in (thing for group in things for thing in group if thing in build.robot.rods):
        if rod not in build.stations:
            kind = build.robot.rods[rod].model.kind
            message = (
                f"rods of the model '{kind}' cannot touch: it is for small displacements, and '{rod}' has no surface"
            )
            raise SpecError(
                [Fault(message, "choose another model of the rod, such as pcs", f"contacts.{name}.between")]
            )


def _why_not(things: list[list[str]]) -> tuple[str, str]:
    """Why these parts cannot touch, and a hint."""
    if len({thing for group in things for thing in group}) == 1:
        return f"'{things[0][0]}' is one rigid piece and cannot touch itself", "give two parts, such as [ball, floor]"
    if not things[0] or not things[-1]:
        return "no part can touch another", "give bodies a `shape`, or add `surfaces`"
    names = " and ".join(", ".join(group) for group in things)
    return (
        f"{names} cannot touch: they are fixed to the same frame, or a joint, a rod's base or a constraint joins them",
        "use parts that move relative to each other",
    )
