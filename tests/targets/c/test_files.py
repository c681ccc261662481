"""Writing an export: whole, where it may, and with clear refusals; and the command."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from c_export import FOUR_BAR, Export

import pliant
from pliant.analysis.derivation.derive import derive
from pliant.analysis.numerics.state import AssemblyError
from pliant.cli import run as run_command
from pliant.io.c_text import ExportError
from pliant.language.arguments import ArgumentError
from pliant.robot import load_text
from pliant.targets.c import export_c


def test_no_file_names_a_place_on_this_machine(flier: Export) -> None:
    places = [str(flier.folder), str(Path.home()), str(Path(__file__).parents[2])]
    for file in flier.folder.rglob("*"):
        if file.suffix in (".c", ".h", ".txt") and file.parent.name != "tests":
            text = file.read_text(encoding="utf-8")
            assert not [place for place in places if place in text], file


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    eqs = derive(load_text(FOUR_BAR))
    mine = tmp_path / "notes.txt"
    mine.write_text("mine", encoding="utf-8")
    (tmp_path / "main.c").write_text("old", encoding="utf-8")
    with pytest.raises(ExportError, match=r"not empty.*force"):
        export_c(eqs, tmp_path)
    assert sorted(x.name for x in tmp_path.iterdir()) == ["main.c", "notes.txt"]
    files = export_c(eqs, tmp_path, force=True).files
    assert mine.read_text(encoding="utf-8") == "mine"
    assert (tmp_path / "main.c").read_text(encoding="utf-8") != "old"
    assert all(file.is_file() for file in files)
    assert {*files, mine} == {x for x in tmp_path.rglob("*") if x.is_file()}


def test_an_export_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    eqs = derive(load_text(FOUR_BAR))
    replace, count = os.replace, 0

    def fail_later(source: Path, target: Path) -> None:
        nonlocal count
        count += 1
        if count == 5:
            raise OSError(28, "No space left on device", str(target))
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail_later)
    with pytest.raises(ExportError, match="No space left"):
        export_c(eqs, tmp_path / "new" / "folder")
    assert list((tmp_path / "new").iterdir()) == []
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.undo()
    with pytest.raises(ExportError, match="is a file"):
        export_c(eqs, tmp_path / "file")
    with pytest.raises(ExportError, match="cannot write"):
        export_c(eqs, tmp_path / "file" / "below")


def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    eqs = derive(load_text(FOUR_BAR))
    with pytest.raises(ArgumentError, match=r"method: expected semi_implicit.*'euler'"):
        export_c(eqs, tmp_path / "c", method="euler")
    for step in (0.0, -1.0, float("nan")):
        with pytest.raises(ArgumentError, match=r"step: expected (more than 0|a finite number)"):
            export_c(eqs, tmp_path / "c", step=step)
    rigid = "pliant: 1\nbodies: {rock: {mass: 1}}\njoints: {fixed: {type: weld, child: rock}}"
    with pytest.raises(ExportError, match="no coordinates"):
        export_c(derive(load_text(rigid)), tmp_path / "c")
    with pytest.raises(AssemblyError, match="cannot be closed"):
        export_c(derive(load_text(FOUR_BAR.replace("crank: 0.12", "crank: 2"))), tmp_path / "c")
    assert list(tmp_path.iterdir()) == []


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, target = tmp_path / "four_bar.yaml", tmp_path / "c"
    model.write_text(FOUR_BAR, encoding="utf-8")
    assert (
        run_command(["export", str(model), "--c", str(target), "--method", "explicit", "--step", "2e-3", "--json"]) == 0
    )
    answer = json.loads(capsys.readouterr().out)
    assert answer["status"] == "ok"
    assert str(target / "four_bar.h") in answer["files"]
    assert "step 0.002 s" in (target / "README.txt").read_text(encoding="utf-8")
    for arguments, said in (
        ([str(model), "--c", str(target)], "not empty"),
        ([str(model)], "--c DIR"),
        ([str(model), "--c", str(tmp_path / "d"), "--set", "crank=2"], "cannot be closed"),
        ([str(model), "--c", str(tmp_path / "d"), "--method", "euler"], "semi_implicit"),
    ):
        assert run_command(["export", *arguments]) == 2
        assert said in capsys.readouterr().err
    assert not (tmp_path / "d").exists()
    assert run_command(["export", str(model), "--c", str(target), "--force"]) == 0


def test_equations_with_other_values_are_not_exported(tmp_path: Path) -> None:
    """Exports start from the values of the model, so values of `at` would be lost."""
    eqs = pliant.derive("cart_pole")
    assert pliant.export_c(eqs, tmp_path / "own")
    for changed in (eqs.at(parameters={"length": 0.7}), eqs.at(inputs={"force": 1.0})):
        name = next(iter({**changed.given_parameters, **changed.given_inputs}))
        with pytest.raises(ExportError, match=f"another '{name}'"):
            pliant.export_c(changed, tmp_path / "c")
        with pytest.raises(ExportError, match=f"another '{name}'"):
            pliant.export_fmu(changed, tmp_path / "c.fmu")
