"""Semi-implicit Euler method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pliant.analysis.integrators.base import Method
from pliant.language.arguments import positive


@dataclass(frozen=True, kw_only=True)
class SemiImplicit(Method):
    """For fast loops with a fixed step: controllers, previews, hardware in the loop.

    Order 1. Rates are implicit in stiffness, damping and constraints, positions follow from them: one linear solve per
    step, no iterations, the same work in every step. Stable for any step where forces are linear; it damps, the more
    the larger the step. Each new state is projected on the constraints.

    Attributes:
        step: step [s]; the run is cut into equal steps of at most this size.

    Reference: Baraff and Witkin, Large steps in cloth simulation, SIGGRAPH (1998).
    """

    step: float

    name: ClassVar[str] = "semi_implicit"
    code: ClassVar[int] = 3
    order: ClassVar[int] = 1

    def __post_init__(self) -> None:
        positive("SemiImplicit: step", self.step)

    def amplification(self, z: complex) -> complex:
        """Factor of a small motion per step; see `Method`. In linear motions the steps are those of the implicit Euler method."""
        return 1 / (1 - z)

    def describe(self) -> str:
        """Description of the method and its options."""
        return f"semi-implicit Euler, fixed step {self.step:g} s"
