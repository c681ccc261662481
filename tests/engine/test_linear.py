"""LU factorization of the runtime against numpy: sparse and dense, KKT matrices, new values, singular ones."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.engine.libraries import runtime
from pliant.engine.tables import Pattern, minimum_degree

OK, SINGULAR = 0, 1
fast = settings(max_examples=40, deadline=None)


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    lib = runtime()
    lib.pl_linear_new.restype = ctypes.c_void_p
    lib.pl_linear_new.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
    lib.pl_linear_factor.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    lib.pl_linear_factor_roughly.argtypes = lib.pl_linear_solve.argtypes = lib.pl_linear_factor.argtypes
    lib.pl_linear_free.argtypes = [ctypes.c_void_p]
    return lib


class Factors:
    """One factorization object on a fixed pattern."""

    def __init__(self, library: ctypes.CDLL, pattern: sp.csc_matrix, *, dense: bool, order: np.ndarray | None = None):
        self.library, self.n = library, pattern.shape[0]
        self.colptr, self.row = pattern.indptr.astype(np.int32), pattern.indices.astype(np.int32)
        self.order = np.asarray(np.arange(self.n) if order is None else order, dtype=np.int32)
        self.handle = library.pl_linear_new(
            self.n, self.colptr.ctypes.data, self.row.ctypes.data, self.order.ctypes.data, int(dense)
        )

    def factor(self, values: np.ndarray) -> int:
        values = np.ascontiguousarray(values, dtype=float)
        return int(self.library.pl_linear_factor(self.handle, values.ctypes.data))

    def factor_roughly(self, values: np.ndarray) -> int:
        values = np.ascontiguousarray(values, dtype=float)
        return int(self.library.pl_linear_factor_roughly(self.handle, values.ctypes.data))

    def solve(self, b: np.ndarray) -> np.ndarray:
        x = np.array(b, dtype=float)
        self.library.pl_linear_solve(self.handle, x.ctypes.data)
        return x

    def close(self) -> None:
        self.library.pl_linear_free(self.handle)


Make = Callable[..., Factors]


@pytest.fixture
def make(library: ctypes.CDLL) -> Iterator[Make]:
    made = []

    def factory(matrix: sp.csc_matrix, *, dense: bool, order: np.ndarray | None = None) -> Factors:
        made.append(Factors(library, matrix, dense=dense, order=order))
        return made[-1]

    yield factory
    for factors in made:
        factors.close()


def random_matrix(n: int, density: float, rng: np.random.Generator) -> sp.csc_matrix:
    """A sparse matrix with entries of one size on and off the diagonal."""
    matrix = sp.random(n, n, density, random_state=rng, data_rvs=lambda k: rng.normal(size=k))
    matrix = sp.csc_matrix(matrix + sp.diags(rng.normal(size=n)))
    matrix.sort_indices()
    return matrix


def kkt_matrix(n: int, m: int, rng: np.random.Generator) -> sp.csc_matrix:
    """[M, -J'; J, 0] with a stored, zero block at the lower right diagonal."""
    A = sp.random(n, n, min(1.0, 3 / n), random_state=rng)
    M = A @ A.T + sp.diags(rng.uniform(0.5, 2, n))
    J = sp.csc_matrix(sp.random(m, n, 0.3, random_state=rng, data_rvs=lambda k: rng.normal(size=k)))
    # every constraint has a separate coordinate, so that the rows are independent
    J = J + sp.csc_matrix((np.full(m, 2.0), (np.arange(m), np.arange(m))), shape=(m, n))
    zero = sp.csc_matrix((np.full(m, 1e-300), (np.arange(m), np.arange(m))), shape=(m, m))
    matrix = sp.csc_matrix(sp.bmat([[M, -J.T], [J, zero]]))
    matrix.data[np.abs(matrix.data) == 1e-300] = 0.0
    matrix.sort_indices()
    return matrix


def backward_error(matrix: sp.csc_matrix, x: np.ndarray, b: np.ndarray) -> float:
    """Smallest relative change of the matrix's entries of which x is the exact solution (normwise)."""
    residual = np.abs(matrix @ x - b).max()
    return float(residual / (abs(matrix).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()))


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("n", [1, 2, 7, 9, 13, 40, 83, 150, 230])
def test_solves_random_matrices(n: int, dense: bool, make: Make) -> None:
    rng = np.random.default_rng(n)
    matrix = random_matrix(n, min(1.0, 6 / n), rng)
    factors = make(matrix, dense=dense, order=rng.permutation(n))
    assert factors.factor(matrix.data) == OK
    for _ in range(3):
        b = rng.normal(size=n)
        x = factors.solve(b)
        assert backward_error(matrix, x, b) < 1e-13
        np.testing.assert_allclose(x, np.linalg.solve(matrix.toarray(), b), rtol=1e-7, atol=1e-9 * np.abs(x).max())


@fast
@given(st.integers(0, 10_000), st.integers(2, 30), st.booleans(), st.integers(-8, 8))
def test_kkt_matrices_with_zero_diagonals(library: ctypes.CDLL, seed: int, n: int, dense: bool, power: int) -> None:
    """Constraint forces may be of a very different size than inertia: the mass block is scaled by a power of ten."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, n))
    matrix = kkt_matrix(n, m, rng)
    block = (matrix.tocoo().row < n) & (matrix.tocoo().col < n)
    matrix.data[block] *= 10.0**power
    factors = Factors(library, matrix, dense=dense, order=rng.permutation(n + m))
    b = rng.normal(size=n + m)
    try:
        assert factors.factor(matrix.data) == OK
        x = factors.solve(b)
    finally:
        factors.close()
    exact = np.linalg.solve(_scaled(matrix, n, power), _scaled_right(b, n, power))
    exact[n:] *= 10.0**power
    # accelerations and multipliers each to nine digits of their own size
    for part in (slice(0, n), slice(n, None)):
        np.testing.assert_allclose(x[part], exact[part], rtol=0, atol=1e-9 * np.abs(exact[part]).max())


def _scaled(matrix: sp.csc_matrix, n: int, power: int) -> np.ndarray:
    """The same equations in multipliers divided by the power of ten: well scaled, for the reference."""
    out = matrix.toarray()
    out[:n, :n] /= 10.0**power
    return np.asarray(out)


def _scaled_right(b: np.ndarray, n: int, power: int) -> np.ndarray:
    return np.concatenate([b[:n] / 10.0**power, b[n:]])


@pytest.mark.parametrize("seed", range(5))
def test_new_values_on_the_same_pattern(seed: int, make: Make) -> None:
    """Pivots found for one set of values must not spoil another: sizes change by twelve orders, entries vanish."""
    rng = np.random.default_rng(seed)
    n = 60
    matrix = kkt_matrix(n - 15, 15, rng)
    factors = make(matrix, dense=False)
    for attempt in range(12):
        new = matrix.copy()
        new.data = matrix.data * 10.0 ** rng.uniform(-6, 6, matrix.nnz) if attempt % 3 else matrix.data
        if attempt % 3 == 2:
            diagonal = matrix.tocoo().row == matrix.tocoo().col
            new.data = np.where(diagonal & (rng.uniform(size=matrix.nnz) < 0.5), 0.0, new.data)
        b = rng.normal(size=n)
        if np.linalg.cond(new.toarray()) > 1e15:
            continue
        assert factors.factor(new.data) == OK
        assert backward_error(new, factors.solve(b), b) < 1e-11


def test_a_pivot_that_nearly_vanishes(make: Make) -> None:
    """The first factorization takes the diagonal; later the diagonal is tiny and must not be taken again."""
    for size in (1e-3, 1e-5, 1e-7, 1e-12, 0.0):
        n = 30
        rng = np.random.default_rng(1)
        matrix = random_matrix(n, 0.2, rng) + sp.diags(np.full(n, 10.0))
        matrix = sp.csc_matrix(matrix)
        matrix.sort_indices()
        factors = make(matrix, dense=False)
        assert factors.factor(matrix.data) == OK
        small = matrix.copy()
        small.setdiag(small.diagonal() * size)
        small.sort_indices()
        assert factors.factor(small.data) == OK
        b = rng.normal(size=n)
        assert backward_error(small, factors.solve(b), b) < 1e-13


@pytest.mark.parametrize("dense", [False, True])
def test_singular_matrices_are_recognized(dense: bool, make: Make) -> None:
    rng = np.random.default_rng(0)
    n = 30
    matrix = random_matrix(n, 0.3, rng)
    factors = make(matrix, dense=dense)
    zero_column = matrix.copy()
    zero_column.data[matrix.indptr[4] : matrix.indptr[5]] = 0
    assert factors.factor(zero_column.data) == SINGULAR
    zero_row = matrix.copy()
    zero_row.data[matrix.indices == 7] = 0
    assert factors.factor(zero_row.data) == SINGULAR
    assert factors.factor(np.full(matrix.nnz, np.nan)) == SINGULAR
    # and a regular matrix afterwards is solved without any effect of this
    assert factors.factor(matrix.data) == OK
    b = rng.normal(size=n)
    assert backward_error(matrix, factors.solve(b), b) < 1e-13


def test_rows_dependent_to_round_off_are_recognized(make: Make) -> None:
    rng = np.random.default_rng(0)
    n = 30
    factors = make(sp.csc_matrix(np.ones((n, n))), dense=True)
    for _ in range(20):
        A = rng.normal(size=(n, n))
        A[5] = rng.normal(size=n - 6) @ A[6:]
        assert factors.factor(A.ravel(order="F")) == SINGULAR
        A[5] += 1e-6 * rng.normal(size=n)
        assert factors.factor(A.ravel(order="F")) == OK


@pytest.mark.parametrize("dense", [False, True])
def test_redundant_constraints_are_recognized(dense: bool, make: Make) -> None:
    """Two constraints that say the same make [M, -J'; J, 0] singular, however large or small the inertia is."""
    rng = np.random.default_rng(3)
    n, m = 20, 5
    for scale in (1e-8, 1.0, 1e8, 1e15):
        for _ in range(10):
            A = rng.normal(size=(n, n))
            J = rng.normal(size=(m, n))
            M = scale * (A @ A.T + np.eye(n))
            for redundant in (False, True):
                if redundant:
                    J[4] = J[0] - 2 * J[1] + J[3]
                K = sp.csc_matrix(np.block([[M, -J.T], [J, np.zeros((m, m))]]))
                K.sort_indices()
                assert make(K, dense=dense).factor(K.data) == (SINGULAR if redundant else OK)


def test_infinite_values_are_not_accepted(make: Make) -> None:
    for dense in (False, True):
        matrix = random_matrix(12, 0.5, np.random.default_rng(0))
        factors = make(matrix, dense=dense)
        values = matrix.data.copy()
        values[3] = np.inf
        assert factors.factor(values) == SINGULAR


def test_empty_system(make: Make) -> None:
    factors = make(sp.csc_matrix((0, 0)), dense=True)
    assert factors.factor(np.zeros(0)) == OK
    assert factors.solve(np.zeros(0)).shape == (0,)


def grid(side: int, size: int) -> tuple[sp.csc_matrix, np.ndarray]:
    """Nodes with `size` coordinates each, joined as in a net: entries of one, and the columns in minimum-degree order."""
    line = sp.diags([1.0, 1.0, 1.0], [-1, 0, 1], shape=(side, side))
    graph = sp.csc_matrix(sp.kron(line, sp.identity(side)) + sp.kron(sp.identity(side), line))
    order = minimum_degree(Pattern(side * side, graph.indptr, graph.indices))
    assert sorted(order) == list(range(side * side))
    matrix = sp.csc_matrix(sp.kron(graph, np.ones((size, size))))
    matrix.sort_indices()
    return matrix, (size * order[:, None] + np.arange(size)).ravel()


@pytest.mark.parametrize("size", [3, 6])
def test_a_grid_of_blocks_in_minimum_degree_order(size: int, make: Make) -> None:
    """Many fronts: a grid of nodes with `size` coordinates each, in minimum-degree order, unsymmetric in its values."""
    rng = np.random.default_rng(size)
    matrix, order = grid(12, size)
    matrix.data = rng.normal(size=matrix.nnz)
    matrix = sp.csc_matrix(matrix + sp.diags(np.full(matrix.shape[0], 6.0 * size)))
    factors = make(matrix, dense=False, order=order)
    for _ in range(2):
        assert factors.factor(matrix.data) == OK
        b = rng.normal(size=matrix.shape[0])
        assert backward_error(matrix, factors.solve(b), b) < 1e-14
        matrix.data *= rng.uniform(0.9, 1.1, matrix.nnz)


def net_matrix(stiffness: float, rng: np.random.Generator) -> tuple[sp.csc_matrix, np.ndarray]:
    """Inertia of one per coordinate and springs between the nodes of a net, unsymmetric by a hundredth; large enough for factors in
    single precision."""
    matrix, order = grid(36, 4)
    coupled = matrix.copy()
    coupled.data = -stiffness * rng.uniform(0.0, 0.25, matrix.nnz) * rng.uniform(0.99, 1.01, matrix.nnz)
    coupled = sp.csc_matrix(coupled - sp.diags(coupled.diagonal()))
    total = np.asarray(abs(coupled).sum(axis=1)).ravel()
    matrix = sp.csc_matrix(coupled + sp.diags(1 + total))
    matrix.sort_indices()
    return matrix, order


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_rough_factors_leave_over_what_iterations_correct(size: float, make: Make) -> None:
    """In single precision, which shows; the exact factorization that follows is in double precision again."""
    rng = np.random.default_rng(0)
    matrix, order = net_matrix(100.0, rng)
    factors = make(matrix, dense=False, order=order)
    b = size * rng.normal(size=matrix.shape[0])
    for _ in range(12):  # with and without a trial
        assert factors.factor_roughly(matrix.data) == OK
        x = factors.solve(b)
        assert 1e-9 < backward_error(matrix, x, b) < 1e-5
        for _ in range(3):
            x += factors.solve(b - matrix @ x)
        assert backward_error(matrix, x, b) < 1e-14
        matrix.data *= rng.uniform(0.99, 1.01, matrix.nnz)
    assert factors.factor(matrix.data) == OK
    assert backward_error(matrix, factors.solve(b), b) < 1e-14
    assert np.array_equal(factors.solve(np.zeros(len(b))), np.zeros(len(b)))


def test_rough_factors_of_an_ill_conditioned_matrix_are_not_in_single_precision(make: Make) -> None:
    rng = np.random.default_rng(0)
    matrix, order = net_matrix(1e9, rng)
    factors = make(matrix, dense=False, order=order)
    b = rng.normal(size=matrix.shape[0])
    for _ in range(3):
        assert factors.factor_roughly(matrix.data) == OK
        assert backward_error(matrix, factors.solve(b), b) < 1e-13
    matrix.data[:] = 0
    assert factors.factor_roughly(matrix.data) == SINGULAR


def test_rough_factors_of_small_matrices_are_exact(make: Make) -> None:
    rng = np.random.default_rng(0)
    matrix = random_matrix(80, 0.1, rng)
    factors = make(matrix, dense=False)
    assert factors.factor_roughly(matrix.data) == OK
    b = rng.normal(size=80)
    assert backward_error(matrix, factors.solve(b), b) < 1e-13


def test_rough_factors_of_what_decays_below_their_range(make: Make) -> None:
    """Weak springs: influences of far nodes on each other fall below the least number of single precision."""
    rng = np.random.default_rng(0)
    matrix, order = net_matrix(1e-3, rng)
    factors = make(matrix, dense=False, order=order)
    assert factors.factor_roughly(matrix.data) == OK
    b = np.zeros(matrix.shape[0])
    b[0] = 1.0
    x = factors.solve(b)
    exact = sp.linalg.spsolve(matrix, b)
    np.testing.assert_allclose(x, exact, rtol=0, atol=1e-6)
    assert np.nextafter(0.0, 1.0) / 2 == 0 < np.nextafter(0.0, 1.0)  # denormal numbers of other code are unchanged


def test_large_products_in_threads_give_the_same_bits(library: ctypes.CDLL) -> None:
    """One thread, several, and several callers at once of whom the helpers serve one; also in a child process, which has none."""
    rng = np.random.default_rng(0)
    matrix = sp.csc_matrix(rng.normal(size=(420, 420)) + 20 * np.eye(420))
    b = rng.normal(size=420)

    def solution() -> bytes:
        factors = Factors(library, matrix, dense=True)
        try:
            assert factors.factor(matrix.data) == OK
            return factors.solve(b).tobytes()
        finally:
            factors.close()

    library.pl_use_threads(1)
    try:
        alone = solution()
        assert backward_error(matrix, np.frombuffer(alone), b) < 1e-13
        library.pl_use_threads(4)
        assert [solution() for _ in range(20)] == [alone] * 20
        with ThreadPoolExecutor(3) as pool:
            assert set(pool.map(lambda _: solution(), range(30))) == {alone}
        if hasattr(os, "fork"):
            child = os.fork()
            if not child:
                signal.alarm(60)
                os._exit(0 if solution() == alone else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        library.pl_use_threads(0)


@pytest.mark.parametrize("stiffness", [1e-3, 100.0])
def test_subtrees_in_threads_give_the_same_bits(stiffness: float, library: ctypes.CDLL) -> None:
    """In double precision and in single, also where numbers fall below its range; and a singular matrix is one in every thread."""
    rng = np.random.default_rng(0)
    matrix, order = net_matrix(stiffness, rng)
    b = rng.normal(size=matrix.shape[0])
    singular = matrix.copy()
    singular.data[matrix.indptr[700] : matrix.indptr[701]] = 0

    def solutions() -> tuple[bytes, bytes]:
        factors = Factors(library, matrix, dense=False, order=order)
        try:
            assert factors.factor(matrix.data) == OK
            exact = factors.solve(b)
            assert backward_error(matrix, exact, b) < 1e-14
            assert factors.factor(singular.data) == SINGULAR
            assert factors.factor_roughly(matrix.data) == OK
            return exact.tobytes(), factors.solve(b).tobytes()
        finally:
            factors.close()

    library.pl_use_threads(1)
    try:
        alone = solutions()
        assert alone[0] != alone[1]
        library.pl_use_threads(4)
        assert [solutions() for _ in range(5)] == [alone] * 5
        with ThreadPoolExecutor(3) as pool:
            assert set(pool.map(lambda _: solutions(), range(6))) == {alone}
    finally:
        library.pl_use_threads(0)


def test_minimum_degree_leaves_little_fill() -> None:
    """A tree has an order without any fill, and minimum degree finds it."""
    rng = np.random.default_rng(0)
    parent = [int(rng.integers(0, k)) for k in range(1, 60)]
    graph = sp.lil_matrix((60, 60))
    for child, above in enumerate(parent, start=1):
        graph[child, above] = graph[above, child] = 1.0
    graph.setdiag(1.0)
    entries = sp.csc_matrix(graph)
    order = minimum_degree(Pattern(60, entries.indptr, entries.indices))
    filled = graph.toarray()[np.ix_(order, order)] != 0
    for k in range(60):
        below = k + 1 + np.flatnonzero(filled[k + 1 :, k])
        filled[np.ix_(below, below)] = True
    assert filled.sum() == graph.nnz
