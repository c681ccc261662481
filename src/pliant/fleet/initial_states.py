"""Initial states of the robots of a fleet, and the active constraints."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.analysis.numerics.state import INITIAL, AssembledState, assemble
from pliant.analysis.states import state_at
from pliant.engine.equations import Equations


def is_arrays(start: Any) -> bool:
    """Whether a start consists of positions and rates with one row per robot."""
    return isinstance(start, tuple) and len(start) == 2 and all(len(getattr(x, "shape", ())) == 2 for x in start)


def assembled_start(eqs: Equations, start: Any = None) -> AssembledState:
    """The state for a start as for `simulate`, on the constraints; that of the model if None, or if robots have different
    starts."""
    given = eqs.model.spec.start if start is None or is_arrays(start) else start
    state = state_at(eqs, given, 0.0, where="start")
    return assemble(eqs, eqs.binding, 0.0, state.q, state.v, state.given)


def rows_in_force(start: AssembledState) -> tuple[list[int], list[float]]:
    """Active constraint rows, by index, and the reference sizes of their values."""
    rows = np.flatnonzero(start.bound.row_active)
    if not len(rows):
        return [], []
    return rows.tolist(), start.bound.constraint_sizes(0.0, start.q, start.v)[rows].tolist()


def starts_of_each(
    eqs: Equations, parameters: np.ndarray, names: tuple[str, ...], start: Any, which: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Positions and rates (nq x which, nv x which) that follow from the parameters of each robot (robots x parameters), of which
    those named differ, for the robots with the indices `which`. Loops are closed, and equilibria computed, robot by robot.

    Raises ValueError with the number of the robot that has none.
    """
    model = eqs.model
    word = model.spec.start if start is None else start
    if isinstance(word, str) and word == INITIAL and not model.system.rows:
        found = [
            np.asarray(x, dtype=float).reshape(-1, len(which), order="F") for x in model.initial(parameters[which].T)
        ]
        return found[0], found[1]
    at = [model.parameter_defaults[1][name] for name in names]
    made = []
    for robot, values in zip(which.tolist(), parameters[which][:, at].tolist(), strict=True):
        try:
            made.append(assembled_start(eqs.at(parameters=dict(zip(names, values, strict=True))), start))
        except (ValueError, RuntimeError) as reason:
            raise ValueError(f"robot {robot}: {reason}") from reason
    return np.column_stack([x.q for x in made]), np.column_stack([x.v for x in made])
