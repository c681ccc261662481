"""Inputs beyond the `minimum` and `maximum` of their parameters: applied as given, with a warning."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.control import Limits, StateFeedback, discretize, lqr

MODEL = """
pliant: 1
parameters:
  strength: 5 N
  force: {value: 0 N, input: true, minimum: -2 N, maximum: =strength}
bodies: {cart: {mass: 1 kg}}
joints: {rail: {type: prismatic, child: cart, axis: x, displacement: {input: =force, spring: 10, damper: 1}}}
outputs: {x: {coordinate: rail}}
"""


@pytest.fixture(scope="module")
def eqs():
    return pliant.derive(pliant.load_text(MODEL))


def limits_in(warnings):
    return [text for text in warnings if "its maximum" in text or "its minimum" in text]


class Constant:
    """A user's controller: it commands one value at one of its samples."""

    sample_time = 0.01

    def __init__(self, value: float) -> None:
        self.value = value

    def start(self, now):
        pass

    def command(self, now):
        return {"force": self.value if abs(now.t - 0.333) < 0.006 else 0.0}


@pytest.mark.parametrize(
    "force",
    [
        9.0,
        "9 N",
        "=9 N*sin(2*pi*t/1 s)",
        lambda t: 9 * np.sin(2 * np.pi * t),
        ([0, 0.203, 0.204, 0.205, 1], [0, 0, 9, 0, 0]),  # between saved times
    ],
)
def test_given_inputs(eqs, force):
    run = pliant.simulate(eqs, 0.5, inputs={"force": force}, save_every=0.05)
    (text,) = limits_in(run.remarks)
    assert "the input 'force' is 9 N at t = " in text
    assert "above its maximum of 5 N; it is applied as given, not limited" in text
    assert not limits_in(pliant.simulate(eqs, 0.5, inputs={"force": force}, parameters={"strength": 9.0}).remarks)


def test_inputs_of_the_model():
    text = MODEL + "inputs: {force: {step: {at: 0.2 s, after: -3 N}}}\n"
    (said,) = limits_in(pliant.simulate(pliant.derive(pliant.load_text(text)), 0.5).remarks)
    assert "is -3 N at t = 0.2" in said
    assert "below its minimum of -2 N" in said


def test_commands_of_other_controllers(eqs):
    (said,) = limits_in(pliant.simulate(eqs, 0.5, controllers=Constant(7.0), save_every=0.1).remarks)
    assert "is 7 N at t = 0.33 s, above its maximum of 5 N" in said
    assert not limits_in(pliant.simulate(eqs, 0.5, controllers=Constant(5.0)).remarks)


def test_designed_controllers_saturate(eqs):
    regulator = lqr(discretize(pliant.linearize(eqs), 0.01), states=[1e4, 1], inputs=0.01)
    away = eqs.state({"rail": -0.5})
    run = pliant.simulate(eqs, 0.5, start=away, controllers=StateFeedback(eqs, regulator))
    assert run.inputs["force"].max() == 5.0
    assert not limits_in(run.remarks)
    assert any("saturated" in text for text in run.remarks)
    wide = StateFeedback(eqs, regulator, limits=Limits(lower={"force": -50.0}, upper={"force": 50.0}))
    (said,) = limits_in(pliant.simulate(eqs, 0.5, start=away, controllers=wide).remarks)
    assert "is -50 N" in said


def test_limits_that_depend_on_parameters_follow_them(eqs):
    strong = eqs.at(parameters={"strength": 8.0})
    assert strong.declared_bounds("force") == (-2.0, 8.0)
    regulator = lqr(discretize(pliant.linearize(strong), 0.01), states=[1e4, 1], inputs=0.01)
    run = pliant.simulate(strong, 0.2, start=eqs.state({"rail": -0.5}), controllers=StateFeedback(strong, regulator))
    assert run.inputs["force"].max() == 8.0
    control = """
control:
  hold:
    type: lqr
    sample_time: 10 ms
    coordinate_weights: [{coordinate: rail, value: 1e4}]
    input_weights: [{input: force, weight: 0.01}]
"""
    held = pliant.derive(pliant.load_text(MODEL + control))
    for parameters, largest in (({}, 5.0), ({"strength": 8.0}, 8.0)):
        run = pliant.simulate(held, 0.2, start=held.state({"rail": -0.5}), parameters=parameters)
        assert run.inputs["force"].max() == largest


@pytest.mark.parametrize("analysis", [pliant.modes, pliant.linearize])
def test_analyses_at_one_time(eqs, analysis):
    (said,) = limits_in(analysis(eqs, inputs={"force": 9.0}).remarks)
    assert "the input 'force' is 9 N, above its maximum of 5 N" in said
    assert not limits_in(analysis(eqs, inputs={"force": 5.0}).remarks)


def test_equilibria(eqs):
    (said,) = limits_in(pliant.equilibrium(eqs, inputs={"force": 9.0}).remarks)
    assert "the input 'force' is 9 N, above its maximum of 5 N" in said


@pytest.mark.parametrize("many", [pliant.simulate_many, pliant.equilibrium_many])
def test_studies(eqs, many):
    found = many(eqs, pliant.cases({"force": [1.0, 9.0]}))
    assert ["its maximum" in str(text) for text in found["message"].values] == [False, True]
