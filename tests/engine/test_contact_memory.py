"""Tangents of contacts with a memory against differences: contacts that begin since, and those that stand at their friction."""

import numpy as np
import pytest

from pliant import derive, load_text
from pliant.engine.contacts import contacts_at, from_here

BALL = """
pliant: 1
parameters: {mu: 0.5}
bodies: {ball: {mass: 1 kg, shape: {type: sphere, radius: 10 cm}}}
joints: {fly: {type: free, child: ball, z: {initial: 10.2 cm}}}
surfaces: {floor: {type: plane}}
contacts: {ground: {between: [ball, floor], friction: =mu, stiffness: 20 kN/m, dissipation: 0}}
"""


def differences(bound, q):
    h, n = 1e-8, bound.nv
    zero = np.zeros(n)
    ends = [[bound.inverse(0.0, bound.increment(q, s * h * e), zero, zero) for s in (1, -1)] for e in np.eye(n)]
    return np.array([(a - b) / (2 * h) for a, b in ends]).T


@pytest.mark.parametrize(("mu", "sticks"), [(0.1, False), (50.0, True)])
def test_a_contact_that_begins_after_a_slip(mu, sticks):
    """The share of the slip since the surfaces touched grows with the depth: so does friction."""
    eqs = derive(load_text(BALL)).at(parameters={"mu": mu})
    q = eqs.initial_state().q
    bound = from_here(eqs.binding, 0.0, q)
    there = bound.increment(q, np.array([4e-3, -1e-3, -3e-3, 0, 0, 0]))
    found = contacts_at(bound, 0.0, there, np.zeros(6))
    assert found.sticks.tolist() == [sticks]
    if sticks:  # a third of the way was made in contact
        np.testing.assert_allclose(found.force[0, :2], -2 / 3 * 20e3 * np.array([4e-3, -1e-3]) / 3, rtol=1e-9)
    exact = bound.linearized(0.0, there, np.zeros(6), np.zeros(6), np.zeros(0)).stiffness.toarray()
    expected = differences(bound, there)
    np.testing.assert_allclose(exact, expected, atol=1e-6 * np.abs(expected).max())


def test_what_slid_goes_on_sliding_at_its_friction():
    """At the friction cone in the memory, despite round-off: no stiffness along the slip, full stiffness across."""
    eqs = derive(load_text(BALL))
    q = eqs.binding.increment(eqs.initial_state().q, np.array([0, 0, -3e-3, 0, 0, 0]))
    there = eqs.binding.increment(q, np.array([5e-3, 0, 0, 0, 0, 0]))
    slid = contacts_at(from_here(eqs.binding, 0.0, q), 0.0, there, np.zeros(6))
    assert not slid.sticks[0]
    held = eqs.binding.with_contacts(slid.rows)
    again = contacts_at(held, 0.0, there, np.zeros(6))
    assert not again.sticks[0]
    np.testing.assert_allclose(again.force, slid.force, rtol=1e-8)
    K = held.linearized(0.0, there, np.zeros(6), np.zeros(6), np.zeros(0)).stiffness.toarray()
    assert abs(K[0, 0]) < 1e-6 * K[2, 2]
    assert K[0, 2] == pytest.approx(-0.5 * 20e3, rel=1e-6)  # less depth, less friction
    assert K[1, 1] > 1e3


def test_a_sphere_takes_nothing_over_from_another():
    """Two balls that part leave the stretch of their spring behind: a third that meets one of them there begins without."""
    balls = "\n".join(f"  b{i}: {{mass: 1 kg, shape: {{type: sphere, radius: 1 cm}}}}" for i in range(3))
    joints = "\n".join(f"  j{i}: {{type: free, child: b{i}}}" for i in range(3))
    contacts = "contacts:\n  touch: {between: all, stiffness: 10 kN/m, friction: 0.3}"
    eqs = derive(load_text(f"pliant: 1\nbodies:\n{balls}\njoints:\n{joints}\n{contacts}"))
    v = np.zeros(eqs.binding.nv)
    before, after = (np.tile([0.0, 0, 0, 1, 0, 0, 0], (3, 1)) for _ in range(2))
    before[:, :3] = [[0, 0, 0], [0.0199, 0, 0], [0.02, 0.03, 0]]
    after[:, :3] = [[-0.001, 0, 0], [0.0199, 0, 0], [0.0199, 0.0199, 0]]
    held = contacts_at(eqs.binding, 0.0, before.ravel(), v).rows.copy()
    assert len(held) == 1
    held[:, 2:5] = [0, 0, 1e-4]
    again = contacts_at(eqs.binding.with_contacts(held), 0.0, before.ravel(), v)
    assert again.rows[0, 4] > 1e-6  # of the same two it does hold, up to their friction
    met = contacts_at(eqs.binding.with_contacts(held), 0.0, after.ravel(), v)
    assert len(met) == 1
    assert np.abs(met.rows[0, 2:5]).max() == 0
