"""Poses at rest with contacts: critical angles, what the pose remembers, where friction does not hold, falls onto the ground."""

import numpy as np
import pytest

import pliant

BLOCK = """
pliant: 1
world: {gravity: ["=9.81 m/s^2*sin(slope)", 0, "=-9.81 m/s^2*cos(slope)"]}
parameters: {slope: 0.4, height: 1 cm, mu: 0.5}
bodies:
  block: {mass: 1 kg, inertia: {principal: [1e-3, 1e-3, 1e-3]}}
joints:
  flight: {type: free, child: block, z: {initial: =height}}
surfaces:
  floor: {type: plane}
  foot1: {type: sphere, parent: block, position: [5 cm, 5 cm, 0], radius: 1 cm}
  foot2: {type: sphere, parent: block, position: [-5 cm, 5 cm, 0], radius: 1 cm}
  foot3: {type: sphere, parent: block, position: [5 cm, -5 cm, 0], radius: 1 cm}
  foot4: {type: sphere, parent: block, position: [-5 cm, -5 cm, 0], radius: 1 cm}
contacts:
  ground: {between: [[foot1, foot2, foot3, foot4], floor], friction: =mu}
outputs:
  push: {contact: ground}
"""
LADDER = """
pliant: 1
world: {gravity: [0, -9.81, 0]}
parameters: {angle: 0.9}
bodies:
  ladder: {mass: 10 kg, shape: {type: slender_rod, length: 4 m, axis: x}}
joints:
  pose: {type: planar, child: ladder, x: {initial: "=-2 m*cos(angle)"}, y: {initial: "=2 m*sin(angle)"}, angle: {initial: =angle}}
surfaces:
  floor: {type: plane, normal: y}
  wall: {type: plane, normal: [-1, 0, 0]}
  foot: {type: sphere, parent: ladder, position: [-2 m, 0, 0], radius: 0}
  head: {type: sphere, parent: ladder, position: [2 m, 0, 0], radius: 0}
contacts:
  ground: {between: [foot, floor], friction: 0.4, stiffness: 1e7 N/m}
  side: {between: [head, wall], friction: 0.3, stiffness: 1e7 N/m}
"""


@pytest.fixture(scope="module")
def block():
    return pliant.derive(pliant.load_text(BLOCK))


def test_a_block_rests_on_a_slope_by_friction_and_remembers_it(block):
    rest = pliant.equilibrium(block)
    assert rest.stable
    assert all(rest.contacts.sticks)
    np.testing.assert_allclose(rest.outputs["push"], [-9.81 * np.sin(0.4), 0, 9.81 * np.cos(0.4)], atol=1e-8)
    assert "'ground' sticks at 4 places with up to" in rest.remarks[0]
    assert "without friction it would not be in equilibrium" in rest.remarks[0]
    # the state stays at rest, in a motion and in another search
    run = pliant.simulate(block, 1.0, start=rest, save_every=0.5)
    assert np.abs(run.q - rest.q).max() < 1e-9
    again = pliant.equilibrium(block, start=rest)
    assert again.iterations <= 1
    np.testing.assert_allclose(again.q, rest.q, atol=1e-12)
    # energy of the contacts' springs: those of a pose that remembers nothing lack what friction stores
    pressed = block.energy(rest.q, 0 * rest.state.v).potential
    assert block.energy(rest).potential > pressed


def test_no_remark_on_a_floor(block):
    rest = pliant.equilibrium(block, parameters={"slope": 0.0})
    assert not rest.remarks
    assert rest.outputs["push"][2] == pytest.approx(9.81)


def test_falls_onto_the_slope_and_holds(block):
    rest = pliant.equilibrium(block, parameters={"height": 0.02})
    assert rest.iterations < 60
    assert rest.outputs["push"][0] == pytest.approx(-9.81 * np.sin(0.4))


def test_a_slope_that_is_too_steep_fails_at_once_and_names_what_slides(block):
    with pytest.raises(pliant.AnalysisFailed, match=r"foot1 on floor \('ground'.* keep sliding") as failed:
        pliant.equilibrium(block, parameters={"slope": 0.6})
    assert failed.value.result.iterations < 150


def test_a_robot_without_ground_says_so():
    text = "pliant: 1\nbodies: {block: {mass: 1 kg, inertia: {principal: [1, 1, 1]}}}\njoints: {flight: {type: free, child: block}}"
    with pytest.raises(pliant.AnalysisFailed, match="moves away indefinitely and is not supported: add springs, stops"):
        pliant.equilibrium(pliant.derive(pliant.load_text(text)))


def test_the_critical_angle_of_a_ladder():
    """tan(angle) = (1 - mu_floor mu_wall) / (2 mu_floor) of a uniform ladder."""
    eqs = pliant.derive(pliant.load_text(LADDER))
    critical = np.arctan((1 - 0.4 * 0.3) / (2 * 0.4))
    rest = pliant.equilibrium(eqs, parameters={"angle": critical + 1e-3})
    assert rest.balanced
    assert np.abs(rest.q[2] - critical - 1e-3) < 1e-4
    fallen = pliant.equilibrium(eqs, parameters={"angle": critical - 1e-3}, on_failure="return")
    assert not fallen.balanced or abs(fallen.q[2] - critical) > 0.1
    assert "head on wall" in fallen.message


def test_a_contact_that_slides_has_the_stiffness_of_what_holds_it():
    """A spring draws a block back until friction holds it, at the cone: along the floor the spring alone is stiff."""
    text = """
pliant: 1
bodies:
  carriage: {mass: 0}
  block: {mass: 2 kg, shape: {type: sphere, radius: 1 cm}}
joints:
  slide: {type: prismatic, child: carriage, axis: x, displacement: {spring: 50 N/m, initial: 50 cm}}
  lift: {type: prismatic, parent: carriage, child: block, axis: z, displacement: {initial: 1 cm}}
surfaces:
  floor: {type: plane}
contacts:
  ground: {between: [block, floor], friction: 0.5, stiffness: 20 kN/m}
"""
    eqs = pliant.derive(pliant.load_text(text))
    rest = pliant.equilibrium(eqs)
    assert rest.q[0] == pytest.approx(0.5 * 2 * 9.81 / 50, rel=1e-6)
    assert not any(rest.contacts.sticks)
    assert "'ground' slides at one place" in rest.remarks[0]
    assert rest.stiffness == pytest.approx(50, rel=1e-6) or rest.stable
    shaken = pliant.modes(eqs, at=rest, undamped=True)
    assert shaken.frequencies[0] == pytest.approx(np.sqrt(50 / 2) / (2 * np.pi), rel=1e-3)
    assert "'ground' slides at one place" in shaken.remarks[0]
