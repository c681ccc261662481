"""Equilibria beyond obstacles: a search stops at surfaces that a motion would stop at, however long its steps are."""

import numpy as np
import pytest

import pliant

BAR = """
pliant: 1
parameters: {torque: {value: 0 N m, input: true}}
bodies: {bar: {mass: 50 g, center_of_mass: [0, 0, -10 cm], shape: {type: cylinder, radius: 5 mm, length: 20 cm}}}
joints: {hinge: {type: revolute, axis: y, child: bar, angle: {damper: 0.02, input: =torque}}}
surfaces: {peg: {type: sphere, radius: 4 mm, position: [-8 cm, 0, -8 cm]}}
contacts: {touch: {between: [bar, peg]}}
outputs: {force: {contact: touch, quantity: normal_force}}
"""
ROD = """
pliant: 1
parameters: {load: {value: 0 N, input: true}}
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: 2 MPa, poissons_ratio: 0.49}}
sections: {rod: {shape: circle, radius: 4 mm}}
rods:
  arm: {length: 20 cm, section: rod, material: rubber, rotation: {axis: y, angle: 90 deg}, rayleigh: {ratio: 0.5, modes: [1, 2]}}
surfaces: {peg: {type: capsule, radius: 3 mm, length: 6 cm, position: [12 cm, 0, -4 cm], rotation: {axis: x, angle: 90 deg}}}
loads: {pull: {frame: arm.tip, force: [0, 0, =-load]}}
contacts: {touch: {between: [arm, peg]}}
outputs: {force: {contact: touch, quantity: normal_force}}
"""
JAWS = """
pliant: 1
parameters: {torque: {value: 0 N m, input: true}}
bodies:
  jaw: {count: 2, mass: 20 g, shape: {type: box, size: [4 mm, 20 mm, 60 mm]}, center_of_mass: [0, 0, -30 mm]}
  box: {mass: 10 g, shape: {type: box, size: [20 mm, 20 mm, 40 mm]}}
joints:
  hinge:
    type: revolute
    axis: y
    child: jaw
    position: ["=40 mm*(3 - 2*i)", 0, 70 mm]
    angle: {spring: 0.01, input: "=torque*(3 - 2*i)"}
  flight: {type: free, child: box, z: {initial: 20 mm}}
surfaces: {table: {type: plane}}
contacts:
  rest: {between: [box, table], friction: 0.5}
  grip: {between: [box, jaw], friction: 0.5}
outputs: {force: {contact: grip, quantity: normal_force}}
"""


def test_a_bar_stops_at_a_peg():
    """The peg's centre is 8 sqrt(2) cm from the hinge at 45 degrees, and 9 mm from the bar's axis. Moments about the hinge
    give the force."""
    eqs = pliant.derive(pliant.load_text(BAR))
    rest = pliant.equilibrium(eqs, inputs={"torque": 0.045})
    away = 0.08 * np.sqrt(2)
    angle = np.pi / 4 - np.arcsin(0.009 / away)
    assert rest.stable
    assert rest.coordinates["hinge"] == pytest.approx(angle, abs=1e-4)
    arm = np.sqrt(away**2 - 0.009**2)
    assert rest.outputs["force"] == pytest.approx((0.045 - 0.05 * 9.81 * 0.1 * np.sin(angle)) / arm, rel=1e-3)
    # without the peg in the way the balance is beyond it, and on the other side nothing is in the way
    free = np.arcsin(0.045 / (0.05 * 9.81 * 0.1))
    other = pliant.equilibrium(eqs, inputs={"torque": -0.045})
    assert other.coordinates["hinge"] == pytest.approx(-free, abs=1e-6)
    beyond = pliant.equilibrium(eqs, inputs={"torque": 0.045}, start={"hinge": 1.3})
    assert beyond.coordinates["hinge"] == pytest.approx(free, abs=1e-6)


@pytest.mark.parametrize("load", [0.05, 0.3])
def test_a_rod_lies_on_a_peg_as_it_does_after_a_motion(load):
    eqs = pliant.derive(pliant.load_text(ROD))
    rest = pliant.equilibrium(eqs, inputs={"load": load})
    run = pliant.simulate(eqs, 4.0, inputs={"load": f"={load}*min(1, t/2)"})
    settled = pliant.equilibrium(eqs, inputs={"load": load}, start=run.final)
    assert rest.stable
    assert rest.outputs["force"] > load
    np.testing.assert_allclose(rest.frames["arm.tip"].position, settled.frames["arm.tip"].position, atol=1e-5)
    assert rest.outputs["force"] == pytest.approx(settled.outputs["force"], rel=1e-3)


def test_jaws_close_on_a_box():
    rest = pliant.equilibrium(pliant.derive(pliant.load_text(JAWS)), inputs={"torque": 0.1})
    assert rest.stable
    assert set(rest.contacts["grip"].pairs) == {("box", "jaw[1]"), ("box", "jaw[2]")}
    assert abs(rest.coordinates["hinge[1]"]) < 0.6
    # each jaw is held by a force of about the torque over its lever arm
    assert rest.outputs["force"] == pytest.approx(2 * 0.1 / 0.045, rel=0.2)


def test_jaws_that_graze_a_box_do_not_sink_into_it():
    """The tips reach 2 mm below the upper edges of the box, and are as wide as the box: in a deep overlap the shortest ways out
    lead to both sides. Moments about a hinge, with friction up or down along the jaw, bound the force."""
    text = JAWS.replace("20 mm, 40 mm]", "20 mm, 20 mm]").replace("z: {initial: 20 mm}", "z: {initial: 10 mm}")
    rest = pliant.equilibrium(pliant.derive(pliant.load_text(text)), inputs={"torque": 0.1})
    assert rest.stable
    assert np.abs(rest.contacts["grip"].normal[:, 1]).max() < 1e-6
    assert 3.0 < rest.outputs["force"] < 5.4
