"""Inertias made of particles, whose mass matrices are sums of `m J'J`: physical by construction."""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from pliant.parts.formula.base import Inertia
from pliant.parts.geometry import so3
from pliant.parts.motion import CoordinatePart, Motion

PARTICLES = 2


def _stacked(masses: list[Any], jacobians: list[Any]) -> Any:
    return ca.vertcat(*jacobians), ca.diag(ca.vertcat(*[m for m in masses for _ in range(3)]))


@cache
def moving_particles(parts: tuple[CoordinatePart, ...]) -> Inertia:
    """Particles that move in one frame with coordinates: `x = x0 + A q + (b.q)^2 d`.

    Constants per particle: mass, x0, A by columns, b, d.
    """
    carrier = Motion("carrier", parts, 0, lambda q, c: (ca.DM.eye(3), ca.DM.zeros(3)))
    size = carrier.q_size

    def mass(pose: Any, q: Any, c: Any) -> Any:
        each = c.numel() // PARTICLES
        jacobians, masses = [], []
        for i in range(PARTICLES):
            own = c[each * i : each * (i + 1)]
            A, b, d = ca.reshape(own[4 : 4 + 3 * size], 3, size), own[4 + 3 * size : 4 + 4 * size], own[4 + 4 * size :]
            x = own[1:4] + A @ q + ca.dot(b, q) ** 2 * d if size else own[1:4]
            moved = (A + 2 * ca.dot(b, q) * d @ b.T) @ carrier.rate_matrix(q) if size else ca.SX(3, 0)
            jacobians.append(ca.horzcat(ca.DM.eye(3), -so3.hat(x), moved))
            masses.append(own[0])
        return _stacked(masses, jacobians)

    name = "_".join(["particles", *(f"{part.q_size}{part.v_size}" for part in parts)])
    return Inertia(name, 1, parts, PARTICLES * (7 + 4 * size), mass)


def moving_constants(rng: np.random.Generator, size: int) -> list[float]:
    """Constants for `size` numbers in q."""
    out: list[float] = []
    for _ in range(PARTICLES):
        out += [rng.uniform(0.2, 1), *(0.3 * rng.normal(size=6 + 4 * size))]
    return out


def _between(pose: Any, q: Any, c: Any) -> Any:
    (R, _), jacobians, masses = pose, [], []
    for i in range(PARTICLES):
        own = c[8 * i : 8 * i + 8]
        s, first, second = own[1], own[2:5], own[5:8]
        jacobians.append(ca.horzcat((1 - s) * ca.DM.eye(3), -(1 - s) * so3.hat(first), s * R, -s * R @ so3.hat(second)))
        masses.append(own[0])
    return _stacked(masses, jacobians)


BETWEEN = Inertia("particles_between", 2, (), 8 * PARTICLES, _between)
"""Particles at `(1 - s) x1 + s x2` with x1 fixed in the first frame and x2 in the second. Constants per particle: mass,
s, x1, x2."""


def between_constants(rng: np.random.Generator) -> list[float]:
    """Constants of `BETWEEN`."""
    out: list[float] = []
    for _ in range(PARTICLES):
        out += [rng.uniform(0.2, 1), rng.uniform(0, 1), *(0.3 * rng.normal(size=6))]
    return out


def _rigid(pose: Any, q: Any, c: Any) -> Any:
    h, J = c[1:4], c[4:10]
    second = ca.vertcat(ca.horzcat(J[0], J[3], J[4]), ca.horzcat(J[3], J[1], J[5]), ca.horzcat(J[4], J[5], J[2]))
    return ca.blockcat([[c[0] * ca.DM.eye(3), -so3.hat(h)], [so3.hat(h), second]])


def _any(pose: Any, q: Any, c: Any) -> Any:
    A = ca.reshape(c, 6, 6)
    return A @ A.T


WEIGHTLESS = Inertia("any", 1, (), 36, _any, weightless=True)
"""Any positive matrix `A A'` in a frame, without weight. Constants: A by columns."""
WEIGHTLESS_BETWEEN = Inertia("weightless_between", 2, (), 8 * PARTICLES, _between, weightless=True)
"""The particles of `BETWEEN`, without weight."""

RIGID = Inertia("rigid", 1, (), 10, _rigid)
"""A rigid mass: mass, first moments, second moments (xx yy zz xy xz yz) about the frame's origin."""
