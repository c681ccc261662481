"""Outputs in exported C: the same numbers as here, also with other parameters and inputs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
from c_export import exported, needs_gcc

from pliant.engine.outputs import evaluate_outputs

ROBOT = """\
pliant: 1
parameters: {mass: 2 kg, drive: {value: 0.5 N*m, input: true}}
sections: {round: {shape: circle, radius: 1 cm}}
materials: {gum: {density: 1000, youngs_modulus: 1 MPa, poissons_ratio: 0.4}}
bodies:
  arm: {mass: =mass, center_of_mass: [0.5 m, 0, 0], frames: {tip: {position: [1 m, 0, 0]}}}
  ball: {mass: 0.1 kg}
joints:
  hinge: {type: revolute, child: arm, axis: y, angle: {spring: 3, initial: 0.2, input: =drive}}
  grip: {type: weld, parent: finger.tip, child: ball}
rods:
  finger: {parent: arm.tip, length: 0.3 m, section: round, material: gum, model: {kind: pcs, elements: 2}}
constraints:
  pin: {between: [{frame: world, position: [1 m, 0, 0.3 m]}, ball], components: [y], expressed_in: world}
outputs:
  place: {frame: ball}
  support: {reaction: hinge, quantity: wrench}
  foot: {reaction: finger, component: norm}
  grip: {reaction: grip, expressed_in: world}
  bend: {rod: finger, stations: 3, quantity: curvature, component: y}
  stored: {energy: elastic, part: finger}
  held: {constraint: pin}
  energy: {energy: total}
  lost: {energy: dissipated}
  lever: {expression: =support.ry + drive}
"""
EVALUATE = """
#include <stdio.h>
#include "robot_.h"
int main(void) {
  static double q[ROBOT_POSITIONS], v[ROBOT_RATES], y[ROBOT_OUTPUTS];
  int bad = 0;
  for (int i = 0; i < ROBOT_POSITIONS; ++i) bad |= scanf("%lf", q + i) != 1;
  for (int i = 0; i < ROBOT_RATES; ++i) bad |= scanf("%lf", v + i) != 1;
  robot_robot *robot = robot_new();
  bad |= robot_set_parameter(robot, ROBOT_PARAMETER_mass, 1.3) | robot_set_input(robot, ROBOT_INPUT_drive, 0.8);
  bad |= robot_outputs(robot, 0.3, q, v, y);
  for (int i = 0; i < ROBOT_OUTPUTS; ++i) printf("%s %.17g\\n", robot_output_names[i], y[i]);
  bad |= y[ROBOT_OUTPUT_support_ry] != y[7];
  robot_free(robot);
  return bad;
}
"""


@needs_gcc
def test_outputs_are_those_of_the_engine_here(tmp_path: Path) -> None:
    export = exported(ROBOT, tmp_path / "robot")
    eqs = export.equations
    random = np.random.default_rng(5)
    q, v = eqs.binding.project(0.0, eqs.initial_state().q, 0.5 * random.normal(size=len(eqs.rates)))
    program = export.build(export.write(EVALUATE))
    given = " ".join(f"{x:.17g}" for x in [*q, *v])
    done = subprocess.run([program], input=given, capture_output=True, text=True, check=True)
    found = {name: float(value) for name, value in map(str.split, done.stdout.splitlines())}
    here = eqs.at(parameters={"mass": 1.3}, inputs={"drive": 0.8}).binding
    expected = evaluate_outputs(eqs.model, here, 0.3, q, v, *here.forward(0.3, q, v), 0.0)
    del expected["lost"]  # it adds up along a motion
    numbers = np.concatenate([np.ravel(x) for x in expected.values()])
    np.testing.assert_allclose(list(found.values()), numbers, rtol=1e-9, atol=1e-10)
    assert [*found][:10] == [
        "place.x", "place.y", "place.z", *(f"support.{x}" for x in ("x", "y", "z", "rx", "ry", "rz")), "foot",
    ]  # fmt: skip
    assert "bend.3" in found
    assert "lost" not in found
