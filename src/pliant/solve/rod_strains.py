"""Strains of rods between the places along them that a model notes, from the poses of all nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import scipy

from pliant.equations.binding import Binding
from pliant.model.entries import RodStation
from pliant.model.model import Model

Poses: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Rotations and positions of all nodes."""


def parameter_values(model: Model, bound: Binding) -> Callable[[object], float]:
    """Values of the model's fields at the parameters in force."""
    parameters = dict(zip(model.parameter_names, bound.parameters.tolist(), strict=True))
    environment = model.environment.with_values(parameters)
    return lambda scalar: float(environment.value(scalar))  # type: ignore[arg-type]


def strains_times_length(bound: Binding, stations: Sequence[RodStation], poses: Poses) -> np.ndarray:
    """Mean strains between neighbouring places of a rod, times its length: three of displacement, three of turn (n - 1 x 6)."""
    at = [station.node for station in stations]
    rotations, positions = poses[0][at], poses[1][at]
    placed = np.array([bound.constants[x.constants : x.constants + 12] for x in stations])
    R = rotations @ placed[:, :9].reshape(-1, 3, 3).transpose(0, 2, 1)
    p = positions + np.einsum("nij,nj->ni", rotations, placed[:, 9:])
    share = np.diff([station.x for station in stations])
    apart = share > 1e-9
    turn = scipy.spatial.transform.Rotation.from_matrix(np.einsum("nji,njk->nik", R[:-1], R[1:])).as_rotvec()
    # seen from half-way, where a constant curvature leaves a chord along the tangent
    middle = R[:-1] @ scipy.spatial.transform.Rotation.from_rotvec(turn / 2).as_matrix()
    chord = np.einsum("nji,nj->ni", middle, np.diff(p, axis=0))
    half = np.linalg.norm(turn, axis=1) / 2
    chord = chord / np.sinc(np.minimum(half, 3.0) / np.pi)[:, None]
    return np.asarray(np.hstack([chord, turn])[apart] / share[apart, None])
