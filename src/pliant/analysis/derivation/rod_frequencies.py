"""Rayleigh damping given at modes: the frequencies of these modes, computed for each rod separately."""

from __future__ import annotations

import numpy as np

from pliant.analysis.derivation.frequency_functions import frequency_function
from pliant.analysis.linear.eigenmodes import in_order, small_motions
from pliant.engine.equations import Equations, say_once
from pliant.engine.model.model import compile_model
from pliant.parts.rod.rod import Rod
from pliant.parts.world import World
from pliant.robot.robot import RobotSpec

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
        raise ValueError(
            f"the rod '{name}' has {len(frequencies)} modes; Rayleigh damping at mode {count} needs a finer model"
        )
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
