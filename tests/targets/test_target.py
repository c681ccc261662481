"""What follows from the class of a target: its function, the options and answer of the command, checks, documentation."""

from __future__ import annotations

import csv
import inspect
import json
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import pytest
from pydantic import Field

import make_reference
import pliant
from pliant.cli import command as options_of
from pliant.cli import run as command
from pliant.cli.export import targets
from pliant.engine.equations import Equations
from pliant.language.arguments import ArgumentError
from pliant.targets.base import Export, Target, exporter, write_file
from pliant.targets.rigid_tree import rigid_tree


class Masses(Target):
    """Mass and centre of mass of every link of a rigid robot, as a table."""

    name: ClassVar[str] = "masses"
    title: ClassVar[str] = "Mass table"
    summary: ClassVar[str] = "masses and centres of mass"
    suffix: ClassVar[str] = ".csv"
    omits: ClassVar[str] = "everything but masses"
    warns: ClassVar[bool] = True

    digits: Annotated[int, Field(ge=1)] = 6
    """Number of digits."""

    def write(self, robot: Equations, path: Path) -> Export:
        """Write the file."""
        links = rigid_tree(robot).links
        rows = [[link.name, *(f"{x:.{self.digits}g}" for x in (link.mass, *link.center))] for link in links]
        write_file(path, "\n".join(map(",".join, [["link", "mass", "x", "y", "z"], *rows])).encode())
        omitted = tuple(
            f"the spring of {name} is omitted" for name in robot.model.spec.joints if robot.model.spec.links
        )
        return Export(path, (path,), omitted)


export_masses = exporter(Masses)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The target among the public names, as a line of `__init__.pyi` puts it there."""
    names = [*dir(pliant), "export_masses"]
    monkeypatch.setattr(pliant, "export_masses", export_masses, raising=False)
    monkeypatch.setattr(pliant, "__dir__", lambda: names)


def test_the_function_has_the_keywords_and_the_text_of_the_class(tmp_path: Path) -> None:
    assert list(inspect.signature(export_masses).parameters) == ["eqs", "file", "digits"]
    assert (export_masses.__doc__ or "").endswith("digits: Number of digits.")
    done = export_masses(pliant.derive("double_pendulum"), tmp_path / "masses.csv", digits=3)
    assert done.files == (tmp_path / "masses.csv",)
    with open(done.path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["link"]: (float(row["mass"]), float(row["z"])) for row in rows} == {
        "upper": (0.3, -0.2),
        "lower": (0.2, -0.15),
    }


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    eqs = pliant.derive("double_pendulum")
    for options, words in (
        ({"digits": 0}, "digits: expected at least 1, got 0"),
        ({"digits": "few"}, "digits: expected an integer, got 'few'"),
        ({"digit": 3}, "no argument 'digit' (did you mean 'digits'?)"),
    ):
        with pytest.raises(ArgumentError) as raised:
            export_masses(eqs, tmp_path / "masses.csv", **options)  # type: ignore[arg-type]
        assert words in str(raised.value)
    with pytest.raises(pliant.ExportError, match=r"end it in \.csv"):
        export_masses(eqs, tmp_path / "masses.txt")
    with pytest.raises(ArgumentError, match=r"needs equations.*pliant\.derive"):
        export_masses("double_pendulum", tmp_path / "masses.csv")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("registered")
def test_the_command_has_its_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert Masses in targets()
    help_of = {option.opts[0]: option.help for option in options_of("export").params}
    assert help_of["--masses"] == "Write masses and centres of mass (.csv)."
    assert help_of["--digits"] == "Mass table: Number of digits. [default: 6]"
    file = tmp_path / "masses.csv"
    assert command(["export", "double_pendulum", "--masses", str(file), "--digits", "2", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == {
        "model": "double_pendulum", "status": "ok", "target": "masses", "path": str(file), "options": {"digits": 2},
        "files": [str(file)], "remarks": [],
    }  # fmt: skip
    for words, said in (
        (["--masses", str(file), "--digits", "0"], "--digits: expected at least 1, got 0"),
        (
            ["--masses", str(file), "--step", "1"],
            "--masses has no option --step (it belongs to --c, --cuda, --fmu, --wasm)",
        ),
        (["--urdf", "a.urdf", "--digits", "3"], "--urdf has no option --digits (it belongs to --masses)"),
        (["--masses", "a.txt"], "end it in .csv"),
    ):
        assert command(["export", "double_pendulum", *words]) == 2
        assert said in capsys.readouterr().err


@pytest.mark.usefixtures("registered")
def test_a_file_that_the_command_reads_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "robot.csv"
    model.write_text("pliant: 1\n")
    assert command(["export", str(model), "--masses", str(model)]) == 2
    assert "would be lost" in capsys.readouterr().err
    assert model.read_text() == "pliant: 1\n"


@pytest.mark.usefixtures("registered")
def test_the_page_of_targets_describes_it() -> None:
    page = make_reference.targets_page()
    assert "| [Mass table](#mass-table) | `--masses FILE.csv` | `pliant.export_masses` |" in page
    assert "everything but masses" in page
    assert "| `digits` | `--digits` | integer | `6` | Number of digits. |" in page


def test_remarks_about_accuracy_are_warnings(tmp_path: Path) -> None:
    text = """
pliant: 1
bodies: {a: {mass: 1 kg, center_of_mass: [1 m, 0, 0]}}
joints: {j: {type: revolute, child: a, axis: z}}
links: {spring: {type: axial, between: [world, {frame: a, position: [0, 1 m, 0]}], spring: 1 N/m}}
"""
    with pytest.warns(match="the spring of j is omitted") as caught:
        done = export_masses(pliant.derive(pliant.load_text(text)), tmp_path / "masses.csv")
    assert done.remarks == ("the spring of j is omitted",)
    assert caught[0].filename == __file__
    assert np.loadtxt(done.path, delimiter=",", skiprows=1, usecols=(1, 2)).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("kind", targets(), ids=lambda kind: kind.name)
def test_every_target_is_documented(kind: type[Target]) -> None:
    assert kind.name
    assert kind.title
    assert kind.summary
    assert kind.omits
    assert set(kind.field_texts()) == set(kind.model_fields)
    function = getattr(pliant, f"export_{kind.name}")
    assert list(inspect.signature(function).parameters)[2:] == list(kind.model_fields)
    for field, option in kind.model_fields.items():
        assert inspect.signature(function).parameters[field].default == option.default


def test_the_page_is_current() -> None:
    assert make_reference.TARGETS_PAGE.read_text(encoding="utf-8") == make_reference.targets_page()
