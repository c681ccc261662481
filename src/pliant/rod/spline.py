"""A smooth curve through points with rotation-minimizing frames."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy

PIECES = 16
"""Sections per gap between two points."""


def frames_along(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sections of the cubic spline through points (n x 3) [m], parametrized by chord length.

    Returns arc lengths (N) [m], rotations (N x 3 x 3) with the tangent as z axis, positions (N x 3) [m]. Rotations are not finite
    beyond a point in which the curve turns back on itself.
    """
    chords = np.linalg.norm(np.diff(points, axis=0), axis=1)
    knots = np.concatenate([[0.0], np.cumsum(chords)])
    spline = scipy.interpolate.CubicSpline(knots, points)  # not-a-knot: fourth order up to its ends
    inner = [np.linspace(a, b, PIECES + 1)[:-1] for a, b in pairwise(knots)]
    places = np.append(np.concatenate(inner), knots[-1])
    slopes = spline(places, 1)
    with np.errstate(invalid="ignore"):
        tangents = slopes / np.linalg.norm(slopes, axis=1)[:, None]
    nodes, weights = np.polynomial.legendre.leggauss(5)
    half = np.diff(places)[:, None] / 2
    speeds = np.linalg.norm(spline(places[:-1, None] + half * (1 + nodes), 1), axis=2)
    arcs = np.concatenate([[0.0], np.cumsum((half * speeds) @ weights)])
    positions = spline(places)
    return arcs, minimal_frames(positions, tangents), positions


def minimal_frames(positions: np.ndarray, tangents: np.ndarray) -> np.ndarray:
    """Rotation-minimizing frames along a curve by double reflection (Wang, Juettler, Zheng, Liu 2008), N x 3 x 3.

    The first is the world's axes after the smallest rotation that aligns z with the first tangent.
    """
    x = _shortest_turn(tangents[0])[:, 0]
    frames = [np.column_stack([x, np.cross(tangents[0], x), tangents[0]])]
    for k in range(len(positions) - 1):
        step = positions[k + 1] - positions[k]
        square = step @ step
        x_reflected = x - 2 / square * (step @ x) * step
        t_reflected = tangents[k] - 2 / square * (step @ tangents[k]) * step
        turn = tangents[k + 1] - t_reflected
        if not turn @ turn > 0:  # the tangent reverses between two sections
            frames += [np.full((3, 3), np.nan)] * (len(positions) - len(frames))
            break
        x = x_reflected - 2 / (turn @ turn) * (turn @ x_reflected) * turn
        t = tangents[k + 1]
        x = x - (x @ t) * t
        x = x / np.linalg.norm(x)
        frames.append(np.column_stack([x, np.cross(t, x), t]))
    return np.array(frames)


def _shortest_turn(tangent: np.ndarray) -> np.ndarray:
    """Rotation matrix that maps z to the tangent by the smallest angle; half a turn is about x."""
    if tangent[2] < -1 + 1e-12:
        return np.diag([1.0, -1.0, -1.0])
    axis = np.cross([0.0, 0.0, 1.0], tangent)
    W = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + W + W @ W / (1 + tangent[2])
