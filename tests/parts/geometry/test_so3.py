"""Identities of rotations, and the switch from Taylor series to closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import casadi as ca
import mpmath as mp  # type: ignore[import-untyped]
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.parts.geometry import so3

component = st.floats(-1, 1, allow_nan=False)
direction = st.tuples(component, component, component).filter(lambda x: np.linalg.norm(x) > 0.1)
vector = st.tuples(component, component, component).map(np.array)

fast = settings(max_examples=60, deadline=None)


def rotation_vectors(largest: float) -> st.SearchStrategy[np.ndarray]:
    """Rotation vectors whose length covers all magnitudes up to `largest`, zero included."""
    length = st.one_of(
        st.floats(0, largest), st.floats(-18, 0).map(lambda x: largest * 10**x), st.sampled_from([0.0, largest])
    )
    return st.builds(lambda d, r: np.array(d) / np.linalg.norm(d) * r, direction, length)


def numeric(x: Any) -> np.ndarray:
    return np.array(ca.DM(x))


def column(x: Any) -> np.ndarray:
    return numeric(x).ravel()


@fast
@given(rotation_vectors(20.0))
def test_exp_is_the_matrix_exponential(w: np.ndarray) -> None:
    R = numeric(so3.exp(w))
    np.testing.assert_allclose(R, scipy.linalg.expm(numeric(so3.hat(w))), atol=1e-13)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(R) == pytest.approx(1, abs=1e-14)


@fast
@given(rotation_vectors(math.pi - 1e-6))
def test_log_inverts_exp(w: np.ndarray) -> None:
    np.testing.assert_allclose(column(so3.log(so3.exp(w))), w, rtol=1e-9, atol=1e-15)


@fast
@given(rotation_vectors(20.0))
def test_exp_inverts_log_for_any_rotation(w: np.ndarray) -> None:
    R = so3.exp(w)
    turn = so3.log(R)
    assert np.linalg.norm(column(turn)) <= math.pi + 1e-12
    np.testing.assert_allclose(numeric(so3.exp(turn)), numeric(R), atol=3e-14)


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, -0.8, 0), (0.36, 0.48, -0.8)])
def test_half_turns_have_a_logarithm(axis: tuple[float, float, float]) -> None:
    R = numeric(so3.exp(math.pi * np.array(axis)))
    turn = column(so3.log(R))
    assert np.linalg.norm(turn) == pytest.approx(math.pi, abs=1e-12)
    np.testing.assert_allclose(np.abs(turn @ axis), math.pi, rtol=1e-12)


@fast
@given(vector, vector)
def test_hat_vee_and_cross(a: np.ndarray, b: np.ndarray) -> None:
    np.testing.assert_allclose(column(ca.mtimes(so3.hat(a), b)), np.cross(a, b), atol=1e-15)
    np.testing.assert_array_equal(column(so3.vee(so3.hat(a))), a)


@fast
@given(rotation_vectors(20.0))
def test_axis_rotation_is_exp(w: np.ndarray) -> None:
    angle = float(np.linalg.norm(w))
    axis = w / angle if angle > 0 else np.array([1.0, 0, 0])
    np.testing.assert_allclose(numeric(so3.axis_rotation(axis, angle)), numeric(so3.exp(w)), atol=1e-14)


# -- quaternions -------------------------------------------------------------------------------------------------------


@fast
@given(rotation_vectors(12.0), rotation_vectors(12.0))
def test_quaternions_multiply_like_matrices(a: np.ndarray, b: np.ndarray) -> None:
    Qa, Qb = so3.quaternion_exp(a), so3.quaternion_exp(b)
    assert np.linalg.norm(column(Qa)) == pytest.approx(1, abs=1e-15)
    np.testing.assert_allclose(numeric(so3.quaternion_matrix(Qa)), numeric(so3.exp(a)), atol=2e-14)
    product = so3.quaternion_matrix(so3.quaternion_product(Qa, Qb))
    np.testing.assert_allclose(numeric(product), numeric(so3.exp(a)) @ numeric(so3.exp(b)), atol=5e-14)
    one = so3.quaternion_product(Qa, so3.quaternion_conjugate(Qa))
    np.testing.assert_allclose(column(one), [1, 0, 0, 0], atol=1e-15)


@fast
@given(rotation_vectors(2 * math.pi))
def test_matrix_to_quaternion_round_trip(w: np.ndarray) -> None:
    R = numeric(so3.exp(w))
    Q = column(so3.matrix_quaternion(R))
    assert np.linalg.norm(Q) == pytest.approx(1, abs=1e-14)
    np.testing.assert_allclose(numeric(so3.quaternion_matrix(Q)), R, atol=1e-14)
    expected = column(so3.quaternion_exp(w))
    np.testing.assert_allclose(abs(Q @ expected), 1, atol=1e-14)


@fast
@given(rotation_vectors(math.pi - 1e-6))
def test_quaternion_log_takes_the_nearer_of_both_signs(w: np.ndarray) -> None:
    Q = so3.quaternion_exp(w)
    np.testing.assert_allclose(column(so3.quaternion_log(Q)), w, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(column(so3.quaternion_log(-Q)), w, rtol=1e-9, atol=1e-15)


@fast
@given(rotation_vectors(6.0), vector)
def test_quaternion_rates_follow_body_increments(w: np.ndarray, phi: np.ndarray) -> None:
    Q, h = column(so3.quaternion_exp(w)), 1e-5
    ends = [column(so3.quaternion_product(Q, so3.quaternion_exp(s * h * phi))) for s in (1, -1)]
    rate = column(ca.mtimes(so3.quaternion_rate_matrix(Q), phi))
    np.testing.assert_allclose(rate, (ends[0] - ends[1]) / (2 * h), atol=1e-9)
    np.testing.assert_allclose(Q @ rate, 0, atol=1e-15)


def test_derivative_of_the_logarithm_at_rest() -> None:
    Q = ca.SX.sym("Q", 4)
    J = ca.Function("J", [Q], [ca.jacobian(so3.quaternion_log(Q), Q) @ so3.quaternion_rate_matrix(Q)])
    for angle in (0.0, 1e-12, 1e-8, 1e-4, 1e-2, 0.19, 0.21, 1.0):
        w = angle * np.array([2.0, -1, 2]) / 3
        # body-side increments: d log = inverse of the right Jacobian, which is the left one of -w
        expected = numeric(so3.inverse_left_jacobian(-w))
        np.testing.assert_allclose(numeric(J(so3.quaternion_exp(w))), expected, atol=1e-12)


# -- Jacobians of the exponential --------------------------------------------------------------------------------------


@fast
@given(rotation_vectors(2 * math.pi - 0.3))
def test_inverse_left_jacobian(w: np.ndarray) -> None:
    product = numeric(so3.left_jacobian(w)) @ numeric(so3.inverse_left_jacobian(w))
    np.testing.assert_allclose(product, np.eye(3), atol=1e-11)


@fast
@given(rotation_vectors(10.0), vector)
def test_left_jacobian_is_the_derivative_of_exp(w: np.ndarray, dw: np.ndarray) -> None:
    h = 1e-5
    ends = [numeric(so3.exp(w + s * h * dw)) for s in (1, -1)]
    turn = column(so3.vee((ends[0] - ends[1]) / (2 * h) @ numeric(so3.exp(w)).T))
    np.testing.assert_allclose(turn, column(ca.mtimes(so3.left_jacobian(w), dw)), atol=3e-9)


# -- functions that switch to a series ---------------------------------------------------------------------------------


REFERENCE: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sinc": (so3.sinc, lambda x: mp.sin(x) / x),
    "cosc": (so3.cosc, lambda x: (1 - mp.cos(x)) / x**2),
    "sinc3": (so3.sinc3, lambda x: (x - mp.sin(x)) / x**3),
}
ANGLES = [1e-12, 1e-8, 1e-4, 1e-2, 0.1, 0.4999999, 0.5000001, 0.6, 1.0, 3.0]


@pytest.mark.parametrize("name", REFERENCE)
def test_series_and_closed_forms_match_to_the_second_derivative(name: str) -> None:
    function, exact = REFERENCE[name]
    y = ca.SX.sym("y")
    f = function(y)
    df = ca.jacobian(f, y)
    evaluate = ca.Function("f", [y], [f, df, ca.jacobian(df, y)])
    with mp.workdps(60):
        for angle in ANGLES:
            x2 = mp.mpf(angle) ** 2

            def of_square(y: Any) -> Any:
                return exact(mp.sqrt(y))

            # differentiate over a span small against x2 but large against the working precision
            expected = [of_square(x2), *(mp.diff(of_square, x2, k, h=x2 * mp.mpf("1e-15")) for k in (1, 2))]
            for got, want, tolerance in zip(evaluate(float(x2)), expected, (1e-13, 1e-12, 1e-11), strict=True):
                assert float(got) == pytest.approx(float(want), rel=tolerance), (name, angle)


def test_functions_of_an_angle_at_once() -> None:
    """Values and derivatives by the square of the angle, from its series and beyond it."""
    y = ca.SX.sym("y")
    values, slopes = so3.angle_functions(y)
    evaluate = ca.Function("f", [y], [ca.vertcat(*values), ca.vertcat(*slopes)])
    exact = {
        **{name: function for name, (_, function) in REFERENCE.items()},
        "cosc4": lambda x: (x**2 / 2 - 1 + mp.cos(x)) / x**4,
        "sinc5": lambda x: (2 * x - 3 * mp.sin(x) + x * mp.cos(x)) / (2 * x**5),
    }
    assert tuple(exact) == so3.AngleFunctions._fields
    with mp.workdps(80):
        for angle in [*ANGLES, 0.999999, 1.000001, 6.0]:
            x2 = mp.mpf(angle) ** 2
            found = [np.array(x).ravel() for x in evaluate(float(x2))]
            for k, function in enumerate(exact.values()):
                want = function(mp.mpf(angle)), mp.diff(lambda z: function(mp.sqrt(z)), x2, h=x2 * mp.mpf("1e-15"))  # noqa: B023
                for got, value in zip(found, want, strict=True):
                    assert got[k] == pytest.approx(float(value), rel=0, abs=2e-15), (
                        so3.AngleFunctions._fields[k],
                        angle,
                    )


@pytest.mark.parametrize("name", REFERENCE)
def test_limits_at_zero(name: str) -> None:
    y = ca.SX.sym("y")
    f = REFERENCE[name][0](y)
    value, slope = (float(x) for x in ca.Function("f", [y], [f, ca.jacobian(f, y)])(0.0))
    first = {"sinc": 1, "cosc": 2, "sinc3": 3}[name]
    assert value == pytest.approx(1 / math.factorial(first), rel=1e-15)
    assert slope == pytest.approx(-1 / math.factorial(first + 2), rel=1e-15)


@pytest.mark.parametrize("angle", ANGLES)
def test_inverse_jacobian_coefficient(angle: float) -> None:
    with mp.workdps(50):
        x = mp.mpf(angle)
        want = float((1 - x / 2 * mp.cot(x / 2)) / x**2)
    w = np.array([0.0, 0, angle])
    got = numeric(so3.inverse_left_jacobian(w))
    np.testing.assert_allclose(got[0, 0], 1 - want * angle**2, rtol=1e-15)
    np.testing.assert_allclose(got[1, 0], -angle / 2, rtol=1e-15)
    # its derivative along the angle, where the switch between series and closed form could break it
    W = ca.SX.sym("w", 3)
    slope = ca.Function("s", [W], [ca.jacobian(so3.inverse_left_jacobian(W)[0, 0], W[2])])(w)
    with mp.workdps(50):
        expected = float(mp.diff(lambda y: y / 2 * mp.cot(y / 2), mp.mpf(angle), h=mp.mpf(angle) * mp.mpf("1e-12")))
    assert float(slope) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-8, 1e-4, 1e-2])
def test_exp_is_smooth_through_zero(angle: float) -> None:
    """Value, first and second derivative of exp along a line through the origin, against the exact ones."""
    s = ca.SX.sym("s")
    axis = np.array([2.0, -1, 2]) / 3
    R = ca.vec(so3.exp(s * axis))
    dR = ca.jacobian(R, s)
    got = ca.Function("R", [s], [R, dR, ca.jacobian(dR, s)])(angle)
    K = numeric(so3.hat(axis))
    exact = scipy.linalg.expm(K * angle)
    for value, want in zip(got, (exact, K @ exact, K @ K @ exact), strict=True):
        np.testing.assert_allclose(column(value), want.ravel(order="F"), atol=1e-15)


@pytest.mark.parametrize("angle", [0.0, 1e-5, 0.1, 0.4999, 0.5001, 1.0, 2.5, 3.1415])
def test_functions_of_the_inverse_jacobian_are_those_of_its_series(angle: float) -> None:
    with mp.workdps(50):

        def slope(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
            """df/dx / x of an even function."""
            return lambda y: 2 * mp.diff(lambda z: f(mp.sqrt(z)), y**2)

        def c(y: Any) -> Any:
            return (1 - y / 2 * mp.cot(y / 2)) / y**2

        x = mp.mpf(max(angle, 1e-5))
        expected = [float(f(x)) for f in (c, slope(c), slope(slope(c)))]
        cotangent = float(x / 2 * mp.cot(x / 2))
    found = column(so3.inverse_jacobian_functions(angle**2, cotangent))
    for value, exact, tolerance in zip(found, expected, (1e-13, 1e-11, 1e-8), strict=True):
        assert value == pytest.approx(exact, rel=tolerance)
