"""Rayleigh damping given at modes: their frequencies, for each rod separately, as expressions of its parameters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import casadi as ca
import numpy as np
import scipy

from pliant.analysis.linear.eigenmodes import in_order, small_motions
from pliant.engine.equations import Equations, say_once
from pliant.engine.model.model import compile_model
from pliant.engine.symbolic import symbolic_system
from pliant.language.faults import Fault, SpecError
from pliant.parts.rod.rod import Rod
from pliant.parts.world import World
from pliant.robot.robot import RobotSpec

NEAR = 4.0
"""Modes up to this multiple of the highest wanted frequency are followed: they may become lower than others."""
ITERATIONS = 2
"""Inverse iterations. The error of a Ritz value shrinks each time by the square of its ratio to the lowest omitted eigenvalue."""
SWEEPS = 6
"""Jacobi sweeps, which converge quadratically."""
SAME = 1e-6
"""Largest relative difference from the frequencies that were computed otherwise."""
FEW_MODES = 60
"""Number of coordinates up to which products with the mass matrix take fewer operations than inverse dynamics."""
TINY = 1e-150
"""Keeps rotations of equal eigenvalues without coupling finite."""

Inertia = Callable[[ca.SX], ca.SX]
"""Inertia forces for accelerations, in columns."""


def frequency_function(eqs: Equations, frequencies: list[float]) -> ca.Function | None:
    """`parameters -> frequencies` [Hz] of the lowest modes of a rod alone, as many as `found` at the model's own values; None if
    the expressions do not reproduce these."""
    model = eqs.model
    p = ca.SX.sym("p", len(model.parameter_names))
    own = model.parameter_vector()
    K, M, inertia = _stiffness_and_mass(eqs, p)
    at = ca.Function("at", [p], [K, M])
    K0, M0 = (np.asarray(ca.DM(x)) for x in at(own))
    linked = scipy.sparse.csr_matrix(
        (np.asarray(ca.DM(K.sparsity(), 1)) != 0) | (np.asarray(ca.DM(M.sparsity(), 1)) != 0)
    )
    count, label = scipy.sparse.csgraph.connected_components(linked, directed=False)
    highest, values = NEAR * max(frequencies), []
    for block in range(count):
        rows = np.flatnonzero(label == block)
        try:
            squares, shapes = scipy.linalg.eigh(K0[np.ix_(rows, rows)], M0[np.ix_(rows, rows)])
        except np.linalg.LinAlgError:
            return None
        if squares[0] <= 0:
            return None
        kept = min(len(rows), 1 + int(np.sum(np.sqrt(squares) <= 2 * np.pi * highest)))
        forces = partial(_on_block, inertia, rows, len(K0))
        values += _lowest_frequencies(K[rows.tolist(), rows.tolist()], forces, shapes[:, :kept], squares[:kept])
    function = ca.Function(
        "frequencies", [p], [ca.vertcat(*[ca.sqrt(x) / (2 * ca.pi) for x in _sorted(values, len(frequencies))])]
    )
    check = np.asarray(function(own)).ravel()
    return function if np.all(np.abs(check - frequencies) <= SAME * np.abs(frequencies)) else None


def _stiffness_and_mass(eqs: Equations, p: ca.SX) -> tuple[ca.SX, ca.SX, Inertia]:
    """Derivatives of the residual with respect to increments of the positions and to accelerations, at rest in the initial pose;
    and the latter as a function of accelerations, which takes fewer operations than its matrix if it is large."""
    model, x = eqs.model, symbolic_system(eqs.model.system)
    start = model.initial(p)[0]
    signals = [x.signals, x.signal_rates, x.signal_accelerations]
    residual = ca.Function("residual", [x.q, x.v, x.a, x.constants, *signals], [x.residual])
    rates = ca.Function("rates", [x.q], [x.rate_matrix])
    n, constants = x.v.numel(), ca.SX(model.system.constants.expression(p))
    still, none = ca.SX(n, 1), [ca.SX(s.numel(), 1) for s in signals]
    q, a = ca.SX.sym("q", x.q.numel()), ca.SX.sym("a", n)
    stiffness = ca.Function("stiffness", [q, p], [ca.jacobian(residual(q, still, still, constants, *none), q)])
    K = stiffness(start, p) @ rates(start)
    M = ca.jacobian(residual(start, still, a, constants, *none), a)
    held = residual(start, still, still, constants, *none)

    def inertia(accelerations: ca.SX) -> ca.SX:
        if n <= FEW_MODES:
            return ca.SX(M @ accelerations)
        columns = ca.horzsplit(accelerations)
        return ca.horzcat(*[residual(start, still, column, constants, *none) - held for column in columns])

    return ca.sparsify(0.5 * (K + K.T)), ca.sparsify(M), inertia


def _on_block(inertia: Inertia, rows: np.ndarray, size: int, part: ca.SX) -> ca.SX:
    """Inertia forces of a block of coordinates for its accelerations (columns)."""
    whole = ca.SX(size, part.shape[1])
    whole[rows.tolist(), :] = part
    return inertia(whole)[rows.tolist(), :]


def _lowest_frequencies(K: ca.SX, inertia: Inertia, shapes: np.ndarray, squares: np.ndarray) -> list[ca.SX]:
    """The lowest eigenvalues s of K x = s M x as expressions, from shapes (columns) with eigenvalues `squares` at some values."""
    D, LT, order = ca.ldl(K)
    X: ca.SX = ca.SX(ca.DM(shapes))
    forces = inertia(X)
    for _ in range(ITERATIONS):
        forces = forces @ ca.diag(ca.DM(squares))
        X = ca.ldl_solve(forces, D, LT, order)
        reduced_K = X.T @ forces
        forces = inertia(X)
    reduced_M = X.T @ forces
    L = _cholesky(reduced_K)
    half = ca.solve(L, reduced_M)  # forward substitution: L is triangular
    return [1 / value for value in _eigenvalues(ca.solve(L, half.T))]


def _cholesky(A: ca.SX) -> ca.SX:
    """The lower triangular factor of a dense positive definite matrix."""
    n = A.shape[0]
    L = ca.SX.zeros(n, n)
    for j in range(n):
        L[j, j] = ca.sqrt(A[j, j] - ca.sumsqr(L[j, :j]))
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - ca.dot(L[i, :j], L[j, :j])) / L[j, j]
    return ca.SX(ca.tril(L))


def _eigenvalues(A: ca.SX) -> list[ca.SX]:
    """Eigenvalues of a symmetric matrix, by cyclic Jacobi rotations."""
    n = A.shape[0]
    a = [[A[i, j] if i <= j else A[j, i] for j in range(n)] for i in range(n)]
    for _ in range(SWEEPS if n > 1 else 0):
        for i in range(n):
            for j in range(i + 1, n):
                gap = a[j][j] - a[i][i]
                side = ca.if_else(gap < 0, -1, 1)
                t = 2 * side * a[i][j] / (ca.fabs(gap) + ca.sqrt(gap**2 + 4 * a[i][j] ** 2 + TINY))
                c = 1 / ca.sqrt(1 + t**2)
                s = t * c
                a[i][i], a[j][j] = a[i][i] - t * a[i][j], a[j][j] + t * a[i][j]
                a[i][j] = a[j][i] = ca.SX(0)
                for k in range(n):
                    if k not in (i, j):
                        left, right = a[k][i], a[k][j]
                        a[k][i] = a[i][k] = c * left - s * right
                        a[k][j] = a[j][k] = s * left + c * right
    return [a[i][i] for i in range(n)]


def _sorted(values: list[ca.SX], count: int) -> list[ca.SX]:
    """The `count` smallest values, in order."""
    left, out = list(values), []
    for _ in range(count):
        for k in range(len(left) - 1, 0, -1):
            left[k - 1], left[k] = ca.fmin(left[k - 1], left[k]), ca.fmax(left[k - 1], left[k])
        out.append(left.pop(0))
    return out


FEW = 120
"""Number of coordinates up to which all frequencies of a rod are computed, with dense matrices."""


MANY = 150
"""Number of coordinates up to which frequencies follow the parameters."""


def with_rod_frequencies(flat: RobotSpec) -> RobotSpec:
    """The flat robot with frequencies, as functions of its parameters, in place of the modes at which Rayleigh damping is given."""
    rods = {name: _with_frequencies(flat, name, rod) for name, rod in flat.rods.items() if rod.rayleigh is not None}
    return flat.model_copy(update={"rods": {**flat.rods, **rods}}) if rods else flat


def _with_frequencies(flat: RobotSpec, name: str, rod: Rod) -> Rod:
    rayleigh = rod.rayleigh
    if rayleigh is None or rayleigh.modes is None:
        return rod
    alone, highest = _alone(flat, name), max(rayleigh.modes)
    found = _lowest(alone, name, highest)
    followed = None
    if alone.model.system.constants.symbolic is not None:  # the rod depends on parameters
        followed = frequency_function(alone, found) if alone.binding.nv <= MANY and not alone.binding.m else None
        if followed is None:
            say_once(
                f"the damping of the rod '{name}' is given at its modes, whose frequencies ({alone.binding.nv} coordinates) are "
                "those at the model's own parameters; with other parameters (parameters=..., sweeps, fits) they do not change. "
                "Give `alpha` and `beta`, or write the values into the model"
            )
    return rod.model_copy(update={"rayleigh": rayleigh.at_frequencies(found, followed)})


def missing_mode_faults(flat: RobotSpec) -> list[Fault]:
    """Faults of Rayleigh dampings at modes that rods cannot have: they have at most one for each of their rates."""
    given = {name: max(rod.rayleigh.modes) for name, rod in flat.rods.items() if rod.rayleigh and rod.rayleigh.modes}
    rates = {name: len(_alone(flat, name).rates) for name in given}
    return [_too_few(name, rates[name], highest) for name, highest in given.items() if rates[name] < highest]


def _too_few(name: str, modes: int, highest: int) -> Fault:
    text = f"the rod '{name}' has {modes} modes, and its Rayleigh damping is given at mode {highest}"
    return Fault(text, "use a finer model, or lower modes", f"rods.{name}.rayleigh.modes")


def clamped_frequencies(flat: RobotSpec, name: str, count: int) -> list[float]:
    """The `count` lowest frequencies [Hz] of a rod alone, clamped at its base, without gravity."""
    return _lowest(_alone(flat, name), name, count)


def _alone(flat: RobotSpec, name: str) -> Equations:
    """The equations of a rod alone, clamped at its base, without gravity."""
    alone = flat.rods[name].model_copy(update={"rayleigh": None, "parent": "world", "chambers": {}})
    kept = ("pliant", "name", "parameters", "materials", "sections", "source")
    emptied = {key: type(flat).model_fields[key].get_default(call_default_factory=True)
               for key in type(flat).model_fields if key not in kept}  # fmt: skip
    emptied |= {"world": World(gravity=(0, 0, 0)), "rods": {name: alone}}
    return Equations(compile_model(flat.model_copy(update=emptied)))


def _lowest(eqs: Equations, name: str, count: int) -> list[float]:
    frequencies = _few_frequencies(eqs)
    if frequencies is None:
        bound = eqs.binding
        pairs = small_motions(eqs, bound, 0.0, eqs.initial_state().q, np.zeros(bound.nv), count, True).found
        frequencies = np.abs(pairs.values[in_order(pairs)[0]]) / (2 * np.pi)
    if len(frequencies) < count:
        raise SpecError([_too_few(name, len(frequencies), count)])
    return [float(x) for x in frequencies[:count]]


def _few_frequencies(eqs: Equations) -> np.ndarray | None:
    """All frequencies [Hz] of a rod with few coordinates and positive definite stiffness; None for others.

    Uses NumPy only: eigenvalue problems in general need parts of SciPy, which takes several times as long as deriving the robot.
    """
    bound = eqs.binding
    if bound.m or bound.nv > FEW:
        return None
    still = np.zeros(bound.nv)
    _, K, _, M, *_ = bound.program.calls.linearized(bound, 0.0, eqs.initial_state()[0], still, still, np.zeros(0))
    K, M = (bound.program.tables.pattern.full(values) for values in (K, M))
    unit = np.sqrt(np.abs(np.diag(K)))
    try:
        lower = np.linalg.cholesky(0.5 * (K + K.T) / np.outer(unit, unit))
    except np.linalg.LinAlgError:
        return None
    # solve M x = K x / omega^2: the lowest modes have the largest eigenvalues, which are accurate however stiff the highest are
    half = np.linalg.solve(lower, M / np.outer(unit, unit))
    squares = np.linalg.eigvalsh(np.linalg.solve(lower, half.T))[::-1]
    return np.asarray(1 / (2 * np.pi * np.sqrt(squares[squares > 0])))
