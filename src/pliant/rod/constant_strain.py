"""A piece of rod with constant strains: the exponential of a twist, and its derivatives in few operations."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import casadi as ca

from pliant.geometry import se3, so3


@cache
def exponential() -> ca.Function:
    """Of a twist (6): rotation matrix, position, and the twist of its end in base axes per unit of each entry (6 x 6)."""
    x = ca.SX.sym("x", 6)
    at, _ = so3.angle_functions(ca.dot(x[3:6], x[3:6]))
    return ca.Function("exponential", [x], [*se3.exp(x, at), se3.left_jacobian(x, at)], {"cse": True})


@cache
def load_slope() -> ca.Function:
    """For a twist x and a wrench (6 each): derivative with respect to x of the wrench's work per unit of each entry of x (6 x
    6)."""
    x, wrench = ca.SX.sym("x", 6), ca.SX.sym("f", 6)
    slope = _along(lambda x, at: se3.left_jacobian(x, at).T @ wrench, x, ca.SX.eye(6))
    return ca.Function("load_slope", [x, wrench], [ca.densify(slope)], {"cse": True})


@cache
def twist_slope() -> ca.Function:
    """For a twist x and its rate y (6 each): derivative of the end's twist `left_jacobian(x) y` along y, at constant y (6)."""
    x, y = ca.SX.sym("x", 6), ca.SX.sym("y", 6)
    slope = _along(lambda x, at: se3.left_jacobian(x, at) @ y, x, y)
    return ca.Function("twist_slope", [x, y], [ca.densify(slope)], {"cse": True})


def _along(expression: Callable[[Any, so3.AngleFunctions], Any], x: Any, directions: Any) -> Any:
    """Derivatives of an expression of a twist x and of the functions of its angle, one column per direction (6 x n).

    The functions are treated as independent variables with known derivatives.
    """
    values, slopes = so3.angle_functions(ca.dot(x[3:6], x[3:6]))
    symbols = ca.SX.sym("f", len(values))
    moving = ca.vertcat(directions, ca.vertcat(*slopes) @ (2 * x[3:6].T @ directions[3:6, :]))
    found = expression(x, so3.AngleFunctions(*ca.vertsplit(symbols)))
    return ca.substitute(ca.jtimes(found, ca.vertcat(x, symbols), moving), symbols, ca.vertcat(*values))
