"""No coordinates: a separate frame that is fixed to its base, so that the wrench between the two is computed."""

from __future__ import annotations

from typing import Any

import casadi as ca

from pliant.geometry import se3
from pliant.geometry.se3 import Pose
from pliant.motion.base import Motion


def _pose(q: Any, constants: Any) -> Pose:
    return se3.identity()


def _subspace(q: Any, constants: Any) -> Any:
    return ca.DM(6, 0)


FIXED = Motion("fixed", (), 0, _pose, _subspace, form="fixed")
