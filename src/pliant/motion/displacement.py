"""A displacement [m] in base axes, then a rotation vector [rad], valid below 2 pi: six plain coordinates."""

from __future__ import annotations

from typing import Any

import casadi as ca

from pliant.geometry import so3
from pliant.geometry.se3 import Pose
from pliant.motion.base import Motion, Vector


def _pose(q: Any, constants: Any) -> Pose:
    return so3.exp(q[3:6]), q[0:3]


def _subspace(q: Any, constants: Any) -> Any:
    turn = so3.left_jacobian(q[3:6])
    translation = ca.vertcat(ca.DM.eye(3), ca.DM(3, 3))
    return ca.horzcat(translation, ca.vertcat(so3.hat(q[0:3]) @ turn, turn))


DISPLACEMENT = Motion("displacement", (Vector(6),), 0, _pose, _subspace)
