"""An arm simulated by other programs, and the motions of its tip."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.solve.motion.simulate import simulate
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot

AREA, MOMENT = np.pi * 0.03**2, np.pi / 4 * 0.03**4
MODEL = f"""
pliant: 1
world: {{gravity: GRAVITY}}
sections:
  round: {{shape: properties, area: {AREA}, second_moments: [{MOMENT}, {MOMENT}], torsion_constant: {2 * MOMENT},
          shear_factors: [1, 1]}}
materials: {{rubber: {{density: 1000, youngs_modulus: 1 MPa, shear_modulus: 333333.3}}}}
rods: {{arm: {{length: 0.6 m, section: round, material: rubber, ROD}}}}
outputs: {{tip: {{frame: arm.tip, quantity: position}}}}
"""
SOURCE = (
    "Roll-outs committed by the authors of soromox (github.com/tud-phi/soromox) with soromox and with SoRoSim "
    "(A. T. Mathew et al., IEEE Robotics & Automation Magazine 30 (2023))."
)


def beside(file: Path, gravity: str, rod: str, more: str = "") -> CaseResult:
    """Mean distance of the tip from those of soromox and SoRoSim [mm], whose errors are smaller than their difference."""
    run = simulate(
        derive(load_text(MODEL.replace("GRAVITY", gravity).replace("ROD", rod) + more)), 3.0, save_every=0.01
    )
    rows = np.genfromtxt(file, delimiter=",", names=True)
    tips = {name: np.stack([rows[f"{name}_{axis}"] for axis in "xyz"], axis=1) for name in ("soromox", "sorosim")}
    tip = np.asarray(run["tip"].values)[: len(rows)]
    value = [1e3 * np.linalg.norm(tip - other, axis=1).mean() for other in tips.values()]
    lines = (
        Line("Pliant", rows["t"], tip[:, 0]),
        *(Line(name, rows["t"], x[:, 0], exact=True) for name, x in tips.items()),
    )
    return CaseResult(value, 0.0, Plot("time [s]", "x of the tip [m]", lines))
