"""Newmark's method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pliant.analysis.integrators.base import Adaptive
from pliant.analysis.integrators.generalized_alpha import averaged_amplification
from pliant.language.arguments import number


@dataclass(frozen=True, kw_only=True)
class Newmark(Adaptive):
    """For comparison with structural codes; generalized-alpha without its averages, and with the same treatment of
    constraints and rotations.

    beta = 1/4, gamma = 1/2 (constant average acceleration): order 2, stable for any step, nothing damped.
    gamma > 1/2: order 1, damped. beta < gamma/2: stable for small steps only (1/6: linear acceleration).

    Attributes:
        beta: weight of the new acceleration in the new positions, above 0 and at most 1/2.
        gamma: weight of the new acceleration in the new rates, from 1/2 to 1.

    Reference: Newmark, A method of computation for structural dynamics, ASCE J. Eng. Mech. 85 (1959).
    """

    beta: float = 0.25
    gamma: float = 0.5
    rtol: float = 1e-3

    name: ClassVar[str] = "newmark"
    code: ClassVar[int] = 2
    order: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        number("Newmark: gamma", self.gamma, at_least=0.5, at_most=1, hint="below 0.5 oscillations would grow")
        number("Newmark: beta", self.beta, above=0, at_most=0.5, hint="0 would be explicit: use ExplicitRungeKutta")

    @property
    def coefficients(self) -> dict[str, float]:
        """beta and gamma; the averages of generalized-alpha are zero."""
        return {"beta": self.beta, "gamma": self.gamma}

    def amplification(self, z: complex) -> complex:
        """Factor of a small motion per step; see `Method`."""
        return averaged_amplification(z, **self.coefficients)

    def describe(self) -> str:
        """Description of the method and its options."""
        return f"Newmark, beta {self.beta:g}, gamma {self.gamma:g}, {self._stepping()}"
