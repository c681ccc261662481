"""The compiled engine against the interpreted one (automatic differentiation) and against finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from pliant.equations.compiled import EvaluationError

from pliant.motion import SCREW

ALL = ["revolute", "prismatic", "translation", "rotation", "rotation_vector", "free"]
CASES: dict[str, dict[str, Any]] = {
    "tree": {"kinds": ALL},
    "tree of two-node elements": {"kinds": ["rotation_vector", "revolute", "free"], "several_nodes": True},
    "forces": {"kinds": ["revolute", "rotation", "prismatic", "free"], "forces": True},
    "loops": {"kinds": ["revolute"], "loose": 3, "constraints": True},
    "everything": {"kinds": ALL, "loose": 3, "forces": True, "constraints": True},
    "everything on two-node elements": {
        "kinds": ["revolute", "rotation", "rotation_vector"],
        "several_nodes": True,
        "loose": 3,
        "forces": True,
        "constraints": True,
    },
    "inertia of elements": {"kinds": ["revolute", "rotation", "free", "prismatic"], "inertias": "own"},
    "inertia with everything": {
        "kinds": ["prismatic", "rotation", "revolute"],
        "loose": 3,
        "forces": True,
        "constraints": True,
        "inertias": "coupled",
    },
    "many loose parts": {"kinds": ["revolute"] * 10, "loose": 20, "constraints": True},
}
STEP = 1e-6


@pytest.fixture(scope="module", params=CASES)
def sample(request: pytest.FixtureRequest, random_system: Callable[[int], Any]) -> Any:
    case = CASES[request.param]
    draft = random_system(list(CASES).index(request.param))
    draft.joints(case["kinds"], several_nodes=case.get("several_nodes", False), loose=case.get("loose", 0))
    if case.get("inertias"):
        draft.inertias(coupled=case["inertias"] == "coupled")
    if case.get("forces"):
        draft.forces()
    if case.get("constraints"):
        draft.constraints()
    return draft.finish()


def dense(x: Any) -> np.ndarray:
    return x.toarray() if sp.issparse(x) else np.asarray(x)


def close(ours: Any, reference: Any, tolerance: float = 1e-11) -> None:
    ours, reference = dense(ours), dense(reference)
    assert ours.shape == reference.shape
    scale = max(1.0, np.abs(reference).max(initial=0.0))
    np.testing.assert_allclose(ours, reference, rtol=0, atol=tolerance * scale)


def test_kinematics(sample: Any) -> None:
    for x, y in zip(sample.compiled.node_poses(sample.q), sample.interpreted.node_poses(sample.q), strict=True):
        close(x, y, 1e-13)
    state = (sample.q, sample.v)
    close(sample.compiled.node_twists(*state), sample.interpreted.node_twists(*state), 1e-13)
    motion = (sample.t, *state, sample.a)
    close(sample.compiled.node_accelerations(*motion), sample.interpreted.node_accelerations(*motion), 1e-13)


def test_signals(sample: Any) -> None:
    for t in (-0.2, 0.0, 0.37, 0.9, 2.0):
        for x, y in zip(sample.compiled.signals(t), sample.interpreted.signals(t), strict=True):
            close(x, y, 1e-14)


def test_values(sample: Any) -> None:
    ours, theirs, state = sample.compiled, sample.interpreted, (sample.t, sample.q, sample.v)
    close(ours.mass_matrix(sample.q), theirs.mass_matrix(sample.q))
    close(ours.inverse(*state, sample.a), theirs.inverse(*state, sample.a))
    close(ours.energies(*state), theirs.energies(*state))
    for x, y in zip(ours.constraints(*state), theirs.constraints(*state), strict=True):
        close(x, y)
    for x, y in zip(ours.forward(*state), theirs.forward(*state), strict=True):
        close(x, y, 1e-9)


def test_forward_solves_the_equations(sample: Any) -> None:
    """M a + h = J' multipliers and J a + gamma = 0."""
    engine, state = sample.compiled, (sample.t, sample.q, sample.v)
    a, multipliers = engine.forward(*state)
    _, _, gamma, J = engine.constraints(*state)
    residual = engine.inverse(*state, a) - J.T @ multipliers
    scale = 1 + np.abs(a).max() + np.abs(multipliers).max(initial=0.0)
    np.testing.assert_allclose(residual, 0, atol=1e-10 * scale)
    np.testing.assert_allclose(J @ a + gamma, 0, atol=1e-10 * scale)


def test_linearized(sample: Any) -> None:
    state = (sample.t, sample.q, sample.v, sample.a, sample.multipliers)
    ours, theirs = sample.compiled.linearized(*state), sample.interpreted.linearized(*state)
    for name in ("residual", "stiffness", "damping", "mass", "phi", "jacobian"):
        close(getattr(ours, name), getattr(theirs, name))
    pairs = zip(sample.compiled.acceleration_tangent(), sample.interpreted.acceleration_tangent(), strict=True)
    for x, y in pairs:
        close(x, y)
    close(sample.compiled.input_tangent(*state[:3]), sample.interpreted.input_tangent(*state[:3]))
    close(sample.compiled.rate_tangent(*state[:3]), sample.interpreted.rate_tangent(*state[:3]))


def test_results_belong_to_the_caller(sample: Any) -> None:
    """A later evaluation must not change what an earlier one returned."""
    engine, state = sample.compiled, (sample.t, sample.q, sample.v)
    a, multipliers = engine.forward(*state)
    x = engine.linearized(*state, sample.a, sample.multipliers)
    kept = [y.copy() for y in (a, multipliers, x.stiffness.data, x.mass.data, x.residual, x.jacobian.data)]
    engine.linearized(
        sample.t + 1, engine.increment(sample.q, 0.1 * sample.a), sample.a, sample.v, 2 * sample.multipliers
    )
    engine.forward(sample.t + 1, sample.q, 2 * sample.v)
    for y, before in zip(
        (a, multipliers, x.stiffness.data, x.mass.data, x.residual, x.jacobian.data), kept, strict=True
    ):
        np.testing.assert_array_equal(y, before)


def test_arguments_of_any_layout(sample: Any) -> None:
    """Lists, integers and strided arrays give what contiguous arrays of floats give; wrong sizes are refused."""
    engine = sample.compiled
    expected = engine.forward(sample.t, sample.q, sample.v)[0]
    strided = np.repeat(sample.q, 2)[::2]
    np.testing.assert_array_equal(engine.forward(sample.t, strided, list(sample.v))[0], expected)
    rest = np.zeros(engine.nv, dtype=int)
    np.testing.assert_array_equal(
        engine.forward(0, sample.q, rest)[0], engine.forward(0.0, sample.q, rest.astype(float))[0]
    )
    with pytest.raises(ValueError, match="numbers"):
        engine.forward(sample.t, sample.q[:-1], sample.v)
    with pytest.raises(ValueError, match="numbers"):
        engine.inverse(sample.t, sample.q, sample.v, sample.a[:-1])


def test_forces_by_source(sample: Any) -> None:
    engine, state = sample.compiled, (sample.t, sample.q, sample.v)
    constants = engine.theta.copy()
    ours, theirs = engine.force_by_source(*state), sample.interpreted.force_by_source(*state)
    assert ours.keys() == theirs.keys()
    for source, force in ours.items():
        close(force, theirs[source], 1e-10)
    np.testing.assert_array_equal(engine.theta, constants)
    # at rest there are no inertia forces: the sources are all there is
    rest = np.zeros(engine.nv)
    total = np.sum(list(engine.force_by_source(sample.t, sample.q, rest).values()), axis=0)
    close(engine.inverse(sample.t, sample.q, rest, rest), -total, 1e-10)


# -- finite differences ------------------------------------------------------------------------------------------------


def test_tangents_are_derivatives(sample: Any) -> None:
    engine, t, q, v, a = sample.compiled, sample.t, sample.q, sample.v, sample.a

    def residual(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        J = engine.constraints(t, q, v)[3]
        return np.concatenate(
            [engine.inverse(t, q, v, a) - J.T @ sample.multipliers, _acceleration(engine, t, q, v, a)]
        )

    x = engine.linearized(t, q, v, a, sample.multipliers)
    Eq, Ev = engine.acceleration_tangent()
    n, identity = engine.nv, np.eye(engine.nv)
    exact_q = np.vstack([x.stiffness.toarray(), Eq])
    exact_v = np.vstack([x.damping.toarray(), Ev])
    exact_a = np.vstack([x.mass.toarray(), x.jacobian.toarray()])
    for k in range(n):
        step = STEP * identity[k]
        by_q = residual(engine.increment(q, step), v, a) - residual(engine.increment(q, -step), v, a)
        by_v = residual(q, v + step, a) - residual(q, v - step, a)
        by_a = residual(q, v, a + step) - residual(q, v, a - step)
        for exact, difference in ((exact_q, by_q), (exact_v, by_v), (exact_a, by_a)):
            close(exact[:, k], difference / (2 * STEP), 3e-7)


def test_time_enters_by_signals_and_their_rates(sample: Any) -> None:
    engine, t, q, v, a = sample.compiled, sample.t, sample.q, sample.v, sample.a
    difference = (engine.inverse(t + STEP, q, v, a) - engine.inverse(t - STEP, q, v, a)) / (2 * STEP)
    exact = engine.input_tangent(t, q, v) @ engine.signal_rates(t)[0] + engine.rate_tangent(t, q, v)
    close(exact, difference, 3e-7)


def _acceleration(engine: Any, t: float, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """d2(phi)/dt2 without what prescribed signals add."""
    _, _, gamma, J = engine.constraints(t, q, v)
    return np.asarray(J @ a + gamma)


def test_constraint_rates_are_derivatives(sample: Any) -> None:
    engine, q, v, a = sample.compiled, sample.q, sample.v, sample.a
    h = 1e-5

    def at(s: float) -> tuple[np.ndarray, np.ndarray]:
        moved = engine.increment(q, s * v + 0.5 * s * s * a)
        phi, rate, _, _ = engine.constraints(sample.t + s, moved, v + s * a)
        return phi, rate

    plus, minus = at(h), at(-h)
    _, rate, gamma, J = engine.constraints(sample.t, q, v)
    close((plus[0] - minus[0]) / (2 * h), rate, 1e-7)
    close((plus[1] - minus[1]) / (2 * h), J @ a + gamma, 1e-6)


def test_energy_balance(sample: Any) -> None:
    """d(kinetic + potential)/dt = supply - dissipation + power of the residual."""
    engine, q, v, a, t = sample.compiled, sample.q, sample.v, sample.a, sample.t
    h = 1e-6
    totals = []
    for s in (h, -h):
        moved = engine.increment(q, s * v + 0.5 * s * s * a)
        totals.append(engine.energies(t + s, moved, v + s * a)[:2].sum())
    _, _, dissipation, supply, _ = engine.energies(t, q, v)
    power = engine.inverse(t, q, v, a) @ v
    assert (totals[0] - totals[1]) / (2 * h) == pytest.approx(supply - dissipation + power, rel=1e-6, abs=1e-5)


def test_derivatives_of_accelerations(sample: Any) -> None:
    engine, t, q, v = sample.compiled, sample.t, sample.q, sample.v
    if engine.m:
        with pytest.raises(EvaluationError, match="linearized"):
            engine.forward_derivatives(t, q, v)
        return
    a, dq, dv = engine.forward_derivatives(t, q, v)
    reference = sample.interpreted.forward_derivatives(t, q, v)
    for x, y in zip((a, dq, dv), reference, strict=True):
        close(x, y, 1e-9)


def test_increment(sample: Any) -> None:
    rng = np.random.default_rng(0)
    for size in (1e-9, 1e-4, 0.1, 3.0):
        x = size * rng.normal(size=sample.compiled.nv)
        close(sample.compiled.increment(sample.q, x), sample.interpreted.increment(sample.q, x), 1e-14)


def test_rows_that_are_switched_off(sample: Any) -> None:
    if not sample.compiled.m:
        return
    engines, state = (sample.compiled, sample.interpreted), (sample.t, sample.q, sample.v)
    before = sample.compiled.forward(*state)[0]
    try:
        for engine in engines:
            engine.row_active[0] = 0
        results = [engine.forward(*state) for engine in engines]
        for x, y in zip(*results, strict=True):
            close(x, y, 1e-9)
        assert results[0][1][0] == 0
        assert np.abs(results[0][0] - before).max() > 1e-6
    finally:
        for engine in engines:
            engine.row_active[0] = 1


# -- states without an answer ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("redundant", [False, True])
def test_a_coordinate_without_mass_or_a_constraint_twice_is_refused(
    random_system: Callable[[int], Any], redundant: bool
) -> None:
    """Both give accelerations that are round-off blown up, unless the factorization notices."""
    draft = random_system(11)
    draft.joints(["revolute"], loose=3)
    draft.constraints()
    if redundant:
        draft.constraints(again=True)
    else:
        massless = draft.builder
        axis = [0, 0, 0, 0, 0, 1]
        massless.element(massless.last_node(), [(SCREW, draft.placement(), axis)])
    sample = draft.finish()
    with pytest.raises(EvaluationError, match="singular"):
        sample.compiled.forward(sample.t, sample.q, sample.v)


def test_a_tree_with_a_massless_coordinate_is_refused(random_system: Callable[[int], Any]) -> None:
    draft = random_system(12)
    draft.joints(["revolute", "free"])
    draft.builder.element(draft.builder.last_node(), [(SCREW, draft.placement(), [0, 0, 0, 0, 0, 1])])
    sample = draft.finish()
    for evaluate in (sample.compiled.forward, sample.compiled.forward_derivatives):
        with pytest.raises(EvaluationError, match="mass"):
            evaluate(sample.t, sample.q, sample.v)


def test_numbers_that_are_not_finite(sample: Any) -> None:
    engine = sample.compiled
    before = engine.forward(sample.t, sample.q, sample.v)[0]
    for value in (np.nan, np.inf):
        with pytest.raises(EvaluationError, match="finite"):
            engine.forward(sample.t, sample.q, np.full(engine.nv, value))
    # and leave nothing behind
    np.testing.assert_array_equal(engine.forward(sample.t, sample.q, sample.v)[0], before)
