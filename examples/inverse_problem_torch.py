"""Modulus and damping of silicone from a motion, found by a PyTorch optimizer.

A STIFF-FLOP module is released under pressure, and its tip is recorded with noise. `Differentiable.to_torch` gives a function of
tensors with `backward`, here with an LBFGS search over the logarithms of both parameters.
"""

import numpy as np
import torch

import pliant

TRUE = {"youngs_modulus": 140e3, "damping_time": 0.035}  # Pa, s
NOISE = 5e-5  # m


def main() -> float:
    eqs = pliant.derive("stiff_flop")
    by = list(TRUE)
    times = np.linspace(0.01, 0.5, 50)
    f = pliant.differentiable(eqs, of="tip", by=by, until=0.5, save_at=times, inputs={"p1": 40e3})
    recorded = torch.as_tensor(f(TRUE)["tip"] + NOISE * np.random.default_rng(0).standard_normal((50, 3)))
    motion = f.to_torch()
    start = {name: float(x) for name, x in f.initial.items()}
    logarithms = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS([logarithms], lr=0.5, max_iter=30, line_search_fn="strong_wolfe")

    def values() -> dict[str, torch.Tensor]:
        return {name: start[name] * torch.exp(x) for name, x in zip(by, logarithms, strict=True)}

    def closure() -> torch.Tensor:
        search.zero_grad()
        cost = torch.mean((motion(values())["tip"] - recorded) ** 2) / NOISE**2
        cost.backward()
        return cost

    before = float(closure().detach())
    search.step(closure)
    after = float(closure().detach())
    print(f"mean square of the misfit over the noise: {before:.0f} at the start, {after:.2f} at the end")
    found = {name: float(x.detach()) for name, x in values().items()}
    for name, x in found.items():
        print(f"{name}: {start[name]:g} at the start, found {x:.5g}, true {TRUE[name]:g}")
    error = max(abs(found[name] / TRUE[name] - 1) for name in by)
    assert error < 0.02
    return error


if __name__ == "__main__":
    main()
