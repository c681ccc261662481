"""Finite differences: of fourth order with a test for kinks, and central ones over the increments of a configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.engine.layout import KINKS

if TYPE_CHECKING:
    from pliant.engine.binding import Binding

OFFSETS = (1, -1, 2, -2)
WEIGHTS = np.array([8.0, -8.0, -1.0, 1.0]) / 12.0
"""Fourth-order differences: offsets of evaluations, in steps, and the weights of their values in derivative times step."""
EVEN = np.array([4.0, 4.0, -1.0, -1.0])
"""Weights of the values at OFFSETS in a sum that is six times the central value, up to terms of fourth order."""


def central(function: Callable[[np.ndarray], Any], size: int, step: float) -> np.ndarray:
    """Jacobian at zero of a function of vectors, values x size: it is called once with all 2 size arguments as rows."""
    steps = step * np.eye(size)
    values = np.asarray(function(np.concatenate([steps, -steps])))
    return np.asarray(((values[:size] - values[size:]) / (2 * step)).T)


def moved(binding: Binding, q: np.ndarray, increments: np.ndarray) -> np.ndarray:
    """Configurations that are away from q by the rows of `increments`."""
    return np.array([binding.increment(q, x) for x in increments])


def difference(function: Callable[[float], Any], step: float) -> np.ndarray:
    """The derivative of a function at zero by finite differences; see `checked_difference`."""
    return checked_difference(function, step, KINKS["MISFIT"])[0]


def checked_difference(function: Callable[[float], Any], step: float, kinked: float) -> tuple[np.ndarray, bool]:
    """The derivative of a function at zero by finite differences, and whether its values are consistent with a smooth function.

    If the values on both sides indicate a kink within the step, shorter steps are tried, and accepted if even shorter ones confirm
    them: the derivative is that of the current branch. If the kink is at zero itself, so that the inconsistency is the same for all
    shorter steps, it is the derivative for increasing arguments. kinked: threshold of the inconsistency over the derivative.
    """
    here = np.asarray(function(0.0), dtype=float)

    def attempt(step: float) -> tuple[np.ndarray, np.ndarray, float]:
        values = np.array([function(offset * step) for offset in OFFSETS], dtype=float)
        misfit = np.sum(np.abs(np.tensordot(EVEN, values, axes=1) - 6 * here)) / step
        upward = (4 * values[0] - values[2] - 3 * here) / (2 * step)
        return np.asarray(np.tensordot(WEIGHTS, values, axes=1) / step), upward, float(misfit)

    first, above, misfit = attempt(step)
    if misfit <= kinked * np.sum(np.abs(first)):
        return first, True
    shorter, before, constant = first, np.inf, True
    for k in range(1, int(KINKS["ATTEMPTS"])):
        shortest, upward, left = attempt(step * KINKS["SHORTER"] ** k)
        if k == 1:
            above = upward
        constant = constant and (k == 1 or before / KINKS["CONSTANT"] <= left <= before * KINKS["CONSTANT"])
        confirmed = np.sum(np.abs(shortest - shorter)) <= KINKS["CONFIRMED"] * np.sum(np.abs(shorter - first))
        if before < KINKS["BETTER"] * misfit and confirmed:
            return shorter, True
        shorter, before = shortest, left
    return (above, True) if constant else (first, False)
