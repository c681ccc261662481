"""Symplectic Euler method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pliant.language.arguments import positive
from pliant.solve.motion.integrator.base import Method


@dataclass(frozen=True, kw_only=True)
class SymplecticEuler(Method):
    """The cheapest step there is, for robots that are not stiff: one evaluation of the equations, no linearization.

    Order 1. Rates go on with the accelerations of the state, positions with the new rates. The step has to be short against the
    fastest vibration: the motion diverges where the product of step and its angular frequency exceeds 2. Up to there, energy of
    undamped motions stays bounded. Each new state is projected on the constraints. This is what most simulators of rigid robots
    call (semi-implicit) Euler; `SemiImplicit` here is implicit in stiffness and damping, too.

    Attributes:
        step: step [s]; the run is cut into equal steps of at most this size.

    Reference: Hairer, Lubich and Wanner, Geometric numerical integration (2006), section I.1.2.
    """

    step: float

    name: ClassVar[str] = "symplectic_euler"
    code: ClassVar[int] = 4
    order: ClassVar[int] = 1
    explicit: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive("SymplecticEuler: step", self.step)

    def describe(self) -> str:
        """Description of the method and its options."""
        return f"symplectic Euler, fixed step {self.step:g} s"
