"""What every kind of output says: its unit, and its value in a state.

A symbolic output is a function of the state in CasADi's symbols, so that it has exact derivatives; a numeric one follows
from numbers that the runtime counts along a motion.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import casadi as ca

from pliant.language.base import Part, Problem

if TYPE_CHECKING:
    from pliant.model.model import Model
    from pliant.model.system import CoordinateForceInstance, FrameForceInstance
    from pliant.spec.robot import RobotSpec


@dataclass(frozen=True)
class FrameSymbols:
    """A frame's rotation and position in the world, and its twist and acceleration in world axes at the world's origin."""

    rotation: Any
    position: Any
    twist: Any
    acceleration: Any


class Symbols(Protocol):
    """A state of the robot in symbols; `equations/outputs.py` provides it."""

    model: Model
    q: Any
    v: Any
    a: Any
    multipliers: Any

    def frame(self, name: str) -> FrameSymbols:
        """The motion of a frame."""

    def poses(self, nodes: Iterable[int]) -> list[Any]:
        """Poses of nodes."""

    def twists(self, nodes: Iterable[int]) -> Any:
        """Twists of nodes, one under the other."""

    def constants(self, force: FrameForceInstance) -> Any:
        """The constants of a force."""

    def wrench(self, force: FrameForceInstance) -> Any:
        """Wrenches of a force on its nodes, one under the other."""

    def coordinate_force(self, force: CoordinateForceInstance, q: Any, v: Any) -> Any:
        """A force on coordinates."""

    def line(self, tendon: str) -> tuple[Any, Any, Any, Any]:
        """Length [m], its rate [m/s] and the tensions at its first and its last point [N] of a routed line."""

    def arc(self, rod: str, section: int) -> tuple[Any, Any]:
        """Bending (2) [rad] and length [m] of an arc of a rod, counted from 1."""


class OutputBase(Part):
    """A named quantity. Final classes add the key that tells them apart as their first field."""

    @property
    def is_of_whole_robot(self) -> bool:
        """Whether it means nothing for one of several robots that are attached to each other."""
        return False

    @abstractmethod
    def unit(self, robot: RobotSpec, coordinates: Mapping[str, str]) -> str:
        """SI unit; empty where its components differ in unit, or where nothing is known of it.

        `coordinates`: units of the coordinates by name, as far as they are known.
        """

    def problems_in(self, robot: RobotSpec) -> Iterator[Problem]:
        """What it asks for and the robot lacks; missing names are reported elsewhere."""
        yield from ()


class SymbolicOutput(OutputBase):
    """An output that is a function of the state."""

    @property
    def is_of_positions_and_velocities(self) -> bool:
        """Whether it is a smooth function of them and of parameters, and so has derivatives along a motion."""
        return False

    def nodes(self, model: Model) -> set[int]:
        """The nodes whose motion it needs."""
        return set()

    @abstractmethod
    def value(self, at: Symbols) -> Any:
        """The value in a state: a symbol, or a vector of them."""


class NumericOutput(OutputBase):
    """An output that follows from the energies of the robot."""

    @abstractmethod
    def value(self, kinetic: Any, potential: Any, dissipated: Any) -> Any:
        """The value from energies [J], numbers or arrays of them."""


def component(vector: Any, name: str | None, axes: str = "xyz") -> Any:
    """One component of a vector, its length (`norm`), or without a name the vector."""
    if name is None:
        return vector
    return ca.norm_2(vector) if name == "norm" else vector[axes.index(name)]
