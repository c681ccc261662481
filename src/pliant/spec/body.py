"""Rigid bodies: mass, centre of mass, inertia (given or from a shape) and named frames."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from pliant.spec.base import ByKey, ByType, Part, fault
from pliant.spec.names import MaterialName, Name
from pliant.spec.placement import AxisLetter, Placement, Rotations
from pliant.spec.scalar import Count, Length, LengthVector, Mass, MomentOfInertia

InertiaRow: TypeAlias = tuple[MomentOfInertia, MomentOfInertia, MomentOfInertia]


class InertiaMatrix(Part):
    """Inertia about the centre of mass in the body's axes, as a symmetric matrix."""

    matrix: tuple[InertiaRow, InertiaRow, InertiaRow]
    """Three rows of three [kg m^2]; off the diagonal stand the negative products of inertia."""


class PrincipalInertia(Part):
    """Inertia about the centre of mass by its principal values."""

    principal: InertiaRow
    """The principal values [kg m^2]."""
    rotation: Rotations = ()
    """Rotation from the body's axes to the principal axes; otherwise they are the body's axes."""


Inertia: TypeAlias = Annotated[InertiaMatrix | PrincipalInertia, ByKey("inertia")]


class SlenderRod(Part):
    """A thin uniform rod: no inertia about its own axis."""

    type: Literal["slender_rod"] = "slender_rod"
    length: Length
    """Length along the axis [m]."""
    axis: AxisLetter = "x"
    """Body axis that it lies along."""


class Cylinder(Part):
    """A solid cylinder."""

    type: Literal["cylinder"] = "cylinder"
    radius: Length
    """Radius [m]."""
    length: Length
    """Length along the axis [m]."""
    axis: AxisLetter = "z"
    """Body axis that it lies along."""


class Tube(Part):
    """A hollow cylinder."""

    type: Literal["tube"] = "tube"
    outer_radius: Length
    """Outer radius [m]."""
    inner_radius: Length
    """Inner radius, smaller than the outer one [m]."""
    length: Length
    """Length along the axis [m]."""
    axis: AxisLetter = "z"
    """Body axis that it lies along."""


class Box(Part):
    """A solid box."""

    type: Literal["box"] = "box"
    size: LengthVector
    """Whole edge lengths along the body's x, y, z [m]."""


class Sphere(Part):
    """A solid ball."""

    type: Literal["sphere"] = "sphere"
    radius: Length
    """Radius [m]."""


Shape: TypeAlias = Annotated[SlenderRod | Cylinder | Tube | Box | Sphere, ByType("shape")]


class Body(Part):
    """A rigid body. Its own frame is where its joint holds it; inertia is about the centre of mass.

    With a shape and no inertia, the inertia is that of the uniform shape, centred at the centre of mass. With
    a shape, a material and no mass, the mass is density times volume. A body with none of these is massless.
    """

    mass: Mass | None = None
    """Mass [kg]; otherwise from shape and material, or zero."""
    center_of_mass: LengthVector = (0, 0, 0)
    """Centre of mass in the body's frame [m]."""
    inertia: Inertia | None = None
    """Inertia about the centre of mass; otherwise that of the shape, or zero (a point mass)."""
    shape: Shape | None = None
    """Uniform shape centred at the centre of mass: slender_rod, cylinder, tube, box or sphere."""
    material: MaterialName | None = None
    """Material by name; with a shape its density gives the mass."""
    frames: dict[Name, Placement] = Field(default_factory=dict)
    """Named frames of the body, by name: where each sits in the body's own frame."""
    count: Count | None = None
    """Number of instances of a repeated body; its values may then use `i` (1, 2, ...), `count` and `each`."""
    description: str = ""
    """What a reader should know about it."""

    example: ClassVar[str] = """\
pliant: 1
materials:
  aluminium: {density: 2700 kg/m^3}
bodies:
  forearm:
    shape: {type: tube, outer_radius: 20 mm, inner_radius: 18 mm, length: 30 cm, axis: x}
    material: aluminium                # the mass follows from shape and density
    center_of_mass: [15 cm, 0, 0]
    frames:
      wrist: {position: [30 cm, 0, 0], rotation: {axis: y, angle: 90 deg}}
  hand:
    mass: 250 g
    inertia: {principal: [2e-4, 2e-4, 1e-4 kg*m^2]}
joints:
  elbow: {type: revolute, child: forearm, axis: y}
  wrist: {type: universal, parent: forearm.wrist, child: hand}
"""

    @model_validator(mode="after")
    def _mass_known(self) -> Self:
        if self.mass is None and self.inertia is not None:
            message = "the body has an inertia but no mass"
            raise fault("no_mass", message, hint="add `mass`", key="inertia")
        if self.mass is None and (self.shape is None) != (self.material is None):
            missing = "material" if self.material is None else "shape"
            message = (
                f"the mass of the body is unknown: it has no `mass`, and no `{missing}` to compute it from"
            )
            raise fault("no_mass", message, hint=f"add `mass` or `{missing}`")
        if self.mass is None and isinstance(self.shape, SlenderRod):
            message = "a slender rod has no volume, so density gives it no mass"
            raise fault("no_mass", message, hint="add `mass`, or use a cylinder or a tube", key="shape")
        return self
