"""Stiff rod on a hinged body, which swings as a compound pendulum."""

from __future__ import annotations

import numpy as np

from pliant.solve.linear.modal import modes
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case
from pliant.validation.rods import in_models

MODEL = """
pliant: 1
sections: {round: {shape: circle, radius: 1 cm}}
materials: {steel: {density: 1000, youngs_modulus: 20 GPa, poissons_ratio: 0.3}}
bodies: {hub: {mass: 0.2 kg, center_of_mass: [0, 0, -5 cm], frames: {below: {position: [0, 0, -10 cm]}}}}
joints: {hinge: {type: revolute, child: hub, axis: y}}
rods: {arm: {parent: hub.below, rotation: [{axis: x, angle: 180 deg}], length: 60 cm, section: round, material: steel}}
"""
WORDS = ("pcs:4", "cosserat:4", "finite_element:4", "pseudo_rigid:4", "polynomial:2", "timoshenko:4", "gvs:1")


@case(
    "Vibration",
    compared="Lowest frequency about the equilibrium, in seven rod models",
    source="C. Huygens, Horologium Oscillatorium (1673), part IV: w^2 = m g s/J about the hinge.",
    tolerance=1e-4,
    unit="Hz",
)
def check() -> CaseResult:
    """The rod is stiff enough to move as a rigid body."""
    mass, near, length, radius = 1000 * np.pi * 0.01**2 * 0.6, 0.1, 0.6, 0.01
    center = near + length / 2
    inertia = mass * (center**2 + length**2 / 12 + radius**2 / 4) + 0.2 * 0.05**2
    exact = np.sqrt(9.81 * (mass * center + 0.2 * 0.05) / inertia) / (2 * np.pi)
    return CaseResult([modes(x, count=1).frequencies[0] for _, x in in_models(load_text(MODEL), "arm", WORDS)], exact)
