"""A piece of a rod with polynomial strains: the poses of its sections, and its section law at a point.

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
from typing import Any

import casadi as ca

from pliant.geometry import se3, so3
from pliant.geometry.se3 import Pose
from pliant.motion.base import Motion, Vector
from pliant.motion.fields import Fields
from pliant.rod.constant_strain import exponential, load_slope, twist_slope
from pliant.rod.pieces import PieceKind, PieceState
from pliant.rod.polynomial import gauss, lagrange
from pliant.rod.strains import Free, all_six, held_strains, spelled

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


@cache
def variable_strain_motion(basis: StrainBasis, steps: int) -> Motion:
    """A section of the piece. Constants: length of a step from its base to the section [m], `fields` of all points of the steps."""
    size = basis.fields.size

    def points(q: Any, c: Any) -> list[tuple[Any, Any]]:
        """The strains of both points of each step times its length, and their constants."""
        places = [c[1 + k * size : 1 + (k + 1) * size] for k in range(2 * steps)]
        return [(c[0] * (basis.strain(q, at) + STRAIGHT), at) for at in places]

    def pose(q: Any, c: Any) -> Pose:
        at, reached = points(q, c), se3.identity()
        for (a, _), (b, _) in zip(at[::2], at[1::2], strict=True):
            R, p, _ = exponential()(_mean(a, b))
            reached = se3.compose(reached, (R, p))
        return reached

    def each_step(q: Any, c: Any) -> Iterator[_StepMotion]:
        at, reached = points(q, c), se3.identity()
        for (a, at_a), (b, at_b) in zip(at[::2], at[1::2], strict=True):
            by_a, by_b = _mean_slopes(a, b)
            R, p, twist = exponential()(_mean(a, b))
            moved = c[0] * (basis.spread(by_a, at_a) + basis.spread(by_b, at_b))
            yield _StepMotion(reached, _mean(a, b), moved, se3.transform_twist(reached, twist), at_a, at_b)
            reached = se3.compose(reached, (R, p))

    def subspace(q: Any, c: Any) -> Any:
        return sum(step.twist @ step.moved for step in each_step(q, c))

    def acceleration(q: Any, c: Any, v: Any) -> Any:
        """d/dt of the sum of the steps' twists: they rotate with the previous steps, and change with their means."""
        twist, total = ca.SX(6, 1), ca.SX(6, 1)
        for step in each_step(q, c):
            rate, rates = step.moved @ v, [c[0] * basis.strain(v, at, rate=True) for at in (step.first, step.second)]
            along = step.twist @ rate
            # both strains change at constant rates, so the rate of the mean changes with the product of their rates
            turned = twist_slope()(step.mean, rate) + exponential()(step.mean)[2] @ (
                2 * BRACKET * se3.cross_twist(*rates)
            )
            total += se3.cross_twist(twist, along) + se3.transform_twist(step.reached, turned)
            twist += along
        return total

    def own(q: Any, c: Any, wrench: Any) -> Any:
        before, total = ca.SX(6, basis.size), ca.SX(basis.size, basis.size)
        for step in each_step(q, c):
            columns = step.twist @ step.moved
            # the twists of a step rotate with the previous steps
            total += columns.T @ _bracket_form(wrench) @ before
            before += columns
            # they change with its mean, and its mean with products of the two strains
            load = se3.transform_twist(step.reached, ca.SX.eye(6)).T @ wrench
            total += step.moved.T @ load_slope()(step.mean, load) @ step.moved
            by_both = _bracket_form(step.twist.T @ wrench) * BRACKET * c[0] ** 2
            mixed = basis.spread(basis.spread(by_both, step.first).T, step.second).T
            total += mixed + mixed.T
        return total

    return Motion(
        f"variable_strain_{steps}_{basis.name}", (Vector(basis.size),), 1 + 2 * steps * size, pose, subspace, own=own,
        acceleration=acceleration,
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
