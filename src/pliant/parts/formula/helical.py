"""Forces on the helix between two frames: conjugate to `x = (v, alpha)`, the logarithm of their relative pose.

Its rate is `D(x)` times the relative twist, with the inverse left Jacobian of rigid motions

    D = [A, B; 0, A],    A = 1 - hat(alpha)/2 + c hat(alpha)^2,    B = the derivative of A(alpha) along v,

where c is a function of the angle a = |alpha| only, (1 - a/2 cot(a/2)) / a^2. All entries are polynomials in v, alpha, c and
c' = dc/da / a, and so are their derivatives with c'' = dc'/da / a. A force f conjugate to x gives the wrench D'f on the second
frame, and with the relative increment as the twist of x,

    K = (D' (df/dx + df/drate P) + Q) D,    C = D' df/drate D,    P = d(D twist)/dx,    Q = d(D'f)/dx  at the same twist and force.

The general form (`relative_force`) gives the same numbers with kernels that are two to four times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import casadi as ca

from pliant.parts.formula.base import Effect
from pliant.parts.formula.relative import ENDS, RelativeForce, in_world
from pliant.parts.geometry import so3
from pliant.parts.geometry.se3 import Pose

HelixLaw = Callable[[Any, Any, Any, Any], Effect]
HelixSlopes = Callable[[Any, Any, Any, Any], tuple[Any, Any, Any, Any]]


def helical_force(name: str, *, constants: int, signals: int, law: HelixLaw, slopes: HelixSlopes) -> RelativeForce:
    """A force between two frames on the helix from one to the other.

    `law(x, rate, constants, signals)` gives the force conjugate to the logarithm x (6), `slopes` of the same arguments this force
    and its derivatives with respect to x, rate and signals (6 x 6, 6 x 6, 6 x s). The `constants` begin with `ENDS`.
    """

    def answer(pose: Pose, twist: Any, own: Any, signal: Any) -> tuple[Any, ...]:
        x, functions = _logarithm(pose)
        rate = _rate(x, functions, twist)
        effect = law(x, rate, _with_ends(own), signal)
        return _wrench(x, functions, effect.force), effect.energy, effect.dissipation, effect.supply

    def tangent(pose: Pose, twist: Any, own: Any, signal: Any) -> tuple[Any, ...]:
        x, functions = _logarithm(pose)
        rate = _rate(x, functions, twist)
        force, by_x, by_rate, by_signal = slopes(x, rate, _with_ends(own), signal)
        D, P, Q = _helix_derivatives()(x, functions, twist, force)
        K = (D.T @ (by_x + by_rate @ P) + Q) @ D
        return _wrench(x, functions, force), K, D.T @ by_rate @ D, D.T @ by_signal

    return in_world(name, constants, signals, True, answer, tangent)


def _with_ends(own: Any) -> Any:
    """The constants in the layout of the law, with zeros for the placement of the ends."""
    return ca.vertcat(ca.SX(ENDS.size, 1), own)


def _logarithm(pose: Pose) -> tuple[Any, Any]:
    """The logarithm of a pose, and c, c', c'' of its angle, with a single inverse tangent."""
    R, p = pose
    Q = so3.matrix_quaternion(R)
    sign = ca.if_else(Q[0] < 0, -1.0, 1.0)
    cosine, sines = sign * Q[0], sign * Q[1:4]
    half = so3.angle_per_sine(ca.dot(sines, sines), cosine)
    alpha = 2 * half * sines
    functions = so3.inverse_jacobian_functions(ca.dot(alpha, alpha), half * cosine)
    c = functions[0]
    v = p - ca.cross(alpha, p) / 2 + c * (alpha * ca.dot(alpha, p) - ca.dot(alpha, alpha) * p)
    return ca.vertcat(v, alpha), functions


def _rate(x: Any, functions: Any, twist: Any) -> Any:
    """D twist."""
    c, slope = functions[0], functions[1]
    v, alpha, u, w = x[0:3], x[3:6], twist[0:3], twist[3:6]
    a2, along = ca.dot(alpha, alpha), ca.dot(alpha, v)

    def turned(y: Any) -> Any:
        """hat(alpha)^2 y"""
        return alpha * ca.dot(alpha, y) - a2 * y

    mixed = v * ca.dot(alpha, w) + alpha * ca.dot(v, w) - 2 * along * w
    linear = u + (ca.cross(u, alpha) + ca.cross(w, v)) / 2 + c * (turned(u) + mixed) + slope * along * turned(w)
    return ca.vertcat(linear, w + ca.cross(w, alpha) / 2 + c * turned(w))


def _wrench(x: Any, functions: Any, force: Any) -> Any:
    """D' force: like D, with v and alpha negated and the two parts exchanged."""
    turned = _rate(-x, functions, ca.vertcat(force[3:6], force[0:3]))
    return ca.vertcat(turned[3:6], turned[0:3])


@cache
def _helix_derivatives() -> ca.Function:
    """For x, (c, c', c''), twist and force: D, P and Q of the module's docstring, as sparse matrices."""
    x, functions = ca.SX.sym("x", 6), ca.SX.sym("c", 3)
    twist, force = ca.SX.sym("twist", 6), ca.SX.sym("force", 6)
    angle = ca.horzcat(ca.SX(1, 3), x[3:6].T)  # half the derivative of the squared angle with respect to x

    def by_x(y: Any) -> Any:
        return ca.jacobian(y, x) + (ca.jacobian(y, functions[0:2]) @ functions[1:3]) @ angle

    rate, wrench = _rate(x, functions, twist), _wrench(x, functions, force)
    D = ca.jacobian(rate, twist)
    return ca.Function("helix", [x, functions, twist, force], [D, by_x(rate), by_x(wrench)], {"cse": True})
