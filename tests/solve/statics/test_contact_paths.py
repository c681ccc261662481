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
    again = pliant.load_path(tmp_path / "up.nc").point(-1)
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
    path = pliant.continuation(pliant.derive("cart_pole"), parameter="force", to=1.0)
    assert path.status == "failed"
    assert len(path) <= 1
    assert "balances a change of 'force'" in path.message
