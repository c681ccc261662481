"""Random rods at rest in all nonlinear models: each comes closer to the same place as it is refined.

The environment variable PLIANT_RANDOM_ROBOTS names others than the few that run by default: `PLIANT_RANDOM_ROBOTS=0-2000`.
"""

from __future__ import annotations

import numpy as np
import pytest
from random_robots import chosen_seeds, random_rod

import pliant

FINENESS = {
    "cosserat": ("elements", 12),
    "pcs": ("elements", 5),
    "pseudo_rigid": ("elements", 12),
    "gvs": ("order", 2),
    "finite_element": ("elements", 4),
    "polynomial": ("order", 2),
}
"""What refines a rod model, and a coarse value of it."""
REACHED = 3e-6
"""Distance of tips at which models agree, relative to the rod's length: remaining errors of equilibria are below it."""

SEEDS = [1, 5, 6, 25]
"""Rods with a body at the tip, an arc as shape, a chamber and a tendon between them, all bent by their weight."""


def kinds(seed: int) -> tuple[str, ...]:
    """All of the few seeds, and two in turn of many."""
    every = tuple(FINENESS)
    return (
        every if seed in SEEDS else (every[seed % len(every)], every[(seed + 1 + seed // len(every) % 5) % len(every)])
    )


def tip_at_rest(seed: int, kind: str, **options: int) -> np.ndarray:
    """Where the tip of a random rod comes to rest, over its length [-]."""
    spec = random_rod(seed, kind, **options)
    eqs = pliant.derive(spec)
    rest = pliant.equilibrium(eqs)
    return np.asarray(eqs.frame("rod.tip", rest.q).position) / float(spec.rods["rod"].length)


def _error(seed: int, kind: str, exact: np.ndarray, **options: int) -> float:
    """Distance of the tip from where it should be, over the length of the rod [-]."""
    return float(np.linalg.norm(tip_at_rest(seed, kind, **options) - exact))


@pytest.mark.parametrize("seed", chosen_seeds(SEEDS))
@pytest.mark.filterwarnings("ignore:the rod")
def test_rod_models_agree_as_they_are_refined(seed: int) -> None:
    exact = tip_at_rest(seed, "finite_element", elements=24)
    for kind in kinds(seed):
        key, coarse = FINENESS[kind]
        first, second = (_error(seed, kind, exact, **{key: n}) for n in (coarse, 2 * coarse))
        if second > max(0.6 * first, REACHED):  # errors of the first may cancel by chance
            first, second = second, _error(seed, kind, exact, **{key: 4 * coarse})
        assert second < max(0.6 * first, REACHED), f"{kind}: {first:.2g}, then {second:.2g}"
        assert first < 0.03


def test_the_few_rods_have_all_that_acts_on_rods() -> None:
    specs = [random_rod(seed, "pcs") for seed in SEEDS]
    rods = [spec.rods["rod"] for spec in specs]
    assert any(spec.joints for spec in specs)
    assert any(spec.tendons for spec in specs)
    assert any(rod.shape is not None for rod in rods)
    assert any(rod.chambers for rod in rods)
