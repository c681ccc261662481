"""A snake of given shape on dry ground, moved by friction alone: the reference of the bundled `snake`.

D. Hu, J. Nirody, T. Scott and M. Shelley, The mechanics of slithering locomotion, PNAS 106 (2009), without inertia.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import least_squares

SLOW = 1e-4
"""Velocity below which friction is smoothed [m/s]."""


def shape(curvatures: np.ndarray, length: float, per_piece: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Places (2, n) and angles (n,) of the middles of small pieces of a chain of arcs that begins at the origin along -x."""
    fine = np.repeat(curvatures, per_piece)
    step = length / fine.size
    ends = np.pi + np.concatenate([[0.0], np.cumsum(fine * step)])
    angle = (ends[:-1] + ends[1:]) / 2
    moves = step * np.array([np.cos(angle), np.sin(angle)])
    return np.cumsum(moves, axis=1) - moves / 2, angle


def progress(
    curvatures: Callable[[float], np.ndarray], length: float, period: float, along: float, across: float, head_load: float,
    steps: int = 60,
) -> float:  # fmt: skip
    """How far one wave carries the chain [m]; `head_load` is the weight of the head over that of the body."""
    h = period / steps
    turn, moved, guess = 0.0, np.zeros(2), np.zeros(3)
    for k in range(steps):
        t = (k + 0.5) * h
        (before, _), (after, _) = shape(curvatures(t - h / 2), length), shape(curvatures(t + h / 2), length)
        place, angle = shape(curvatures(t), length)
        own = (after - before) / h
        place, own = np.column_stack([np.zeros(2), place]), np.column_stack([np.zeros(2), own])
        angle = np.concatenate([[np.pi], angle])
        weight = np.concatenate([[head_load], np.full(angle.size - 1, 1 / (angle.size - 1))])
        tangent = np.array([np.cos(angle), np.sin(angle)])
        normal = np.array([-tangent[1], tangent[0]])

        def unbalanced(w: np.ndarray) -> np.ndarray:
            speed = own + w[:2, None] + w[2] * np.array([-place[1], place[0]])  # noqa: B023
            size = np.sqrt((speed**2).sum(axis=0) + SLOW**2)
            force = -along * tangent * (tangent * speed).sum(axis=0) - across * normal * (normal * speed).sum(axis=0)  # noqa: B023
            force = force * weight / size  # noqa: B023
            return np.array([*force.sum(axis=1), (place[0] * force[1] - place[1] * force[0]).sum() / length])  # noqa: B023

        guess = least_squares(unbalanced, guess, xtol=1e-12, ftol=1e-12, gtol=1e-12).x
        c, s = np.cos(turn + guess[2] * h / 2), np.sin(turn + guess[2] * h / 2)
        moved += h * np.array([c * guess[0] - s * guess[1], s * guess[0] + c * guess[1]])
        turn += h * guess[2]
    return float(np.hypot(*moved))
