"""The command for many cases, as a person or a script calls it."""

import json
from pathlib import Path

import pytest

from pliant.cli import run

ARGUMENTS = ["--vary", "p1=0:20:3 kPa", "--vary", "arm=pcs:1,pcs:2", "--analysis", "equilibrium"]


def call(capsys, *arguments):
    code = run(["sweep", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep") / "runs"
    assert run(["sweep", "stiff_flop", *ARGUMENTS, "--out", str(folder)]) == 0
    return str(folder)


def test_one_json_object_with_all_it_promises(capsys, tmp_path):
    code, out, _ = call(
        capsys, "stiff_flop", *ARGUMENTS, "--set", "length=45 mm", "--out", str(tmp_path / "runs"), "--json"
    )
    answer = json.loads(out)
    assert code == 0
    assert (answer["status"], answer["cases"], answer["statuses"]) == ("complete", 6, {"converged": 6})
    assert (answer["done_before"], answer["done_now"]) == (0, 6)
    assert answer["by"] == "tip.y"  # the first that differs: the arm bends in the plane of y and z
    assert {"case", "p1", "arm", "tip.y"} == answer["best"][0].keys()
    told = json.loads((tmp_path / "runs" / "manifest.json").read_text())
    assert "45 mm" in told["structures"][0]["text"]


def test_the_same_command_goes_on(capsys, runs):
    code, out, err = call(capsys, "stiff_flop", *ARGUMENTS, "--out", runs, "--json")
    answer = json.loads(out)
    assert code == 0
    assert (answer["done_before"], answer["done_now"]) == (6, 0)
    assert "6 of 6 cases were already done" in err


def test_tables_plots_and_reports_of_a_folder(capsys, runs, tmp_path):
    code, out, _ = call(capsys, runs, "--table", "--by", "tip.y")
    assert code == 0
    assert "6 cases of stiff_flop: 6 converged" in out
    assert "sorted by tip.y, smallest first" in out
    first, second = (line.split() for line in out.splitlines()[4:6])
    assert float(first[3]) <= float(second[3])
    code, out, _ = call(capsys, runs, "--by", "tip.y", "--largest")
    largest = out.splitlines()[4].split()
    assert float(largest[3]) >= float(first[3])
    page, picture = tmp_path / "sweep.html", tmp_path / "effects.png"
    code, _, err = call(capsys, runs, "--plot", str(picture), "--report", str(page), "--by", "tip.y")
    assert code == 0
    assert picture.stat().st_size > 5000
    text = page.read_text()
    assert "Smallest tip.y" in text
    assert "tip.y over each varied value" in text
    assert "the best cases" in text
    assert str(page) in err


def test_plots_and_reports_without_a_name_go_into_the_folder(capsys, runs):
    code, out, err = call(capsys, runs, "--plot", "--report", "--json")
    assert code == 0
    assert json.loads(out)["by"] == "tip.y"
    assert (Path(runs) / "plot.png").stat().st_size > 5000
    assert "Smallest tip.y" in (Path(runs) / "report.html").read_text()
    assert f"saved to {Path(runs) / 'plot.png'}" in err
    assert f"report in {Path(runs) / 'report.html'}" in err


def test_a_motion_and_its_failures(capsys, tmp_path):
    given = ["--vary", "spread=10, 30 deg", "--until", "0.1", "--option", "save_every=0.05", "--keep", "outputs"]
    code, out, _ = call(capsys, "stiff_flop", *given, "--out", str(tmp_path / "runs"), "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["statuses"] == {"completed": 1, "failed": 1}
    assert answer["failures"] == [
        {"case": 0, "message": "'spread' is 0.174533, below its minimum of 0.314159 (in SI units)"}
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["stiff_flop"], "needs values to vary and a folder"),
        (
            ["stiff_flop", "--vary", "length=1:3:2 kPa", "--out", "x"],
            "the values of 'length' are in Pa, but it is in m",
        ),
        (["stiff_flop", "--vary", "length=3:1:2 mm", "--out", "x"], "is empty"),
        (["stiff_flop", "--vary", "lenght=1:3:2 mm", "--out", "x"], "did you mean 'length'"),
        (["stiff_flop", "--vary", "length", "--out", "x"], "cannot read --vary"),
        (["stiff_flop", "--vary", "length=1:3 mm", "--out", "x"], "infinitely many values"),
        (["stiff_flop", "--vary", "length=40,50 mm", "--vary", "length=1,2 mm", "--out", "x"], "gives 'length' twice"),
        (["stiff_flop", "--vary", "length=40,50 mm", "--analysis", "dance", "--out", "x"], "unknown analysis 'dance'"),
        (["stiff_flop", "--vary", "length=40,50 mm", "--option", "untill=3", "--out", "x"], "untill"),
        (["stiff_flop", "--vary", "length=40,50 mm", "--keep", "qq", "--out", "x"], "cannot keep 'qq'"),
        (["stiff_flop", "--vary", "length=40,50 mm", "--seed", "3", "--out", "x"], "--seed applies to samples only"),
        (
            ["stiff_flop", "--vary", "length=40,50 mm", "--analysis", "modes", "--until", "3", "--out", "x"],
            "--until applies to simulations only",
        ),
        (["RUNS", "--vary", "length=40,50 mm"], "is an existing sweep; --vary is for a new one"),
        (["RUNS", "--set", "nonsense=1"], "is an existing sweep; --set is for a new one"),
        (["RUNS", "--rod", "x=pcs:3"], "is an existing sweep; --rod is for a new one"),
        (["RUNS", "--variant", "x"], "is an existing sweep; --variant is for a new one"),
        (["RUNS", "--folder", "x"], "is an existing sweep; --folder is for a new one"),
        (["RUNS", "--by", "tip.q"], "no measure 'tip.q'"),
        (["EMPTY"], "contains no sweep"),
    ],
)
def test_what_makes_no_sense_is_said(capsys, runs, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    places = {"RUNS": runs, "EMPTY": str(tmp_path)}
    code, out, err = call(capsys, *(places.get(x, x) for x in arguments))
    assert code == 2
    assert words in err
    assert out == ""
    assert not (tmp_path / "x" / "manifest.json").exists()


def test_a_time_limit_ends_a_sweep_that_can_go_on(capsys, tmp_path):
    cases = ["--vary", "length=0.4:0.6:20 m", "--analysis", "simulate", "--until", "10000", "--timeout", "2"]
    code, _, err = call(capsys, "pendulum", *cases, "--out", str(tmp_path / "runs"))
    assert code == 124
    assert "stopped by the time limit of 2 s; the same command runs the remaining" in " ".join(err.split())
