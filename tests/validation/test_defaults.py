"""Motions with known answers, simulated without any option: what the defaults leave out must not be part of the answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pliant


def test_a_struck_bar_is_resolved_wave_by_wave():
    """A bar is hit by a mass: until the wave returns, the mass is slowed by the bar's impedance (Saint-Venant)."""
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
    speed_of_sound, impedance = np.sqrt(200e9 / 7800), np.sqrt(200e9 * 7800) * np.pi * 1e-4
    back = 2.0 / speed_of_sound
    k = eqs.rates.index("bar.section[40].z")
    v = np.zeros(len(eqs.rates))
    v[k] = -1.0
    start = replace(eqs.initial_state(), v=v)
    run = pliant.simulate(eqs, back, start=start)
    before = run.time < 0.95 * back
    assert run.v[before, k] == pytest.approx(-np.exp(-impedance * run.time[before] / 2.0), abs=0.03)
    # eight passes of the wave: as with a much smaller tolerance
    long = pliant.simulate(eqs, 8 * back, start=start)
    exact = pliant.simulate(eqs, 8 * back, start=start, rtol=1e-7)
    assert long.v[:, k] == pytest.approx(exact.v[:, k], abs=0.01)


@pytest.mark.parametrize("until", [10.0, 60.0])
def test_a_plucked_string_keeps_all_its_modes(until):
    """Sixty masses on springs, the last one pulled and let go: the sum of their modes is exact."""
    eqs = pliant.derive(pliant.load("spring_mass_chain", set={"count": 60}))
    run = pliant.simulate(eqs, until)
    stiffness = 100.0 * (2 * np.eye(60) - np.eye(60, k=1) - np.eye(60, k=-1))
    stiffness[-1, -1] = 100.0
    squares, shapes = np.linalg.eigh(stiffness / 0.5)
    start = np.cumsum(eqs.initial_state().q)  # displacements are relative to the mass before
    exact = (np.cos(np.sqrt(squares) * run.time[:, None]) * (shapes.T @ start)) @ shapes.T
    assert np.abs(np.cumsum(run.q, axis=1) - exact).max() < 1e-3 * np.abs(start).max()


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


def test_a_rotor_on_a_soft_shaft_keeps_its_spin_and_energy():
    """A heavy disc spins at the tip of a hanging rod, a little off its axis: angular momentum about the axis and energy stay."""
    eqs = pliant.derive(
        pliant.load_text("""
pliant: 1
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: 2 MPa, poissons_ratio: 0.49}}
sections: {round: {shape: circle, radius: 8 mm}}
bodies: {disc: {mass: 0.3 kg, shape: {type: cylinder, radius: 5 cm, length: 1 cm, axis: z}}}
rods: {shaft: {rotation: {axis: x, angle: 175 deg}, length: 0.2 m, section: round, material: rubber,
               model: {kind: pcs, elements: 3}}}
joints: {bearing: {type: revolute, axis: z, parent: shaft.tip, child: disc, angle: {rate: 100 rad/s}}}
""")
    )
    run = pliant.simulate(eqs, 2.0)
    exact = pliant.simulate(eqs, 2.0, rtol=1e-8)
    energy = run.energy["total"].values
    assert np.ptp(energy) < 2e-3 * run.energy["kinetic"].values.max()
    assert run["bearing"].values == pytest.approx(exact["bearing"].values, abs=2e-2)
    assert run["bearing"].values[-1] == pytest.approx(200.0, abs=0.2)


@pytest.mark.parametrize("kind", ["finite_element, elements: 4", "cosserat, elements: 8", "pcs, elements: 4"])
def test_a_link_of_steel_swings_without_losing_energy(kind):
    """Its stretch is 1e5 times stiffer than its weight asks for: no method may follow it, nor lose the swing to it."""
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
    assert run.timing.steps < 3000
    energy = run.energy["total"].values
    assert np.abs(energy - energy[0]).max() < 3e-3 * run.energy["kinetic"].values.max()
    # as a rigid rod does: what it bends is millimetres
    rigid = pliant.simulate(pliant.derive("pendulum"), 2.0, start={"hinge": -np.pi / 2})
    assert run["hinge"].values == pytest.approx(rigid["hinge"].values + np.pi / 2, abs=0.02)
