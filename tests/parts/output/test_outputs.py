"""Every kind of output says its unit before the robot is built and after, and has a value of that many numbers."""

from typing import get_args

import numpy as np
import pytest

from pliant import SpecError, derive, load_text, simulate
from pliant.engine.outputs import energy_outputs, evaluate_outputs, output_function, output_units
from pliant.language.units import parse_unit
from pliant.parts.output import Output

ROBOT = """\
pliant: 1
sections: {round: {shape: circle, radius: 1 cm}}
materials: {gum: {density: 1000, youngs_modulus: 1 MPa, poissons_ratio: 0.4}}
bodies:
  arm: {mass: 2 kg, center_of_mass: [0.5 m, 0, 0], frames: {tip: {position: [1 m, 0, 0]}}}
  ball: {mass: 1 kg}
joints:
  hinge: {type: revolute, child: arm, axis: y, angle: {spring: 3, initial: 0.2}}
  flight: {type: free, child: ball, x: {initial: 2 m}}
rods:
  finger: {parent: arm, length: 0.3 m, section: round, material: gum, model: {kind: pcc, sections: 2}}
meshes:
  net: {type: membrane, drawing: {rectangle: [0.2 m, 0.2 m], cells: [1, 1]}, mass: 0.1 kg, stiffness: 50 N, tightness: 0.9}
links:
  rope: {type: axial, between: [{frame: world, position: [1 m, 0, 1 m]}, arm.tip], spring: {coefficient: 100, rest: 1}}
  mount: {type: beam, between: [ball, world], stiffness: [1, 1, 1, 1, 1, 1]}
tendons:
  pull: {type: tension, tension: 2 N, through: [world, arm.tip]}
surfaces:
  floor: {type: plane}
  foot: {type: sphere, parent: ball, radius: 1 cm}
contacts:
  ground: {between: [foot, floor], stiffness: 1000 N/m}
constraints:
  pin: {between: [{frame: world, position: [2 m, 0, 0]}, ball], components: [x, y, rz]}
magnets:
  loop: {type: coil, radius: 1 m, turns: 100, current: 2 A}
outputs:
  place: {frame: arm.tip}
  turning: {frame: arm.tip, quantity: quaternion}
  height: {frame: arm.tip, component: z}
  angle: {coordinate: hinge}
  swing: {coordinate: hinge, quantity: rate}
  torque: {coordinate: hinge, quantity: force}
  stretch: {link: rope, quantity: length}
  force: {link: rope}
  strain: {link: mount, quantity: deformation}
  tension: {tendon: pull, description: that of the line}
  bend: {rod: finger, section: 2}
  weight: {contact: ground}
  held: {constraint: pin}
  held_x: {constraint: pin, component: x}
  energy: {energy: total}
  support: {reaction: hinge}
  clamp: {reaction: finger, quantity: wrench}
  stored: {energy: elastic, part: finger}
  lever: {expression: =support.z*(1 m) + torque}
  curve: {rod: finger, at: 10 cm, quantity: curvature}
  thread: {mesh: net, edge: [1, 2]}
  field: {flux_density: arm.tip}
"""
SIZES = {
    "place": 3,
    "turning": 4,
    "strain": 6,
    "weight": 3,
    "held": 3,
    "support": 3,
    "clamp": 6,
    "curve": 3,
    "field": 3,
}
UNITS = {
    "place": "m", "turning": "-", "height": "m", "angle": "rad", "swing": "rad/s", "torque": "N m", "stretch": "m",
    "force": "N", "strain": "", "tension": "N", "bend": "rad", "weight": "N", "held": "", "held_x": "N", "energy": "J",
    "support": "N", "clamp": "", "stored": "J", "lever": "N m", "curve": "1/m",
    "thread": "N", "field": "T",
}  # fmt: skip


@pytest.fixture(scope="module")
def eqs():
    return derive(load_text(ROBOT))


def test_every_kind_is_tried_here():
    kinds = set(get_args(get_args(Output)[0]))
    assert {type(output) for output in load_text(ROBOT).outputs.values()} == kinds


def test_units(eqs):
    assert output_units(eqs.model) == UNITS
    for unit in set(UNITS.values()) - {"", "-"}:
        assert parse_unit(unit).factor == 1


def test_values_have_their_sizes_and_order(eqs):
    q, v = eqs.initial_state()
    state = np.zeros(len(v)), np.zeros(eqs.model.system.rows)
    found = evaluate_outputs(eqs.model, eqs.binding, 0.0, q, v, *state, 0.0)
    assert list(found) == list(UNITS)
    assert {name: np.size(value) for name, value in found.items()} == {name: SIZES.get(name, 1) for name in UNITS}
    assert found["height"] == pytest.approx(-np.sin(0.2))
    assert found["torque"] == pytest.approx(-3 * 0.2)
    assert found["force"] == pytest.approx(100 * (found["stretch"] - 1))
    assert found["thread"] > 0
    assert found["lever"] == pytest.approx(found["support"][2] + found["torque"])
    assert found["energy"] == pytest.approx(sum(eqs.binding.energies(0.0, q, v)[:2]))
    assert output_function(eqs.model).n_out() == len(UNITS)
    assert energy_outputs(eqs.model) == {"energy"}


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("{frame: arm.tip, component: w}", "the position has no component w"),
        ("{link: rope, quantity: deformation}", "the link 'rope' has no deformation.*length, rate, force"),
        ("{rod: finger, section: 3}", "there is no arc 3"),
        ("{constraint: pin, component: z}", "does not constrain z"),
    ],
)
def test_what_the_robot_lacks_is_refused(output, message):
    with pytest.raises(SpecError, match=message):
        load_text(ROBOT + f"  wrong: {output}\n")


@pytest.mark.parametrize(("noise", "fits"), [("1 N", True), ("1 mm", False)])
def test_noise_has_the_dimension_of_the_output(noise, fits):
    """Also of a link's force, which was not checked before the kinds said their units themselves."""
    text = ROBOT.replace("spring: 3,", "spring: 3, input: =drive,") + (
        "parameters: {drive: {value: 0 N*m, input: true}}\n"
        "control:\n"
        "  hold: {type: lqr, sample_time: 1 ms, coordinate_weights: [{coordinate: hinge}], "
        f"input_weights: [{{input: drive, weight: 1}}], sensors: [{{output: force, noise: {noise}}}]}}\n"
    )
    if fits:
        load_text(text)
    else:
        with pytest.raises(SpecError, match="noise: expected a force"):
            load_text(text)


def test_force_with_a_coefficient_of_another_coordinate():
    """The kernel of such a force has all coordinates of the joint as arguments; the output is the component of its own."""
    text = """
pliant: 1
parameters: {k0: 2 N*m/rad}
bodies: {rod: {mass: 1 kg, center_of_mass: [0, 0, -0.5 m], shape: {type: slender_rod, length: 1 m, axis: z}}}
joints:
  g: {type: universal, child: rod, angle1: {initial: 5 deg, spring: {coefficient: "=k0*(1 + (angle2/1 rad)^2)"}},
    angle2: {initial: 60 deg}}
outputs: {force: {coordinate: g.angle1, quantity: force}}
"""
    run = simulate(derive(load_text(text)), 0.01)
    angle1, angle2 = run.q.T
    assert run["force"].values == pytest.approx(-2 * (1 + angle2**2) * angle1, rel=1e-9)


def test_the_type_of_a_part_needs_a_part() -> None:
    text = "pliant: 1\nbodies: {b: {mass: 1 kg}}\njoints: {j: {type: prismatic, axis: x, child: b}}\n"
    with pytest.raises(SpecError, match="no part is given"):
        load_text(text + "outputs: {all_of_it: {energy: total, of: body}}\n")
