"""Paths with contacts: friction has a history, contacts open and close."""

import numpy as np
import pytest

import pliant

PULLED = """
pliant: 1
parameters: {pull: {value: 0 N, input: true}}
bodies:
  carriage: {mass: 0}
  block: {mass: 2 kg, shape: {type: sphere, radius: 10 cm}}
joints:
  slide: {type: prismatic, child: carriage, axis: x, displacement: {spring: 50 N/m, input: =pull}}
  lift: {type: prismatic, parent: carriage, child: block, axis: z, displacement: {initial: 10 cm}}
surfaces:
  floor: {type: plane}
contacts:
  ground: {between: [block, floor], friction: 0.5, stiffness: 20 kN/m}
outputs:
  rub: {contact: ground, quantity: friction_force, component: x}
"""
MU_WEIGHT = 0.5 * 2 * 9.81


def test_loading_and_unloading_differ(tmp_path):
    eqs = pliant.derive(pliant.load_text(PULLED))
    up = pliant.continuation(eqs, parameter="pull", to=20.0)
    assert up.status == "completed"
    assert up["slide"][-1] == pytest.approx((20 - MU_WEIGHT) / 50, rel=1e-9)
    stuck = up.value < MU_WEIGHT
    assert np.all(up.contacts.sticks[stuck])
    along = 50 + 2 / 3 * 20e3  # of spring and contact
    np.testing.assert_allclose(up["slide"][stuck], up.value[stuck] / along, rtol=1e-6, atol=1e-12)
    down = pliant.continuation(eqs, parameter="pull", to=-20.0, start=up.point(-1), reverse=True)
    assert down.status == "completed"
    assert down["slide"][-1] == pytest.approx((-20 + MU_WEIGHT) / 50, rel=1e-9)
    # the block stays where it was left until the force has changed by twice its friction
    held = (down.value > 20 - 2 * MU_WEIGHT + 0.1) & (down.value < 19.9)
    assert held.sum() > 3
    np.testing.assert_allclose(down["slide"][held], up["slide"][-1], atol=2e-3)
    np.testing.assert_allclose(down["rub"][held], 50 * down["slide"][held] - down.value[held], atol=1e-8)
    # files keep the history
    up.save(tmp_path / "up.nc")
    again = pliant.load_result(tmp_path / "up.nc").point(-1)
    np.testing.assert_array_equal(again.state.contacts.rows, up.point(-1).state.contacts.rows)


def test_contacts_close_and_open_along_a_path():
    """A spring that pushes a ball onto a wall: slopes of the spring alone, and of spring and contact."""
    text = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {push: {value: 0 N, input: true}}
bodies:
  ball: {mass: 1 kg, shape: {type: sphere, radius: 1 cm}}
joints:
  slide: {type: prismatic, child: ball, axis: x, displacement: {spring: 100 N/m, input: =push}}
surfaces:
  wall: {type: plane, position: [3 cm, 0, 0], normal: [-1, 0, 0]}
contacts:
  touch: {between: [ball, wall], stiffness: 5 kN/m}
"""
    eqs = pliant.derive(pliant.load_text(text))
    path = pliant.continuation(eqs, parameter="push", to=6.0)
    wanted = np.where(path.value < 2, path.value / 100, 0.02 + (path.value - 2) / 5100)
    np.testing.assert_allclose(path["slide"], wanted, atol=1e-10)
    assert list(path.contacts.count) == [int(x > 2) for x in path.value]
    back = pliant.continuation(eqs, parameter="push", to=0.0, start=path.point(-1), reverse=True)
    assert back["slide"][-1] == pytest.approx(0, abs=1e-10)
    assert len(path) < 80


def test_a_path_grips_a_ball_that_rolls_freely():
    """Before the fingers touch the ball nothing holds it in place; the grip is that of a slow motion."""
    eqs = pliant.derive("gripper")
    path = pliant.continuation(eqs, parameter="pressure", to=50e3)
    assert path.status == "completed"
    assert np.abs(path["ball"] - [0, 0, 20e-3]).max() < 1e-6
    assert np.all(np.diff(path["grip"]) >= 0)
    slow = pliant.simulate(eqs, 3.5, inputs={"pressure": "50 kPa*min(1, t/(3 s))", "lift": 0.0}, save_at=[3.5])
    assert path["grip"][-1] == pytest.approx(slow["grip"].values[-1], rel=1e-5)


def test_a_force_that_nothing_balances_has_no_path():
    path = pliant.continuation(pliant.derive("cart_pole"), parameter="force", to=1.0, on_failure="return")
    assert path.status == "failed"
    assert len(path) <= 1
    assert "balances a change of 'force'" in path.message


FINGER = """
pliant: 1
parameters: {down: {value: 0 m, input: true}, along: {value: 0 m, input: true}}
sections: {finger: {shape: circle, radius: 6 mm}}
materials: {silicone: {density: 1070 kg/m^3, youngs_modulus: 500 kPa, poissons_ratio: 0.49}}
bodies: {carriage: {mass: 50 g}, hand: {mass: 50 g}}
joints:
  draw: {type: prismatic, child: carriage, axis: y, displacement: {motion: =along}}
  press: {type: prismatic, parent: carriage, child: hand, axis: z, position: [0, 0, 8 mm], displacement: {motion: =-down}}
rods:
  finger: {parent: hand, rotation: {axis: y, angle: 90 deg}, length: 80 mm, section: finger, material: silicone,
           strains: kirchhoff, model: {kind: pcs, elements: 8}}
surfaces: {table: {type: box, size: [40 mm, 400 mm, 40 mm], position: [75 mm, 0, -20 mm], rounding: 0.5 mm}}
contacts: {edge: {between: [finger, table], friction: 0.4}}
outputs: {pressing: {contact: edge, quantity: normal_force}, drag: {contact: edge, component: y}}
"""


def test_a_finger_slides_and_sticks_again():
    """Drawn along an edge it slides; pressed down there, or drawn back, it sticks."""
    eqs = pliant.derive(pliant.load_text(FINGER))
    out = pliant.continuation(eqs, parameter="along", to=0.03, inputs={"down": 6e-3})
    assert out.status == "completed"
    assert not np.any(out.contacts.sample(len(out) - 1).sticks)
    assert -out["drag"][-1] == pytest.approx(0.4 * out["pressing"][-1], rel=1e-3)
    back = pliant.continuation(
        eqs, parameter="along", to=-0.03, inputs={"down": 6e-3}, start=out.point(-1), reverse=True
    )
    assert back.status == "completed"
    held = [k for k in range(len(back)) if np.any(back.contacts.sample(k).sticks)]
    assert len(held) > 5
    assert back["drag"][-1] == pytest.approx(0.4 * back["pressing"][-1], rel=1e-3)
    # a path in another parameter begins with the pose and the friction of the point
    down = pliant.continuation(
        eqs, parameter="down", to=10e-3, inputs={"down": 6e-3, "along": 0.03}, start=out.point(-1)
    )
    assert down.status == "completed"
    assert down.value[0] == 6e-3
    assert down["drag"][0] == pytest.approx(out["drag"][-1], rel=1e-6)
    assert np.any(down.contacts.sample(len(down) - 1).sticks)
    assert -down["drag"][-1] < 0.3 * down["pressing"][-1]


def test_a_point_of_a_path_in_another_parameter_has_to_fit():
    eqs = pliant.derive(pliant.load_text(FINGER))
    point = pliant.continuation(eqs, parameter="down", to=6e-3).point(-1)
    with pytest.raises(pliant.ArgumentError, match=r"at 'down' = 0\.006, but this path has 0 .*input down = 0\.006"):
        pliant.continuation(eqs, parameter="along", to=0.01, start=point)
    with pytest.raises(pliant.ArgumentError, match="no direction in another parameter"):
        pliant.continuation(eqs, parameter="along", to=0.01, start=point, reverse=True, inputs={"down": 6e-3})


def test_a_path_begins_at_an_unstable_equilibrium():
    """With this much friction the undamped finger flutters at rest."""
    eqs = pliant.derive(pliant.load_text(FINGER.replace("friction: 0.4", "friction: 0.9")))
    path = pliant.continuation(eqs, parameter="along", to=0.005, inputs={"down": 6e-3})
    assert path.status == "completed"
    assert not path.stable[0]
    assert any("begins at an unstable one" in note for note in path.remarks)


def test_a_path_ends_where_friction_no_longer_holds():
    """A block on a slope of 20 degrees, down to the tangent of this angle."""
    text = """
pliant: 1
parameters: {mu: 0.6}
bodies: {block: {mass: 1 kg, shape: {type: box, size: [6 cm, 6 cm, 2 cm]}}}
joints: {flight: {type: free, child: block, rotation: {axis: y, angle: 20 deg}, z: {initial: 1 cm}}}
surfaces: {slope: {type: plane, rotation: {axis: y, angle: 20 deg}}}
contacts: {feet: {between: [block, slope], friction: =mu}}
"""
    path = pliant.continuation(pliant.derive(pliant.load_text(text)), parameter="mu", to=0.05, on_failure="return")
    assert path.status == "failed"
    assert path.value[-1] == pytest.approx(np.tan(np.radians(20)), rel=1e-6)
    assert "Contacts there: 'feet' sticks" in path.message
    assert "with up to 100 % of its friction" in path.message
    assert "increase `friction`" in path.message
