"""Motions in PyTorch: `backward`, types, messages if that is impossible. Skipped if torch is not installed."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from gradient_systems import METHODS, TEXTS, equations

import pliant


@pytest.fixture(scope="module")
def f() -> pliant.Differentiable:
    return pliant.differentiable(
        equations(TEXTS["tree"]), ["at", "hinge"], ["mass", "torque"], until=0.02, save_at=[0.01, 0.02],
        method=METHODS["rosenbrock"], inputs={"torque": ([0.0, 0.01, 0.02], [0.1, 0.2, 0.3])},
    )  # fmt: skip


def test_without_torch_the_way_to_it_is_said(f: pliant.Differentiable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r"torch is not installed: pip install 'pliant\[torch\]'"):
        f.to_torch()


def test_values_and_gradients_are_those_of_the_function(f: pliant.Differentiable) -> None:
    torch = pytest.importorskip("torch", reason="needs torch: pip install 'pliant[torch]'")
    g = f.to_torch()
    mass = torch.tensor(1.4, dtype=torch.float64, requires_grad=True)
    torque = torch.tensor([0.2, -0.1, 0.4], dtype=torch.float64, requires_grad=True)
    found = g({"mass": mass, "torque": torque})
    ((found["at"] ** 2).sum() + 1e-3 * found["hinge"].sum()).backward()
    values, pullback = f.vjp({"mass": 1.4, "torque": [0.2, -0.1, 0.4]})
    expected = pullback({"at": 2 * values["at"], "hinge": 1e-3})
    np.testing.assert_array_equal(found["at"].detach().numpy(), values["at"])
    assert float(mass.grad) == pytest.approx(float(expected["mass"]), rel=1e-12)
    np.testing.assert_allclose(torque.grad.numpy(), expected["torque"], rtol=1e-12)
    # torch's own check against differences
    assert torch.autograd.gradcheck(lambda x: g({"torque": x})["at"], torque, eps=1e-4, atol=1e-8, rtol=1e-5)


def test_types_and_arguments_that_are_left_out(f: pliant.Differentiable) -> None:
    torch = pytest.importorskip("torch", reason="needs torch: pip install 'pliant[torch]'")
    g = f.to_torch()
    mass = torch.tensor(1.4, requires_grad=True)  # single precision
    found = g({"mass": mass})
    assert found["at"].dtype == torch.float32
    found["at"].sum().backward()
    assert mass.grad.dtype == torch.float32
    expected = f.vjp({"mass": np.float32(1.4)})[1]({"at": 1.0})["mass"]
    assert float(mass.grad) == pytest.approx(float(expected), rel=1e-5)
    np.testing.assert_array_equal(g()["at"].numpy(), f()["at"])
    assert not g({"mass": 1.4})["at"].requires_grad
    with pytest.raises(pliant.ArgumentError, match="'masss' is not an argument"):
        g({"masss": 1.0})
    with pytest.raises(pliant.ArgumentError, match=r"'torque' has shape \(2,\)"):
        g({"torque": torch.ones(2)})
