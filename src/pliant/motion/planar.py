"""Motion in a plane of the base frame that contains its z axis: two displacements [m], then a rotation about the normal [rad].

The angle is a plain number, so it is not limited to one turn.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from pliant.geometry import so3
from pliant.geometry.se3 import Pose
from pliant.motion.base import Motion, Vector


def _planar(name: str, along: int, normal: int) -> Motion:
    first, axis = ca.DM.eye(3)[:, along], ca.DM.eye(3)[:, normal]

    def pose(q: Any, constants: Any) -> Pose:
        return so3.axis_rotation(axis, q[2]), q[0] * first + q[1] * ca.DM([0, 0, 1])

    def subspace(q: Any, constants: Any) -> Any:
        slides = ca.horzcat(first, ca.DM([0, 0, 1]))
        turn = ca.vertcat(ca.cross(q[0] * first + q[1] * ca.DM([0, 0, 1]), axis), axis)
        return ca.horzcat(ca.vertcat(slides, ca.DM(3, 2)), turn)

    def locate(R: np.ndarray, p: np.ndarray, near: np.ndarray) -> np.ndarray:
        # a positive rotation turns z towards x (about y), but away from y (about x)
        angle = np.arctan2(R[along, 2], R[2, 2]) * (1 if along == 0 else -1)
        turns = np.round((near[2] - angle) / (2 * np.pi))
        return np.array([p[along], p[2], angle + 2 * np.pi * turns])

    return Motion(name, (Vector(3),), 0, pose, subspace, locate, form=name)


PLANAR_XZ = _planar("planar_xz", 0, 1)
PLANAR_YZ = _planar("planar_yz", 1, 0)
