"""Products with Jacobians: tangents against cotangents, against differences, and in a least-squares solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy
from gradient_systems import METHODS, TEXTS, equations
from test_controllers import CART, SENSORS

import pliant

TIMES = np.linspace(0, 0.05, 6)


def inner(one: dict[str, Any], other: dict[str, Any]) -> float:
    return float(sum(np.sum(x * other[name]) for name, x in one.items()))


def random_like(arrays: dict[str, np.ndarray], seed: int) -> dict[str, np.ndarray]:
    """In proportion to the arrays' own sizes."""
    rng = np.random.default_rng(seed)
    return {n: (np.max(np.abs(x)) or 1.0) * rng.standard_normal(x.shape) for n, x in arrays.items()}


@pytest.mark.parametrize("method", [*METHODS, None])
def test_tangents_fit_cotangents(method: str | None) -> None:
    """y.(J x) = x.(J'y), with adaptive steps too, which a motion with other values would choose otherwise."""
    options = {} if method is None else {"method": METHODS[method]}
    f = pliant.differentiable(
        equations(TEXTS["tree"]), ["at", "turns"], ["mass", "torque", "d(socket.wy)/dt"], until=0.06, save_at=[0.02, 0.06],
        inputs={"torque": (TIMES, np.cos(np.arange(6.0)), "linear")}, **options,
    )  # fmt: skip
    at = f.linearize()
    x, y = random_like(at.values, 1), random_like(at.outputs, 2)
    assert inner(y, at.jvp(x)) == pytest.approx(inner(x, at.vjp(y)), rel=1e-7)
    assert inner(x, at.gauss_newton_product(x)) == pytest.approx(inner(at.jvp(x), at.jvp(x)), rel=1e-7)
    outputs, alone = f.jvp(None, {"mass": 1.0})
    np.testing.assert_array_equal(outputs["at"], at.outputs["at"])
    step = 1e-4
    if method is not None:
        sides = [f({"mass": f.initial["mass"] + k * step})["at"] for k in (1, -1)]
        np.testing.assert_allclose(alone["at"], (sides[0] - sides[1]) / (2 * step), rtol=1e-5, atol=1e-8)


def test_tangents_of_motions_under_controllers() -> None:
    f = pliant.differentiable(equations(CART + SENSORS), "top", ["balance.gain", "length", "hinge"], until=0.1)
    at = f.linearize()
    x, y = random_like(at.values, 1), random_like(at.outputs, 2)
    x["balance.gain"] *= 0.01
    assert inner(y, at.jvp(x)) == pytest.approx(inner(x, at.vjp(y)), rel=1e-6)


def test_tangents_of_poses_at_rest() -> None:
    f = pliant.differentiable(equations(TEXTS["loop"]), "end", ["bar", "torque"], analysis="equilibrium")
    at = f.linearize()
    sides = [f({"bar": 0.5 + k * 1e-4})["end"] for k in (1, -1)]
    np.testing.assert_allclose(at.jvp({"bar": 1.0})["end"], (sides[0] - sides[1]) / 2e-4, rtol=1e-5, atol=1e-9)


def test_a_solver_finds_what_led_to_a_motion() -> None:
    """Gauss-Newton steps by `lsmr`, with products alone."""
    f = pliant.differentiable(equations(TEXTS["tree"]), "at", ["mass", "arm"], until=0.5, save_at=[0.2, 0.35, 0.5])
    wanted, values = f({"mass": 1.7, "arm": 0.42})["at"], dict(f.initial)
    for _ in range(5):
        at = f.linearize(values)
        step = scipy.sparse.linalg.lsmr(at.operator, (wanted - at.outputs["at"]).ravel(), atol=1e-10, btol=1e-10)[0]
        values = {name: values[name] + dx for name, dx in zip(f.by, step, strict=True)}
    assert (float(values["mass"]), float(values["arm"])) == pytest.approx((1.7, 0.42), rel=1e-4)


def test_tangents_that_do_not_fit() -> None:
    f = pliant.differentiable(equations(TEXTS["tree"]), "at", "mass", until=0.02)
    with pytest.raises(pliant.ArgumentError, match=r"tangent of 'mass' has shape \(2,\)"):
        f.jvp(None, {"mass": [1.0, 2.0]})
    with pytest.raises(pliant.ArgumentError, match="'torque' is not an argument"):
        f.jvp(None, {"torque": 1.0})
