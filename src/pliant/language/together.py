"""Checks written for one case, made for many at once.

A check compares values and says what is wrong. With a `Together` in place of each value the same code looks at all cases in one
go, as long as all of them take the same way through it; where they would part, `Differ` says who goes where, and each part is
looked at by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Refusals = list[Exception | None]
"""What is wrong with each case."""


class Differ(Exception):
    """Cases that would take different ways; `who`: truth values, those of the first way."""

    def __init__(self, who: np.ndarray) -> None:
        super().__init__("cases differ")
        self.who = who


class Together(np.ndarray):
    """Values of one quantity in several cases, one each. It is true or false, or a number, where it is so in all of them."""

    def __bool__(self) -> bool:
        each = np.asarray(self, dtype=bool)
        if each.all() or not each.any():
            return bool(each.flat[0])
        raise Differ(each)

    def __float__(self) -> float:
        each = np.asarray(self)
        same = each == each.flat[0]
        if same.all():
            return float(each.flat[0])
        raise Differ(same)


def refusals(
    values: Mapping[str, np.ndarray],
    check: Callable[[Mapping[str, Any]], object],
    refuse: Callable[[Mapping[str, float]], Exception | None],
) -> Refusals:
    """What is wrong with each of several cases, given by the values of some names in all of them.

    check: raises something where a group of cases (with a `Together` for each name) is not all right. refuse: what is wrong with
    one case; it has the last word, and is asked of those that no group passes with.
    """
    count = len(next(iter(values.values()), np.zeros(1)))
    found: Refusals = [None] * count
    waiting = [np.arange(count)]
    while waiting:
        group = waiting.pop()
        if len(group) == 1:
            found[group[0]] = refuse({name: float(x[group[0]]) for name, x in values.items()})
            continue
        try:
            with np.errstate(divide="raise", over="raise", invalid="raise"):
                check({name: x[group].view(Together) for name, x in values.items()})
        except Differ as parted:
            waiting += [group[parted.who], group[~parted.who]]
        except Exception:  # whatever it is, it shows again in the case that it comes from
            waiting += np.array_split(group, 2)
    return found
