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
FINER = (1, 2, 4, 8, 16)
"""Factors of refinement. Errors of the first may cancel by chance, so one that halves them may follow late."""
ELSEWHERE = 0.3
"""Distance of tips above which a rod rests in another of its stable equilibria: buckled to the other side."""

SEEDS = [1, 5, 6, 25]
"""Rods with a body at the tip, an arc as shape, a chamber and a tendon between them, all bent by their weight."""


def kinds(seed: int) -> tuple[str, ...]:
    """All of the few seeds, and two in turn of many."""
    every = tuple(FINENESS)
    return (
        every if seed in SEEDS else (every[seed % len(every)], every[(seed + 1 + seed // len(every) % 5) % len(every)])
    )


def tip_at_rest(seed: int, kind: str, **options: int) -> np.ndarray:
    """Where the tip of a random rod comes to rest, over its length [-]; the equilibrium is stable."""
    spec = random_rod(seed, kind, **options)
    eqs = pliant.derive(spec)
    rest = pliant.equilibrium(eqs)
    assert rest.stable
    return np.asarray(eqs.frame("rod.tip", rest.q).position) / float(spec.rods["rod"].length)


@pytest.mark.parametrize("seed", chosen_seeds(SEEDS))
@pytest.mark.filterwarnings("ignore:the rod")
def test_rod_models_agree_as_they_are_refined(seed: int) -> None:
    exact = tip_at_rest(seed, "finite_element", elements=24)
    for kind in kinds(seed):
        key, coarse = FINENESS[kind]
        errors: list[float] = []
        for finer in FINER:
            error = float(np.linalg.norm(tip_at_rest(seed, kind, **{key: finer * coarse}) - exact))
            if error > ELSEWHERE:
                continue
            errors.append(error)
            if error < REACHED or (len(errors) > 1 and error < 0.6 * errors[-2]):
                break
        else:
            raise AssertionError(f"{kind}: {errors} with {FINER} times {coarse} {key}")
        assert error < 0.03, kind


def test_the_few_rods_have_all_that_acts_on_rods() -> None:
    specs = [random_rod(seed, "pcs") for seed in SEEDS]
    rods = [spec.rods["rod"] for spec in specs]
    assert any(spec.joints for spec in specs)
    assert any(spec.tendons for spec in specs)
    assert any(rod.shape is not None for rod in rods)
    assert any(rod.chambers for rod in rods)
