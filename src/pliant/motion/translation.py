"""Three coordinates: displacement [m] along the base axes."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from pliant.geometry.se3 import Pose
from pliant.motion.base import Motion, Vector


def _pose(q: Any, constants: Any) -> Pose:
    return ca.DM.eye(3), q[0:3]


def _subspace(q: Any, constants: Any) -> Any:
    return ca.DM.eye(6)[:, 0:3]


def _locate(R: np.ndarray, p: np.ndarray, near: np.ndarray) -> np.ndarray:
    return np.array(p)


TRANSLATION = Motion("translation", (Vector(3),), 0, _pose, _subspace, _locate, form="translation")
