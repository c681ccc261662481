"""Tendon-driven silicone tentacle compared with sixteen recorded equilibria."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import scipy

from pliant.solve.statics.equilibrium import equilibrium
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, case

RADII = [*np.linspace(15.41, 6.42, 9), 5.61, 4.80]
OFFSET, LAST = 11.4, 11.4 - 29.5e-3 * 305
ANGLES = np.radians([30, 150])


def tendon(name: str, angle: float) -> str:
    """A tendon in the first piece, whose section axes x and y are the world's x and -y."""
    ends = (f"[{x * np.sin(angle)} mm, {-x * np.cos(angle)} mm]" for x in (OFFSET, LAST))
    points = ", ".join(f"{{at: {at} mm, offset: {end}}}" for at, end in zip((0, 305), ends, strict=True))
    return f"  {name}: {{type: tension, tension: ={name}, through: [{{rod: arm, points: [{points}], between: 12}}]}}\n"


MODEL = f"""
pliant: 1
parameters: {{pull1: {{value: 0 N, input: true}}, pull2: {{value: 0 N, input: true}}, youngs_modulus: 400 kPa}}
sections:
{"".join(f"  s{k}: {{shape: circle, radius: {x} mm}}" + chr(10) for k, x in enumerate(RADII))}
materials: {{silicone: {{density: 1200, youngs_modulus: =youngs_modulus, poissons_ratio: 0.5}}}}
defaults: {{rods: {{material: silicone, law: neo_hookean}}}}
rods:
  arm: {{length: 305 mm, rotation: {{axis: x, angle: 180 deg}}, section: [{", ".join(f"s{k}" for k in range(9))}],
        frames: {{at1: 129.1 mm, at2: 219.5 mm, at3: 280 mm}}, model: {{kind: pcs, elements: 12}}}}
  end: {{parent: arm.tip, length: 55 mm, section: [s8, s9, s10], model: {{kind: pcs, elements: 3}}}}
tendons:
{tendon("pull1", ANGLES[0])}{tendon("pull2", ANGLES[1])}
bodies: {{m1: {{}}, m2: {{}}, m3: {{}}, m4: {{}}}}
joints:
  on1: {{type: weld, parent: arm.at1, child: m1, position: [25 mm, 0, 0]}}
  on2: {{type: weld, parent: arm.at2, child: m2, position: [-21 mm, 0, 0]}}
  on3: {{type: weld, parent: arm.at3, child: m3, position: [20 mm, 0, 0]}}
  on4: {{type: weld, parent: end.tip, child: m4, position: [0, 0, 8 mm]}}
"""


@case(
    "Recordings",
    compared="Root mean square distance of four markers over eight poses, Young's modulus alone fitted to eight "
    "other ones, over what the authors' fit leaves on the poses that it was made with",
    source="Motion capture of a tentacle (github.com/tud-phi/soromox); the authors' fit leaves 11.3, 18.4, 19.2 and "
    "35.6 mm.",
    tolerance=1.0,
    measure="absolute",
    data="tentacle_markers.csv",
    quick=False,
)
def check(file: Path) -> CaseResult:
    """Equilibria under the recorded tensions."""
    eqs = derive(load_text(MODEL))
    with file.open(encoding="utf-8") as text:
        rows = list(csv.DictReader(text))
    recorded = np.array([[[float(row[f"p{k}_{axis}"]) for axis in "xyz"] for k in (1, 2, 3, 4)] for row in rows])

    def places(modulus: float, some: slice) -> np.ndarray:
        here = eqs.at(parameters={"youngs_modulus": modulus})
        rests = [
            equilibrium(here, inputs={f"pull{k}": float(row[f"tension_{k}"]) for k in (1, 2)}) for row in rows[some]
        ]
        return np.array([[rest.frames[f"m{k}"].position for k in (1, 2, 3, 4)] for rest in rests])

    first, second = slice(0, 8), slice(8, 16)
    best = scipy.optimize.minimize_scalar(
        lambda x: np.sum((places(x, first) - recorded[first]) ** 2),
        bounds=(300e3, 600e3),
        method="bounded",
        options={"xatol": 2e3},
    )
    found = places(best.x, second)
    off = np.linalg.norm(found - recorded[second], axis=2)
    lines = (
        Line("model", 1e3 * found[:, 3, 1], 1e3 * found[:, 3, 2]),
        Line("recorded", 1e3 * recorded[second, 3, 1], 1e3 * recorded[second, 3, 2], exact=True),
    )
    plot = Plot("y of the tip marker [mm]", "z [mm]", lines)
    return CaseResult(1e3 * np.sqrt((off**2).mean(axis=0)) / (11.3, 18.4, 19.2, 35.6), 0.0, plot)
