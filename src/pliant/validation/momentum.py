"""Momentum of robots whose coordinates are all those of free frames."""

from __future__ import annotations

import numpy as np

from pliant.equations.equations import Equations


def frames(eqs: Equations) -> list[tuple[int, int]]:
    """Indices of the position of each free frame in q and v."""
    return [(c.q_at - 3, c.v_at - 3) for c in eqs.model.coordinates if c.is_rotation]


def momentum(eqs: Equations, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Linear and angular momentum about the world's origin: the work of the momenta of v on rigid motions of the robot."""
    directions = np.zeros((len(v), 6))
    for at, rate in frames(eqs):
        w, x, y, z = q[at + 3 : at + 7]
        R = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )
        px, py, pz = q[at : at + 3]
        directions[rate : rate + 3, :3] = np.eye(3)
        directions[rate : rate + 3, 3:] = -np.array([[0, -pz, py], [pz, 0, -px], [-py, px, 0]])
        directions[rate + 3 : rate + 6, 3:] = R.T
    return np.asarray(directions.T @ (eqs.mass_matrix(q) @ v))
