"""Stability: by the stiffness where it decides, by the motion where damping, gyroscopic terms or loads without a potential do; of
large robots by pivots."""

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant import AnalysisFailed, derive, equilibrium, load, load_text, modes
from pliant.analysis.statics.stability import (
    growth,
    independent_rows,
    judge,
    judge_large,
    negative_eigenvalues,
    negative_eigenvalues_within,
)
from pliant.engine.binding import LinearizedEquations
from pliant.robot.rod_switch import with_rod_model

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


def test_a_large_column_of_beck():
    """The same by iteration, beyond the size for which all eigenvalues are computed."""
    text = BECK.replace("pcs, elements: 12", "finite_element, elements: 110").replace("AXES", "rod.tip")
    eqs = derive(load_text(text))
    flutters = equilibrium(eqs, parameters={"push": 1.1 * 20.05 * BENDING}, stability="any")
    assert flutters.stable is False
    assert "flutters" in flutters.message
    # below, no growing motion is found, which does not prove that there is none
    assert equilibrium(eqs, parameters={"push": 0.9 * 20.05 * BENDING}).stable is None
    small = derive(load_text(BECK.replace("AXES", "rod.tip")))
    for found in (modes(eqs, at=flutters, count=4), modes(small, parameters={"push": 1.1 * 20.05 * BENDING}, count=4)):
        assert found.kinds == ("unstable", "unstable", "oscillating", "oscillating")
        # an undamped pair that flutters has a mirror image that decays
        np.testing.assert_allclose(found.eigenvalues[2:], -found.eigenvalues[:2].conj(), rtol=1e-6)
        assert found.eigenvalues[0].imag == pytest.approx(5.47, rel=0.01)


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
    assert growth(np.array([[-1.0, 1.0], [0, 1]]), none, one).growth == "it gives way and grows by a factor e in 1 s"


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


DAMPED = """
pliant: 1
parameters: {c: -5 N*s/m}
bodies: {a: {mass: 1 kg}}
joints: {j: {type: prismatic, child: a, axis: x, displacement: {spring: 100 N/m, damper: =c, initial: 1 mm}}}
"""


def test_a_negative_damper_makes_a_pose_unstable():
    eqs = derive(load_text(DAMPED))
    with pytest.raises(AnalysisFailed, match="No stable pose was found"):
        equilibrium(eqs)
    found = equilibrium(eqs, stability="any")
    assert found.stable is False
    assert "grows by a factor e in 0.4 s" in found.message  # 2 m / c
    assert found.stiffness == pytest.approx(100.0)
    for c in (0.0, 1e-12, 5.0, 1000.0):
        assert equilibrium(eqs, parameters={"c": c}).stable is True
    assert "gives way" in equilibrium(eqs, parameters={"c": -1000.0}, on_failure="return").message


def linearized(K, C, M, J=None):
    """The equations of a small system at rest."""
    n = len(K)
    J = np.zeros((0, n)) if J is None else np.asarray(J, dtype=float)
    matrices = (sp.csc_matrix(np.asarray(x, dtype=float)) for x in (K, C, M))
    return LinearizedEquations(np.zeros(n), *matrices, np.zeros(len(J)), sp.csr_matrix(J), np.ones(n), np.ones(len(J)))


ONE, NONE, TURN = np.eye(2), np.zeros((2, 2)), np.array([[0.0, 1.0], [-1.0, 0.0]])


def test_gyroscopic_terms_hold_what_lacks_stiffness_until_damping_lets_it_go():
    held = judge(linearized(-ONE, 3 * TURN, ONE))
    assert (held.stable, held.unstable, held.conservative) == (True, 0, False)
    assert "only gyroscopic terms stabilize it" in held.growth
    np.testing.assert_allclose(held.values, [-1.0, -1.0])  # the stiffness itself, for paths
    # too slow: (g / 2)^2 < -k; and with damping
    assert judge(linearized(-ONE, 1.9 * TURN, ONE)).stable is False
    assert judge(linearized(-ONE, 3 * TURN + 1e-3 * ONE, ONE)).stable is False
    # gyroscopic terms do no harm where there is stiffness
    assert judge(linearized(ONE, 3 * TURN, ONE)).stable is True
    assert judge(linearized(ONE, 3 * TURN, ONE)).conservative


def test_damping_that_gives_energy_is_harmless_where_more_is_taken():
    """One damper gives, another takes: what counts is the motion."""
    K = np.array([[101.0, -1.0], [-1.0, 101.0]])
    coupled = np.array([[1e3, -1e3], [-1e3, 1e3]])  # ties them together
    assert judge(linearized(K, np.diag([-1.0, 3.0]) + coupled, ONE)).stable is True
    growing = judge(linearized(K, np.diag([-3.0, 1.0]) + coupled, ONE))
    assert (growing.stable, growing.conservative) == (False, False)
    assert growing.growth.startswith("it flutters at 1.59 Hz")
    assert growing.lowest == pytest.approx(100.0)
    neutral = judge(linearized(np.diag([0.0, 1.0]), np.diag([-1.0, 0.0]), ONE))
    assert neutral.stable is False  # drifts ever faster
    assert judge(linearized(np.diag([0.0, 1.0]), np.diag([1.0, 0.0]), ONE)).stable is None


def test_motions_without_mass():
    """A spring and a damper without mass between them creep; a negative damper there makes them run away."""
    M = np.diag([1.0, 0.0])
    assert judge(linearized(np.diag([4.0, 9.0]), np.diag([0.0, 3.0]), M)).stable is True
    gone = judge(linearized(np.diag([4.0, 9.0]), np.diag([0.0, -3.0]), M))
    assert gone.stable is False
    assert "gives way and grows by a factor e in 0.333 s" in gone.growth


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from(["takes", "gives", "mixed"]), st.booleans())
def test_verdicts_agree_with_the_eigenvalues_of_the_motion(seed, n, damping, gyroscopic):
    rng = np.random.default_rng(seed)
    X, Y, G = (rng.normal(size=(n, n)) for _ in range(3))
    K = X + X.T + rng.uniform(0, 6) * np.eye(n)
    sign = {"takes": np.ones(n), "gives": -np.ones(n), "mixed": rng.choice([-0.1, 1.0], n)}[damping]
    C = Y @ np.diag(sign) @ Y.T + gyroscopic * (G - G.T)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-K, -C]])
    fastest = la.eigvals(A).real.max()
    if abs(fastest) > 1e-9:
        assert judge(linearized(K, C, np.eye(n))).stable is bool(fastest < 0)


def test_undamped_motions_are_not_pushed_off_the_axis_by_round_off():
    """Stiff and soft oscillators with gyroscopic coupling and dampers that cancel: nothing grows."""
    rng = np.random.default_rng(3)
    n = 8
    w2 = np.logspace(0, 10, n)
    Q = la.qr(rng.normal(size=(n, n)))[0]
    K = Q @ np.diag(w2) @ Q.T
    G = rng.normal(size=(n, n))
    C = (G - G.T) * 1e-2
    C[0, 0] = -1e-18  # not quite a damper that takes energy
    assert judge(linearized(0.5 * (K + K.T), C, np.eye(n))).stable is True


@pytest.mark.parametrize("seed", range(4))
def test_negative_eigenvalues_on_allowed_motions(seed):
    rng = np.random.default_rng(seed)
    n, m = 50, 7
    off = sp.csc_matrix(rng.normal(size=(n, n)) * (rng.uniform(size=(n, n)) < 0.05))
    K = sp.csc_matrix(off + off.T + sp.diags(rng.choice([-1.0, 1.0, 1.0], n)))
    J = sp.csr_matrix(np.vstack([rng.normal(size=(m, n)) * (rng.uniform(size=(m, n)) < 0.2)] * 2))  # each row twice
    rows = independent_rows(J)
    assert len(rows) == m
    Z = la.null_space(J.toarray())
    exact = int(np.sum(la.eigvalsh(Z.T @ K @ Z) < 0))
    assert negative_eigenvalues_within(K, J[rows]) == exact > 0


def test_large_loops_are_judged_like_small_ones():
    """Rods that hold a plate in a loop, straight or loaded beyond buckling, with a damper that takes or gives."""
    eqs = derive(load_text(LOOP))
    for push, c, stable in ((0.0, 1.0, True), (60.0, 1.0, False), (0.0, -1.0, False)):
        bound = eqs.at(parameters={"push": push, "c": c}).binding
        q, zero = eqs.initial_state().q, np.zeros(bound.nv)
        at = bound.linearized(0.0, q, zero, zero, np.zeros(bound.m))
        multipliers = np.linalg.lstsq(at.jacobian.toarray().T, at.residual, rcond=None)[0]
        at = bound.linearized(0.0, q, zero, zero, multipliers)
        dense, sparse = judge(at), judge_large(at)
        assert dense.stable is sparse.stable is stable
        if c > 0:
            assert sparse.unstable == dense.unstable
        if stable:
            assert sparse.lowest == pytest.approx(dense.lowest, rel=1e-6)


LOOP = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {push: 0 N, c: 1 N*s/m}
sections: {strip: {shape: rectangle, width: 20 mm, height: 1 mm}}
materials: {steel: {density: 7800 kg/m^3, youngs_modulus: 200 GPa, poissons_ratio: 0.3}}
bodies:
  plate:
    mass: 1 kg
    shape: {type: box, size: [20 cm, 10 cm, 1 cm]}
    frames: {a: {position: [-10 cm, 0, 0]}, b: {position: [10 cm, 0, 0]}}
rods:
  left: {parent: world, length: 30 cm, section: strip, material: steel, model: {kind: pcs, elements: 5}}
  right: {parent: world, position: [20 cm, 0, 0], length: 30 cm, section: strip, material: steel, model: {kind: pcs, elements: 5}}
joints: {float: {type: free, child: plate, x: {initial: 10 cm, damper: =c}, y: {damper: =c}, z: {initial: 30 cm}}}
constraints:
  hold_left: {between: [left.tip, plate.a], components: all}
  hold_right: {between: [right.tip, plate.b], components: all}
loads: {press: {frame: plate, force: [0, 0, =-push]}}
"""


def test_a_weak_moment_about_a_fixed_axis_is_held_by_a_little_damping():
    """It has no potential, so the undamped rod flutters; one percent of damping is enough to stabilize it, which is reported."""
    eqs = derive("cantilever")
    found = equilibrium(eqs, parameters={"tip_moment": 0.2})
    assert (found.status, found.stable) == ("converged", None)
    assert "one percent of damping stabilizes the pose" in found.remarks[0]
    # a strong one throws it out of its plane, with damping or without
    strong = equilibrium(eqs, parameters={"tip_moment": 0.5}, on_failure="return")
    assert (strong.status, strong.stable, strong.balanced) == ("failed", False, True)
