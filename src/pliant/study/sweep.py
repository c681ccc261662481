"""Sweeps: studies that save each result to a folder and resume after an interruption."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.analysis.numerics.netcdf_files import save_dataset
from pliant.engine.model.time_series import TimeSeries
from pliant.language.arguments import ArgumentError, choice, file_name, mapping, name_tuple, whole
from pliant.language.message_text import suggestion
from pliant.study.analyses import KEPT, Analysis, OneByOne, Outcome, Simulate, units
from pliant.study.cases import cases
from pliant.study.folder import FORMAT, RESULTS, OpenSweep, SweepFolder
from pliant.study.many import Progress, Study, equilibrium_many, linearize_many, modes_many, simulate_many
from pliant.study.structures import Robot, value_units

if TYPE_CHECKING:
    import xarray

ANALYSES = ("simulate", "equilibrium", "modes", "linearize")


@dataclass(frozen=True)
class SweepEnd:
    """End of a sweep: number of cases, completed before, completed now, failed; whether Ctrl-C ended it; and its folder."""

    folder: Path
    cases: int
    before: int
    done: int
    failed: int
    interrupted: bool

    @property
    def complete(self) -> bool:
        """Whether all cases are completed."""
        return self.before + self.done == self.cases


def sweep(
    robot: Robot,
    vary: Mapping[str, Any],
    folder: str | os.PathLike[str],
    *,
    sample: str | None = None,
    seed: int = 0,
    analysis: str = "simulate",
    keep: Sequence[str] = KEPT,
    workers: int | None = None,
    executor: Any = None,
    progress: Progress | bool | None = None,
    **options: Any,
) -> xarray.Dataset:
    """Run an analysis of a robot for many cases and save each finished case immediately; after an interruption, the
    same call runs the missing cases.

    robot, keep, workers, executor, progress: as for `simulate_many`. vary, sample, seed: as for `cases`.
    folder: folder of the results; it must not contain another sweep or be in use by another process.
    analysis: "simulate", "equilibrium", "modes" or "linearize", with its options as further arguments.

    Returns the dataset of all cases, as `pliant.load_sweep(folder)` does at any time; it is also written as `results.nc`.
    """
    run_sweep(
        robot, vary, folder, sample=sample, seed=seed, analysis=analysis, keep=keep, workers=workers, executor=executor,
        progress=progress, options=options,
    )  # fmt: skip
    return SweepFolder.open(folder).dataset()


def run_sweep(
    robot: Robot,
    vary: Mapping[str, Any],
    folder: str | os.PathLike[str],
    *,
    sample: str | None,
    seed: int,
    analysis: str,
    keep: Sequence[str],
    workers: int | None,
    executor: Any,
    progress: Progress | bool | None,
    options: Mapping[str, Any],
) -> SweepEnd:
    """Run the remaining cases of a sweep; see `sweep`."""
    kept, vary = name_tuple(keep, "keep") or (), mapping("vary", vary)
    seed = whole("seed", seed, least=0)
    file_name("folder", folder)
    study = Study(robot, cases(vary, sample, seed=seed), made_analysis(analysis, options, kept))
    first = study.structures.equations[0]
    known = {**units(first), **study.analysis.units(), **value_units(first, study.cases.names)}
    asked = {
        "vary": {name: _written(given) for name, given in vary.items()},
        "sample": sample,
        "seed": seed,
        "options": {name: _written(x) for name, x in options.items() if x is not None},
        "keep": list(kept) if analysis == "simulate" else None,
    }
    there = OpenSweep(folder, study, asked, known)
    try:
        before = len(there.journal.done)
        todo = [case for case in range(len(study.cases)) if case not in there.journal.done]

        def done(case: int, outcome: Outcome) -> None:
            there.journal.append(case, outcome)

        stopped = bool(todo) and study.run(done, todo=todo, workers=workers, executor=executor, progress=progress)
        now = len(there.journal.done) - before
    finally:
        there.close()
    found = SweepFolder.open(folder).dataset()
    save_dataset(found, Path(folder) / RESULTS, FORMAT)
    failed = int((found["status"].values == "failed").sum())
    return SweepEnd(Path(folder), len(study.cases), before, now, failed, stopped)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "simulate": simulate_many, "equilibrium": equilibrium_many, "modes": modes_many, "linearize": linearize_many,
}  # fmt: skip
OF_SWEEPS = ("robot", "cases", "keep", "workers", "executor", "progress")
"""Arguments of these functions that are no options of the analysis."""


def made_analysis(name: str, options: Mapping[str, Any], keep: tuple[str, ...]) -> Analysis:
    """The analysis of this name with its options."""
    choice("analysis", name, ANALYSES)
    known = [x for x in inspect.signature(FUNCTIONS[name]).parameters if x not in OF_SWEEPS]
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if option not in known:
            hint = suggestion(option, known, f"known: {', '.join(known)}")
            raise ArgumentError(f"the analysis '{name}' has no option '{option}'", hint)
    if name == "simulate":
        given.setdefault("until", 1.0)
        return Simulate(given, keep)
    return OneByOne(given, name)


def read_value(value: Any) -> Any:
    """An input from the manifest."""
    if isinstance(value, Mapping):
        return TimeSeries(np.array(value["time"]), np.array(value["poly"]))
    return value


def _written(value: Any) -> Any:
    """A value as stored in the manifest."""
    if isinstance(value, TimeSeries):
        return {"time": value.time.tolist(), "poly": value.poly.tolist()}
    if isinstance(value, Mapping):
        return {str(name): _written(x) for name, x in value.items()}
    if isinstance(value, str | bool | int | float) or value is None:
        return value
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Sequence):
        return [_written(x) for x in value]
    return repr(value)
