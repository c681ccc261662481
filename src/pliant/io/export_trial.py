"""Trial of an exported method on the motion of a robot: fixed steps of low order are fast, but may lose much energy."""

from __future__ import annotations

from dataclasses import dataclass

from pliant.equations.equations import Equations
from pliant.model.model import Model
from pliant.solve.motion.integrator import chosen_method
from pliant.solve.motion.simulate import simulate
from pliant.solve.status import Status

SECONDS = 1.0
"""Time over which a method is tried [s], or less:"""
STEPS = 2000
"""the most steps of a trial."""
ENERGY = "energy exchanged"
"""What a remark about the energy balance speaks of."""


@dataclass(frozen=True)
class Trial:
    """How a method did: whether nothing is to be said against it, and what is to be said in any case."""

    sound: bool
    remark: str


def tried(model: Model, method: str, step: float) -> Trial:
    """The model's own motion from its start by fixed steps [s] of a method, as the exported step function takes them."""
    until = min(SECONDS, STEPS * step)
    fixed = chosen_method(method, step=step, rtol=None, atol=None)
    run = simulate(Equations(model), until, method=fixed, controllers=False, on_failure="return")
    tried_for = f"{method} with steps of {step:g} s, tried for {until:g} s"
    if run.status != Status.COMPLETED:
        return Trial(False, f"{tried_for}, fails: {run.message}")
    open_balance = [remark for remark in run.warnings if ENERGY in remark]
    if open_balance:
        other = "" if method == "generalized_alpha" else ", or generalized_alpha"
        share = open_balance[0].partition(" in the steps")[0]
        return Trial(False, f"{tried_for}: {share} in the steps. Use a smaller step{other}.")
    return Trial(True, f"{tried_for}: the energy balance closes.")
