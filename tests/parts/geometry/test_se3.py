"""Identities of rigid motions, twists and wrenches."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.parts.geometry import se3, so3

fast = settings(max_examples=50, deadline=None)
component = st.floats(-2, 2, allow_nan=False)
twist = st.lists(component, min_size=6, max_size=6).map(np.array)
small_turn = st.floats(0, math.pi - 1e-3)


def column(x: Any) -> np.ndarray:
    return np.array(ca.DM(x)).ravel()


def matrix(pose: se3.Pose) -> np.ndarray:
    """4x4 homogeneous matrix of a pose."""
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = np.array(ca.DM(pose[0])), column(pose[1])
    return out


def hat6(x: np.ndarray) -> np.ndarray:
    """4x4 matrix of a twist."""
    out = np.zeros((4, 4))
    out[:3, :3], out[:3, 3] = np.array(ca.DM(so3.hat(x[3:6]))), x[0:3]
    return out


def adjoint(pose: se3.Pose) -> np.ndarray:
    """6x6 matrix of `transform_twist`."""
    return np.array(ca.DM(se3.transform_twist(pose, ca.DM.eye(6))))


@fast
@given(twist)
def test_exp_is_the_matrix_exponential(x: np.ndarray) -> None:
    np.testing.assert_allclose(matrix(se3.exp(x)), scipy.linalg.expm(hat6(x)), atol=1e-13)


def test_the_numbers_of_a_pose() -> None:
    for pose in (se3.identity(), se3.exp(np.array([0.1, 0.2, 0.3, 1.0, -0.5, 0.4]))):
        numbers = [float(x) for x in se3.pose_scalars(pose)]
        np.testing.assert_array_equal(numbers, [*matrix(pose)[:3, :3].ravel("F"), *matrix(pose)[:3, 3]])


@fast
@given(twist, small_turn)
def test_log_inverts_exp(x: np.ndarray, angle: float) -> None:
    length = np.linalg.norm(x[3:6])
    x = np.concatenate([x[0:3], x[3:6] * (angle / length if length > 1e-3 else 0)])
    np.testing.assert_allclose(column(se3.log(se3.exp(x))), x, rtol=1e-9, atol=1e-9)


@fast
@given(twist, twist)
def test_poses_form_a_group(x: np.ndarray, y: np.ndarray) -> None:
    a, b = se3.exp(x), se3.exp(y)
    np.testing.assert_allclose(matrix(se3.compose(a, b)), matrix(a) @ matrix(b), atol=1e-13)
    np.testing.assert_allclose(matrix(se3.compose(a, se3.inverse(a))), np.eye(4), atol=1e-13)
    np.testing.assert_allclose(matrix(se3.compose(a, se3.identity())), matrix(a), atol=0)


@fast
@given(twist, twist, twist)
def test_twists_change_frames_like_conjugation(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> None:
    a, b = se3.exp(x), se3.exp(y)
    moved = column(se3.transform_twist(a, ca.DM(z)))
    conjugate = matrix(a) @ hat6(z) @ np.linalg.inv(matrix(a))
    np.testing.assert_allclose(hat6(moved), conjugate, atol=1e-12)
    np.testing.assert_allclose(adjoint(se3.compose(a, b)), adjoint(a) @ adjoint(b), atol=1e-12)


@fast
@given(twist, twist, twist)
def test_bracket_and_its_dual(a: np.ndarray, b: np.ndarray, f: np.ndarray) -> None:
    bracket = hat6(a) @ hat6(b) - hat6(b) @ hat6(a)
    cross = column(se3.cross_twist(a, ca.DM(b)))
    np.testing.assert_allclose(hat6(cross), bracket, atol=1e-14)
    # power is invariant: (a x b) . f + b . (a x* f) = 0
    dual = column(se3.cross_wrench(a, ca.DM(f)))
    np.testing.assert_allclose(cross @ f + b @ dual, 0, atol=1e-13)


@fast
@given(twist, twist, twist)
def test_jacobi_identity(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    def x(p: np.ndarray, q: np.ndarray) -> np.ndarray:
        return column(se3.cross_twist(p, ca.DM(q)))

    np.testing.assert_allclose(x(a, x(b, c)) + x(b, x(c, a)) + x(c, x(a, b)), 0, atol=1e-13)


@fast
@given(twist, twist)
def test_pose_rates_follow_world_increments(x: np.ndarray, eta: np.ndarray) -> None:
    pose, h = se3.exp(x), 1e-5

    def flat(sign: int) -> np.ndarray:
        R, p = se3.compose(se3.exp(sign * h * eta), pose)
        return np.concatenate([column(ca.vec(R)), column(p)])

    rates = column(ca.mtimes(se3.pose_rates(pose), eta))
    np.testing.assert_allclose(rates, (flat(1) - flat(-1)) / (2 * h), atol=1e-8)


@fast
@given(twist, st.sampled_from([1e-3, 0.2, 1.0, 2.0]))
def test_the_left_jacobian_is_the_mean_of_the_exponential(x: np.ndarray, size: float) -> None:
    x = size * x
    bracket = np.array(ca.DM(se3.cross_twist(ca.DM(x), ca.DM.eye(6))))
    both = scipy.linalg.expm(np.block([[bracket, np.eye(6)], [np.zeros((6, 12))]]))
    found = np.array(ca.DM(se3.left_jacobian(ca.DM(x))))
    np.testing.assert_allclose(found, both[:6, 6:], atol=1e-12 * max(1, np.abs(both).max()))
