"""Forms of forces and constraints between rigid links that other programs support."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from pliant.language.message_text import enumeration

Place = tuple[int, np.ndarray]
"""A node, and a point [m] or a pose (4x4) on it."""


@dataclass
class Passive:
    """Passive forces of a joint: stiffness, value without force, damping, armature, and range."""

    stiffness: float = 0.0
    rest: float = 0.0
    damping: float = 0.0
    armature: float = 0.0
    range: tuple[float, float] | None = None


@dataclass(frozen=True)
class Motor:
    """Generalized forces per unit of a signal, by the index of their rate in v; `value` is the signal at the start."""

    name: str
    gears: Mapping[int, float]
    value: float
    bounds: tuple[float, float] | None


@dataclass(frozen=True)
class Line:
    """A line through points: its spring acts outside of `slack` (shortest and longest length without force [m])."""

    name: str
    points: tuple[Place, ...]
    stiffness: float = 0.0
    slack: tuple[float, float] = (0.0, 0.0)
    damping: float = 0.0
    pull: Motor | None = None


@dataclass(frozen=True)
class Push:
    """Force (component 0 to 2) or moment (3 to 5) along an axis of a frame: that of the pose `at`, or with `in_world` a fixed one
    with the axes of `axes`."""

    name: str
    at: Place
    axes: np.ndarray | None
    component: int
    value: float


@dataclass(frozen=True)
class Tie:
    """Joint value `first = offset + ratio * second`, by indices of rates in v; `second` is -1 for a fixed value."""

    name: str
    first: int
    second: int
    ratio: float
    offset: float


@dataclass(frozen=True)
class Loop:
    """Two poses on nodes that coincide: completely, or only their points."""

    name: str
    first: Place
    second: Place
    whole: bool


@dataclass
class RigidForces:
    """All forces, in the forms supported by other programs."""

    passive: dict[int, Passive] = field(default_factory=dict)
    motors: list[Motor] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    pushes: list[Push] = field(default_factory=list)
    ties: list[Tie] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    said: dict[str, list[str]] = field(default_factory=dict)
    """Remarks on joints, and the subject of each."""
    said_of_drives: dict[str, list[str]] = field(default_factory=dict)
    """Remarks on motors, lines, loads, ties and loops, which some programs do not support."""

    @property
    def joint_remarks(self) -> list[str]:
        """Approximated and omitted features of joints and of the robot, one sentence each."""
        return [f"{enumeration(about)}: {text}" for text, about in self.said.items()]

    @property
    def drive_remarks(self) -> list[str]:
        """The same for motors, lines, loads, ties and loops."""
        return [f"{enumeration(about)}: {text}" for text, about in self.said_of_drives.items()]

    def of(self, v_at: int) -> Passive:
        """The passive forces of the joint with this index of its rate."""
        return self.passive.setdefault(v_at, Passive())

    def nodes(self) -> set[int]:
        """All nodes with attached forces or constraints."""
        places = [p for line in self.lines for p in line.points] + [push.at for push in self.pushes]
        places += [place for loop in self.loops for place in (loop.first, loop.second)]
        return {node for node, _ in places}
