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


ORIENTATION = Fields("stiffness:3", "damping:3", "rest:4")
"""Of `ORIENTATION_FORCE`: stiffness and damping about x, y and z, quaternion of the rest orientation."""


def _orientation_effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
    at = ORIENTATION.read(c)
    turn = so3.quaternion_log(so3.quaternion_product(so3.quaternion_conjugate(at.rest), q))
    # with v in the moving axes d(turn)/dt = V(-turn)^-1 v, whose transpose is V(turn)^-1
    restoring = so3.inverse_left_jacobian(turn) @ (at.stiffness * turn)
    return Effect(
        force=-restoring - at.damping * v + signal,
        energy=0.5 * ca.dot(at.stiffness * turn, turn),
        dissipation=ca.dot(at.damping * v, v),
        supply=ca.dot(signal, v),
    )


ORIENTATION_FORCE = CoordinateForce("orientation", (Quaternion(),), ORIENTATION.size, 3, _orientation_effect)
"""Spring on the rotation vector, damper and torque on a free rotation, with the constants `ORIENTATION`."""
