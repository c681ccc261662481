"""Bar that is struck at its end by a mass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.solve.motion.simulate import simulate
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, case

MODEL = """
pliant: 1
world: {gravity: [0, 0, 0]}
materials: {steel: {density: 7800 kg/m^3, youngs_modulus: 200 GPa, poissons_ratio: 0.3}}
sections: {round: {shape: circle, radius: 1 cm}}
bodies: {hammer: {mass: 2 kg, shape: {type: sphere, radius: 3 cm}}}
rods: {bar: {length: 1 m, section: round, material: steel, model: {kind: cosserat, elements: 40}}}
joints: {weld: {type: weld, parent: bar.tip, child: hammer}}
"""


@case(
    "Motion",
    compared="Speed of the mass until the wave returns, over the speed at which it struck",
    source="A. Barré de Saint-Venant (1867); W. Goldsmith, Impact (1960), section 3.3: exp(-impedance t/m).",
    tolerance=0.03,
    measure="absolute",
)
def check() -> CaseResult:
    """Forty elements cannot resolve the jump at the front of the wave, where the error is."""
    eqs = derive(load_text(MODEL))
    impedance, back = np.sqrt(200e9 * 7800) * np.pi * 1e-4, 2.0 / np.sqrt(200e9 / 7800)
    k = eqs.rates.index("bar.section[40].z")
    v = np.zeros(len(eqs.rates))
    v[k] = -1.0
    run = simulate(eqs, 0.95 * back, start=replace(eqs.initial_state(), v=v))
    time = np.asarray(run.time)
    exact = np.exp(-impedance * time / 2.0)
    lines = (Line("mass", 1e6 * time, -run.v[:, k]), Line("Saint-Venant", 1e6 * time, exact, exact=True))
    return CaseResult(-run.v[:, k], exact, Plot("time [µs]", "speed [-]", lines))
