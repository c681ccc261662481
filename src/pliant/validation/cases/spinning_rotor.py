"""Rotor on a soft shaft that keeps its spin."""

from __future__ import annotations

import numpy as np

from pliant.solve.motion.simulate import simulate
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case

MODEL = """
pliant: 1
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: 2 MPa, poissons_ratio: 0.49}}
sections: {round: {shape: circle, radius: 8 mm}}
bodies: {disc: {mass: 0.3 kg, shape: {type: cylinder, radius: 5 cm, length: 1 cm, axis: z}}}
rods: {shaft: {rotation: {axis: x, angle: 175 deg}, length: 0.2 m, section: round, material: rubber,
               model: {kind: pcs, elements: 3}}}
joints: {bearing: {type: revolute, axis: z, parent: shaft.tip, child: disc, angle: {rate: 100 rad/s}}}
"""


@case(
    "Conservation",
    compared="Turns of a disc at the tip of a hanging rod after 2 s over those at a constant spin, and energy over "
    "that at the start, which counts from the top",
    source="Nothing turns the disc about its axis, and nothing is lost: H. Goldstein, Classical Mechanics, 2nd ed. "
    "(1980), section 1-2.",
    tolerance=2e-3,
)
def check() -> CaseResult:
    """Slightly off its axis, so that it swings and whirls; with default settings."""
    run = simulate(derive(load_text(MODEL)), 2.0)
    energy = run.energy["total"].values
    return CaseResult([run["bearing"].values[-1] / 200, *(energy / energy[0])], np.ones(1 + len(energy)))
