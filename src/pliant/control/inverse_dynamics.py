"""What actuators have to do for a given motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la

from pliant.control.limits import Limits, allocate
from pliant.equations.equations import Equations, UnknownName, Values
from pliant.solve.independent import null_space

MAX_ITERATIONS = 30
# Inputs are settled when a step changes their effect by less than this share of the forces in play.
SETTLED = 1e-11
# Weight of the wish for small inputs against that for the right forces: it decides only where the latter leaves a choice.
PREFERENCE = 1e-12


@dataclass(frozen=True)
class Actuation:
    """Inputs that make a motion, as far as they can.

    Attributes:
        inputs: values by name, in the unit of each input (N, N m, Pa, ...).
        multipliers: constraint forces that go with them.
        residual: generalized forces [N or N m per coordinate] that the motion lacks and the inputs cannot produce.
        missing: size of the residual over that of the forces that the inputs were asked for, both as accelerations in the mass
            metric (Gauss's measure); 0 for a motion that the inputs can make.
        at_limits: inputs that stand on a bound.
        rank: independent directions that the inputs push in.
    """

    inputs: dict[str, float]
    multipliers: np.ndarray
    residual: np.ndarray
    missing: float
    at_limits: tuple[str, ...]
    rank: int


def inverse_dynamics(
    eqs: Equations,
    q: Any,
    v: Any,
    a: Any,
    *,
    use: Sequence[str] | None = None,
    limits: Limits | None = None,
    t: float = 0.0,
    inputs: Values | None = None,
    parameters: Values | None = None,
) -> Actuation:
    """The inputs that give the accelerations a in the state (q, v): least squares in the mass metric, the smallest where many do.

    use: the inputs to solve for, all by default; the others keep their values. limits: bounds of inputs; without them the
    `minimum` and `maximum` of the model's parameters count, so that a tendon declared with `minimum: 0 N` only pulls. Inputs that
    do not act linearly are found by iteration. Constraint forces come out with them.
    """
    names = tuple(use) if use is not None else eqs.inputs
    for name in names:
        if name not in eqs.inputs:
            raise UnknownName("input", name, eqs.inputs)
    if not names:
        raise ValueError(
            "the model has no inputs; declare a parameter with `input: true` and use it as a force or pressure"
        )
    lower, upper = (limits or declared_limits(eqs, names)).bounds(names)
    columns = [eqs.inputs.index(name) for name in names]
    engine = eqs.bind(inputs, parameters)
    q, v, a = (np.asarray(x, dtype=float) for x in (q, v, a))
    J = engine.constraints(t, q, v)[3].toarray()
    Z = null_space(J)
    # forces on the allowed motions, as accelerations of unit mass
    try:
        factor = la.cholesky(Z.T @ engine.mass_matrix(q).toarray() @ Z, lower=True)
    except la.LinAlgError:
        raise ValueError("some allowed motion moves no mass: give every moving body mass and inertia") from None

    def weighed(forces: np.ndarray) -> np.ndarray:
        return np.asarray(la.solve_triangular(factor, Z.T @ forces, lower=True))

    given = dict(inputs or {})
    u = np.clip(np.array([eqs.input_vector(inputs)[k] for k in columns]), lower, upper)
    for _ in range(MAX_ITERATIONS):
        now = given | dict(zip(names, u.tolist(), strict=True))
        lacking = eqs.inverse_dynamics(q, v, a, t=t, inputs=now, parameters=parameters)
        by_input = -eqs.input_derivative(q, v, t=t, inputs=now, parameters=parameters)[:, columns]
        effect = weighed(by_input)
        size = np.linalg.norm(effect, axis=0)
        scale = np.where(size > 0, size, 1.0)
        wanted = weighed(lacking) + effect @ u
        found, _ = allocate(effect / scale, wanted, lower * scale, upper * scale, regularization=PREFERENCE)
        change = found / scale - u
        u = found / scale
        if np.linalg.norm(effect @ change) <= SETTLED * (np.linalg.norm(wanted) + np.linalg.norm(effect @ u) + 1e-300):
            break
    else:
        raise ValueError(f"the inputs {', '.join(names)} did not settle: they do not act linearly enough in this state")
    now = given | dict(zip(names, u.tolist(), strict=True))
    lacking = eqs.inverse_dynamics(q, v, a, t=t, inputs=now, parameters=parameters)
    multipliers = np.linalg.lstsq(J.T, lacking, rcond=None)[0] if len(J) else np.zeros(0)
    left = lacking - (J.T @ multipliers if len(J) else 0.0)
    asked = float(np.linalg.norm(wanted))
    eqs.bind(inputs, parameters)
    room = 1e-9 * (1 + np.abs(u))
    return Actuation(
        inputs=dict(zip(names, u.tolist(), strict=True)),
        multipliers=multipliers,
        residual=left,
        missing=float(np.linalg.norm(weighed(lacking))) / asked if asked else 0.0,
        at_limits=tuple(
            n for n, x, lo, hi, e in zip(names, u, lower, upper, room, strict=True) if x <= lo + e or x >= hi - e
        ),
        rank=int(np.linalg.matrix_rank(effect / scale, tol=1e-9)),
    )


def declared_limits(eqs: Equations, names: Sequence[str]) -> Limits:
    """The `minimum` and `maximum` that the model gives the parameters behind these inputs."""
    bounds = {name: eqs.declared_bounds(name) for name in names}
    return Limits({name: low for name, (low, _) in bounds.items()}, {name: high for name, (_, high) in bounds.items()})
