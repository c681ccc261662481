"""Rod under distributed follower loads."""

from __future__ import annotations

import numpy as np
import scipy

from pliant.solve.statics.equilibrium import equilibrium
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case
from pliant.validation.rods import in_models

MODEL = """
pliant: 1
world: {gravity: [0, 0, 0]}
sections: {round: {shape: circle, radius: 2 cm}}
materials: {rubber: {density: 1000, youngs_modulus: 1 MPa, shear_modulus: 0.4 MPa}}
rods: {arm: {length: 0.5 m, section: round, material: rubber}}
loads:
  spread: {type: distributed, rod: arm, force: [3 N/m, 0, -1 N/m], moment: [0, 0.1 N, 0], axes: section, profile: [0.4, 1]}
"""
WORDS = ("pcs:16", "cosserat:16", "pseudo_rigid:16", "polynomial:4", "finite_element:16")
LENGTH, E, G, RADIUS = 0.5, 1e6, 4e5, 0.02
AREA = np.pi * RADIUS**2
NU = E / (2 * G) - 1
EA, EI, GA = E * AREA, E * np.pi * RADIUS**4 / 4, 6 * (1 + NU) / (7 + 6 * NU) * G * AREA


def exact() -> np.ndarray:
    """Tip (x, z) of the plane rod that shears and stretches, by a boundary-value problem [m]."""

    def slopes(s: np.ndarray, y: np.ndarray, share: float) -> np.ndarray:
        angle, n_x, n_z, m = y[2:]
        c, w = np.cos(angle), np.sin(angle)  # in (x, z) the tangent is (w, c), the section's x axis (c, -w)
        stretch, shear = 1 + (n_x * w + n_z * c) / EA, (n_x * c - n_z * w) / GA
        x_s, z_s = stretch * w + shear * c, stretch * c - shear * w
        across, along, about = (share * (0.4 + 0.6 * s / LENGTH) * load for load in (3.0, -1.0, 0.1))
        f_x, f_z = across * c + along * w, -across * w + along * c
        return np.vstack([x_s, z_s, m / EI, -f_x, -f_z, -(z_s * n_x - x_s * n_z) - about])

    s = np.linspace(0, LENGTH, 41)
    y = np.zeros((6, len(s)))
    y[1] = s
    for share in np.linspace(0.2, 1, 5):
        found = scipy.integrate.solve_bvp(
            lambda s, y, share=share: slopes(s, y, share), lambda a, b: np.concatenate([a[:3], b[3:]]), s, y, tol=1e-8
        )
        assert found.success
        s, y = found.x, found.y
    return np.asarray(y[:2, -1])


@case(
    "Statics",
    compared="Place of the tip under a force and a moment per length that grow towards it, in five rod models",
    source="Equilibrium of the plane rod that shears and stretches, S. S. Antman, Nonlinear Problems of Elasticity, "
    "2nd ed. (2005), chapter 4, as a boundary-value problem by SciPy.",
    tolerance=4e-3,
    measure="of the largest",
    unit="m",
)
def check() -> CaseResult:
    """The load has no potential; any equilibrium is accepted, stable or not."""
    value = [
        equilibrium(eqs, stability="any").frames["arm.tip"].position[[0, 2]]
        for _, eqs in in_models(load_text(MODEL), "arm", WORDS)
    ]
    return CaseResult(np.array(value), exact())
