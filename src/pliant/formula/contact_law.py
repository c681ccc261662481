"""The law of what is pressed against something: one-sided, never sticking."""

from __future__ import annotations

from typing import Any

import casadi as ca

from pliant.formula.base import one_sided

TINY_FORCE = 1e-12
"""Keeps a quotient of forces defined where there are none [N]."""


def contact_law(depth: Any, rate: Any, at: Any) -> tuple[Any, Any, Any]:
    """Normal force [N], stored energy [J] and dissipated power [W] at a depth [m] that grows by a rate [m/s].

    With the elastic force a and the damper's force b the whole is a + b; on the way out, where b is below zero, a^2/(a - b)
    instead, which has the same slope at b = 0 and never pulls. `at` has `stiffness`, `damping` and `smoothing`.
    """
    counted, half_square, share = one_sided(depth, 1, at.smoothing)
    a, b = at.stiffness * counted, share * at.damping * rate
    force = ca.if_else(b >= 0, a + b, a * a / (a - ca.fmin(b, 0) + TINY_FORCE))
    force = ca.if_else(at.damping == 0, a, force)
    return force, at.stiffness * half_square, (force - a) * rate
