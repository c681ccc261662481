"""Equations shared by threads, and workspaces used for many purposes: bitwise the same as the same work alone, in order."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.control import Coordinates, Pid, PidControl, Reference, StateFeedback, discretize, lqr
from pliant.engine.binding import Binding
from pliant.engine.libraries import runtime
from pliant.engine.program import EvaluationError
from pliant.show.live_page import LiveRobot, SliderValues

THREADS, RUNS = 4, 6
ROBOTS = {
    "cart_pole": (200, 4, 0.02),
    "four_bar": (200, 4, 0.02),
    "three_section_arm": (40, 2, 0.002),
    "tumbling_body": (80, 2, 0.02),
    "trunk": (20, 1, 0.001),
}
"""Without and with constraints, soft, with quaternions, with tendons; evaluations and runs of each thread, and their time [s]."""


def work(eqs: pliant.Equations, seed: int, evaluations: int, runs: int, duration: float) -> list[np.ndarray]:
    """Evaluations in random states, and simulations, each with its own inputs and parameters."""
    rng = np.random.default_rng(seed)
    q0, v0 = eqs.initial_state()
    names, values = list(eqs.parameters)[:2], eqs.parameters
    out: list[Any] = []

    def here() -> pliant.Equations:
        return eqs.at(
            parameters={name: values[name] * (1 + 0.02 * rng.random()) for name in names},
            inputs={name: rng.normal() for name in eqs.inputs},
        )

    for k in range(evaluations):
        there, size = here(), len(v0)
        q, v = there.binding.increment(q0, 0.05 * rng.normal(size=size)), rng.normal(size=size)
        out += there.forward_dynamics(q, v, t=0.1 * k)
        if k % 10 == 0:
            linear = there.linearization(q, v, t=0.1 * k)
            out += [linear.stiffness.data, linear.damping.data, linear.residual, there.binding.energies(0.1 * k, q, v)]
            out += [there.frame(eqs.frame_names[-1], q, v).position, there.bias(q, v)]
    for k in range(runs):
        method = pliant.GeneralizedAlpha(step=duration / 5) if k % 2 else None
        run = pliant.simulate(here(), duration, method=method)
        out += [run.q, run.v, run.energy["total"].values]
    return out


def same(a: list[np.ndarray], b: list[np.ndarray]) -> bool:
    """Bit by bit."""
    return len(a) == len(b) and all(
        np.shape(x) == np.shape(y) and np.asarray(x).tobytes() == np.asarray(y).tobytes()
        for x, y in zip(a, b, strict=True)
    )


def together(job: Callable[[int], Any]) -> list[Any]:
    """The job of each thread, all begun at the same moment and interrupted often."""
    begin, interval = threading.Barrier(THREADS), sys.getswitchinterval()

    def begun(number: int) -> Any:
        begin.wait()
        return job(number)

    try:
        sys.setswitchinterval(1e-4)
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(begun, range(THREADS)))
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.slow
@pytest.mark.parametrize("robot", ROBOTS)
def test_four_threads_get_the_bits_of_one(robot: str) -> None:
    eqs, size = pliant.derive(robot), ROBOTS[robot]
    alone = [work(eqs, seed, *size) for seed in range(THREADS)]
    assert not same(alone[0], alone[1])
    for a, b in zip(alone, together(lambda seed: work(eqs, seed, *size)), strict=True):
        assert same(a, b)


def test_threads_that_come_first_together_make_one_program() -> None:
    """Nothing has been compiled when all of them ask."""
    eqs = pliant.derive("double_pendulum")
    q, v = eqs.initial_state()
    found = together(lambda k: (eqs.forward_dynamics(q, v + k)[0], eqs.binding.program, eqs.at().binding))
    assert len({id(program) for _, program, _ in found}) == 1
    for k, (a, _, _) in enumerate(found):
        np.testing.assert_array_equal(a, pliant.derive("double_pendulum").forward_dynamics(q, v + k)[0])


# -- one evaluation in several threads -----------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["net", "cloth"])
def mesh(request: pytest.FixtureRequest) -> pliant.Equations:
    """So large that its nodes are evaluated in parts."""
    return pliant.derive(pliant.load(request.param, set={"cells": 45}))


def moving(eqs: pliant.Equations) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A mesh stretched and in motion: (q, v, a)."""
    rng = np.random.default_rng(0)
    q, v = eqs.initial_state()
    q = eqs.binding.increment(q, 1e-3 * rng.normal(size=len(v)))
    return q, 0.1 * rng.normal(size=len(v)), rng.normal(size=len(v))


@pytest.mark.slow
def test_an_evaluation_in_threads_gives_the_same_bits(mesh: pliant.Equations) -> None:
    q, v, a = moving(mesh)

    def evaluated() -> list[Any]:
        linear = mesh.linearization(q, v, a=a)
        method = pliant.GeneralizedAlpha(step=2e-3)
        run = pliant.simulate(mesh, 4e-3, method=method)
        matrices = [linear.stiffness.data, linear.damping.data, linear.mass.data]
        return [*matrices, mesh.inverse_dynamics(q, v, a), mesh.binding.energies(0.0, q, v), run.q, run.v]

    threads = runtime()
    threads.pl_use_threads(1)
    try:
        alone = evaluated()
        threads.pl_use_threads(THREADS)
        assert all(same(alone, evaluated()) for _ in range(3))
    finally:
        threads.pl_use_threads(0)


def test_parts_of_a_mesh_make_the_whole(mesh: pliant.Equations) -> None:
    """Forces are the slope of the energy, to which every edge adds once, and matrices those of the forces."""
    binding, (q, v, a) = mesh.binding, moving(mesh)
    rng, size, still = np.random.default_rng(1), 1e-8, np.zeros(len(v))
    for _ in range(3):
        x, y, z = rng.normal(size=(3, len(v)))
        there, back = binding.increment(q, size * x), binding.increment(q, -size * x)
        energies = [binding.energies(0.0, pose, still)[1] for pose in (there, back)]
        slope = (energies[0] - energies[1]) / (2 * size)
        np.testing.assert_allclose(mesh.inverse_dynamics(q, still, still) @ x, slope, rtol=1e-5)

        linear = mesh.linearization(q, v, a=a)
        forward = mesh.inverse_dynamics(there, v + size * y, a + size * z)
        change = (forward - mesh.inverse_dynamics(back, v - size * y, a - size * z)) / (2 * size)
        expected = linear.stiffness @ x + linear.damping @ y + linear.mass @ z
        np.testing.assert_allclose(change, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


# -- controllers and live pages ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cart_pole() -> pliant.Equations:
    return pliant.derive("cart_pole")


def controlled(eqs: pliant.Equations, seed: int, count: int) -> list[np.ndarray]:
    """Runs with a regulator and with PID control, from other starts and with other parameters each."""
    rng = np.random.default_rng(seed)
    space = pliant.linearize(eqs, at=np.zeros(2), independent=("rail", "hinge"))
    hold = lqr(discretize(space, 0.02), states=[10.0, 50.0, 1.0, 1.0], inputs=0.1)
    follow = Reference.circle([0.0], [0.0], [0.1], 0.5)
    out: list[np.ndarray] = []
    for k in range(count):
        start = pliant.State(0.1 * rng.normal(size=2), np.zeros(2))
        if k % 2:
            controller: Any = PidControl(
                eqs, Coordinates(("rail",)), follow, Pid(30.0, 8.0, 2.0), "none", sample_time=0.02
            )
        else:
            controller = StateFeedback(eqs, hold)
        run = pliant.simulate(
            eqs, 0.1, start=start, controllers=controller, parameters={"friction": 0.1 * rng.random()}
        )
        out += [run.q, run.v, run.inputs["force"]]
    return out


def test_controllers_in_four_threads(cart_pole: pliant.Equations) -> None:
    alone = [controlled(cart_pole, seed, RUNS) for seed in range(THREADS)]
    for a, b in zip(alone, together(lambda seed: controlled(cart_pole, seed, RUNS)), strict=True):
        assert same(a, b)


def shown(robot: LiveRobot, count: int) -> Iterator[np.ndarray]:
    """Poses at rest and modes, as sliders ask for them."""
    name = next(iter(robot.eqs.parameters))
    value = robot.eqs.parameters[name]
    for k in range(count):
        choice = SliderValues(parameters={name: value * (1 + 0.01 * (k % 5))})
        for picture in (robot.rest(choice), robot.mode(choice, 1 + k % 2, 0.25)):
            yield from (np.asarray(rod.points) for rod in picture.scene.rods)


@pytest.mark.slow
def test_a_live_page_beside_simulations() -> None:
    """The page solves for its sliders while runs of the same equations go on elsewhere."""
    eqs = pliant.derive("stiff_flop")
    pictures = list(shown(LiveRobot(eqs), 10))
    assert len(pictures) >= 20
    alone = [work(eqs, seed, 100, 4, 0.01) for seed in range(THREADS)]

    def job(number: int) -> Any:
        return list(shown(LiveRobot(eqs), 10)) if number == 0 else work(eqs, number, 100, 4, 0.01)

    found = together(job)
    assert same(found[0], pictures)
    for number in range(1, THREADS):
        assert same(found[number], alone[number])


# -- what a workspace was used for before ---------------------------------------------------------------------------------


def evaluated(binding: Binding, q: np.ndarray, v: np.ndarray, which: int) -> list[np.ndarray]:
    """One of the evaluations there are."""
    t, rest, none = 0.3, np.zeros(binding.nv), np.zeros(binding.m)
    if which == 0:
        return list(binding.forward(t, q, v))
    if which == 1:
        x = binding.linearized(t, q, v, rest, none)
        return [x.residual, x.stiffness.data, x.damping.data, x.mass.data, x.phi, x.jacobian.data]
    if which == 2:
        return [*binding.constraints(t, q, v)[:3], binding.constraints(t, q, v)[3].data]
    if which == 3:
        return [binding.mass_matrix(q).data, binding.inverse(t, q, v, v)]
    if which == 4:
        return [binding.energies(t, q, v), *binding.signals(t), *binding.signal_rates(t)]
    if which == 5:
        return [*binding.node_poses(q), binding.node_twists(q, v), binding.node_accelerations(t, q, v, v)]
    if which == 6:
        return [binding.input_tangent(t, q, v), *binding.acceleration_tangent(t, q, v, v)]
    if which == 7:
        return [*binding.batch([t, 2 * t], [q, q], [v, 2 * v])]
    if which == 8:
        return list(binding.force_by_source(t, q, v).values())
    return list(binding.project(t, q, v)) if binding.m else list(binding.forward_derivatives(t, q, v))


KINDS = range(10)


@pytest.mark.parametrize("robot", ["cart_pole", "four_bar", "tumbling_body", "stiff_flop", "trunk", "net"])
def test_an_evaluation_does_not_depend_on_those_before(robot: str) -> None:
    """Bindings, states and types of evaluations in random order, each compared with an unused workspace."""
    spec = pliant.load(robot, set={"cells": 6}) if robot == "net" else robot
    eqs = pliant.derive(spec)
    rng, (q0, v0) = np.random.default_rng(5), eqs.initial_state()
    names = list(eqs.parameters)[:1]
    bindings = [
        eqs.at(
            parameters={name: eqs.parameters[name] * (1 + 0.1 * k) for name in names},
            inputs=dict.fromkeys(eqs.inputs, 0.5 * k),
        ).binding
        for k in range(3)
    ]
    states = [
        (bindings[0].increment(q0, 0.02 * rng.normal(size=len(v0))), size * rng.normal(size=len(v0)))
        for size in (0.1, 100.0, 1e-6)
    ]
    if bindings[0].m:
        states = [bindings[0].project(0.3, *state) for state in states]
    expected: dict[tuple[int, int, int], list[np.ndarray]] = {}
    for kind in KINDS:
        for b in range(3):
            for s in range(3):
                with ThreadPoolExecutor(1) as alone:  # a thread that has no workspace yet
                    job = alone.submit(evaluated, bindings[b], *states[s], kind)
                    expected[kind, b, s] = job.result()
    for _ in range(400):
        kind, b, s = int(rng.integers(len(KINDS))), int(rng.integers(3)), int(rng.integers(3))
        assert same(evaluated(bindings[b], *states[s], kind), expected[kind, b, s]), (kind, b, s)


def test_a_state_without_an_answer_leaves_nothing_behind() -> None:
    eqs = pliant.derive("four_bar")
    q, v = eqs.initial_state()
    before = eqs.forward_dynamics(q, v)
    for bad in (np.full(3, np.nan), np.full(3, np.inf)):
        with pytest.raises(EvaluationError, match="finite"):
            eqs.binding.forward(0.0, q, bad)
        assert same(list(eqs.forward_dynamics(q, v)), list(before))


PROCESS = """
import sys, numpy as np, pliant
eqs = pliant.derive("stiff_flop")
q, v = eqs.initial_state()
a, _ = eqs.forward_dynamics(q + 0.01, v + 1.0, inputs={"p1": 5e3})
run = pliant.simulate(eqs, 0.02, inputs={"p1": 5e3})
sys.stdout.buffer.write(a.tobytes() + run.q.tobytes() + run.v.tobytes())
"""


def test_a_fresh_process_gives_the_same_bits() -> None:
    """After this process has used the same equations for everything above and with other values."""
    eqs = pliant.derive("stiff_flop")
    q, v = eqs.initial_state()
    work(eqs, 1, 20, 1, 0.005)
    pliant.equilibrium(eqs, inputs={"p2": 1e4})
    a, _ = eqs.forward_dynamics(q + 0.01, v + 1.0, inputs={"p1": 5e3})
    run = pliant.simulate(eqs, 0.02, inputs={"p1": 5e3})
    done = subprocess.run([sys.executable, "-c", PROCESS], capture_output=True, check=True, timeout=120)
    assert done.stdout == a.tobytes() + run.q.tobytes() + run.v.tobytes()
