"""Parts of a robot that flies, turns or is driven along move relative to each other as they would at rest; and energies of long
motions balance."""

from __future__ import annotations

import numpy as np
import pytest

import pliant

OSCILLATOR = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
bodies:
  base: {{mass: 100 kg, shape: {{type: box, size: [1, 1, 1]}}}}
  m: {{mass: 1 kg, shape: {{type: sphere, radius: 0.1}}}}
joints:
  {joint}
  slide: {{type: prismatic, parent: base, child: m, axis: {axis}, displacement: {{initial: 0.01, spring: 100}}}}
"""
BASES = {
    "satellite": ("fly: {type: free, child: base, x: {rate: 7700}}", "y", 101.0),
    "along its flight": ("fly: {type: free, child: base, x: {rate: 7700}}", "x", 101.0),
    "rotor": ("turn: {type: revolute, child: base, axis: z, angle: {rate: 100}}", "z", 100.0),
    "driven rotor": ('turn: {type: revolute, child: base, axis: z, angle: {motion: "=100 rad/s*t"}}', "z", 100.0),
    "carriage": (
        'rail: {type: prismatic, child: base, axis: x, displacement: {motion: "=5 m*sin(0.3*t/(1 s))"}}',
        "y",
        100.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("method", "tolerance"), [(None, 1e-4), ("explicit", 1e-4), ("implicit", 0.06)])
@pytest.mark.parametrize("base", BASES)
def test_an_oscillator_does_not_feel_how_its_base_moves(base: str, method: str | None, tolerance: float) -> None:
    joint, axis, square = BASES[base]
    run = pliant.simulate(
        pliant.derive(pliant.load_text(OSCILLATOR.format(joint=joint, axis=axis))), 20.0, save_every=0.01, method=method
    )
    exact = 0.01 * np.cos(np.sqrt(square) * run.time)
    assert np.abs(run["slide"].values - exact).max() < tolerance * 0.01


@pytest.mark.slow
def test_a_blade_keeps_vibrating_after_its_spin_up() -> None:
    """The published spin-up to 6 rad/s in 15 s: deflections and what remains of them, against a fine tolerance."""
    text = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {Om: 6 rad/s, T: 15 s}
sections:
  s: {shape: stiffness, stiffness: [1.4e7, 1.4e7, 2.8e7, 1.4e4, 1.4e4, 1e5], mass_per_length: 1.2,
      inertia_per_length: [6e-4, 6e-4, 1.2e-3]}
bodies: {hub: {mass: 1 kg}}
joints:
  turn:
    type: revolute
    child: hub
    axis: z
    angle: {motion: "=if(t < T, Om/T*(t^2/2 + (T/(2*pi))^2*(cos(2*pi*t/T) - 1)), Om*(t - T/2))"}
rods: {blade: {parent: hub, length: 10, rotation: {axis: y, angle: 90 deg}, section: s, model: {kind: finite_element, elements: 6}}}
outputs: {tip: {frame: blade.tip, quantity: position, relative_to: hub}}
"""
    eqs = pliant.derive(pliant.load_text(text))
    found, fine = (pliant.simulate(eqs, 18.0, save_every=0.05, **kw)["tip"].values[:, 1] for kw in ({}, {"rtol": 1e-6}))
    assert fine.min() == pytest.approx(-0.573, abs=0.005)
    assert np.ptp(found[320:]) == pytest.approx(np.ptp(fine[320:]), rel=0.02)
    assert np.abs(found - fine).max() < 1e-3 * np.ptp(fine)


ROD = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {push: {value: 0 N, input: true}}
sections: {s: {shape: circle, radius: 5 mm}}
materials: {m: {density: 1000, youngs_modulus: 1 MPa, poissons_ratio: 0.45}}
rods: {arm: {length: 0.3, rotation: {axis: y, angle: 90 deg}, section: s, material: m, model: MODEL}}
loads: {f: {frame: arm.tip, force: [0, 0, =push]}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("model", ["{kind: pcs, elements: 2}", "{kind: finite_element, elements: 3}", "{kind: pcc}"])
def test_an_undamped_rod_keeps_its_energy_over_two_hundred_periods(model: str) -> None:
    eqs = pliant.derive(pliant.load_text(ROD.replace("MODEL", model)))
    start = pliant.equilibrium(eqs, inputs={"push": -2e-3})
    run = pliant.simulate(eqs, 400.0, start=start, save_every=0.27)
    energy = run.energy["total"].values
    assert abs(energy[-1] - energy[0]) < 0.01 * float(run.energy["kinetic"].max())


@pytest.mark.slow
def test_a_stiff_loop_moves_as_with_a_fine_tolerance() -> None:
    eqs = pliant.derive("flexible_four_bar")
    found, fine = (pliant.simulate(eqs, 2.0, save_every=0.01, **kw)["q1"].values for kw in ({}, {"rtol": 1e-6}))
    assert np.abs(found - fine).max() < 0.01 * np.ptp(fine)
