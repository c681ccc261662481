"""Remarks on the states for which analyses are computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.analysis.linear.small_motion import BALANCED, at_rest, imbalance, largest_force
from pliant.analysis.numerics.loop_closure import SILENT_BELOW
from pliant.analysis.remark import Words, joined, remark
from pliant.engine.equations import Equations


@remark(
    f"moved by more than {SILENT_BELOW:g} of the size of a coordinate", "smaller changes are not visible in any result"
)
def moved_onto_constraints(eqs: Equations, result: Any) -> Words:
    """The given state did not satisfy the constraints and was moved onto them, or constraints are redundant there."""
    return joined(result.assembled.remarks)


@remark(f"an unbalanced force above {BALANCED:g} of the acting forces", "equilibria are computed to a tenth of it")
def unbalanced_pose(eqs: Equations, result: Any) -> Words:
    """The pose is not an equilibrium."""
    if np.any(result.state.v):
        return None
    bound, t, q = result.examined.pose
    linear, _ = at_rest(bound, t, q)
    return imbalance(eqs, linear, forces=largest_force(bound, t, q)) or None
