"""Explicit Runge-Kutta method of Dormand and Prince."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pliant.analysis.integrators.base import Adaptive


@dataclass(frozen=True, kw_only=True)
class ExplicitRungeKutta(Adaptive):
    """For motions that are not stiff: rigid robots, soft springs, tight tolerances.

    Order 5 with an embedded order 4 for the error; six evaluations of the equations per step. Its step is limited by
    the fastest decay or oscillation, |eigenvalue| * step < 3.3 or so, resolved or not. Constraints enter through
    accelerations, and each new state is projected on them. Quaternions are integrated componentwise and normalized.

    Reference: Dormand and Prince, A family of embedded Runge-Kutta formulae, J. Comp. Appl. Math. 6 (1980).
    """

    name: ClassVar[str] = "explicit"
    code: ClassVar[int] = 0
    words: ClassVar[str] = "explicit Runge-Kutta of order 5"
    order: ClassVar[int] = 5
    explicit: ClassVar[bool] = True

    def amplification(self, z: complex) -> complex:
        """Factor of a small motion per step; see `Method`."""
        return 1 + z * (1 + z / 2 * (1 + z / 3 * (1 + z / 4 * (1 + z / 5 * (1 + z / 5)))))
