"""Places along rods: points of quadrature and stations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from pliant.parts.assembly.build import Build
from pliant.parts.assembly.entries import SectionState, StrainSample
from pliant.parts.rod.chamber import actuation
from pliant.parts.rod.section_law import Law, section_effect

if TYPE_CHECKING:
    from pliant.parts.rod.properties import RodProperties

ROUND_OFF = 1e-9
"""Fractions of a rod's length closer than this coincide."""


def parts_between(breaks: Sequence[float], begin: float, end: float) -> list[tuple[float, float]]:
    """The intervals into which breaks divide an interval."""
    inside = [x for x in breaks if begin + ROUND_OFF < x < end - ROUND_OFF]
    return list(pairwise([begin, *inside, end]))


def gauss_between(begin: float, end: float, count: int) -> list[tuple[float, float]]:
    """Gauss points of an interval and their weights, whose sum is its length."""
    points, weights = np.polynomial.legendre.leggauss(count)
    half = (end - begin) / 2
    return [(begin + half * (1 + float(x)), half * float(w)) for x, w in zip(points, weights, strict=True)]


def product_weights(
    points: Sequence[float], begin: float, end: float, count: int = 0
) -> list[tuple[float, list[float]]]:
    """Points of a part of an interval, each with its weights for integrals of a function times the Lagrange polynomials through
    `points`: with these, the points carry the exact integral and, if there are two or more, the exact first moment."""
    product_weights = []
    for x, weight in gauss_between(begin, end, count or len(points) // 2 + 2):
        values = [float(np.prod([(x - q) / (p - q) for q in points if q != p])) for p in points]
        product_weights.append((x, [weight * value for value in values]))
    return product_weights


def divide(stops: Sequence[float], count: int) -> list[float]:
    """Ends of `count` elements of the interval from 0 to 1: equal ones, or as equal as possible with ends at the stops.

    If there are too few elements for all stops, they are equal.
    """
    places = [0.0, *stops, 1.0]
    if not stops or len(places) - 1 > count:
        return [k / count for k in range(count + 1)]
    gaps = [b - a for a, b in pairwise(places)]
    counts = [1] * len(gaps)
    while sum(counts) < count:
        counts[max(range(len(gaps)), key=lambda i: gaps[i] / counts[i])] += 1
    ends = [0.0]
    for a, b, n in zip(places[:-1], places[1:], counts, strict=True):
        ends += [a + (b - a) * j / n for j in range(1, n)] + [b]
    return ends


BEYOND = 2.0
"""A fraction of the length that no station has."""


@dataclass(frozen=True)
class Station:
    """A section of a rod at an arc length: indices of samples, and the index of the arc length [m] in the constants, followed by
    the weight of each sample."""

    samples: tuple[int, ...]
    constants: int


def is_on_rod(arc_length: float, length: float) -> bool:
    """Whether an arc length is between the ends of a rod, up to round-off."""
    return -ROUND_OFF * length <= arc_length <= (1 + ROUND_OFF) * length


def span_at(rod: RodProperties, x: float) -> int:
    """Number of points before fraction x of a rod at which something may jump."""
    stops = {round(place, 9) for place in rod.places.values()}
    places = [station.x for station in rod.sections]
    stops |= {round(a, 9) for a, b in pairwise(places) if a == b}
    return sum(1 for stop in stops if 0 < stop < 1 and stop <= x)


def note_sample(
    build: Build, rod: RodProperties, x: float, force: int, state: Callable[[Any, Any, Any, Any], SectionState], *,
    order: int, on_frames: bool = False, span: int | None = None, of_force: bool = True, of_moment: bool = True,
) -> None:  # fmt: skip
    """Register a section for outputs; span: for models with one formula along a piece of rod without jumps."""
    if span is None:
        span = span_at(rod, x)
    build.rod_strains(rod.name, StrainSample(float(x), of_force, of_moment, span, order, force, on_frames, state))


def material_wrench(strain: Any, rate: Any, at: Any, law: Law, mean: tuple[Any, Any] | None = None) -> Any:
    """Response of a section's material to its strains and their rates: force and moment, with the signs of the strains.

    mean: of a law that joins all pieces of a rod, the mean stretch and its rate.
    """
    of_one_metre = SimpleNamespace(**{**vars(at), "length": 1.0})
    return -section_effect(strain, rate, of_one_metre, ca.DM(0, 1), law, mean=mean).force


def section_state(
    strain: Any, rate: Any, at: Any, signal: Any, law: Law, mean: tuple[Any, Any] | None = None
) -> SectionState:
    """State of a section with these strains (6) and rates; `at` are the constants of the section law by name."""
    return SectionState(strain, material_wrench(strain, rate, at, law, mean), ca.SX(actuation(strain, signal)))


def station(build: Build, rod: str, arc_length: Any, fraction: Any, path: str, *, of_force: bool) -> Station:
    """The section of a rod at an arc length [m], a fraction of the rod's length, for its force or its moment and the
    corresponding strains."""
    samples = sorted(build.strain_samples[rod], key=lambda sample: sample.x)
    able = [k for k, sample in enumerate(samples) if (sample.of_force if of_force else sample.of_moment)]
    for amount in (fraction, 1 - fraction):
        hint = "give an arc length between 0 and the rod's length"
        build.require(amount + ROUND_OFF, path, "the arc length is off the rod", hint)
    regions = _regions(samples, able)
    if build.is_settled(fraction):
        x = build.nominal(fraction)
        used = next(window for end, window in regions if x < end)
        weights = dict(zip(used, _lagrange([samples[k].x for k in used], x), strict=True))
    else:
        # the samples used for this station depend on parameters
        weights, begin = dict.fromkeys(able, ca.SX(0)), -BEYOND
        for end, used in regions:
            inside, begin = ca.logic_and(fraction >= begin, fraction < end), end
            for k, weight in zip(used, _lagrange([samples[k].x for k in used], fraction), strict=True):
                weights[k] = weights[k] + ca.if_else(inside, weight, 0)
    return Station(tuple(weights), build.system.constants([arc_length, *weights.values()]))


def _regions(samples: Sequence[StrainSample], able: Sequence[int]) -> list[tuple[float, list[int]]]:
    """Samples of the interpolating polynomials, for stations in order: the end of each region, and the closest samples."""
    out: list[tuple[float, list[int]]] = []
    for _, group in groupby(able, key=lambda k: samples[k].span):
        inside = list(group)
        size = min(samples[inside[0]].order, len(inside))
        if out:
            last = out[-1][1][-1]
            out[-1] = ((samples[last].x + samples[inside[0]].x) / 2, out[-1][1])
        for first in range(len(inside) - size + 1):
            window = inside[first : first + size]
            following = inside[first + size : first + size + 1]
            end = (samples[window[0]].x + samples[following[0]].x) / 2 if following else BEYOND
            out.append((end, window))
    return out


def _lagrange(points: Sequence[float], x: Any) -> list[Any]:
    """Weights of points in the polynomial through them at x."""
    out = []
    for k, here in enumerate(points):
        value: Any = 1.0
        for j, other in enumerate(points):
            if j != k:
                value = value * (x - other) / (here - other)
        out.append(value)
    return out
