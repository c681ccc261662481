"""Evaluations do not depend on earlier evaluations, bit for bit."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

import pliant
from pliant.analysis.derivation.derive import derive
from pliant.engine.equations import Equations

MODELS = ("four_bar", "leg", "spider_web", "three_section_arm")


def results(eqs: Equations, q: np.ndarray, v: np.ndarray) -> list[np.ndarray]:
    """Everything that factorizes a matrix."""
    a, multipliers = eqs.forward_dynamics(q, v, t=0.3)
    return [a, multipliers, eqs.inverse_dynamics(q, v, a, t=0.3), eqs.mass_matrix(q).toarray()]


@pytest.mark.parametrize("name", MODELS)
def test_results_are_the_same_after_other_states(name: str) -> None:
    """Scales, pivots and signals of other states leave no trace: the same bits come back."""
    model = pliant.load(name)
    used, fresh = derive(model), derive(model)
    rng = np.random.default_rng(3)
    q, v = used.initial_state()
    v = v + 0.1 * rng.normal(size=v.size)
    first = results(used, q, v)
    pliant.simulate(used, 0.02)
    for size in (1e3, 0.3):
        with suppress(RuntimeError):  # states without an answer leave no trace either
            results(used, q + size * 0.1 * rng.normal(size=q.size), size * rng.normal(size=v.size))
    for again in (results(used, q, v), results(fresh, q, v)):
        for one, other in zip(first, again, strict=True):
            assert np.array_equal(one, other)
