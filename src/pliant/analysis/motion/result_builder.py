"""Results of simulations from saved states, with the attributes needed to understand and repeat the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from pliant.analysis.motion.derived_quantities import ActiveBinding, DerivedQuantities, SavedStates
from pliant.analysis.motion.remarks import energy_remarks, is_still
from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.analysis.numerics.contact_table import contact_variables
from pliant.analysis.numerics.labelled_arrays import LabelledArrays, Parts, Variable, named_axes
from pliant.analysis.numerics.result import ADDED, ENERGIES, FRAME_PARTS, Result, Timing, profile_axes
from pliant.analysis.numerics.status import Status
from pliant.analysis.numerics.versions import versions
from pliant.analysis.remarks.input_limits import beyond_limits_in_motion
from pliant.analysis.remarks.validity import (
    negative_tension_warnings,
    opened_constraints,
    range_warnings,
    undetermined_reactions,
)
from pliant.engine.equations import Equations
from pliant.engine.outputs import output_axes, output_size, output_units, part_labels
from pliant.engine.time_loop import INSTANT
from pliant.language.message_text import unit_text


def build_result(
    eqs: Equations, history: Sequence[ActiveBinding], motion: SavedStates, status: Status, message: str, timing: Timing,
    method: str, notes: Callable[[], tuple[str, ...]], energy_cure: str = "", jumps: Sequence[tuple[float, float]] = (),
    exchanged: float = 0.0,
) -> Result:  # fmt: skip
    """The result of a run from its saved states; `history`: the active bindings, in order of time.

    notes: remarks of the run itself. energy_cure: advice if the energy balance is not satisfied; empty if there is none.
    jumps: times [s] at which the state was set, and the added energy [J]. exchanged: energy that the steps exchanged [J], where it
    was measured.
    """
    history, jumps = tuple(history), tuple(jumps)
    derived = DerivedQuantities(eqs, motion, history)

    @on_one_blas_thread  # they are computed on first access, outside of the analysis
    def warnings() -> tuple[str, ...]:
        model, bound = eqs.model, history[0].bound
        found = [
            *negative_tension_warnings(model, derived.lowest_signals),
            *beyond_limits_in_motion(model, motion.time, [(x.time, x.bound) for x in history], derived.inputs),
            *range_warnings(model, bound, motion.q),
            *undetermined_reactions(model, bound),
            *opened_constraints(model, bound, motion.time, motion.q, motion.v),
        ]
        if energy_cure and len(history) == 1:
            remarks = energy_remarks(derived.energies, energy_cure, _added(motion, jumps), exchanged)
            found += remarks if remarks and not is_still(bound, motion.q) else []
        return (*notes(), *found)

    def attributes() -> dict[str, str]:
        try:
            remarks = warnings()
        except Exception as reason:  # the motion is complete without them
            remarks = (*notes(), f"remarks on this result could not be computed: {reason}")
        return _attributes(eqs, status, message, method, remarks, timing)

    def parts() -> Parts:
        profiles = output_axes(eqs.model, history[0].bound)
        touching, names = contact_variables(motion.contacts)
        variables = _variables(motion, derived) | touching | _output_variables(eqs, derived, profiles)
        if jumps:
            about = {"long_name": "energy added by setting the state", "units": "J"}
            variables[ADDED] = (("time",), lambda: _added(motion, jumps), about)
        return Parts(variables, lambda: _labels(eqs, motion, profiles) | names, attributes)

    saved = {"time": motion.time, "q": motion.q, "v": motion.v, "a": motion.a, "multiplier": motion.multipliers}
    return Result(status, message, LabelledArrays(saved, parts), timing, method)


def _variables(motion: SavedStates, derived: DerivedQuantities) -> dict[str, Variable]:
    """States, energies and frames of a motion, by name."""
    found: dict[str, Variable] = {
        "q": (("time", "coordinate"), motion.q, {"long_name": "positions", "units": "SI"}),
        "v": (("time", "rate"), motion.v, {"long_name": "rates", "units": "SI"}),
        "a": (("time", "rate"), motion.a, {"long_name": "accelerations", "units": "SI"}),
        "multiplier": (
            ("time", "constraint"),
            motion.multipliers,
            {"long_name": "constraint forces", "units": "N or N m"},
        ),
        "u": (("time", "input"), lambda: derived.inputs, {"long_name": "inputs", "units": "SI"}),
        "constraint_error": (
            ("time",),
            lambda: derived.constraint_error,
            {"long_name": "largest constraint error", "units": "m or rad"},
        ),
    }
    for k, name in enumerate(ENERGIES):
        about = {"long_name": f"{name} energy", "units": "J"}
        found[name] = ("time",), partial(_column, derived, k), about
    for name, dimension in FRAME_PARTS.items():
        found[f"frame_{name}"] = ("time", "frame", dimension), partial(_frames, derived, name), {}
    return found


def _column(derived: DerivedQuantities, k: int) -> np.ndarray:
    return derived.energies[:, k]


def _frames(derived: DerivedQuantities, name: str) -> np.ndarray:
    return derived.frames(name)


def _outputs(derived: DerivedQuantities, name: str) -> np.ndarray:
    return derived.outputs[name]


def _output_variables(
    eqs: Equations, derived: DerivedQuantities, profiles: Mapping[str, np.ndarray]
) -> dict[str, Variable]:
    """Outputs of a motion, by name; `profiles`: arc lengths [m] of those along a rod."""
    found: dict[str, Variable] = {}
    for name, unit in output_units(eqs.model).items():
        axis = f"output.{name}.{'arc_length' if name in profiles else 'part'}"
        dimensions = ("time",) if output_size(eqs.model, name) == 1 else ("time", axis)
        found[f"output.{name}"] = dimensions, partial(_outputs, derived, name), {"units": unit}
    return found


def _labels(eqs: Equations, motion: SavedStates, profiles: Mapping[str, np.ndarray]) -> dict[str, Variable]:
    """Times, and names along the other dimensions; `profiles`: arc lengths [m] of outputs along a rod."""
    names = {
        "coordinate": eqs.coordinates,
        "rate": eqs.rates,
        "frame": eqs.frame_names,
        "constraint": eqs.constraint_names,
        "input": eqs.inputs,
        "axis": ("x", "y", "z"),
        "quaternion_part": ("w", "x", "y", "z"),
    }
    names |= part_labels(eqs.model, eqs.binding)
    return {"time": (("time",), motion.time, {"units": "s"}), **named_axes(names), **profile_axes(profiles)}


def _added(motion: SavedStates, jumps: Sequence[tuple[float, float]]) -> np.ndarray:
    """Energy [J] added by setting the state up to each saved time; a state at such a time is the one after it was set."""
    times = np.array([t for t, _ in jumps])
    sums = np.concatenate([[0.0], np.cumsum([energy for _, energy in jumps])])
    return np.asarray(sums[np.searchsorted(times, motion.time + INSTANT * np.abs(motion.time), side="right")])


def _attributes(
    eqs: Equations, status: Status, message: str, method: str, notes: tuple[str, ...], timing: Timing
) -> dict[str, str]:
    """Attributes needed to understand and repeat a run, as text."""
    return {
        "model": eqs.model.spec.name or "robot",
        "model_text": eqs.model.text,
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
    """SI unit of an input; "-" for pure numbers, empty if unknown."""
    return unit_text(eqs.model.environment.dimension(name), "-")
