"""Equilibrium by homotopy: the unbalanced loads and constraint gaps of a start are removed gradually along a path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.equations.binding import Binding
from pliant.equations.equations import Equations
from pliant.equations.workspace import EvaluationError
from pliant.solve.statics.arc_length import ArcLengthStatics, Direction, robot_size
from pliant.solve.statics.loading import ShareLoading
from pliant.solve.statics.path import leading
from pliant.solve.statics.path_following import Branch, PathFollower
from pliant.solve.status import Status

MAX_POINTS = 300


@dataclass(frozen=True)
class HomotopyResult:
    """End of the path: pose, multipliers, whether it is stable, number of points and remarks."""

    q: np.ndarray
    multipliers: np.ndarray
    stable: bool
    points: int
    notes: tuple[str, ...]


def follow_homotopy(eqs: Equations, bound: Binding, t: float, q: np.ndarray, tolerance: float) -> HomotopyResult | None:
    """Follow the equilibrium while the imbalance of the start goes to zero; None where the path does not reach the end.

    The constraints in force have been chosen by `assemble`. Where the path loses its stability at a bifurcation it goes on
    along the branch, to the side on which the leading entry of the critical direction grows.
    """
    statics = ArcLengthStatics(bound, t, tolerance, ShareLoading(np.zeros(bound.nv), np.zeros(bound.m)), 1.0)
    try:
        statics.apply(1.0)
        multipliers = np.zeros(bound.m)
        at = statics.linearized(q, multipliers)
        if bound.m:
            multipliers = statics.balanced_multipliers(at, at.residual, multipliers)
            at = statics.linearized(q, multipliers)
        statics.size = robot_size(bound.node_poses(q)[1])
        statics.loading = ShareLoading(at.residual, at.phi * bound.row_active)
        way = Direction(np.zeros(bound.nv), np.zeros(bound.m), 1.0)
        place = statics.correct(q, multipliers, 0.0, way, statics.metric(at), patient=True)
        place = None if place is None else statics.with_tangent(place, way)
    except EvaluationError:
        return None
    if place is None:
        return None
    follower = PathFollower(eqs, statics, 1.0, 0.0, t, branch=Branch(), max_points=MAX_POINTS)
    status, _ = follower.run(place)
    last = follower.record.places[-1]
    statics.apply(1.0)
    if status != Status.COMPLETED:
        return None
    notes: tuple[str, ...] = ()
    if follower.record.branch:
        direction = follower.record.critical[-1][1]
        leading_rate = eqs.rates[leading(direction)]
        notes = (
            f"on the way it buckles: it was taken to the side on which '{leading_rate}' grows; an imperfection of the "
            "model decides otherwise, and `continuation` follows either side",
        )
    judged = last.stability
    return HomotopyResult(
        last.q, last.multipliers, judged is not None and judged.stable is True, len(follower.record.places), notes
    )
