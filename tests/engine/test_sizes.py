"""What lengths and coordinates are measured against: the robot's own sizes."""

from __future__ import annotations

import numpy as np
import pytest

from pliant import derive, load, load_text

PENDULUM = """
pliant: 1
bodies: {bob: {mass: 2 kg, center_of_mass: [0, 0, -30 cm], inertia: {principal: [0.08, 0.06, 0.04]}}}
joints: {pivot: {type: revolute, child: bob, axis: y}}
"""
SLIDERS = """
pliant: 1
bodies: {first: {mass: 1 kg}, second: {mass: 1 kg}}
joints:
  rail: {type: prismatic, child: first, axis: x, position: [0, 0, 2 m]}
  lift: {type: prismatic, parent: first, child: second, axis: z, displacement: {equal_to: {coordinate: rail, ratio: 3}}}
"""


def test_a_body_is_as_large_as_its_mass_is_spread() -> None:
    eqs = derive(load_text(PENDULUM))
    reach, sizes = eqs.binding.sizes(eqs.initial_state()[0])
    # second moments about the origin of the frame: half the trace is the sum of m r^2
    gyration = np.sqrt(0.5 * (0.08 + 0.06 + 0.04) / 2)
    low, high = (
        np.array([-gyration, -gyration, -0.3 - gyration]),
        np.array([gyration, gyration, max(0, -0.3 + gyration)]),
    )
    assert reach == pytest.approx(np.linalg.norm(high - low), rel=1e-12)
    np.testing.assert_allclose(sizes, [1.0])


def test_points_on_rails_are_as_large_as_their_way_to_the_origin() -> None:
    eqs = derive(load_text(SLIDERS))
    q = eqs.initial_state()[0]
    reach, sizes = eqs.binding.sizes(q)
    assert reach == 2.0
    np.testing.assert_allclose(sizes, [2.0, 2.0])
    # lift - 3 rail: the largest of both
    np.testing.assert_allclose(eqs.binding.constraint_sizes(0.0, q, np.zeros(2)), [6.0])


def test_a_coordinate_is_measured_by_what_it_moves() -> None:
    """A curvature relative to the rotation of its segment, a stretch relative to the displacement of its end over the robot's
    size."""
    eqs = derive(load("cantilever"))
    q = eqs.initial_state()[0]
    reach, sizes = eqs.binding.sizes(q)
    for k, size in enumerate(sizes):
        rate = np.zeros(len(sizes))
        rate[k] = size
        twists, places = eqs.binding.node_twists(q, rate), eqs.binding.node_poses(q)[1]
        moves = np.linalg.norm(twists[:, :3] + np.cross(twists[:, 3:], places), axis=1).max() / reach
        assert max(np.linalg.norm(twists[:, 3:], axis=1).max(), moves) == pytest.approx(1.0)


def test_equations_in_sizes_are_energies() -> None:
    """One dimension for all entries: scaling back restores them."""
    eqs = derive(load("four_bar"))
    q, v = eqs.initial_state()[:2]
    bound = eqs.binding
    at = bound.linearized(0.0, q, v, np.zeros(bound.nv), np.zeros(bound.m))
    own = at.in_sizes()
    np.testing.assert_allclose(own.residual / at.rate_sizes, at.residual)
    D = np.diag(1 / at.rate_sizes)
    for name in ("stiffness", "damping", "mass"):
        np.testing.assert_allclose(D @ getattr(own, name).toarray() @ D, getattr(at, name).toarray())
    np.testing.assert_allclose(np.diag(at.row_sizes) @ own.jacobian.toarray() @ D, at.jacobian.toarray())
    np.testing.assert_allclose(own.phi * at.row_sizes, at.phi)
