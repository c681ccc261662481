"""Forces on the coordinates of joints: spring, damper and input, one- or two-sided, plain or on a rotation."""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca

from pliant.formula.base import CoordinateForce, Effect, one_sided, power_law
from pliant.geometry import so3
from pliant.motion.base import Quaternion, Vector
from pliant.motion.fields import Fields

CONSTANTS = Fields("stiffness", "rest", "damping", "power", "direction", "smoothing")
"""Of `coordinate_force`: stiffness, rest value, damping coefficient, damping power, direction (0, 1, -1), smoothing width."""

DIRECTION = {"both": 0, "positive": 1, "negative": -1}


@cache
def coordinate_force(*, with_input: bool) -> CoordinateForce:
    """Spring, damper and input on one plain coordinate."""

    def effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
        at = CONSTANTS.read(c)
        counted, half_square, share = one_sided(q[0] - at.rest, at.direction, at.smoothing)
        damping = share * power_law(v[0], at.damping, at.power)
        drive = share * signal[0] if with_input else 0.0
        return Effect(
            force=-at.stiffness * counted - damping + drive,
            energy=at.stiffness * half_square,
            dissipation=damping * v[0],
            supply=drive * v[0],
        )

    name = "driven" if with_input else "passive"
    return CoordinateForce(name, (Vector(1),), CONSTANTS.size, int(with_input), effect)


def _orientation_effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
    turn = so3.quaternion_log(q)
    # the rotation vector is its own image under the rotation, so the restoring torque is the same in both frames
    return Effect(
        force=-c[0] * turn - c[1] * v + signal,
        energy=0.5 * c[0] * ca.dot(turn, turn),
        dissipation=c[1] * ca.dot(v, v),
        supply=ca.dot(signal, v),
    )


ORIENTATION_FORCE = CoordinateForce("orientation", (Quaternion(),), 2, 3, _orientation_effect)
"""Spring on the rotation vector, damper and torque on a free rotation. Constants: stiffness, damping coefficient."""
