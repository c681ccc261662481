"""Fixed steps of a fleet: the functions of a robot evaluated by each method. The steps themselves are in `code/steps.h`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from pliant.analysis.integrators import (
    ExplicitRungeKutta,
    Method,
    Rosenbrock,
    SemiImplicit,
    SymplecticEuler,
    chosen_method,
)
from pliant.engine.outputs import carrying_nodes, output_function, output_names
from pliant.engine.symbolic import carried_function
from pliant.fleet.robot import ON_THE_CPU, Robot
from pliant.language.arguments import ArgumentError
from pliant.parts.geometry import so3


@dataclass(frozen=True)
class Part:
    """A function of a robot in the program: its name in C, the names of its arguments and results, and its definition."""

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
    """Accelerations and multipliers in a state."""
    M, h = robot.equations
    _, J, gamma, _ = robot.constraints
    y, a = _held(M, J, -h, -gamma)
    return part("robot_forward", state(robot), {"a1": a, "y1": -y})


def _held(M: Any, J: Any, force: Any, rows: Any) -> tuple[Any, Any]:
    """Multipliers y and x with M x + J' y = force and J x = rows."""
    m = J.size1()
    if not m:
        return ca.SX(0, 1), solve(M, force, symmetric=True)
    # elimination goes from the last row to the first: M, and then the Schur complement of the multipliers
    matrix = ca.vertcat(ca.horzcat(ca.SX(m, m), J), ca.horzcat(J.T, M))
    found = solve(matrix, ca.vertcat(rows, force), symmetric=True)
    return found[:m], found[m:]


def _group(robot: Robot) -> list[Part]:
    """Rates of positions, normalized positions, increments applied; and the projection on the constraints."""
    x = ca.SX.sym("x", robot.nv)
    q, v = robot.q, robot.v
    parts = [
        part("robot_rates", {"q": q, "v": v}, {"q1": robot.rate_matrix @ v}),
        part("robot_normalize", {"q": q}, {"q1": robot.normalized(q)}),
        part("robot_increment", {"q": q, "x": x}, {"q1": robot.increment(q, x)}),
    ]
    return [*parts, *_projection(robot)] if robot.m else parts


def _projection(robot: Robot) -> list[Part]:
    """The closest state in the mass metric: constraint errors of positions, a Newton step, and a change of rates."""
    M, _ = robot.equations
    phi, J, _, _ = robot.constraints
    rate = robot.in_force(robot.bound([robot.symbols.phi_rate])[0])
    zero = ca.SX.zeros(robot.nv)
    return [
        part("robot_gap", state(robot), {"gap": _largest(robot, phi)}),
        part("robot_nearer", state(robot), {"x": _held(M, J, zero, -phi)[1]}),
        part("robot_along", state(robot), {"x": _held(M, J, zero, -rate)[1]}),
    ]


def _largest(robot: Robot, rows: Any) -> Any:
    """The largest constraint error, or rate of one, relative to its size."""
    largest: Any = ca.SX(0)
    for value, size in zip(ca.vertsplit(rows), robot.sizes, strict=True):
        largest = ca.fmax(largest, ca.fabs(value) / size)
    return largest


def _gaps(robot: Robot) -> list[Part]:
    """Constraint errors and their rates, which Rosenbrock steps close with their own matrix."""
    phi, rate = robot.constraints[0], robot.in_force(robot.bound([robot.symbols.phi_rate])[0])
    return [
        part("robot_open", state(robot), {"phi": phi, "gap": _largest(robot, phi)}),
        part("robot_opening", state(robot), {"rate": rate, "gap": _largest(robot, rate)}),
    ]


def _explicit(robot: Robot) -> list[Part]:
    return [*_group(robot), forward(robot)]


def _semi_implicit(robot: Robot) -> list[Part]:
    """(M + h C + h^2 K) dv - J' p = -h (r + h K v), J (v + dv) = -phi / h - h (gamma + s''/2), at zero accelerations."""
    h, m = ca.SX.sym("h"), robot.m
    M, r = robot.equations
    phi, J, gamma, ahead = robot.constraints
    K, C = ca.jacobian(r, robot.q) @ robot.rate_matrix, ca.jacobian(r, robot.v)
    matrix, right = M + h * C + h * h * K, -h * (r + h * (K @ robot.v))
    if m:
        rows = -J @ robot.v - phi / h - h * (gamma + 0.5 * ahead)
        matrix = ca.vertcat(ca.horzcat(ca.SX(m, m), J), ca.horzcat(-J.T, matrix))
        right = ca.vertcat(rows, right)
    dv = solve(matrix, right, symmetric=False)[m:]
    return [*_group(robot), part("robot_change", {**state(robot), "h": h}, {"dv": dv})]


def _rosenbrock(robot: Robot) -> list[Part]:
    """The matrix [0, L S + Eq; -J', (s M + C) S + K] of a step, S = s + Gamma/2 and L = s J + Ev, its factors, and the products
    in its right-hand sides."""
    s, m = ca.SX.sym("s"), robot.m
    x, bx, bz, kv = (ca.SX.sym(name, robot.nv) for name in ("x", "bx", "bz", "kv"))
    y, z = ca.SX.sym("y", m), ca.SX.sym("right", robot.nv + m)
    free, acceleration = robot.bound([robot.symbols.residual, robot.symbols.phi_acceleration])
    c = robot.in_force(acceleration)
    J = robot.constraints[1]
    residual = free - J.T @ y
    M, C, Ev = ca.jacobian(residual, robot.a), ca.jacobian(residual, robot.v), ca.jacobian(c, robot.v)
    K, Eq = (ca.jacobian(e, robot.q) @ robot.rate_matrix for e in (residual, c))
    S = s * ca.SX.eye(robot.nv)
    for turn in robot.rotations:
        at = slice(turn.v_at, turn.v_at + 3)
        S[at, at] += 0.5 * so3.hat(robot.v[at])
    L = s * J + Ev
    matrix = (s * M + C) @ S + K
    if m:
        matrix = ca.vertcat(ca.horzcat(ca.SX(m, m), L @ S + Eq), ca.horzcat(-J.T, matrix))
    factors, again, inverse = packed(*factorized(matrix, symmetric=False))
    read = ca.vertcat(*([row[j] for row in again for j in sorted(row)] + list(inverse)))
    kept = {"M": M, "C": C, "J": J, "L": L}
    symbols = {name: ca.SX.sym(name, value.nnz()) for name, value in kept.items()}
    M1, C1, J1, L1 = (ca.SX(kept[name].sparsity(), symbols[name]) for name in kept)
    product = ca.vertcat(J1 @ bz + L1 @ bx, M1 @ kv + C1 @ bx)
    unbalanced = ca.vertcat(c, residual)
    ahead = -ca.jtimes(unbalanced, robot.t, ca.SX(1))
    evaluated = {**state(robot, a=True), "y": y}
    return [
        *_group(robot),
        *(_gaps(robot) if m else []),
        forward(robot),
        part("robot_residual", evaluated, {"r": unbalanced}),
        part(
            "robot_linear",
            {**evaluated, "s": s},
            {"factors": factors, **{name: value.nz[:] for name, value in kept.items()}, "f": ahead},
        ),
        part("robot_product", {**symbols, "bz": bz, "kv": kv, "bx": bx}, {"y1": product}),
        part("robot_solve", {"factors": read, "right": z}, {"y1": ca.vertcat(*solved(again, inverse, ca.vertsplit(z)))}),
        part("robot_turn", {"v": robot.v, "s": s, "x": x}, {"y1": S @ x}),
        part("robot_increment_rate", {"x": x, "v": robot.v}, {"y1": robot.increment_rate(x, robot.v)}),
    ]  # fmt: skip


STEPS: dict[type[Method], tuple[str, Callable[[Robot], list[Part]]]] = {
    ExplicitRungeKutta: ("EXPLICIT", _explicit),
    SymplecticEuler: ("SYMPLECTIC_EULER", _explicit),
    SemiImplicit: ("SEMI_IMPLICIT", _semi_implicit),
    Rosenbrock: ("ROSENBROCK", _rosenbrock),
}
"""Methods of fleets: their names in `steps.h`, and the functions that they need."""


def fleet_method(method: Method | str | None, step: float | None) -> Method:
    """The method of a fleet, with fixed steps."""
    if method is None and step is None:
        raise ArgumentError("a fleet needs a fixed step", "give it in seconds: step=1e-3")
    chosen = chosen_method(Rosenbrock.name if method is None else method, step=step)
    assert chosen is not None, "a method or a step was given"
    if not chosen.fixed:
        raise ArgumentError(f"a fleet needs a fixed step; {type(chosen).__name__} has none", "give its step [s]")
    return chosen


def step_parts(robot: Robot, method: Method) -> tuple[str, list[Part]]:
    """Name of a method in `steps.h`, and the functions that it evaluates."""
    name, parts = STEPS[type(method)]
    return name, parts(robot)


# -- linear systems, by elimination without pivoting -------------------------------------------------------------------

Rows = list[dict[int, Any]]


def rows_of(matrix: Any) -> Rows:
    """The nonzero entries of a matrix, by row and column."""
    found: Rows = [{} for _ in range(matrix.size1())]
    pattern = matrix.sparsity()
    values = matrix.nz[:]
    for k, (i, j) in enumerate(zip(pattern.row(), pattern.get_col(), strict=True)):
        if not values[k].is_zero():
            found[i][j] = values[k]
    return found


def factorized(matrix: Any, *, symmetric: bool) -> tuple[Rows, list[Any]]:
    """Rows of a matrix A = U L, with 1 on the diagonal of U, and the reciprocals of the diagonal of L.

    Entry (i, j) is that of L for j < i and of U for j > i. symmetric: whether the matrix is; entries below its diagonal are then
    not read.
    """
    n = matrix.size1()
    # in a mass matrix the entries above the diagonal are shorter: forces of the motion of a tip on its carriers
    rows = rows_of(ca.triu(matrix).T if symmetric else matrix)
    inverse: list[Any] = [None] * n
    for k in reversed(range(n)):
        if k not in rows[k]:
            raise ArgumentError(
                "the matrix of this robot has a zero on its diagonal: some coordinate moves no inertia,"
                " and fleets do not exchange rows",
                "give every moving body mass and inertia, or use pliant.simulate",
            )
        inverse[k] = 1 / rows[k][k]
        below = {j: x for j, x in rows[k].items() if j < k}
        above = below if symmetric else {i: rows[i][k] for i in range(k) if k in rows[i]}
        for i, x in above.items():
            factor = x * inverse[k]
            for j, y in below.items():
                if not symmetric or j <= i:
                    rows[i][j] = rows[i][j] - factor * y if j in rows[i] else -factor * y
            rows[i][k] = factor
    return rows, inverse


def solved(rows: Rows, inverse: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """The solution x of A x = right with the factors of A."""
    n, x = len(rows), list(right)
    for k in reversed(range(n)):
        for i in range(k):
            if k in rows[i]:
                x[i] = x[i] - rows[i][k] * x[k]
    for k in range(n):
        for j in range(k):
            if j in rows[k]:
                x[k] = x[k] - rows[k][j] * x[j]
        x[k] = x[k] * inverse[k]
    return x


def solve(matrix: Any, right: Any, *, symmetric: bool) -> Any:
    """The solution of a system of expressions."""
    rows, inverse = factorized(matrix, symmetric=symmetric)
    return ca.vertcat(*solved(rows, inverse, ca.vertsplit(ca.densify(right)))) if rows else right


def packed(rows: Rows, inverse: Sequence[Any]) -> tuple[Any, Rows, list[Any]]:
    """The factors as one list, and the same factors read from symbols in that order: for separate functions that factorize and
    solve."""
    places = [(i, j) for i, row in enumerate(rows) for j in sorted(row) if j != i]
    numbers = ca.vertcat(*[rows[i][j] for i, j in places], *inverse)
    read = ca.SX.sym("factors", numbers.numel())
    again: Rows = [{} for _ in rows]
    for k, (i, j) in enumerate(places):
        again[i][j] = read[k]
    return numbers, again, [read[len(places) + k] for k in range(len(rows))]


# -- outputs and poses of frames ---------------------------------------------------------------------------------------


def output_parts(robot: Robot, names: tuple[str, ...]) -> tuple[list[Part], dict[str, int]]:
    """Functions that evaluate some outputs, and the number of components of each."""
    model, (signals, rates, _) = robot.eqs.model, robot.signals
    function = output_function(model)
    # inactive rows have no multipliers
    y, multipliers = ca.SX.sym("y", robot.m), ca.SX.zeros(model.system.rows)
    for k, row in enumerate(robot.rows):
        multipliers[row] = y[k]
    carried = ca.SX(0, 1)
    if nodes := carrying_nodes(model):
        carried = carried_function(model.system, nodes)(
            robot.q, robot.v, robot.a, multipliers, robot.constants, signals, rates
        )
    kinetic, potential = robot.bound([robot.symbols.kinetic, robot.symbols.potential])
    dissipated = ca.SX.sym("dissipated")
    energies = ca.vertcat(kinetic, potential, dissipated)
    contacts = ca.SX.zeros(function.size1_in(9))
    found = function.call(
        [robot.q, robot.v, robot.a, multipliers, robot.constants, signals, rates, carried, energies, contacts]
    )
    known = dict(zip(output_names(model), found, strict=True))
    for name in names:
        if ca.depends_on(known[name], dissipated):
            raise ArgumentError(
                f"the output '{name}' depends on the energy dissipated since the start, which fleets do not compute",
                ON_THE_CPU,
            )
    return _values(robot, y, [known[name] for name in names]), {name: known[name].numel() for name in names}


def frame_parts(robot: Robot, name: str) -> list[Part]:
    """Functions that evaluate the pose of a frame: rotation matrix by rows (9), then position (3) [m]."""
    entry, theta = robot.eqs.model.frames[name], robot.symbols.constants
    R, p = robot.symbols.poses[entry.node]
    at = entry.constants
    placement = ca.reshape(theta[at : at + 9], 3, 3), theta[at + 9 : at + 12]
    return _values(robot, ca.SX.sym("y", robot.m), robot.bound([ca.vec((R @ placement[0]).T), p + R @ placement[1]]))


def _values(robot: Robot, y: Any, expressions: list[Any]) -> list[Part]:
    values = ca.vertcat(*expressions)
    last = part("robot_values", {**state(robot, a=True), "y": y}, {"values": values})
    return [forward(robot), last] if ca.depends_on(values, ca.vertcat(robot.a, y)) else [last]
