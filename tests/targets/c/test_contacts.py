"""Contacts in exported C: friction remembers what sticks, outputs tell forces, and no memory is lost."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from c_export import METHODS, STEP, Export, exported, needs_gcc

import pliant

# outputs of the current state, then those of the same state after it is set again, then after a step
RUN = """
#include <math.h>
#include <stdio.h>
#include "robot_.h"
static int print(robot_robot *robot) {
  double y[ROBOT_OUTPUTS];
  const int bad = robot_outputs(robot, robot_time(robot), robot_q(robot), robot_v(robot), y);
  for (int i = 0; i < ROBOT_POSITIONS; ++i) printf("%.17g ", robot_q(robot)[i]);
  for (int i = 0; i < ROBOT_OUTPUTS; ++i) printf("%.17g ", y[i]);
  printf("\\n");
  return bad;
}
int main(void) {
  robot_robot *robot = robot_new();
  int bad = 0;
  for (int i = 0; i < 100; ++i) bad |= robot_step(robot, robot_default_step);
  bad |= print(robot);
  bad |= robot_set_state(robot, robot_time(robot), robot_q(robot), robot_v(robot)) | print(robot);
  bad |= robot_initial_state(robot) | print(robot);
  robot_free(robot);
  return bad;
}
"""
BLOCK = """
pliant: 1
world: {gravity: [2, 0, -9.81]}
bodies:
  carriage: {mass: 1 g}
  block: {mass: 1 kg, shape: {type: sphere, radius: 2 cm}}
joints:
  along: {type: prismatic, child: carriage, axis: x}
  up: {type: prismatic, parent: carriage, child: block, axis: z, displacement: {initial: 1.95095 cm}}
surfaces: {floor: {type: plane}}
contacts: {ground: {between: [block, floor], stiffness: 20 kN/m, friction: 0.3}}
outputs:
  push: {contact: ground}
"""


def rows(export: Export, *flags: str) -> np.ndarray:
    program = export.build(export.write(RUN), *flags)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return np.array([[float(x) for x in line.split()] for line in done.stdout.splitlines()])


@pytest.mark.slow
@needs_gcc
@pytest.mark.parametrize("method", ["generalized_alpha", "implicit", "semi_implicit"])
def test_what_sticks_stays_and_outputs_tell_its_friction(method: str, tmp_path: Path) -> None:
    export = exported(BLOCK, tmp_path / "c", method)
    found = rows(export, "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
    run = pliant.simulate(export.equations, 100 * STEP, method=METHODS[method](step=STEP))
    np.testing.assert_allclose(found[0, :2], run.q[-1], rtol=0, atol=1e-10)
    np.testing.assert_allclose(found[0, 2:], run["push"].values[-1], rtol=0, atol=1e-5)
    assert found[0, 2] < -1  # friction that depends only on the memory: nothing slides there
    assert abs(found[1, 2]) < 0.1 * abs(found[0, 2])
    np.testing.assert_allclose(found[1, :2], found[0, :2])


@pytest.mark.slow
@needs_gcc
def test_outputs_of_meshes_and_balls_in_contact(touching: Export) -> None:
    found = rows(touching)
    run = pliant.simulate(touching.equations, 100 * STEP, method=METHODS["semi_implicit"](step=STEP))
    expected = np.concatenate([run.q[-1], *(np.ravel(run[name].values[-1]) for name in run.output_names)])
    np.testing.assert_allclose(found[0], expected, rtol=1e-5, atol=1e-6)
    assert run["many"].values[-1] > 1
    assert abs(run["rub"].values[-1]).max() > 1e-3
    assert run["press"].values.max() > 0


SOLIDS = """
pliant: 1
bodies:
  brick: {mass: 1 kg, shape: {type: box, size: [8 cm, 6 cm, 4 cm]}}
  can: {mass: 1 kg, shape: {type: cylinder, radius: 2 cm, length: 6 cm}}
joints:
  a: {type: free, child: brick, z: {initial: 2 cm}, x: {rate: 0.2}, orientation: {rate: [1, 2, 0.5]}}
  b: {type: free, child: can, z: {initial: 7.1 cm}, x: {initial: 1 cm}}
surfaces:
  ground: {type: height_field, size: [40 cm, 40 cm], heights: [[0, 1 mm, 0, 0], [0, 0, 0, 1 mm], [0, 0, 0, 0], [1 mm, 0, 0, 0]]}
contacts: {any: {between: all, stiffness: 20 kN/m, friction: 0.4}}
outputs:
  push: {contact: any}
"""


@pytest.mark.slow
@needs_gcc
def test_solids_in_exported_c_move_as_in_python_and_stay_in_their_memory(tmp_path: Path) -> None:
    export = exported(SOLIDS, tmp_path / "c", "implicit")
    found = rows(export, "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
    run = pliant.simulate(export.equations, 100 * STEP, method=METHODS["implicit"](step=STEP))
    assert np.abs(run["push"].values).max() > 1
    np.testing.assert_allclose(found[0, :14], run.q[-1], rtol=0, atol=1e-7)
