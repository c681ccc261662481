"""Remarks that several analyses share."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.analysis.linear.small_motion import BALANCED, at_rest, imbalance, largest_force
from pliant.analysis.numerics.loop_closure import SILENT_BELOW
from pliant.analysis.numerics.state import AssembledState, assemble
from pliant.analysis.remark import remark
from pliant.analysis.remarks.contact_remarks import linear_remarks
from pliant.analysis.remarks.input_limits import beyond_limits
from pliant.analysis.remarks.validity import friction_remarks
from pliant.engine.equations import Equations, with_remembered


@remark(
    f"moved by more than {SILENT_BELOW:g} of the size of a coordinate", "smaller changes are not visible in any result"
)
def moved_onto_constraints(eqs: Equations, result: Any) -> str | None:
    """The given state did not satisfy the constraints and was moved onto them."""
    return "; ".join(made_from_given(eqs, result).messages) or None


def made_from_given(eqs: Equations, result: Any) -> AssembledState:
    """The state from which a result was computed, moved onto the constraints."""
    given = result.given if result.given is not None else result.state
    return assemble(eqs, eqs.binding, given.t, np.array(given.q), np.array(given.v), given.given)


@remark("a tendon has friction that statics leaves open", "friction at rest may have any value below its limit")
def friction_of_tendons_linearized(eqs: Equations, result: Any) -> str | None:
    """Friction of tendons acts on small motions as a viscous damper."""
    return "; ".join(friction_remarks(eqs.model, linear=True)) or None


@remark("a tendon has friction that statics leaves open", "friction at rest may have any value below its limit")
def friction_of_tendons_at_rest(eqs: Equations, result: Any) -> str | None:
    """Friction of tendons is omitted where statics does not determine it."""
    return "; ".join(friction_remarks(eqs.model)) or None


@remark("an input is outside of its `min` and `max`", "the limits of the model")
def inputs_beyond_limits(eqs: Equations, result: Any) -> str | None:
    """Inputs beyond their limits."""
    return "; ".join(beyond_limits(eqs.model, eqs.binding, result.state.t)) or None


@remark("surfaces touch", "contact acts as springs for small motions, and friction has no small motion")
def contacts_linearized(eqs: Equations, result: Any) -> str | None:
    """How contacts act on small motions."""
    return "; ".join(linear_remarks(result.state.contacts)) or None


@remark(f"an unbalanced force above {BALANCED:g} of the acting forces", "equilibria are computed to a tenth of it")
def unbalanced_pose(eqs: Equations, result: Any) -> str | None:
    """The pose is not an equilibrium."""
    state = result.state
    if np.any(state.v):
        return None
    bound = with_remembered(eqs.binding, state)
    linear, _ = at_rest(bound, state.t, state.q)
    return imbalance(eqs, linear, forces=largest_force(bound, state.t, state.q)) or None
