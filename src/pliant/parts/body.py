"""Rigid bodies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

import casadi as ca
import numpy as np
from pydantic import Field, model_validator

from pliant.language.base import ByKey, ByType, Framed, Part, Problem, fault, positive
from pliant.language.message_text import KeyPath
from pliant.language.names import FrameName, MaterialName, Name, RodName
from pliant.language.placement import AxisLetter, Placement, Rotations
from pliant.language.scalar import Length, LengthVector, Mass, MomentOfInertia, Repeated, Scalar
from pliant.parts.assembly.build import Build
from pliant.parts.field import hydrodynamics
from pliant.parts.field.body import BodyFluid
from pliant.parts.field.hydrodynamics import Hull
from pliant.parts.field.medium import Medium
from pliant.parts.section.material import Material

InertiaRow: TypeAlias = tuple[MomentOfInertia, MomentOfInertia, MomentOfInertia]


class InertiaMatrix(Part):
    """Inertia about the centre of mass in the body's axes, as a symmetric matrix."""

    matrix: tuple[InertiaRow, InertiaRow, InertiaRow]
    """Three rows of three [kg m^2]; off-diagonal entries are the negative products of inertia."""


class PrincipalInertia(Part):
    """Inertia about the centre of mass by its principal values."""

    principal: InertiaRow
    """The principal values [kg m^2]."""
    rotation: Rotations = ()
    """Rotation from the body's axes to the principal axes; default: none."""


Inertia: TypeAlias = Annotated[InertiaMatrix | PrincipalInertia, ByKey("inertia")]


def _about(axis: AxisLetter, along: Any, across: Any) -> tuple[Any, Any, Any]:
    """Values about x, y, z of a shape with an axis: `along` about that one, `across` about the others."""
    x, y, z = (along if letter == axis else across for letter in "xyz")
    return x, y, z


class SlenderRod(Part):
    """A thin uniform rod: no inertia about its own axis."""

    type: Literal["slender_rod"] = "slender_rod"
    length: Length
    """Length along the axis [m]."""
    axis: AxisLetter = "x"
    """Body axis along its length."""

    def volume(self, value: Callable[[Scalar], Any]) -> Any:
        """Volume [m^3]."""
        return 0.0

    def hull(self, value: Callable[[Scalar], Any], inside: str) -> Hull | None:
        """What a fluid acts on: nothing, as it has no thickness."""
        return None

    def gyration(self, value: Callable[[Scalar], Any]) -> tuple[Any, Any, Any]:
        """Squared radii of gyration about the body's axes through the centre [m^2]."""
        return _about(self.axis, 0.0, value(self.length) ** 2 / 12)

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Sizes are above zero."""
        yield from positive(self, value, "length")


class Cylinder(Part):
    """A solid cylinder."""

    type: Literal["cylinder"] = "cylinder"
    radius: Length
    """Radius [m]."""
    length: Length
    """Length along the axis [m]."""
    axis: AxisLetter = "z"
    """Body axis along its length."""

    def volume(self, value: Callable[[Scalar], Any]) -> Any:
        """Volume [m^3]."""
        return math.pi * value(self.radius) ** 2 * value(self.length)

    def hull(self, value: Callable[[Scalar], Any], inside: str) -> Hull | None:
        """What a fluid acts on."""
        return hydrodynamics.cylinder(value(self.radius), value(self.length), "xyz".index(self.axis))

    def gyration(self, value: Callable[[Scalar], Any]) -> tuple[Any, Any, Any]:
        """Squared radii of gyration about the body's axes through the centre [m^2]."""
        square = value(self.radius) ** 2
        return _about(self.axis, square / 2, square / 4 + value(self.length) ** 2 / 12)

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Sizes are above zero."""
        yield from positive(self, value, "radius", "length")


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
    """Body axis along its length."""

    def volume(self, value: Callable[[Scalar], Any]) -> Any:
        """Volume [m^3]."""
        return math.pi * (value(self.outer_radius) ** 2 - value(self.inner_radius) ** 2) * value(self.length)

    def hull(self, value: Callable[[Scalar], Any], inside: str) -> Hull | None:
        """What a fluid acts on: a cylinder, or its wall with the fluid in it."""
        length, axis = value(self.length), "xyz".index(self.axis)
        outer = hydrodynamics.cylinder(value(self.outer_radius), length, axis)
        return outer if inside == "closed" else hydrodynamics.flooded(outer, value(self.inner_radius), length, axis)

    def gyration(self, value: Callable[[Scalar], Any]) -> tuple[Any, Any, Any]:
        """Squared radii of gyration about the body's axes through the centre [m^2]."""
        squares = value(self.outer_radius) ** 2 + value(self.inner_radius) ** 2
        return _about(self.axis, squares / 2, squares / 4 + value(self.length) ** 2 / 12)

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Sizes are above zero."""
        yield from positive(self, value, "outer_radius", "length")
        if not 0 <= value(self.inner_radius) < value(self.outer_radius):
            text = f"inner_radius must be between 0 and outer_radius, but it is {value(self.inner_radius):g} m"
            yield ("inner_radius",), text, ""


class Box(Part):
    """A solid box."""

    type: Literal["box"] = "box"
    size: LengthVector
    """Edge lengths along the body's x, y, z [m]."""

    def volume(self, value: Callable[[Scalar], Any]) -> Any:
        """Volume [m^3]."""
        return value(self.size[0]) * value(self.size[1]) * value(self.size[2])

    def hull(self, value: Callable[[Scalar], Any], inside: str) -> Hull | None:
        """What a fluid acts on."""
        return hydrodynamics.box([value(edge) for edge in self.size])

    def gyration(self, value: Callable[[Scalar], Any]) -> tuple[Any, Any, Any]:
        """Squared radii of gyration about the body's axes through the centre [m^2]."""
        x, y, z = (value(edge) ** 2 / 12 for edge in self.size)
        return y + z, x + z, x + y

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Sizes are above zero."""
        for index, entry in enumerate(self.size):
            if value(entry) <= 0:
                yield (("size", index), f"a box needs three edges above zero, but one is {value(entry):g} m", "")


class Sphere(Part):
    """A solid sphere."""

    type: Literal["sphere"] = "sphere"
    radius: Length
    """Radius [m]."""

    def volume(self, value: Callable[[Scalar], Any]) -> Any:
        """Volume [m^3]."""
        return 4 / 3 * math.pi * value(self.radius) ** 3

    def hull(self, value: Callable[[Scalar], Any], inside: str) -> Hull | None:
        """What a fluid acts on."""
        return hydrodynamics.sphere(value(self.radius))

    def gyration(self, value: Callable[[Scalar], Any]) -> tuple[Any, Any, Any]:
        """Squared radii of gyration about the body's axes through the centre [m^2]."""
        square = 0.4 * value(self.radius) ** 2
        return square, square, square

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Sizes are above zero."""
        yield from positive(self, value, "radius")


class Ellipsoid(Part):
    """A solid ellipsoid."""

    type: Literal["ellipsoid"] = "ellipsoid"
    semi_axes: LengthVector
    """Half its extents along the body's x, y, z [m]."""

    def volume(self, value: Callable[[Scalar], Any]) -> Any:
        """Volume [m^3]."""
        a, b, c = map(value, self.semi_axes)
        return 4 / 3 * math.pi * a * b * c

    def hull(self, value: Callable[[Scalar], Any], inside: str) -> Hull | None:
        """What a fluid acts on."""
        return hydrodynamics.ellipsoid([value(axis) for axis in self.semi_axes])

    def gyration(self, value: Callable[[Scalar], Any]) -> tuple[Any, Any, Any]:
        """Squared radii of gyration about the body's axes through the centre [m^2]."""
        x, y, z = (value(axis) ** 2 / 5 for axis in self.semi_axes)
        return y + z, x + z, x + y

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Sizes are above zero."""
        for index, axis in enumerate(self.semi_axes):
            if value(axis) <= 0:
                text = f"an ellipsoid needs three semi-axes above zero, but one is {value(axis):g} m"
                yield ("semi_axes", index), text, ""


Shape: TypeAlias = Annotated[SlenderRod | Cylinder | Tube | Box | Sphere | Ellipsoid, ByType("shape")]


class BodyFrame(Placement, Repeated):
    """A named frame of a body: its placement in the body's own frame."""

    @model_validator(mode="before")
    @classmethod
    def _of_placement(cls, data: Any) -> Any:
        """In Python a `Placement` is equivalent."""
        if type(data) is Placement:
            return {name: getattr(data, name) for name in data.model_fields_set}
        return data


class Along(Part):
    """A position along a rod: `along: backbone`, `along: {rod: backbone, at: =2 cm*i}`."""

    short_form: ClassVar[str | None] = "rod"

    rod: RodName
    """The rod."""
    at: Length | None = None
    """Arc length from its base [m]; default: instances are placed at equal distances, the last one at the tip."""


class Body(Framed, Placement, Repeated):
    """A rigid body. Its frame is located at its joint; inertia is about the centre of mass.

    With `parent` or `along` it needs no joint: it is welded there, placed by `position` and `rotation`; the weld has
    the body's name.

    With a shape and no inertia, the inertia is that of the uniform shape, centred at the centre of mass. With
    a shape, a material and no mass, the mass is density times volume. A body with none of these is massless.
    """

    mass: Mass | None = None
    """Mass [kg]; default: from shape and material, or zero."""
    center_of_mass: LengthVector = (0, 0, 0)
    """Centre of mass in the body's frame [m]."""
    inertia: Inertia | None = None
    """Inertia about the centre of mass; default: that of the shape, or zero (a point mass)."""
    shape: Shape | None = None
    """Uniform shape centred at the centre of mass: slender_rod, cylinder, tube, box, sphere or ellipsoid."""
    material: MaterialName | None = None
    """Material by name; with a shape its density gives the mass."""
    fluid: BodyFluid | None = None
    """What the fluid of the `world` does to it, if it differs from what its shape says."""
    parent: FrameName | None = None
    """Frame that a body without a joint is fixed to."""
    along: Along | None = None
    """Rod that a body without a joint is fixed to: `backbone`, or `{rod: backbone, at: 5 cm}`."""
    frames: dict[Name, BodyFrame] = Field(default_factory=dict)
    """Named frames of the body, by name: the placement of each in the body's frame."""
    description: str = ""
    """Description for readers."""

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

    def total_mass(self, value: Callable[[Scalar], Any], materials: Mapping[str, Material]) -> Any:
        """Mass [kg]: given, or density times volume, or zero; a number or a symbolic expression."""
        if self.mass is not None:
            return value(self.mass)
        density = materials[self.material].density if self.material is not None else None
        if self.shape is None or density is None:
            return 0.0
        return value(density) * self.shape.volume(value)

    def immerse(self, build: Build, name: str, medium: Medium) -> None:
        """Add what a fluid does to the body, to its shape around the centre of mass."""
        fluid = self.fluid or BodyFluid()
        hull = None if self.shape is None else self.shape.hull(build.value, fluid.inside)
        center = ca.vertcat(*map(build.value, self.center_of_mass))
        fluid.apply(build, name, hull, (ca.DM.eye(3), center), medium)

    def frame_names(self) -> tuple[str, ...]:
        """Names of its frames besides its own."""
        return tuple(self.frames)

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Mass and principal moments of inertia are not negative; an inertia matrix is symmetric."""
        if self.mass is not None and value(self.mass) < 0:
            yield ("mass",), f"the mass cannot be negative, but it is {value(self.mass):g} kg", ""
        if isinstance(self.inertia, PrincipalInertia):
            yield from _inertia_problems(self.principal_moments(value), ("principal",))
        elif self.inertia is not None:
            matrix = [[value(entry) for entry in row] for row in self.inertia.matrix]
            scale = max(abs(entry) for row in matrix for entry in row)
            if any(abs(matrix[i][j] - matrix[j][i]) > 1e-9 * scale for i, j in ((0, 1), (0, 2), (1, 2))):
                yield (("inertia", "matrix"), "the inertia matrix is not symmetric", "mirror it at the diagonal")
            else:
                yield from _inertia_problems(self.principal_moments(value), ("matrix",))

    def principal_moments(self, value: Callable[[Scalar], float]) -> list[float]:
        """Principal moments of the given inertia [kg m^2]; empty if none is given."""
        if isinstance(self.inertia, PrincipalInertia):
            return [value(entry) for entry in self.inertia.principal]
        return _eigenvalues([[value(entry) for entry in row] for row in self.inertia.matrix]) if self.inertia else []

    @model_validator(mode="after")
    def _held_once(self) -> Self:
        if self.parent is not None and self.along is not None:
            message = "`parent` and `along` both define where the body is fixed"
            raise fault("overdetermined", message, hint="keep one of them", key="along")
        placed = [key for key in ("position", "rotation", "mirror", "around") if key in self.model_fields_set]
        if placed and self.parent is None and self.along is None:
            hint = "add `parent: world` to fix it there, or place its joint; `center_of_mass` moves the shape"
            raise fault(
                "not_held", f"`{placed[0]}` applies to bodies with `parent` or `along`", hint=hint, key=placed[0]
            )
        return self

    @model_validator(mode="after")
    def _mass_known(self) -> Self:
        if self.mass is None and self.inertia is not None:
            message = "the body has an inertia but no mass"
            raise fault("no_mass", message, hint="add `mass`", key="inertia")
        if self.mass is None and (self.shape is None) != (self.material is None):
            missing = "material" if self.material is None else "shape"
            message = f"the mass of the body is unknown: it has no `mass`, and no `{missing}` to compute it from"
            raise fault("no_mass", message, hint=f"add `mass` or `{missing}`")
        if self.mass is None and isinstance(self.shape, SlenderRod):
            message = "a slender rod has no volume, so density gives it no mass"
            raise fault("no_mass", message, hint="add `mass`, or use a cylinder or a tube", key="shape")
        return self


def _inertia_problems(principal: list[float], place: KeyPath) -> Iterator[Problem]:
    """Principal moments are not negative."""
    if min(principal) < -1e-9 * max(map(abs, principal)):
        shown = ", ".join(f"{moment:.4g}" for moment in principal)
        message = f"a moment of inertia cannot be negative; the principal ones are {shown} kg*m^2"
        yield ("inertia", *place), message, ""


def _eigenvalues(matrix: list[list[float]]) -> list[float]:
    return [float(moment) for moment in np.linalg.eigvalsh(np.array(matrix))]
