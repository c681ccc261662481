"""The extended Kalman filter: it follows a large motion, and is the linear filter for small ones."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.control import ExtendedKalman, discretize, kalman


def test_a_swinging_double_pendulum_is_followed_from_a_wrong_start() -> None:
    eqs = pliant.derive("double_pendulum")
    outputs = tuple(eqs.model.spec.outputs)
    places = tuple(name for name in outputs if np.size(pliant.equilibrium(eqs).outputs[name]) == 3)[:1]
    T, sigma = 0.02, 1e-3
    truth = pliant.simulate(eqs, 2.0, save_every=T, rtol=1e-9)
    rng = np.random.default_rng(2)
    wrong = pliant.State(truth.q[0] + [0.2, -0.2], truth.v[0])
    spread = np.array([0.3, 0.3, 1.0, 1.0])
    ekf = ExtendedKalman(eqs, places, wrong, T, deviation=spread, process=1e-6, noise=sigma**2)
    errors = []
    for k, t in enumerate(truth.time[:-1]):
        y = truth[places[0]].values[k] + sigma * rng.normal(size=3)
        ekf.correct(y, float(t), {})
        errors.append(np.abs(ekf.state.q - truth.q[k]).max())
        ekf.predict(float(t), {})
    assert errors[0] < 0.3
    assert np.max(errors[50:]) < 10 * sigma
    # its estimated error has the right size
    said = np.sqrt(np.diag(ekf.covariance)[:2].max())
    assert 0.1 < np.sqrt(np.mean(np.square(errors[50:]))) / said < 10


def test_about_a_state_of_rest_it_is_the_linear_filter() -> None:
    eqs = pliant.derive("cart_pole")
    upright = pliant.linearize(eqs, at=np.zeros(2), independent=("rail", "hinge")).select(outputs=("cart", "pole"))
    T = 0.02
    linear = kalman(discretize(upright, T), process=0.0, inputs=1.0, outputs=1e-6)
    start = pliant.State(np.zeros(2), np.zeros(2))
    ekf = ExtendedKalman(eqs, ("cart", "pole"), start, T, deviation=1e-3, inputs=1.0, noise=1e-6)
    for k in range(300):
        ekf.correct(np.zeros(2), k * T, {"force": 0.0})
        if k < 299:
            ekf.predict(k * T, {"force": 0.0})
    np.testing.assert_allclose(ekf.covariance, linear.covariance, rtol=1e-5, atol=1e-12)


def test_closed_loops_are_refused() -> None:
    eqs = pliant.derive("four_bar")
    with pytest.raises(ValueError, match="without closed loops"):
        ExtendedKalman(eqs, (), pliant.State(np.zeros(3), np.zeros(3)), 0.01)
