"""Surfaces of triangles in contact: distances, ways out of solids, tangents, and what the search for candidates may not change."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.engine.contacts import contact_gap, contacts_at
from pliant.robot import load_text

PAIR = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
bodies: {{a: {{mass: 1 kg, inertia: {{principal: [1, 1, 1]}}}}, b: {{mass: 1 kg, inertia: {{principal: [1, 1, 1]}}}}}}
joints:
  fa: {{type: free, child: a}}
  fb: {{type: free, child: b, x: {{initial: {x}}}, y: {{initial: {y}}}, z: {{initial: {z}}}}}
surfaces:
  block: {{type: box, parent: a, size: [20 cm, 16 cm, 10 cm]}}
  other: {{parent: b, {other}}}
contacts:
  touch: {{between: [other, block], stiffness: 20 kN/m, friction: {friction}}}
"""
BALL = "type: sphere, radius: 3 cm"
CASES = {
    "ball on a face": (BALL, (0.01, 0.02, 0.078), 1),
    "ball in the block": (BALL, (0.01, 0.02, 0.042), 1),
    "ball on an edge": (BALL, (0.01, 0.095, 0.07), 1),
    "ball on a corner": (BALL, (0.111, 0.09, 0.065), 1),
    "box on a face": ("type: box, size: [6 cm, 6 cm, 6 cm]", (0.01, 0.02, 0.078), 4),
    "box over an edge": ("type: box, size: [6 cm, 6 cm, 6 cm]", (0.09, 0.07, 0.0792), 4),
    "crossed boxes": ("type: box, size: [2 cm, 30 cm, 6 cm]", (0.0, 0.0, 0.0794), 4),
    "capsule across": ("type: capsule, radius: 2 cm, length: 30 cm, axis: y", (0.0, 0.0, 0.068), 2),
    "capsule upright": ("type: capsule, radius: 2 cm, length: 30 cm", (0.0, 0.0, 0.217), 1),
    "cylinder upright": ("type: cylinder, radius: 2 cm, length: 8 cm", (0.0, 0.0, 0.088), 24),
    "cylinder lying": ("type: cylinder, radius: 2 cm, length: 8 cm, axis: y", (0.0, 0.0, 0.0698), 2),
}


def pair(name: str, friction: float = 0.4) -> pliant.Equations:
    other, (x, y, z), _ = CASES[name]
    return pliant.derive(load_text(PAIR.format(other=other, x=x, y=y, z=z, friction=friction)))


@pytest.mark.parametrize("name", CASES)
def test_each_place_counts_once(name: str) -> None:
    eqs = pair(name)
    state = eqs.initial_state()
    assert len(contacts_at(eqs.binding, 0.0, state.q, state.v)) == CASES[name][2]


@pytest.mark.parametrize("name", [name for name in CASES if name != "cylinder upright"])
@pytest.mark.parametrize("friction", [0.0, 0.4, 50.0])
def test_tangents_are_derivatives(name: str, friction: float) -> None:
    eqs = pair(name, friction)
    rng = np.random.default_rng(3)
    binding, calls = eqs.binding, eqs.binding.program.calls
    nv, zero = binding.nv, np.zeros(binding.nv)
    q = calls.increment(binding, eqs.initial_state().q, 2e-4 * rng.standard_normal(nv))
    v = 0.01 * rng.standard_normal(nv)
    bound = binding.with_contacts(contacts_at(binding, 0.0, q, 0.5 * v).rows, since=q)
    found = bound.linearized(0.0, q, v, zero, np.zeros(bound.m))
    for exact, moved in (
        (found.stiffness.toarray(), lambda d: (calls.increment(bound, q, d), v)),
        (found.damping.toarray(), lambda d: (q, v + d)),
    ):

        def slope(unit: np.ndarray, h: float, moved=moved) -> np.ndarray:
            after, before = (calls.inverse(bound, 0.0, *moved(way * h * unit), zero) for way in (1, -1))
            return (after - before) / (2 * h)

        # friction that slides is curved: its error in h^2 is taken off
        columns = [(4 * slope(unit, 1e-7) - slope(unit, 2e-7)) / 3 for unit in np.eye(nv)]
        assert np.abs(exact).max() > 1
        np.testing.assert_allclose(exact, np.array(columns).T, rtol=0, atol=1e-8 * np.abs(exact).max())


def box_distance(point: np.ndarray, half: np.ndarray) -> float:
    """Signed distance of a point from a box around the origin."""
    outside = np.abs(point) - half
    return float(np.linalg.norm(np.maximum(outside, 0)) + min(outside.max(), 0))


def test_the_gap_of_a_ball_is_the_signed_distance_of_a_rounded_box() -> None:
    """Above faces, edges and corners, and down to the middle of the box."""
    eqs = pair("ball on a face")
    rng = np.random.default_rng(0)
    rounding = 0.01 * 0.1
    core = np.array([0.1, 0.08, 0.05]) - rounding
    start = eqs.initial_state().q
    for place in rng.uniform(-0.13, 0.13, (200, 3)):
        q = start.copy()
        q[7:10] = place
        exact = box_distance(place, core) - rounding - 0.03
        assert contact_gap(eqs.binding, q, 0) == pytest.approx(exact, abs=1e-12), place


def test_what_is_found_depends_on_the_state_alone() -> None:
    """Candidates from earlier states, and none, give the same contacts to the last bit."""
    eqs, rng = pair("box over an edge"), np.random.default_rng(1)
    q, v = eqs.initial_state().q, np.zeros(eqs.binding.nv)
    for _ in range(60):
        q = eqs.binding.increment(q, 2e-3 * rng.standard_normal(len(v)))
        before = contacts_at(eqs.binding, 0.0, q, v).rows
        fresh = pair("box over an edge")
        np.testing.assert_array_equal(contacts_at(fresh.binding, 0.0, q, v).rows, before)


def test_edges_that_have_gone_through_each_other_push_back() -> None:
    """Soft crossed boxes sink in deeper than their edges are round, and stay."""
    eqs = pair("crossed boxes")
    start, zero = eqs.initial_state(), np.zeros(eqs.binding.nv)
    known = contacts_at(eqs.binding, 0.0, start.q, zero).rows
    q = start.q.copy()
    q[9] -= 2e-3
    deep = contacts_at(eqs.binding.with_contacts(known, since=start.q), 0.0, q, zero)
    assert len(deep) == 4
    np.testing.assert_allclose(deep.gap, -2.6e-3, atol=1e-12)
    np.testing.assert_allclose(deep.normal, np.tile([0, 0, 1.0], (4, 1)), atol=1e-12)


def test_bodies_have_the_surfaces_of_their_shapes() -> None:
    text = """
pliant: 1
bodies:
  block: {mass: 1 kg, shape: {type: box, size: [2 cm, 4 cm, 6 cm]}}
  can: {mass: 1 kg, shape: {type: cylinder, radius: 1 cm, length: 8 cm, axis: x}}
  pipe: {mass: 1 kg, shape: {type: tube, outer_radius: 1 cm, inner_radius: 5 mm, length: 8 cm, axis: y}}
  stick: {mass: 1 kg, shape: {type: slender_rod, length: 10 cm, axis: z}}
  ball: {mass: 1 kg, center_of_mass: [0, 0, 1 cm], shape: {type: sphere, radius: 5 cm}}
joints: {JOINTS}
surfaces: {floor: {type: plane}}
contacts: {ground: {between: [WHAT, floor]}}
"""
    joints = ", ".join(
        f"f_{n}: {{type: prismatic, axis: z, child: {n}}}" for n in ("block", "can", "pipe", "stick", "ball")
    )
    for name, lowest in (("block", 0.03), ("can", 0.01), ("pipe", 0.01), ("stick", 0.05), ("ball", 0.04)):
        eqs = pliant.derive(load_text(text.replace("JOINTS", joints).replace("WHAT", name)))
        q = eqs.state({f"f_{name}": 0.1}).q
        assert contact_gap(eqs.binding, q, 0) == pytest.approx(0.1 - lowest, abs=1e-12), name
