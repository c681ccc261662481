"""Rotations and twists as arrays: against their symbolic counterparts, many at once, in the places where a formula could fail."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.parts.geometry import arrays, se3, so3

angles = st.lists(st.floats(-7, 7), min_size=3, max_size=3).map(np.array)


def matrix(vector: np.ndarray) -> np.ndarray:
    return np.asarray(so3.exp(vector))


@given(angles, angles)
def test_products_are_those_of_the_matrices(a: np.ndarray, b: np.ndarray) -> None:
    R = np.array([matrix(a), matrix(b)])
    Q = arrays.matrix_quaternion(R)
    both = arrays.quaternion_product(Q[:1], Q[1:])[0]
    assert np.allclose(np.asarray(so3.quaternion_matrix(both)), R[0] @ R[1], atol=1e-14)
    back = arrays.quaternion_product(arrays.quaternion_conjugate(Q), Q)
    assert np.allclose(back, [1, 0, 0, 0], atol=1e-14)


@given(angles)
def test_a_matrix_has_one_quaternion(vector: np.ndarray) -> None:
    R = matrix(vector)
    symbolic = np.asarray(so3.matrix_quaternion(R)).ravel()
    found = arrays.matrix_quaternion(R)
    assert found[0] >= 0
    assert min(np.abs(found - symbolic).max(), np.abs(found + symbolic).max()) < 1e-14


@pytest.mark.parametrize("axis", np.eye(3))
def test_half_turns(axis: np.ndarray) -> None:
    found = arrays.matrix_quaternion(matrix(np.pi * axis))
    assert np.allclose(np.abs(found), [0, *axis], atol=1e-15)


@given(angles, angles)
def test_the_smallest_turn_between_directions(a: np.ndarray, b: np.ndarray) -> None:
    a, b = (matrix(x)[:, 2] for x in (a, b))
    for target in (b, a, -a):
        turn = arrays.quaternion_between(a, target)
        assert np.allclose(np.asarray(so3.quaternion_matrix(turn)) @ a, target, atol=1e-7)
        assert abs(turn[1:] @ a) < 1e-7


@given(angles, angles)
def test_matrices_and_motions(a: np.ndarray, b: np.ndarray) -> None:
    Q, twist = np.array(so3.quaternion_exp(a)).ravel(), np.concatenate([b, a])
    assert np.allclose(arrays.quaternion_matrix(np.array([Q, Q]))[1], matrix(a), atol=1e-14)
    assert np.allclose(arrays.rotated(Q, b), matrix(a) @ b, atol=1e-13)
    assert np.allclose(arrays.hat(a) @ b, np.cross(a, b))
    R, p = arrays.exp(np.array([twist]))
    assert np.allclose(np.column_stack([R[0], p[0]]), np.asarray(ca.horzcat(*se3.exp(twist))), atol=1e-11)
    assert np.allclose(
        arrays.bracket(twist) @ [*b, *b], np.asarray(se3.cross_twist(twist, ca.DM([*b, *b]))).ravel(), atol=1e-12
    )
