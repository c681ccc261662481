"""The continuous rod as a boundary-value problem, solved by SciPy: the reference of cases, independent of the formulas of the
package's rods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy


@dataclass(frozen=True)
class ClampedRod:
    """A rod clamped at the origin, with dead loads.

    Attributes:
        length [m]; translational: stiffness of shear-x, shear-y and stretch [N]; rotational: of bend-x, bend-y and twist [N m^2].
        base: quaternion of the base section, w first; its z axis is the tangent.
        natural: bend-x, bend-y and twist without stress [1/m].
        weight: force per length in world axes [N/m]; force, moment: at the tip, in world axes [N, N m].
    """

    length: float
    translational: Any
    rotational: Any
    base: Any
    natural: Any = (0.0, 0.0, 0.0)
    weight: Any = (0.0, 0.0, 0.0)
    force: Any = (0.0, 0.0, 0.0)
    moment: Any = (0.0, 0.0, 0.0)

    def position(self, at: Any) -> np.ndarray:
        """Position at arc lengths (3 x n) [m]; the loads are applied in four steps, each starting from the previous solution."""
        s = np.linspace(0, self.length, 31)
        y = np.zeros((10, len(s)))
        unloaded = np.concatenate([np.zeros(3), self.base, np.zeros(3)])
        start = scipy.integrate.solve_ivp(
            lambda s, y: self._slope(np.array([s]), y[:, None], 0.0)[:, 0],
            (0, self.length),
            unloaded,
            t_eval=s,
            rtol=1e-8,
        )
        y[:] = start.y
        found: Any = None
        for share in (0.25, 0.5, 0.75, 1.0):
            tolerance = 1e-8 if share == 1 else 1e-4
            found = scipy.integrate.solve_bvp(
                lambda s, y, share=share: self._slope(s, y, share),
                lambda a, b, share=share: self._ends(a, b, share),
                s, y, tol=tolerance, max_nodes=40000,
            )  # fmt: skip
            if not found.success:
                raise RuntimeError(f"the boundary-value problem was not solved: {found.message}")
            s, y = found.x, found.y
        return np.asarray(found.sol(at)[:3])

    def _slope(self, s: np.ndarray, y: np.ndarray, share: float) -> np.ndarray:
        """Derivatives of position, quaternion and moment: equilibrium of forces is solved, n = tip force + weight beyond."""
        R = _matrix(y[3:7])
        n = share * (np.array(self.force)[:, None] + np.array(self.weight)[:, None] * (self.length - s))
        strain = np.einsum("jik,jk->ik", R, n) / np.array(self.translational)[:, None]
        strain[2] += 1
        turn = np.einsum("jik,jk->ik", R, y[7:10]) / np.array(self.rotational)[:, None]
        turn += np.array(self.natural)[:, None]
        tangent = np.einsum("ijk,jk->ik", R, strain)
        w, (x, yy, z), (a, b, c) = y[3], y[4:7], turn
        quaternion = 0.5 * np.array(
            [-x * a - yy * b - z * c, w * a + yy * c - z * b, w * b + z * a - x * c, w * c + x * b - yy * a]
        )
        return np.vstack([tangent, quaternion, -np.cross(tangent.T, n.T).T])

    def _ends(self, a: np.ndarray, b: np.ndarray, share: float) -> np.ndarray:
        return np.concatenate([a[:3], a[3:7] - np.array(self.base), b[7:10] - share * np.array(self.moment)])


def _matrix(quaternion: np.ndarray) -> np.ndarray:
    """Rotation matrices (3 x 3 x n) of quaternions (4 x n)."""
    w, x, y, z = quaternion / np.linalg.norm(quaternion, axis=0)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
