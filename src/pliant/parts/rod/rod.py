"""A rod in the language: its placement, material, section and rod model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeAlias

import casadi as ca
from pydantic import Field, GetCoreSchemaHandler, PrivateAttr, StrictBool, model_validator
from pydantic_core import CoreSchema, core_schema

from pliant.language.base import DRIVES, PUSHES_AWAY, Framed, OneOrList, Part, Problem, fault, positive
from pliant.language.dimension import CURVATURE, FORCE, NUMBER, RATE, TIME, TORQUE, Dimension
from pliant.language.evaluate import depends_on_state
from pliant.language.message_text import KeyPath
from pliant.language.names import FrameName, MaterialName, Name, SectionName
from pliant.language.placement import Placement
from pliant.language.scalar import Frequency, Length, Number, Repeated, Scalar, StateNumber, Time, Value
from pliant.parts.assembly.build import Build
from pliant.parts.field.rod import RodFluid
from pliant.parts.formula.base import Effect, FrameForce
from pliant.parts.formula.relative import ENDS, relative_force
from pliant.parts.motion import Fields
from pliant.parts.rod import KINDS, RodModel
from pliant.parts.rod.chamber import Chamber
from pliant.parts.rod.pcs import Pcs
from pliant.parts.rod.properties import rod_properties
from pliant.parts.rod.section_law import LawName, joins_pieces
from pliant.parts.rod.shape import Shape, winding_problem
from pliant.parts.rod.stations import is_on_rod
from pliant.parts.rod.strains import ALL, IN_PLANE, LABELS, Free, Strains, free_strains, named

if TYPE_CHECKING:
    from pliant.parts.rod.properties import RodProperties


Mode = Annotated[int, Field(ge=1, le=50, strict=True)]


class Rayleigh(Part):
    """Rayleigh damping with a given ratio of two modes of a rod: forces `alpha` times mass and `beta` times stiffness.

    It acts only on the rod's deformation: on velocities relative to its base section, and on strain rates. Rigid-body motions
    of the rod are not damped. With `ratio` z at the frequencies w1 and w2 [rad/s], alpha = 2 z w1 w2 / (w1 + w2) and
    beta = 2 z / (w1 + w2); modes between them have less than z, modes outside more.
    """

    above_zero, not_below_zero = ("frequencies",), ("ratio", "alpha", "beta")

    ratio: Number | None = None
    """Damping ratio of both modes [-]."""
    modes: tuple[Mode, Mode] | None = None
    """The two modes, counted from 1: of the isolated rod, clamped at its base and free at its tip. Their frequencies, and
    with them `alpha` and `beta`, follow the parameters of the model."""
    frequencies: tuple[Frequency, Frequency] | None = None
    """Instead of `modes`: the two frequencies [Hz]."""
    alpha: Frequency | None = None
    """Instead of a ratio: factor on the mass [1/s]."""
    beta: Time | None = None
    """Instead of a ratio: factor on the stiffness [s]."""

    _followed: ca.Function | None = PrivateAttr(default=None)

    def at_frequencies(self, found: Sequence[float], followed: ca.Function | None) -> Self:
        """The same damping with the frequencies [Hz] of its modes, `found` at the model's own parameters. followed: the frequencies
        of all these modes as a function of the parameters; None if they do not depend on them."""
        assert self.modes is not None, "used for damping at modes only"
        first, second = self.modes
        copy = self.model_copy(update={"modes": None, "frequencies": (found[first - 1], found[second - 1])})
        if followed is not None:
            p = ca.SX.sym("p", followed.numel_in(0))
            values = followed(p)
            copy._followed = ca.Function("frequencies", [p], [values[first - 1], values[second - 1]])
        return copy

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        direct = self.alpha is not None or self.beta is not None
        if direct and (self.ratio is not None or self.modes is not None or self.frequencies is not None):
            message = "Rayleigh damping is given by a ratio at two modes, or by alpha and beta, not both"
            raise fault(
                "two_ways", message, hint="keep one of the two", key="alpha" if self.alpha is not None else "beta"
            )
        if not direct and (self.ratio is None or (self.modes is None) == (self.frequencies is None)):
            message = "Rayleigh damping needs a ratio and the two modes or frequencies that have it"
            raise fault("no_way", message, hint="write {ratio: 0.02, modes: [1, 2]}, or give alpha and beta")
        if self.modes is not None and self.modes[0] == self.modes[1]:
            raise fault("same_modes", "the two modes are the same", hint="give two different ones", key="modes")
        return self

    def factors(self, build: Build) -> tuple[Any, Any]:
        """alpha [1/s] and beta [s]."""
        if self.ratio is None:
            return tuple(0.0 if x is None else build.value(x) for x in (self.alpha, self.beta))  # type: ignore[return-value]
        assert self.frequencies is not None, "computed from the modes before the robot is built"
        given = map(build.value, self.frequencies) if self._followed is None else self._followed(build.parameters)
        first, second = (2 * ca.pi * x for x in given)
        ratio = build.value(self.ratio)
        return 2 * ratio * first * second / (first + second), 2 * ratio / (first + second)


def add_drag(build: Build, rod: RodProperties) -> None:
    """Forces `mass_damping` times mass against velocities relative to the base section, on all pieces of the rod."""
    base = build.pose_entries(rod.placement)
    pieces = build.rod_pieces(rod.name)
    if not pieces:
        raise ValueError(
            f"the model of the rod '{rod.name}' has no pieces of mass for Rayleigh damping by mass (alpha)"
        )
    for piece in pieces:
        if piece.node == rod.node:
            continue
        weight = rod.mass_damping * piece.length * rod.section(piece.x).mass
        constants = [*base, *build.pose_entries(piece.placement), weight]
        build.system.frame_force(relative_drag(), [rod.node, piece.node], constants, 0, rod.name)


@cache
def relative_drag() -> FrameForce:
    """Drag of a point against its velocity relative to a frame, on which the opposite wrench acts."""
    fields = ENDS + Fields("drag")

    def law(place: Any, rate: Any, c: Any, signal: Any) -> Effect:
        force = -fields.read(c).drag * rate
        return Effect(force, 0.0, -ca.dot(force, rate))

    return relative_force("relative_drag", constants=fields.size, signals=0, deformation=lambda p, alpha, c: p, law=law)


Sections: TypeAlias = Annotated[tuple[SectionName, ...], Field(min_length=1), OneOrList()]
Materials: TypeAlias = Annotated[tuple[MaterialName, ...], OneOrList()]
SixValues: TypeAlias = Annotated[tuple[Value, Value, Value, Value, Value, Value], OneOrList(6)]
SixFactors: TypeAlias = Annotated[
    tuple[StateNumber, StateNumber, StateNumber, StateNumber, StateNumber, StateNumber], OneOrList(6)
]
SixNumbers: TypeAlias = Annotated[tuple[Number, Number, Number, Number, Number, Number], OneOrList(6)]


class OneOrStations(OneOrList):
    """Annotation of a list of lists of values, whose only entry may be given without the list, and that as a single value."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def as_stations(data: Any) -> Any:
            one = (
                data is None or not isinstance(data, list | tuple) or not any(isinstance(x, list | tuple) for x in data)
            )
            return (data,) if one else data

        return core_schema.no_info_before_validator_function(as_stations, handler(source))


Dampings: TypeAlias = Annotated[tuple[SixValues, ...], Field(min_length=1), OneOrStations()]


class RodFrame(Repeated):
    """A frame of the rod's section at an arc length. A bare value is the arc length."""

    short_form: ClassVar[str | None] = "at"

    at: Length
    """Arc length from the base [m]."""


class Rod(Framed, Placement, Repeated):
    """A slender soft part that bends, twists, shears and stretches. Its z axis is its tangent.

    Its base is placed in the parent frame by `position` and `rotation`. Its frames are `rod` (the base),
    `rod.tip` (the end) and those named in `frames`; joints, links, loads, constraints and other rods can use them.
    """

    odd_below_zero: ClassVar[Mapping[str, str]] = {"stiffness_factors": PUSHES_AWAY, "damping": DRIVES}

    parent: FrameName = "world"
    """Frame that the rod's base is fixed to."""
    first_parent: FrameName | None = None
    """Parent of the first instance, if the rod is repeated and its parent is the previous instance."""
    length: Length
    """Undeformed length [m]."""
    section: Sections
    """Cross-section by name, or a list for equal distances from base to tip, with stiffness and inertia interpolated
    in between (taper). A section of shape `table` gives the arc length of each."""
    material: Materials = ()
    """Material by name, or a list for equal distances from base to tip; it needs density, Young's modulus, and Poisson's
    ratio or shear modulus. Sections of shape `stiffness` need none."""
    shape: Shape | None = None
    """The initial shape, if it is not straight."""
    stress_free: StrictBool = True
    """Whether the initial shape is free of stress. Otherwise `rest` gives the stress-free strains: a straight rod
    that is bent into its shape has `stress_free: false` and no `rest`."""
    law: LawName = "linear"
    """Constitutive law for large strains: linear; incompressible, so that the rod thins when it is stretched:
    neo-Hookean (`neo_hookean`), Mooney-Rivlin (`mooney_rivlin`, with `mooney_ratio` of its material), Gent (`gent`,
    with `gent_limit`) or Ogden (`ogden`, with `ogden_terms`); or the published update of stiffness (`mean_stretch`):
    with the mean stretch x of the entire rod, radii shrink by 1/sqrt(x), E and G by 1/x, lengths grow by x, and
    chambers keep their radius. The incompressible laws are summed over the fibres of the section, whose outline must be
    known (with a section given by numbers, bends are of second order), and are of second order in shear and twist. The
    update is a formula of the present strains, which is what updating between ever shorter steps comes to; it joins all
    pieces of the rod, and has no stored energy, so what it puts in counts as supplied."""
    strains: Strains | None = None
    """The free strains, by name, or keywords for sets of them; default: all six. The others keep their initial values
    and have neither states nor stiffness, and forces along them do no work. `planar` (or `planar_xz`) is shear_x,
    stretch and bend_y, `planar_yz` shear_y, stretch and bend_x; `unshearable` is all but the shears, `inextensible`
    all but stretch, `kirchhoff` both of these: bend_x, bend_y and twist. With several keywords the strains common to
    all of them are free: `[planar, unshearable]` is stretch and bend_y. The models `pcs`, `pseudo_rigid` and `gvs`
    take any; `cosserat`, `finite_element` and `timoshenko` take `planar`, and their sections then move in the plane
    of the base's axes as these stand at the start, which what carries the base must not leave; `polynomial` takes
    `planar`, in the plane of the base's present axes; `pcc` and `pcc_cog` take those of stretch, bend_x and bend_y."""
    stiffness_factors: SixFactors = (1,) * 6
    """Factors on the stiffness of the six strains shear-x, shear-y, stretch, bend-x, bend-y, twist [-]. To remove a
    strain omit it from `strains`; a large factor would make the equations stiff. With the linear law they may depend
    on the strains `shear_x`, `shear_y`, `stretch` [-], `bend_x`, `bend_y`, `twist` [1/m]: `=1 + 4*stretch^2`. The
    force along a strain is then its factor times its stiffness times the strain from rest."""
    rest: SixValues = (0,) * 6
    """Stress-free strains: three [-], three [1/m]. A rod without `shape` starts with them if it is `stress_free`."""
    damping: Dampings = ((0,) * 6,)
    """Damping of the six strain rates [N s, N m^2 s for power 1]: one value for all, six, or a list of those for equal
    distances from base to tip."""
    damping_power: SixNumbers = (1,) * 6
    """Power of the strain rates, one for all or six [-]."""
    rayleigh: Rayleigh | None = None
    """Rayleigh damping of its deformation by mass and stiffness, in addition to `damping`; its power is 1."""
    initial: dict[str, Value] = Field(default_factory=dict)
    """Initial values of coordinates of its model, by name, if they differ from those of its shape: `bend_x[2]` for a
    strain of a segment [1/m], `section[3].x` for the position of a section [m]. `pliant show MODEL` lists them."""
    rates: dict[str, Value] = Field(default_factory=dict)
    """Initial rates of coordinates of its model, by name."""
    chambers: dict[Name, Chamber] = Field(default_factory=dict)
    """Pneumatic chambers by name."""
    fluid: RodFluid | None = None
    """What the fluid of the `world` does to it, if it differs from what its sections say."""
    frames: dict[Name, RodFrame] = Field(default_factory=dict)
    """Named frames along the rod, by name: the arc length of each [m]."""
    model: RodModel = Pcs()
    """The rod model and its resolution; default: `pcs` with 5 elements."""
    description: str = ""
    """Description for readers."""

    example: ClassVar[str] = """\
pliant: 1
sections:
  wire: {shape: circle, radius: 5 mm}
materials:
  rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}
rods:
  arm: {length: 30 cm, section: wire, material: rubber, model: {kind: pcs, elements: 8}}
bodies:
  camera: {mass: 20 g}
joints:
  mount: {type: weld, parent: arm.tip, child: camera}
"""

    def frame_names(self) -> tuple[str, ...]:
        return ("tip", *self.frames)

    def state_names(self) -> Mapping[str, Dimension]:
        """Its six strains."""
        return dict(zip(LABELS, (NUMBER,) * 3 + (CURVATURE,) * 3, strict=True))

    @model_validator(mode="after")
    def _one_rest(self) -> Self:
        if self.shape is not None and self.stress_free and "rest" in self.model_fields_set:
            message = "`shape` and `rest` both define the stress-free shape"
            raise fault("two_rests", message, hint="remove `rest`, or add `stress_free: false`", key="rest")
        return self

    def free_strains(self) -> Free:
        """The free strains, as supported by its model."""
        return self.model.takes(free_strains(self.strains))

    def _strain_problems(self) -> Iterator[Problem]:
        """Check that some strain is free, and that the model supports fixing the others."""
        if self.strains is None:
            return
        asked, supported = free_strains(self.strains), self.free_strains()
        kind = self.model.kind
        lost = [k for k in asked if k not in supported]
        if not asked:
            why = f"no strain is in all of {', '.join(self.strains)}" if self.strains else "no strain is free"
            yield (
                ("strains",),
                f"{why}: the rod would be rigid",
                "choose at least one free strain, or use a body instead of a rod",
            )
        elif not supported or any(LABELS[k] in self.strains for k in lost):
            text = f"the model `{kind}` has no {named(lost)}"
            yield ("strains",), text, f"it has {named(self.model.takes(ALL))}; {_others(asked)}"
        elif extra := [k for k in supported if k not in asked]:
            text = f"the model `{kind}` cannot fix {named(extra)}"
            planes = [f"`planar_{plane}`" for plane, inside in IN_PLANE.items() if self.model.takes(inside) == inside]
            takes = f"it supports only {' or '.join(planes)}; " if planes else ""
            yield ("strains",), text, f"{takes}{_others(asked)}"

    def dimension(self, path: KeyPath, value: Callable[[Scalar], float]) -> Dimension | None:
        """Dimensions of rest strains and of damping, which differ between shear or stretch and bending or twist."""
        turns = path[-1] in (3, 4, 5)
        if path[0] == "rest":
            return CURVATURE if turns else NUMBER
        if path[0] != "damping":
            return None
        rate, force = (CURVATURE / TIME, TORQUE) if turns else (RATE, FORCE)
        return force / rate ** Fraction(value(self.damping_power[int(path[-1])])).limit_denominator(1000)

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Check that the length is positive, frames are on the rod, the shape has this length, and the model supports the rod."""
        yield from positive(self, value, "length")
        of_strains = list(self._strain_problems())
        yield from of_strains
        if not of_strains:
            yield from self.model.rod_problems(self, value)
        pieces = self.model.pieces()
        if joins_pieces(self.law) and pieces > self.model.most_joined:
            text = f"the law '{self.law}' couples all pieces of a rod, which `{self.model.kind}` supports for up to "
            text += f"{self.model.most_joined} of them, but the rod has {pieces}"
            yield ("law",), text, "use a coarser model, another rod model, or the law `neo_hookean`"
        if self.law != "linear" or self.model.is_linear:
            yield from self._factor_problems(value)
        if self.rayleigh is not None and any(value(power) != 1 for power in self.damping_power):
            text = "Rayleigh damping is proportional to strain rates, but `damping_power` is not 1"
            yield ("damping_power",), text, "remove `damping_power` or `rayleigh`"
        if self.shape is not None and value(self.length) > 0:
            problems = self.shape.length_problems(value, value(self.length), stress_free=self.stress_free)
            yield from ((("shape", *path), message, hint) for path, message, hint in problems)
        for k in (3, 4, 5):
            if problem := winding_problem(value(self.rest[k]) * value(self.length) / (2 * math.pi)):
                yield ("rest", k), *problem
        for name, frame in self.frames.items():
            if not is_on_rod(value(frame.at), value(self.length)):
                text = f"the frame '{name}' is at {value(frame.at):g} m, off the rod (0 to {value(self.length):g} m)"
                yield ("frames", name), text, "give an arc length between 0 and the rod's length"

    def _factor_problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Check that stiffness factors are constant."""
        for k, factor in enumerate(self.stiffness_factors):
            if depends_on_state(factor, LABELS, value):
                which = f"the law '{self.law}'" if self.law != "linear" else f"the rod model '{self.model.kind}'"
                text = f"{which} requires constant stiffness factors, but that of {LABELS[k]} depends on the strains"
                yield ("stiffness_factors", k), text, "choose the linear law and another rod model, or constant factors"

    def apply(self, build: Build, name: str) -> None:
        """Add the rod to the system in its model."""
        build.start_coordinates(name, self.initial, self.rates)
        properties = rod_properties(self, name, build)
        if self.rayleigh is not None:
            alpha, beta = self.rayleigh.factors(build)
            properties = replace(properties, mass_damping=alpha, stiffness_damping=beta)
        self.model.apply(build, properties)
        if properties.has_drag and not self.model.has_own_drag:
            add_drag(build, properties)


def _others(free: Free) -> str:
    """Models that support exactly these free strains."""
    kinds = [f"`{kind}`" for kind, model in KINDS.items() if model.takes(free) == free]
    return f"the models {', '.join(kinds)} support {named(free)} only"
