"""Regulators and observers against other libraries and against what theory says of them."""

from __future__ import annotations

import control
import numpy as np
import pytest
import scipy.linalg as la

import pliant
from pliant.analysis.linearize import StateSpace
from pliant.control import discretize, kalman, lqr, luenberger, reduce
from pliant.control.limits import DesignError
from pliant.control.modes import system_modes
from pliant.engine.state import State


def system(A: np.ndarray, B: np.ndarray, C: np.ndarray | None = None, D: np.ndarray | None = None) -> StateSpace:
    n, m = B.shape
    C = np.eye(n) if C is None else C
    D = np.zeros((len(C), m)) if D is None else D
    names = tuple(f"x{i}" for i in range(n))
    labels = tuple(f"u{i}" for i in range(m)), tuple(f"y{i}" for i in range(len(C)))
    state = State(np.zeros(n), np.zeros(n))
    return StateSpace(A, B, C, D, names, *labels, (), state, np.zeros(m), 0.0)


@pytest.fixture
def random_system() -> StateSpace:
    rng = np.random.default_rng(3)
    return system(rng.normal(size=(6, 6)), rng.normal(size=(6, 2)), rng.normal(size=(3, 6)), rng.normal(size=(3, 2)))


@pytest.fixture(scope="module")
def upright() -> StateSpace:
    return pliant.linearize(pliant.derive("cart_pole"), at=np.zeros(2), independent=("rail", "hinge"))


def test_continuous_gain_is_that_of_python_control(random_system: StateSpace) -> None:
    Q, R = np.diag([1.0, 20, 3, 400, 5, 0.6]), np.diag([2.0, 0.3])
    ours = lqr(random_system, states=Q, inputs=R)
    K, P, _ = control.lqr(random_system.A, random_system.B, Q, R)
    np.testing.assert_allclose(ours.gain, K, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(ours.cost, P, rtol=1e-8, atol=1e-8)
    direct = la.solve_continuous_are(random_system.A, random_system.B, Q, R)
    np.testing.assert_allclose(ours.gain, np.linalg.solve(R, random_system.B.T @ direct), rtol=1e-8, atol=1e-8)


def test_discrete_gain_is_that_of_python_control(random_system: StateSpace) -> None:
    Q, R = np.diag([1.0, 20, 3, 400, 5, 0.6]), np.diag([2.0, 0.3])
    sampled = discretize(random_system, 0.05)
    other = control.ss(random_system.A, random_system.B, random_system.C, random_system.D).sample(0.05, method="zoh")
    np.testing.assert_allclose(sampled.A, other.A, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(sampled.B, other.B, rtol=1e-12, atol=1e-12)
    K, _, _ = control.dlqr(sampled.A, sampled.B, Q, R)
    np.testing.assert_allclose(lqr(sampled, states=Q, inputs=R).gain, K, rtol=1e-8, atol=1e-8)


def test_output_weights_equal_the_same_weights_on_states(random_system: StateSpace) -> None:
    W, R = np.diag([1.0, 5.0, 0.2]), np.diag([2.0, 0.3])
    C, D = random_system.C, random_system.D
    Q = 0.1 * np.eye(6) + C.T @ W @ C
    K, _, _ = control.lqr(random_system.A, random_system.B, 0.5 * (Q + Q.T), R + D.T @ W @ D, C.T @ W @ D)
    ours = lqr(random_system, states=0.1, inputs=R, outputs=W)
    np.testing.assert_allclose(ours.gain, K, rtol=1e-8, atol=1e-8)


def test_kalman_gain_is_that_of_python_control(random_system: StateSpace) -> None:
    Q, R = np.diag([1.0, 20, 3, 400, 5, 0.6]), np.diag([2.0, 0.3, 1.0])
    L, _, _ = control.lqe(random_system.A, np.eye(6), random_system.C, Q, R)
    ours = kalman(random_system, process=Q, outputs=R)
    np.testing.assert_allclose(ours.gain, L, rtol=1e-8, atol=1e-8)
    sampled = discretize(random_system, 0.05)
    L, _, _ = control.dlqe(sampled.A, np.eye(6), sampled.C, Q, R)
    # python-control gives the gain of the predictor, A times that of the correction
    np.testing.assert_allclose(sampled.A @ kalman(sampled, process=Q, outputs=R).gain, L, rtol=1e-7, atol=1e-7)


def test_luenberger_places_poles(random_system: StateSpace) -> None:
    wanted = np.array([-3.0, -4, -5, -6, -7, -8])
    np.testing.assert_allclose(np.sort(luenberger(random_system, wanted).poles.real), np.sort(wanted), rtol=1e-6)
    sampled = discretize(random_system, 0.05, delay=0.02)
    small = np.exp(0.05 * wanted)
    np.testing.assert_allclose(np.sort(luenberger(sampled, small).poles.real), np.sort(small), rtol=1e-6)


def test_luenberger_with_dependent_outputs() -> None:
    linear = pliant.linearize(pliant.derive("cart_pole"))
    assert np.linalg.matrix_rank(linear.C) < len(linear.C)
    for poles in ([-1.0, -2.0, -3.0, -4.0], [-2 + 1j, -2 - 1j, -5.0, -6.0]):
        gain = luenberger(linear, np.array(poles)).gain
        found = np.linalg.eigvals(linear.A - gain @ linear.C)
        np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(poles), rtol=1e-8)


@pytest.mark.parametrize("delay", [0.0, 0.013, 0.04, 0.09])
def test_delayed_commands_give_the_response_of_fine_steps(random_system: StateSpace, delay: float) -> None:
    """The discrete system compared with many small exact steps of the continuous one with the active command."""
    T, fine = 0.04, 0.001
    sampled = discretize(random_system, T, delay=delay)
    rng = np.random.default_rng(1)
    commands = rng.normal(size=(12, 2))
    A = la.expm(fine * random_system.A)
    B = np.linalg.solve(random_system.A, (A - np.eye(6)) @ random_system.B)
    x, z = np.zeros(6), np.zeros(len(sampled.A))
    for k in range(12):
        np.testing.assert_allclose(z[:6], x, atol=1e-10)
        z = sampled.A @ z + sampled.B @ commands[k]
        for step in range(round(T / fine)):
            which = int(np.floor((k * T + (step + 0.5) * fine - delay) / T))
            x = A @ x + B @ (commands[which] if which >= 0 else np.zeros(2))


def test_reduction_keeps_modes_and_the_answer_to_constant_inputs() -> None:
    eqs = pliant.derive(pliant.load("spring_mass_chain", set={"count": 6}))
    linear = pliant.linearize(eqs)
    linear = linear if linear.B.shape[1] else _with_input(linear)
    small = reduce(linear, keep=2)
    assert len(small.kept) == 2
    assert small.linear.A.shape == (4, 4)
    np.testing.assert_allclose(small.onto @ small.back, np.eye(4), atol=1e-10)
    slow = sorted(la.eigvals(linear.A), key=abs)[:4]
    found, expected = la.eigvals(small.linear.A), np.array(slow)
    np.testing.assert_allclose(found[np.argsort(found.imag)], expected[np.argsort(expected.imag)], atol=1e-9)
    static = linear.D - linear.C @ np.linalg.solve(linear.A, linear.B)
    reduced = small.linear.D - small.linear.C @ np.linalg.solve(small.linear.A, small.linear.B)
    np.testing.assert_allclose(reduced, static, atol=1e-9 * np.abs(static).max())


def test_modes_that_share_an_eigenvector_are_reduced_together() -> None:
    """A cart without friction: its place and its speed are one double mode, with the pole that falls and the one that decays."""
    weight = 20.0
    A = np.array([[0, 0, 1.0, 0], [0, 0, 0, 1], [0, -1.5, 0, 0], [0, weight, 0, 0]])
    linear = system(A, np.array([[0.0], [0], [1], [-2]]))
    whole = reduce(linear, keep=4)
    np.testing.assert_allclose(whole.onto @ whole.back, np.eye(4), atol=1e-12)
    Q = np.diag([10.0, 50, 1, 1])
    full, modal = lqr(linear, states=Q), lqr(whole.linear, states=whole.back.T @ Q @ whole.back)
    np.testing.assert_allclose(modal.gain @ whole.onto, full.gain, rtol=1e-8)
    # without the mode that decays: the others go on as before
    few = reduce(linear, keep=1)
    assert [mode.eigenvalue.real for mode in few.neglected] == pytest.approx([-np.sqrt(weight)])
    np.testing.assert_allclose(np.sort(np.linalg.eigvals(few.linear.A).real), [0, 0, np.sqrt(weight)], atol=1e-6)
    np.testing.assert_allclose(few.onto @ A, few.linear.A @ few.onto, atol=1e-12)
    np.testing.assert_allclose(few.onto @ few.back, np.eye(3), atol=1e-12)
    loop = A - linear.B @ lqr(few.linear).gain @ few.onto
    assert np.all(np.linalg.eigvals(loop).real < 0)


def test_feedback_that_does_nothing_leaves_the_neglected_modes_alone() -> None:
    A = np.array([[0, 1, 0, 0], [-1, -0.1, 0, 0], [0, 0, 0, 1], [0, 0, -100, -0.2]], dtype=float)
    small = reduce(system(A, np.array([[0.0], [1], [0], [1]]), np.eye(4)), keep=1)
    (before, after), *more = small.spillover(np.zeros((1, 2))).shifts()
    assert not more
    assert before.eigenvalue == pytest.approx(after.eigenvalue)
    assert small.spillover(np.zeros((1, 2))).stable


def _with_input(linear: StateSpace) -> StateSpace:
    n = len(linear.A)
    B = np.zeros((n, 1))
    B[-1] = 1.0
    C = linear.C
    return system(linear.A, B, C, np.zeros((len(C), 1)))


def test_modes_that_inputs_cannot_hold_are_named() -> None:
    A = np.diag([0.5, -1.0, -2.0])
    with pytest.raises(DesignError, match=r"cannot stabilize the mode that grows by 0\.5 1/s \(mostly x0\)"):
        lqr(system(A, np.array([[0.0], [1.0], [1.0]])))
    with pytest.raises(DesignError, match=r"do not determine the mode that grows by 0\.5 1/s"):
        kalman(system(A, np.eye(3), np.array([[0.0, 1.0, 0.0]])))
    # one input cannot hold two equal modes, though it reaches each of them
    with pytest.raises(DesignError, match="cannot stabilize"):
        lqr(system(np.diag([0.5, 0.5, -1.0]), np.ones((3, 1))))
    assert lqr(system(np.diag([0.5, -1.0, -1.0]), np.ones((3, 1)))).gain.shape == (1, 3)
    # a free mass: a double eigenvalue with one eigenvector, which a force reaches and a position shows
    free = system(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]]), np.array([[1.0, 0.0]]))
    np.testing.assert_allclose(lqr(free).gain, [[1.0, np.sqrt(3.0)]], rtol=1e-9)
    assert kalman(free).gain.shape == (2, 1)


def test_sample_times_that_alias_are_refused() -> None:
    A = np.array([[0.0, 1.0], [-((2 * np.pi * 10) ** 2), -1.0]])
    with pytest.raises(DesignError, match=r"0\.06 s is too long for the mode at 10 Hz.*less than 0\.05 s"):
        discretize(system(A, np.array([[0.0], [1.0]])), 0.06)


def test_sample_times_are_refused_in_which_a_pole_falls(upright: StateSpace) -> None:
    fall = np.max(np.linalg.eigvals(upright.A).real)
    most = np.log(1e3) / fall
    assert discretize(upright, 0.99 * most)
    assert discretize(upright, 0.5 * most, delay=0.49 * most)
    for sample_time, delay in ((1.01 * most, 0.0), (0.5 * most, 0.51 * most)):
        with pytest.raises(DesignError, match="before the controller responds"):
            discretize(upright, sample_time, delay=delay)


def test_weights_are_checked(upright: StateSpace) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        lqr(upright, inputs=0.0)
    with pytest.raises(ValueError, match="not negative"):
        lqr(upright, states=[-1.0, 1, 1, 1])
    with pytest.raises(ValueError, match="not negative"):
        lqr(upright, states={"rail": -1.0, "hinge": 1.0})
    with pytest.raises(ValueError, match="must be symmetric"):
        lqr(upright, states=np.triu(np.ones((4, 4))))
    with pytest.raises(KeyError, match="did you mean 'hinge'"):
        lqr(upright, states={"hing": 1.0})
    with pytest.raises(ValueError, match="4 numbers or 4 x 4"):
        lqr(upright, states=np.ones(3))


def test_mode_directions_are_exact(random_system: StateSpace) -> None:
    for mode in system_modes(random_system.A):
        np.testing.assert_allclose(random_system.A @ mode.right, mode.eigenvalue * mode.right, atol=1e-9)
        np.testing.assert_allclose(mode.left.conj() @ random_system.A, mode.eigenvalue * mode.left.conj(), atol=1e-8)
        np.testing.assert_allclose(np.vdot(mode.left, mode.right), 1.0, atol=1e-12)
