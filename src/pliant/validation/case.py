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
"""Themes, in the order of tables."""

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

    def error(self, found: CaseResult) -> np.ndarray:
        """Errors of all entries, in the case's measure; NaN if value or reference is."""
        value, reference = np.broadcast_arrays(np.asarray(found.value, float), np.asarray(found.reference, float))
        difference = np.abs(value - reference)
        if self.measure == "absolute":
            return difference
        scale = np.abs(reference) if self.measure == "relative" else np.abs(reference).max()
        if not np.all(scale > 0):
            raise ValueError("a relative error needs a reference other than zero")
        return np.asarray(difference / scale)


def case(theme: Theme, **options: Any) -> Callable[[Callable[..., CaseResult]], Case]:
    """Decorator that creates a case from the function that computes it; `options` are the other attributes of `Case`."""

    def decorate(compute: Callable[..., CaseResult]) -> Case:
        return Case(compute, theme, **options)

    return decorate
