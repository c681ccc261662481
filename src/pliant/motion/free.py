"""A free frame: displacement [m] and its rate in base axes, unit quaternion and body angular velocity.

With the centre of mass at the frame's origin this choice of rates makes a free body's mass matrix constant.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import scipy

from pliant.geometry import so3
from pliant.geometry.se3 import Pose
from pliant.motion.base import Motion, Quaternion, Vector


def _pose(q: Any, constants: Any) -> Pose:
    return so3.quaternion_matrix(q[3:7]), q[0:3]


def _subspace(q: Any, constants: Any) -> Any:
    R = so3.quaternion_matrix(q[3:7])
    translation = ca.vertcat(ca.DM.eye(3), ca.DM(3, 3))
    return ca.horzcat(translation, ca.vertcat(so3.hat(q[0:3]) @ R, R))


def _locate(R: np.ndarray, p: np.ndarray, near: np.ndarray) -> np.ndarray:
    x, y, z, w = scipy.spatial.transform.Rotation.from_matrix(R).as_quat()
    quaternion = np.array([w, x, y, z])
    return np.concatenate([p, quaternion if quaternion @ near[3:7] >= 0 else -quaternion])


FREE = Motion("free", (Vector(3), Quaternion()), 0, _pose, _subspace, _locate, form="free")
