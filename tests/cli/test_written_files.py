"""Commands replace no file that they read, and no good result by a failed one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pliant.cli import run

MODEL = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {push: {value: 0 N*m, input: true}}
bodies: {ball: {mass: 1 kg, inertia: {principal: [1, 1, 1]}}}
joints: {hinge: {type: revolute, parent: world, child: ball, axis: y, angle: {spring: 1 N*m/rad}}}
outputs: {angle: {coordinate: hinge}}
"""
LOOSE = """
pliant: 1
world: {gravity: [1, 0, 0]}
bodies: {ball: {mass: 1 kg}}
joints: {rail: {type: prismatic, parent: world, child: ball, axis: x}}
"""
URDF = """<robot name="r"><link name="a"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""
TABLE = "t [s],push [N*m]\n0,0\n1,1\n"


@pytest.mark.parametrize(
    "words",
    [
        ["equilibrium", "model.yaml", "--out", "model.yaml"],
        ["modes", "model.yaml@none", "--out", "linked.json"],
        ["linearize", "model.yaml", "--out", "notes.txt"],
        ["optimize", "model.yaml", "--minimize", "angle", "--vary", "push=0:1 N*m", "--out", "model.yaml"],
        ["simulate", "model.yaml", "--until", "0.1", "--input", "table.csv", "--out", "table.csv"],
        ["simulate", "model.yaml", "--until", "0.1", "--input", "push=table.csv", "--out", "./table.csv"],
        ["simulate", "model.yaml", "--until", "0.1", "--report", "linked.html"],
        ["fit", "model.yaml", "--parameters", "push", "--against", "table.csv", "--out", "table.csv"],
        ["import", "robot.urdf", "--out", "robot.urdf"],
        ["import", "robot.urdf", "--out", "linked.yaml"],
        ["export", "robot.urdf", "--urdf", "robot.urdf"],
        ["picture", "model.yaml", "--out", "linked.png"],
    ],
    ids=" ".join,
)
def test_a_file_that_is_read_is_not_replaced(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    contents = {"model.yaml": MODEL, "robot.urdf": URDF, "table.csv": TABLE, "notes.txt": "mine\n"}
    for name, text in contents.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for ending in ("json", "html", "png"):
        os.symlink("model.yaml", tmp_path / f"linked.{ending}")
    os.link(tmp_path / "robot.urdf", tmp_path / "linked.yaml")
    monkeypatch.chdir(tmp_path)
    assert run(words) == 2
    said = capsys.readouterr().err
    assert "is read by the same command" in said or "cannot determine the format" in said
    assert {name: (tmp_path / name).read_text(encoding="utf-8") for name in contents} == contents


DRIVEN = MODEL + "inputs: {push: {series: {file: table.csv, column: push}}}\n"


@pytest.mark.parametrize("model", ["driven.yaml", "including.yaml", "attaching.yaml"])
@pytest.mark.parametrize("out", ["table.csv", "linked.csv"])
def test_a_file_that_the_model_reads_is_not_replaced(
    model: str, out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "linked.csv").symlink_to("table.csv")
    (tmp_path / "driven.yaml").write_text(DRIVEN)
    (tmp_path / "including.yaml").write_text("pliant: 1\ninclude: driven.yaml\n")
    (tmp_path / "attaching.yaml").write_text("pliant: 1\nattach: {a: {model: driven.yaml}}\n")
    monkeypatch.chdir(tmp_path)
    assert run(["simulate", model, "--until", "0.1", "--out", "other.csv"]) == 0
    assert run(["simulate", model, "--until", "0.1", "--out", out]) == 2
    assert "choose another file to write" in capsys.readouterr().err
    assert (tmp_path / "table.csv").read_text() == TABLE


def test_a_failed_search_does_not_replace_a_good_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "good.yaml").write_text(MODEL, encoding="utf-8")
    (tmp_path / "loose.yaml").write_text(LOOSE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert run(["equilibrium", "good.yaml", "--out", "answer.json"]) == 0
    good = Path("answer.json").read_bytes()
    assert run(["equilibrium", "loose.yaml", "--out", "answer.json"]) == 2
    assert "answer.json was not modified" in capsys.readouterr().err
    assert Path("answer.json").read_bytes() == good
    assert json.loads(Path("answer.partial.json").read_text(encoding="utf-8"))["status"] == "failed"
    assert run(["equilibrium", "good.yaml", "--out", "answer.json"]) == 0
    assert not Path("answer.partial.json").exists()


def test_the_report_of_a_failed_analysis_replaces_no_good_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    Path("model.yaml").write_text(MODEL, encoding="utf-8")
    Path("loose.yaml").write_text(LOOSE + "analyses: [{equilibrium: {}}]\n", encoding="utf-8")
    assert run(["equilibrium", "model.yaml", "--report", "a.html"]) == 0
    good = Path("a.html").read_bytes()
    assert run(["equilibrium", "loose.yaml", "--report", "a.html"]) != 0
    assert Path("a.html").read_bytes() == good
    assert Path("a.partial.html").exists()
    assert "report in a.partial.html, because the analysis failed" in capsys.readouterr().err
    assert run(["equilibrium", "model.yaml", "--report", "a.html"]) == 0
    assert not Path("a.partial.html").exists()
    capsys.readouterr()
    assert run(["run", "loose.yaml", "--report", "a.html", "--json"]) != 0
    assert json.loads(capsys.readouterr().out)["report"] == "a.partial.html"
