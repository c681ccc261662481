"""Long formulas of `so3` and `se3` as cached functions: one call replaces hundreds of CasADi operations.

They are used for shapes with many sections. The arguments are numbers or expressions (SX); kernels, which are optimized as
a whole, use the formulas themselves.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import casadi as ca

from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose


@cache
def _function(formula: Callable[[Any], Any], rows: int, columns: int) -> ca.Function:
    x = ca.SX.sym("x", rows, columns)
    result = formula(x)
    return ca.Function("formula", [x], list(result) if isinstance(result, tuple) else [result])


def _call(formula: Callable[[Any], Any], x: Any) -> list[Any]:
    return list(_function(formula, *x.shape).call([x]))


def exp(twist: Any) -> Pose:
    """`se3.exp`: pose reached by the constant body twist (linear, angular) in unit time."""
    R, p = _call(se3.exp, twist)
    return R, p


def log(pose: Pose) -> Any:
    """`se3.log`: the twist (linear, angular) with `exp(twist) == pose`; angles up to pi."""
    return _call(_log, ca.horzcat(*pose))[0]


def _log(x: Any) -> Any:
    return se3.log((x[:, 0:3], x[:, 3]))


def quaternion_exp(w: Any) -> Any:
    """`so3.quaternion_exp`: unit quaternion of a rotation vector [rad]."""
    return _call(so3.quaternion_exp, w)[0]


def matrix_quaternion(R: Any) -> Any:
    """`so3.matrix_quaternion`: unit quaternion of a rotation matrix."""
    return _call(so3.matrix_quaternion, R)[0]
