"""Rayleigh damping given at modes: the frequencies of these modes, computed for each rod separately."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pliant.equations.equations import Equations
from pliant.language.parameter import World
from pliant.model.model import compile_model
from pliant.rod.rod import Rod
from pliant.solve.linear.modal import modes
from pliant.spec.robot import RobotSpec

FEW = 120
"""Number of coordinates up to which all frequencies of a rod are computed, with dense matrices."""


def with_rod_frequencies(flat: RobotSpec) -> RobotSpec:
    """The flat robot with frequencies in place of the modes at which Rayleigh damping is given."""
    rods = {name: _with_frequencies(flat, name, rod) for name, rod in flat.rods.items() if rod.rayleigh is not None}
    return flat.model_copy(update={"rods": {**flat.rods, **rods}}) if rods else flat


def _with_frequencies(flat: RobotSpec, name: str, rod: Rod) -> Rod:
    rayleigh = rod.rayleigh
    if rayleigh is None or rayleigh.modes is None:
        return rod
    first, second = rayleigh.modes
    found = clamped_frequencies(flat, name, max(first, second))
    given = {"modes": None, "frequencies": (found[first - 1], found[second - 1])}
    return rod.model_copy(update={"rayleigh": rayleigh.model_copy(update=given)})


def shifted_frequencies(flat: RobotSpec, values: Mapping[str, float]) -> dict[str, float]:
    """Largest relative change of the frequencies at which Rayleigh damping is given, by rod, if parameters have other values."""
    own = flat.parameters
    changed = {name: own[name].model_copy(update={"value": x}) for name, x in values.items()}
    other = flat.model_copy(update={"parameters": {**own, **changed}})
    found = {}
    for name, rod in flat.rods.items():
        if rod.rayleigh is not None and rod.rayleigh.modes is not None:
            before, after = (np.array(clamped_frequencies(x, name, max(rod.rayleigh.modes))) for x in (flat, other))
            shift = (after / before - 1)[[mode - 1 for mode in rod.rayleigh.modes]]
            found[name] = float(shift[np.argmax(np.abs(shift))])
    return found


def clamped_frequencies(flat: RobotSpec, name: str, count: int) -> list[float]:
    """The `count` lowest frequencies [Hz] of a rod alone, clamped at its base, without gravity."""
    alone = flat.rods[name].model_copy(update={"rayleigh": None, "parent": "world", "chambers": {}})
    kept = ("pliant", "name", "parameters", "materials", "sections", "source")
    emptied = {key: type(flat).model_fields[key].get_default(call_default_factory=True)
               for key in type(flat).model_fields if key not in kept}  # fmt: skip
    emptied |= {"world": World(gravity=(0, 0, 0)), "rods": {name: alone}}
    eqs = Equations(compile_model(flat.model_copy(update=emptied)))
    found = _few_frequencies(eqs)
    if found is None:
        found = modes(eqs, at="initial", count=count, undamped=True).frequencies
    if len(found) < count:
        raise ValueError(
            f"the rod '{name}' has {len(found)} modes; Rayleigh damping at mode {count} needs a finer model"
        )
    return [float(x) for x in found[:count]]


def _few_frequencies(eqs: Equations) -> np.ndarray | None:
    """All frequencies [Hz] of a rod with few coordinates and positive definite stiffness; None for others.

    Uses NumPy only: `modes` imports parts of SciPy, which takes several times as long as deriving the robot.
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
