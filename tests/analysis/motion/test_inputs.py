"""Inputs that the caller gives stand in for those of the model."""

import numpy as np
import pytest

import pliant


@pytest.fixture(scope="module")
def cart_pole():
    return pliant.derive("cart_pole")


def test_a_given_input_replaces_the_waveform_of_the_model(cart_pole):
    rest = np.zeros(2), np.zeros(2)
    pushed = cart_pole.forward_dynamics(*rest, inputs={"force": 5.0})[0]
    stepped = cart_pole.forward_dynamics(*rest, t=1.0)[0]  # the model's step to 1 N
    np.testing.assert_allclose(pushed, 5 * stepped, rtol=1e-12)
    np.testing.assert_allclose(cart_pole.forward_dynamics(*rest)[0], 0, atol=1e-15)


def test_a_given_input_holds_during_a_run(cart_pole):
    run = pliant.simulate(cart_pole, 0.3, inputs={"force": 0.0}, parameters={"friction": 0.0})
    assert run.energy["supplied"].values[-1] == 0
    run = pliant.simulate(cart_pole, 0.3, parameters={"friction": 0.0})
    assert abs(run.energy["supplied"].values[-1]) > 1e-6


def test_a_mid_step_function_takes_an_input_over(cart_pole):
    def push(now):
        now.inputs["force"] = 0.0 if now.t > 0.1 else 2.0

    run = pliant.simulate(cart_pole, 0.4, method=pliant.ExplicitRungeKutta(step=0.01), mid_step=push)
    work = run.energy["supplied"].values
    assert work[run.time < 0.1].max() > 1e-4
    np.testing.assert_allclose(np.diff(work[run.time > 0.12]), 0, atol=1e-15)
