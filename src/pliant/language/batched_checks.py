"""Checks written for one case, evaluated for many at once.

A check compares values and reports errors. With a `BatchedValue` instead of each value the same code checks all cases at
once, as long as all of them take the same branches; where they differ, `CasesDiffer` reports the split, and each group is
checked separately.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Refusals = list[Exception | None]
"""The error of each case, or None."""


class CasesDiffer(Exception):
    """Raised where cases would take different branches; `who` is true for the cases of one branch."""

    def __init__(self, who: np.ndarray) -> None:
        super().__init__("cases differ")
        self.who = who


class BatchedValue(np.ndarray):
    """Values of one quantity in several cases. Conversion to bool or float raises CasesDiffer if the cases differ."""

    def __bool__(self) -> bool:
        each = np.asarray(self, dtype=bool)
        if each.all() or not each.any():
            return bool(each.flat[0])
        raise CasesDiffer(each)

    def __float__(self) -> float:
        each = np.asarray(self)
        same = each == each.flat[0]
        if same.all():
            return float(each.flat[0])
        raise CasesDiffer(same)


def refusals(
    values: Mapping[str, np.ndarray],
    check: Callable[[Mapping[str, Any]], object],
    refuse: Callable[[Mapping[str, float]], Exception | None],
) -> Refusals:
    """The error of each of several cases.

    values: one value per case, by name. check: raises an exception if a group of cases (with a `BatchedValue` for each name) is
    not valid. refuse: the error of a single case, or None; it is called for cases that do not pass as part of a group.
    """
    count = len(next(iter(values.values()), np.zeros(1)))
    found: Refusals = [None] * count
    waiting = [np.arange(count)] if count else []
    while waiting:
        group = waiting.pop()
        if len(group) == 1:
            found[group[0]] = refuse({name: float(x[group[0]]) for name, x in values.items()})
            continue
        try:
            with np.errstate(divide="raise", over="raise", invalid="raise"):
                check({name: x[group].view(BatchedValue) for name, x in values.items()})
        except CasesDiffer as split:
            waiting += [group[split.who], group[~split.who]]
        except Exception:  # any type: `refuse` finds it in the case that causes it
            waiting += np.array_split(group, 2)
    return found
