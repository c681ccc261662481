"""No scalar of a model goes unchecked: every fault is reported at its location, in every type of part and variant.

One scalar of each kind of field is damaged, by the ways in which a number is not finite in turn; with PLIANT_FUZZ set, all
scalars of all models are, in all ways, which takes minutes.
"""

from __future__ import annotations

import os

import pytest
from damage import DAMAGES, LINE, Scalar, scalars

ALL = bool(os.environ.get("PLIANT_FUZZ"))


@pytest.fixture(scope="module")
def chosen() -> list[Scalar]:
    """The first scalar of each kind of field, or all."""
    everything = list(scalars())
    return everything if ALL else list({scalar.kind: scalar for scalar in reversed(everything)}.values())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the (key|word) .* is called")
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_scalar_is_a_fault_at_its_place(damage: str, chosen: list[Scalar]) -> None:
    silent, ways = [], DAMAGES[damage]
    for number, scalar in enumerate(chosen):
        if damage == "a wrong unit" and scalar.takes_any_unit():
            continue
        for value in ways if ALL else (ways[number % len(ways)],):
            faults = scalar.damaged(value)
            if not any(fault.line == LINE for fault in faults):
                silent.append(f"{scalar} as {value}: {'; '.join(map(str, faults)) or 'no fault'}")
    assert not silent, "\n".join(silent)
