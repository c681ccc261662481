"""Piecewise polynomials of time: jumps, integrals, and the way from one command to the next."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.engine.model.sampling import sampled
from pliant.language.arguments import ArgumentError
from pliant.language.time_series import TimeSeries, between, integrated_twice, interpolated, led_to, piece_ends

RNG = np.random.default_rng(3)


def values(series: TimeSeries, times: np.ndarray) -> np.ndarray:
    return np.array([series.at(t) for t in times])


def test_a_piece_has_the_ends_it_was_given():
    before, after = RNG.normal(size=(2, 4, 3))
    h = np.array([0.1, 0.7, 1.3, 4.0])
    poly = between(h, before, after)
    np.testing.assert_allclose(piece_ends(poly, np.zeros(4)), before, atol=1e-14)
    np.testing.assert_allclose(piece_ends(poly, h), after, atol=1e-11)


def test_accelerations_are_integrated_twice():
    acceleration = sampled(lambda t: -25 * np.sin(5 * t), 0.0, 4.0)
    position = integrated_twice(acceleration, 0.0, 5.0)
    times = RNG.uniform(0, 4, 200)
    expected = np.column_stack([np.sin(5 * times), 5 * np.cos(5 * times), -25 * np.sin(5 * times)])
    for k, tolerance in enumerate((1e-9, 1e-6, 2e-4)):
        np.testing.assert_allclose(values(position, times)[:, k], expected[:, k], atol=tolerance)
    held = integrated_twice(TimeSeries(np.array([1.0, 3.0]), np.full((2, 1), 2.0)), 0.5, -1.0)
    np.testing.assert_allclose(held.at(3.0), [0.5 - 2 + 4, 3.0, 2.0], atol=1e-14)


def test_breaks_of_interpolated_samples():
    time = np.array([0.0, 1.0, 2.0, 3.0])
    np.testing.assert_array_equal(interpolated(time, np.array([0, 1, 1, 1.0]), "previous").breaks, [1.0])
    linear = interpolated(time, np.array([0, 1, 2, 0.0]), "linear")
    np.testing.assert_array_equal(linear.breaks, [0.0, 2.0, 3.0])  # the straight line through 1 has no bend there
    np.testing.assert_array_equal(linear.rate_jumps, [0.0, 2.0, 3.0])
    cubic = interpolated(time, np.array([0, 1, 2, 0.0]), "cubic")
    assert not np.any((cubic.breaks > 0) & (cubic.breaks < 3))


def commanded(function, period: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Times and (value, rate, acceleration) of an input led from command to command, started at rest at zero."""
    present, times, found = (0.0, 0.0, 0.0), [], []
    for k in range(count):
        way = led_to(function(k * period), present, k * period, period)
        inner = k * period + period * np.linspace(0, 1, 21)[:-1]
        times.append(inner)
        found.append(values(way, inner))
        present = way.at((k + 1) * period)
    return np.concatenate(times), np.concatenate(found)


def test_commands_are_reached_one_sample_later_without_a_jump():
    period = 0.01
    times, found = commanded(lambda t: np.sin(3 * t), period, 100)
    at_samples = found[::20]
    np.testing.assert_allclose(at_samples[1:, 0], np.sin(3 * (times[::20][1:] - period)), atol=1e-12)
    step = period / 20
    # rates and accelerations are those of the way, across samples, too: nothing jumps
    for k in (0, 1):
        slopes = np.gradient(found[:, k], step)[200:-1]
        np.testing.assert_allclose(slopes, found[200:-1, k + 1], atol=0.01 * 3 ** (k + 1))


def test_a_uniformly_accelerated_command_is_reproduced():
    times, found = commanded(lambda t: 0.5 * 7 * t**2 - t, 0.05, 10)
    late = times > 4 * 0.05 - 1e-9
    lag = times[late] - 0.05
    expected = np.column_stack([3.5 * lag**2 - lag, 7 * lag - 1, np.full(len(lag), 7.0)])
    np.testing.assert_allclose(found[late], expected, atol=1e-9)


def test_a_step_rests_after_three_samples():
    times, found = commanded(lambda t: 1.0, 0.1, 6)
    rested = times > 0.3 - 1e-9
    np.testing.assert_allclose(found[rested], np.tile([1.0, 0, 0], (int(np.sum(rested)), 1)), atol=1e-10)
    assert 1.3 < np.max(found[:, 0]) < 1.4
    # and by itself, without another command, after two
    way = led_to(1.0, (0.0, 0.0, 0.0), 0.0, 0.1)
    assert way.at(0.1)[0] == pytest.approx(1.0)
    assert way.at(0.5) == (1.0, 0.0, 0.0)


def test_smooth_commands_converge_with_the_sample_time():
    errors = []
    for period in (0.02, 0.01):
        times, found = commanded(lambda t: t**3 * np.sin(3 * t), period, round(1 / period))
        lag = times[times > 0.3] - period
        s, c = np.sin(3 * lag), np.cos(3 * lag)
        exact = 6 * lag * s + 18 * lag**2 * c - 9 * lag**3 * s
        errors.append(np.max(np.abs(found[times > 0.3, 2] - exact)))
    assert errors[1] < 0.6 * errors[0]


@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
@pytest.mark.parametrize("values", [[0.0, 1.7e308, -1.7e308, 0.0], [0.0, 1e308, 0.0, 0.0]])
def test_samples_too_far_apart_for_numbers_are_refused(interpolation: str, values: list[float]) -> None:
    with pytest.raises(ArgumentError, match="too steeply"):
        interpolated(np.array([0.0, 0.1, 0.2, 0.3]), np.array(values), interpolation)


@pytest.mark.parametrize(
    ("series", "message"),
    [
        ("{times: [1, 0], values: [0 N, 5 N]}", "the times must increase, but 0 s follows 1 s"),
        ("{times: [0, 0], values: [0 N, 5 N]}", "the times must increase"),
        ("{times: [0, 1000], values: [0 N, 5 N], time_unit: ms}", "`time_unit` applies to a file"),
        ("{times: [0, 1], values: [0, 5], unit: kN}", "`unit` applies to a file"),
    ],
)
def test_listed_samples_are_checked(series: str, message: str) -> None:
    text = f"""
pliant: 1
parameters: {{push: {{value: 0 N, input: true}}}}
bodies: {{cart: {{mass: 1 kg}}}}
joints: {{rail: {{type: prismatic, axis: x, child: cart, displacement: {{input: =push}}}}}}
inputs: {{push: {{series: {series}}}}}
"""
    with pytest.raises(pliant.SpecError, match=message):
        pliant.load_text(text)
