"""`pliant new`: files to begin with, which work as they are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.cli import run
from pliant.robot.reader import templates

KINDS = [template.kind for template in templates()]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_written_checked_and_solved_at_the_defaults(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["new", "creature", "--kind", kind]) == 0
    text = Path("creature.yaml").read_text(encoding="utf-8")
    assert "name: creature" in text
    assert "my_robot" not in text
    assert run(["check", "creature.yaml"]) == 0
    eqs = pliant.derive("creature.yaml")
    assert pliant.equilibrium(eqs).residual < 1e-6
    result = pliant.simulate(eqs, 0.4, save_every=0.1)
    assert result.status == "completed"
    assert np.isfinite(result.q).all()


def test_a_file_that_is_there_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "arm.yaml"
    file.write_text("mine")
    assert run(["new", str(file)]) == 2
    assert file.read_text() == "mine"
    assert "already exists and was not overwritten" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["arm", "--kind", "tendom"], "did you mean 'tendon'?"),
        (["an arm"], "cannot be the name of a robot"),
        ([], "a new robot needs a name"),
        (["nowhere/arm"], "cannot write"),
    ],
)
def test_what_cannot_be_written(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["new", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_list_of_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["new", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["kinds"]
    assert [entry["kind"] for entry in listed] == KINDS == ["arm", "gripper", "linkage", "parallel", "tendon"]
    assert all(len(entry["description"]) > 20 for entry in listed)
