"""The fluid around a robot under construction, as formulas of the forces that it exerts need it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from pliant.language.evaluate import StateExpressions
from pliant.parts.motion import Fields


@dataclass(frozen=True)
class Flow:
    """Velocity of the fluid at a point [m/s], and its acceleration along its path [m/s^2]."""

    velocity: Any
    acceleration: Any


@dataclass(frozen=True)
class MediumKind:
    """What formulas depend on: an option of types of force.

    current: expressions of the velocity; still: whether it is zero; has_surface: whether there is one.
    """

    current: StateExpressions
    still: bool
    has_surface: bool

    @property
    def fields(self) -> Fields:
        """Constants: density [kg/m^3], viscosity [Pa s], acceleration of free fall [m/s^2], height of the surface along its
        opposite [m], numbers of the current."""
        return Fields("density", "viscosity", "gravity:3", "surface", f"current:{self.current.constants}")

    @property
    def signals(self) -> int:
        """Number of signals: of the current, and their partial derivatives in time."""
        return 2 * self.current.signals

    @property
    def word(self) -> str:
        """A key for names of kernels."""
        return ("still" if self.still else self.current.word) + ("_surface" if self.has_surface else "")

    def flow(self, point: Any, numbers: Any, signals: Any) -> Flow:
        """The fluid at a point [m], with the numbers of the current and the signals."""
        if self.still:
            return Flow(ca.SX.zeros(3), ca.SX.zeros(3))
        x, s = ca.SX.sym("x", 3), ca.SX.sym("s", self.current.signals)
        U = ca.vertcat(*self.current.values(dict(zip("xyz", ca.vertsplit(x), strict=True)), numbers, s))
        U = ca.SX(U)
        rate = ca.jacobian(U, x) @ U + ca.jacobian(U, s) @ signals[self.current.signals : self.signals]
        given = [ca.SX(point), ca.SX(signals[0 : self.current.signals])]
        return Flow(*ca.substitute([U, rate], [x, s], given))


@dataclass(frozen=True)
class Medium:
    """The fluid of a robot under construction: its kind, its constants, the index of its first signal, density [kg/m^3] and
    viscosity [Pa s], which may be expressions, and whether that may be above zero."""

    kind: MediumKind
    constants: list[Any]
    signals: int
    density: Any
    viscosity: Any
    is_viscous: bool
