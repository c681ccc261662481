"""Two crossed rods that are pressed together."""

from __future__ import annotations

import numpy as np
import scipy

from pliant.solve.motion.simulate import simulate
from pliant.solve.statics.equilibrium import equilibrium
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case

SHEAR_FACTOR = 6 * (1 + 0.4) / (7 + 6 * 0.4)
"""Shear coefficient of a circle with Poisson's ratio 0.4."""
MODEL = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
sections: {{cord: {{shape: circle, radius: 2 mm}}}}
materials: {{rubber: {{density: 1100 kg/m^3, youngs_modulus: 10 MPa, poissons_ratio: 0.4}}}}
defaults:
  rods:
    length: 20 cm
    section: cord
    material: rubber
    damping: [0.1, 0.1, 0.3, 1e-6, 1e-6, 1e-6]
    model: {{kind: {kind}, elements: {elements}}}
parameters:
  down: {{value: 20 mm, input: true}}
bodies:
  hand: {{mass: 10 g, frames: {{end: {{position: [0, 20 cm, 0], rotation: {{axis: x, angle: -90 deg}}}}}}}}
joints:
  press: {{type: prismatic, child: hand, axis: z, position: [0, -10 cm, 4 mm], displacement: {{motion: =-down}}}}
rods:
  lower: {{position: [-10 cm, 0, 0], rotation: {{axis: y, angle: 90 deg}}}}
  upper: {{parent: hand, rotation: {{axis: x, angle: -90 deg}}}}
constraints:
  lower_end: {{between: [world, lower.tip], components: all, holds: as at start}}
  upper_end: {{between: [hand.end, upper.tip], components: all}}
inputs:
  down: {{ramp: {{start: 0 s, end: 0.5 s, after: 20 mm}}}}
contacts:
  touch: {{between: [lower, upper], stiffness: 100 kN/m, friction: {friction}}}
outputs:
  push: {{contact: touch, component: z}}
"""


def deflection(force: float) -> float:
    """Deflection of the middle of a clamped rod under a force there [m]: half of the extensible, shearable elastica, by SciPy."""
    length, radius, modulus = 0.1, 2e-3, 10e6
    area = np.pi * radius**2
    axial, bending = modulus * area, modulus * np.pi / 4 * radius**4
    shear = SHEAR_FACTOR * modulus / 2 / 1.4 * area

    def slope(_: np.ndarray, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        angle, pull = y[2], p[0]
        along = pull * np.cos(angle) + force / 2 * np.sin(angle)
        across = -pull * np.sin(angle) + force / 2 * np.cos(angle)
        stretch, sheared = 1 + along / axial, across / shear
        return np.array([
            stretch * np.cos(angle) - sheared * np.sin(angle), stretch * np.sin(angle) + sheared * np.cos(angle),
            y[3] / bending, sheared * along - stretch * across,
        ])  # fmt: skip

    def ends(a: np.ndarray, b: np.ndarray, _: np.ndarray) -> np.ndarray:
        return np.array([a[0], a[1], a[2], b[0] - length, b[2]])

    s = np.linspace(0, length, 41)
    guess = np.zeros((4, s.size))
    guess[0], guess[1] = s, 0.01 * (1 - np.cos(np.pi * s / length)) / 2
    found = scipy.integrate.solve_bvp(slope, ends, s, guess, p=[1.0], tol=1e-8, max_nodes=10000)
    assert found.success
    return float(found.y[1, -1])


@case(
    "Contact",
    compared="Force between two rods, clamped at all ends, one pressed on the other by 20 mm, in a motion and at rest",
    source="Twice the deflection of the extensible, shearable elastica and the depth of contact make the way: S. S. "
    "Antman, Nonlinear Problems of Elasticity, 2nd ed. (2005), chapter 4, as a boundary-value problem by "
    "SciPy.",
    tolerance=5e-3,
    unit="N",
)
def check() -> CaseResult:
    """Sixty elements of `cosserat` without friction, forty of `finite_element` with."""
    exact = scipy.optimize.brentq(lambda f: 2 * deflection(f) + f / 1e5 - 0.02, 0.05, 3.0, xtol=1e-6)
    value = []
    for kind, elements, friction in (("cosserat", 60, 0.0), ("finite_element", 40, 0.3)):
        eqs = derive(load_text(MODEL.format(kind=kind, elements=elements, friction=friction)))
        run = simulate(eqs, 1.0, save_every=0.05)
        rest = equilibrium(eqs.at(inputs={"down": 0.02}), start=run)
        value.append([-run["push"].values[-1], -float(rest.outputs["push"])])
    return CaseResult(np.array(value), exact)
