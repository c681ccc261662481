"""What has failed before does not fail again, and neither do some hundred new cases; `make fuzz` runs as many as there is time for.

PLIANT_FUZZ sets how many new cases of each target are run.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fuzz_targets import TARGETS, Case
from watching import outcomes

from fuzz import CORPUS, case_of

CASES = {
    "models": 150,
    "expressions": 300,
    "drawings": 100,
    "recordings": 60,
    "variations": 60,
    "fmus": 60,
    "valid": 100,
}
"""Cases of each target, in a second or two, valid models in minutes; analyses, results and commands have separate tests."""
SEED = 0


@pytest.mark.parametrize("name", TARGETS)
def test_past_failures(name: str, tmp_path: Path) -> None:
    files = sorted((CORPUS / name).glob("*"))
    cases = [Case(file.read_bytes(), file.suffix) for file in files]
    for outcome in outcomes(TARGETS[name], cases.__getitem__, range(len(cases)), tmp_path):
        assert outcome.problem is None, f"{files[outcome.number]}: {outcome.problem}"


@pytest.mark.parametrize("name", CASES)
def test_new_cases(name: str, tmp_path: Path) -> None:
    target, count = TARGETS[name], int(os.environ.get("PLIANT_FUZZ", CASES[name]))
    done = 0
    for outcome in outcomes(target, lambda number: case_of(target, SEED, number), range(count), tmp_path):
        done += 1
        again = f"tests/fuzz/fuzz.py --target {name} --seed {SEED} --case {outcome.number}"
        assert outcome.problem is None, f"{outcome.problem}\nonce more: {again}"
    assert done == count
