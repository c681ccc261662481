"""The three shapes of an interaction, and the scalar laws several kinds share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from pliant.geometry import se3
from pliant.geometry.se3 import Pose
from pliant.motion.base import Part


@dataclass(frozen=True)
class Effect:
    """What a force element does in a state.

    Attributes:
        force: generalized force, or stacked world wrenches (6 per frame).
        energy: stored energy [J].
        dissipation: power turned into heat [W], not negative.
        supply: power put in by signals [W].
    """

    force: Any
    energy: Any = 0.0
    dissipation: Any = 0.0
    supply: Any = 0.0


@dataclass(frozen=True)
class FrameForce:
    """A force element on one or more frames.

    `effect(poses, twists, constants, signals)` returns world wrenches at the world's origin, stacked by frame.
    """

    name: str
    frames: int
    constants: int
    signals: int
    effect: Callable[[Sequence[Pose], Sequence[Any], Any, Any], Effect]


@dataclass(frozen=True)
class FrameConstraint:
    """`value(poses, constants) = prescribed signal`, in `size` components."""

    name: str
    frames: int
    constants: int
    size: int
    value: Callable[[Sequence[Pose], Any], Any]


@dataclass(frozen=True)
class CoordinateForce:
    """A force on the coordinates of one motion: `effect(q, v, constants, signals)`."""

    name: str
    parts: tuple[Part, ...]
    constants: int
    signals: int
    effect: Callable[[Any, Any, Any, Any], Effect]


def force_from_deformation(
    name: str,
    *,
    frames: int,
    constants: int,
    signals: int,
    deformation: Callable[[Sequence[Pose], Any], Any],
    law: Callable[[Any, Any, Any, Any], Effect],
) -> FrameForce:
    """A force that works on a deformation of its frames.

    `deformation(poses, constants)` are the strains or lengths; `law(deformation, rate, constants, signals)` gives
    the force conjugate to them (negative for a stretched spring). Virtual work does the rest: with the rate
    `G twist`, the wrenches are `G' force`.
    """

    def effect(poses: Sequence[Pose], twists: Sequence[Any], theta: Any, signal: Any) -> Effect:
        e = deformation(poses, theta)
        G = world_jacobian(e, poses)
        response = law(e, G @ ca.vertcat(*twists), theta, signal)
        return Effect(G.T @ response.force, response.energy, response.dissipation, response.supply)

    return FrameForce(name, frames, constants, signals, effect)


def world_jacobian(expression: Any, poses: Sequence[Pose]) -> Any:
    """Derivative of an expression of symbolic poses with respect to world-side increments, columns by frame."""
    columns = [ca.jacobian(expression, ca.vertcat(ca.vec(R), p)) @ se3.pose_rates((R, p)) for R, p in poses]
    return ca.horzcat(*columns)


def one_sided(x: Any, direction: Any, width: Any) -> Any:
    """Smooth switch: 1 where `direction * x > 0`, 0 where it is < 0, and 1 everywhere for direction 0.

    The step is a cubic of half-width `width` (the unit of `x`) around zero, so forces and tangents are continuous.
    """
    z = direction * x / width
    ramp = ca.if_else(z <= -1, 0.0, ca.if_else(z >= 1, 1.0, 0.25 * (z + 1) ** 2 * (2 - z)))
    return ca.if_else(direction == 0, 1.0, ramp)


def power_law(rate: Any, coefficient: Any, power: Any, smoothing: Any = 1e-6) -> Any:
    """`coefficient sign(rate) |rate|^power`, with |rate| rounded off within `smoothing` so that powers below one
    stay differentiable at rest. Exact for power 1."""
    magnitude = ca.sqrt(rate * rate + smoothing * smoothing)
    return coefficient * rate * ca.if_else(power == 1, 1.0, ca.exp((power - 1) * ca.log(magnitude)))
