"""Rod model `gvs`: geometric variable strain. Strains are polynomials along the rod, or along each of a few elements.

The order of the polynomial is chosen per strain. Elements of order 0 are segments of
`pcs`.

A piece of a rod with polynomial strains: the poses of its sections, and its section law at a point.

Each strain has its own order. Its coordinates are its values at the corresponding number of Gauss points, so that its polynomial
is Lagrange's: as orthogonal as Legendre's polynomials, and every coordinate is the strain at a point.

A section's pose follows from g' = g (straight + strain) by Magnus' expansion (Magnus 1954; Iserles and Norsett 1999): over
each of equal steps of length h, with the strains a and b (straight rod included) at its two Gauss points,

    g(s + h) = g(s) exp(h/2 (a + b) + sqrt(3) h^2/12 [a, b]),

which is exact for constant strains and of fourth order otherwise. For a and b the line nearest to the polynomial on the step is
used (its exact mean and first moment; Blanes et al. 2009), so that small deflections, and with them the section forces that balance
loads, are exact for all orders.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import casadi as ca
from pydantic import Field

from pliant.language.base import Part, Problem, ValueOrPart
from pliant.language.scalar import Scalar
from pliant.parts.assembly.build import Build
from pliant.parts.assembly.system import Element
from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion import Fields, Motion, Vector
from pliant.parts.rod.base import RodModelBase, remark_steps
from pliant.parts.rod.pcs import element_lengths, frames_on_segment, mass_points
from pliant.parts.rod.pieces import PieceKind, PieceState, RodPiece, add_pieces, exponential, load_slope, twist_slope
from pliant.parts.rod.polynomial import gauss, lagrange
from pliant.parts.rod.properties import RodProperties, add_piece_of_mass
from pliant.parts.rod.section_law import joins_pieces
from pliant.parts.rod.strains import LABELS, Free, all_six, held_strains, is_zero, named, spelled

if TYPE_CHECKING:
    from pliant.parts.rod.rod import Rod


STRAIGHT = ca.DM([0, 0, 1, 0, 0, 0])
"""Derivative of position and orientation along a straight rod, in its axes."""

POINTS: list[float] = gauss(2)[0].tolist()
"""Gauss points of a step, as fractions of it."""


@dataclass(frozen=True)
class StrainBasis:
    """Polynomials of the free strains along a piece of rod.

    free: the strains; orders: of each of them; held: whether the others have nonzero values.
    """

    free: Free
    orders: tuple[int, ...]
    held: bool

    @property
    def size(self) -> int:
        """Number of coordinates: those of the first free strain come first."""
        return sum(order + 1 for order in self.orders)

    @property
    def name(self) -> str:
        """Key in the names of kernels."""
        orders = str(self.orders[0]) if len(set(self.orders)) == 1 else "".join(map(str, self.orders))
        return f"{orders}{spelled(self.free)}" + ("_held" if self.held else "")

    @property
    def owners(self) -> tuple[int, ...]:
        """The strain of each coordinate, as its index among the free ones."""
        return tuple(k for k, order in enumerate(self.orders) for _ in range(order + 1))

    @property
    def fields(self) -> Fields:
        """Constants of a point: values of the polynomials of each order that occurs, and of the fixed strains."""
        held = [f"held:{len(held_strains(self.free))}"] if self.held else []
        return Fields(*(f"order_{order}:{order + 1}" for order in self._distinct()), *held)

    def _distinct(self) -> list[int]:
        return sorted(set(self.orders))

    def at(self, x: Any, held: Sequence[Any]) -> list[Any]:
        """The constants `fields` of the point at fraction x of the piece."""
        return self._write({order: lagrange(gauss(order + 1)[0], x) for order in self._distinct()}, held)

    def in_steps(self, x: Any, steps: int, held: Callable[[Any], Sequence[Any]]) -> list[Any]:
        """The constants `fields` of both points of each of equal steps from the base of the piece to fraction x: at its Gauss
        points, the line nearest to each polynomial on the step. held: values of the fixed strains at a fraction."""
        found: list[Any] = []
        for k in range(steps):
            for side in POINTS:
                values = {order: _nearest_line(order, x, k, steps, side) for order in self._distinct()}
                found += self._write(values, held(x * (k + side) / steps))
        return found

    def _write(self, values: Mapping[int, Sequence[Any]], held: Sequence[Any]) -> list[Any]:
        named = {f"order_{order}": value for order, value in values.items()}
        return self.fields.write(**named, **({"held": list(held)} if self.held else {}))

    def _values(self, c: Any) -> list[Any]:
        """Value of each coordinate's polynomial."""
        at = self.fields.read(c)
        return [getattr(at, f"order_{order}")[k] for order in self.orders for k in range(order + 1)]

    def strain(self, q: Any, c: Any, *, rate: bool = False) -> Any:
        """The six strains at a point with the constants `fields`; for rates of coordinates the six rates."""
        sums: list[Any] = [0.0] * len(self.free)
        for j, (k, value) in enumerate(zip(self.owners, self._values(c), strict=True)):
            sums[k] = sums[k] + value * q[j]
        held = self.fields.read(c).held if self.held and not rate else ca.SX(0, 1)
        return all_six(self.free, sums, held)

    def spread(self, matrix: Any, c: Any) -> Any:
        """Convert a matrix with one column per strain (six) to columns of the coordinates, at a point."""
        pairs = zip(self.owners, self._values(c), strict=True)
        return ca.horzcat(*[value * matrix[:, self.free[k]] for k, value in pairs])


@dataclass(frozen=True)
class _MotionBySteps:
    """The formulas of `variable_strain_motion`, as attributes of `Motion`: q are the coordinates, c the constants."""

    basis: StrainBasis
    steps: int

    def points(self, q: Any, c: Any) -> list[tuple[Any, Any]]:
        """The strains of both points of each step times its length, and their constants."""
        size = self.basis.fields.size
        places = [c[1 + k * size : 1 + (k + 1) * size] for k in range(2 * self.steps)]
        return [(c[0] * (self.basis.strain(q, at) + STRAIGHT), at) for at in places]

    def pose(self, q: Any, c: Any) -> Pose:
        at, reached = self.points(q, c), se3.identity()
        for (a, _), (b, _) in zip(at[::2], at[1::2], strict=True):
            R, p, _ = exponential()(_mean(a, b))
            reached = se3.compose(reached, (R, p))
        return reached

    def each_step(self, q: Any, c: Any) -> Iterator[_StepMotion]:
        at, reached = self.points(q, c), se3.identity()
        for (a, at_a), (b, at_b) in zip(at[::2], at[1::2], strict=True):
            by_a, by_b = _mean_slopes(a, b)
            R, p, twist = exponential()(_mean(a, b))
            moved = c[0] * (self.basis.spread(by_a, at_a) + self.basis.spread(by_b, at_b))
            yield _StepMotion(reached, _mean(a, b), moved, se3.transform_twist(reached, twist), at_a, at_b)
            reached = se3.compose(reached, (R, p))

    def subspace(self, q: Any, c: Any) -> Any:
        return sum(step.twist @ step.moved for step in self.each_step(q, c))

    def acceleration(self, q: Any, c: Any, v: Any) -> Any:
        """d/dt of the sum of the steps' twists: they rotate with the previous steps, and change with their means."""
        twist, total = ca.SX(6, 1), ca.SX(6, 1)
        for step in self.each_step(q, c):
            rate = step.moved @ v
            rates = [c[0] * self.basis.strain(v, at, rate=True) for at in (step.first, step.second)]
            along = step.twist @ rate
            # both strains change at constant rates, so the rate of the mean changes with the product of their rates
            turned = twist_slope()(step.mean, rate) + exponential()(step.mean)[2] @ (
                2 * BRACKET * se3.cross_twist(*rates)
            )
            total += se3.cross_twist(twist, along) + se3.transform_twist(step.reached, turned)
            twist += along
        return total

    def own(self, q: Any, c: Any, wrench: Any) -> Any:
        before, total = ca.SX(6, self.basis.size), ca.SX(self.basis.size, self.basis.size)
        for step in self.each_step(q, c):
            columns = step.twist @ step.moved
            # the twists of a step rotate with the previous steps
            total += columns.T @ _bracket_form(wrench) @ before
            before += columns
            # they change with its mean, and its mean with products of the two strains
            load = se3.transform_twist(step.reached, ca.SX.eye(6)).T @ wrench
            total += step.moved.T @ load_slope()(step.mean, load) @ step.moved
            by_both = _bracket_form(step.twist.T @ wrench) * BRACKET * c[0] ** 2
            mixed = self.basis.spread(self.basis.spread(by_both, step.first).T, step.second).T
            total += mixed + mixed.T
        return total


@cache
def variable_strain_motion(basis: StrainBasis, steps: int) -> Motion:
    """A section of the piece. Constants: length of a step from its base to the section [m], `fields` of all points of the steps."""
    by_steps = _MotionBySteps(basis, steps)
    return Motion(
        f"variable_strain_{steps}_{basis.name}", (Vector(basis.size),), 1 + 2 * steps * basis.fields.size, by_steps.pose,
        by_steps.subspace, own=by_steps.own, acceleration=by_steps.acceleration,
    )  # fmt: skip


@dataclass(frozen=True)
class _StepMotion:
    """A step: its initial pose; its mean strain (times length), and its derivative with respect to the coordinates; the twist of
    its end in base axes per unit of its mean; the constants of its two points."""

    reached: Pose
    mean: Any
    moved: Any
    twist: Any
    first: Any
    second: Any


BRACKET = math.sqrt(3) / 12


def _mean(a: Any, b: Any) -> Any:
    """The constant strain (times length) with the same end pose as the strains a and b at the Gauss points of a step."""
    return (a + b) / 2 + BRACKET * se3.cross_twist(a, b)


def _mean_slopes(a: Any, b: Any) -> tuple[Any, Any]:
    """Its derivatives with respect to a and b."""
    return ca.SX.eye(6) / 2 - BRACKET * _bracket_matrix(b), ca.SX.eye(6) / 2 + BRACKET * _bracket_matrix(a)


def _bracket_matrix(a: Any) -> Any:
    """`[a, b] = X b`."""
    v, w = so3.hat(a[0:3]), so3.hat(a[3:6])
    return ca.blockcat([[w, v], [ca.SX(3, 3), w]])


def _bracket_form(load: Any) -> Any:
    """`load . [a, b] = b' X a`, 6 x 6."""
    f, n = so3.hat(load[0:3]), so3.hat(load[3:6])
    # f.(w_a x v_b + v_a x w_b) + n.(w_a x w_b)
    return ca.blockcat([[ca.SX(3, 3), f], [f, n]])


def _nearest_line(order: int, x: Any, step: int, steps: int, side: float) -> list[Any]:
    """Values at fraction `side` of a step of the lines nearest to Lagrange's polynomials of this order on the step, which is one
    of equal steps from the base of the piece to its fraction x."""
    inner, weights = gauss((order + 3) // 2)  # exact for the polynomial times a line
    total: list[Any] = [0.0] * (order + 1)
    for y, weight in zip(inner.tolist(), weights.tolist(), strict=True):
        share = weight * (1 + 3 * (2 * side - 1) * (2 * y - 1))
        values = lagrange(gauss(order + 1)[0], x * (step + y) / steps)
        total = [sum_ + share * value for sum_, value in zip(total, values, strict=True)]
    return total


@cache
def variable_strain_point(basis: StrainBasis) -> PieceKind:
    """A point of the piece; the constants of its shape are its `fields`."""

    def state(q: Any, c: Any) -> PieceState:
        return PieceState(
            basis.strain(q, c), lambda v: basis.strain(v, c, rate=True), lambda force: basis.spread(ca.SX(force).T, c).T
        )

    return PieceKind(f"variable_strain_{basis.name}", (Vector(basis.size),), basis.fields, state)


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
        return free

    def rod_problems(self, rod: Rod, value: Callable[[Scalar], float]) -> Iterator[Problem]:
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
        given = self.order.given().values() if isinstance(self.order, StrainOrders) else (self.order,)
        return self.elements * (max(given, default=0) + 2)

    def _orders(self, free: Free) -> tuple[int, ...]:
        """Order of each free strain."""
        if not isinstance(self.order, StrainOrders):
            return (self.order,) * len(free)
        given = self.order.given()
        return tuple(given[LABELS[k]] for k in free)

    def apply(self, build: Build, rod: RodProperties) -> None:
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
        pieces: list[RodPiece] = []
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
        self, rod: RodProperties, element: Element, basis: StrainBasis, held: _FixedStrains, started: list[Any],
        length: Any, span: tuple[float, float],
    ) -> Iterator[RodPiece]:  # fmt: skip
        """Points of an element: one more than required for a uniform rod with a linear law."""
        # a law that joins all pieces has the same number of points in every element
        split = not joins_pieces(rod.law)
        for point in mass_points(rod, *span, max(basis.orders) + 2, split=split):
            x = point.inside
            strain = rod.curve.straight or _strain(basis, started, x, held)
            yield RodPiece(element, basis.at(x, held.at(x)), point.weight * length, point.x, strain)


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
