"""Gent's solid, with chains of limited extensibility: W = -E/6 J ln(1 - (I1 - 3) / J)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import casadi as ca

from pliant.language.base import Problem
from pliant.section.fibre_law.base import FibreLaw, first_invariant


def _room(x: Any, c: Any) -> Any:
    """Fraction of the limit that is left."""
    return 1 - (first_invariant(x) - 3) / c[0]


def _problems(limit: Any, value: Callable[[Any], float]) -> Iterator[Problem]:
    if not value(limit) > 0:
        yield (
            (),
            f"gent_limit must be above zero, but it is {value(limit):g}",
            "rubber has 30 to 100, soft tissue about 1",
        )


GENT = FibreLaw(
    energy=lambda x, c: -c[0] / 6 * ca.log(_room(x, c)),
    shear=lambda x, c: 1 / _room(x, c),
    key="gent_limit",
    size=1,
    numbers=lambda limit, value: [value(limit)],
    problems=_problems,
    room=_room,
)
