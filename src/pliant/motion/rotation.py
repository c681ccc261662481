"""A free rotation about the base's origin: unit quaternion and body angular velocity."""

from __future__ import annotations

from typing import Any

import casadi as ca

from pliant.geometry import so3
from pliant.geometry.se3 import Pose
from pliant.motion.base import Motion, Quaternion


def _pose(q: Any, constants: Any) -> Pose:
    return so3.quaternion_matrix(q), ca.DM.zeros(3)


def _subspace(q: Any, constants: Any) -> Any:
    return ca.vertcat(ca.DM(3, 3), so3.quaternion_matrix(q))


ROTATION = Motion("rotation", (Quaternion(),), 0, _pose, _subspace, form="rotation")
