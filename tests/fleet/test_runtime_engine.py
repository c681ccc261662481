"""Fleets that the runtime steps: contacts, large robots, other methods. Equal to `simulate` robot by robot."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from as_c_plus_plus import AS_C_PLUS_PLUS, numbers
from test_fleet import ARM

import pliant
from pliant.analysis.integrators import method_by_name
from pliant.fleet.cpu import Group
from pliant.fleet.cuda_runtime_engine import exported_rows, program_text

# a ball with friction on a slope, pushed by a force: contacts that stick and slide
BALL = """
pliant: 1
name: ball
parameters: {push: {value: 0 N, input: true}, friction: 0.4, tilt: 10 deg}
world: {gravity: [=9.81 m/s^2*sin(tilt), 0, =-9.81 m/s^2*cos(tilt)]}
bodies: {ball: {mass: 0.2 kg, shape: {type: sphere, radius: 3 cm}, frames: {top: {position: [0, 0, 3 cm]}}}}
joints: {flight: {type: free, child: ball, position: [0, 0, 3.5 cm]}}
surfaces:
  floor: {type: plane}
  skin: {type: sphere, parent: ball, radius: 3 cm}
contacts: {touch: {between: [skin, floor], stiffness: 2e4 N/m, friction: =friction}}
loads: {push: {frame: ball, force: [=push, 0, 0]}}
outputs:
  place: {frame: ball, quantity: position}
  lost: {energy: dissipated}
"""


@pytest.fixture(scope="module")
def ball() -> pliant.Equations:
    return pliant.derive(pliant.load_text(BALL))


def test_robots_in_contact_move_as_in_simulate(ball: pliant.Equations) -> None:
    pushes = np.array([0.0, 0.3, 3.0])
    fleet = pliant.Fleet(ball, 3, method="implicit", step=2e-3)
    assert fleet.engine == "runtime"
    for _ in range(10):
        fleet.step({"push": pushes}, n=10)
    for robot, push in enumerate(pushes.tolist()):
        run = pliant.simulate(ball, 0.2, method="implicit", step=2e-3, inputs={"push": push})
        assert np.abs(fleet.q[robot] - run.final.q).max() < 1e-9
        assert np.abs(fleet.v[robot] - run.final.v).max() < 1e-7
        assert np.isclose(fleet.outputs("lost")["lost"][robot], run["lost"].values[-1], rtol=1e-6)
    assert fleet.q[2, 0] > fleet.q[0, 0] + 0.05
    place = fleet.outputs("place")["place"]
    assert np.allclose(place, fleet.frame("ball").position, rtol=0, atol=1e-14)
    assert np.allclose(
        fleet.frame("ball.top").position - place, 0.03 * fleet.frame("ball").rotation[:, :, 2], atol=1e-14
    )


def test_contacts_start_anew_after_a_reset(ball: pliant.Equations) -> None:
    fleet = pliant.Fleet(ball, 2, method="implicit", step=2e-3, inputs=["push"])
    fleet.step({"push": 1.0}, n=50)
    there = fleet.q.copy()
    fleet.reset([1])
    fleet.step(n=50)
    assert np.abs(fleet.q[1] - there[1]).max() < 1e-13
    assert np.abs(fleet.q[0] - there[0]).max() > 1e-3


def test_parameters_of_robots_in_contact(ball: pliant.Equations) -> None:
    friction = np.array([0.05, 0.4])
    fleet = pliant.Fleet(ball, 2, method="implicit", step=2e-3, parameters={"friction": friction})
    fleet.step(n=100)
    run = pliant.simulate(ball, 0.2, method="implicit", step=2e-3, parameters={"friction": 0.05})
    assert np.abs(fleet.q[0] - run.final.q).max() < 1e-9
    assert np.abs(fleet.q[0] - fleet.q[1]).max() > 1e-4


def test_a_robot_that_fails_in_the_runtime_stays_where_it_was(ball: pliant.Equations) -> None:
    fleet = pliant.Fleet(ball, 3, method="implicit", step=2e-3)
    fleet.step(n=3)
    before = fleet.q[1].copy()
    fleet.step({"push": np.array([0.0, np.nan, 0.0])}, n=2)
    assert fleet.failed.tolist() == [False, True, False]
    assert np.array_equal(fleet.q[1], before)
    fleet.reset([1])
    fleet.step({"push": 0.0}, n=5)
    assert not fleet.failed.any()


@pytest.mark.parametrize("method", ["generalized_alpha", "newmark"])
def test_methods_without_straight_line_code(method: str) -> None:
    eqs = pliant.derive(pliant.load_text(ARM))
    fleet = pliant.Fleet(eqs, 3, method=method, step=1e-3)
    pressure = np.array([0.0, 5e3, 20e3])
    fleet.step({"pressure": pressure}, n=50)
    run = pliant.simulate(eqs, 0.05, method=method, step=1e-3, inputs={"pressure": 20e3})
    assert fleet.engine == "runtime"
    assert np.abs(fleet.q[2] - run.final.q).max() <= 1e-9 * np.abs(run.final.q).max()


@pytest.mark.parametrize("at", ["20.5 ms", "20 ms"])  # within a call, and between two
def test_inputs_that_jump(at: str) -> None:
    jump = f"inputs: {{torque: {{step: {{at: {at}, before: 0 N*m, after: 0.05 N*m}}}}}}"
    text = ARM.replace("outputs:", f"{jump}\noutputs:")
    eqs = pliant.derive(pliant.load_text(text))
    fleet = pliant.Fleet(eqs, 1, method="generalized_alpha", step=1e-3)
    for _ in range(4):
        fleet.step(n=10)
    run = pliant.simulate(eqs, 0.04, method="generalized_alpha", step=1e-3)
    # a jump between steps is one between stretches of steps that are equal; within one, the stretches are divided elsewhere
    assert np.abs(fleet.q[0] - run.final.q).max() <= (1e-12 if at == "20 ms" else 1e-3) * np.abs(run.final.q).max()


def test_copies_go_their_own_way(ball: pliant.Equations) -> None:
    import copy

    fleet = pliant.Fleet(ball, 2, method="implicit", step=2e-3)
    fleet.step(n=5)
    other = copy.deepcopy(fleet)
    before = fleet.q.copy()
    other.step(n=5)
    assert np.array_equal(fleet.q, before)
    assert not np.array_equal(other.q, before)


def test_outputs_of_exported_robots() -> None:
    text = BALL.replace("  place:", "  wasted: {energy: dissipated}\n  height: {frame: ball, component: z}\n  place:")
    rows = exported_rows(pliant.derive(pliant.load_text(text)).model)
    assert rows == {"height": slice(0, 1), "place": slice(1, 4)}  # energy that was lost is counted along a motion


def test_inputs_given_beside_the_fleet_are_refused_on_a_gpu(ball: pliant.Equations) -> None:
    method = method_by_name("implicit", step=2e-3)
    with pytest.raises(ValueError, match=r"'push' is given by `at`.*inputs=\['push'"):
        program_text(ball.at(inputs={"push": 1.0}), Group(1, (), ()), method)
    assert program_text(ball.at(inputs={"push": 1.0}), Group(1, ("push",), ()), method)


RUN = """
arena *arenas[1];
#undef malloc
#undef free
#include <cstdio>
int main() {
  static double q[] = {Q_NUMBERS}, v[] = {V_NUMBERS}, time = 0, u[1] = {0.3}, c[1] = {0}, values[100];
  static int status;
  static void *robots[1];
  const long long bytes = 8 << 20;
  char *memory = (char *)std::malloc(bytes);
  fleet F = {&time, q, v, u, c, &status, values, robots, 1, 1};
  fleet_make(F, memory, bytes);
  for (int k = 0; k < 4; ++k) fleet_step(F, memory, bytes, 25, 2e-3);
  fleet_values(F, memory, bytes, -1);
  printf("%d %zu ", status, ((arena *)memory)->most);
  for (int i = 0; i < 3; ++i) printf("%.17g ", values[i]);
  for (int i = 0; i < NQ; ++i) printf("%.17g ", q[i]);
}
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_the_program_for_gpus_on_the_processor(ball: pliant.Equations, tmp_path: Path) -> None:
    """The same text that a GPU runs, compiled as C++ for the processor: one thread moves as `simulate` does."""
    text = program_text(ball, Group(1, ("push",), ()), method_by_name("implicit", step=2e-3))
    start = ball.initial_state()
    main = RUN.replace("Q_NUMBERS", numbers(start.q)).replace("V_NUMBERS", numbers(start.v))
    source, program = tmp_path / "tried.cpp", tmp_path / "tried"
    source.write_text(AS_C_PLUS_PLUS + text + main)
    subprocess.run(["g++", "-std=c++20", "-O0", "-w", "-o", program, source], check=True, timeout=200)
    words = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60).stdout.split()
    run = pliant.simulate(ball, 0.2, method="implicit", step=2e-3, inputs={"push": 0.3})
    assert words[0] == "0"
    assert 10_000 < int(words[1]) < 2_000_000
    found = np.array([float(x) for x in words[2:]])
    assert np.abs(found[3:] - run.final.q).max() < 1e-9
    assert np.allclose(found[:3], run["place"].values[-1], rtol=0, atol=1e-9)
