"""Fixed steps of a fleet: which functions of a robot each method evaluates. The steps themselves are in `code/steps.h`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca

from pliant.fleet.elimination import factorized, packed, solve, solved
from pliant.fleet.robot import ON_THE_CPU, Robot
from pliant.geometry import so3
from pliant.language.arguments import ArgumentError
from pliant.solve.motion.integrator import ExplicitRungeKutta, Method, Rosenbrock, SemiImplicit, chosen_method


@dataclass(frozen=True)
class Part:
    """A function of a robot in the program: its name in C, those of its arguments, of its results, and what it computes."""

    name: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    function: ca.Function


def part(name: str, arguments: dict[str, Any], results: dict[str, Any]) -> Part:
    """A part from expressions."""
    function = ca.Function(name, list(arguments.values()), ca.cse([ca.densify(ca.SX(x)) for x in results.values()]))
    return Part(name, tuple(arguments), tuple(results), function)


def state(robot: Robot, *, a: bool = False) -> dict[str, Any]:
    """Arguments of functions of the state."""
    own = {"t": robot.t, "q": robot.q, "v": robot.v, **({"a": robot.a} if a else {})}
    return {**own, "u": robot.u, "c": robot.c}


def forward(robot: Robot) -> Part:
    """Accelerations in a state."""
    M, h = robot.equations
    return part("robot_forward", state(robot), {"a1": solve(M, -h, symmetric=True)})


def _group(robot: Robot) -> list[Part]:
    """Rates of positions, positions of length one, increments applied."""
    x = ca.SX.sym("x", robot.nv)
    q, v = robot.q, robot.v
    return [
        part("robot_rates", {"q": q, "v": v}, {"q1": robot.rate_matrix @ v}),
        part("robot_normalize", {"q": q}, {"q1": robot.normalized(q)}),
        part("robot_increment", {"q": q, "x": x}, {"q1": robot.increment(q, x)}),
    ]


def _explicit(robot: Robot) -> list[Part]:
    return [*_group(robot), forward(robot)]


def _semi_implicit(robot: Robot) -> list[Part]:
    """(M + h C + h^2 K) dv = -h (r + h K v), at rest of accelerations."""
    h = ca.SX.sym("h")
    M, r = robot.equations
    K, C = ca.jacobian(r, robot.q) @ robot.rate_matrix, ca.jacobian(r, robot.v)
    dv = solve(M + h * C + h * h * K, -h * (r + h * (K @ robot.v)), symmetric=False)
    return [*_group(robot), part("robot_change", {**state(robot), "h": h}, {"dv": dv})]


def _rosenbrock(robot: Robot) -> list[Part]:
    """The matrix (s M + C) S + K of a step, S = s + Gamma/2, its factors, and products with M and C."""
    s = ca.SX.sym("s")
    x, bx, bz = (ca.SX.sym(name, robot.nv) for name in ("x", "bx", "bz"))
    residual = robot.bound([robot.symbols.residual])[0]
    M, C = ca.jacobian(residual, robot.a), ca.jacobian(residual, robot.v)
    K = ca.jacobian(residual, robot.q) @ robot.rate_matrix
    S = s * ca.SX.eye(robot.nv)
    for turn in robot.rotations:
        at = slice(turn.v_at, turn.v_at + 3)
        S[at, at] += 0.5 * so3.hat(robot.v[at])
    factors, again, inverse = packed(*factorized((s * M + C) @ S + K, symmetric=False))
    right = ca.SX.sym("right", robot.nv)
    read = ca.vertcat(*_symbols_of(again, inverse))
    m, c = ca.SX.sym("M", M.nnz()), ca.SX.sym("C", C.nnz())
    product = ca.SX(M.sparsity(), m) @ bz + ca.SX(C.sparsity(), c) @ bx
    ahead = -ca.jtimes(residual, robot.t, ca.SX(1))
    evaluated = state(robot, a=True)
    return [
        *_group(robot),
        forward(robot),
        part("robot_residual", evaluated, {"r": residual}),
        part("robot_linear", {**evaluated, "s": s}, {"factors": factors, "M": M.nz[:], "C": C.nz[:], "f": ahead}),
        part("robot_product", {"M": m, "C": c, "bz": bz, "bx": bx}, {"y": product}),
        part("robot_solve", {"factors": read, "right": right}, {"y": ca.vertcat(*solved(again, inverse, ca.vertsplit(right)))}),
        part("robot_turn", {"v": robot.v, "s": s, "x": x}, {"y": S @ x}),
        part("robot_increment_rate", {"x": x, "v": robot.v}, {"y": robot.increment_rate(x, robot.v)}),
    ]  # fmt: skip


def _symbols_of(rows: list[dict[int, Any]], inverse: list[Any]) -> list[Any]:
    return [row[j] for row in rows for j in sorted(row)] + list(inverse)


STEPS: dict[type[Method], tuple[str, Callable[[Robot], list[Part]]]] = {
    ExplicitRungeKutta: ("EXPLICIT", _explicit),
    SemiImplicit: ("SEMI_IMPLICIT", _semi_implicit),
    Rosenbrock: ("ROSENBROCK", _rosenbrock),
}
"""Methods that fleets have: how `steps.h` calls them, and the functions that they need."""


def fleet_method(method: Method | str | None, step: float | None) -> Method:
    """The method of a fleet: one with fixed steps that it has."""
    if method is None and step is None:
        raise ArgumentError("a fleet takes fixed steps, and needs to know their size", "step=1e-3, for instance")
    chosen = chosen_method(Rosenbrock.name if method is None else method, step=step)
    assert chosen is not None, "a method or a step was given"
    if type(chosen) not in STEPS:
        known = ", ".join(kind.name for kind in STEPS)
        raise ArgumentError(f"a fleet has no method '{chosen.name}'", f"it has {known}; or {ON_THE_CPU}")
    if not chosen.fixed:
        raise ArgumentError(f"a fleet takes fixed steps; {type(chosen).__name__} has none", "give its step [s]")
    return chosen


def step_parts(robot: Robot, method: Method) -> tuple[str, list[Part]]:
    """How `steps.h` calls a method, and the functions that it evaluates."""
    name, parts = STEPS[type(method)]
    return name, parts(robot)
