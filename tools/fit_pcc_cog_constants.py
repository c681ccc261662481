"""Fits the six constants of the rod model `pcc_cog` from random arcs, and writes them to `pcc_cog_constants.json`.

    python tools/fit_pcc_cog_constants.py

Each constant is the least-squares ratio of one term of the exact energy of an arc to the same term of the lumped model,
over shapes and motions drawn as in the method's publication: radius over length from 1/20 to 1/2, length changes of the
three muscles up to a random fraction of the length with a bend below 4 pi/3, their rates up to a length
per second, angular velocities of the base up to 100 rad/s about each axis. Rates are drawn of both signs, where the publication
has positive ones: all muscles that lengthen together stretch an arc more than they bend it. Terms are fitted separately: in
the sum, those with the base's angular velocity would dominate, and the constants of the others would be arbitrary.

Two coefficients of determination are kept: about zero, as for a line through the origin, and about the mean.
"""

from __future__ import annotations

import json
import math
from functools import cache

import casadi as ca
import numpy as np

from pliant.language.files import write_whole
from pliant.parts.motion.arc_coordinates import ArcCoordinates
from pliant.parts.rod.pcc import CONSTANTS_FILE, ENERGY_ORDERS, Arc, Energy, exact_energy, lumped_energy, stumpff

SEED = 20
SAMPLES = 200_000
BEND = 4 * math.pi / 3
"""Largest angle of an arc [rad]."""


def draw(samples: int, seed: int, bend: float = BEND) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Muscle radius, muscle length changes, their rates (3) and base angular velocity (3) of arcs of length 1, mass 1.

    bend: largest angle of an arc [rad].
    """
    rng = np.random.default_rng(seed)
    radius = rng.uniform(1 / 20, 1 / 2, samples)
    largest = rng.uniform(1 / 20, 1.5 * bend * radius)  # one muscle of length change l bends an arc by 2 l / (3 r)
    lengths = rng.uniform(0, 1, (3, samples)) * largest
    rates = rng.uniform(-1, 1, (3, samples))
    angular = rng.uniform(-100, 100, (3, samples))
    return radius, lengths, rates, angular


@cache
def terms() -> ca.Function:
    """(radius, lengths, rates, angular velocity) -> the six terms of the exact energy, and of the lumped one."""
    radius, q, v, w = ca.SX.sym("r"), ca.SX.sym("q", 3), ca.SX.sym("v", 3), ca.SX.sym("w", 3)
    arc = ArcCoordinates("muscles")
    A = arc.matrix(arc.constants(1.0, (0.0,) * 6, radius))
    z, rate = A @ q, A @ v
    length, slices = 1 + z[2], radius**2 / 4

    c = ca.vertcat(*stumpff(ca.dot(z[0:2], z[0:2]), ENERGY_ORDERS))

    def split(energy: Energy) -> list[ca.SX]:
        terms = []
        for mass, discs in ((1, (0, 0)), (0, (slices, 2 * slices))):
            M = Arc(energy, z[0:2], length, mass, discs, c).mass_matrix()
            terms += [w.T @ M[3:6, 3:6] @ w, 2 * w.T @ M[3:6, 6:9] @ rate, rate.T @ M[6:9, 6:9] @ rate]
        return terms

    exact, lumped = split(exact_energy), split(lumped_energy((1.0,) * 6))
    return ca.Function("terms", [radius, q, v, w], [ca.vertcat(*exact), ca.vertcat(*lumped)], {"cse": True})


def fit(samples: int = SAMPLES, seed: int = SEED, bend: float = BEND) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The six constants, and the coefficients of determination of each, about zero and about the mean."""
    exact, lumped = (
        np.asarray(x) for x in terms().map(samples)(*(np.atleast_2d(x) for x in draw(samples, seed, bend)))
    )
    constants = np.sum(exact * lumped, axis=1) / np.sum(lumped**2, axis=1)
    left = np.sum((exact - constants[:, None] * lumped) ** 2, axis=1)
    about_mean = np.sum((exact - exact.mean(axis=1, keepdims=True)) ** 2, axis=1)
    return constants, 1 - left / np.sum(exact**2, axis=1), 1 - left / about_mean


def main() -> None:
    """Fit and write."""
    constants, about_zero, about_mean = fit()
    found = {
        "constants": [float(x) for x in constants],
        "determination": [float(x) for x in about_zero],
        "determination_about_mean": [float(x) for x in about_mean],
        "seed": SEED,
        "samples": SAMPLES,
    }
    write_whole(CONSTANTS_FILE, (json.dumps(found, indent=2) + "\n").encode())
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
