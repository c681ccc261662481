"""Strains of rods between their registered stations, and of edges of meshes, from the poses of all nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import casadi as ca
import numpy as np
import scipy

from pliant.engine.binding import Binding
from pliant.engine.model.model import Model
from pliant.parts.assembly.entries import RodStation

Poses: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Rotations and positions of all nodes."""


def parameter_values(model: Model, bound: Binding) -> Callable[[object], float]:
    """Values of the model's fields at the current parameters."""
    parameters = dict(zip(model.parameter_names, bound.parameters.tolist(), strict=True))
    environment = model.environment.with_values(parameters)
    return lambda scalar: float(environment.value(scalar))  # type: ignore[arg-type]


class CaseValues:
    """Values of the model's fields in several cases, from those of the parameters (cases x parameters); a field is evaluated once
    for all cases."""

    def __init__(self, model: Model, parameters: np.ndarray) -> None:
        by_name = dict(zip(model.parameter_names, parameters.T, strict=True))
        self._environment, self._count = model.environment.with_values(by_name), len(parameters)
        self._found: dict[object, np.ndarray] = {}

    def all(self, scalar: object) -> np.ndarray:
        """The value of a field in all cases."""
        if scalar not in self._found:
            value = self._environment.value(scalar)  # type: ignore[arg-type]
            self._found[scalar] = np.broadcast_to(value, self._count)
        return self._found[scalar]

    def of(self, case: int) -> Callable[[object], float]:
        """Equivalent of `parameter_values` in one case."""
        return lambda scalar: float(self.all(scalar)[case])


def model_strains(model: Model, bound: Binding, name: str, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Strains of a rod where its model has them most accurately, from its own formulas: three translational, 1 for an unstretched
    rod in the third (n x 3), and three rotational [1/m] (m x 3).

    They are right however far the rod turns between two stations, from whose poses alone turns are known up to half a revolution;
    but they are evaluated one by one, so they only confirm what `strains_times_length` suggests.
    """
    system, samples = model.system, model.strain_samples[name]
    poses = bound.node_poses(q)
    strains = []
    for sample in samples:
        on: Any = (system.frame_forces if sample.on_frames else system.coordinate_forces)[sample.force]
        at: list[Any]
        if sample.on_frames:
            at = [[(ca.SX(poses[0][n]), ca.SX(poses[1][n])) for n in on.nodes], [ca.SX.zeros(6) for _ in on.nodes]]
        else:
            q_size = sum(part.q_size for part in on.kind.parts)
            at = [ca.SX(q[on.q_at : on.q_at + q_size]), ca.SX.zeros(on.size)]
        constants = ca.SX(bound.constants[on.constants : on.constants + on.kind.constants])
        state: Any = sample.state
        section = state(*at, constants, ca.SX.zeros(on.kind.signals))
        strains.append(np.array(ca.evalf(section.strain)).ravel())
    six = np.array(strains) + (0, 0, 1, 0, 0, 0)
    return (
        six[[k for k, sample in enumerate(samples) if sample.of_force], :3],
        six[[k for k, sample in enumerate(samples) if sample.of_moment], 3:],
    )


def strains_times_length(constants: np.ndarray, stations: Sequence[RodStation], poses: Poses) -> np.ndarray:
    """Mean strains between neighbouring stations of a rod, times its length: three translational, three rotational (n - 1 x 6).

    For several configurations at once: poses of all nodes (... x nodes x 3 x 3 and 3), and current constants, of all (N) or of
    each (... x N).
    """
    at = [station.node for station in stations]
    rotations, positions = poses[0][..., at, :, :], poses[1][..., at, :]
    placed = np.stack([constants[..., x.constants : x.constants + 12] for x in stations], axis=-2)
    R = rotations @ placed[..., :9].reshape(*placed.shape[:-1], 3, 3).swapaxes(-1, -2)
    p = positions + (rotations @ placed[..., 9:, None])[..., 0]
    share = np.diff([station.x for station in stations])
    apart = share > 1e-9
    back = R[..., :-1, :, :].swapaxes(-1, -2)
    turns = scipy.spatial.transform.Rotation.from_matrix((back @ R[..., 1:, :, :]).reshape(-1, 3, 3)).as_rotvec()
    moved = (back @ np.diff(p, axis=-2)[..., None])[..., 0]
    helix = helices(turns.reshape(moved.shape), moved)
    return np.asarray(helix[..., apart, :] / share[apart, None])


def helices(turn: np.ndarray, position: np.ndarray) -> np.ndarray:
    """The helix from one frame to another, the logarithm of their relative pose (... x 6): three translations [m] and three
    rotations [rad], the same in both frames.

    turn, position (... x 3): rotation vector [rad] and position [m] of the second frame in the first.
    """
    square = np.sum(turn**2, axis=-1, keepdims=True)
    half = np.sqrt(np.maximum(square, 1e-8)) / 2  # below, the result is that of no rotation to 1e-12
    factor = (1 - half / np.tan(half)) / (4 * half**2)
    across = np.cross(turn, position)
    return np.concatenate([position - across / 2 + factor * np.cross(turn, across), turn], axis=-1)
