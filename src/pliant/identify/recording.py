"""Models driven by recordings, and the columns of a recording that are compared with an output."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from pliant.engine.equations import Equations, InputValues, Values
from pliant.engine.input_values import INSTANT, inputs_over_time, names_in
from pliant.engine.model.model import Model
from pliant.engine.model.recorded_inputs import check_dimension, driving_columns, recorded_inputs
from pliant.engine.outputs import output_parts, output_units
from pliant.language.arguments import ArgumentError, name_tuple
from pliant.language.dimension import FORCE, PRESSURE, TORQUE
from pliant.language.message_text import describe, unit_text
from pliant.language.recording import Recording, dimension_of

LEAST_REST = 1.0
"""Duration of constant inputs [s] after which the robot is assumed to be at rest."""


def thousandths(unit: str) -> str:
    """The unit of numbers that are given in thousandths of an SI unit: mm of positions, mN of forces."""
    return f"m{unit}" if unit in ("m", "N", "N m", "J", "rad", "m/s", "rad/s") else f"1e-3 {unit}".strip()


def drive(eqs: Equations, recording: Recording) -> tuple[Equations, tuple[str, ...]]:
    """The same equations with inputs that follow the recording's columns of the same name; and these columns."""
    driven = recorded_inputs(eqs.model, recording)
    return eqs.at(inputs=driven), tuple(driving_columns(eqs.model, recording).values())


def window_of(begin: float | None, end: float | None) -> tuple[float, float] | None:
    """The time window [s] between two times, which may be None."""
    if begin is None and end is None:
        return None
    if begin is None or end is None or not begin < end:
        raise ArgumentError("the window needs --from below --to", "write --from 7 --to 54, or begin=7, end=54")
    return begin, end


def with_inputs_of(
    eqs: Equations,
    inputs: InputValues | None,
    parameters: Values | None,
    recordings: Sequence[Any],
    varied: Sequence[str] = (),
) -> Equations:
    """The equations with inputs and parameters that a caller gives beside recordings; expressions of t are evaluated over the time
    of these. varied: parameters that inputs must not depend on."""
    if not inputs:
        return eqs.at(parameters=parameters) if parameters else eqs
    every = [getattr(one, "recording", one) for one in recordings]
    for one in every:
        check_not_driven(eqs.model, one, inputs)
    for name, value in inputs.items():
        if isinstance(value, str) and (used := names_in(value) & set(varied)):
            raise ArgumentError(
                f"the input '{name}' depends on the parameter '{min(used)}', which varies here",
                "write the dependence into the model instead",
            )
    ends = [float(t) for one in every for t in (one.time[0], one.time[-1])]
    begin, end = min(ends), max(ends)
    timed = inputs_over_time(eqs, inputs, parameters, begin, end if end > begin else begin + INSTANT)
    return eqs.at(inputs=timed, parameters=parameters)


def check_recording(recording: Any) -> None:
    """Reject what is not a recording, such as the name of a file; None is accepted."""
    if recording is not None and not isinstance(recording, Recording):
        hint = "read a file with pliant.read_recording"
        raise ArgumentError(f"a recording cannot be {describe(recording)}", hint)


def check_not_driven(model: Model, recording: Recording, inputs: Collection[str]) -> None:
    """Reject inputs that are also columns of the recording."""
    for name, column in driving_columns(model, recording).items():
        if name in inputs:
            raise ArgumentError(
                f"the input '{name}' is given, but the column '{column}' of {recording.file} drives it: omit one of them"
            )


def compared_columns(model: Model, recording: Recording, output: str, columns: Sequence[str] | None) -> tuple[str, ...]:
    """The columns that an output is compared with, checked: those given, or named after it (`tip.x`), or x, y, z."""
    if not isinstance(output, str) or output not in model.spec.outputs:
        raise ArgumentError(f"the model has no output '{output}'; it has {', '.join(model.spec.outputs) or 'none'}")
    parts = output_parts(model, output)
    columns = name_tuple(columns, "columns")
    if columns is None:
        usual = [parts, ["x", "y", "z"]] if len(parts) == 3 else [parts]
        columns = next((names for names in usual if all(name in recording.columns for name in names)), None)
    if columns is None:
        raise ArgumentError(
            f"{recording.file} has no columns {' or '.join(', '.join(names) for names in usual)} for the output '{output}'; it has "
            f"{', '.join(recording.columns)}. Name them with `columns` (--columns)"
        )
    if len(columns) != len(parts):
        raise ArgumentError(f"the output '{output}' has {len(parts)} components and {len(columns)} columns are given")
    unit = output_units(model)[output]
    for name in columns:
        recording.measured(name)
        check_dimension(recording, name, dimension_of(unit), f"the output '{output}' is in {unit}")
    return tuple(columns)


def missing_rows(recording: Recording, columns: Sequence[str]) -> list[str]:
    """A remark on rows without a number in columns that are compared; raises ArgumentError if no row is left."""
    there = np.all([np.isfinite(recording.measured(name)) for name in columns], axis=0)
    if np.all(there):
        return []
    lacking = [name for name in columns if name in recording.gaps]
    if not np.any(there):
        raise ArgumentError(f"no row of {recording.file} has numbers in all of the columns {', '.join(columns)}")
    count = int(np.sum(~there))
    return [
        f"{count} of {len(there)} rows of {recording.file} have no number in {', '.join(lacking)}; they are left out"
    ]


def undriven(model: Model, recording: Recording, used: Sequence[str]) -> list[str]:
    """Remarks on a recording: forces, moments or pressures that are not zero and drive no input of the model, and units that are
    not stated. used: columns that drive inputs or are compared."""
    return [
        *_other_case(model, recording, used),
        *_unused_loads(model, recording, used),
        *_assumed_units(model, recording, used),
    ]


def _other_case(model: Model, recording: Recording, used: Sequence[str]) -> Iterator[str]:
    """Columns that differ from inputs without a column in case only."""
    lacking = {x.lower(): x for x in model.input_names if x not in driving_columns(model, recording)}
    for name in recording.columns:
        if name not in used and name.lower() in lacking:
            wanted = lacking[name.lower()]
            yield f"the column '{name}' of {recording.file} does not drive the input '{wanted}': rename it (case matters)"


def _unused_loads(model: Model, recording: Recording, used: Sequence[str]) -> Iterator[str]:
    loads = (FORCE, TORQUE, PRESSURE)
    outputs = {part for name in model.spec.outputs for part in output_parts(model, name)}
    unused = [
        name
        for name, values in recording.columns.items()
        if name not in used
        and name not in outputs
        and name.lower() not in {x.lower() for x in model.input_names}
        and recording.dimension(name) in loads
        and np.any(values)
        and recording.units.get(name) != "J"  # an energy has the dimension of a moment
    ]
    if unused:
        names = ", ".join(unused)
        yield f"the columns {names} of {recording.file} are not used: the model has no inputs of these names"


def _assumed_units(model: Model, recording: Recording, used: Sequence[str]) -> Iterator[str]:
    bare = [name for name in used if name in recording.assumed]
    if bare:
        driven = {column: name for name, column in driving_columns(model, recording).items()}
        kind = model.environment.dimension(driven[bare[0]]) if bare[0] in driven else None
        unit = unit_text(kind, "-").replace("*", " ") or "mm"
        yield (
            f"the columns {', '.join(bare)} of {recording.file} have no unit and are assumed to be in SI units; state it "
            f"in the header: '{bare[0]} [{unit}]'"
        )


def plateaus(
    recording: Recording, inputs: Sequence[str], *, least: float = LEAST_REST, share: float = 0.02
) -> list[float]:
    """Times near the end of intervals of at least `least` seconds in which no input changes by more than `share` of its range and
    one of them is above a tenth of it: the robot can be assumed to be at rest under load."""
    values = np.array([recording.columns[name] for name in inputs])
    ranges = np.ptp(values, axis=1)
    plateaus: list[float] = []
    start = 0
    for k in range(1, values.shape[1] + 1):
        moved = k == values.shape[1] or np.any(np.abs(values[:, k] - values[:, start]) > share * ranges)
        if not moved:
            continue
        middle = (start + k) // 2
        loaded = np.any(np.abs(values[:, middle]) > 0.1 * ranges)
        if recording.time[k - 1] - recording.time[start] >= least and loaded:
            plateaus.append(float(recording.time[start] + 0.8 * (recording.time[k - 1] - recording.time[start])))
        start = k
    return plateaus


def time_slack(times: np.ndarray) -> float:
    """Tolerance for equal times [s]: a billionth of the duration of a recording."""
    return 1e-9 * float(np.ptp(times)) + 16 * float(np.spacing(np.abs(times).max(initial=0.0)))
