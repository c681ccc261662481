"""Exported controllers: alone against the one here, and in a loop with the exported robot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from c_export import WARNINGS, Export, gcc, needs_gcc, numbers, reference

import pliant
from pliant.control import Limits, StateFeedback, discretize, kalman, lqr
from pliant.targets.c import controller_files, export_c

SAMPLE, DELAY, STEP = 0.02, 0.01, 0.005

LOOP = """
#include <stdio.h>
#include "robot_.h"
#include "robot_controller.h"
int main(void) {
  robot_robot *robot = robot_new();
  robot_controller controller;
  double q[2] = {0, 0.1}, v[2] = {0, 0}, command[1], measured[4];
  robot_controller_reset(&controller);
  robot_set_input(robot, ROBOT_INPUT_force, 0);
  if (robot_set_state(robot, 0, q, v)) return 1;
  for (int k = 0; k < 100; ++k) {
    const double *now = robot_q(robot), *rate = robot_v(robot);
    printf("%.17g %.17g %.17g\\n", robot_time(robot), now[0], now[1]);
    for (int i = 0; i < 2; ++i) measured[i] = now[i], measured[2 + i] = rate[i];
    robot_controller_command(&controller, measured, command);
    for (int step = 0; step < 4; ++step) {
      if (step == 2) robot_set_input(robot, ROBOT_INPUT_force, command[0]);
      if (robot_step(robot, 0.005)) return 1;
    }
  }
  robot_free(robot);
  return 0;
}
"""


@pytest.fixture(scope="module")
def eqs() -> pliant.Equations:
    return pliant.derive(pliant.load("cart_pole").replace(name="robot"))


def feedback(eqs: pliant.Equations, what: str) -> StateFeedback:
    """A controller of states, or of outputs with an observer."""
    upright = pliant.linearize(eqs, at=np.zeros(2), independent=("rail", "hinge"))
    sampled = discretize(upright.select(outputs=("cart", "pole")), SAMPLE, delay=DELAY)
    regulator = lqr(sampled, states=[10.0, 50.0, 1.0, 1.0], inputs=0.1)
    observer = kalman(sampled, process=0.0, inputs=1.0, outputs=1e-6) if what == "outputs" else None
    limits = Limits(lower={"force": -2.0}, upper={"force": 3.0}, rate={"force": 60.0})
    return StateFeedback(eqs, regulator, observer=observer, limits=limits)


@needs_gcc
@pytest.mark.parametrize("what", ["states", "outputs"])
def test_a_loop_in_c_moves_as_the_loop_here(eqs: pliant.Equations, what: str, tmp_path: Path) -> None:
    controller = feedback(eqs, what)
    export_c(eqs, tmp_path / "c", method="explicit", step=STEP, controller=controller)
    export = Export(eqs, tmp_path / "c", "robot")
    found = numbers(export.build(export.write(LOOP)))
    start = pliant.State(np.array([0.0, 0.1]), np.zeros(2))
    run = pliant.simulate(
        eqs, 2.0, start=start, controllers=controller, inputs={"force": 0.0}, save_every=SAMPLE,
        method=pliant.ExplicitRungeKutta(step=STEP),
    )  # fmt: skip
    np.testing.assert_allclose(found[:, 1:], run.q[:-1], atol=1e-9)
    force = run.inputs["force"]
    assert force.min() >= -2
    assert force.max() == pytest.approx(3.0)
    assert np.abs(run.q[-1]).max() < 0.1


def told_command(folder: Path) -> list[str]:
    """The words of the command that the README gives."""
    told = (folder / "README.txt").read_text(encoding="utf-8")
    return next(line.split() for line in told.splitlines() if line.startswith("  gcc "))


@pytest.mark.slow
@needs_gcc
def test_the_readme_builds_the_robot_with_and_without_the_controller(eqs: pliant.Equations, tmp_path: Path) -> None:
    """Some warnings come with the README's optimization alone; files are moved after the export."""
    export_c(eqs, tmp_path / "plain")
    export_c(eqs, tmp_path / "exported", controller=feedback(eqs, "outputs"))
    folder = (tmp_path / "exported").rename(tmp_path / "elsewhere")
    command = told_command(folder)
    assert {word for word in command if word.endswith(".c")} == {
        str(x.relative_to(folder)) for x in folder.rglob("*.c")
    }
    assert "robot_controller.h" in (folder / "README.txt").read_text(encoding="utf-8")
    assert "\n  robot_controller.c\n" in (folder / "CMakeLists.txt").read_text(encoding="utf-8")
    gcc(*command[1:], *WARNINGS, cwd=folder)
    found = numbers(folder / "robot_main", "0.1", "2")
    expected = reference(Export(eqs, folder, "robot"), found[:, 0])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    assert told_command(tmp_path / "plain") == [word for word in command if word != "robot_controller.c"]


def test_what_cannot_be_written_in_matrices_is_refused(eqs: pliant.Equations) -> None:
    upright = pliant.linearize(eqs, at=np.zeros(2), independent=("rail", "hinge"))
    shared = StateFeedback(eqs, lqr(discretize(upright, SAMPLE)), share=True)
    with pytest.raises(RuntimeError, match="sharing among redundant inputs"):
        controller_files(shared)
    with pytest.raises(ValueError, match="needs a discrete design"):
        controller_files(StateFeedback(eqs, lqr(upright), period=SAMPLE))
