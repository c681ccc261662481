"""Equations of first order about a motion, and the same ones of second order."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from pliant.analysis.linear.small_motion import FirstOrder


def test_both_orders_have_the_same_eigenvalues() -> None:
    """Changes of coordinates turn with the frames that they are in, so that their rates are more than the changes of rates (T)."""
    f, n, rng = 3, 5, np.random.default_rng(2)
    T, S, R = rng.normal(size=(3, f, f))
    A = np.block([[T, np.eye(f)], [S, R]])
    G = rng.normal(size=(n, f))
    mass = scipy.sparse.csc_matrix(np.diag(rng.uniform(1, 2, n)))
    nothing = np.zeros((0, 0))
    K, C, M = FirstOrder(A, list(range(f)), G, nothing, nothing, nothing, nothing).second_order(mass)
    np.testing.assert_allclose(M, G.T @ mass.toarray() @ G, atol=1e-14)
    companion = np.block([[np.zeros((f, f)), np.eye(f)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
    found, wanted = (np.sort_complex(np.linalg.eigvals(X)) for X in (companion, A))
    np.testing.assert_allclose(found, wanted, atol=1e-10)
