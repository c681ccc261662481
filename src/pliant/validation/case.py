"""Definition of a case: a function that computes a value and its reference, with the source of the reference and a tolerance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Theme = Literal[
    "Statics",
    "Stability",
    "Vibration",
    "Motion",
    "Contact",
    "Conservation",
    "Convergence",
    "Published systems",
    "Other engines",
    "Recordings",
]
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
    """Decorator that adds a case to a theme: `case(title, **options)`, where `options` are the other attributes of `Case`."""

    def case(title: str, **options: Any) -> Callable[[Compute], Compute]:
        def add(compute: Compute) -> Compute:
            if compute.__name__ in CASES:
                raise TypeError(f"there are two cases named {compute.__name__}")
            CASES[compute.__name__] = Case(compute.__name__, title, compute, theme, **options)
            return compute

        return add

    return case
