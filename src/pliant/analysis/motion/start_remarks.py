"""Remarks on the start of a run: an equilibrium with other values than those of the run, and a pose far from a controller's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.analysis.equilibrium import Equilibrium
from pliant.analysis.motion.sampled_control import Controller
from pliant.engine.equations import Equations
from pliant.language.message_text import enumeration, unit_after_value

SAME = 1e-9
"""Relative difference below which values are equal."""
FAR = 0.5
"""Distance of the start from the pose of a controller that is remarked [m or rad]."""
FEW = 4
"""Number of values that a remark lists."""


def held_otherwise(eqs: Equations, start: Equilibrium, acting: Sequence[Controller]) -> list[str]:
    """Remark on a run from an equilibrium that was found with other inputs or parameters, which the run does not use."""
    there, notes = start.equations, []
    if there.inputs != eqs.inputs or tuple(there.parameters) != tuple(eqs.parameters):
        return []
    commanded = [_commanded(controller) for controller in acting]
    if all(names is not None for names in commanded) and start.inputs:
        known = {name for names in commanded for name in names or ()}
        found, used = there.input_vector(), eqs.input_vector()
        other = [
            f"{name} = {x:.4g}{_unit(eqs, name)}"
            for name, x, y in zip(eqs.inputs, found, used, strict=True)
            if name not in known and name not in eqs.given_inputs and _differ(x, y)
        ]
        if other:
            notes.append(
                f"the start is an equilibrium with other inputs: {enumeration(other, FEW)}; give inputs=pose.inputs to hold it"
            )
    changed = [
        f"{name} = {x:.4g}{_unit(eqs, name)}"
        for name, x in there.parameters.items()
        if name not in eqs.given_parameters and _differ(x, eqs.parameters[name])
    ]
    if changed:
        notes.append(
            f"the start is an equilibrium with other parameters: {enumeration(changed, FEW)}; give parameters=pose.parameters "
            "to hold it"
        )
    return notes


def far_from_held(eqs: Equations, q: np.ndarray, acting: Sequence[Controller]) -> list[str]:
    """Remarks on starts far from the pose that a controller was linearized about."""
    notes = []
    for controller in acting:
        held = getattr(getattr(getattr(controller, "regulator", None), "plant", None), "state", None)
        if held is None or np.shape(held.q) != q.shape:
            continue
        apart = np.abs(q - held.q)
        k = int(np.argmax(apart)) if len(apart) else 0
        if len(apart) and apart[k] > FAR:
            name = getattr(controller, "name", "") or type(controller).__name__
            notes.append(
                f"the start is {apart[k]:.2g} (m or rad, '{eqs.coordinates[k]}') from the pose that the controller '{name}' "
                "holds; its design is linear about that pose: give a `start` closer to it"
            )
    return notes


def _commanded(controller: Any) -> tuple[str, ...] | None:
    """Inputs that a controller commands; None if unknown."""
    plant = getattr(getattr(controller, "regulator", None), "plant", None)
    names = getattr(plant, "inputs", None) or getattr(controller, "inputs", None)
    return tuple(names) if isinstance(names, Sequence) and not isinstance(names, str) else None


def _differ(x: float, y: float) -> bool:
    return abs(x - y) > SAME * max(abs(x), abs(y))


def _unit(eqs: Equations, name: str) -> str:
    return unit_after_value(eqs.model.environment.dimension(name))
