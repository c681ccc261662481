"""Weights bound the round-off of expressions, also where terms cancel."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from pliant.engine.model.inputs import signal_weights, weights

RNG = np.random.default_rng(11)
EPS = 2.0**-53
x, y = ca.SX.sym("x"), ca.SX.sym("y")


@pytest.mark.parametrize(
    ("expression", "exact"),
    [
        (ca.sin(x) ** 2 + ca.cos(x) * ca.sin(x + ca.pi / 2) - 1, lambda x, y: 0 * x),
        (x * np.cos(0.1) + x * np.cos(0.1 + 2 * np.pi / 3) + x * np.cos(0.1 + 4 * np.pi / 3), lambda x, y: 0 * x),
        ((x + y) ** 3 - x**3 - y**3 - 3 * x * y * (x + y), lambda x, y: 0 * x),
        (ca.sqrt(x * x + 1) - x - 1 / (ca.sqrt(x * x + 1) + x), lambda x, y: 0 * x),
        (ca.exp(x) * ca.exp(-x) - ca.fmax(x, 1e3) / 1e3, lambda x, y: 0 * x),
        (ca.if_else(x > y, x - y, y - x) + ca.fmin(x, y) - ca.fmax(x, y), lambda x, y: 0 * x),
    ],
)
def test_errors_are_within_the_weight(expression, exact) -> None:
    f = ca.Function("f", [x, y], [expression])
    weight = ca.Function("w", [x, y], weights(f, [x, y], [ca.fabs(x), ca.fabs(y)]))
    a, b = RNG.uniform(0.1, 30, (2, 500))
    error = np.abs(np.asarray(f(a[None], b[None])).ravel() - exact(a, b))
    bound = np.asarray(weight(a[None], b[None])).ravel()
    assert np.all(error <= 2 * EPS * bound)
    assert np.max(error / (EPS * bound)) > 1e-4  # and not many orders above them


def test_signals_without_sums_need_no_weights() -> None:
    t, u, p = ca.SX.sym("t"), ca.SX.sym("u", 2), ca.SX.sym("p", 2)
    plain = ca.Function("s", [t, u, p], [ca.vertcat(u[0] * (p[0] + p[1]), ca.sin(t))])
    assert signal_weights(plain, None, 2) is None
    assert signal_weights(ca.Function("s", [t, u, p], [u[0] - u[1]]), None, 2) is not None


def test_weights_of_inputs_that_are_expressions_enter() -> None:
    """An input that cancels: the signal, the input times a parameter, has the round-off of its terms."""
    t, u, p = ca.SX.sym("t"), ca.SX.sym("u"), ca.SX.sym("p")
    inputs = ca.Function("u", [t, p], [t * 3e4 - t * 1e4 - t * 2e4])
    found = signal_weights(ca.Function("s", [t, u, p], [u * p]), inputs, 1)
    assert found is not None
    of_inputs, _ = found(0.5, 0.0, 0.0, 2.0)
    _, of_signals = found(0.5, 0.0, of_inputs, 2.0)
    assert 3e4 <= float(of_inputs) < 1e6
    assert 6e4 <= float(of_signals) < 2e6
