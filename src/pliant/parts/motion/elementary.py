"""Elementary motions: a name, coordinates, and the formula of the pose, from which rates and derivatives are derived."""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import scipy

from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion.base import Motion, Quaternion, Vector


def _screw_pose(q: Any, constants: Any) -> Pose:
    # constants: direction of translation [m per unit], unit axis of rotation (zero for a pure translation).
    # The translation is along the axis (or the axis is zero), so both commute.
    return so3.axis_rotation(constants[3:6], q[0]), constants[0:3] * q[0]


def _screw_subspace(q: Any, constants: Any) -> Any:
    return ca.reshape(constants[0:6], 6, 1)


SCREW = Motion("screw", (Vector(1),), 6, _screw_pose, _screw_subspace, form="screw")
"""One coordinate along a fixed screw: revolute (pure rotation), prismatic (pure translation) or helical."""


def _translation_pose(q: Any, constants: Any) -> Pose:
    return ca.DM.eye(3), q[0:3]


def _translation_subspace(q: Any, constants: Any) -> Any:
    return ca.DM.eye(6)[:, 0:3]


def _translation_locate(R: np.ndarray, p: np.ndarray, near: np.ndarray) -> np.ndarray:
    return np.array(p)


TRANSLATION = Motion(
    "translation", (Vector(3),), 0, _translation_pose, _translation_subspace, _translation_locate, form="translation"
)
"""Three coordinates: displacement [m] along the base axes."""


def _rotation_pose(q: Any, constants: Any) -> Pose:
    return so3.quaternion_matrix(q), ca.DM.zeros(3)


def _rotation_subspace(q: Any, constants: Any) -> Any:
    return ca.vertcat(ca.DM(3, 3), so3.quaternion_matrix(q))


ROTATION = Motion("rotation", (Quaternion(),), 0, _rotation_pose, _rotation_subspace, form="rotation")
"""A free rotation about the base's origin: unit quaternion and body angular velocity."""


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
"""The rotation vector [rad] (bend, bend, twist), valid below 2 pi."""


def _planar(name: str, along: int, normal: int) -> Motion:
    """Motion in a plane of the base frame that contains its z axis: two displacements [m], then an angle about the normal [rad].

    The angle is a plain number, so it is not limited to one turn.
    """
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


def _free_pose(q: Any, constants: Any) -> Pose:
    return so3.quaternion_matrix(q[3:7]), q[0:3]


def _free_subspace(q: Any, constants: Any) -> Any:
    R = so3.quaternion_matrix(q[3:7])
    translation = ca.vertcat(ca.DM.eye(3), ca.DM(3, 3))
    return ca.horzcat(translation, ca.vertcat(so3.hat(q[0:3]) @ R, R))


def _free_locate(R: np.ndarray, p: np.ndarray, near: np.ndarray) -> np.ndarray:
    x, y, z, w = scipy.spatial.transform.Rotation.from_matrix(R).as_quat()
    quaternion = np.array([w, x, y, z])
    return np.concatenate([p, quaternion if quaternion @ near[3:7] >= 0 else -quaternion])


FREE = Motion("free", (Vector(3), Quaternion()), 0, _free_pose, _free_subspace, _free_locate, form="free")
"""A free frame: displacement [m] and its rate in base axes, unit quaternion and body angular velocity.

With the centre of mass at the frame's origin this choice of rates makes a free body's mass matrix constant.
"""


def _displacement_pose(q: Any, constants: Any) -> Pose:
    return so3.exp(q[3:6]), q[0:3]


def _displacement_subspace(q: Any, constants: Any) -> Any:
    turn = so3.left_jacobian(q[3:6])
    translation = ca.vertcat(ca.DM.eye(3), ca.DM(3, 3))
    return ca.horzcat(translation, ca.vertcat(so3.hat(q[0:3]) @ turn, turn))


DISPLACEMENT = Motion("displacement", (Vector(6),), 0, _displacement_pose, _displacement_subspace)
"""A displacement [m] in base axes, then a rotation vector [rad], valid below 2 pi: six plain coordinates."""


def _fixed_pose(q: Any, constants: Any) -> Pose:
    return se3.identity()


def _fixed_subspace(q: Any, constants: Any) -> Any:
    return ca.DM(6, 0)


FIXED = Motion("fixed", (), 0, _fixed_pose, _fixed_subspace, form="fixed")
"""No coordinates: a separate frame that is fixed to its base, so that the wrench between the two is computed."""
