"""Definition of a case: a function that computes a value and its reference, with the source of the reference and a tolerance."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from pliant.language.arguments import ArgumentError

Theme = Literal[
    "Statics", "Stability", "Vibration", "Motion", "Contact", "Conservation", "Convergence", "Published systems",
    "Other engines", "Fluid", "Rods in fluid", "Magnets", "Recordings",
]  # fmt: skip
"""Themes, in the order of tables; the cases of each are in the module of its name."""

Measure = Literal["relative", "of the largest", "absolute"]
"""Measures of the error: each difference relative to its reference, relative to the largest reference, or absolute."""


@dataclass(frozen=True)
class Line:
    """One line of a plot. `exact`: it belongs to the reference, and is drawn as marks."""

    name: str
    x: Any
    y: Any
    exact: bool = False


@dataclass(frozen=True)
class Plot:
    """A small plot of a case: labels of the axes with units, lines, and whether the axes are logarithmic."""

    x: str
    y: str
    lines: tuple[Line, ...]
    logarithmic: bool = False


@dataclass(frozen=True)
class CaseResult:
    """Result of a case: the value of Pliant, and the reference, each a number or an array of the same shape."""

    value: Any
    reference: Any
    plot: Plot | None = None


@dataclass(frozen=True)
class Case:
    """A case with a known solution.

    Attributes:
        name: of the function that computes it, by which users select it; title: its description in one line.
        compute: returns a `CaseResult`; it is called with the path of `data` if the case needs one.
        theme: the table that contains it.
        compared: description of the compared quantity, with units.
        source: of the reference: citation, equation, table or page.
        tolerance: largest allowed error, in the given `measure`.
        unit: of value and reference, "" for numbers.
        data: file of recordings that it needs, in the folder given by the user.
        package: module that it needs in addition to those of Pliant, and `install` its name for pip.
        quick: whether it takes less than about a second, so that the tests run it.
    """

    name: str
    title: str
    compute: Callable[..., CaseResult]
    theme: Theme
    compared: str
    source: str
    tolerance: float
    measure: Measure = "relative"
    unit: str = ""
    data: str | None = None
    package: str | None = None
    install: str | None = None
    quick: bool = True

    def error(self, result: CaseResult) -> np.ndarray:
        """Errors of all entries, in the case's measure; NaN if value or reference is."""
        value, reference = np.broadcast_arrays(np.asarray(result.value, float), np.asarray(result.reference, float))
        difference = np.abs(value - reference)
        if self.measure == "absolute":
            return difference
        scale = np.abs(reference) if self.measure == "relative" else np.abs(reference).max()
        if not np.all(scale > 0):
            raise ValueError("a relative error needs a reference other than zero")
        return np.asarray(difference / scale)


CASES: dict[str, Case] = {}
"""The cases of the imported themes, by name."""

Compute = Callable[..., CaseResult]


def cases_of(theme: Theme) -> Callable[..., Callable[[Compute], Compute]]:
    """Decorator that adds a case to a theme: `case(tolerance=1e-3, **options)`, where `options` are other attributes of `Case`.

    Title, compared quantity and source are in the docstring: its first line, and what follows `Compared:` and `Source:`.
    """

    def case(*title: str, **options: Any) -> Callable[[Compute], Compute]:
        def add(compute: Compute) -> Compute:
            name = compute.__name__
            if name in CASES:
                raise TypeError(f"there are two cases named {name}")
            first, _, rest = inspect.cleandoc(compute.__doc__ or "").partition("\n")
            compared, _, source = " ".join(rest.partition("Compared:")[2].split()).partition(" Source: ")
            texts = {
                "title": (title or (first,))[0].removesuffix("."),
                "compared": compared.removesuffix("."),
                "source": source,
            }
            CASES[name] = Case(name, compute=compute, theme=theme, **{**texts, **options})
            return compute

        return add

    return case


def theme_word(theme: str) -> str:
    """A theme as users write it, which is the name of its module: `published_systems`."""
    return theme.lower().replace(" ", "_")


@cache
def catalogue() -> dict[str, Case]:
    """All cases by name, in the order of their themes."""
    themes: tuple[Theme, ...] = get_args(Theme)
    for theme in themes:
        import_module(f"{__package__}.{theme_word(theme)}")
    return dict(sorted(CASES.items(), key=lambda x: (themes.index(x[1].theme), x[0])))


def chosen(wanted: Sequence[str]) -> dict[str, Case]:
    """The cases with these names or themes, in the order of themes; all of them if none is named."""
    every = catalogue()
    themes = {theme_word(theme): theme for theme in get_args(Theme)}
    for word in wanted:
        if word not in every and word not in themes:
            raise ArgumentError(f"there is no case '{word}'", _near(word, [*every, *themes]))
    kept = {themes[word] for word in wanted if word in themes}
    return {name: x for name, x in every.items() if not wanted or name in wanted or x.theme in kept}


def _near(word: str, known: Sequence[str]) -> str:
    """Names that contain the text or are similar to it, as a hint."""
    alike = [name for name in known if word in name or name in word]
    similar = list(dict.fromkeys([*alike, *get_close_matches(word, known, n=3, cutoff=0.6)]))[:5]
    return f"did you mean {' or '.join(similar)}?" if similar else "pliant validate --list names them all"


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
