"""Eigenvalues of small motions against multiprecision, polynomials and each other."""

import mpmath
import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.analysis.numerics.quadratic_eigenvalues import (
    MasslessMotion,
    SparseMatrices,
    _doubts,
    eigenpairs,
    lowest_eigenpairs,
    real_modes,
)


def by_multiprecision(K, C, M):
    """Eigenvalues with imaginary part >= 0 of the system of first order, in 50 digits."""
    n = len(K)
    with mpmath.workdps(50):
        inverse = mpmath.matrix(M.tolist()) ** -1
        A = mpmath.zeros(2 * n)
        for i in range(n):
            A[i, n + i] = mpmath.mpf(1)
        k, c = inverse * mpmath.matrix(K.tolist()), inverse * mpmath.matrix(C.tolist())
        for i in range(n):
            for j in range(n):
                A[n + i, j], A[n + i, n + j] = -k[i, j], -c[i, j]
        values = np.array([complex(z) for z in mpmath.eig(A, left=False, right=False)])
    return values[values.imag >= 0]


def test_slow_values_beside_fast_ones_are_exact():
    """Frequencies over seven decades with damping that couples them: a plain eigenvalue solver loses the slow ones."""
    rng = np.random.default_rng(0)
    n = 12
    w = np.logspace(0, 7, n)
    B = np.eye(n) + 0.1 * np.diag(np.ones(n - 1), 1)
    K = B.T @ np.diag(w**2) @ B
    v = rng.normal(size=n)
    C = np.diag(1e-3 * w + 1e-7 * w**2) + 0.01 * np.outer(v, v)
    found = eigenpairs(K, C, np.eye(n))
    exact = by_multiprecision(K, C, np.eye(n))
    assert len(found.values) == len(exact)
    for value, doubt in zip(found.values, found.doubts, strict=True):
        near = exact[np.argmin(np.abs(exact - value))]
        assert abs(value - near) <= 1e-9 * abs(near)
        assert abs(value.real - near.real) <= max(doubt, 1e-9 * abs(near.real))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 7), st.booleans(), st.booleans())
def test_values_and_shapes_solve_the_equation(seed, n, gyroscopic, circulatory):
    rng = np.random.default_rng(seed)
    X, Y, G, N = (rng.normal(size=(n, n)) for _ in range(4))
    M = X @ X.T + np.eye(n)
    K = Y @ Y.T + circulatory * 0.3 * (N - N.T)
    C = 0.5 * np.outer(X[0], X[0]) + gyroscopic * (G - G.T)
    found = eigenpairs(K, C, M)
    solved = la.solve(M, np.hstack([K, C]))
    plain = la.eigvals(np.block([[np.zeros((n, n)), np.eye(n)], [-solved[:, :n], -solved[:, n:]]]))
    assert np.sum(np.where(found.values.imag > 0, 2, 1)) == 2 * n
    for value, x in zip(found.values, found.shapes.T, strict=True):
        assert np.abs(plain - value).min() < 1e-6 * np.abs(plain).max()
        force = value**2 * (M @ x) + value * (C @ x) + K @ x
        size = abs(value) ** 2 * np.abs(M @ x).max() + np.abs(K @ x).max()
        assert np.abs(force).max() < 1e-7 * size
        assert (x.conj() @ M @ x).real == pytest.approx(1.0)


def test_rigid_motions_with_drag_in_one_direction():
    """Three free masses in a row, and drag on a combination of them: zeros exactly, and what decays."""
    drag = np.array([1.0, 2.0, 0.0])
    found = eigenpairs(np.zeros((3, 3)), np.outer(drag, drag), np.eye(3))
    assert sorted(found.values.real) == pytest.approx([-5.0, 0.0, 0.0, 0.0])
    assert np.sum(found.values == 0) == 3


def test_a_soft_motion_beside_very_stiff_ones_is_not_rigid():
    """A pendulum of 1 rad/s on a structure of 1e7 rad/s: fourteen decades between the squares."""
    K = np.diag([1.0, 1e14, 3e13])
    K[1, 2] = K[2, 1] = 1e13
    found = real_modes(K, np.eye(3))
    assert found.squares[0] == pytest.approx(1.0, rel=1e-9)
    assert real_modes(np.array([[1.0, -1.0], [-1.0, 1.0]]), np.diag([1.0, 2.0])).squares[0] == 0.0


def test_masses_must_be_positive():
    with pytest.raises(MasslessMotion):
        real_modes(np.eye(2), np.diag([1.0, 0.0]))


@pytest.mark.parametrize("free", [False, True])
def test_iteration_finds_what_elimination_finds(free):
    """A chain of masses, clamped or free, with a strong damper somewhere and two masses tied to each other."""
    n = 40
    K = 50.0 * (2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    K[-1, -1] = 50.0
    if free:
        K[0, 0] = 50.0
    between = np.zeros(n)
    between[[10, 11]] = 1.0, -1.0
    C = 0.01 * K + 300.0 * np.outer(between, between)
    M = np.diag(np.linspace(1.0, 2.0, n))
    J = np.zeros((1, n))
    J[0, [5, 30]] = 1.0, -1.0
    Z = la.null_space(J)
    every = eigenpairs(Z.T @ K @ Z, Z.T @ C @ Z, Z.T @ M @ Z)
    order = np.argsort(np.abs(every.values))[:9]
    some = lowest_eigenpairs(SparseMatrices(*map(sp.csc_matrix, (K, C, M)), sp.csr_matrix(J)), 9, symmetric=True)
    np.testing.assert_allclose(some.values, every.values[order], rtol=1e-8, atol=1e-12)
    assert np.abs(J @ some.shapes).max() < 1e-8
    assert np.sum(some.values == 0) == free


def test_doubts_of_eigenvalues_that_are_not_determined() -> None:
    """Where the slope of the characteristic polynomial underflows the doubt is without bound, and nothing is divided by zero."""
    one, zero = np.ones((1, 1)), np.zeros((1, 1))
    tiny = np.full((1, 1), 1e-200)
    with np.errstate(all="raise", under="ignore"):
        assert _doubts(np.array([0j]), tiny, tiny, zero, one * 1e300, zero)[0] == np.inf
        assert _doubts(np.array([0j]), one, one, zero, zero, zero)[0] == 0.0
        assert 0 < _doubts(np.array([1j]), one, one, zero, one * 1e-12, zero)[0] < 1e-11
