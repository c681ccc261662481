"""Poses, velocities and accelerations of named frames from those of the nodes they are fixed to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.engine.model.model import Model
from pliant.parts.geometry import arrays

if TYPE_CHECKING:
    from pliant.engine.binding import Binding
    from pliant.engine.program import Calls


@dataclass(frozen=True)
class FrameMotion:
    """Motion of a frame in the world.

    position [m], rotation (3x3, frame to world), velocity [m/s] and acceleration [m/s^2] of its origin,
    angular_velocity [rad/s] and angular_acceleration [rad/s^2] in world axes (None if not requested).
    """

    position: np.ndarray
    rotation: np.ndarray
    velocity: np.ndarray | None = None
    angular_velocity: np.ndarray | None = None
    acceleration: np.ndarray | None = None
    angular_acceleration: np.ndarray | None = None

    @property
    def quaternion(self) -> np.ndarray:
        """Unit quaternion [w, x, y, z] with w >= 0."""
        return arrays.matrix_quaternion(self.rotation)


def frame_motion(
    model: Model, calls: Calls, bound: Binding, q: Any, v: Any, a: Any, names: tuple[str, ...]
) -> dict[str, FrameMotion]:
    """Motions of the named frames; v, or a alone, may be None."""
    frames = _pairs(model, names)
    if v is None:
        motion = calls.frame_poses(bound, q, frames)
    elif a is None:
        motion = calls.frame_velocities(bound, q, v, frames)
    else:
        motion = calls.frame_accelerations(bound, q, v, a, frames)
    rotations, positions, *rates = motion
    return {name: FrameMotion(positions[k], rotations[k], *(rate[k] for rate in rates)) for k, name in enumerate(names)}


def frame_jacobian(model: Model, calls: Calls, bound: Binding, q: Any, name: str) -> np.ndarray:
    """Velocity of a frame's origin and its angular velocity per rate, in world axes, 6 x nv."""
    return calls.frame_jacobian(bound, q, _pairs(model, (name,)))


def _pairs(model: Model, names: tuple[str, ...]) -> np.ndarray:
    """The node of each frame, and the index of its placement among the constants; cached."""
    known: dict[tuple[str, ...], np.ndarray] = model.once("frame_pairs", dict)
    if names not in known:
        entries = [model.frames[name] for name in names]
        pairs = [(entry.node, entry.constants) for entry in entries]
        known[names] = np.array(pairs, dtype=np.int32).reshape(len(names), 2)
    return known[names]
