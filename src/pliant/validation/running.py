"""Compute cases one after the other, and report the outcome of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from pliant.validation.case import Case, CaseResult


@dataclass(frozen=True)
class Outcome:
    """Outcome of a case.

    Attributes:
        found: value and reference; None if they could not be computed, with the reason in `message`.
        error: the largest error, in the case's measure; worst: its index in the flattened arrays.
        seconds: wall time that it took [s].
    """

    case: Case
    found: CaseResult | None
    error: float
    worst: int
    seconds: float
    message: str = ""

    @property
    def ok(self) -> bool:
        """Whether the error is within the tolerance."""
        return bool(self.error <= self.case.tolerance)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        case, found = self.case, self.found
        answer = {
            "name": self.case.name,
            "theme": case.theme,
            "title": self.case.title,
            "source": case.source,
            "compared": case.compared,
            "value": None if found is None else np.asarray(found.value, float),
            "reference": None if found is None else np.asarray(found.reference, float),
            "unit": case.unit,
            "measure": case.measure,
            "error": self.error,
            "tolerance": case.tolerance,
            "ok": self.ok,
            "seconds": round(self.seconds, 3),
        }
        return {**answer, "message": self.message} if self.message else answer


@dataclass(frozen=True)
class NotRun:
    """A case that was not run, and the reason."""

    case: Case
    reason: str

    def as_dict(self) -> dict[str, str]:
        """For JSON."""
        return {"name": self.case.name, "reason": self.reason}


@dataclass(frozen=True)
class ValidationResults:
    """Outcomes of all cases."""

    outcomes: tuple[Outcome, ...]
    not_run: tuple[NotRun, ...]

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """Cases beyond their tolerance, or that could not be computed."""
        return tuple(x for x in self.outcomes if not x.ok)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        cases, left = [x.as_dict() for x in self.outcomes], [x.as_dict() for x in self.not_run]
        return {"model": None, "status": "failed" if self.failed else "ok", "cases": cases, "not_run": left}


def run_cases(
    cases: Iterable[Case], data: Path | None = None, progress: Callable[[Case], None] = lambda case: None
) -> ValidationResults:
    """Compute cases in their order; `data` is the folder of recordings, `progress` is called before each of them."""
    outcomes, left = [], []
    for case in cases:
        progress(case)
        reason = missing(case, data)
        if reason:
            left.append(NotRun(case, reason))
        else:
            outcomes.append(run_case(case, data))
    return ValidationResults(tuple(outcomes), tuple(left))


def missing(case: Case, data: Path | None) -> str:
    """Missing requirements of a case as text; "" if there are none."""
    if case.package is not None and find_spec(case.package) is None:
        return f"needs {case.package}, which is not installed: pip install {case.install or case.package}"
    if case.data is None:
        return ""
    if data is None:
        return f"needs {case.data}: name its folder with --data DIR or PLIANT_DATA"
    return "" if (data / case.data).is_file() else f"needs {case.data}, which is not in {data}"


def run_case(case: Case, data: Path | None = None) -> Outcome:
    """Compute one case. Any exception is an outcome too: the other cases continue."""
    arguments = () if case.data is None or data is None else (data / case.data,)
    begin = time.perf_counter()
    try:
        found = case.compute(*arguments)
        errors = np.ravel(case.error(found))
    except Exception as fault:
        message = f"{type(fault).__name__}: {fault}"
        return Outcome(case, None, np.nan, 0, time.perf_counter() - begin, message)
    # NaN is the worst entry, and exceeds any tolerance
    worst = int(np.argmax(np.where(np.isnan(errors), np.inf, errors)))
    return Outcome(case, found, float(errors[worst]), worst, time.perf_counter() - begin)
