"""Up to three coordinates: the free components of a rotation vector [rad] (bend, bend, twist), valid below 2 pi."""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca

from pliant.geometry import so3
from pliant.geometry.se3 import Pose
from pliant.motion.base import Motion, Vector


@cache
def rotation_vector_motion(free: tuple[int, ...]) -> Motion:
    """Rotation by a vector with these components free, of 0, 1 and 2. Constants: the others, in order [rad]."""

    def vector(q: Any, constants: Any) -> Any:
        fixed = [k for k in range(3) if k not in free]
        return ca.vertcat(*[q[free.index(k)] if k in free else constants[fixed.index(k)] for k in range(3)])

    def pose(q: Any, constants: Any) -> Pose:
        return so3.exp(vector(q, constants)), ca.DM.zeros(3)

    def subspace(q: Any, constants: Any) -> Any:
        return ca.vertcat(ca.DM(3, len(free)), so3.left_jacobian(vector(q, constants))[:, list(free)])

    name = "rotation_vector" + ("" if len(free) == 3 else "_" + "".join(map(str, free)))
    return Motion(name, (Vector(len(free)),), 3 - len(free), pose, subspace)


ROTATION_VECTOR = rotation_vector_motion((0, 1, 2))
