"""Rods to test with, and their statics by Newton's method."""

import numpy as np
import scipy.sparse.linalg as spla

from pliant import derive, load, load_text
from pliant.robot.rod_switch import parse_rod_model, with_rod_model
from pliant.validation.rods import LOADS, continuous_arm  # noqa: F401, for those who import from here
from pliant.validation.rods import THICK_ARM as ARM

STIFF = {"shear_factor": 1e3, "stretch_factor": 1e3}
BENDING = 1e7 * np.pi / 4 * 0.01**4


def options(word, **changes):
    return parse_rod_model(word).model_copy(update=changes)


def cantilever(word, **changes):
    return derive(with_rod_model(load("cantilever"), "rod", options(word, **changes)))


def arm(word, text=ARM, *, strains=None, **changes):
    spec = with_rod_model(load_text(text), "arm", options(word, **changes))
    if strains is not None:
        rod = spec.rods["arm"].model_copy(update={"strains": (strains,)})
        spec = spec.replace(rods={**spec.rods, "arm": rod})
    return derive(spec)


def static(eqs, parameters=None, loads=None, steps=8):
    """q at rest, by Newton's method while the loads grow in steps."""
    parameters, loads = parameters or {}, loads or {}
    zero = np.zeros(len(eqs.rates))
    q = eqs.initial_state(parameters).q
    for share in np.linspace(0, 1, steps + 1)[1:]:
        now = {**parameters, **{name: share * x for name, x in loads.items()}}
        for _ in range(60):
            at = eqs.linearization(q, zero, a=zero, multipliers=np.zeros(0), parameters=now)
            step = -spla.splu(at.stiffness.tocsc()).solve(at.residual)
            q = eqs.binding.increment(q, step)
            if np.abs(step).max() < 1e-8 * max(1.0, np.abs(q).max()):
                break
        else:
            raise AssertionError(f"Newton's method did not converge at {share:.0%} of the loads")
    return q
