"""Stability: under loads without a potential by the motion, not by the sign of the stiffness; of large robots by pivots."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from pliant import AnalysisFailed, derive, equilibrium, load, load_text
from pliant.solve.statics.eigenvalue_count import negative_eigenvalues
from pliant.solve.statics.stability import growth, judge, judge_large
from pliant.spec.rod_switch import with_rod_model

BENDING = 1e7 * np.pi / 4 * 0.01**4


@pytest.mark.parametrize("word", ["pcs:8", "cosserat:8"])
def test_a_rod_under_a_dead_moment_is_stable_until_it_flutters(word):
    eqs = derive(with_rod_model(load("cantilever"), "rod", word))
    small = equilibrium(eqs, parameters={"tip_moment": 0.05})
    assert (small.status, small.stable) == ("converged", True)
    # a moment about a fixed axis has no potential in space: rolled up far enough, the undamped rod flutters out of its plane
    with pytest.raises(AnalysisFailed, match="flutters at") as failed:
        equilibrium(eqs, parameters={"tip_moment": 0.4})
    large = failed.value.result
    assert (large.status, large.stable) == ("failed", False)
    assert large.residual < 1e-6
    same = equilibrium(eqs, parameters={"tip_moment": 0.4}, stability="any")
    assert (same.status, same.stable) == ("converged", False)
    np.testing.assert_allclose(same.frames["rod.tip"].position, large.frames["rod.tip"].position, atol=1e-9)


BECK = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {push: 0 N}
sections: {round: {shape: circle, radius: 10 mm}}
materials: {rubber: {density: 1000, youngs_modulus: 10 MPa, poissons_ratio: 0.5}}
rods:
  rod:
    length: 1 m
    section: round
    material: rubber
    stiffness_factors: [1000, 1000, 1000, 1, 1, 1]
    model: {kind: pcs, elements: 12}
loads: {tip: {frame: rod.tip, force: [0, 0, =-push], expressed_in: AXES}}
"""


def test_columns_of_beck_and_euler():
    """A follower force makes a column flutter at 20.05 EI / L^2, a dead one makes it buckle at pi^2 / 4."""
    for axes, critical, says in (("rod.tip", 20.05, "flutters"), ("world", np.pi**2 / 4, "unstable")):
        eqs = derive(load_text(BECK.replace("AXES", axes)))
        for share in (0.9, 1.1):
            found = equilibrium(eqs, parameters={"push": share * critical * BENDING}, stability="any")
            assert np.linalg.norm(found.frames["rod.tip"].position[:2]) < 1e-9
            assert found.stable is (share < 1)
            assert share < 1 or says in found.message


def test_growth_of_small_systems():
    one = np.eye(2)
    none = np.zeros((2, 2))
    assert growth(np.array([[2, 1.0], [-0.1, 1]]), none, one).growing == 0
    # circulatory forces larger than the difference of the frequencies
    assert growth(np.array([[1.1, 1.0], [-1.0, 1]]), none, one).growing == 2
    # equal frequencies: any circulatory force makes them flutter, and damping can hold it
    equal = np.array([[1.0, 1e-3], [-1e-3, 1]])
    assert growth(equal, none, one).growing == 2
    assert growth(equal, 0.1 * one, one).growing == 0
    # a force that neither grows nor comes back
    drifting = growth(np.array([[0, 1.0], [0, 1]]), none, one)
    assert drifting.growing == 0
    assert drifting.neutral > 0
    assert growth(np.array([[-1.0, 1.0], [0, 1]]), none, one).remark == "it gives way and grows by a factor e in 1 s"


@pytest.mark.parametrize("seed", range(5))
def test_negative_eigenvalues_are_counted_by_pivots(seed):
    rng = np.random.default_rng(seed)
    n = 60
    off = sp.csc_matrix(rng.normal(size=(n, n)) * (rng.uniform(size=(n, n)) < 0.04))
    matrix = sp.csc_matrix(off + off.T + sp.diags(rng.choice([-1.0, 1.0, 1.0], n)))
    values = np.linalg.eigvalsh(matrix.toarray())
    assert negative_eigenvalues(matrix) == np.sum(values < 0) > 0
    lift = 1e-3 - values[0]
    assert negative_eigenvalues(sp.csc_matrix(matrix + lift * sp.eye(n))) == 0


def test_pivots_next_to_zero_are_not_trusted():
    assert negative_eigenvalues(sp.csc_matrix(np.array([[1.0, 1.0], [1.0, 1.0]]))) is None
    assert negative_eigenvalues(sp.csc_matrix(np.array([[0.0, 1.0], [1.0, 0.0]]))) is None


@pytest.mark.parametrize(("load", "unstable"), [(0.8, 0), (1.2, 2), (12.0, 4)])
def test_a_column_is_judged_alike_by_pivots_and_by_eigenvalues(load, unstable):
    """A clamped column buckles at pi^2 E I / (4 L^2), next at nine times that, to two sides each."""
    text = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {load: 0 N}
sections: {round: {shape: circle, radius: 5 mm}}
materials: {rubber: {density: 1100, youngs_modulus: 1 MPa, poissons_ratio: 0.48}}
rods:
  arm:
    length: 40 cm
    section: round
    material: rubber
    stiffness_factors: [100, 100, 100, 1, 1, 1]
    model: {kind: finite_element, elements: 20}
loads: {push: {frame: arm.tip, force: [0, 0, =-load]}}
"""
    eqs = derive(load_text(text))
    critical = np.pi**2 / 4 * 1e6 * np.pi / 4 * 5e-3**4 / 0.4**2
    binding = eqs.at(parameters={"load": load * critical}).binding
    q = eqs.initial_state().q.copy()
    zero = np.zeros(binding.nv)
    # straight and compressed: the pose that balances the load, stable or not
    for _ in range(5):
        at = binding.linearized(0.0, q, zero, zero, np.zeros(0))
        q = binding.increment(q, -spla.splu(at.stiffness.tocsc()).solve(at.residual))
    at = binding.linearized(0.0, q, zero, zero, np.zeros(0))
    dense, sparse = judge(at), judge_large(at)
    assert (dense.unstable, sparse.unstable) == (unstable, unstable)
    assert dense.stable is sparse.stable
    if not unstable:
        assert sparse.lowest == pytest.approx(dense.lowest, rel=1e-6)


def test_large_robots_are_judged():
    spec = load("cantilever")
    rest = equilibrium(derive(with_rod_model(spec, "rod", "finite_element:110")))
    assert len(rest.equations.rates) == 660
    assert rest.stable is True
    assert rest.stiffness > 0
