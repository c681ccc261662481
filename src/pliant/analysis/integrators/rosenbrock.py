"""Linearly implicit method of Rosenbrock type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pliant.analysis.integrators.base import Adaptive


@dataclass(frozen=True, kw_only=True)
class Rosenbrock(Adaptive):
    """For stiff motions, with or without constraints: stiff springs, strong dampers, slender rods.

    Order 4 with an embedded order 3 for the error, L-stable and stiffly accurate: fast decay and stiff vibrations do not limit
    the step. One factorization and six evaluations per step, no iterations. Accelerations and multipliers are algebraic
    unknowns of the original equations, and configurations are increments relative to the start of the step, so rotations need
    no special treatment. Each new state is projected on the constraints.

    Reference: Steinebach, Order-reduction of ROW-methods for DAEs and method of lines applications, TH Darmstadt
    (1995), method RODASP; Hairer and Wanner, Solving Ordinary Differential Equations II, sections IV.7 and VI.4.
    """

    rtol: float = 1e-3

    name: ClassVar[str] = "implicit"
    code: ClassVar[int] = 1
    words: ClassVar[str] = "implicit Rosenbrock method of order 4"
    order: ClassVar[int] = 4

    def amplification(self, z: complex) -> complex:
        """Factor of a small motion per step; see `Method`."""
        below = 1 - z / 4  # its powers first: they exceed the range of numbers later than those of z
        terms = (1.0, -1 / 2, -1 / 16, 1 / 24, 5 / 768, -7 / 3072)
        return sum(factor * (z / below) ** k / below ** (6 - k) for k, factor in enumerate(terms))
