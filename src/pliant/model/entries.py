"""What a build notes on its way: coordinates, arcs, pieces and turns of rods, nodes to be moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pliant.geometry.se3 import Pose
from pliant.joint.coordinate import Coordinate, Orientation
from pliant.motion.arc_coordinates import ArcCoordinates
from pliant.motion.base import Motion


@dataclass(frozen=True)
class CoordinateEntry:
    """Where a named coordinate stands: `q[q_at]`, `v[v_at]`; a free rotation takes four and three places. `unit` is its SI unit,
    empty where it was not said."""

    name: str
    q_at: int
    v_at: int
    is_rotation: bool
    spec: Coordinate | Orientation | None = None
    unit: str = ""

    @property
    def q_names(self) -> tuple[str, ...]:
        """Names of its numbers in q."""
        return tuple(f"{self.name}.{x}" for x in ("qw", "qx", "qy", "qz")) if self.is_rotation else (self.name,)

    @property
    def v_names(self) -> tuple[str, ...]:
        """Names of its numbers in v."""
        return tuple(f"{self.name}.{x}" for x in ("wx", "wy", "wz")) if self.is_rotation else (self.name,)


@dataclass(frozen=True)
class ArcEntry:
    """A circular arc of a rod: the node at its end, and how its coordinates give its shape."""

    node: int
    coordinates: ArcCoordinates


@dataclass(frozen=True)
class NodePlan:
    """A node to be moved by an element: its motion, its placement in the base node, the motion's constants."""

    motion: Motion
    placement: Pose
    constants: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Carried:
    """A node with a pose of its own against the world, and the node that carries it: at the start it moves with that one."""

    node: int
    carrier: int


@dataclass(frozen=True)
class Requirement:
    """Something that must hold at all values of the parameters: where it is in the model, what is wrong otherwise, the way out."""

    path: str
    message: str
    hint: str


@dataclass(frozen=True)
class RodPiece:
    """A piece of rod of a length [m] that moves with a node, placed on it, around fraction x of the rod's length."""

    node: int
    placement: Pose
    length: Any
    x: float


@dataclass(frozen=True)
class RodStation:
    """A place on a rod: the node it moves with, where in the constants its placement there stands, its fraction of the length."""

    node: int
    constants: int
    x: float


@dataclass(frozen=True)
class TurnLimit:
    """How far a node of a rod may turn against another one (or against a frame on it) before its states lose count.

    constants: where the frame's placement on the first node stands; angle: the limit [rad]; hint: the way out.
    """

    rod: str
    first: int
    second: int
    constants: int
    angle: float
    hint: str
