"""Modes against frequencies known in closed form."""

import numpy as np
import pytest

from pliant import derive, equilibrium, load, load_text, modes


def test_spring_mass_chain_has_the_frequencies_of_its_formula():
    count, stiffness, mass = 7, 40.0, 0.3
    eqs = derive(
        load_text(f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
bodies: {{bead: {{count: {count}, mass: {mass}}}}}
joints:
  slide:
    {{type: prismatic, child: bead, parent: "bead[i-1]", first_parent: world, axis: x, displacement: {{spring: {stiffness}}}}}
""")
    )
    found = modes(eqs)
    k = np.arange(1, count + 1)
    exact = 2 * np.sqrt(stiffness / mass) * np.sin((2 * k - 1) * np.pi / (2 * (2 * count + 1))) / (2 * np.pi)
    np.testing.assert_allclose(found.frequencies, exact, rtol=1e-10)
    M = eqs.mass_matrix(eqs.initial_state().q).toarray()
    np.testing.assert_allclose(found.shapes.T @ M @ found.shapes, np.eye(count), atol=1e-10)
    assert found.stable


def test_damping_ratio_of_an_oscillator():
    eqs = derive(
        load_text("""
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {c: 3 N*s/m}
bodies: {m: {mass: 2 kg}}
joints: {x: {type: prismatic, child: m, axis: x, displacement: {spring: 50 N/m, damper: =c}}}
""")
    )
    found = modes(eqs)
    assert found.frequencies[0] == pytest.approx(5 / (2 * np.pi), rel=1e-12)
    assert found.damping_ratios[0] == pytest.approx(3 / (2 * np.sqrt(100)), rel=1e-10)
    assert modes(eqs, parameters={"c": 0.0}).damping_ratios[0] == 0.0


def test_a_physical_pendulum_swings_at_its_frequency_and_is_unstable_upright():
    eqs = derive(load("pendulum"))
    down = modes(eqs, at=equilibrium(eqs).state)
    assert down.stable
    upright = eqs.initial_state().q * 0 + np.pi
    up = modes(eqs, at=upright)
    assert not up.stable
    assert "unstable" in up.warnings[0]
    # growth and oscillation about the two poses mirror each other
    assert up.eigenvalues[0].real == pytest.approx(2 * np.pi * down.frequencies[0], rel=1e-6)


def test_rigid_body_modes_are_named():
    found = modes(derive(load("tumbling_body")))
    assert sum("rigid-body" in note for note in found.warnings) == 6


def test_four_bar_mode_is_that_of_its_reduced_motion():
    """Frequency from the curvature of the potential and the reduced mass along the loop, by differences."""
    from pliant.solve.state import assemble

    eqs = derive(load("four_bar"))
    rest = equilibrium(eqs)
    found = modes(eqs, at=rest.state)
    h = 1e-3

    def along(x):
        q = rest.q.copy()
        q[0] += x
        # keep q1 and close the loop with the other two
        for _ in range(20):
            c = eqs.constraints(q)
            q[1:] -= np.linalg.solve(c.jacobian.toarray()[:, 1:], c.value)
        return q

    poses = [along(x) for x in (-h, 0.0, h)]
    V = [eqs.energy(q, np.zeros(3)).potential for q in poses]
    tangent = (poses[2] - poses[0]) / (2 * h)
    mass = tangent @ (eqs.mass_matrix(rest.q) @ tangent)
    curvature = (V[0] - 2 * V[1] + V[2]) / h**2
    assert found.frequencies[0] == pytest.approx(np.sqrt(curvature / mass) / (2 * np.pi), rel=1e-5)
    assert assemble(eqs, eqs.binding, 0.0, rest.q, np.zeros(3)).messages == ()


def test_two_unstable_directions_both_grow():
    """A ball on a hilltop: an upside-down spherical pendulum falls both ways at the same rate."""
    eqs = derive(
        load_text("""
pliant: 1
bodies: {rod: {mass: 1 kg, center_of_mass: [0, 0, 0.5 m]}}
joints: {gimbal: {type: universal, child: rod}}
""")
    )
    found = modes(eqs)
    assert len(found.warnings) == 2
    np.testing.assert_allclose(found.eigenvalues, np.sqrt(9.81 / 0.5), rtol=1e-9)
