"""Symplectic Euler method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pliant.analysis.integrators.base import Method, closest_root, spring_and_damper
from pliant.language.arguments import positive


@dataclass(frozen=True, kw_only=True)
class SymplecticEuler(Method):
    """The cheapest step, for robots that are not stiff: one evaluation of the equations, no linearization.

    Order 1. Rates are advanced with the current accelerations, positions with the new rates. The step must be short compared
    with the fastest vibration: the motion diverges if the step times its angular frequency exceeds 2. Below this limit the
    energy of undamped motions stays bounded. Each new state is projected on the constraints. Most simulators of rigid robots
    call this method (semi-implicit) Euler; `SemiImplicit` is also implicit in stiffness and damping.

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

    def amplification(self, z: complex) -> complex:
        """Factor of a small motion per step; see `Method`."""
        k, c = spring_and_damper(z)
        return closest_root(np.array([[1 - k, 1 - c], [-k, 1 - c]]), z)

    def describe(self) -> str:
        """Description of the method and its options."""
        return f"symplectic Euler, fixed step {self.step:g} s"
