"""Bounds of expressions contain their values; cells end where something happens."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from pliant.engine.model.enclosures import Enclosure, decided_cells, enclosures, expression_cells

RNG = np.random.default_rng(7)
x = ca.SX.sym("x")
EXPRESSIONS = [
    x**2 - 3 * x,
    x**3,
    x**-2,
    (x * x + 1) ** 0.5,
    ca.sqrt(ca.fabs(x)),
    ca.sin(3 * x) * ca.cos(x) - ca.tan(x / 7),
    ca.exp(-(x**2)) / (2 + ca.sin(x)),
    1 / (x - 0.3),
    ca.log(x**2 + 0.1),
    ca.fmin(x, ca.fmax(1 - x, ca.floor(x))),
    ca.if_else(x > 0.5, x, -x) + ca.sign(x),
    ca.if_else(ca.logic_and(x > -1, ca.logic_or(x <= 1, x == 2)), ca.cosh(x), ca.tanh(x)),
    ca.acos(x / 9) + ca.asin(x / 9) + ca.atan(x) + ca.sinh(x),
    ca.atan2(x, 1 - x),
    ca.exp(x) ** x,
]


@pytest.mark.parametrize("number", range(len(EXPRESSIONS)))
def test_bounds_contain_all_values_and_tighten(number: int) -> None:
    f = ca.Function("f", [x], [ca.densify(EXPRESSIONS[number])])
    middle = RNG.uniform(-5, 5, 400)
    excess = []
    for width in (1.0, 1e-2, 1e-4):
        low, high = middle - 0.5 * width, middle + 0.5 * width
        found = enclosures(f, [[Enclosure(low, high, np.maximum(abs(low), abs(high)))]])[0][0]
        samples = np.array([np.asarray(f((low + s * (high - low))[None])).ravel() for s in np.linspace(0, 1, 33)])
        slack = 1e-9 * (1 + np.abs(samples).max(axis=0))
        finite = np.isfinite(samples).all(axis=0)
        assert np.all((found.low <= samples.min(axis=0) + slack)[finite])
        assert np.all((found.high >= samples.max(axis=0) - slack)[finite])
        excess.append(np.median(found.high - found.low))
    if "atan2" not in str(f.instructions_sx() if hasattr(f, "instructions_sx") else EXPRESSIONS[number]):
        assert excess[2] < 0.02 * excess[1] < 1e-3 * max(excess[0], 1e-6) or excess[2] == 0


@pytest.mark.parametrize("width", [1e-2, 1e-5, 1e-9])
def test_cells_end_where_an_expression_varies(width: float) -> None:
    t = ca.SX.sym("t")
    ends = expression_cells(ca.exp(-(((t - 13.2345) / width) ** 2)), t, 0.0, 20.0, np.zeros(0))
    assert len(ends) < 2000
    assert np.exp(-(((ends - 13.2345) / width) ** 2)).max() > 0.95


def test_short_conditions_are_decided_in_cells() -> None:
    t = ca.SX.sym("t")
    states = ca.Function("states", [t, ca.SX(0, 1)], [ca.sin(2 * np.pi * t) > 1 - 1e-12])
    ends = decided_cells(states, np.zeros(0), 0.0, 20.0, np.zeros(0))
    assert set(np.floor(ends[np.asarray(states(ends[None], np.zeros(0))).ravel() > 0])) == set(range(20))
