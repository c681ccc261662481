"""One `Equations` shared by threads: the same bits as the same work done one after the other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import pliant


def work(eqs: pliant.Equations, seed: int, evaluations: int, runs: int) -> list[Any]:
    """Evaluations in random states, and simulations, each with inputs and parameters of their own."""
    rng = np.random.default_rng(seed)
    q0, v0 = eqs.initial_state()
    out: list[Any] = []
    names = list(eqs.parameters)
    for k in range(evaluations):
        here = eqs.at(
            parameters={name: eqs.parameters[name] * (1 + 0.02 * rng.random()) for name in names[:2]},
            inputs={name: rng.normal() for name in eqs.inputs},
        )
        q, v = here.binding.increment(q0, 0.05 * rng.normal(size=len(v0))), rng.normal(size=len(v0))
        out.append(here.forward_dynamics(q, v, t=0.1 * k)[0])
        if k % 10 == 0:
            out += [here.linearization(q, v).stiffness.data, here.frames(q, v)[eqs.frame_names[-1]].velocity]
    for _ in range(runs):
        here = eqs.at(parameters={names[0]: eqs.parameters[names[0]] * (1 + 0.02 * rng.random())})
        run = pliant.simulate(here, 0.1, rtol=1e-6)
        out += [run.q, run.v, run.dataset["kinetic"].values if "kinetic" in run.dataset else run.q]
    return out


def same(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("robot", ["four_bar", "three_section_arm", "cart_pole"])
def test_four_threads_get_the_bits_of_one(robot: str) -> None:
    eqs = pliant.derive(robot)
    alone = [work(eqs, seed, 1000, 20) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda seed: work(eqs, seed, 1000, 20), range(4)))
    for a, b in zip(alone, together, strict=True):
        assert same(a, b)
