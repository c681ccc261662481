"""A thick rubber rod used by several cases: its model, loads, and the continuous rod."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.validation.continuous_rod import ClampedRod

MODEL = """
pliant: 1
world: {gravity: [0, 0, =-gravity]}
parameters:
  gravity: 0 m/s^2
  fx: 0 N
  fy: 0 N
  fz: 0 N
  mx: 0 N*m
  my: 0 N*m
  mz: 0 N*m
sections: {thick: {shape: rectangle, width: 60 mm, height: 40 mm}}
materials: {rubber: {density: 1000 kg/m^3, youngs_modulus: 200 kPa, poissons_ratio: 0.4}}
rods:
  arm:
    rotation: [{axis: y, angle: 90 deg}]
    length: 0.5 m
    section: thick
    material: rubber
    frames: {middle: 0.2 m}
loads:
  tip: {frame: arm.tip, force: [=fx, =fy, =fz], moment: [=mx, =my, =mz]}
"""
LOADS = {"gravity": 2.0, "fx": -0.3, "fy": 0.6, "fz": 0.4, "mx": 0.1, "my": -0.15, "mz": 0.12}


def torsion(width: float, height: float) -> float:
    """Torsion constant of a rectangle, by Saint-Venant's series [m^4]; width is the longer side."""
    n = np.arange(1, 200, 2.0)
    series = np.sum(np.tanh(n * np.pi * width / (2 * height)) / n**5)
    return float(height**3 * width * (1 / 3 - 64 * height / (np.pi**5 * width) * series))


def continuous_arm(at: Any, loads: dict[str, float] = LOADS) -> np.ndarray:
    """Position of the continuous rod at arc lengths (3 x n) [m]."""
    E, nu, density, b, h = 200e3, 0.4, 1000.0, 0.06, 0.04
    G, A = E / (2 * (1 + nu)), b * h
    shear = 10 * (1 + nu) / (12 + 11 * nu) * G * A
    rod = ClampedRod(
        0.5,
        (shear, shear, E * A),
        (E * b * h**3 / 12, E * h * b**3 / 12, G * torsion(b, h)),
        (np.cos(np.pi / 4), 0, np.sin(np.pi / 4), 0),
        weight=(0, 0, -density * A * loads["gravity"]),
        force=(loads["fx"], loads["fy"], loads["fz"]),
        moment=(loads["mx"], loads["my"], loads["mz"]),
    )
    return rod.position(at)
