"""Contacts in linear systems and modes: frequencies by hand, and motions from neighbouring states."""

import numpy as np
import pytest
import scipy

import pliant

BLOCK = """
pliant: 1
world: {gravity: ["=9.81 m/s^2*sin(slope)", 0, "=-9.81 m/s^2*cos(slope)"]}
parameters: {slope: 0.3}
bodies:
  carriage: {mass: 0}
  block: {mass: 2 kg, shape: {type: sphere, radius: 1 cm}}
joints:
  slide: {type: prismatic, child: carriage, axis: x}
  lift: {type: prismatic, parent: carriage, child: block, axis: z, displacement: {initial: 1 cm}}
surfaces:
  floor: {type: plane}
  wall: {type: plane, position: [1 m, 0, 0], normal: [-1, 0, 0]}
contacts:
  ground: {between: [block, floor], friction: 0.5, stiffness: 20 kN/m}
  far: {between: [block, wall]}
outputs:
  press: {contact: ground, quantity: normal_force}
  rub: {contact: ground, quantity: friction_force, component: x}
"""


@pytest.fixture(scope="module")
def eqs():
    return pliant.derive(pliant.load_text(BLOCK))


def test_a_block_swings_on_the_springs_of_its_contact(eqs):
    found = pliant.modes(eqs, undamped=True)
    by_hand = np.sqrt(np.array([2 / 3, 1]) * 20e3 / 2) / (2 * np.pi)  # along the floor two thirds as stiff
    np.testing.assert_allclose(found.frequencies, by_hand, rtol=1e-9)
    assert "'ground' sticks at one place, as springs" in found.remarks[0]
    assert "'far' is open and has no effect" in found.remarks[0]


def test_positions_alone_stick_from_where_they_are(eqs):
    """A state that remembers nothing: friction springs are there, without force yet."""
    rest = pliant.equilibrium(eqs)
    given = pliant.linearize(eqs, at=rest.q)
    np.testing.assert_allclose(given.A[2:, :2], np.diag([-20e3 / 3, -10e3]), rtol=1e-9, atol=1e-6)
    assert any("not an equilibrium" in x for x in given.remarks)  # nothing holds it against the slope
    assert not any("not an equilibrium" in x for x in pliant.linearize(eqs, at=rest).remarks)


def test_linear_motion_is_that_of_simulate_from_neighbouring_states(eqs):
    rest = pliant.equilibrium(eqs)
    linear = pliant.linearize(eqs, at=rest)
    x, end = np.array([0, 0, 1e-5, -2e-5]), 0.02
    beside = pliant.State(rest.q, x[2:], 0.0, contacts=rest.contacts)
    run = pliant.simulate(eqs, end, start=beside, save_every=end)
    here = scipy.linalg.expm(linear.A * end) @ x
    np.testing.assert_allclose([*(run.q[-1] - rest.q), *run.v[-1]], here, atol=2e-3 * np.abs(here).max())
    outputs = linear.C @ here
    for name, base, change in zip(("press", "rub"), (rest.outputs["press"], rest.outputs["rub"]), outputs, strict=True):
        assert run[name].values[-1] - base == pytest.approx(change, rel=5e-3, abs=1e-6)


def test_derivatives_are_those_of_accelerations_with_the_memory_of_the_state(eqs):
    rest = pliant.equilibrium(eqs)
    linear = pliant.linearize(eqs, at=rest)
    bound, h, zero = eqs.binding.with_contacts(rest.contacts.rows, since=rest.q), 1e-8, np.zeros(2)
    for k in range(2):
        e = h * np.eye(2)[k]
        ends = [bound.forward(0.0, rest.q + x, zero)[0] for x in (e, -e)]
        np.testing.assert_allclose((ends[0] - ends[1]) / (2 * h), linear.A[2:, k], atol=1e-4 * np.abs(linear.A).max())


def test_what_slides_has_no_stiffness_along_the_surface(eqs):
    """In a steady slide down a slope of the angle of friction, along the floor only what follows the normal force acts."""
    slope = {"slope": float(np.arctan(0.5))}
    run = pliant.simulate(eqs, 0.3, start={"d(slide)/dt": 0.1}, parameters=slope, save_every=0.3)
    linear = pliant.linearize(eqs, at=run.final, parameters=slope)
    assert not run.final.contacts.sticks[0]
    assert "'ground' slides at one place" in " ".join(linear.remarks)
    assert abs(linear.A[2, 0]) < 1e-6 * 20e3
    assert linear.A[2, 1] == pytest.approx(0.5 * 20e3 / 2, rel=1e-3)  # less depth, less friction against the motion
