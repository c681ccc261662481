"""Functions of time as piecewise polynomials: accuracy, jumps, pulses, noise, and the number of calls."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import pytest

from pliant.engine.model import sampling
from pliant.engine.model.sampling import CompareTime, sampled
from pliant.language.arguments import ArgumentError
from pliant.language.time_series import TimeSeries

RNG = np.random.default_rng(3)


def values(series: TimeSeries, times: np.ndarray) -> np.ndarray:
    return np.array([series.at(t) for t in times])


def integral(series: TimeSeries) -> float:
    """Of the piecewise polynomial, exactly."""
    powers = np.diff(series.time)[:, None] ** np.arange(1, 7) / np.arange(1, 7)
    return float(np.sum(series.poly[:-1] * powers))


def test_a_smooth_function_is_sampled_with_its_derivatives():
    series = sampled(lambda t: np.sin(40 * t) * np.exp(-t), 0.0, 3.0)
    times = RNG.uniform(0, 3, 500)
    found = values(series, times)
    z = np.exp((40j - 1) * times)
    expected = np.column_stack([z.imag, ((40j - 1) * z).imag, ((40j - 1) ** 2 * z).imag])
    for k, tolerance in enumerate((1e-9, 40e-7, 1600e-5)):
        np.testing.assert_allclose(found[:, k], expected[:, k], atol=tolerance)
    assert not np.any((series.breaks > 0) & (series.breaks < 3))


def test_many_periods_are_all_there():
    """256 periods, twice as many as the pieces to begin with: samples at equal distances would alias."""
    series = sampled(lambda t: np.sin(2 * np.pi * 20 * t), 0.0, 12.8)
    times = RNG.uniform(0, 12.8, 300)
    np.testing.assert_allclose(values(series, times)[:, 0], np.sin(2 * np.pi * 20 * times), atol=1e-9)


def test_jumps_and_bends_are_found():
    jump = sampled(lambda t: 2.0 if t >= 0.3 else -1.0, 0.0, 1.0)
    assert jump.breaks == pytest.approx([0.3], abs=1e-15)
    assert [jump.at(t)[0] for t in (0.2999999, 0.3, 0.9)] == [-1.0, 2.0, 2.0]
    bend = sampled(lambda t: abs(t - 0.37), 0.0, 1.0)
    inside = bend.breaks[(bend.breaks > 0) & (bend.breaks < 1)]
    np.testing.assert_allclose(inside, 0.37, atol=1e-9)
    known = sampled(lambda t: 5.0 if t < 0.4 else t, 0.0, 1.0, jumps=[0.4])
    assert known.breaks[0] == 0.4
    assert len(known.time) < 140


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda t: "much", "returns no number at t = 0 s"),
        (lambda t: [1.0, 2.0], "returns no number at t = 0 s"),
        (lambda t: np.nan if t > 0.5 else 1.0, "returns nan at t = 0."),
    ],
)
def test_functions_of_no_use(function, message):
    with pytest.raises(ArgumentError, match=message):
        sampled(function, 0.0, 1.0)


def test_a_rough_function_is_refused_after_few_calls():
    calls = []
    with pytest.raises(ArgumentError, match=r"too rough to be sampled.*arrays with times"):
        sampled(lambda t: calls.append(t) or RNG.normal(), 0.0, 1.0)
    assert len(calls) < 20_000


def train(period: float, width: float, begin: float = 0.0377):
    return lambda t: 100.0 if (t - begin) % period < width else 0.0


@pytest.mark.parametrize("duty", [0.001, 0.01, 0.1, 0.5])
@pytest.mark.parametrize("period", [0.1, 0.37])
def test_no_pulse_of_a_train_is_missed(period: float, duty: float) -> None:
    f = train(period, duty * period)
    whole = math.floor((20 - 0.0377) / period) + 1
    rest = max(0.0, 0.0377 - (1 - duty) * period)  # the end of the pulse before the first one
    late = max(0.0, 0.0377 + (whole - 1) * period + duty * period - 20)
    expected = 100 * (whole * duty * period + rest - late)
    assert integral(sampled(f, 0.0, 20.0)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("width", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("begin", [0.003, 3.21987, 13.2345, 19.9])
def test_a_single_pulse_is_found_anywhere(width: float, begin: float) -> None:
    """Comparisons show where it is, at any width."""
    assert integral(sampled(lambda t: 1 / width if begin <= t < begin + width else 0.0, 0.0, 20.0)) == pytest.approx(1)
    narrow = sampled(lambda t: math.exp(-(((t - begin) / width) ** 2)) / width, 0.0, 20.0)
    whole = 0.5 * math.sqrt(math.pi) * (math.erf((20 - begin) / width) + math.erf(begin / width))
    assert integral(narrow) == pytest.approx(whole, rel=1e-7)


def test_pulses_at_irregular_times_are_found_from_one_another() -> None:
    """Comparisons with an array inside a function of NumPy, whose result is no array, and pulses that hide their times."""
    begins = np.sort(RNG.uniform(0, 19.9, 60))
    shown = sampled(lambda t: float(np.any((t >= begins) & (t < begins + 2e-4))), 0.0, 20.0)
    assert integral(shown) == pytest.approx(60 * 2e-4)
    hidden = sampled(lambda t: float(np.any(np.abs(np.float64(t) - begins) < 2.5e-3)), 0.0, 20.0)
    edges = np.union1d(begins - 2.5e-3, begins + 2.5e-3)
    inside = np.min(np.abs(0.5 * (edges[1:] + edges[:-1])[:, None] - begins), axis=1) < 2.5e-3
    assert integral(hidden) == pytest.approx(float(np.sum(np.diff(edges)[inside])), rel=1e-9)


def test_functions_that_take_arrays_are_called_with_them() -> None:
    calls = []
    sampled(lambda t: calls.append(1) or np.sin(3 * t), 0.0, 2.0)
    assert len(calls) < 500
    lists = sampled(lambda t: [0.0, 2.0][int(t > 1)], 0.0, 2.0)  # this one does not
    assert integral(lists) == pytest.approx(2.0)


def test_an_expensive_function_is_called_some_thousand_times() -> None:
    calls = []

    def slow(t: float) -> float:
        calls.append(t)
        time.sleep(2e-4)
        return math.sin(t)

    sampled(slow, 0.0, 20.0)
    assert len(calls) < 4000


def test_a_search_that_takes_too_long_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(sampling, "SAMPLING", replace(sampling.SAMPLING, most_seconds=0.1))
    hidden = np.arange(1, 20) + 0.1 * RNG.uniform(size=19)

    def slow(t: float) -> float:
        time.sleep(2e-5)
        return float(np.min(np.abs(np.float64(t) - hidden)) < 5e-3)

    with pytest.raises(ArgumentError, match=r"has pulses of 0.01 s.*give the times"):
        sampled(slow, 0.0, 20.0, jumps=hidden[:1] + 4e-3)
    edges = np.union1d(hidden - 5e-3, hidden + 5e-3)
    assert integral(sampled(slow, 0.0, 20.0, jumps=edges)) == pytest.approx(19e-2)


@pytest.mark.parametrize("noise", [1e-12, 1e-8, 1e-6])
def test_small_noise_is_no_obstacle(noise: float) -> None:
    calls = []
    series = sampled(lambda t: calls.append(t) or math.sin(t) + noise * math.sin(1e11 * t), 0.0, 5.0)
    times = RNG.uniform(0, 5, 200)
    np.testing.assert_allclose(values(series, times)[:, 0], np.sin(times), atol=20 * noise + 1e-9)
    assert len(calls) < 50_000


def test_a_time_knows_where_comparisons_of_it_change() -> None:
    def switches(function) -> list[float]:
        t = CompareTime.at(1.25)
        assert function(t) == function(1.25)
        return t.switches

    assert switches(lambda t: 2 * t - 1 > 4) == pytest.approx([0.5, 2.5])  # 2 t - 1 vanishes at 0.5
    assert switches(lambda t: t % 0.5 < 0.1) == pytest.approx([1.0, 1.5, 1.1])
    assert switches(lambda t: abs(1 - t / 3)) == pytest.approx([3.0] * 3)
    assert switches(lambda t: (t >= np.array([0.3, 2.0])).any()) == pytest.approx([0.3, 2.0])
    assert switches(lambda t: math.sin(t) > 0.2) == []
    assert switches(lambda t: t // 1) == pytest.approx([1.0, 2.0])
    assert switches(int) == pytest.approx([1.0, 2.0])
