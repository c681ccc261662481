"""Compute cases one after the other, and report the outcome of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from pliant.validation.case import CaseResult
from pliant.validation.catalogue import Entry


@dataclass(frozen=True)
class Outcome:
    """Outcome of a case.

    Attributes:
        found: value and reference; None if they could not be computed, with the reason in `message`.
        error: the largest error, in the case's measure; worst: its index in the flattened arrays.
        seconds: wall time that it took [s].
    """

    entry: Entry
    found: CaseResult | None
    error: float
    worst: int
    seconds: float
    message: str = ""

    @property
    def ok(self) -> bool:
        """Whether the error is within the tolerance."""
        return bool(self.error <= self.entry.case.tolerance)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        kind, found = self.entry.case, self.found
        answer = {
            "name": self.entry.name,
            "theme": kind.theme,
            "title": self.entry.title,
            "source": kind.source,
            "compared": kind.compared,
            "value": None if found is None else np.asarray(found.value, float),
            "reference": None if found is None else np.asarray(found.reference, float),
            "unit": kind.unit,
            "measure": kind.measure,
            "error": self.error,
            "tolerance": kind.tolerance,
            "ok": self.ok,
            "seconds": round(self.seconds, 3),
        }
        return {**answer, "message": self.message} if self.message else answer


@dataclass(frozen=True)
class NotRun:
    """A case that was not run, and the reason."""

    entry: Entry
    reason: str

    def as_dict(self) -> dict[str, str]:
        """For JSON."""
        return {"name": self.entry.name, "reason": self.reason}


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
    entries: Iterable[Entry], data: Path | None = None, progress: Callable[[Entry], None] = lambda entry: None
) -> ValidationResults:
    """Compute cases in their order; `data` is the folder of recordings, `progress` is called before each of them."""
    outcomes, left = [], []
    for entry in entries:
        progress(entry)
        reason = missing(entry, data)
        if reason:
            left.append(NotRun(entry, reason))
        else:
            outcomes.append(run_case(entry, data))
    return ValidationResults(tuple(outcomes), tuple(left))


def missing(entry: Entry, data: Path | None) -> str:
    """Missing requirements of a case as text; "" if there are none."""
    kind = entry.case
    if kind.package is not None and find_spec(kind.package) is None:
        return f"needs {kind.package}, which is not installed: pip install {kind.install or kind.package}"
    if kind.data is None:
        return ""
    if data is None:
        return f"needs {kind.data}: name its folder with --data DIR or PLIANT_DATA"
    return "" if (data / kind.data).is_file() else f"needs {kind.data}, which is not in {data}"


def run_case(entry: Entry, data: Path | None = None) -> Outcome:
    """Compute one case. Any exception is an outcome too: the other cases continue."""
    kind = entry.case
    arguments = () if kind.data is None or data is None else (data / kind.data,)
    begin = time.perf_counter()
    try:
        found = kind.compute(*arguments)
        errors = np.ravel(kind.error(found))
    except Exception as fault:
        message = f"{type(fault).__name__}: {fault}"
        return Outcome(entry, None, np.nan, 0, time.perf_counter() - begin, message)
    # NaN is the worst entry, and exceeds any tolerance
    worst = int(np.argmax(np.where(np.isnan(errors), np.inf, errors)))
    return Outcome(entry, found, float(errors[worst]), worst, time.perf_counter() - begin)
