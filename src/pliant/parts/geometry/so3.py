"""Rotations in space: hat, exponential, logarithm, unit quaternions.

Functions of an angle that would divide by zero at zero (`sin(x)/x` and similar) are written in `x^2` and switch
to their Taylor series below `SERIES_BELOW`, so values and derivatives stay exact to round-off through zero.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca

# Below this value of x^2 the series is exact to round-off; above it the closed forms lose at most 1e-14.
SERIES_BELOW = 0.25
SERIES_TERMS = 9


def reciprocal(x: Any) -> Any:
    """1/x as a factor, with a single division: CasADi turns every product with `1 / x` into a division by x."""
    return 2 * (0.5 / x)


def hat(w: Any) -> Any:
    """The 3x3 skew matrix with `hat(w) @ x == cross(w, x)`."""
    return ca.skew(w)


def vee(W: Any) -> Any:
    """The 3-vector of a skew matrix; the skew part of a general one."""
    return 0.5 * ca.vertcat(W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1])


def _series(x2: Any, first: int) -> Any:
    """sum_k (-1)^k x2^k / (2k + first)!  evaluated by Horner's rule."""
    value: Any = 0.0
    for k in reversed(range(SERIES_TERMS)):
        value = (-1) ** k / math.factorial(2 * k + first) + x2 * value
    return value


def _switch(x2: Any, series: Any, closed_form: Any) -> Any:
    """`series` near zero, `closed_form(x2_safe)` elsewhere; the unused branch never divides by zero."""
    near = x2 < SERIES_BELOW
    safe = ca.if_else(near, 1.0, x2)
    return ca.if_else(near, series, closed_form(safe))


def sinc(x2: Any) -> Any:
    """sin(x)/x as a function of x^2."""
    return _switch(x2, _series(x2, 1), lambda y: ca.sin(ca.sqrt(y)) / ca.sqrt(y))


def cosc(x2: Any) -> Any:
    """(1 - cos x)/x^2 as a function of x^2."""
    return _switch(x2, _series(x2, 2), lambda y: (1 - ca.cos(ca.sqrt(y))) / y)


def sinc3(x2: Any) -> Any:
    """(x - sin x)/x^3 as a function of x^2."""
    return _switch(x2, _series(x2, 3), lambda y: (ca.sqrt(y) - ca.sin(ca.sqrt(y))) / (y * ca.sqrt(y)))


def cosc4(x2: Any) -> Any:
    """(x^2 / 2 - 1 + cos x)/x^4 as a function of x^2."""
    return _switch(x2, _series(x2, 4), lambda y: (y / 2 - 1 + ca.cos(ca.sqrt(y))) / y**2)


def sinc5(x2: Any) -> Any:
    """(2 x - 3 sin x + x cos x)/(2 x^5) as a function of x^2."""
    series: Any = 0.0
    for k in reversed(range(SERIES_TERMS)):
        series = (-1) ** k * (k + 1) / math.factorial(2 * k + 5) + x2 * series

    def closed(y: Any) -> Any:
        x = ca.sqrt(y)
        return (2 * x - 3 * ca.sin(x) + x * ca.cos(x)) / (2 * x * y**2)

    return _switch(x2, series, closed)


class AngleFunctions(NamedTuple):
    """The five functions above at one angle, or their derivatives by its square."""

    sinc: Any
    cosc: Any
    sinc3: Any
    cosc4: Any
    sinc5: Any


def angle_functions(x2: Any) -> tuple[AngleFunctions, AngleFunctions]:
    """All five and their derivatives with respect to x^2, with a third of the operations of separate evaluations.

    They consist of `f_n = sum_k (-1)^k x2^k / (2k + n)!`, for which `f_n = 1/n! - x2 f_(n+2)` and
    `df_n/dx2 = (n f_(n+2) - f_(n+1)) / 2`. All follow from f_6 and f_7 by downward recursion without loss of digits. These two come
    from a series or, if x2 is above one, from the sine and the cosine by upward recursion, which is accurate there.
    """
    near = x2 < 1.0
    safe = ca.if_else(near, 1.0, x2)
    angle = ca.sqrt(safe)
    f: dict[int, Any] = {1: ca.sin(angle) / angle, 2: (1 - ca.cos(angle)) / safe}
    for n in range(1, 6):
        f[n + 2] = (1 / math.factorial(n) - f[n]) / safe
    for n in (6, 7):
        f[n] = ca.if_else(near, _series(x2, n), f[n])
    for n in reversed(range(1, 6)):
        f[n] = 1 / math.factorial(n) - x2 * f[n + 2]
    slope = {n: (n * f[n + 2] - f[n + 1]) / 2 for n in range(1, 6)}
    values, slopes = (AngleFunctions(g[1], g[2], g[3], g[4], (g[4] - 3 * g[5]) / 2) for g in (f, slope))
    return values, slopes


def functions_of(w: Any) -> AngleFunctions:
    """The five functions, evaluated separately: shorter if only a few are used."""
    x2 = ca.dot(w, w)
    return AngleFunctions(sinc(x2), cosc(x2), sinc3(x2), cosc4(x2), sinc5(x2))


def exp(w: Any, at: AngleFunctions | None = None) -> Any:
    """Rotation matrix of the rotation vector `w` [rad]; `at`: the functions of its angle, if available."""
    W, at = hat(w), at or functions_of(w)
    return ca.DM.eye(3) + at.sinc * W + at.cosc * (W @ W)


def left_jacobian(w: Any, at: AngleFunctions | None = None) -> Any:
    """V(w) = integral_0^1 exp(x hat(w)) dx = I + cosc hat(w) + sinc3 hat(w)^2."""
    W, at = hat(w), at or functions_of(w)
    return ca.DM.eye(3) + at.cosc * W + at.sinc3 * (W @ W)


def axis_rotation(axis: Any, angle: Any) -> Any:
    """Rotation matrix about the unit vector `axis` by `angle` [rad]."""
    K = hat(axis)
    return ca.DM.eye(3) + ca.sin(angle) * K + (1 - ca.cos(angle)) * (K @ K)


def quaternion_matrix(Q: Any) -> Any:
    """Rotation matrix of the unit quaternion `[w, x, y, z]`."""
    w, x, y, z = Q[0], Q[1], Q[2], Q[3]
    return ca.vertcat(
        ca.horzcat(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        ca.horzcat(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        ca.horzcat(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


def quaternion_rate_matrix(Q: Any) -> Any:
    """N(Q), 4x3: `dQ/dt = N(Q) w` for the body angular velocity `w`, and `dQ = N(Q) phi` for an increment."""
    w, x, y, z = Q[0], Q[1], Q[2], Q[3]
    return 0.5 * ca.vertcat(ca.horzcat(-x, -y, -z), ca.horzcat(w, -z, y), ca.horzcat(z, w, -x), ca.horzcat(-y, x, w))


def quaternion_product(a: Any, b: Any) -> Any:
    """Hamilton product; `matrix(a (x) b) = matrix(a) @ matrix(b)`."""
    return ca.vertcat(
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


def quaternion_conjugate(Q: Any) -> Any:
    """The inverse rotation of a unit quaternion."""
    return ca.vertcat(Q[0], -Q[1], -Q[2], -Q[3])


def quaternion_exp(w: Any) -> Any:
    """Unit quaternion of the rotation vector `w` [rad]."""
    x2 = ca.dot(w, w) / 4
    half = 0.5 * sinc(x2)
    # cos(x) = 1 - x^2 cosc(x^2) keeps the series' accuracy near zero
    return ca.vertcat(1 - x2 * cosc(x2), half * w)


def angle_per_sine(sine2: Any, cosine: Any) -> Any:
    """x / sin(x) of an angle x in [0, pi) from the square of its sine and its cosine."""
    near = ca.logic_and(sine2 < 1e-2, cosine > 0)
    safe = ca.sqrt(ca.if_else(sine2 < 1e-2, ca.fmax(sine2, 1e-300), sine2))
    return ca.if_else(near, _asin_series(sine2), ca.atan2(safe, cosine) / safe)


def _asin_series(s2: Any) -> Any:
    """asin(s)/s as a series in s^2, exact to round-off below 0.1."""
    series: Any = 0.0
    for k in reversed(range(12)):
        series = math.factorial(2 * k) / (4**k * math.factorial(k) ** 2 * (2 * k + 1)) + s2 * series
    return series


def quaternion_log(Q: Any) -> Any:
    """Rotation vector [rad] of a unit quaternion, of length at most pi (the nearer of `Q` and `-Q`)."""
    sign = ca.if_else(Q[0] < 0, -1.0, 1.0)
    w, v = sign * Q[0], sign * Q[1:4]
    s2 = ca.dot(v, v)
    near = s2 < 1e-2
    safe = ca.sqrt(ca.if_else(near, 1.0, s2))
    # near zero the vector part alone determines the angle of a unit quaternion
    return 2 * ca.if_else(near, _asin_series(s2), ca.atan2(safe, w) / safe) * v


def matrix_quaternion(R: Any) -> Any:
    """Unit quaternion of a rotation matrix, choosing the numerically largest of its four forms."""
    t = R[0, 0] + R[1, 1] + R[2, 2]
    candidates = [
        ca.vertcat(1 + t, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]),
        ca.vertcat(R[2, 1] - R[1, 2], 1 + 2 * R[0, 0] - t, R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]),
        ca.vertcat(R[0, 2] - R[2, 0], R[0, 1] + R[1, 0], 1 + 2 * R[1, 1] - t, R[1, 2] + R[2, 1]),
        ca.vertcat(R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], 1 + 2 * R[2, 2] - t),
    ]
    best, size = candidates[0], t
    for k, c in enumerate(candidates[1:]):
        larger = R[k, k] > size
        best = ca.if_else(larger, c, best)
        size = ca.if_else(larger, R[k, k], size)
    return reciprocal(ca.norm_2(best)) * best


def log(R: Any) -> Any:
    """Rotation vector [rad] of a rotation matrix, of length at most pi."""
    return quaternion_log(matrix_quaternion(R))


# Bernoulli numbers give (1 - (x/2) cot(x/2))/x^2 = 1/12 + x^2/720 + ...
_BERNOULLI = (1 / 6, 1 / 30, 1 / 42, 1 / 30, 5 / 66, 691 / 2730, 7 / 6, 3617 / 510, 43867 / 798)
_COTANGENT = tuple(b / math.factorial(2 * k + 2) for k, b in enumerate(_BERNOULLI))


def _polynomial(coefficients: Sequence[float], x: Any) -> Any:
    """A polynomial by Horner's rule, the constant term first."""
    value: Any = 0.0
    for c in reversed(coefficients):
        value = c + x * value
    return value


def inverse_left_jacobian(w: Any) -> Any:
    """V(w)^-1, singular at |w| = 2 pi."""
    W, x2 = hat(w), ca.dot(w, w)

    def closed_form(y: Any) -> Any:
        x = ca.sqrt(y)
        return (1 - 0.5 * x * ca.sin(x) / (1 - ca.cos(x))) / y

    return ca.DM.eye(3) - 0.5 * W + _switch(x2, _polynomial(_COTANGENT, x2), closed_form) * (W @ W)


def inverse_jacobian_functions(x2: Any, cotangent: Any) -> Any:
    """c = (1 - g)/x^2, c' = dc/dx / x and c'' = dc'/dx / x of an angle x from its square and g = (x/2) cot(x/2), as a column.

    V^-1 = 1 - hat/2 + c hat^2. As g' = (g - g^2 - x^2/4) / x, each follows from those before it, or near zero from the series.
    """
    near = x2 < SERIES_BELOW
    over = reciprocal(ca.if_else(near, 1.0, x2))
    first: Sequence[float] = _COTANGENT
    functions: list[Any] = []
    for order in range(3):
        if order == 0:
            closed = (1 - cotangent) * over
        elif order == 1:
            closed = (0.25 - 3 * functions[0] + functions[0] ** 2 * x2) * over
        else:
            closed = (2 * functions[0] ** 2 - 5 * functions[1] + 2 * functions[0] * functions[1] * x2) * over
        functions.append(ca.if_else(near, _polynomial(first, x2), closed))
        first = tuple(2 * k * c for k, c in enumerate(first))[1:]
    return ca.vertcat(*functions)
