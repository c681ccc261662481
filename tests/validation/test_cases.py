"""The cases of `pliant validate`: those that are quick, and what holds for all of them."""

import os
from pathlib import Path

import pytest

from pliant.validation.catalogue import catalogue
from pliant.validation.running import missing, run_case

DATA = Path(os.environ.get("PLIANT_DATA", Path(__file__).parents[3] / "shared" / "data"))
CASES = catalogue()


@pytest.mark.parametrize("name", [name for name, entry in CASES.items() if entry.case.quick])
def test_a_quick_case_is_within_its_tolerance(name):
    entry = CASES[name]
    if reason := missing(entry, DATA):
        pytest.skip(reason)
    outcome = run_case(entry, DATA)
    assert outcome.ok, f"{outcome.message or outcome.error} of {entry.case.tolerance}"


def test_every_case_says_what_it_is_compared_with():
    assert len(CASES) >= 40
    titles = [entry.title for entry in CASES.values()]
    assert len(set(titles)) == len(titles)
    for name, entry in CASES.items():
        kind = entry.case
        assert kind.compared[0].isupper(), name
        assert not kind.compared.endswith("."), name
        assert len(kind.source) > 20, name
        assert kind.source.endswith("."), name
        assert kind.tolerance > 0, name
        assert (kind.data is None) or kind.theme == "Recordings", name
