"""Results of simulations from saved states, with the attributes needed to understand and repeat the run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np

from pliant.equations.equations import Equations
from pliant.equations.outputs import output_axes, output_units
from pliant.solve.motion.derived_quantities import ActiveBinding, SavedStates, derive_quantities
from pliant.solve.motion.remarks import energy_remarks
from pliant.solve.result import Result, Timing, record
from pliant.solve.status import Status
from pliant.solve.validity import negative_tension_warnings, range_warnings, undetermined_reactions
from pliant.solve.versions import versions


def build_result(
    eqs: Equations, history: Sequence[ActiveBinding], motion: SavedStates, status: Status, message: str, timing: Timing,
    method: str, notes: tuple[str, ...], energy_cure: str = "", jumps: Sequence[tuple[float, float]] = (),
) -> Result:  # fmt: skip
    """The result of a run from its saved states; `history`: the bindings that were in force, in order of time.

    energy_cure: what to advise where the energy balance is open; empty where it cannot be told. jumps: times [s] at which the
    state was set, and the energy that this added [J].
    """
    derived = derive_quantities(eqs, motion, history)
    added = _added(motion, jumps)
    notes = (*notes, *negative_tension_warnings(eqs.model, derived.lowest_signals))
    notes = (*notes, *range_warnings(eqs.model, history[0].bound, motion.q))
    notes = (*notes, *undetermined_reactions(eqs.model, history[0].bound))
    if energy_cure and len(history) == 1:
        notes = (*notes, *energy_remarks(derived.energies, energy_cure, added))
    names = {
        "coordinate": eqs.coordinates,
        "rate": eqs.rates,
        "frame": eqs.frame_names,
        "constraint": eqs.constraint_names,
        "input": eqs.inputs,
    }
    attributes = _attributes(eqs, status, message, method, notes, timing)
    recorded = record(
        time=motion.time, q=motion.q, v=motion.v, a=motion.a, multipliers=motion.multipliers,
        energies=derived.energies, constraint_error=derived.constraint_error, frames=derived.frames,
        outputs=derived.outputs, inputs=derived.inputs, names=names, units=output_units(eqs.model),
        profiles=output_axes(eqs.model, history[0].bound), attributes=attributes, added=added if jumps else None,
    )  # fmt: skip
    return Result(status, message, recorded, timing, method, notes)


def _added(motion: SavedStates, jumps: Sequence[tuple[float, float]]) -> np.ndarray:
    """Energy [J] that setting the state has added up to each saved time; a state at such a time is the one that was set."""
    times = np.array([t for t, _ in jumps])
    sums = np.concatenate([[0.0], np.cumsum([energy for _, energy in jumps])])
    return np.asarray(sums[np.searchsorted(times, motion.time + 1e-13 * np.abs(motion.time), side="right")])


def _attributes(
    eqs: Equations, status: Status, message: str, method: str, notes: tuple[str, ...], timing: Timing
) -> Mapping[str, str]:
    """What is needed to understand and repeat a run, as text."""
    return {
        "model": eqs.model.spec.name or "robot",
        "model_text": eqs.model.spec.to_yaml(),
        "status": str(status),
        "message": message,
        "method": method,
        "warnings": json.dumps(list(notes)),
        "timing": json.dumps(timing.__dict__),
        "inputs": json.dumps({name: value for name, value in eqs.given_inputs.items() if isinstance(value, float)}),
        "coordinate_units": json.dumps([c.unit for c in eqs.model.coordinates for _ in c.q_names]),
        "input_units": json.dumps([_unit(eqs, name) for name in eqs.inputs]),
        "parameters": json.dumps(eqs.parameters),
        "versions": json.dumps(versions()),
    }


def _unit(eqs: Equations, name: str) -> str:
    """SI unit of an input; "-" of pure numbers, empty where none is known."""
    dimension = eqs.model.environment.dimension(name)
    return "" if dimension is None else "-" if dimension.is_number else dimension.unit
