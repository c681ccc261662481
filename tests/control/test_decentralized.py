"""Decentralized regulators: equal to centralized ones with full information, stationary otherwise, and stable."""

import numpy as np
import pytest
import scipy.linalg as la

import pliant
from pliant.control import Group, StateFeedback, closed_loop, decentralized_lqr, discretize, lqr, reduce
from pliant.engine.core import UnknownName

CHAIN = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {f1: {value: 0 N, input: true}, f2: {value: 0 N, input: true}, f3: {value: 0 N, input: true}}
bodies: {a: {mass: 1 kg}, b: {mass: 2 kg}, c: {mass: 1.5 kg}}
joints:
  x1: {type: prismatic, child: a, axis: x, displacement: {spring: STIFF, input: =f1}}
  x2: {type: prismatic, child: b, axis: x, displacement: {input: =f2}}
  x3: {type: prismatic, child: c, axis: x, displacement: {input: =f3}}
links:
  s1: {type: axial, between: [{frame: a, position: [0, 1 m, 0]}, {frame: b, position: [3 m, 1 m, 0]}], spring: 40 N/m}
  s2: {type: axial, between: [b, {frame: c, position: [3 m, 0, 0]}], spring: 30 N/m}
outputs: {place2: {coordinate: x2}, speed2: {coordinate: x2, quantity: rate}}
"""
OWN = {f"m{k}": Group((f"f{k}",), (f"x{k}",)) for k in (1, 2, 3)}


def chain(stiffness="20 N/m"):
    return pliant.derive(pliant.load_text(CHAIN.replace("STIFF", stiffness)))


@pytest.fixture(scope="module", params=["continuous", "sampled"])
def linear(request):
    found = pliant.linearize(chain(), at="initial")
    return found if request.param == "continuous" else discretize(found, 0.02, delay=0.005)


def mean_cost(linear, gain, Q, R, X):
    closed, W = linear.A - linear.B @ gain, Q + gain.T @ R @ gain
    if hasattr(linear, "sample_time"):
        return float(np.sum(la.solve_discrete_lyapunov(closed.T, W) * X))
    return float(np.sum(la.solve_continuous_lyapunov(closed.T, -W) * X))


def test_one_group_that_sees_all_is_the_central_regulator(linear):
    everything = {"all": Group(("f1", "f2", "f3"), ("x1", "x2", "x3"))}
    central = lqr(linear, states=3.0, inputs=0.1)
    found = decentralized_lqr(linear, everything, states=3.0, inputs=0.1)
    np.testing.assert_allclose(found.gain, central.gain, rtol=1e-3, atol=1e-4 * np.abs(central.gain).max())


def test_the_gain_is_local_stationary_and_dearer_than_the_central_one(linear):
    Q, R = np.zeros_like(linear.A), 0.1 * np.eye(3)
    Q[:6, :6] = 3.0 * np.eye(6)
    central = lqr(linear, states=3.0, inputs=0.1)
    found = decentralized_lqr(linear, OWN, states=3.0, inputs=0.1)
    names = linear.states
    for i in range(3):
        for j, name in enumerate(names):
            if f"x{i + 1}" not in name and not name.startswith(f"f{i + 1}["):
                assert found.gain[i, j] == 0.0, (i, name)
    plant = getattr(linear, "continuous", linear)
    X = np.zeros_like(Q)
    X[:6, :6] = plant.B @ plant.B.T  # impulses of the inputs
    best = mean_cost(linear, found.gain, Q, R, X)
    least = mean_cost(linear, central.gain, Q, R, X)
    assert least == pytest.approx(np.sum(central.cost * X), rel=1e-6)
    assert least < best < 1.5 * least
    np.testing.assert_allclose(found.cost, found.cost.T)
    assert np.sum(found.cost * X) == pytest.approx(best, rel=1e-6)
    scale = np.abs(found.gain).max()
    for i, j in np.argwhere(found.gain):  # finite differences: no entry can be moved to a lower cost
        for step in (0.02 * scale, -0.02 * scale):
            other = found.gain.copy()
            other[i, j] += step
            assert mean_cost(linear, other, Q, R, X) > best * (1 - 1e-6)
    assert np.abs(found.poles).max() < 1 if hasattr(linear, "sample_time") else found.poles.real.max() < 0


def test_priority_gives_a_group_more_of_the_work(linear):
    even = decentralized_lqr(linear, OWN, states=3.0, inputs=0.1).gain
    first = {**OWN, "m1": Group(("f1",), ("x1",), priority=10.0)}
    uneven = decentralized_lqr(linear, first, states=3.0, inputs=0.1).gain
    assert np.linalg.norm(uneven[0]) > 1.5 * np.linalg.norm(even[0])
    assert np.linalg.norm(uneven[1:]) < np.linalg.norm(even[1:])


def test_a_system_that_falls_by_itself_is_held():
    """A negative spring: without feedback, and with the nearest local gain perhaps, it grows."""
    linear = discretize(pliant.linearize(chain("-30 N/m"), at="initial"), 0.02)
    assert np.abs(la.eigvals(linear.A)).max() > 1
    found = decentralized_lqr(linear, OWN, states=1.0, inputs=1.0)
    assert np.abs(found.poles).max() < 1


def test_groups_measure_outputs_on_slow_modes_and_the_whole_robot_runs():
    eqs = chain()
    slow = reduce(pliant.linearize(eqs, at="initial"), keep=2)
    sampled = discretize(slow.linear, 0.02)
    groups = {**OWN, "m2": Group(("f2",), outputs=("place2", "speed2"))}
    found = decentralized_lqr(sampled, groups, states=slow.back.T @ slow.back, inputs=0.05, reduction=slow)
    controller = StateFeedback(eqs, found)
    assert closed_loop(controller, slow.full).stable
    start = pliant.State(np.array([0.1, -0.05, 0.02]), np.zeros(3))
    free = pliant.simulate(eqs, 4.0, start=start)
    held = pliant.simulate(eqs, 4.0, start=start, controllers=controller)
    assert np.abs(held.q[-1]).max() < 0.1 * np.abs(free.q[-20:]).max()


def test_the_cost_is_that_after_the_disturbances_that_are_given(linear):
    """A push on the last mass alone: the gain for it is better at it than the one for pushes on all."""
    push = np.zeros(6)
    push[5] = 1.0
    costs = []
    for given in (push, None):
        found = decentralized_lqr(linear, OWN, states=3.0, inputs=0.1, disturbances=given)
        costs.append(push @ found.cost[:6, :6] @ push)
    assert costs[0] < costs[1] * (1 - 1e-6)
    with pytest.raises(ValueError, match="6 numbers, or 6 x k"):
        decentralized_lqr(linear, OWN, disturbances=np.ones(5))


def test_wrong_groups_are_refused():
    linear = pliant.linearize(chain(), at="initial")
    with pytest.raises(ValueError, match="no group sets the input 'f3'"):
        decentralized_lqr(linear, {k: OWN[k] for k in ("m1", "m2")})
    with pytest.raises(ValueError, match="two groups set the input 'f1'"):
        decentralized_lqr(linear, {**OWN, "again": Group(("f1",), ("x2",))})
    with pytest.raises(UnknownName, match="x9"):
        decentralized_lqr(linear, {**OWN, "m1": Group(("f1",), ("x9",))})
    with pytest.raises(ValueError, match="priority"):
        Group(("f1",), ("x1",), priority=0.0)
    with pytest.raises(ValueError, match="has no measurements"):
        Group(("f1",))


CONTROL = """
control:
  hold:
    type: lqr
    about: initial
    sample_time: 20 ms
    coordinate_weights:
      - {coordinate: x1, value: 3, rate: 3}
      - {coordinate: x2, value: 3, rate: 3}
      - {coordinate: x3, value: 3, rate: 3}
    input_weights: [{input: f1, weight: 0.1}, {input: f2, weight: 0.1}, {input: f3, weight: 0.1}]
    groups:
      m1: {inputs: f1, coordinates: x1, priority: 2}
      m2: {inputs: f2, outputs: [place2, speed2]}
      m3: {inputs: f3, coordinates: x3}
    disturbances: [{input: f3, deviation: 1 N}]
"""


def test_a_model_file_names_groups():
    text = (CHAIN + CONTROL).replace("STIFF", "20 N/m")
    spec = pliant.load_text(text)
    assert pliant.load_text(spec.to_yaml()) == spec
    eqs = pliant.derive(spec)
    linear = discretize(pliant.linearize(eqs, at="initial"), 0.02)
    groups = {**OWN, "m1": Group(("f1",), ("x1",), priority=2.0)}
    expected = decentralized_lqr(linear, groups, states=3.0, inputs=0.1, disturbances=linear.continuous.B[:, 2])
    start = pliant.State(np.array([0.1, -0.05, 0.02]), np.zeros(3))
    run = pliant.simulate(eqs, 1.0, start=start)
    other = pliant.simulate(eqs, 1.0, start=start, controllers=StateFeedback(eqs, expected))
    np.testing.assert_allclose(run.q[-1], other.q[-1], atol=1e-6)
    assert np.abs(run.inputs["f1"]).max() > 0.01
    with pytest.raises(pliant.SpecError, match="cannot be combined"):
        pliant.load_text(text + "    sensors: [{output: place2, noise: 1 mm}]")
    with pytest.raises(pliant.SpecError, match="has no measurements"):
        pliant.load_text(text.replace("coordinates: x3}", "}"))
