"""Functions of time as piecewise polynomials: recorded, sampled from a function, integrated, or interpolated to a command."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from pliant.language.arguments import ArgumentError

TERMS = 6
"""Coefficients of a piece, constant term first: polynomials of degree five (`PL_SERIES_TERMS` in the runtime)."""

# Smaller jumps are ignored: relative to the largest value, rate or acceleration, and relative to the largest value
# over powers of the length of the pieces, the effect of errors of samples on rates and accelerations.
SMOOTH, NOISE = 1e-5, np.array([1e-9, 1e-8, 1e-7])


@dataclass(frozen=True, eq=False)
class TimeSeries:
    """An input over time as a piecewise polynomial, constant before and after its times.

    time: n times [s], increasing. poly: coefficients of (t - time[i])^k from time[i] on, constant term first, n x 6 (those of
    higher terms may be omitted).
    """

    time: np.ndarray
    poly: np.ndarray

    def __post_init__(self) -> None:
        poly = np.zeros((len(self.time), TERMS))
        poly[:, : np.shape(self.poly)[1]] = self.poly
        object.__setattr__(self, "time", np.asarray(self.time, dtype=float))
        object.__setattr__(self, "poly", poly)

    def at(self, t: float) -> tuple[float, float, float]:
        """Value, rate and acceleration at time t [s]; at a jump those after it."""
        first, last = float(self.time[0]), float(self.time[-1])
        inside = min(max(t, first), last)
        i = int(np.searchsorted(self.time, inside, side="right")) - 1
        x, v, a = piece_ends(self.poly[i : i + 1], np.array([inside - self.time[i]]))[0].tolist()
        return (x, v, a) if inside == t else (x, 0.0, 0.0)

    @property
    def breaks(self) -> np.ndarray:
        """Times at which the value, its rate or its acceleration jumps [s]."""
        return self.time[np.any(self._jumps, axis=1)]

    @property
    def value_jumps(self) -> np.ndarray:
        """Times at which the value jumps [s]."""
        return self.time[self._jumps[:, 0]]

    @property
    def rate_jumps(self) -> np.ndarray:
        """Times at which the rate jumps [s]."""
        return self.time[self._jumps[:, 1]]

    @cached_property
    def _jumps(self) -> np.ndarray:
        """Whether value, rate and acceleration jump at each time, n x 3."""
        n = len(self.time)
        before, after = np.zeros((n, 3)), self.poly[:, :3] * (1.0, 1.0, 2.0)
        before[0, 0], after[-1, 1:] = self.poly[0, 0], 0.0
        length = np.full(n, np.inf)
        if n > 1:
            h = np.diff(self.time)
            before[1:] = piece_ends(self.poly[:-1], h)
            length[:-1] = h
            length[1:] = np.minimum(length[1:], h)
        size = np.maximum(np.max(np.abs(before), axis=0), np.max(np.abs(after), axis=0))
        noise = NOISE * size[0] / length[:, None] ** np.arange(3)
        return np.asarray(np.abs(after - before) > SMOOTH * size + noise)


def piece_ends(poly: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Value, rate and acceleration at the ends of pieces of length h [s], n x 3."""
    out = np.zeros((len(h), 3))
    for k in range(3):
        out[:, k] = np.sum(poly * h[:, None] ** np.arange(poly.shape[1]), axis=1)
        poly = poly[:, 1:] * np.arange(1, poly.shape[1])
    return out


def interpolated(time: np.ndarray, values: np.ndarray, interpolation: str) -> TimeSeries:
    """A piecewise polynomial through samples: "previous" (zero-order hold), "linear" or "cubic" (a spline).

    Raises ArgumentError if its coefficients are not finite.
    """
    poly = np.zeros((len(time), 4))
    poly[:, 0] = values
    with np.errstate(all="ignore"):  # checked below
        steps = np.diff(values) / np.diff(time)
        if interpolation == "linear" or (interpolation == "cubic" and len(time) == 2):
            poly[:-1, 1] = steps
        elif interpolation == "cubic" and len(time) > 2 and np.all(np.isfinite(steps)):
            poly[:-1] = _spline(time, values)
    if not (np.all(np.isfinite(poly)) and np.all(np.isfinite(steps))):
        raise ArgumentError("values change too steeply between two times", "look for numbers that are far too large")
    return TimeSeries(time, poly)


def _spline(time: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Coefficients of a cubic spline, constant term first; NaN if they overflow."""
    try:
        return np.asarray(scipy.interpolate.CubicSpline(time, values).c[::-1].T)
    except ValueError:  # its slopes are infinite
        return np.full((len(time) - 1, 4), np.nan)


def between(h: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Polynomials over lengths h [s] with given value, rate and acceleration (n x 3 each) at both ends, n x 6."""
    x, v, a = before.T
    d = after[:, 0] - x - h * (v + 0.5 * h * a)
    e, f = h * (after[:, 1] - v - h * a), 0.5 * h**2 * (after[:, 2] - a)
    third, fourth, fifth = 10 * d - 4 * e + f, -15 * d + 7 * e - 2 * f, 6 * d - 3 * e + f
    return np.column_stack([x, v, 0.5 * a, third / h**3, fourth / h**4, fifth / h**5])


def integrated(rate: TimeSeries, value: float) -> TimeSeries:
    """Positions that result from a rate and an initial value."""
    h, poly = np.diff(rate.time), rate.poly[:-1]
    k = np.arange(TERMS)
    values = value + np.concatenate([[0.0], np.cumsum(np.sum(poly * h[:, None] ** (k + 1) / (k + 1), axis=1))])
    ends = piece_ends(poly, h)
    begin = np.column_stack([values[:-1], poly[:, :2]])
    end = np.column_stack([values[1:], ends[:, :2]])
    last = [values[-1], *(ends[-1, :2] * (1.0, 0.5) if len(h) else rate.poly[-1, :2]), 0.0, 0.0, 0.0]
    return TimeSeries(rate.time, np.vstack([between(h, begin, end), last]))


def integrated_twice(acceleration: TimeSeries, value: float, rate: float) -> TimeSeries:
    """Positions that result from an acceleration, an initial value and an initial rate."""
    h, poly = np.diff(acceleration.time), acceleration.poly[:-1]
    k = np.arange(TERMS)
    powers = h[:, None] ** (k + 1)
    once = np.sum(poly * powers / (k + 1), axis=1)
    twice = h * np.sum(poly * powers / ((k + 1) * (k + 2)), axis=1)
    rates = rate + np.concatenate([[0.0], np.cumsum(once)])
    values = value + np.concatenate([[0.0], np.cumsum(h * rates[:-1] + twice)])
    at_ends = piece_ends(poly, h)[:, 0]
    begin = np.column_stack([values[:-1], rates[:-1], poly[:, 0]])
    end = np.column_stack([values[1:], rates[1:], at_ends])
    last = [values[-1], rates[-1], 0.5 * (at_ends[-1] if len(h) else acceleration.poly[-1, 0]), 0.0, 0.0, 0.0]
    return TimeSeries(acceleration.time, np.vstack([between(h, begin, end), last]))


# -- commands of a controller ------------------------------------------------------------------------------------------


def led_to(target: float, present: Sequence[float], t: float, duration: float) -> TimeSeries:
    """A smooth transition from the current value, rate and acceleration at time t [s] to a commanded value after a duration [s].

    Value, rate and acceleration are continuous. With a command every `duration`, rate and acceleration at the end are those of
    the parabola through the last three commands; so uniformly accelerated motions are reproduced exactly, and after a step the
    value rests from the third sample on. Without a further command it comes to rest within another `duration`.
    """
    x, v, a = present
    h = duration
    beyond = target - x - h * (v + 0.5 * h * a)
    reached = [target, v + h * a + 1.5 * beyond / h, a + beyond / h**2]
    rest = [target, 0.0, 0.0]
    pieces = between(np.array([h, h]), np.array([present, reached]), np.array([reached, rest]))
    return TimeSeries(np.array([t, t + h, t + 2 * h]), np.vstack([pieces, [target, 0, 0, 0, 0, 0]]))
