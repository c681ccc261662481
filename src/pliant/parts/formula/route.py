"""Forces along a line that is routed through points, straight in between, and slides through them.

Without friction the line has one tension T, which depends on its total length l and its rate. The rest follows from virtual work:
with `dl = sum u . (dx_j - dx_i)` over the spans (u the direction from point i to point j), each span pulls its two points
together with T.

One tension couples all spans. Its derivatives are therefore not sums of those of two-frame forces; the assembled
equations take a span's geometry and, for the tension, one product of gradients (`engine/runtime/route.c`).

With friction the tension falls over every point between the ends, in the direction in which the line slides there, by the factor
`exp(-mu theta)`, where theta is the angle of its turn there (Euler, Eytelwein). See `slide` below;
`runtime/route_friction.c` computes the same with its derivatives.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from pliant.parts.formula.base import Effect, meeting_square


@dataclass(frozen=True)
class RouteSmoothing:
    """Lengths and angles within which lines are smooth where they would have kinks."""

    turn: float = 1e-4
    """The direction of the turn is undefined for a straight line: turns are smoothed within this angle [rad]."""
    meeting: float = 1e-7
    """Eyelets of two parts often lie at one point and are held there by a constraint, up to its error. A span
    between them has a stiffness of its tension over its length. This length, relative to the distances of all
    points from the origin, is far above errors of constraints; parameters that move the parts apart act smoothly
    within it. It lengthens spans of 0.001 by less than 1e-8."""


ROUTE = RouteSmoothing()


@dataclass(frozen=True)
class RouteForce:
    """The law of a routed line: `law(length, rate, constants, signals, signal_rates)`, whose force is the tension [N].

    `coupled`: whether the tension depends on the length or its rate, and not on signals alone. A coupled line couples
    every coordinate that changes its length to every other.
    """

    name: str
    constants: int
    signals: int
    coupled: bool
    law: Callable[[Any, Any, Any, Any, Any], Effect]


@dataclass(frozen=True)
class Spans:
    """The spans of a line through world points: lengths [m], their rates [m/s] and directions."""

    lengths: list[Any]
    rates: list[Any]
    directions: list[Any]

    @property
    def length(self) -> Any:
        """Total length [m]."""
        return sum(self.lengths[1:], self.lengths[0])

    @property
    def rate(self) -> Any:
        """Rate of the total length [m/s]."""
        return sum(self.rates[1:], self.rates[0])

    def pulls(self, shares: Sequence[Any]) -> list[Any]:
        """Force on each point, for given tensions of the spans."""
        forces: list[Any] = [ca.DM.zeros(3) for _ in range(len(self.lengths) + 1)]
        for i, (share, u) in enumerate(zip(shares, self.directions, strict=True)):
            forces[i] = forces[i] + share * u
            forces[i + 1] = forces[i + 1] - share * u
        return forces


def measure(points: Sequence[Any], velocities: Sequence[Any]) -> Spans:
    """The spans of a line through world points with these velocities."""
    lengths, rates, directions = [], [], []
    least = meeting_square(*points, share=ROUTE.meeting)
    for i in range(len(points) - 1):
        d = points[i + 1] - points[i]
        lengths.append(ca.sqrt(ca.dot(d, d) + least))
        directions.append(d / lengths[-1])
        rates.append(ca.dot(directions[-1], velocities[i + 1] - velocities[i]))
    return Spans(lengths, rates, directions)


FRICTION = 3
"""Number of constants of friction: its coefficient [-], the slip speed [m/s], and a speed added to the sliding speed [m/s], which
selects the friction at rest."""


@dataclass(frozen=True)
class RouteFriction:
    """Friction along a line: ratio of the tension of each span to that at the first point, power lost [W] per tension [N] there,
    and the ratio of the tension at the first point to the mean one, if the law defines that."""

    shares: list[Any]
    lost: Any
    first: Any


def slide(spans: Spans, constants: Any, elongation_rate: Any | None) -> RouteFriction:
    """Distribution of the tension of a line with friction (`FRICTION` constants).

    The line is fixed at its last point and drawn in at the first. At each point in between it slides towards the first
    as fast as the part beyond that point shortens. In an elastic line that part also stretches, by its fraction of the
    elongation, whose rate is given [m/s]; its law gives the mean tension, weighted by length.
    """
    beyond, beyond_rate, total = 0, 0, spans.length
    speeds = []
    for length, rate in zip(reversed(spans.lengths), reversed(spans.rates), strict=True):
        beyond, beyond_rate = beyond + length, beyond_rate + rate
        stretch = 0 if elongation_rate is None else beyond / total * elongation_rate
        speeds.append(stretch - beyond_rate)
    speeds = speeds[::-1][1:]
    shares: list[Any] = [1.0]
    lost: Any = 0.0
    for i, speed in enumerate(speeds):
        a, b = spans.directions[i], spans.directions[i + 1]
        aside = ca.cross(a, b)
        turn = ca.atan2(ca.sqrt(ca.dot(aside, aside) + ROUTE.turn**2), ca.dot(a, b)) - math.atan2(ROUTE.turn, 1)
        way = ca.tanh((speed + constants[2]) / constants[1])
        shares.append(shares[-1] * ca.exp(-constants[0] * turn * way))
        lost += (shares[-2] - shares[-1]) * speed
    if elongation_rate is None:
        return RouteFriction(shares, lost, 1.0)
    mean = sum(share * length for share, length in zip(shares, spans.lengths, strict=True)) / total
    return RouteFriction(shares, lost, 1 / mean)
