"""Inputs as given by callers: texts, arrays with times, functions, and their faults."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.engine.input_values import input_value
from pliant.language.arguments import ArgumentError
from pliant.language.time_series import TimeSeries

TEXT = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters:
  force: {value: 0 N, input: true}
  way: {value: 0 m, input: true}
  size: 4 N
bodies: {block: {mass: 2 kg}, cart: {mass: 1 kg}}
joints:
  slide: {type: prismatic, child: block, axis: x, displacement: {input: =force}}
  rail: {type: prismatic, child: cart, axis: x, displacement: {motion: =way}}
"""


@pytest.fixture(scope="module")
def eqs() -> pliant.Equations:
    return pliant.derive(pliant.load_text(TEXT))


@pytest.mark.parametrize(
    ("text", "value"), [("3 N", 3.0), ("2 kN", 2000.0), ("5", 5.0), ("=size/2", 2.0), ("size/2", 2.0)]
)
def test_texts_that_do_not_vary(eqs, text, value):
    assert eqs.at(inputs={"force": text}).given_inputs == {"force": value}
    a, _ = eqs.forward_dynamics([0.0, 0.0], [0.0, 0.0], inputs={"force": text})
    assert a[0] == pytest.approx(value / 2)


@pytest.mark.parametrize("text", ["2*sin(3*t) N", "=2 N*sin(3*t)", "2 N * sin(3*t)", "size/2*sin(3*t)"])
def test_texts_of_time_functions_and_arrays_say_the_same(eqs, text):
    time = np.linspace(0, 1, 2001)
    given = (text, lambda t: 2 * np.sin(3 * t), (time, 2 * np.sin(3 * time), "cubic"))
    ends = [pliant.simulate(eqs, 1.0, rtol=1e-9, inputs={"force": x})["slide"].values[-1] for x in given]
    exact = 2 / 2 * (1 / 3 - np.sin(3.0) / 9)
    np.testing.assert_allclose(ends, exact, atol=1e-8)


def test_parameters_count_in_texts(eqs):
    run = pliant.simulate(eqs, 1.0, inputs={"force": "=size*t/1 s"}, parameters={"size": 6.0}, rtol=1e-9)
    assert run["slide"].values[-1] == pytest.approx(6 / 2 / 6, rel=1e-8)


def test_a_jump_in_a_text_is_met_exactly(eqs):
    run = pliant.simulate(eqs, 1.0, inputs={"force": "if(t < 0.3712 s, 0, 3) N"})
    assert run["slide"].values[-1] == pytest.approx(1.5 * 0.6288**2 / 2, abs=1e-13)


def test_samples_are_linear_between_their_times_or_smooth_where_they_move_something(eqs):
    samples = ([0.0, 0.5, 1.0], [0.0, 1.0, 0.0])
    force = eqs.at(inputs={"force": samples}).binding
    assert force.input_motion(0, 0.25) == pytest.approx((0.5, 2.0, 0.0))
    way = eqs.at(inputs={"way": samples}).binding
    assert way.input_motion(1, 0.25) == pytest.approx((0.75, 2.0, -8.0))
    held = eqs.at(inputs={"way": (*samples, "previous")}).binding
    assert held.input_motion(1, 0.25) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("3 m", "expected a force, got a length"),
        ("3 bananas", "the input 'force'"),
        ("2*way", "cannot depend on the input 'way'"),
        ("2*wind", "wind"),
        (([0, 1], [0, 1, 2]), r"times of shape \(2,\) and values of shape \(3,\)"),
        (([0, 2, 1], [0, 1, 2]), "must increase; at index 2, 1 s follows 2 s"),
        (([0, 1, 1], [0, 1, 2]), "must increase; at index 2, 1 s follows 1 s"),
        (([0, 1, np.nan], [0, 1, 2]), "time at index 2 of the input 'force' is not finite"),
        (([0, 1, 2], [0, np.inf, 2]), "value at index 1 of the input 'force' is not finite"),
        (([0, 1], [0, 1], "spline"), "unknown interpolation 'spline'"),
        ([1.0, 2.0, 3.0], r"write \(times, values\)"),
        (np.ones(5), r"write \(times, values\)"),
        (([], []), "as many times as values"),
        ((["a", "b"], [1, 2]), "must be numbers"),
        (lambda t: None, "returns no number"),
        (lambda t: np.nan, "returns nan at t = 0 s"),
        (None, "must be a finite number"),
    ],
    ids=lambda x: x if isinstance(x, str) else type(x).__name__,
)
def test_what_is_wrong_is_said(eqs, value, message):
    with pytest.raises(ArgumentError, match=message):
        pliant.simulate(eqs, 1.0, inputs={"force": value})


def test_functions_of_time_need_a_span(eqs):
    for value in (lambda t: t, "t*1 N"):
        with pytest.raises(ArgumentError, match="which only a simulation reads"):
            eqs.forward_dynamics([0.0, 0.0], [0.0, 0.0], inputs={"force": value})
        assert isinstance(input_value(eqs.model, "force", value, {}, (0.0, 1.0)), TimeSeries)
