"""The commands about models, as a person and as a program see them."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

from pliant.cli import COMMANDS, function_of, run
from pliant.language.source import bundled


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


BROKEN = "pliant: 1\nbodies: {rod: {mass: 5 mm}}\njoints: {hinge: {type: revolute, child: rod, axis: q}}\n"


@pytest.fixture
def broken(tmp_path: Path) -> str:
    path = tmp_path / "broken.yaml"
    path.write_text(BROKEN)
    return str(path)


def test_check_of_a_sound_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert called(capsys, "check", "four_bar") == (0, "four_bar: ok\n", "")
    code, out, err = called(capsys, "check", "four_bar", "--json")
    assert (code, json.loads(out), err) == (0, {"model": "four_bar", "status": "ok", "faults": [], "remarks": []}, "")


def test_check_of_a_broken_model(capsys: pytest.CaptureFixture[str], broken: str) -> None:
    code, out, err = called(capsys, "check", broken)
    assert (code, out) == (2, "")
    assert f"{broken}:2" in err
    assert "bodies.rod.mass" in err
    assert "expected a mass, got a length: '5 mm'" in err
    code, out, err = called(capsys, "check", broken, "--json")
    answer = json.loads(out)
    assert code == 2
    assert (answer["model"], answer["status"]) == (broken, "faults")
    assert answer["faults"][0] == {
        "file": broken,
        "line": 2,
        "path": "bodies.rod.mass",
        "message": "expected a mass, got a length: '5 mm'",
        "hint": "give a mass such as 28 g",
    }
    assert [fault["path"] for fault in answer["faults"]] == ["bodies.rod.mass", "joints.hinge.axis"]


def test_values_and_variants(capsys: pytest.CaptureFixture[str]) -> None:
    assert called(capsys, "check", "pendulum", "--set", "length=2 m", "--set", "mass==length*1 kg/m")[0] == 0
    assert called(capsys, "check", "pendulum@damped")[0] == 0
    assert called(capsys, "check", "pendulum", "--variant", "damped")[0] == 0
    for arguments, said in (
        (["--set", "lenght=1"], "did you mean 'length'"),
        (["--set", "length"], 'write --set "length=30 cm"'),
        (["--set", "mass=2 m"], "expected a mass"),
        (["--set", "mass=-2"], "below its minimum"),
        (["--variant", "dampd"], "did you mean 'damped'"),
    ):
        code, out, err = called(capsys, "check", "pendulum", *arguments)
        assert (code, out) == (2, "")
        assert said in err


def test_show(capsys: pytest.CaptureFixture[str], broken: str) -> None:
    code, out, err = called(capsys, "show", "four_bar")
    assert (code, err) == (0, "")
    for word in ("bar1", "pivot1", "q2", "totals", "3 kg"):
        assert word in out
    code, out, err = called(capsys, "show", "four_bar", "--json")
    answer = json.loads(out)
    assert answer["totals"]["mass"] == "3 kg"
    assert [row["name"] for row in answer["bodies"]] == ["bar1", "bar2", "bar3"]
    code, out, err = called(capsys, "show", broken)
    assert (code, out) == (2, "")
    code, out, err = called(capsys, "show", broken, "--json")
    assert json.loads(out)["status"] == "faults"
    assert len(json.loads(out)["faults"]) == 2


def test_models(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = called(capsys, "models")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == bundled()
    answer = json.loads(called(capsys, "models", "--json")[1])
    assert [model["name"] for model in answer["models"]] == bundled()


def test_schema(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = called(capsys, "schema")
    assert code == 0
    assert "bodies" in json.loads(out)["properties"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["check"],
        ["chek", "four_bar"],
        ["check", "four_bar", "--colour"],
        ["check", "four_bar", "extra"],
        ["check", "nothing.yaml"],
        ["check", "four_bra"],
        ["check", "four_bar", "--set"],
        ["--nothing"],
    ],
)
def test_wrong_calls_are_answered_cleanly(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    code, out, err = called(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err
    assert "Traceback" not in err
    code, out, err = called(capsys, *arguments, "--json")
    assert code == 2
    answer = json.loads(out)
    assert answer["status"] in ("error", "faults")
    assert answer["message"]


def test_a_fault_of_the_program_is_no_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("surprise")

    monkeypatch.setattr("pliant.analysis.derivation.check.check", fail)
    code, out, err = called(capsys, "check", "four_bar", "--json")
    assert code == 1
    assert "surprise" in json.loads(out)["message"]
    assert "Traceback" not in err


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from pliant.cli import run; run(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"casadi", "numpy", "scipy", "pydantic", "ruamel.yaml", "rich"} & set(done.stderr.split())


@pytest.mark.slow
def test_a_closed_pipe_is_no_fault() -> None:
    command = f"{sys.executable} -m pliant schema | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_the_list_of_commands_says_what_the_commands_say_of_themselves() -> None:
    for name, (_, summary) in COMMANDS.items():
        assert inspect.cleandoc(function_of(name).__doc__).partition("\n\n")[0].replace("\n", " ") == summary
