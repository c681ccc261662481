"""A free frame: displacement [m] and its rate in base axes, unit quaternion and body angular velocity.

With the centre of mass at the frame's origin this choice of rates makes a free body's mass matrix constant.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from pliant.geometry import so3
from pliant.geometry.se3 import Pose
from pliant.motion.base import Motion, Quaternion, Vector


def _pose(q: Any, constants: Any) -> Pose:
    return so3.quaternion_matrix(q[3:7]), q[0:3]


def _subspace(q: Any, constants: Any) -> Any:
    R = so3.quaternion_matrix(q[3:7])
    translation = ca.vertcat(ca.DM.eye(3), ca.DM(3, 3))
    return ca.horzcat(translation, ca.vertcat(so3.hat(q[0:3]) @ R, R))


FREE = Motion("free", (Vector(3), Quaternion()), 0, _pose, _subspace)
