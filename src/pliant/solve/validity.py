"""Warnings where a result leaves the range of the model: rods that rotate too far, tendons with negative tension."""

from __future__ import annotations

import numpy as np

from pliant.equations.binding import Binding
from pliant.model.model import Model
from pliant.rod.turn_limits import NEAR
from pliant.tendon import TensionTendon

STATES = 200
"""So many states of a motion are looked at, the last one included."""


def turn_limit_warnings(model: Model, bound: Binding, states: np.ndarray) -> list[str]:
    """A note for each rod whose sections turn nearly as far as its model allows, in any of the states (n x q)."""
    if not model.turn_limits:
        return []
    a = np.array([limit.first for limit in model.turn_limits])
    b = np.array([limit.second for limit in model.turn_limits])
    allowed = np.array([limit.angle for limit in model.turn_limits])
    placed = [bound.constants[limit.constants : limit.constants + 9] for limit in model.turn_limits]
    placements = np.array(placed).reshape(-1, 3, 3).transpose(0, 2, 1)
    largest = np.zeros(len(allowed))
    picked = np.unique(np.linspace(0, len(states) - 1, min(STATES, len(states))).astype(int))
    for q in np.asarray(states)[picked]:
        if not np.all(np.isfinite(q)):
            continue
        rotations = bound.node_poses(q)[0]
        first = rotations[a] @ placements
        cosines = 0.5 * (np.einsum("nij,nij->n", first, rotations[b]) - 1)
        largest = np.fmax(largest, np.arccos(np.clip(cosines, -1, 1)))
    notes = []
    for rod in dict.fromkeys(limit.rod for limit in model.turn_limits):
        mine = [k for k, limit in enumerate(model.turn_limits) if limit.rod == rod]
        worst = max(mine, key=lambda k: largest[k] / allowed[k])
        if largest[worst] >= NEAR * allowed[worst]:
            kind = model.spec.rods[rod].model.kind
            angle, most = np.degrees(largest[worst]), np.degrees(allowed[worst])
            notes.append(
                f"the rod '{rod}' turns by {angle:.3g} deg where the states of its model '{kind}' can follow up to "
                f"{most:g} deg; {model.turn_limits[worst].hint}"
            )
    return notes


def negative_tension_warnings(model: Model, lowest: np.ndarray) -> list[str]:
    """A warning for each tendon whose tension was asked to be below zero; `lowest` is the least value of each signal."""
    notes = []
    for name, tendon in model.spec.tendons.items():
        if isinstance(tendon, TensionTendon):
            value = float(lowest[model.system.routes[model.routes[name]].signals])
            if value < 0:
                notes.append(
                    f"the tendon '{name}' was asked for {value:.3g} N; a line cannot push, so it was slack then"
                )
    return notes
