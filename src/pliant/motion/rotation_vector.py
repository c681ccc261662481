"""Three coordinates: a rotation vector [rad] (bend, bend, twist), valid below 2 pi."""

from __future__ import annotations

from typing import Any

import casadi as ca

from pliant.geometry import so3
from pliant.geometry.se3 import Pose
from pliant.motion.base import Motion, Vector


def _pose(q: Any, constants: Any) -> Pose:
    return so3.exp(q), ca.DM.zeros(3)


def _subspace(q: Any, constants: Any) -> Any:
    return ca.vertcat(ca.DM(3, 3), so3.left_jacobian(q))


ROTATION_VECTOR = Motion("rotation_vector", (Vector(3),), 0, _pose, _subspace)
