"""Properties of a rod for all rod models: stiffness, inertia and actuation of its section, per length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from pliant.parts.assembly.build import Build
from pliant.parts.geometry import se3
from pliant.parts.geometry.se3 import Pose, scalars
from pliant.parts.rod.chamber import STEADY, VARYING
from pliant.parts.rod.section_law import FibreSection, Law, StrainFactors, constants_of
from pliant.parts.rod.shape import Curve, constant_strain
from pliant.parts.rod.stations import ROUND_OFF, divide, gauss_between, parts_between, product_weights
from pliant.parts.rod.strains import LABELS, Free
from pliant.parts.section.base import GeometricSection, MaterialValues, OneSection, SectionProperties
from pliant.parts.section.material import FIBRE_LAWS, standardized

if TYPE_CHECKING:
    from pliant.parts.rod.rod import Rod
    from pliant.parts.section.material import Material


@dataclass(frozen=True)
class Station:
    """Value at a fraction x of the length, at the model's own parameter values."""

    fraction: Any
    x: float
    what: Any


Stations = tuple[Station, ...]
"""From base to tip; a single station applies everywhere, two at the same arc length define a step."""


@dataclass(frozen=True)
class RodProperties:
    """A rod in numbers or expressions of parameters.

    Attributes:
        name: the rod's name.
        node, placement: the node of its base, and the placement of its base section on it.
        length: undeformed length [m].
        curve: the initial shape.
        stress_free: whether it is stress-free in that shape; otherwise `rest` are the stress-free strains.
        sections, materials, dampings: along the rod. A section returns `SectionProperties` for a material's values.
        stiffness_factors: on the six strains; at strains of zero where they depend on them.
        damping_power: of the six strain rates.
        law: constitutive law of the section.
        law_numbers: numbers of the law along the rod, from its materials; empty if it has none.
        fibres: those of the sections (`section.fibres.standardized`) along the rod, if the law is a sum over them.
        free: the free strains; the others keep their initial values.
        attachments: arc length of each frame to be placed on it [m], named by the model or reserved by tendons.
        places: the fraction of the length of each of these, at the model's own parameter values.
        actuation: index of the first of the signals of its chambers, or None.
        signals: number of signals: 0, or those of `rod.actuation`.
        nominal: value of an expression at the model's own parameter values.
        mass_damping: drag against velocities relative to the base section, over the mass [1/s].
        stiffness_damping: damping of the strain rates over the stiffness of the strains [s].
    """

    name: str
    node: int
    placement: Pose
    length: Any
    curve: Curve
    stress_free: bool
    rest: tuple[Any, ...]
    sections: Stations
    materials: Stations
    dampings: Stations
    stiffness_factors: tuple[Any, ...]
    damping_power: tuple[Any, ...]
    law: Law
    law_numbers: Stations
    fibres: Stations
    free: Free
    attachments: dict[str, Any]
    places: dict[str, float]
    actuation: int | None
    signals: int
    nominal: Callable[[Any], float]
    mass_damping: Any = 0.0
    stiffness_damping: Any = 0.0

    @property
    def has_drag(self) -> bool:
        """Whether there is mass-proportional drag for any values of the parameters."""
        return not (isinstance(self.mass_damping, int | float) and self.mass_damping == 0)

    def section(self, x: float) -> SectionProperties:
        """The section at fraction x of the length (at the model's own parameter values), interpolated between stations."""
        if len(self.sections) == 1 and len(self.materials) <= 1:
            return self._uniform_section
        if x not in self._sections_at:
            self._sections_at[x] = self._section(float(x))
        return self._sections_at[x]

    def _section(self, x: float) -> SectionProperties:
        if len(self.materials) <= 1:
            found = self._along(self._stations_of_one_material, x, lambda entries: entries)
        else:
            material = MaterialValues(*self._along(self.materials, x, lambda given: given))
            found = self._along(self.sections, x, lambda section: section(material).entries())
        return SectionProperties.from_entries(found).scaled(self.stiffness_factors)

    @cached_property
    def breaks(self) -> tuple[float, ...]:
        """Fractions of the length between base and tip where a property has a step or a kink."""
        every = sorted(s.x for along in (self.sections, self.materials, self.dampings, self.law_numbers) for s in along)
        inside = [float(x) for x in every if ROUND_OFF < x < 1 - ROUND_OFF]
        return tuple(x for k, x in enumerate(inside) if k == 0 or x - inside[k - 1] > ROUND_OFF)

    @cached_property
    def steps(self) -> tuple[float, ...]:
        """Fractions of the length between base and tip where the section has a step."""
        return tuple(
            float(a.x) for a, b in pairwise(self.sections) if b.x - a.x <= ROUND_OFF and ROUND_OFF < a.x < 1 - ROUND_OFF
        )

    def division(self, elements: int) -> list[float]:
        """Ends of elements as fractions of the length: equal elements, or with ends at steps of the section."""
        return divide(self.steps, elements)

    def parts(self, begin: float, end: float) -> list[tuple[float, float]]:
        """Intervals of fractions without steps or kinks inside."""
        return parts_between(self.breaks, begin, end)

    def mean_section(self, begin: float, end: float) -> SectionProperties:
        """Mean of the section's properties between two fractions of the length."""
        parts = self.parts(begin, end)
        if len(parts) == 1 and len(self.materials) <= 1:
            return self.section((begin + end) / 2)
        points = [point for part in parts for point in gauss_between(*part, 2)]
        return self._summed([(x, weight / (end - begin)) for x, weight in points])

    def _summed(self, points: Sequence[tuple[float, float]]) -> SectionProperties:
        total = sum((w * ca.vertcat(*self.section(x).entries()) for x, w in points), ca.DM(0))
        return SectionProperties.from_entries(scalars(total))

    def carried_sections(
        self, points: Sequence[float], weights: Sequence[float], begin: float, end: float
    ) -> list[Any]:
        """The section that each Gauss point of an interval represents: the one there, or, across steps and kinks, the one with
        which sums over the points have the exact mass and first moment. points, weights: on [0, 1]."""
        parts, places = self.parts(begin, end), [begin + (end - begin) * x for x in points]
        if len(parts) == 1:
            return [self.section(x) for x in places]
        found = [entry for part in parts for entry in product_weights(places, *part)]
        return [
            self._summed([(x, own[k] / (weights[k] * (end - begin))) for x, own in found]) for k in range(len(places))
        ]

    # Expressions of a rod with hundreds of pieces take seconds to create, so common ones are created once.

    @cached_property
    def _sections_at(self) -> dict[float, SectionProperties]:
        """Cache of sections, by their fractions of the length."""
        return {}

    @cached_property
    def _stations_of_one_material(self) -> Stations:
        """The sections as numbers, if the rod has one material or the sections define their own."""
        material = MaterialValues(*self.materials[0].what) if self.materials else None
        return tuple(replace(station, what=station.what(material).entries()) for station in self.sections)

    @cached_property
    def _uniform_section(self) -> SectionProperties:
        entries = self._stations_of_one_material[0].what
        return SectionProperties.from_entries(entries).scaled(self.stiffness_factors)

    def damping(self, x: float) -> tuple[Any, ...]:
        """Damping of the six strain rates at fraction x of the length."""
        own = self._along(self.dampings, x, lambda given: given)
        if isinstance(self.stiffness_damping, int | float) and self.stiffness_damping == 0:
            return tuple(own)
        stiffness = self.section(x).stiffness
        return tuple(c + self.stiffness_damping * k for c, k in zip(own, stiffness, strict=True))

    def law_constants(
        self, length: Any, x: float, started: Sequence[Any], span: tuple[float, float] | None = None
    ) -> list[Any]:
        """Constants of the section law for a piece of rod of this length around fraction x.

        `started`: the six initial strains of the piece as measured by the map of the model. They are the stress-free strains if
        the rod is initially stress-free; a model is then exactly at rest for any map.

        span: of a piece with constant strains, the fractions of its ends; with steps or kinks inside, its stiffness is the mean.
        """
        if span is not None and len(parts := self.parts(*span)) > 1:
            points = [point for part in parts for point in gauss_between(*part, 2)]
            whole = span[1] - span[0]
            return scalars(sum(w / whole * ca.vertcat(*self._law_constants(length, x, started)) for x, w in points))
        uniform = len(self.sections) == 1 and all(
            len(x) <= 1 for x in (self.materials, self.dampings, self.law_numbers)
        )
        key = (id(length), id(started), 0.0 if uniform else x)
        if key not in self._laws:
            # stored with the objects of the key, whose ids stay valid
            self._laws[key] = length, started, self._law_constants(length, x, started)
        return self._laws[key][2]

    @cached_property
    def _laws(self) -> dict[tuple[int, int, float], tuple[Any, Sequence[Any], list[Any]]]:
        """Cache of constants of laws."""
        return {}

    def _law_constants(self, length: Any, x: float, started: Sequence[Any]) -> list[Any]:
        section = self.section(x)
        rest = started if self.stress_free else self.rest
        layout = constants_of(self.law)
        found = self._along(self.law_numbers, x, lambda given: given) if self.law_numbers else ()
        numbers = {"law": list(found)} if "law" in layout.at else {}
        if self.fibres:
            numbers["fibres"] = list(self._along(self.fibres, x, lambda given: given))
        return layout.write(
            length=length, stiffness=section.stiffness, coupling=section.coupling, rest=rest, damping=self.damping(x),
            power=self.damping_power, **numbers,
        )  # fmt: skip

    @staticmethod
    def _along(stations: Stations, x: float, numbers: Callable[[Any], Sequence[Any]]) -> Sequence[Any]:
        """Numbers interpolated between stations."""
        k = max((k for k, station in enumerate(stations) if station.x <= x), default=0)
        if k == len(stations) - 1:
            return numbers(stations[k].what)
        a, b = stations[k : k + 2]
        share = (x - a.fraction) / (b.fraction - a.fraction)
        first, second = (ca.vertcat(*numbers(station.what)) for station in (a, b))
        return scalars((1 - share) * first + share * second)


def along(given: Sequence[Any]) -> Stations:
    """Stations at equal distances from base to tip."""
    gaps = max(len(given) - 1, 1)
    return tuple(Station(k / gaps, k / gaps, item) for k, item in enumerate(given))


def rod_properties(rod: Rod, name: str, build: Build) -> RodProperties:
    """Properties of a rod from its sections and material."""
    value = build.value
    node, at = build.frame(rod.parent)
    placement = se3.compose(at, build.placement(rod))
    signals = _signals(rod, build)
    factors, law, numbers = _stiffness_factors(rod, name, build)
    length, rest = value(rod.length), tuple(map(value, rod.rest))
    if rod.shape is not None:
        base, curve = rod.shape.curve(build, length)
        placement = se3.compose(placement, base)
    else:
        curve = constant_strain(rest if rod.stress_free else (0,) * 6, build.nominal)
    node, placement = build.hold("rods", name, node, placement)
    attachments = {frame: value(place.at) for frame, place in rod.frames.items()} | build.reserved_frames(name)
    places = build.nominals(ca.vertcat(*attachments.values()) / length).ravel() if attachments else ()

    sections = _sections(rod, build)
    law, fibres = _over_fibres(rod, build, law, sections)
    return RodProperties(
        name=name, node=node, placement=placement, length=length, curve=curve, stress_free=rod.stress_free, rest=rest,
        sections=sections,
        materials=along([material_entries(build.robot.materials[given], build.value) for given in rod.material]),
        dampings=along([tuple(map(value, six)) for six in rod.damping]), stiffness_factors=factors,
        damping_power=tuple(map(value, rod.damping_power)), law=law,
        law_numbers=along([numbers]) if numbers else _law_numbers(rod, build), fibres=fibres,
        free=rod.free_strains(), attachments=attachments,
        places=dict(zip(attachments, map(float, places), strict=True)),
        actuation=build.add_signal_expressions(signals) if signals else None, signals=len(signals),
        nominal=build.nominal,
    )  # fmt: skip


def _signals(rod: Rod, build: Build) -> list[Any]:
    """Signals of all chambers of a rod; empty if it has none."""
    if not rod.chambers:
        return []
    size = VARYING if any(chamber.depends_on_strains for chamber in rod.chambers.values()) else STEADY
    total = [0.0] * size
    for chamber in rod.chambers.values():
        for k, signal in enumerate(chamber.signals(build)):
            total[k] = total[k] + signal
    return total


def _stiffness_factors(rod: Rod, name: str, build: Build) -> tuple[tuple[Any, ...], Law, tuple[Any, ...]]:
    """Factors at zero strain, the rod's law, and the numbers of formulas if factors depend on strains."""
    unstrained, path = dict.fromkeys(LABELS, 0.0), f"rods.{name}.stiffness_factors"
    given = [build.coefficient(factor, unstrained, f"{path}.{k}") for k, factor in enumerate(rod.stiffness_factors)]
    formulas = tuple(factor.formula for factor in given)
    factors = tuple(factor.at(unstrained) for factor in given)
    if all(formula is None for formula in formulas):
        return factors, rod.law, ()
    for k, (factor, formula) in enumerate(zip(factors, formulas, strict=True)):
        if formula is not None:
            text = f"the stiffness factor of {LABELS[k]} is not above zero at strains of zero"
            build.require(factor - 1e-12, f"{path}.{k}", text, "add a small number to it")
    return factors, StrainFactors(formulas), tuple(number for factor in given for number in factor.numbers)


def _law_numbers(rod: Rod, build: Build) -> Stations:
    """Numbers of a rod's law from its materials; empty if it has none."""
    law = FIBRE_LAWS.get(rod.law)
    if law is None or not law.size:
        return ()
    return along([tuple(law.numbers_of(build.robot.materials[given], build.value)) for given in rod.material])


def _sections(rod: Rod, build: Build) -> Stations:
    """The sections of a rod, at arc lengths given by a table or equidistant for a list."""

    def maker(section: OneSection) -> Callable[[MaterialValues | None], SectionProperties]:
        return lambda material: section.properties(build.value, material)

    return _placed(rod, build, [maker(section) for section in _single_sections(rod, build)])


def _placed(rod: Rod, build: Build, given: Sequence[Any]) -> Stations:
    """Values of the sections of a rod at their places along it."""
    stations = build.robot.sections[rod.section[0]].stations_by_arc_length() if len(rod.section) == 1 else ()
    if stations:
        length = build.value(rod.length)
        fractions = [build.value(at) / length for at, _ in stations]
        return tuple(Station(at, build.nominal(at), what) for at, what in zip(fractions, given, strict=True))
    return along(given)


def area_along(rod: Rod, build: Build) -> tuple[Callable[[float], Any], list[float]] | None:
    """Area of a rod's material [m^2] as a function of the fraction of its length, and the fractions where that has kinks or steps;
    None if a section is given by its stiffness."""
    sections = _single_sections(rod, build)
    if not all(isinstance(section, GeometricSection) for section in sections):
        return None
    areas = [(section.total_area(build.value),) for section in sections if isinstance(section, GeometricSection)]
    stations = _placed(rod, build, areas)
    return lambda x: RodProperties._along(stations, x, lambda area: area)[0], [station.x for station in stations]


def _single_sections(rod: Rod, build: Build) -> list[OneSection]:
    """The sections of a rod in order, those of a table if it has one."""
    table = build.robot.sections[rod.section[0]].stations_by_arc_length() if len(rod.section) == 1 else ()
    single_sections = [build.robot.sections[name] for name in ([name for _, name in table] or rod.section)]
    assert all(isinstance(section, OneSection) for section in single_sections), (
        "a table holds no other table: checked when read"
    )
    return single_sections


def _over_fibres(rod: Rod, build: Build, law: Law, sections: Stations) -> tuple[Law, Stations]:
    """A hyperelastic law as a sum over the fibres of all different sections of a rod, and their stations. The shares of those of
    other sections are zero, and interpolated in between; sections of one shape have the same fibres."""
    if isinstance(law, StrainFactors) or law not in FIBRE_LAWS:
        return law, ()
    given = [section.fibres(build.value) for section in _single_sections(rod, build)]
    if not all(given):
        return law, ()
    every = [standardized(fibres) for fibres in given]
    different = {str(fibres): fibres for fibres in every}
    blocks = [np.array(fibres, dtype=object).reshape(3, -1) for fibres in different.values()]

    def shares(own: list[Any]) -> list[Any]:
        parts = [
            list(block[2] if str(own) == key else 0.0 * block[2]) for key, block in zip(different, blocks, strict=True)
        ]
        return [entry for part in parts for entry in part]

    places = [entry for row in (0, 1) for block in blocks for entry in block[row]]
    kind = FibreSection(law, sum(block.shape[1] for block in blocks))
    if len(blocks) == 1:
        return kind, (Station(0.0, 0.0, [*places, *shares(every[0])]),)
    stations = zip(sections, every, strict=True)
    return kind, tuple(Station(at.fraction, at.x, [*places, *shares(own)]) for at, own in stations)


def material_entries(material: Material, value: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    """Young's modulus [Pa], shear modulus [Pa], density [kg/m^3] of a rod's material."""
    assert material.youngs_modulus is not None, "checked when the model was read"
    assert material.density is not None, "checked when the model was read"
    E = value(material.youngs_modulus)
    if material.shear_modulus is not None:
        return E, value(material.shear_modulus), value(material.density)
    assert material.poissons_ratio is not None, "checked when the model was read"
    return E, E / (2 * (1 + value(material.poissons_ratio))), value(material.density)


def add_piece_of_mass(
    build: Build, rod: RodProperties, node: int, placement: Pose, length: Any, x: float,
    span: tuple[float, float] | None = None,
) -> None:  # fmt: skip
    """Add the mass of a piece of rod to a node, with the section at fraction x of the length.

    The piece is short and located at `placement` on the node. Distributed loads act on the same pieces; those of one `span` of
    fractions together represent it.
    """
    section = rod.section(x)
    mass, I_x, I_y, I_z, I_xy = scalars(length * ca.vertcat(section.mass, *section.rotary))
    if se3.is_identity(placement):
        build.system.mass_numbers(node, [mass, 0.0, 0.0, 0.0, I_x, I_y, I_z, I_xy, 0.0, 0.0])
    else:
        inertia = ca.blockcat([[I_x, I_xy, 0], [I_xy, I_y, 0], [0, 0, I_z]])
        build.system.mass(node, mass, ca.DM.zeros(3), inertia, placement)
    build.rod_piece(rod.name, node, placement, length, x, span)


WORLD = 0
GAUSS = 3**-0.5
"""Gauss points at +-GAUSS of a half piece give its exact mass, centre and inertia, also for linear taper."""


def add_lumped_masses(
    build: Build, rod: RodProperties, nodes: Sequence[tuple[int, Pose]], arc_lengths: Sequence[Any],
    fractions: Sequence[float],
) -> None:  # fmt: skip
    """Distribute the rod's mass to nodes (with placements) at the given arc lengths [m], including base and tip.

    `fractions` are these relative to the length at the model's own parameter values.

    Mass, centre of mass and inertia of the rod are exact in its initial shape. Mass on the world is omitted: it never moves.
    """
    for piece in lumped_pieces(rod, nodes, arc_lengths, fractions):
        add_piece_of_mass(build, rod, *piece)


def lumped_pieces(
    rod: RodProperties, nodes: Sequence[tuple[int, Pose]], arc_lengths: Sequence[Any], fractions: Sequence[float]
) -> Iterator[tuple[int, Pose, Any, float, tuple[float, float]]]:
    """Short pieces of the rod that move with nodes: node, placement, length [m], fraction of the rod's length, and the ends of the
    part without steps and kinks that two of them represent."""
    last = len(nodes) - 1
    for k, ((node, placement), here) in enumerate(zip(nodes, arc_lengths, strict=True)):
        if node == WORLD:
            continue
        before, after = max(k - 1, 0), min(k + 1, last)
        begin, end = (_point(fractions[before], fractions[k], fractions[after], side) for side in (-1, 1))
        parts = rod.parts(begin, end)
        if len(parts) > 1:
            first, last_arc = (_point(arc_lengths[before], here, arc_lengths[after], side) for side in (-1, 1))
            for part in parts:
                for x, weight in gauss_between(*part, 2):
                    at = first + (x - begin) / (end - begin) * (last_arc - first)
                    length = weight / (end - begin) * (last_arc - first)
                    yield node, se3.compose(placement, rod.curve.relative(here, at)), length, x, part
            continue
        half = (arc_lengths[after] - arc_lengths[before]) / 4
        for side in (-GAUSS, GAUSS):
            at = _point(arc_lengths[before], here, arc_lengths[after], side)
            x = _point(fractions[before], fractions[k], fractions[after], side)
            yield node, se3.compose(placement, rod.curve.relative(here, at)), half, x, (begin, end)


def _point(before: Any, here: Any, after: Any, side: float) -> Any:
    """Point of the piece that reaches half-way to both neighbours; `side` from -1 (its begin) to 1 (its end)."""
    return (before + 2 * here + after) / 4 + side * (after - before) / 4
