"""Base of all joints: the frames they connect, their placement, and their coordinates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pliant.language.dimension import LENGTH, NUMBER, Dimension
from pliant.language.names import FrameName
from pliant.language.placement import Axis, Placement
from pliant.parts.geometry import se3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.joint.coordinate import Coordinate, LengthCoordinate, Orientation
from pliant.parts.motion import SCREW, Motion

if TYPE_CHECKING:
    from pliant.engine.model.build import Build


@dataclass(frozen=True)
class Step:
    """One elementary motion of a joint.

    Attributes:
        motion: the kind of motion.
        labels: the coordinates that drive it, in order (keys of the joint's `coordinates()`).
        constants: the motion's constants, floats or expressions of parameters.
        before: fixed placement before the motion.
    """

    motion: Motion
    labels: tuple[str, ...]
    constants: tuple[Any, ...] = ()
    before: Pose = field(default_factory=se3.identity)


class JointBase(Placement):
    """Base of the joints: connects `child` to `parent`, at a placement in the parent frame."""

    parent: FrameName = "world"
    """Frame that the joint is placed in."""
    child: FrameName
    """Body attached by the joint, at its own frame (`bar`) or at another of its frames (`bar.tip`)."""
    first_parent: FrameName | None = None
    """Parent of the first instance, if the child is repeated and the parent is the previous instance."""
    description: str = ""
    """Description for readers."""

    def coordinates(self) -> dict[str, Coordinate | Orientation]:
        """The coordinates in order, by field (`angle`, `x`, ...)."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: value for name, value in values.items() if isinstance(value, (Coordinate, Orientation))}

    def state_names(self) -> Mapping[str, Dimension]:
        """Names that coefficients may use: the coordinates by field, except free rotations."""
        found = {label: spec for label, spec in self.coordinates().items() if isinstance(spec, Coordinate)}
        return {label: LENGTH if isinstance(spec, LengthCoordinate) else NUMBER for label, spec in found.items()}

    @abstractmethod
    def steps(self, build: Build) -> tuple[list[Step], Pose]:
        """The elementary motions from the joint frame to the child, and the fixed placement after the last one."""


def turn(build: Build, label: str, axis: Axis) -> Step:
    """Rotation about an axis of the joint frame."""
    return Step(SCREW, (label,), (0.0, 0.0, 0.0, *build.direction(axis)))


def slide(build: Build, label: str, axis: Axis) -> Step:
    """Displacement along an axis of the joint frame."""
    return Step(SCREW, (label,), (*build.direction(axis), 0.0, 0.0, 0.0))
