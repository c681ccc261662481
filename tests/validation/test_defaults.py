"""Motions with known answers, simulated without any option: what the defaults leave out must not be part of the answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pliant


def test_a_struck_bar_is_resolved_wave_by_wave():
    """Eight passes of the wave come out as with a much smaller tolerance."""
    eqs = pliant.derive(
        pliant.load_text("""
pliant: 1
world: {gravity: [0, 0, 0]}
materials: {steel: {density: 7800 kg/m^3, youngs_modulus: 200 GPa, poissons_ratio: 0.3}}
sections: {round: {shape: circle, radius: 1 cm}}
bodies: {hammer: {mass: 2 kg, shape: {type: sphere, radius: 3 cm}}}
rods: {bar: {length: 1 m, section: round, material: steel, model: {kind: cosserat, elements: 40}}}
joints: {weld: {type: weld, parent: bar.tip, child: hammer}}
""")
    )
    back = 2.0 / np.sqrt(200e9 / 7800)
    k = eqs.rates.index("bar.section[40].z")
    v = np.zeros(len(eqs.rates))
    v[k] = -1.0
    start = replace(eqs.initial_state(), v=v)
    long = pliant.simulate(eqs, 8 * back, start=start)
    exact = pliant.simulate(eqs, 8 * back, start=start, rtol=1e-7)
    assert long.v[:, k] == pytest.approx(exact.v[:, k], abs=0.01)


def test_a_ball_bounces_as_high_as_before():
    """Without loss in the contact the ball returns to its height, bounce after bounce."""
    eqs = pliant.derive(
        pliant.load_text("""
pliant: 1
bodies: {ball: {mass: 0.1 kg, shape: {type: sphere, radius: 2 cm}}}
joints: {fly: {type: free, child: ball, z: {initial: 0.52 m}}}
surfaces: {floor: {type: plane}}
contacts: {ground: {between: [ball, floor], stiffness: 20 kN/m, restitution: 1}}
""")
    )
    run = pliant.simulate(eqs, 5.0, save_every=1e-3)
    height = run["fly.z"].values
    tops = [height[k] for k in range(1, len(height) - 1) if height[k - 1] < height[k] >= height[k + 1]]
    assert len(tops) >= 6
    assert np.array(tops) == pytest.approx(0.52, abs=2e-3)


@pytest.mark.parametrize("kind", ["finite_element, elements: 4", "cosserat, elements: 8", "pcs, elements: 4"])
def test_a_link_of_steel_swings_without_losing_energy(kind):
    """Its axial stiffness is 1e5 times larger than its weight requires: no method may resolve it, or damp the swing."""
    eqs = pliant.derive(
        pliant.load_text(f"""
pliant: 1
materials: {{steel: {{density: 7800 kg/m^3, youngs_modulus: 200 GPa, poissons_ratio: 0.3}}}}
sections: {{round: {{shape: circle, radius: 2 mm}}}}
bodies: {{hub: {{mass: 1 g, shape: {{type: sphere, radius: 1 cm}}}}}}
joints: {{hinge: {{type: revolute, axis: y, child: hub}}}}
rods: {{link: {{parent: hub, rotation: {{axis: y, angle: 90 deg}}, length: 0.5 m, section: round, material: steel,
                model: {{kind: {kind}}}}}}}
""")
    )
    run = pliant.simulate(eqs, 2.0)
    assert run.timing.steps < 10_000
    energy = run.energy["total"].values
    assert np.abs(energy - energy[0]).max() < 3e-3 * run.energy["kinetic"].values.max()
    # as a rigid rod does: what it bends is millimetres
    rigid = pliant.simulate(pliant.derive("pendulum"), 2.0, start={"hinge": -np.pi / 2})
    assert run["hinge"].values == pytest.approx(rigid["hinge"].values + np.pi / 2, abs=0.02)
