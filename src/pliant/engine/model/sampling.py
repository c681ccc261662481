"""Functions of time sampled as piecewise polynomials, with their jumps, kinks and pulses.

What a function does between samples is unknown, but much of it can be found: times at which its comparisons change (`CompareTime`),
deviations at many more times, and pulses as short as any that was found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

from pliant.language.arguments import ArgumentError
from pliant.language.time_series import TERMS, TimeSeries, piece_ends

Numbers = Callable[[np.ndarray], np.ndarray]
"""From n times [s] to n values."""


@dataclass(frozen=True)
class SamplingLimits:
    """Accuracy and effort of sampling; fractions of ranges are of the range of a function's values, of spans those of time."""

    first_pieces: int = 128
    """Initial number of pieces of a span."""
    most_pieces: int = 400_000
    error: float = 1e-10
    """Largest error, of the range."""
    noise: float = 1e-5
    """Random variation, of the range, up to which a function is sampled as well as it varies."""
    narrowest: float = 2.0**-36
    """Fraction of a span below which an interval is a straight line, as one that is not smooth contains a kink."""
    least_span: float = 2.0**-100
    """Fraction of a span below which an interval, as next to zero, is constant."""
    steep: float = 0.9
    """Share of the variation of a piece between two neighbouring samples above which a jump is sought there."""
    surveyed: int = 2**13
    """Number of times at which functions of numbers are evaluated in search of pulses,"""
    surveyed_at_once: int = 2**14
    """and those that accept arrays."""
    fewest: int = 2**9
    """Number of these times for slow functions, at least,"""
    survey_seconds: float = 0.2
    """and as many as take this long [s]."""
    most_surveyed: int = 2**22
    """Largest search for further pulses as short as those that were found,"""
    most_seconds: float = 20.0
    """and the longest [s]."""
    visible: float = 1e-3
    """Least height of such pulses, of the range."""
    same: float = 1e-14
    """Times closer to each other than this fraction of the later end of a run are the same."""
    traced: int = 2**11
    """Number of times at which the comparisons of a function are recorded, at most,"""
    together: int = 2**5
    """and at least."""
    most_switches: int = 2**14
    """Number of recorded switches above which comparisons depend on more than time."""


SAMPLING = SamplingLimits()
NODES = 0.5 - 0.5 * np.cos(np.pi * np.arange(TERMS) / (TERMS - 1))
TO_TERMS = np.linalg.inv(NODES[:, None] ** np.arange(TERMS))
TRIED = np.array([0.047, 0.23, 0.49, 0.76, 0.951])
TRIED_POWERS = TRIED[:, None] ** np.arange(TERMS)
PLACES = np.concatenate([NODES, TRIED])
IN_ORDER = np.argsort(PLACES)
GOLDEN = 0.6180339887498949


class CompareTime(float):
    """A time [s] that records where its comparisons with numbers change, also after arithmetic, and where differences vanish, as
    in the middle of a pulse. `now` is the time itself, `rate` the derivative of this number, `switches` are these times, to first
    order."""

    now: float
    rate: float
    switches: list[float]

    @staticmethod
    def at(t: float) -> CompareTime:
        """A time that nothing was compared with."""
        out = CompareTime(t)
        out.now, out.rate, out.switches = t, 1.0, []
        return out

    def _become(self, value: Any, rate: Any) -> Any:
        if not isinstance(value, float):
            return value
        out = CompareTime(value)
        out.now, out.rate, out.switches = self.now, float(rate), self.switches
        return out

    def _differ(self, value: Any, rate: Any) -> Any:
        out = self._become(value, rate)
        if isinstance(out, CompareTime):
            out._compare(0.0)
        return out

    def _compare(self, other: Any) -> None:
        rate = self.rate - getattr(other, "rate", 0.0)
        if not rate:
            return
        if isinstance(other, np.ndarray):
            self.switches.extend((self.now + (other.ravel() - float(self)) / rate).tolist())
        elif isinstance(other, int | float):
            self.switches.append(self.now + (float(other) - float(self)) / rate)

    def __lt__(self, other: Any) -> Any:
        self._compare(other)
        return float.__lt__(self, other)

    def __le__(self, other: Any) -> Any:
        self._compare(other)
        return float.__le__(self, other)

    def __gt__(self, other: Any) -> Any:
        self._compare(other)
        return float.__gt__(self, other)

    def __ge__(self, other: Any) -> Any:
        self._compare(other)
        return float.__ge__(self, other)

    def __add__(self, other: Any) -> Any:
        return self._differ(float.__add__(self, other), self.rate + getattr(other, "rate", 0.0))

    def __sub__(self, other: Any) -> Any:
        return self._differ(float.__sub__(self, other), self.rate - getattr(other, "rate", 0.0))

    def __rsub__(self, other: Any) -> Any:
        return self._differ(float.__rsub__(self, other), -self.rate)

    def __mul__(self, other: Any) -> Any:
        value = float.__mul__(self, other)
        if not isinstance(value, float):
            return value
        return self._become(value, self.rate * float(other) + float(self) * getattr(other, "rate", 0.0))

    def __truediv__(self, other: Any) -> Any:
        value = float.__truediv__(self, other)
        if not isinstance(value, float):
            return value
        return self._become(value, (self.rate - float(value) * getattr(other, "rate", 0.0)) / float(other))

    def __mod__(self, other: Any) -> Any:
        value = float.__mod__(self, other)
        if isinstance(value, float):
            self._compare(float(self) - value)
            self._compare(float(self) - value + float(other))
        return self._become(value, self.rate)

    def __floordiv__(self, other: Any) -> Any:
        self % other
        return float.__floordiv__(self, other)

    def __int__(self) -> int:
        self % 1.0
        return float.__int__(self)

    def __floor__(self) -> int:
        self % 1.0
        return float.__floor__(self)

    def __abs__(self) -> Any:
        self._compare(0.0)
        return self._become(float.__abs__(self), self.rate if self > 0 else -self.rate)

    def __neg__(self) -> Any:
        return self._become(float.__neg__(self), -self.rate)

    __radd__, __rmul__, __hash__ = __add__, __mul__, float.__hash__


class TimeFunction:
    """A function of one time [s], evaluated at many; with arrays if it then returns the same numbers.

    Raises ArgumentError if it returns a non-finite number, or none.
    """

    def __init__(self, function: Callable[[float], float], name: str) -> None:
        self.function, self.name = function, name
        self.takes_arrays: bool | None = None
        """None until it is known."""
        self.calls, self.seconds = 0, 0.0

    def __call__(self, times: np.ndarray) -> np.ndarray:
        begin = perf_counter()
        values = self._at_once(times) if self.takes_arrays else self._one_by_one(times)
        self.calls, self.seconds = self.calls + len(times), self.seconds + perf_counter() - begin
        if not np.all(np.isfinite(values)):
            at = int(np.argmin(np.isfinite(values)))
            raise ArgumentError(f"{self.name} returns {values[at]} at t = {times[at]:g} s")
        if self.takes_arrays is None:
            try:
                again = self._at_once(times)
                self.takes_arrays = again.shape == times.shape and np.allclose(again, values, rtol=1e-13, atol=0.0)
            except Exception:
                self.takes_arrays = False  # it is a function of one number
        return values

    def switches(self, begin: float, end: float) -> tuple[np.ndarray, bool]:
        """Times [s] at which comparisons and differences of its time change sign, and whether there are no others; none where it
        does not take such a time."""
        times, count, done = np.zeros(0), -1, 0
        try:
            while done < SAMPLING.traced:
                # twice as many without anything new: those of a periodic function have one in every period
                first, done = done, max(SAMPLING.together, 2 * done)
                for share in np.arange(first, done) * GOLDEN % 1.0:
                    t = CompareTime.at(begin + (end - begin) * float(share))
                    self.function(t)
                    times = np.append(times, t.switches)
                times = np.unique(times[(times > begin) & (times < end)])
                # predictions of the same time differ by round-off
                times = times[np.diff(times, prepend=-np.inf) > SAMPLING.same * max(abs(begin), abs(end))]
                if len(times) == count:
                    return times, True
                if len(times) > SAMPLING.most_switches:
                    break
                count = len(times)
        except Exception:
            pass  # it wants nothing but plain numbers
        return times if len(times) <= SAMPLING.most_switches else np.zeros(0), False

    def survey_size(self) -> int:
        """Number of times at which it is affordable to look for pulses, after some calls."""
        if self.takes_arrays:
            return SAMPLING.surveyed_at_once
        return max(
            SAMPLING.fewest, min(SAMPLING.surveyed, int(SAMPLING.survey_seconds * self.calls / max(self.seconds, 1e-9)))
        )

    def _one_by_one(self, times: np.ndarray) -> np.ndarray:
        function, t = self.function, 0.0
        out = np.empty(len(times))
        try:
            for i, t in enumerate(times.tolist()):
                out[i] = float(function(t))
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"{self.name} returns no number at t = {t:g} s: {error}") from None
        return out

    def _at_once(self, times: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.asarray(self.function(times.copy()), dtype=float)  # type: ignore[arg-type]


def sampled(
    function: Callable[[float], float], begin: float, end: float, *, jumps: Sequence[float] = (),
    name: str = "function", pieces: int = SAMPLING.first_pieces, surveyed: bool = True,
) -> TimeSeries:  # fmt: skip
    """A function of time [s] between two times as a piecewise polynomial, with an error of 1e-10 of its range.

    Jumps, kinks and pulses are located; known ones are given by `jumps`. pieces: initial number of pieces. surveyed: whether there
    may be pulses that are not visible at the ends of the initial pieces and at `jumps`. Raises ArgumentError if the function
    returns a non-finite number, or is too rough.
    """
    values = TimeFunction(function, name)
    shown, complete = values.switches(begin, end) if surveyed else (np.zeros(0), True)
    made = _Pieces(values, begin, end, np.union1d(jumps, shown), pieces, name)
    known = np.union1d(jumps, shown if complete else [])
    wanted = values.survey_size() if surveyed else 0
    made.survey(wanted)
    while surveyed and made.surveyed < (
        wanted := int(min(2 * (end - begin) / (least := made.narrowest_pulse(known)), 1e18))
    ):
        missing = wanted - made.surveyed
        if wanted > SAMPLING.most_surveyed or missing * values.seconds / values.calls > SAMPLING.most_seconds:
            raise ArgumentError(
                f"{name} has pulses of {least:.2g} s, and a search for all of them between {begin:g} s and {end:g} s would take "
                f"{wanted:.2g} evaluations",
                "give the times at which it changes suddenly, (function, times), or arrays with times and values",
            )
        made.survey(wanted)
    return made.series()


def sampled_at_once(function: Numbers, begin: float, end: float, *, jumps: np.ndarray, name: str) -> TimeSeries:
    """The same of a function of many times whose pulses are visible at `jumps`."""
    made = _Pieces(function, begin, end, jumps, SAMPLING.first_pieces, name)
    made.fit()
    return made.series()


class _Pieces:
    """The pieces of a function so far, with the times at which it was surveyed in search of pulses."""

    def __init__(self, function: Numbers, begin: float, end: float, jumps: np.ndarray, pieces: int, name: str) -> None:
        self.function, self.begin, self.end, self.name = function, begin, end, name
        # the range is sampled at aperiodic times, so that no period of the function is missed
        first = function(np.append(self._aperiodic(2 * pieces + 6), end))
        self._least, self._most, self.tolerance = np.inf, -np.inf, 1e-300
        self._saw(first)
        inside = np.unique(jumps[(jumps > begin) & (jumps < end)])
        parts = np.concatenate([[begin], inside, [end]])
        counts = np.maximum(1, np.round(pieces * np.diff(parts) / (end - begin)).astype(int))
        edges = np.concatenate(
            [np.linspace(a, b, n + 1)[:-1] for a, b, n in zip(parts, parts[1:], counts, strict=False)]
        )
        later = np.append(edges[1:], end)
        # the function before a jump
        self._spans = np.column_stack([edges, np.where(np.isin(later, inside), np.nextafter(later, edges), later)])
        self._low, self._high, self._poly = np.zeros(0), np.zeros(0), np.zeros((0, TERMS))
        self._time, self._value = np.zeros(0), np.zeros(0)

    @property
    def surveyed(self) -> int:
        """Number of times of the survey."""
        return len(self._time)

    def _aperiodic(self, count: int) -> np.ndarray:
        """Times in order without a period, whose gaps are below 2 / count of the span."""
        k = np.arange(count)
        return self.begin + (self.end - self.begin) / count * (k + k * GOLDEN % 1.0)

    def _saw(self, values: np.ndarray) -> None:
        """Errors are relative to all values so far."""
        self._least = min(self._least, float(np.min(values, initial=np.inf)))
        self._most = max(self._most, float(np.max(values, initial=-np.inf)))
        round_off = 1e-13 * max(abs(self._least), abs(self._most))
        self.tolerance = max(self.tolerance, SAMPLING.error * self.range, round_off)

    @property
    def range(self) -> float:
        """Largest difference of its values."""
        return self._most - self._least

    def survey(self, count: int) -> None:
        """Compare the function with its pieces at a number of times, and divide those that differ from it."""
        self._time = self._aperiodic(count)
        self._value = self.function(self._time)
        self._saw(self._value)
        if len(self._low):
            # take back pieces that differ from the survey
            order = np.argsort(self._low)
            self._low, self._high, self._poly = self._low[order], self._high[order], self._poly[order]
            wrong = self._wrong(self._low, self._high, self._poly)
            self._spans = np.column_stack([self._low, self._high])[wrong]
            self._low, self._high, self._poly = self._low[~wrong], self._high[~wrong], self._poly[~wrong]
        self.fit()

    def _wrong(self, low: np.ndarray, high: np.ndarray, poly: np.ndarray) -> np.ndarray:
        """Whether pieces, in order, differ from the function somewhere in the survey."""
        first = np.searchsorted(self._time, low)
        count = np.maximum(np.searchsorted(self._time, high, side="right") - first, 0)
        at = np.arange(count.sum()) + np.repeat(first - np.cumsum(count) + count, count)
        after = self._time[at] - np.repeat(low, count)
        values = np.repeat(poly[:, -1], count)
        for k in reversed(range(TERMS - 1)):
            values *= after
            values += np.repeat(poly[:, k], count)
        off = np.flatnonzero(np.abs(values - self._value[at]) > self.tolerance)
        wrong = np.zeros(len(low), dtype=bool)
        wrong[np.searchsorted(np.cumsum(count), off, side="right")] = True
        return wrong

    def fit(self) -> None:
        """Divide what is left until every piece is a polynomial."""
        spans, self._spans = self._spans, np.zeros((0, 2))
        narrowest = SAMPLING.narrowest * (self.end - self.begin)
        while len(spans):
            low, high = spans.T
            length = high - low
            times = (low[:, None] + length[:, None] * PLACES).clip(max=high[:, None])
            table = self.function(times.ravel()).reshape(times.shape)
            self._saw(table)
            poly, misfit = _polynomials(table, length)
            smooth = (misfit <= self.tolerance) & ~self._wrong(low, high, poly)
            narrow = length <= narrowest
            poly[narrow] = 0.0
            poly[narrow, 0] = table[narrow, 0]
            rises = narrow & (length > SAMPLING.least_span * (self.end - self.begin))
            poly[rises, 1] = (table[rises, TERMS - 1] - table[rises, 0]) / length[rises]
            self._keep(spans[smooth | narrow], poly[smooth | narrow])
            wide = ~(smooth | narrow)
            if wide.sum() + len(self._low) > SAMPLING.most_pieces:
                self._refuse(float(low[wide][-1]))
            if wide.sum() >= SAMPLING.first_pieces // 2:
                self._allow_noise(spans[wide])
            spans = self._divided(spans[wide], table[wide])
            spans = spans[np.argsort(spans[:, 0])]

    def _keep(self, spans: np.ndarray, poly: np.ndarray) -> None:
        self._low, self._high = np.append(self._low, spans[:, 0]), np.append(self._high, spans[:, 1])
        self._poly = np.vstack([self._poly, poly])

    def _divided(self, spans: np.ndarray, table: np.ndarray) -> np.ndarray:
        """Spans, with their values at PLACES, divided at a jump that makes up nearly all of their variation, or halved."""
        low, high = spans.T
        left = right = 0.5 * (low + high)
        changes = np.abs(np.diff(table[:, IN_ORDER], axis=1))
        at, rows = np.argmax(changes, axis=1), np.arange(len(spans))
        steep = changes[rows, at] > np.maximum(SAMPLING.steep * changes.sum(axis=1), 100 * self.tolerance)
        if np.any(steep):
            times = (low[:, None] + (high - low)[:, None] * PLACES[IN_ORDER]).clip(max=high[:, None])
            values = table[:, IN_ORDER]
            x, y = (np.stack([z[rows, at], z[rows, at + 1]])[:, steep] for z in (times, values))
            before, after = self._jump(x, y)
            jumps = ~np.isnan(before)
            left, right = left.copy(), left.copy()
            left[steep], right[steep] = np.where(jumps, before, left[steep]), np.where(jumps, after, right[steep])
        divided = np.vstack([np.column_stack([low, left]), np.column_stack([right, high])])
        return divided[divided[:, 1] > divided[:, 0]]

    def _jump(self, times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The last times before and the first ones after jumps between two times with two values (2 x n each); NaN where the
        function only varies fast."""
        (low, high), (before, after) = times.copy(), values.copy()
        least = np.spacing(np.max(np.abs(times), axis=0))  # times next to zero are closer to each other
        whole = np.abs(after - before)
        while True:
            middle = 0.5 * (low + high)
            is_jump = np.abs(after - before) > 0.5 * whole
            k = np.flatnonzero(is_jump & (high - low > least) & (middle > low) & (middle < high))
            if not len(k):
                return np.where(is_jump, low, np.nan), np.where(is_jump, high, np.nan)
            value = self.function(middle[k])
            earlier = np.abs(value - before[k]) > np.abs(after[k] - value)
            high[k[earlier]], after[k[earlier]] = middle[k[earlier]], value[earlier]
            low[k[~earlier]], before[k[~earlier]] = middle[k[~earlier]], value[~earlier]

    def _allow_noise(self, spans: np.ndarray) -> None:
        """Accept an error of the size of random variation: what polynomials miss in very short spans at several places."""
        places = spans[np.linspace(0, len(spans) - 1, 5).astype(int)]
        length = np.full(len(places), 1e-7) * (places[:, 1] - places[:, 0])
        low = places[:, 0] + 0.37 * (places[:, 1] - places[:, 0])
        table = self.function((low[:, None] + length[:, None] * PLACES).ravel()).reshape(-1, len(PLACES))
        noise = float(np.median(_polynomials(table, length)[1]))
        if noise <= self.tolerance:
            return
        if noise > SAMPLING.noise * self.range:
            self._refuse(float(low[-1]))
        self.tolerance = max(self.tolerance, 10 * noise)

    def _refuse(self, t: float) -> None:
        raise ArgumentError(
            f"{self.name} is too rough to be sampled, as at t = {t:g} s", "give a smooth function, or arrays with times"
        )

    def narrowest_pulse(self, known: np.ndarray) -> float:
        """Shortest time between two opposite changes without a known time at or between them [s]; infinite if there are none."""
        order = np.argsort(self._low)
        low, length = self._low[order], (self._high - self._low)[order]
        after = length[:, None] * np.array([0, 1 / 3, 2 / 3, 1.0])
        times = (low[:, None] + after).ravel()
        values = _values(np.repeat(self._poly[order], 4, axis=0), after.ravel())
        turns = _turning_points(values, SAMPLING.visible * self.range)
        crossings = []
        for i, j in pairwise(turns):
            part = values[i : j + 1]
            passed = part >= 0.5 * (part[0] + part[-1]) if part[-1] > part[0] else part <= 0.5 * (part[0] + part[-1])
            crossings.append(times[i + int(np.argmax(passed))])
        least = SAMPLING.same * max(abs(self.begin), abs(self.end))
        first, last = np.array(crossings[:-1]) - least, np.array(crossings[1:]) + least
        hidden = np.searchsorted(known, first) == np.searchsorted(known, last, side="right")
        return float(np.min(np.maximum(last - first, least)[hidden], initial=np.inf))

    def series(self) -> TimeSeries:
        """The pieces in order."""
        order = np.argsort(self._low)
        low, poly = self._low[order], self._poly[order]
        last = np.zeros(TERMS)
        last[:3] = piece_ends(poly[-1:], np.array([self.end - low[-1]]))[0] * (1.0, 1.0, 0.5)
        return TimeSeries(np.append(low, self.end), np.vstack([poly, last]))


def _polynomials(table: np.ndarray, length: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Polynomials through values at PLACES of spans of some lengths [s], and their largest misfit in between."""
    x = table[:, :1]
    terms = (table[:, :TERMS] - x) @ TO_TERMS.T
    misfit = np.max(np.abs(terms @ TRIED_POWERS.T - (table[:, TERMS:] - x)), axis=1)
    terms[:, :1] = x
    with np.errstate(all="ignore"):  # of very short spans, which are straight lines
        return terms / length[:, None] ** np.arange(TERMS), misfit


def _values(poly: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Values of polynomials (n x terms) at times after their beginnings [s]."""
    out = poly[:, -1].copy()
    for k in reversed(range(poly.shape[1] - 1)):
        out *= after
        out += poly[:, k]
    return out


def _turning_points(values: np.ndarray, least: float) -> list[int]:
    """Indices of the ends, and of minima and maxima between which values change by more than `least`."""
    change = np.flatnonzero(np.diff(values))
    sign = np.sign(np.diff(values)[change])
    extremes = [0, *change[1:][sign[1:] != sign[:-1]].tolist(), len(values) - 1]
    out, low, high, rising, falling = [], 0, 0, True, True
    for k in extremes:
        if rising and values[k] > values[high]:
            high = k
        if falling and values[k] < values[low]:
            low = k
        if rising and values[high] - values[k] > least:
            out.append(high)
            low, rising, falling = k, False, True
        elif falling and values[k] - values[low] > least:
            out.append(low)
            high, rising, falling = k, True, False
    return [*out, high if rising else low]
