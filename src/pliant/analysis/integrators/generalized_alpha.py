"""Generalized-alpha method, and the step it shares with Newmark's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pliant.analysis.integrators.base import Adaptive, closest_root, spring_and_damper
from pliant.language.arguments import number


def averaged_amplification(
    z: complex, *, beta: float, gamma: float, alpha_m: float = 0.0, alpha_f: float = 0.0
) -> complex:
    """Amplification of a step of the generalized-alpha method, and of Newmark's, with these coefficients."""
    k, c = spring_and_damper(z)
    # positions, rates and averaged accelerations at the end (rows of `after`) from those at the beginning
    force = np.array([k, c, 0.0])
    after = np.array([[1, 0, -beta], [0, 1, -gamma], [0, 0, 1 - alpha_m]]) + np.outer([0, 0, 1 - alpha_f], force)
    before = np.array([[1, 1, 0.5 - beta], [0, 1, 1 - gamma], [0, 0, -alpha_m]]) - np.outer([0, 0, alpha_f], force)
    return closest_root(np.linalg.solve(after, before), z)


@dataclass(frozen=True, kw_only=True)
class GeneralizedAlpha(Adaptive):
    """For constrained and stiff motions, and for structures whose fast vibrations are of no interest.

    Order 2 in positions, rates and multipliers, stable for any step. Constraints are satisfied at position level
    after every step, rates are then projected on their derivatives, and accelerations and multipliers are those of
    the new state. Increments are applied on the group, so rotations need no special treatment. Adaptive steps estimate their
    error from differences of the acceleration, filtered by the stiffness of the step.

    Attributes:
        spectral_radius: what remains per step of an oscillation much faster than the step, from 0 (all damped away) to
            1 (undamped). Slow motions are hardly damped in either case.

    References: Chung and Hulbert, J. Appl. Mech. 60 (1993); Arnold and Bruels, Multibody Syst. Dyn. 18 (2007); Bruels,
    Cardona and Arnold, Mech. Mach. Theory 48 (2012) for rotations; Lunk and Simeon, ZAMM 86 (2006) for the projection.
    """

    spectral_radius: float = 0.8
    rtol: float = 1e-3

    name: ClassVar[str] = "generalized_alpha"
    code: ClassVar[int] = 2
    order: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        number(
            "GeneralizedAlpha: spectral_radius", self.spectral_radius, at_least=0, at_most=1,
            hint="with 0 fast oscillations vanish in a step, with 1 nothing is damped",
        )  # fmt: skip

    @property
    def coefficients(self) -> dict[str, float]:
        """alpha_m, alpha_f, beta, gamma."""
        rho = self.spectral_radius
        alpha_m, alpha_f = (2 * rho - 1) / (rho + 1), rho / (rho + 1)
        beta, gamma = 0.25 * (1 - alpha_m + alpha_f) ** 2, 0.5 - alpha_m + alpha_f
        return {"alpha_m": alpha_m, "alpha_f": alpha_f, "beta": beta, "gamma": gamma}

    def amplification(self, z: complex) -> complex:
        """Factor of a small motion per step; see `Method`."""
        return averaged_amplification(z, **self.coefficients)

    def describe(self) -> str:
        """Description of the method and its options."""
        return f"generalized-alpha, spectral radius {self.spectral_radius:g}, {self._stepping()}"
