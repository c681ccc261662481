"""Designs that would silently not do what they are for: mismatched observers, unweighted free modes, odd numbers."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.control import (
    Limits,
    Predictive,
    Reference,
    StateFeedback,
    closed_loop,
    discretize,
    kalman,
    lqr,
    luenberger,
    reduce,
)

NAN = float("nan")


@pytest.fixture(scope="module")
def eqs():
    return pliant.derive("cart_pole")


@pytest.fixture(scope="module")
def linear(eqs):
    return pliant.linearize(eqs, at=np.zeros(2), independent=("rail", "hinge")).select(outputs=("cart", "pole"))


@pytest.fixture(scope="module")
def sampled(linear):
    return discretize(linear, 0.02)


WEIGHTS = [10.0, 50.0, 1.0, 1.0]


def test_an_observer_for_another_loop_is_refused(eqs, linear, sampled):
    regulator = lqr(sampled, states=WEIGHTS)
    for other, text in (
        (discretize(linear, 0.01), "a sample time of 0.01 s, the regulator for 0.02 s"),
        (discretize(linear, 0.02, delay=0.005), "a delay of 0.005 s, the regulator for 0 s"),
        (discretize(reduce(linear, keep=3).linear, 0.02), "the states "),
    ):
        with pytest.raises(ValueError, match=f"the observer was designed for {text}"):
            StateFeedback(eqs, regulator, observer=kalman(other))
    StateFeedback(eqs, regulator, observer=kalman(sampled))
    StateFeedback(eqs, lqr(linear, states=WEIGHTS), observer=kalman(sampled), period=0.02)


def test_a_free_mode_without_a_weight_is_refused(linear, sampled):
    """Its eigenvalue would stay where it is: the cart would never return."""
    for system in (linear, sampled):
        for weights in (0.0, {"hinge": 1.0, "d(rail)/dt": 1.0}):
            with pytest.raises(
                ValueError, match=r"do not include the mode that neither grows nor decays \(mostly rail\)"
            ):
                lqr(system, states=weights)
    # the unstable mode needs no weight: it is reflected
    assert np.abs(lqr(sampled, states={"rail": 1.0}).poles).max() < 1
    assert np.abs(lqr(sampled, states=0.0, outputs={"cart": 1.0}).poles).max() < 1


@pytest.mark.parametrize(
    ("design", "message"),
    [
        (lambda x, s: reduce(s, keep=2), "reduce takes a linear system"),
        (lambda x, s: reduce(x, keep=1.5), "keep must be an integer"),
        (lambda x, s: reduce(x, below=NAN), "below must be a positive number"),
        (lambda x, s: reduce(x, below=-1.0), "below must be a positive number"),
        (lambda x, s: discretize(x, "20 ms"), "the sample time must be a positive number"),
        (lambda x, s: discretize(x, 0.02, delay=NAN), "the delay must be a number"),
        (lambda x, s: luenberger(s, [0.5] * 4), "is given 4 times, but only 2 of the outputs"),
        (lambda x, s: luenberger(x, [-1 + 1j, -2, -3, -4]), "complex poles come in pairs"),
        (lambda x, s: luenberger(x, [NAN, -2, -3, -4]), "finite numbers"),
        (lambda x, s: Limits(rate={"force": -3.0}).bounds(("force",)), "rate of input 'force' must be above zero"),
        (lambda x, s: Limits(rate={"force": NAN}).bounds(("force",)), "rate of input 'force' must be above zero"),
    ],
)
def test_odd_numbers_are_refused(linear, sampled, design, message):
    with pytest.raises(ValueError, match=message):
        design(linear, sampled)


@pytest.mark.parametrize("weight", ["output_weight", "effort", "change"])
def test_negative_weights_of_predictions_are_refused(eqs, weight):
    with pytest.raises(ValueError, match=f"{weight} must be a number at least 0"):
        Predictive(eqs, ("cart",), Reference.constant([0.1]), sample_time=0.04, horizon=5, **{weight: -1.0})


def test_the_loop_decays_as_its_poles_say(eqs, sampled):
    """Small deviations of the simulated robot follow the slowest poles of the complete loop."""
    controller = StateFeedback(eqs, lqr(sampled, states=WEIGHTS, inputs=0.1))
    loop = closed_loop(controller)
    start = pliant.State(np.array([1e-5, 0.0]), np.zeros(2))
    run = pliant.simulate(eqs, 8.0, start=start, controllers=controller, rtol=1e-10, atol=1e-16, save_every=0.02)
    size = np.linalg.norm(np.hstack([run.q, run.v]), axis=1)
    observed = (size[350] / size[250]) ** (1 / 100)
    assert observed == pytest.approx(loop.largest, rel=2e-3)
