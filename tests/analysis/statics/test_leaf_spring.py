"""The bundled leaf spring: buckling on both sides, and the inextensible elastica at a given distance of its ends."""

import json

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ellipe, ellipk

import pliant
from pliant.cli import run

LENGTH, BENDING = 0.5, 120e9 * 0.077 * 0.0012**3 / 12


def elastica(distance):
    """End force [N] and rise of the middle [m] of an inextensible strip between pins at a distance [m]."""
    m = brentq(lambda m: 2 * ellipe(m) / ellipk(m) - 1 - distance / LENGTH, 1e-9, 0.8)
    return 4 * BENDING * ellipk(m) ** 2 / LENGTH**2, LENGTH * np.sqrt(m) / ellipk(m)


@pytest.fixture(scope="module")
def strip():
    return pliant.derive("leaf_spring")


def test_the_elastica_here_is_that_of_the_reference():
    assert elastica(0.407922) == pytest.approx((57.927, 0.128497), rel=2e-5)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_path_from_straight_through_buckling_to_the_elastica(strip, sign):
    path = pliant.continuation(strip, parameter="end_distance", to=0.407922, branch=sign, by="mid_deflection")
    assert path.status == "completed"
    first = path.special[0]
    assert first.kind == "bifurcation"
    critical = np.pi**2 * BENDING / LENGTH**2
    assert path["end_force"][first.index] == pytest.approx(critical, rel=1e-3)
    force, rise = elastica(0.407922)
    assert path["end_force"][-1] == pytest.approx(force, rel=1e-4)
    assert path["mid_deflection"][-1] == pytest.approx(sign * rise, rel=1e-4)
    bowed = path.value < 0.498
    exact = np.array([elastica(d) for d in path.value[bowed]])
    np.testing.assert_allclose(path["end_force"][bowed], exact[:, 0], rtol=2e-4)
    np.testing.assert_allclose(path["mid_deflection"][bowed], sign * exact[:, 1], rtol=1e-3)
    assert path.stable[first.index + 1 :].all()
    assert path.dataset["residual"].max() < 1e-5


@pytest.mark.parametrize(("bow", "sign"), [(0.0, 1), (1e-4, 1), (-1e-4, -1), (1e-6, 1), (-1e-6, -1)])
def test_equilibrium_finds_the_bowed_shape_and_not_the_straight_one(strip, bow, sign):
    found = pliant.equilibrium(strip, parameters={"end_distance": 0.407922, "bow": bow})
    assert found.status == "converged"
    assert found.stable is True
    force, rise = elastica(0.407922)
    assert found.outputs["end_force"] == pytest.approx(force, rel=1e-3)
    assert found.outputs["mid_deflection"] == pytest.approx(sign * rise, rel=1e-3)
    assert ("passed an unstable pose" in "".join(found.remarks)) == (bow == 0)


def test_the_command_follows_plots_saves_and_goes_on(tmp_path, capsys):
    common = ["path", "leaf_spring", "--parameter", "end_distance", "--json"]
    plot, file = tmp_path / "path.svg", tmp_path / "path.nc"
    code = run([*common, "--to", "480 mm", "--branch", "+1", "--by", "mid_deflection", "--plot", str(plot),
                "--axes", "mid_deflection,end_force", "--out", str(file)])  # fmt: skip
    answer = json.loads(capsys.readouterr().out)
    assert code == 0
    assert answer["status"] == "completed"
    assert answer["special"][0]["kind"] == "bifurcation"
    assert answer["special"][0]["outputs"]["end_force"] == pytest.approx(52.53, rel=5e-3)
    assert answer["value"][-1] == 0.48
    assert "mid deflection [mm]" in plot.read_text()
    assert run([*common, "--to", "0.47", "--start", str(file), "--stop", "mid_deflection=0.07"]) == 0
    more = json.loads(capsys.readouterr().out)
    assert more["status"] == "stopped"
    assert more["q"][0] == pytest.approx(answer["q"][-1], abs=1e-9)
    assert more["outputs"]["mid_deflection"][-1] == pytest.approx(0.07, abs=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "1 kg"], "expected"),
        (["--to", "0.4", "--branch", "3"], "branch: expected 1 or -1"),
        (["--to", "0.4", "--by", "end_force"], "add branch"),
        (["--to", "0.4", "--imperfection", "hinge=much"], "not a number"),
        (["--to", "0.4", "--imperfection", "hnge=1"], "did you mean 'hinge'"),
        (["--to", "0.4", "--out", "path.txt"], "end it in .nc"),
        (["--to", "0.4", "--start", "nowhere.nc"], "no file"),
        (["--to", "-1"], "minimum"),
    ],
)
def test_the_command_says_what_to_change(options, message, capsys):
    assert run(["path", "leaf_spring", "--parameter", "end_distance", *options]) == 2
    assert message in capsys.readouterr().err
