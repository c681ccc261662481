"""What follows from the class of an analysis: function, checks, keys of model files, files of results, many cases."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import make_reference
import pliant
from pliant.analysis.base import Analysis, analysis
from pliant.analysis.remark import RULES, Remark
from pliant.analysis.result import AnalysisResult
from pliant.language.limits import DeadlineExceeded, time_limit
from pliant.robot.analyses import analysis_names
from pliant.show.report import report


@pytest.fixture(scope="module")
def eqs() -> pliant.Equations:
    return pliant.derive("four_bar")


def test_every_public_analysis_is_found_by_its_name() -> None:
    assert {"equilibrium", "linearize", "modes", "path", "simulate"} <= set(analysis_names())
    for name in analysis_names():
        kind = analysis(name)
        assert kind.name == name
        assert kind.title
        assert set(kind.field_texts()) == set(kind.model_fields), "each field has a docstring"


def test_the_function_has_the_fields_as_keywords_and_documents_them() -> None:
    keywords = inspect.signature(pliant.modes).parameters
    assert list(keywords) == [
        "eqs",
        *analysis("modes").options(),
        "inputs",
        "parameters",
        "timeout",
        "out",
        "on_failure",
    ]
    for name in list(keywords)[1:]:
        assert f"{name}: " in str(pliant.modes.__doc__)


def test_texts_with_units_are_numbers_in_si(eqs: pliant.Equations) -> None:
    given = analysis("modes").of({"time": "20 ms", "at": {"q1": "30 deg"}}).in_si(eqs)
    assert given.time == pytest.approx(0.02)  # type: ignore[attr-defined]
    assert given.at == {"q1": pytest.approx(np.pi / 6)}  # type: ignore[attr-defined]
    with pytest.raises(pliant.ArgumentError, match="time: expected a time, got a length"):
        pliant.modes(eqs, time="20 mm")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 0}, "count: expected at least 1, got 0"),
        ({"counts": 3}, "no argument 'counts'.*did you mean 'count'"),
        ({"undamped": "off"}, "undamped: expected true or false"),
        ({"timeout": -1}, "timeout must be a positive number"),
        ({"on_failure": "ignore"}, "unknown on_failure 'ignore'"),
    ],
)
def test_wrong_options_are_refused(eqs: pliant.Equations, options: dict[str, object], message: str) -> None:
    with pytest.raises(pliant.ArgumentError, match=message):
        pliant.modes(eqs, **options)  # type: ignore[arg-type]


def test_files_have_no_keys_that_only_python_code_can_give(tmp_path: Path) -> None:
    model = tmp_path / "model.yaml"
    text = "pliant: 1\nbodies: {a: {mass: 1 kg}}\njoints: {x: {type: prismatic, child: a, axis: x}}\nanalyses:\n  - modes: {%s}\n"
    for entry, message in (("out: a.nc", "unknown key 'out'"), ("at: 3", "expected initial or equil")):
        model.write_text(text % entry)
        (fault,) = pliant.check(model)
        assert message in str(fault)
        assert fault.line == 5


def test_results_are_saved_with_everything(eqs: pliant.Equations, tmp_path: Path) -> None:
    found = pliant.modes(eqs, at="initial", out=tmp_path / "modes.nc")
    assert len(found.remarks) == 2
    for again in (pliant.load_result(tmp_path / "modes.nc"), pickle.loads(pickle.dumps(found))):
        assert repr(again) == repr(found)
        for name in found.variables():
            np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
        assert again.remarks == found.remarks
        assert report(eqs, [again]) == report(eqs, [found])
    data = bytearray((tmp_path / "modes.nc").read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "damaged.nc").write_bytes(data)
    with pytest.raises(pliant.ResultFileError, match="damaged"):
        pliant.load_result(tmp_path / "damaged.nc")


def test_remarks_are_computed_when_they_are_asked_for(eqs: pliant.Equations, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, asked = analysis("modes"), []
    monkeypatch.setattr(kind, "remarks", (lambda equations, result: asked.append(1) or Remark("said", "test"),))
    found = pliant.modes(eqs)
    assert asked == []
    assert found.remarks == ("said",)
    assert "said" in repr(found)
    assert asked == [1]


def test_every_remark_states_what_it_says_and_its_threshold() -> None:
    for name in analysis_names():
        assert isinstance(analysis(name).remarks, tuple)
    for rule in RULES.values():
        assert rule.about.endswith(".")
        assert rule.threshold
        assert rule.reason


def test_the_page_of_remarks_is_what_their_functions_say() -> None:
    assert make_reference.REMARKS_PAGE.read_text(encoding="utf-8") == make_reference.remarks_page()


def test_commands_of_analyses_are_documented():
    text = make_reference.COMMANDS_PAGE.read_text(encoding="utf-8")
    assert text == make_reference.commands_page(), "run `python tools/make_reference.py`"


def test_many_cases_have_the_variables_of_the_result(eqs: pliant.Equations) -> None:
    found = pliant.modes_many(eqs, [{"q1": 0.0}, {"q1": 0.3}], at={"q1": 0.1}, count=1)
    assert found["frequencies"].attrs["units"] == "Hz"
    assert found.sizes["case"] == 2
    assert isinstance(pliant.modes(eqs), AnalysisResult)


class Searching(Analysis):
    """An analysis that consists of many others, and never ends by itself."""

    name: ClassVar[str] = "searching"

    def run(self, eqs: pliant.Equations) -> Any:
        while True:
            pliant.simulate(eqs, 1e4, on_failure="return")


def test_a_search_that_runs_into_its_time_limit_between_two_analyses_fails_in_words() -> None:
    eqs = pliant.derive("pendulum")
    with pytest.raises(pliant.AnalysisFailed, match=r"stopped by the time limit of 0\.2 s, before there was a result"):
        Searching(timeout=0.2).analyse(eqs)
    with pytest.raises(DeadlineExceeded), time_limit(0.2):  # the limit of what calls it is not its own
        Searching(timeout=100.0).analyse(eqs)
