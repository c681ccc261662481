"""Tables of the commands: outputs first, complete numbers, and notes about omitted columns."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

import pliant
from pliant.analysis.result import Sheet
from pliant.cli import run
from pliant.cli.command_output import fitted


def call(capsys, *arguments):
    code = run(list(arguments))
    out, err = capsys.readouterr()
    assert code == 0, err
    return out, err


def test_a_motion_shows_its_outputs_whole(capsys):
    out, err = call(capsys, "simulate", "stiff_flop", "--until", "0.01", "--save-at", "0,0.01")
    head = next(line for line in out.splitlines() if line.startswith(" t "))
    assert head.split() == ["t", "tip.x", "tip.y", "tip.z", "energy"]
    assert "…" not in out
    rows = [line.split() for line in out.splitlines() if re.match(r" 0(\.01)? ", line)]
    assert [len(row) for row in rows] == [5, 5]
    assert float(rows[0][3]) == 0.0585
    assert "not shown: 18 coordinates; --json" in err


def test_a_motion_without_outputs_shows_its_coordinates(capsys, tmp_path):
    model = "pliant: 1\nbodies: {b: {mass: 1 kg}}\njoints: {slide: {type: prismatic, child: b, axis: z}}\n"
    (tmp_path / "m.yaml").write_text(model)
    out, err = call(capsys, "simulate", str(tmp_path / "m.yaml"), "--until", "0.1")
    assert re.search(r"^ t +slide +energy", out, re.MULTILINE)
    assert "not shown" not in err


def test_an_equilibrium_shows_its_outputs_before_its_coordinates(capsys):
    out, _ = call(capsys, "equilibrium", "four_bar")
    assert out.index("pin_force [N]") < out.index("q1")
    assert re.search(r"pin \[m\] +\[0\.188742\d+, 0\.378174\d+, 0\]", out)


def test_coordinates_of_rods_are_ranges(capsys):
    out, _ = call(capsys, "equilibrium", "stiff_flop", "--input", "p1=20 kPa")
    data = json.loads(call(capsys, "equilibrium", "stiff_flop", "--input", "p1=20 kPa", "--json")[0])["q"]
    low, high = (f(value for name, value in data.items() if "bend_x" in name) for f in (min, max))
    assert re.search(rf"arm\.bend_x\[1\] \.\.\. bend_x\[3\] \[1/m\] +{low:.6g} to {high:.6g}", out)
    assert "18 in all: `coordinates`, --json" in out
    assert len(out.splitlines()) < 16


def test_inputs_over_time_have_their_value_at_the_time(capsys):
    out, _ = call(capsys, "equilibrium", "stiff_flop", "--input", "p1==10 kPa/s*t", "--time", "2")
    assert re.search(r"p1 +20000 Pa", out)


def test_rigid_and_unstable_modes_are_never_hidden(capsys):
    eqs = pliant.derive(pliant.load("tendon_robot"))
    found = pliant.modes(eqs)
    out, _ = call(capsys, "modes", "tendon_robot")
    assert len(re.findall(r"^ \d+ ", out, re.MULTILINE)) == 10
    assert f"{len(found) - 10} more modes: --json or --out FILE has all" in out
    assert f"{len(found) - 10} more modes are not shown" in repr(found)
    assert len(found.sheets()[0].rows) == len(found)
    every, _ = call(capsys, "modes", "tendon_robot", "--count", "14")
    assert len(re.findall(r"^ \d+ ", every, re.MULTILINE)) == 14
    special = {11: "unstable", 40: "rigid-body"}
    kinds = tuple(special.get(k, kind) for k, kind in enumerate(found.kinds))
    odd = replace(found, kinds=kinds)
    assert odd.shown_first == (*range(10), 11, 40)
    assert "rigid-body" in repr(odd)
    assert "unstable" in repr(odd)
    assert "rigid-body" in odd._repr_html_()
    assert "unstable" in odd._repr_html_()


def test_large_matrices_are_not_printed(capsys):
    out, _ = call(capsys, "linearize", "cart_pole", "--at", "initial")
    assert re.search(r"linearized about +rail = 0 m, hinge = 0.0872664626 rad", out)
    assert re.search(r"^ A +rail +hinge", out, re.MULTILINE)
    assert re.search(r"^ D +force", out, re.MULTILINE)
    out, _ = call(capsys, "linearize", "tendon_robot")
    assert "134 states" in out
    assert not re.search(r"^ A ", out, re.MULTILINE)
    assert len(out.splitlines()) < 20


@pytest.mark.parametrize(("width", "shown"), [(30, 1), (36, 2), (200, 3)])
def test_columns_are_left_out_whole(width, shown):
    names = [f"output{k}" for k in range(3)]
    rows = (("0", *["0.333333333"] * 3), ("1", *["0.666666667"] * 3))
    sheet = Sheet(("t [s]", *(f"{x} [m]" for x in names)), rows, groups=((1, 4, "outputs"),))
    table, hidden = fitted(sheet, width)
    assert len(table.columns) == 1 + shown
    assert all(x in hidden for x in names[shown:])
    assert not any(x in hidden for x in names[:shown])


def test_inputs_come_from_values_and_recordings(capsys, tmp_path):
    file = tmp_path / "run.csv"
    call(
        capsys, "simulate", "stiff_flop", "--until", "0.1", "--input", "p1==2 kPa + 0.1 MPa/s*t", "--save-every", "0.01", "--out",
        str(file),
    )  # fmt: skip
    final = file.read_text().splitlines()[-1]
    again = tmp_path / "again.csv"
    call(
        capsys,
        "simulate",
        "stiff_flop",
        "--until",
        "0.1",
        "--input",
        str(file),
        "--save-every",
        "0.01",
        "--out",
        str(again),
    )
    numbers = [[float(x) for x in line.split(",")] for line in (final, again.read_text().splitlines()[-1])]
    assert numbers[0][4] == pytest.approx(12e3)
    assert numbers[1][:7] == pytest.approx(numbers[0][:7], rel=1e-4, abs=1e-6)
    assert run(["simulate", "stiff_flop", "--input", f"p9={file}"]) == 2
    assert "unknown input 'p9'" in capsys.readouterr().err
    assert run(["equilibrium", "stiff_flop", "--input", "p1=2 mm"]) == 2
    assert "expected a pressure, got a length" in capsys.readouterr().err
