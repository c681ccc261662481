"""Rod model `gvs`: geometric variable strain. Strains are polynomials along the rod, or along each of a few elements.

The order of the polynomial is chosen per strain; `variable_strain.py` has the formulas. Elements of order 0 are segments of
`pcs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from pliant.geometry import se3
from pliant.language.base import Part, Problem, ValueOrPart
from pliant.language.scalar import Scalar
from pliant.rod.base import RodModelBase
from pliant.rod.pcs import element_lengths, frames_on_segment, mass_points
from pliant.rod.pieces import Piece, add_pieces
from pliant.rod.polynomial import gauss, lagrange
from pliant.rod.properties import RodProperties, add_piece_of_mass
from pliant.rod.section_law import joins_pieces
from pliant.rod.steps import remark_steps
from pliant.rod.strains import LABELS, Free, held_strains, is_zero, named
from pliant.rod.variable_strain import StrainBasis, variable_strain_motion, variable_strain_point

if TYPE_CHECKING:
    from pliant.model.build import Build
    from pliant.model.system import Element
    from pliant.rod.rod import Rod

Order = Annotated[int, Field(ge=0, le=8, strict=True)]


class StrainOrders(Part):
    """Order of each free strain's polynomial: 0 is constant along an element, 1 linear."""

    shear_x: Order | None = None
    """Of the shear towards x."""
    shear_y: Order | None = None
    """Of the shear towards y."""
    stretch: Order | None = None
    """Of the stretch."""
    bend_x: Order | None = None
    """Of the bending about x."""
    bend_y: Order | None = None
    """Of the bending about y."""
    twist: Order | None = None
    """Of the twist."""

    def given(self) -> dict[str, int]:
        """The strains with an order, and their orders."""
        orders = {label: getattr(self, label) for label in LABELS}
        return {label: order for label, order in orders.items() if order is not None}


class Gvs(RodModelBase):
    """Geometric variable strain: each free strain is a polynomial along the rod, with its own order. Few states for
    smooth loads.

    The coordinates of a strain of order n are its values at the n + 1 Gauss points of each element, `bend_x[1]` the
    nearest to the base. A curved rod starts with the best approximation of the strains of its shape. Forces within an element
    bend it with a kink that is smoothed out: with the default options the deflection there is off by some 2 %, and the third
    frequency of a cantilever is twice the exact one.
    """

    fineness: ClassVar[str] = "order"

    most_joined: ClassVar[int] = 12

    example: ClassVar[str] = """\
pliant: 1
sections:
  wire: {shape: circle, radius: 5 mm}
materials:
  rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}
rods:
  arm:
    length: 30 cm
    section: wire
    material: rubber
    strains: unshearable
    model: {kind: gvs, order: {stretch: 1, bend_x: 3, bend_y: 3, twist: 0}}
"""

    kind: Literal["gvs"] = "gvs"
    order: Annotated[Order | StrainOrders, ValueOrPart()] = 2
    """Order of the polynomials: one for all free strains, or one for each by name."""
    elements: Annotated[int, Field(ge=1, le=500, strict=True)] = 1
    """Number of elements of equal length, each with its own polynomials."""
    steps: Annotated[int, Field(ge=1, le=20, strict=True)] | None = None
    """Number of fourth-order steps that integrate a section's pose from the element's base; default: the highest
    order, at least two (one if all strains are constant)."""
    mass_points: Annotated[int, Field(ge=1, le=40, strict=True)] | None = None
    """Gauss points of the mass along each element; default: the highest order plus two."""

    @classmethod
    def takes(cls, free: Free) -> Free:
        """Any strains."""
        return free

    def rod_problems(self, rod: Rod, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Every free strain has an order, and no other."""
        if not isinstance(self.order, StrainOrders):
            return
        free, given = rod.free_strains(), [LABELS.index(label) for label in self.order.given()]
        if missing := [k for k in free if k not in given]:
            hint = (
                f"give it, or name the free strains: `strains: [{', '.join(LABELS[k] for k in given)}]`"
                if given
                else ""
            )
            yield (
                ("model", "order"),
                f"the order of {named(missing)} is missing",
                hint or "give one order for all strains",
            )
        for k in given:
            if k not in free:
                text = f"{LABELS[k]} has an order, but it is not free"
                yield ("model", "order", LABELS[k]), text, "remove it, or add the strain to the rod's `strains`"

    def pieces(self) -> int:
        """Points of the section law in all elements."""
        given = self.order.given().values() if isinstance(self.order, StrainOrders) else (self.order,)
        return self.elements * (max(given, default=0) + 2)

    def _orders(self, free: Free) -> tuple[int, ...]:
        """Order of each free strain."""
        if not isinstance(self.order, StrainOrders):
            return (self.order,) * len(free)
        given = self.order.given()
        return tuple(given[LABELS[k]] for k in free)

    def apply(self, build: Build, rod: RodProperties) -> None:
        """Add the elements to the system."""
        orders = self._orders(rod.free)
        steps = self.steps or (max(*orders, 2) if any(orders) else 1)
        ends = rod.division(self.elements)
        lengths, arcs = element_lengths(rod, ends)
        remark_steps(build, rod, ends)
        node, placement = rod.node, rod.placement
        build.name_frame(rod.name, node, placement)
        build.rod_stations(rod.name, [(node, placement)], [0.0])
        every = [_FixedStrains(rod, rod.curve.shares(begin, end)) for begin, end in pairwise(arcs)]
        basis = StrainBasis(rod.free, orders, not all(held.is_zero for held in every))
        motion = variable_strain_motion(basis, steps)
        pieces: list[Piece] = []
        for k, held in enumerate(every):
            length = lengths[k]
            mass = mass_points(rod, ends[k], ends[k + 1], self.mass_points or max(orders) + 2)
            points = [point.inside for point in mass]
            frames = frames_on_segment(build, rod, k, ends)
            plans = []
            for x in (*points, *frames.values(), 1.0):
                at = basis.in_steps(x, steps, held.at)
                plans.append(build.plan(motion, placement, (x * length / steps, *at)))
            element = build.element(node, plans)
            started = self._name(build, rod, element, basis, held, k)
            for number, point in zip(element.nodes, mass, strict=False):
                add_piece_of_mass(build, rod, number, se3.identity(), point.weight * length, point.x, point.span)
            for number, frame in zip(element.nodes[len(points) :], frames, strict=False):
                build.name_frame(f"{rod.name}.{frame}", number, se3.identity())
            pieces += self._pieces(rod, element, basis, held, started, length, (ends[k], ends[k + 1]))
            places = [(number, se3.identity()) for number in (*element.nodes[: len(points)], element.nodes[-1])]
            build.rod_stations(rod.name, places, [*(point.x for point in mass), ends[k + 1]])
            node, placement = element.nodes[-1], se3.identity()
        build.name_frame(f"{rod.name}.tip", node, placement)
        shared = max(orders) + 2
        add_pieces(build, rod, variable_strain_point(basis), pieces, order=shared, points=shared, smooth=True)

    def _name(
        self, build: Build, rod: RodProperties, element: Element, basis: StrainBasis, held: _FixedStrains, number: int
    ) -> list[Any]:
        """Name the coordinates of an element and initialize them from the rod's shape; returns their initial values."""
        started: list[Any] = []
        for strain, order in zip(basis.free, basis.orders, strict=True):
            unit = "-" if strain < 3 else "1/m"
            for j in range(order + 1):
                name = f"{rod.name}.{LABELS[strain]}[{number * (order + 1) + j + 1}]"
                at = len(started)
                started.append(held.nearest(strain, order, j))
                build.coordinate(name, element.q_at + at, element.v_at + at, started[-1], unit=unit)
        return started

    def _pieces(
        self,
        rod: RodProperties,
        element: Element,
        basis: StrainBasis,
        held: _FixedStrains,
        started: list[Any],
        length: Any,
        span: tuple[float, float],
    ) -> Iterator[Piece]:
        """Points of an element: one more than required for a uniform rod with a linear law."""
        # a law that joins all pieces has the same number of points in every element
        split = not joins_pieces(rod.law)
        for point in mass_points(rod, *span, max(basis.orders) + 2, split=split):
            x = point.inside
            strain = rod.curve.straight or _strain(basis, started, x, held)
            yield Piece(element, basis.at(x, held.at(x)), point.weight * length, point.x, strain)


class _FixedStrains:
    """Initial strains along an element; fixed strains keep these values."""

    def __init__(self, rod: RodProperties, shares: list[tuple[float, float, Any]]) -> None:
        self._shares, self._held = shares, held_strains(rod.free)
        self._nominal = rod.nominal

    @property
    def is_zero(self) -> bool:
        """Whether the fixed strains are zero for all parameters."""
        return all(is_zero(six[k]) for _, _, six in self._shares for k in self._held)

    def strain(self, x: Any) -> Any:
        """The six strains at fraction x."""
        place = x if isinstance(x, int | float) else self._nominal(x)
        return next((six for _, last, six in self._shares if place <= last), self._shares[-1][2])

    def at(self, x: Any) -> list[Any]:
        """Values of the fixed strains at fraction x."""
        return [self.strain(x)[k] for k in self._held]

    def nearest(self, strain: int, order: int, j: int) -> Any:
        """Value at the j-th Gauss point of the least-squares polynomial of a strain along the element."""
        if len(self._shares) == 1:
            return self._shares[0][2][strain]
        points, weights = gauss(order + 1)
        inner, inner_weights = gauss(order // 2 + 1)  # exact for the polynomial on each part
        total: Any = 0.0
        for first, last, six in self._shares:
            mean = sum(
                w * lagrange(points, first + (last - first) * y)[j] for y, w in zip(inner, inner_weights, strict=True)
            )
            total = total + (last - first) * mean / weights[j] * six[strain]
        return total


def _strain(basis: StrainBasis, started: Sequence[Any], x: float, held: _FixedStrains) -> list[Any]:
    """The six strains at fraction x of an element with these coordinates."""
    six, first = list(held.strain(x)), 0
    for strain, order in zip(basis.free, basis.orders, strict=True):
        values = lagrange(gauss(order + 1)[0], x)
        six[strain] = sum(value * started[first + j] for j, value in enumerate(values))
        first += order + 1
    return six
