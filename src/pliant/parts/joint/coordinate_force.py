"""Forces on the coordinates of joints: spring, damper and input, one- or two-sided, plain or on a rotation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca

from pliant.language.evaluate import StateFormula, sizes, words
from pliant.parts.formula.base import CoordinateForce, Effect, Inertia, one_sided, power_law, spring_energy
from pliant.parts.geometry import so3
from pliant.parts.motion.base import CoordinatePart, Fields, Quaternion, Vector

CONSTANTS = Fields("stiffness", "rest", "damping", "power", "direction", "smoothing")
"""Constants of `coordinate_force`: stiffness, rest value, damping coefficient and power, direction (0, 1, -1), smoothing width."""

DIRECTION = {"both": 0, "positive": 1, "negative": -1}


@cache
def coordinate_force(*, with_input: bool) -> CoordinateForce:
    """Spring, damper and input on one plain coordinate."""

    def effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
        at = CONSTANTS.read(c)
        counted, half_square, share = one_sided(q[0], at.rest, at.direction, at.smoothing)
        damping = share * power_law(v[0], at.damping, at.power)
        drive = share * signal[0] if with_input else 0.0
        return Effect(
            force=-at.stiffness * counted - damping + drive,
            energy=at.stiffness * half_square,
            dissipation=damping * v[0],
            supply=drive * v[0],
        )

    name = "driven" if with_input else "passive"
    return CoordinateForce(name, (Vector(1),), CONSTANTS.size, int(with_input), effect)


ORIENTATION = Fields("stiffness:3", "damping:3", "rest:4")
"""Constants of `ORIENTATION_FORCE`: stiffness and damping about x, y and z, quaternion of the rest orientation."""


@dataclass(frozen=True)
class CoefficientCoordinates:
    """Coordinates of a joint that a coefficient may depend on.

    Attributes:
        parts: parts of the state, in order.
        own: indices in q and in v of the coordinate that the force acts on.
        names: each name, with its indices in q and in v.
    """

    parts: tuple[CoordinatePart, ...]
    own: tuple[int, int]
    names: tuple[tuple[str, tuple[int, int]], ...]


@cache
def varying_force(
    seen: CoefficientCoordinates, stiffness: StateFormula | None, damping: StateFormula | None, *, with_input: bool
) -> CoordinateForce:
    """Spring, damper and input on one plain coordinate, with coefficients that depend on coordinates of its joint.

    The stored energy is the integral of the spring force from rest, at the current values of the other coordinates. Its change
    by the motion of those coordinates counts as supplied.
    """
    fields = CONSTANTS + Fields(f"of_stiffness:{sizes([stiffness])}", f"of_damping:{sizes([damping])}")
    (own_q, own_v), places = seen.own, dict(seen.names)
    own = next((name for name, place in seen.names if place == seen.own), "")

    def effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
        at, x, rate = fields.read(c), q[own_q], v[own_v]
        state = {name: q[place] for name, (place, _) in places.items()}
        counted, half_square, share = one_sided(x, at.rest, at.direction, at.smoothing)

        def coefficient(formula: StateFormula | None, plain: Any, numbers: Any, where: Any) -> Any:
            return plain if formula is None else formula.value({**state, own: where}, numbers)

        k = coefficient(stiffness, at.stiffness, at.of_stiffness, x)
        friction = share * power_law(rate, coefficient(damping, at.damping, at.of_damping, x), at.power)
        drive = share * signal[0] if with_input else 0.0
        supply, energy = drive * rate, at.stiffness * half_square
        if stiffness is not None:
            energy = spring_energy(
                lambda s: coefficient(stiffness, 0.0, at.of_stiffness, s), at.rest, x, at.direction, at.smoothing
            )
            supply += sum(ca.jacobian(energy, q[a]) * v[b] for a, b in places.values()) - k * counted * rate
        force = ca.SX(v.numel(), 1)
        force[own_v] = drive - k * counted - friction
        return Effect(ca.densify(force), energy, friction * rate, supply)

    name = ("driven" if with_input else "passive") + words([stiffness, damping])
    where = "_".join(f"{a}_{b}" for _, (a, b) in (("", seen.own), *seen.names))
    shape = "_".join(f"{part.q_size}{part.v_size}" for part in seen.parts)
    return CoordinateForce(f"{name}_{shape}_at_{where}", seen.parts, fields.size, int(with_input), effect)


def _orientation_effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
    at = ORIENTATION.read(c)
    turn = so3.quaternion_log(so3.quaternion_product(so3.quaternion_conjugate(at.rest), q))
    # with v in the moving axes d(turn)/dt = V(-turn)^-1 v, whose transpose is V(turn)^-1
    restoring = so3.inverse_left_jacobian(turn) @ (at.stiffness * turn)
    return Effect(
        force=-restoring - at.damping * v + signal,
        energy=0.5 * ca.dot(at.stiffness * turn, turn),
        dissipation=ca.dot(at.damping * v, v),
        supply=ca.dot(signal, v),
    )


ORIENTATION_FORCE = CoordinateForce("orientation", (Quaternion(),), ORIENTATION.size, 3, _orientation_effect)
"""Spring on the rotation vector, damper and torque on a free rotation, with the constants `ORIENTATION`."""


ARMATURE = "armature"


def is_armature(inertia: Inertia) -> bool:
    """Whether it is an inertia of this module."""
    return inertia.name.split("_")[0] == ARMATURE


@cache
def armature(parts: tuple[CoordinatePart, ...]) -> Inertia:
    """Inertia that acts on the rates of an element's coordinates only, with one constant per rate [kg or kg m^2]."""
    rates = sum(part.v_size for part in parts)

    def mass(pose: Any, q: Any, c: Any) -> Any:
        return ca.horzcat(ca.SX(rates, 6), ca.SX.eye(rates)), ca.diag(c)

    name = "_".join([ARMATURE, *(f"{part.q_size}{part.v_size}" for part in parts)])
    return Inertia(name, 1, parts, rates, mass)
