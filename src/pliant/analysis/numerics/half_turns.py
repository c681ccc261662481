"""Constraints between frames that are turned by 180 deg against each other: the limit of prescribed rotations, and the wrong pose
of those that should be zero."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pliant.engine.binding import Binding
from pliant.engine.equations import Equations
from pliant.parts.assembly.system import PLACEMENT_SIZE
from pliant.parts.constraint import ROWS

HALF_TURN = 0.98 * np.pi
"""Angle of frames against each other from which they are regarded as turned by 180 deg [rad]."""
ALONG = 0.99
"""Cosine of the angle between an axis of rotation and the constrained one up to which they are the same."""


def prescribed_half_turn(eqs: Equations, bound: Binding, q: np.ndarray) -> str:
    """Name of a constraint that prescribes a rotation of its frames and has reached half a turn; empty if there is none."""
    turns = _half_turns(eqs, bound, q)
    return next((name for name, rows, prescribed, _ in turns if prescribed and rows), "")


def opposite_frames(eqs: Equations, bound: Binding, q: np.ndarray) -> list[str]:
    """A remark on each constraint that should make directions of its frames coincide, but has turned them by 180 deg."""
    texts = []
    for name, rows, prescribed, axis in _half_turns(eqs, bound, q):
        # with two rotations constrained, frames with opposite axes may be intended
        if prescribed or len(rows) not in (1, 3):
            continue
        if len(rows) == 3 or np.abs(axis[ROWS.index(rows[0]) - 3]) > ALONG:
            texts.append(
                f"the frames of the constraint '{name}' are turned by 180 deg against each other, where its rotations are zero as "
                "well; start from a pose in which they are less than 90 deg apart"
            )
    return texts


def _half_turns(
    eqs: Equations, bound: Binding, q: np.ndarray
) -> Iterator[tuple[str, tuple[str, ...], bool, np.ndarray]]:
    """Constraints whose frames are turned by half a turn: name, constrained rotations, whether these are prescribed, and the axis
    of the rotation along the axes of the components."""
    specs = eqs.model.spec.constraints
    turning = [
        (c, rows)
        for c in eqs.model.system.constraints
        if c.name in specs and (rows := tuple(row for row in specs[c.name].rows if row in ROWS[3:]))
    ]
    if not turning or not np.all(np.isfinite(q)):
        return
    rotations, _ = bound.node_poses(q)
    for c, rows in turning:
        begins = (0, PLACEMENT_SIZE, 2 * PLACEMENT_SIZE)
        placed = (bound.constants[c.constants + k : c.constants + k + 9].reshape(3, 3).T for k in begins)
        first, second, axes = (rotations[node] @ end for node, end in zip(c.nodes, placed, strict=True))
        relative = second @ first.T
        if np.arccos(np.clip(0.5 * (np.trace(relative) - 1), -1, 1)) >= HALF_TURN:
            # (R + R') / 2 + 1 is twice the dyad of the axis, at half a turn
            dyad = 0.25 * (relative + relative.T) + 0.5 * np.eye(3)
            axis = dyad[:, np.argmax(np.diag(dyad))]
            yield c.name, rows, any(s >= 0 for s in c.signals), axes.T @ (axis / np.linalg.norm(axis))
