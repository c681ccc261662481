"""Poses, velocities and accelerations of named frames from those of the nodes they are fixed to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.geometry import quaternion
from pliant.model.model import Model

if TYPE_CHECKING:
    from pliant.equations.binding import Binding


@dataclass(frozen=True)
class FrameMotion:
    """Motion of a frame in the world.

    position [m], rotation (3x3, frame to world), velocity [m/s] and acceleration [m/s^2] of its origin,
    angular_velocity [rad/s] and angular_acceleration [rad/s^2] in world axes (None where not asked for).
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
        return quaternion.from_matrix(self.rotation)


def frame_motion(
    model: Model, bound: Binding, q: np.ndarray, v: np.ndarray | None, a: np.ndarray | None, names: tuple[str, ...]
) -> dict[str, FrameMotion]:
    """Motions of the named frames."""
    rotations, positions = bound.node_poses(q)
    twists = None if v is None else bound.node_twists(q, v)
    accelerations = None if v is None or a is None else bound.node_accelerations(0.0, q, v, a)
    out = {}
    for name in names:
        entry = model.frames[name]
        placement = bound.constants[entry.constants : entry.constants + 12]
        R, p = rotations[entry.node], positions[entry.node]
        rotation = R @ placement[:9].reshape(3, 3, order="F")
        position = p + R @ placement[9:]
        motion: dict[str, Any] = {}
        if twists is not None:
            linear, angular = twists[entry.node][:3], twists[entry.node][3:]
            velocity = linear + np.cross(angular, position)
            motion = {"velocity": velocity, "angular_velocity": angular}
            if accelerations is not None:
                rate, turn = accelerations[entry.node][:3], accelerations[entry.node][3:]
                # d/dt of (v0 + w x p), with v0 the velocity of the body point now at the world's origin
                motion["acceleration"] = rate + np.cross(turn, position) + np.cross(angular, velocity)
                motion["angular_acceleration"] = turn
        out[name] = FrameMotion(position, rotation, **motion)
    return out


def frame_jacobian(model: Model, bound: Binding, q: np.ndarray, name: str) -> np.ndarray:
    """Velocity of a frame's origin and its angular velocity per rate, in world axes, 6 x nv."""
    entry = model.frames[name]
    rotations, positions = bound.node_poses(q)
    point = positions[entry.node] + rotations[entry.node] @ bound.constants[entry.constants + 9 : entry.constants + 12]
    out = bound.node_jacobian(q, entry.node)
    out[:3] += np.cross(out[3:].T, point).T
    return out
