"""Exported robots move as the simulation here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_export import FLIER, FOUR_BAR, SQUEEZED, TOUCHING, WARNINGS, Export, exported, needs_gcc, numbers, reference

from pliant.analysis.derivation.derive import derive
from pliant.analysis.integrators import GeneralizedAlpha
from pliant.analysis.simulate import simulate
from pliant.io.export_c import METHODS
from pliant.robot import load_text


@pytest.mark.slow
@needs_gcc
@pytest.mark.parametrize("method", sorted(METHODS))
def test_the_main_moves_as_the_engine_here(method: str, tmp_path: Path) -> None:
    export = exported(FOUR_BAR, tmp_path / "c", method)
    found = numbers(export.build(), "0.5", "5")
    np.testing.assert_allclose(found, reference(export, found[:, 0], method), rtol=0, atol=1e-10)
    assert np.ptp(found[:, 1]) > 1, "the crank turns"


@needs_gcc
def test_a_free_body_on_a_rope_with_every_kind_of_input(flier: Export) -> None:
    found = numbers(flier.build(), "0.1", "10")
    expected = reference(flier, found[:, 0])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    without_wind = derive(load_text(FLIER.replace("=wind, 0, =lift", "0, 0, =lift"), folder=flier.folder.parent))
    calm = reference(Export(without_wind, flier.folder, flier.name), found[:, 0])
    assert np.max(np.abs(calm[:, 1:-2] - expected[:, 1:-2])) > 1e-6, "the recorded wind moves it"


@needs_gcc
def test_a_repeated_chain(chain: Export) -> None:
    found = numbers(chain.build(), "0.2", "4")
    np.testing.assert_allclose(found, reference(chain, found[:, 0]), rtol=0, atol=1e-10)


MAGNETS = """
pliant: 1
parameters: {current: {value: 2 A, input: true}}
sections: {wire: {shape: circle, radius: 1 mm}}
materials: {rubber: {density: 2000 kg/m^3, youngs_modulus: 2 MPa, poissons_ratio: 0.48}}
bodies: {hand: {mass: 1 kg, shape: {type: box, size: [5 cm, 5 cm, 5 cm]}}}
joints: {lift: {type: prismatic, child: hand, axis: x, position: [2 cm, 0, 12 cm], displacement: {spring: 200, damper: 1}}}
rods: {catheter: {length: 3 cm, section: wire, material: rubber, damping: 1e-7, model: {kind: pcs, elements: 2}}}
magnets:
  tip: {type: rod, rod: catheter, magnetization: [0, 0, 100 kA/m], segments: [0, 1]}
  carried: {type: body, body: hand, remanence: [0.2 T, 0, 0]}
  loop: {type: coil, position: [-4 cm, 0, 2 cm], axis: x, radius: 3 cm, turns: 100, current: =current}
  uniform: {type: uniform, flux_density: [0, "=2 mT*sin(300*t/(1 s))", 0]}
"""


@needs_gcc
def test_magnets(tmp_path: Path) -> None:
    export = exported(MAGNETS, tmp_path / "c")
    found = numbers(export.build(), "0.02", "4")
    np.testing.assert_allclose(found, reference(export, found[:, 0]), rtol=0, atol=1e-9)


@pytest.mark.slow
@needs_gcc
def test_a_rod_on_a_driven_base_starts_with_it(tmp_path: Path) -> None:
    text = """
pliant: 1
sections: {wire: {shape: circle, radius: 1 cm}}
materials: {rubber: {density: 1000 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}}
bodies: {base: {mass: 0.3 kg}}
joints: {move: {type: prismatic, child: base, axis: x, displacement: {motion: "=0.1 m + 1 m/s*t"}}}
rods: {rod: {parent: base, length: 40 cm, section: wire, material: rubber, model: {kind: finite_element, elements: 3}}}
"""
    export = exported(text, tmp_path / "c")
    found = numbers(export.build(), "0.02", "4")
    np.testing.assert_allclose(found, reference(export, found[:, 0]), rtol=0, atol=1e-10)
    moving = 0.3 + 1000 * np.pi * 0.01**2 * 0.4
    assert found[0, -2] == pytest.approx(0.5 * moving, rel=1e-9)


@needs_gcc
def test_rods_with_fewer_strains_on_a_ball_joint_with_springs_about_each_axis(tmp_path: Path) -> None:
    text = """
pliant: 1
parameters: {bow: 3 1/m}
sections: {wire: {shape: circle, radius: 1 cm}}
materials: {rubber: {density: 1000 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}}
bodies: {base: {mass: 0.3 kg, inertia: {principal: [1e-3, 2e-3, 3e-3]}}}
joints: {ball: {type: spherical, child: base, orientation: {spring: {coefficient: [1, 2, 3], rest: {axis: y, angle: 20 deg}}}}}
rods:
  plain: {parent: base, length: 20 cm, section: wire, material: rubber, strains: [planar, unshearable], rest: [0, 0, 0, =bow, 0, 0],
          model: {kind: pcs, elements: 2}}
  smooth: {parent: base, length: 20 cm, section: wire, material: rubber, strains: [stretch, bend_y],
           model: {kind: gvs, order: {stretch: 0, bend_y: 1}}}
"""
    export = exported(text, tmp_path / "c")
    found = numbers(export.build(), "0.04", "4")
    np.testing.assert_allclose(found, reference(export, found[:, 0]), rtol=0, atol=1e-10)
    assert np.ptp(found[:, 1:5]) > 1e-3, "the joint turns"


@needs_gcc
def test_a_model_that_starts_at_rest_does_so_in_c(tmp_path: Path) -> None:
    export = exported(FOUR_BAR + "\nstart: equilibrium\n", tmp_path / "c", "implicit")
    found = numbers(export.build(), "0.2", "2")
    np.testing.assert_allclose(found, reference(export, found[:, 0], "implicit"), rtol=0, atol=1e-9)
    assert np.ptp(found[:, 1]) < 1e-6, "nothing moves"


@needs_gcc
def test_meshes_in_contact(touching: Export) -> None:
    """Membranes, shells and a ball on three kinds of surface; without the contacts they move otherwise."""
    found = numbers(touching.build(), "0.1", "10")
    expected = reference(touching, found[:, 0])
    np.testing.assert_allclose(found[:7], expected[:7], rtol=0, atol=1e-10)
    # impacts amplify round-off: a change of 1e-16 at the start grows to 3e-8 at the end
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)
    loose = reference(touching, found[:, 0], parameters={"stiffness": 1e-9})
    assert np.max(np.abs(loose - expected)) > 1e-2


@needs_gcc
def test_steps_without_a_solution_are_halved_as_by_the_engine_here(tmp_path: Path) -> None:
    step = 5e-3
    export = exported(SQUEEZED, tmp_path / "c", "generalized_alpha", step=step)
    found = numbers(export.build(), "0.1", "20")
    np.testing.assert_allclose(found, reference(export, found[:, 0], "generalized_alpha", step), rtol=0, atol=1e-9)
    run = simulate(export.equations, 0.1, method=GeneralizedAlpha(step=step))
    assert run.timing.rejected > 0
    assert run.timing.steps > 20


@pytest.mark.slow
@needs_gcc
def test_cmake_builds_the_library_and_the_main(flier: Export, tmp_path: Path) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("needs cmake")
    for command in (
        ["cmake", "-S", flier.folder, "-B", tmp_path, "-DCMAKE_C_FLAGS_RELEASE=-O0"],
        ["cmake", "--build", tmp_path],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "warning" not in (done.stdout + done.stderr).lower()
    found = numbers(tmp_path / "flier_main", "0.1", "2")
    np.testing.assert_allclose(found, reference(flier, found[:, 0]), rtol=0, atol=1e-10)
    assert (tmp_path / "libflier.a").exists()


@needs_gcc
def test_inputs_that_jump_within_a_step_are_met_exactly(tmp_path: Path) -> None:
    (tmp_path / "force.csv").write_text("t,f\n0,1\n0.0105,-3\n0.0217,2\n", encoding="utf-8")
    text = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {force: {value: 0 N, input: true}, kick: {value: 0 N, input: true}, late: 7.3 ms}
bodies: {block: {mass: 2 kg}}
joints: {slide: {type: prismatic, child: block, axis: x, displacement: {input: =force + kick}}}
inputs:
  force: {series: {file: force.csv, column: f, interpolation: previous}}
  kick: {step: {at: =late, before: 0 N, after: 5 N}}
"""
    export = exported(text, tmp_path / "c", "explicit")
    t, x = numbers(export.build(), "0.04", "1")[-1][:2]
    changes = {0.0: 1.0, 0.0073: 5.0, 0.0105: -4.0, 0.0217: 5.0}
    assert x == pytest.approx(sum(force / 2 * (t - at) ** 2 / 2 for at, force in changes.items()), abs=1e-15)


@needs_gcc
def test_a_prescribed_acceleration_is_followed(tmp_path: Path) -> None:
    text = """
pliant: 1
parameters: {shake: {value: 0 m/s^2, input: true}, jerk: 4}
bodies: {plate: {mass: 1 kg}, mast: {mass: 0.3 kg, center_of_mass: [0, 0, -0.4]}}
joints:
  rail: {type: prismatic, child: plate, axis: x}
  hinge: {type: revolute, parent: plate, child: mast, axis: y}
constraints:
  drive: {between: [world, plate], components: [x], acceleration: =shake}
inputs: {shake: =jerk*t}
"""
    export = exported(text, tmp_path / "c", "generalized_alpha")
    found = numbers(export.build(), "0.3", "3")
    t = found[:, 0]
    expected = reference(export, t, "generalized_alpha")
    np.testing.assert_allclose(found[:, 1], 4 * t**3 / 6, atol=1e-10)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)


ARM = """
pliant: 1
world: {gravity: [0, 0, 9.81 m/s^2]}
sections: {round: {shape: circle, radius: 12 mm}}
materials: {rubber: {density: 1000, youngs_modulus: 300 kPa, poissons_ratio: 0.4}}
rods:
  arm: {length: 0.4 m, section: round, material: rubber, model: {kind: pcc, sections: 5}, initial: {"b_x[1]": 0.8, "b_y[4]": 0.5}}
  branch: {parent: arm.tip, length: 0.1 m, section: round, material: rubber, model: {kind: pcc_cog, coordinates: strains}}
"""


@pytest.mark.slow
@needs_gcc
@pytest.mark.parametrize("method", ["explicit", "generalized_alpha"])
def test_sections_that_are_evaluated_side_by_side(tmp_path: Path, method: str) -> None:
    """Five of one kind, more than there are lanes, and one of another."""
    export = exported(ARM, tmp_path / "c", method)
    found = numbers(export.build(), "0.02", "2")
    np.testing.assert_allclose(found, reference(export, found[:, 0], method), rtol=1e-9, atol=1e-11)


@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")
def test_clang_compiles_sections_that_are_evaluated_side_by_side_without_a_warning(tmp_path: Path) -> None:
    """Also for machines without registers for their vectors."""
    folder = exported(ARM, tmp_path / "c", "generalized_alpha").folder
    sources = [*folder.glob("*.c"), *folder.glob("runtime/*.c")]
    assert any('#include "runtime/lanes.h"' in file.read_text(encoding="utf-8") for file in sources)
    command = ["clang", *WARNINGS, "-O0", f"-I{folder}", "-c", *map(str, sources)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not done.stderr


MOVED = """
pliant: 1
parameters:
  {push: {value: 0 m/s^2, input: true}, lift: {value: 0.1 m, input: true}, pace: {value: 0 m/s, input: true}, gain: 1}
bodies: {ground: {mass: 4 kg}, plate: {mass: 1 kg}, table: {mass: 2 kg}, mast: {mass: 0.3 kg, center_of_mass: [0, 0, -0.4]}}
joints:
  belt: {type: prismatic, child: ground, axis: y}
  rail: {type: prismatic, parent: ground, child: plate, axis: x}
  post: {type: prismatic, parent: plate, child: table, axis: z, displacement: {motion: =gain*lift}}
  hinge: {type: revolute, parent: table, child: mast, axis: y, angle: {initial: 0.3 rad}}
constraints:
  drive: {between: [world, plate], components: [x], acceleration: =push}
  walk: {between: [world, ground], components: [y], rate: "=pace + 0.1 m/s*sin(30*t)"}
"""

COMMANDED = """
#include <math.h>
#include <stdio.h>
#include "robot_.h"
int main(void) {
  robot_robot *robot = robot_new();
  int bad = 0;
  for (int k = 0; k < 30; ++k) {
    const double t = 0.01 * k;
    bad |= robot_set_input(robot, ROBOT_INPUT_push, 3 * cos(20 * t));
    bad |= robot_move_input(robot, ROBOT_INPUT_lift, 0.1 + 0.05 * sin(9 * t), 0.01);
    bad |= robot_move_input(robot, ROBOT_INPUT_pace, 0.2 * sin(7 * t), 0.01);
    for (int i = 0; i < 10; ++i) bad |= robot_step(robot, 1e-3);
    printf("%.17g", robot_time(robot));
    for (int i = 0; i < ROBOT_POSITIONS; ++i) printf(" %.17g", robot_q(robot)[i]);
    for (int i = 0; i < ROBOT_RATES; ++i) printf(" %.17g", robot_v(robot)[i]);
    printf("\\n");
  }
  robot_free(robot);
  return bad;
}
"""

REFUSED = """
#include <stdio.h>
#include "robot_.h"
int main(void) {
  robot_robot *robot = robot_new();
  int bad = robot_set_input(robot, ROBOT_INPUT_lift, 0.2);
  bad |= robot_initial_state(robot);
  bad |= robot_step(robot, 1e-3);
  printf("%d %.17g\\n", bad, robot_q(robot)[ROBOT_Q_post]);
  bad = robot_set_input(robot, ROBOT_INPUT_lift, 0.3);
  printf("%d %d\\n", bad, robot_step(robot, 1e-3) == ROBOT_POSITION_JUMPS);
  bad = robot_project(robot);
  bad |= robot_step(robot, 1e-3);
  printf("%d %d\\n", bad, robot_q(robot)[ROBOT_Q_post] > 0.2999);
  bad = robot_set_parameter(robot, ROBOT_PARAMETER_gain, 2);
  printf("%d %d\\n", bad, robot_step(robot, 1e-3) == ROBOT_POSITION_JUMPS);
  bad = robot_set_parameter(robot, ROBOT_PARAMETER_gain, 1);
  bad |= robot_step(robot, 1e-3);
  printf("%d %d\\n", bad, robot_move_input(robot, ROBOT_INPUT_lift, 0.3, 0.0) == ROBOT_BAD_ARGUMENT);
  robot_free(robot);
  return 0;
}
"""


class _Commands:
    sample_time = 0.01

    def start(self, now: object) -> None:
        """Nothing is remembered."""

    def command(self, now: Any) -> dict[str, float]:
        return {"push": 3 * np.cos(20 * now.t), "lift": 0.1 + 0.05 * np.sin(9 * now.t), "pace": 0.2 * np.sin(7 * now.t)}


@pytest.mark.slow
@needs_gcc
@pytest.mark.parametrize("method", ["generalized_alpha", "explicit", "semi_implicit"])
def test_commanded_positions_and_accelerations_move_it_as_a_controller_here(method: str, tmp_path: Path) -> None:
    export = exported(MOVED, tmp_path / "c", method, step=1e-3)
    found = numbers(export.build(export.write(COMMANDED)))
    run = simulate(
        export.equations,
        0.3,
        method=METHODS[method](step=1e-3),
        controllers=_Commands(),
        save_at=0.01 * np.arange(1, 31),
    )
    assert run.status == "completed"
    np.testing.assert_allclose(found[:, 1:5], run.q, atol=1e-8)
    np.testing.assert_allclose(found[:, 5:], run.v, atol=1e-7)
    assert np.ptp(found[:, 1]) > 0.02, "the ground is moved"
    assert np.ptp(found[:, 3]) > 0.04, "the table is lifted"
    np.testing.assert_allclose(found[1:, 3], 0.1 + 0.05 * np.sin(9 * (found[1:, 0] - 0.01)), atol=1e-10)


@needs_gcc
def test_a_position_that_is_set_elsewhere_is_refused(tmp_path: Path) -> None:
    export = exported(MOVED, tmp_path / "c", "generalized_alpha")
    found = numbers(export.build(export.write(REFUSED)))
    np.testing.assert_allclose(found, [[0, 0.2], [0, 1], [0, 1], [0, 1], [0, 1]], atol=1e-12)


SHAKING = """
pliant: 1
world: {gravity: [0, 0, 0]}
bodies: {weight: {mass: 1 kg}}
joints: {slide: {type: prismatic, child: weight, axis: x, displacement: {initial: 1 cm, spring: 40 kN/m}}}
"""


@needs_gcc
def test_steps_that_lose_energy_say_so(tmp_path: Path) -> None:
    """200 rad/s in steps of 1 ms: by the semi-implicit method most of the vibration is gone after a second."""
    with pytest.warns(
        UserWarning, match="semi_implicit with steps of 0.001 s, tried for 1 s: .*% of the energy exchanged was lost"
    ):
        export = exported(SHAKING, tmp_path / "c")
    assert "energy exchanged was lost" in (export.folder / "README.txt").read_text().replace("\n", " ")
    program = export.build()
    said = subprocess.run([program, "1", "10"], capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    assert said.startswith("# ")
    assert "of the energy exchanged was lost in the steps" in said


def test_steps_that_keep_energy_are_tried_too(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    export = exported(SHAKING, tmp_path / "c", "generalized_alpha", step=2e-4)
    assert not [x for x in recwarn if "energy" in str(x.message)]
    assert "the energy balance closes" in (export.folder / "README.txt").read_text()


AGAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "robot_.h"
static double rows[4][ROBOT_POSITIONS + ROBOT_RATES];
static int go(robot_robot *robot, int steps, double *row) {
  int bad = 0;
  for (int i = 0; i < steps && !bad; ++i) bad = robot_step(robot, robot_default_step);
  memcpy(row, robot_q(robot), ROBOT_POSITIONS * sizeof(double));
  memcpy(row + ROBOT_POSITIONS, robot_v(robot), ROBOT_RATES * sizeof(double));
  return bad;
}
int main(void) {
  robot_robot *robot = robot_new(), *other = robot_new();
  static double q[ROBOT_POSITIONS], v[ROBOT_RATES];
  int bad = robot_initial_state(robot) | robot_initial_state(other);
  memcpy(q, robot_q(robot), sizeof q), memcpy(v, robot_v(robot), sizeof v);
  bad |= go(robot, HALF, rows[0]);
  const size_t size = robot_state_bytes(robot);
  void *bytes = malloc(size);
  robot_save_state(robot, bytes);
  bad |= go(robot, HALF, rows[0]);
  bad |= robot_initial_state(robot) | go(robot, 2 * HALF, rows[1]);
  bad |= robot_set_state(robot, 0, q, v) | go(robot, 2 * HALF, rows[2]);
  bad |= robot_restore_state(other, bytes, size) | go(other, HALF, rows[3]);
  for (int k = 0; k < 4; ++k, printf("\\n"))
    for (int i = 0; i < ROBOT_POSITIONS + ROBOT_RATES; ++i) printf("%.17g ", rows[k][i]);
  free(bytes), robot_free(robot), robot_free(other);
  return bad;
}
"""


@pytest.mark.slow
@needs_gcc
@pytest.mark.parametrize(("text", "step", "half"), [(SQUEEZED, 4e-3, 9), (TOUCHING, 1e-3, 10), (FOUR_BAR, 1e-3, 10)])
@pytest.mark.filterwarnings("ignore:generalized_alpha")
def test_a_motion_depends_on_its_state_and_not_on_earlier_motions(
    text: str, step: float, half: int, tmp_path: Path
) -> None:
    """Begun again, set back, or continued by another robot from the saved state."""
    export = exported(text, tmp_path / "c", "generalized_alpha", step=step)
    first, again, back, continued = numbers(export.build(export.write(AGAIN.replace("HALF", str(half)))))
    assert np.array_equal(again, first)
    np.testing.assert_allclose(back, first, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(continued, first, rtol=1e-9, atol=1e-9)


FLOATING = """
pliant: 1
parameters: {radius: 10 cm, speed: {value: 0.3 m/s, input: true}}
world: {fluid: {density: 1000 kg/m^3, viscosity: 1 Pa*s, surface: 3 cm, current: [=speed, "=0.1*z/(1 s)", 0]}}
bodies:
  buoy: {mass: 3 kg, shape: {type: cylinder, radius: =radius, length: 33 cm}}
joints:
  flight: {type: free, child: buoy, orientation: {initial: {axis: [1, 2, 0], angle: 0.3 rad}, rate: [0, 1, 2 rad/s]}}
loads:
  fin: {type: wing, frame: buoy, position: [0, 0, -10 cm], area: 1 dm^2,
    polar: {angles: [0 deg, 10 deg], lift: [0, 0.9], drag: [0.02, 0.06]}}
"""


@needs_gcc
def test_a_floating_body_with_a_fin(tmp_path: Path) -> None:
    export = exported(FLOATING, tmp_path / "c")
    found = numbers(export.build(), "0.3", "3")
    np.testing.assert_allclose(found, reference(export, found[:, 0]), rtol=0, atol=1e-10)
    assert np.ptp(found[:, 1]) > 0.01
