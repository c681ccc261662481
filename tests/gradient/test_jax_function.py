"""Motions in JAX: gradients by its own rules, under jit, over batches of cases; messages if that is impossible."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from gradient_systems import METHODS, TEXTS, equations

import pliant
from pliant.gradient import differentiable

jax = pytest.importorskip("jax", reason="needs jax: pip install 'pliant[jax]'")
TIMES = [0.0, 0.01, 0.02]


@pytest.fixture(autouse=True)
def double_precision() -> Any:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def f() -> pliant.Differentiable:
    return pliant.differentiable(
        equations(TEXTS["tree"]), ["at", "hinge"], ["mass", "torque"], until=0.02, save_at=[0.01, 0.02],
        method=METHODS["rosenbrock"], inputs={"torque": (TIMES, [0.1, 0.2, 0.3])},
    )  # fmt: skip


VALUES = {"mass": 1.4, "torque": np.array([0.2, -0.1, 0.4])}


def cost(found: dict[str, Any]) -> Any:
    """Of outputs of either kind of function."""
    return (found["at"] ** 2).sum() + 1e-3 * found["hinge"].sum()


def gradient(f: pliant.Differentiable, values: dict[str, Any]) -> dict[str, np.ndarray]:
    found, pullback = f.vjp(values)
    return pullback({"at": 2 * found["at"], "hinge": 1e-3})


def test_values_and_gradients_are_those_of_the_function(f: pliant.Differentiable) -> None:
    g = f.to_jax()
    for by in (jax.value_and_grad(lambda v: cost(g(v))), jax.jit(jax.value_and_grad(lambda v: cost(g(v))))):
        value, found = by(VALUES)
        assert value == pytest.approx(cost(f(VALUES)), rel=1e-14)
        for name, x in gradient(f, VALUES).items():
            np.testing.assert_allclose(found[name], x, rtol=1e-12)


@pytest.mark.parametrize("kept", [0, 2])
def test_batches_of_cases_are_the_cases(f: pliant.Differentiable, kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether their motions are still on record, or are computed again."""
    monkeypatch.setattr(differentiable, "KEPT", kept)
    g = f.to_jax()
    masses = np.linspace(1.0, 2.0, 5)
    cases = {"mass": masses, "torque": np.outer(masses, VALUES["torque"])}
    found = jax.jit(jax.vmap(jax.grad(lambda v: cost(g(v)))))(cases)
    outputs = jax.vmap(g)(cases)
    for k, mass in enumerate(masses):
        values = {"mass": mass, "torque": mass * VALUES["torque"]}
        for name, x in gradient(f, values).items():
            np.testing.assert_allclose(found[name][k], x, rtol=1e-12)
        np.testing.assert_allclose(outputs["at"][k], f(values)["at"], rtol=1e-14)
    # over one argument, with the others left out
    alone = jax.vmap(lambda mass: g({"mass": mass})["hinge"])(masses)
    np.testing.assert_allclose(alone[3], f({"mass": masses[3]})["hinge"], rtol=1e-14)


def test_jacobians_row_by_row(f: pliant.Differentiable) -> None:
    g = f.to_jax()
    jacobian = jax.jacrev(lambda torque: g({"torque": torque})["at"])(VALUES["torque"])
    assert jacobian.shape == (2, 3, 3)
    _, pullback = f.vjp({"torque": VALUES["torque"]})
    weights = np.zeros((2, 3))
    weights[1, 2] = 1.0
    np.testing.assert_allclose(jacobian[1, 2], pullback({"at": weights})["torque"], rtol=1e-12)


def test_poses_at_rest() -> None:
    f = pliant.differentiable(equations(TEXTS["loop"]), "end", ["bar", "torque"], analysis="equilibrium")
    found = jax.grad(lambda v: f.to_jax()(v)["end"][1])({"bar": 0.5, "torque": 0.2})
    expected = f.vjp()[1]({"end": np.array([0, 1.0, 0])})
    assert float(found["bar"]) == pytest.approx(float(expected["bar"]), rel=1e-12)
    assert float(found["torque"]) == pytest.approx(float(expected["torque"]), rel=1e-12)


def test_single_precision_where_jax_has_no_other(f: pliant.Differentiable) -> None:
    jax.config.update("jax_enable_x64", False)
    g = f.to_jax()
    found = jax.grad(lambda v: cost(g(v)))({k: np.float32(x) for k, x in VALUES.items()})
    assert found["torque"].dtype == np.float32
    np.testing.assert_allclose(found["torque"], gradient(f, VALUES)["torque"], rtol=1e-4)


def test_bad_input_is_said_in_words(f: pliant.Differentiable, monkeypatch: pytest.MonkeyPatch) -> None:
    g = f.to_jax()
    with pytest.raises(pliant.ArgumentError, match="'masss' is not an argument"):
        jax.jit(g)({"masss": 1.0})
    with pytest.raises(pliant.ArgumentError, match=r"'torque' has shape \(2,\); it must be \(3,\)"):
        jax.jit(g)({"torque": np.ones(2)})
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ModuleNotFoundError, match=r"jax is not installed: pip install 'pliant\[jax\]'"):
        f.to_jax()
