"""Settling: a start's unbalanced loads and open constraints are applied along a path, to a pose that holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.equations.binding import Binding
from pliant.equations.equations import Equations
from pliant.equations.workspace import EvaluationError
from pliant.solve.arc import ArcStatics, Direction, robot_size
from pliant.solve.follower import Branch, Follower
from pliant.solve.loading import ShareLoading
from pliant.solve.path import leading
from pliant.solve.status import Status

MAX_POINTS = 300


@dataclass(frozen=True)
class Settled:
    """Where the path ended: pose, multipliers, whether it holds, points on the way and remarks."""

    q: np.ndarray
    multipliers: np.ndarray
    stable: bool
    points: int
    notes: tuple[str, ...]


def settle(eqs: Equations, bound: Binding, t: float, q: np.ndarray, tolerance: float) -> Settled | None:
    """Follow the pose while its imbalance goes to zero; None where the path does not get there.

    The constraints in force have been chosen by `assemble`. Where the path loses its stability at a bifurcation it goes on
    along the branch, to the side on which the leading entry of the critical direction grows.
    """
    statics = ArcStatics(bound, t, tolerance, ShareLoading(np.zeros(bound.nv), np.zeros(bound.m)), 1.0)
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
    follower = Follower(eqs, statics, 1.0, 0.0, t, branch=Branch(), max_points=MAX_POINTS)
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
    return Settled(
        last.q, last.multipliers, judged is not None and judged.stable is True, len(follower.record.places), notes
    )
