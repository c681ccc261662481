"""The functions of exported C give what the equations here give."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from c_export import FLIER, STEP, Export, exported, needs_gcc, numbers, reference

from pliant.analysis.derivation.derive import derive
from pliant.analysis.integrators import SemiImplicit
from pliant.analysis.simulate import simulate
from pliant.robot import load_text

EVALUATE = """
#include <stdio.h>
#include "robot_.h"
static void row(const double *x, int n) {
  for (int i = 0; i < n; ++i) printf("%.17g ", x[i]);
  printf("\\n");
}
int main(void) {
  static double q[ROBOT_POSITIONS], v[ROBOT_RATES], a[ROBOT_RATES], f[ROBOT_RATES], l[ROBOT_CONSTRAINTS + 1],
      M[ROBOT_RATES * ROBOT_RATES], c[ROBOT_CONSTRAINTS + 1], d[ROBOT_CONSTRAINTS + 1],
      J[ROBOT_CONSTRAINTS * ROBOT_RATES + 1], F[6 * ROBOT_RATES];
  double t, E[2], p[3], Q[4], u[3], w[3];
  int bad = scanf("%lf", &t) != 1;
  for (int i = 0; i < ROBOT_POSITIONS; ++i) bad |= scanf("%lf", q + i) != 1;
  for (int i = 0; i < ROBOT_RATES; ++i) bad |= scanf("%lf", v + i) != 1;
  for (int i = 0; i < ROBOT_RATES; ++i) bad |= scanf("%lf", f + i) != 1;
  robot_robot *robot = robot_new();
  bad |= robot_set_parameter(robot, ROBOT_PARAMETER_mass, 1.3);
  bad |= robot_forward_dynamics(robot, t, q, v, a, l);
  row(a, ROBOT_RATES), row(l, ROBOT_CONSTRAINTS);
  bad |= robot_inverse_dynamics(robot, t, q, v, f, a);
  row(a, ROBOT_RATES);
  bad |= robot_mass_matrix(robot, q, M);
  row(M, ROBOT_RATES * ROBOT_RATES);
  bad |= robot_constraints(robot, t, q, v, c, d, J);
  row(c, ROBOT_CONSTRAINTS), row(d, ROBOT_CONSTRAINTS), row(J, ROBOT_CONSTRAINTS * ROBOT_RATES);
  bad |= robot_energy(robot, t, q, v, E, E + 1);
  row(E, 2);
  for (int i = 0; i < ROBOT_FRAMES; ++i) {
    bad |= robot_frame_pose(robot, q, i, p, Q) | robot_frame_velocity(robot, q, v, i, u, w) |
           robot_frame_jacobian(robot, q, i, F);
    row(p, 3), row(Q, 4), row(u, 3), row(w, 3), row(F, 6 * ROBOT_RATES);
  }
  robot_free(robot);
  return bad;
}
"""


@pytest.mark.slow
@needs_gcc
@pytest.mark.parametrize("which", ["flier", "four_bar", "chain", "touching"])
def test_every_function_of_the_state_agrees(which: str, request: pytest.FixtureRequest) -> None:
    export: Export = request.getfixturevalue(which)
    eqs, model = export.equations, export.equations.model
    random = np.random.default_rng(3)
    q = eqs.initial_state().q
    q = eqs.binding.increment(q, random.normal(size=len(eqs.rates)) * 0.4)
    v, a = random.normal(size=len(eqs.rates)), random.normal(size=len(eqs.rates))
    t, changed = 0.06, {"mass": 1.3}
    program = export.build(export.write(EVALUATE))
    given = " ".join(f"{x:.17g}" for x in [t, *q, *v, *a])
    done = subprocess.run([program], input=given, capture_output=True, text=True, check=True)
    lines = [np.array([float(x) for x in line.split()]) for line in done.stdout.splitlines()]
    accelerations, multipliers = eqs.forward_dynamics(q, v, t=t, parameters=changed)
    terms = eqs.constraints(q, v, t=t, parameters=changed)
    energy = eqs.energy(q, v, t=t, parameters=changed)
    active = multipliers if which != "four_bar" else None  # which rows are redundant depends on the pose
    expected = [
        accelerations if active is not None else None,
        active,
        eqs.inverse_dynamics(q, v, a, t=t, parameters=changed),
        eqs.mass_matrix(q, parameters=changed).toarray().ravel(order="F"),
        terms.value,
        terms.rate,
        terms.jacobian.toarray().ravel(order="F"),
        np.array([energy.kinetic, energy.potential]),
    ]
    for found, wanted in zip(lines, expected, strict=False):
        if wanted is not None:
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)
    frames = eqs.frames(q, v, parameters=changed)
    at = len(expected)
    for name in model.frames:
        position, quaternion, velocity, angular, jacobian = lines[at : at + 5]
        at += 5
        np.testing.assert_allclose(position, frames[name].position, atol=1e-12)
        np.testing.assert_allclose(quaternion, frames[name].quaternion, atol=1e-12)
        np.testing.assert_allclose(velocity, frames[name].velocity, atol=1e-12)
        np.testing.assert_allclose(angular, frames[name].angular_velocity, atol=1e-12)
        J = jacobian.reshape(6, -1, order="F")
        np.testing.assert_allclose(J @ v, np.concatenate([velocity, angular]), atol=1e-11)
    assert at == len(lines)


CHANGE = """
#include <stdio.h>
#include "robot_.h"
static void show(const robot_robot *robot) {
  printf("%.17g", robot_time(robot));
  for (int i = 0; i < ROBOT_POSITIONS; ++i) printf(" %.17g", robot_q(robot)[i]);
  printf("\\n");
}
static int go(robot_robot *robot, int steps) {
  int bad = 0;
  for (int i = 0; i < steps; ++i) bad |= robot_step(robot, robot_default_step);
  show(robot);
  return bad;
}
int main(void) {
  robot_robot *robot = robot_new();
  int bad = go(robot, 20);
  bad |= robot_set_parameter(robot, robot_find(robot_parameter_names, "mass"), 3.5);
  bad |= robot_set_parameter(robot, robot_find(robot_parameter_names, "stiffness"), 40);
  bad |= go(robot, 20);
  bad |= robot_initial_state(robot) | go(robot, 40);
  bad |= robot_set_input(robot, ROBOT_INPUT_torque, 0.1) | robot_initial_state(robot) | go(robot, 60);
  bad |= robot_release_input(robot, ROBOT_INPUT_torque) | go(robot, 30);
  robot_free(robot);
  return bad;
}
"""


@needs_gcc
def test_parameters_and_inputs_change_through_the_interface(flier: Export) -> None:
    program = flier.build(flier.write(CHANGE))
    found = numbers(program)
    eqs, method = flier.equations, SemiImplicit(step=STEP)
    changed = {"mass": 3.5, "stiffness": 40.0}
    # an input without another definition has its value for the current parameters
    lift = {"lift": 40.0 * 0.5 / 10}
    first = simulate(eqs, 0.02, method=method)
    second = simulate(eqs, 0.04, begin=0.02, start=first, method=method, parameters=changed, inputs=lift)
    again = simulate(eqs, 0.04, method=method, parameters=changed, inputs=lift)
    text = re.sub(r"  torque: \{step.*\n", "", FLIER)
    held = derive(load_text(text, folder=flier.folder.parent))
    fourth = simulate(held, 0.06, method=method, parameters=changed, inputs={**lift, "torque": 0.1})
    fifth = simulate(eqs, 0.09, begin=0.06, start=fourth, method=method, parameters=changed, inputs=lift)
    for row, run in zip(found, (first, second, again, fourth, fifth), strict=True):
        np.testing.assert_allclose(row, [run.time[-1], *run.q[-1]], rtol=0, atol=1e-10)
    assert np.max(np.abs(found[1] - found[2])) > 1e-4, "changing the mass changes the motion"


PUSH = """
#include <stdio.h>
#include "robot_.h"
int main(void) {
  robot_robot *robot = robot_new();
  int bad = 0;
  for (int i = 0; i < 20; ++i) {
    if (i % 10 == 0) bad |= robot_set_input(robot, ROBOT_INPUT_push, 1 + i);
    bad |= robot_step(robot, robot_default_step);
  }
  printf("%.17g %.17g\\n", robot_time(robot), robot_q(robot)[0]);
  robot_free(robot);
  return bad;
}
"""


@needs_gcc
def test_an_input_that_is_set_acts_from_the_next_step_on(tmp_path: Path) -> None:
    text = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {push: {value: 0 N, input: true}}
bodies: {block: {mass: 2 kg}}
joints: {slide: {type: prismatic, child: block, axis: x, displacement: {input: =push}}}
"""
    # a method that remembers accelerations from one step to the next
    export = exported(text, tmp_path / "c", "generalized_alpha")
    t, x = numbers(export.build(export.write(PUSH)))[0]
    assert x == pytest.approx(1 / 2 * t**2 / 2 + 10 / 2 * (t - 10 * STEP) ** 2 / 2, abs=1e-15)


PUSHED = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {push: {value: 0 N, input: true}, turn: {value: 0 N*m, input: true}, arm: 0.3 m}
bodies: {box: {mass: 2 kg, shape: {type: box, size: [10 cm, 20 cm, 30 cm]}, frames: {corner: {position: [0, =arm, 5 cm]}}}}
joints: {free: {type: free, child: box}}
loads: {own: {frame: box.corner, force: [0, =push, =-push], moment: [=turn, 0, 0]}}
"""
PUSHING = """
#include <stdio.h>
#include "robot_.h"
int main(void) {
  const double force[3] = {0, 2, -2}, moment[3] = {0.1, 0, 0};
  double missing, exchanged;
  for (int pushed = 0; pushed < 2; ++pushed) {
    robot_robot *robot = robot_new();
    int bad = robot_set_parameter(robot, ROBOT_PARAMETER_arm, 0.2);
    if (pushed) bad |= robot_set_push(robot, ROBOT_FRAME_box_corner, force, moment);
    else bad |= robot_set_input(robot, ROBOT_INPUT_push, 2) | robot_set_input(robot, ROBOT_INPUT_turn, 0.1);
    for (int i = 0; i < 200; ++i) {
      if (i == 100) bad |= robot_set_push(robot, ROBOT_FRAME_box_corner, 0, 0) | robot_set_input(robot, ROBOT_INPUT_push, 0) |
                           robot_set_input(robot, ROBOT_INPUT_turn, 0);
      bad |= robot_step(robot, robot_default_step);
    }
    bad |= robot_energy_balance(robot, &missing, &exchanged);
    for (int i = 0; i < ROBOT_POSITIONS; ++i) printf("%.17g ", robot_q(robot)[i]);
    printf("%.17g %d\\n", missing / exchanged, bad | (robot_set_push(robot, ROBOT_FRAMES, force, 0) != ROBOT_BAD_ARGUMENT));
    robot_free(robot);
  }
  return 0;
}
"""


@needs_gcc
def test_a_push_acts_as_a_load_at_the_same_frame(tmp_path: Path) -> None:
    export = exported(PUSHED, tmp_path / "c", "explicit")
    load, push = numbers(export.build(export.write(PUSHING)))
    np.testing.assert_allclose(push, load, rtol=0, atol=1e-13)
    assert abs(push[1]) > 1e-3, "it moves"
    assert push[-1] == 0
    assert abs(push[-2]) < 1e-6, "its work is counted"


@needs_gcc
def test_the_main_takes_parameters_by_name(four_bar: Export) -> None:
    program = four_bar.build()
    found = numbers(program, "0.1", "1", "crank=0.11")
    expected = reference(four_bar, found[:, 0], parameters={"crank": 0.11})
    # with other parameters C closes the loop by projection and Python with given values held: both to a round-off of 1e-10
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    for argument in ("crank=", "crank=1e999", "nothing=1", "fast"):
        done = subprocess.run([program, argument], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert argument in done.stderr
    open_loop = subprocess.run([program, "1", "1", "crank=2"], capture_output=True, text=True, check=False)
    assert open_loop.returncode == 1
    assert "loop does not close" in open_loop.stderr


WRONG = """
#include <math.h>
#include <stdio.h>
#include "robot_.h"
int main(void) {
  double q[ROBOT_POSITIONS] = {NAN}, v[ROBOT_RATES] = {0}, p[3], Q[4];
  robot_robot *robot = robot_new();
  printf("%d %d %d %d %d %d %d %d %d %d %d\\n", robot_set_parameter(robot, -1, 1),
         robot_set_parameter(robot, ROBOT_PARAMETERS, 1), robot_set_parameter(robot, 0, NAN),
         robot_set_input(robot, ROBOT_INPUTS, 1), robot_set_input(robot, 0, INFINITY),
         robot_release_input(robot, -1), robot_set_state(robot, 0, q, v), robot_step(robot, 0),
         robot_step(robot, -1e-3), robot_step(robot, NAN), robot_frame_pose(robot, robot_q(robot), ROBOT_FRAMES, p, Q));
  printf("%d %d\\n", isnan(robot_parameter(robot, -1)) != 0, robot_find(robot_frame_names, "no such frame"));
  robot_free(robot);
  robot_free(0);
  return 0;
}
"""


@needs_gcc
def test_arguments_out_of_range_are_refused(flier: Export) -> None:
    program = flier.build(flier.write(WRONG))
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first.split() == ["100"] * 11
    assert second.split() == ["1", "-1"]
