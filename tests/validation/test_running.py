"""Running and reporting of cases: outcomes, missing requirements, names, the command and its page."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from pliant.cli import run
from pliant.language.arguments import ArgumentError
from pliant.validation.case import (
    Case,
    CaseResult,
    Line,
    NotRun,
    Plot,
    Theme,
    ValidationResults,
    cases_of,
    catalogue,
    chosen,
    missing,
    run_case,
    run_cases,
)
from pliant.validation.page import findings_page


def made(found, **options):
    """A case that returns a given result."""
    options = {"tolerance": 0.1, "compared": "A number", "source": "Somebody, somewhere (1900).", **options}
    return Case("made_up", "A case <made up>", found, "Statics", **options)


@pytest.mark.parametrize(
    ("measure", "error", "worst"), [("relative", 0.5, 0), ("of the largest", 0.3, 2), ("absolute", 3.0, 2)]
)
def test_the_error_is_the_largest_in_the_measure_of_the_case(measure, error, worst):
    outcome = run_case(made(lambda: CaseResult([1.5, -5.0, 7.0], [1.0, -5.0, 10.0]), measure=measure))
    assert (outcome.error, outcome.worst) == (pytest.approx(error), worst)
    assert not outcome.ok
    assert run_case(made(lambda: CaseResult([1.05, -5.0], [1.0, -5.0]), measure=measure)).ok


def test_a_reference_serves_many_values():
    assert run_case(made(lambda: CaseResult(np.full((3, 2), 2.0), (2.0, 2.1)))).error == pytest.approx(0.1 / 2.1)


def test_what_is_not_a_number_fails():
    outcome = run_case(made(lambda: CaseResult([1.0, np.nan], 1.0), tolerance=1e9))
    assert not outcome.ok
    assert outcome.worst == 1


def test_a_case_that_breaks_is_an_outcome():
    outcome = run_case(made(lambda: 1 / 0))
    assert not outcome.ok
    assert outcome.message == "ZeroDivisionError: division by zero"
    nothing = run_case(made(lambda: CaseResult(0.0, 0.0)))
    assert "other than zero" in nothing.message


def test_what_is_missing_is_said(tmp_path):
    needs_file = made(lambda file: CaseResult(float(file.read_text()), 1.0), data="here.csv")
    assert missing(needs_file, None) == "needs here.csv: name its folder with --data DIR or PLIANT_DATA"
    assert missing(needs_file, tmp_path) == f"needs here.csv, which is not in {tmp_path}"
    (tmp_path / "here.csv").write_text("1.02")
    assert missing(needs_file, tmp_path) == ""
    assert run_case(needs_file, tmp_path).error == pytest.approx(0.02)
    needs_package = made(lambda: CaseResult(1.0, 1.0), package="no_such_engine", install="engine")
    assert missing(needs_package, None) == "needs no_such_engine, which is not installed: pip install engine"
    findings = run_cases([needs_package, made(lambda: CaseResult(1.0, 1.0))])
    assert (len(findings.outcomes), len(findings.not_run)) == (1, 1)


def test_names_are_cases_or_themes():
    assert list(chosen(["elastica"])) == ["elastica"]
    contacts = chosen(["contact", "elastica"])
    assert next(iter(contacts)) == "elastica"
    assert {x.theme for x in contacts.values()} == {"Statics", "Contact"}
    assert len(chosen([])) == len(catalogue())
    for word, hint in (("elastika", "did you mean elastica?"), ("zzz", "pliant validate --list names them all")):
        with pytest.raises(ArgumentError) as unknown:
            chosen([word])
        assert unknown.value.hint == hint


def test_the_command_answers_in_json(capsys):
    assert run(["validate", "falling_with_drag", "rotating_tube", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [x["name"] for x in answer["cases"]] == ["falling_with_drag", "rotating_tube"]
    assert answer["not_run"] == []
    one = answer["cases"][1]
    assert one["ok"] is True
    assert one["error"] <= one["tolerance"]
    assert {"source", "value", "reference", "seconds"} <= one.keys()
    assert np.allclose(one["value"], one["reference"], rtol=1e-5)


def test_the_command_without_recordings(capsys, monkeypatch):
    monkeypatch.delenv("PLIANT_DATA", raising=False)
    assert run(["validate", "rollout_planar"]) == 0
    out = capsys.readouterr().out
    assert "not run: rollout_planar: needs rollouts/planar.csv" in out
    assert "1 was not run" in out
    assert run(["validate", "--data", "/no/such/folder", "rollout_planar"]) == 2


def test_a_case_beyond_its_tolerance_is_exit_code_1(capsys, monkeypatch):
    one = catalogue()["falling_with_drag"]
    wrong = replace(one, tolerance=1e-15)
    monkeypatch.setattr("pliant.cli.validate.chosen", lambda wanted: {one.name: wrong})
    assert run(["validate"]) == 1
    out = capsys.readouterr().out
    assert "failed" in out
    assert "0 of 1 cases are within" in out


def test_an_unknown_name_is_refused_with_a_hint(capsys):
    assert run(["validate", "euler"]) == 2
    assert "there is no case 'euler' (did you mean euler_column" in capsys.readouterr().err


def test_shells_complete_names_of_cases_and_themes(tmp_path):
    code = "import sys; sys.argv = ['pliant']; from pliant.cli import main; main()"
    asked = {"COMP_WORDS": "pliant validate sta", "COMP_CWORD": "2", "_PLIANT_COMPLETE": "complete_bash"}
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **asked}, capture_output=True, text=True)
    assert done.stdout.split() == ["statics", "stability"]


def test_the_list_names_all_cases(capsys):
    assert run(["validate", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(f"  {name} " in listed for name in catalogue())
    assert run(["validate", "--list", "--json", "elastica"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["cases"]
    assert "Bisshopp" in one["source"]


def test_the_page_has_everything_in_it(tmp_path, capsys):
    file = tmp_path / "page.html"
    assert run(["validate", "falling_with_drag", "--report", str(file)]) == 0
    page = file.read_text(encoding="utf-8")
    assert "H. Lamb, Dynamics" in page
    assert "data:image/svg+xml" in page
    assert "http" not in page.replace("http-equiv", "")
    assert run(["validate", "falling_with_drag", "--report", str(tmp_path / "no" / "page.html")]) == 2
    assert run(["validate", "--report", "page.txt"]) == 2


def test_the_page_tells_failures_and_what_was_not_run():
    plot = Plot("x", "y", (Line("a", [0, 1], [1, 2]), Line("b", [0, 1], [1, 3], exact=True)), logarithmic=False)
    wrong = run_case(made(lambda: CaseResult([1.0, 2.0], [1.0, 1.0], plot)))
    broken = run_case(made(lambda: 1 / 0))
    left = NotRun(made(lambda: CaseResult(1.0, 1.0)), "needs <rain>")
    page = findings_page(ValidationResults((wrong, broken), (left,)))
    assert "A case &lt;made up&gt;" in page
    assert "2 instead of 1, an error of 1 where 0.1 is allowed" in page
    assert "made_up failed: ZeroDivisionError: division by zero" in page
    assert "needs &lt;rain&gt;" in page
    assert "The table has the worst of 2 values" in page
    assert "0 of 2 cases are within" in page


def test_two_cases_have_two_names():
    assert {case.theme for case in catalogue().values()} == set(get_args(Theme))
    with pytest.raises(TypeError, match="two cases named rotating_tube"):
        cases_of("Motion")()(catalogue()["rotating_tube"].compute)
