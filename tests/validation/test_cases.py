"""The cases of `pliant validate`: those that are quick, and what holds for all of them."""

import os
from pathlib import Path

import pytest

from pliant.validation.case import catalogue, missing, run_case

DATA = Path(os.environ.get("PLIANT_DATA", Path(__file__).parents[3] / "shared" / "data"))
CASES = catalogue()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.quick])
def test_a_quick_case_is_within_its_tolerance(name):
    case = CASES[name]
    if reason := missing(case, DATA):
        pytest.skip(reason)
    outcome = run_case(case, DATA)
    assert outcome.ok, f"{outcome.message or outcome.error} of {case.tolerance}"


def test_every_case_says_what_it_is_compared_with():
    assert len(CASES) >= 40
    titles = [case.title for case in CASES.values()]
    assert len(set(titles)) == len(titles)
    for name, case in CASES.items():
        assert case.compared[0].isupper(), name
        assert not case.compared.endswith("."), name
        assert len(case.source) > 20, name
        assert case.source.endswith("."), name
        assert case.tolerance > 0, name
        assert (case.data is None) or case.theme == "Recordings", name
