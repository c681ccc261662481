"""Trial of an exported method on the motion of a robot: fixed steps of low order are fast, but may lose much energy."""

from __future__ import annotations

from dataclasses import dataclass

from pliant.equations.equations import Equations
from pliant.model.model import Model
from pliant.solve.motion.integrator import chosen_method
from pliant.solve.motion.simulate import simulate
from pliant.solve.status import Status

SECONDS = 1.0
"""Maximum duration of a trial [s],"""
STEPS = 2000
"""and its maximum number of steps."""
ENERGY = "energy exchanged"
"""Beginning of a remark about the energy balance."""


@dataclass(frozen=True)
class Trial:
    """Result of a trial: whether there are no objections to the method, and a remark in any case."""

    sound: bool
    remark: str


def tried(model: Model, method: str, step: float) -> Trial:
    """The motion of the model from its start with fixed steps [s] of a method, as taken by the exported step function."""
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
