"""Independent coordinates of a constrained system: null spaces and coordinate partitions."""

from __future__ import annotations

import numpy as np
import scipy

RANK_TOLERANCE = 1e-9


class PartitionError(ValueError):
    """The chosen coordinates do not determine the others."""


def null_space(jacobian: np.ndarray) -> np.ndarray:
    """Orthonormal basis (nv x f) of the motions that the constraints allow."""
    rows, columns = jacobian.shape
    if rows == 0 or columns == 0:
        return np.eye(columns)
    _, s, Vt = scipy.linalg.svd(jacobian, full_matrices=True)
    rank = int(np.sum(s > RANK_TOLERANCE * s[0])) if s.size and s[0] > 0 else 0
    return np.asarray(Vt[rank:].T)


def partition(
    jacobian: np.ndarray, chosen: list[int] | None, names: tuple[str, ...], sizes: np.ndarray
) -> tuple[list[int], np.ndarray]:
    """Independent rates and the matrix G (nv x f) with `v = G v_independent`.

    Without a choice, the rates that the constraints determine best are made dependent (pivoted QR), so that the
    independent ones keep the partition well conditioned. sizes: reference sizes of changes of the coordinates (nv).
    """
    basis = null_space(jacobian * sizes)
    free = basis.shape[1]
    if chosen is None:
        _, _, order = scipy.linalg.qr(basis.T, mode="economic", pivoting=True)
        chosen = sorted(int(i) for i in order[:free])
    if len(chosen) != free:
        given = ", ".join(names[i] for i in chosen) or "none"
        raise PartitionError(f"the robot has {free} independent rates here; {len(chosen)} were chosen ({given})")
    block = basis[chosen]
    if free and np.linalg.cond(block) > 1 / RANK_TOLERANCE:
        given = ", ".join(names[i] for i in chosen)
        raise PartitionError(f"the rates {given} do not determine the others in this pose: choose different ones")
    if not free:
        return chosen, np.zeros((len(names), 0))
    return chosen, sizes[:, None] * (basis @ np.linalg.inv(block)) / sizes[chosen]
