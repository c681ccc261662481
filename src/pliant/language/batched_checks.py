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
"""Errors of each case."""


class CasesDiffer(Exception):
    """Cases that would take different branches; `who`: true for those of the first branch."""

    def __init__(self, who: np.ndarray) -> None:
        super().__init__("cases differ")
        self.who = who


class BatchedValue(np.ndarray):
    """Values of one quantity in several cases, one each. It is true or false, or a number, where it is so in all of them."""

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
    """Errors of each of several cases, given by the values of some names in all of them.

    check: raises an exception if a group of cases (with a `BatchedValue` for each name) is not valid. refuse: errors of a
    single case; it decides for cases that pass in no group.
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
        except CasesDiffer as parted:
            waiting += [group[parted.who], group[~parted.who]]
        except Exception:  # of any type, it shows again in the case that it comes from
            waiting += np.array_split(group, 2)
    return found
