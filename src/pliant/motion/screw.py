"""One coordinate along a fixed screw: revolute (pure rotation), prismatic (pure translation) or helical."""

from __future__ import annotations

from typing import Any

import casadi as ca

from pliant.geometry import so3
from pliant.geometry.se3 import Pose
from pliant.motion.base import Motion, Vector


def _pose(q: Any, constants: Any) -> Pose:
    # constants: direction of translation [m per unit], unit axis of rotation (zero for a pure translation).
    # The translation is along the axis (or the axis is zero), so both commute.
    return so3.axis_rotation(constants[3:6], q[0]), constants[0:3] * q[0]


def _subspace(q: Any, constants: Any) -> Any:
    return ca.reshape(constants[0:6], 6, 1)


SCREW = Motion("screw", (Vector(1),), 6, _pose, _subspace, form="screw")
