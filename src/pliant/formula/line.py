"""Forces along the line between two points, with their tangents stated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca

from pliant.formula.base import Effect, FrameForce
from pliant.geometry import se3, so3
from pliant.geometry.se3 import Pose

SHORTEST = 1e-12
"""Distance [m] that keeps the direction defined where both points meet."""


def distance(difference: Any) -> Any:
    """Distance [m] of two points with that difference."""
    return ca.sqrt(ca.dot(difference, difference) + SHORTEST**2)


def line_force(
    name: str,
    *,
    constants: int,
    signals: int,
    points: Callable[[Any], tuple[Any, Any]],
    law: Callable[[Any, Any, Any, Any], Effect],
) -> FrameForce:
    """A force along the line between a point of a first frame and one of a second.

    `points(constants)` gives both in their frames; `law(length, rate, constants, signals)` the force that pushes them apart
    (negative for a stretched spring).

    Let `a`, `b` be the points in the world, n the direction from b to a, and B = [1, -a^, -1, b^] (^ is `hat`): the points'
    difference changes by `B eta`, so the wrenches are `B' n f`. In the convected form their change is `B' Y`, with

        Y = f (1 - n n') B / length + n df' + f n^ [0, 1, 0, 0]     (f n^ [0, 0, 0, 1] in the rows of the second frame)
        df' = f_length n'B + f_rate (w' (1 - n n') B / length + [0, (a_dot x n)', 0, -(b_dot x n)']),   w = a_dot - b_dot.

    So a tangent costs little more than the products with B.
    """

    def at(poses: Sequence[Pose], theta: Any) -> tuple[list[Any], Any, Any, Any]:
        places = [p + R @ point for (R, p), point in zip(poses, points(theta), strict=True)]
        difference = places[0] - places[1]
        length = distance(difference)
        B = ca.horzcat(ca.SX.eye(3), -so3.hat(places[0]), -ca.SX.eye(3), so3.hat(places[1]))
        return places, length, difference / length, B

    def effect(poses: Sequence[Pose], twists: Sequence[Any], theta: Any, signal: Any) -> Effect:
        places, length, n, B = at(poses, theta)
        a_dot, b_dot = map(se3.point_velocity, twists, places)
        response = law(length, ca.dot(n, a_dot - b_dot), theta, signal)
        return Effect(B.T @ (n * response.force), response.energy, response.dissipation, response.supply)

    def tangent(poses: Sequence[Pose], twists: Sequence[Any], theta: Any, signal: Any) -> tuple[Any, Any, Any]:
        places, length, n, B = at(poses, theta)
        a_dot, b_dot = map(se3.point_velocity, twists, places)
        w = a_dot - b_dot
        x = ca.SX.sym("x", 2)
        force = ca.SX(law(x[0], x[1], theta, signal).force)
        actual = [ca.vertcat(length, ca.dot(n, w))]
        f, slopes, by_signal = ca.substitute([force, ca.jacobian(force, x), ca.jacobian(force, signal)], [x], actual)
        along = n.T @ B
        turning = (B - n @ along) / length
        rest = ca.SX(1, 3)
        spin = ca.horzcat(rest, ca.cross(a_dot, n).T, rest, -ca.cross(b_dot, n).T)
        rate = w.T @ turning + spin
        turned = f * so3.hat(n)
        Y = f * turning + n @ (slopes[0] * along + slopes[1] * rate)
        none = ca.SX(3, 3)
        first, second = (ca.horzcat(none, x, none, y) for x, y in ((turned, none), (none, turned)))
        K = ca.vertcat(B[:, :6].T @ (Y + first), B[:, 6:].T @ (Y + second))
        return K, slopes[1] * (along.T @ along), along.T @ by_signal

    return FrameForce(name, 2, constants, signals, effect, tangent)
