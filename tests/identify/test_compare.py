"""Comparisons of rod models: recordings with loads drive their inputs, and code and memory are counted."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.cli import run as command
from pliant.identify.compare import compare
from pliant.language.time_series import interpolated

UNTIL = 1.5
LOADS = {"fx": "N", "fy": "N", "fz": "N", "mx": "Nm", "my": "Nm", "mz": "Nm"}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of the module under pressure and a wrench in the axes of its tip, made by the model itself."""
    time = np.linspace(0, UNTIL, 301)
    ramp = 1 - np.cos(np.pi * time / UNTIL)
    inputs = {
        "p1": 25e3 * ramp, "p2": 0 * ramp, "p3": 10e3 * ramp,
        "fx": 0.15 * ramp, "fy": 0.05 * ramp, "fz": -0.1 * ramp,
        "mx": 1e-3 * ramp, "my": -2e-3 * ramp, "mz": 1e-3 * ramp,
    }  # fmt: skip
    eqs = pliant.derive("stiff_flop@loaded_in_tip_axes")
    series = {name: interpolated(time, values, "cubic") for name, values in inputs.items()}
    run = pliant.simulate(eqs, UNTIL, inputs=series, save_at=time, method=pliant.Rosenbrock(rtol=1e-6))
    heads = ["t_s", *(f"{name}_{LOADS.get(name, 'Pa')}" for name in inputs), "x_m", "y_m", "z_m"]
    file = tmp_path_factory.mktemp("recorded") / "loaded.csv"
    table = np.column_stack([time, *inputs.values(), run["tip"].values])
    np.savetxt(file, table, delimiter=",", header=",".join(heads), comments="", fmt="%.12g")
    return file


def mean_error(capsys: pytest.CaptureFixture[str], model: str, file: Path) -> tuple[float, list[str]]:
    assert command(["compare", model, "--rods", "arm=pcs:3", "--against", str(file), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    return row["mean_error_mm"], row["remarks"]


def test_a_recorded_wrench_drives_the_loaded_module(loaded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same, notes = mean_error(capsys, "stiff_flop@loaded_in_tip_axes", loaded)
    assert same < 0.02
    assert any("no equilibria are compared" in note for note in notes)
    # in other axes, and without the load: another motion, and the columns that are left over are named
    other, _ = mean_error(capsys, "stiff_flop@loaded", loaded)
    without, notes = mean_error(capsys, "stiff_flop", loaded)
    assert 0.5 < other < without
    assert any("the columns fx, fy, fz, mx, my, mz" in note and "are not used" in note for note in notes)


def test_the_wrench_acts_at_the_tip_in_the_named_axes() -> None:
    """Its power is that of force and moment on the motion of the tip, whose axes turn."""
    for variant, turned in (("loaded", False), ("loaded_in_tip_axes", True)):
        eqs = pliant.derive(f"stiff_flop@{variant}")
        rng = np.random.default_rng(3)
        q, v = rng.uniform(-0.3, 0.3, len(eqs.coordinates)), rng.uniform(-1, 1, len(eqs.rates))
        force, moment = np.array([0.3, -0.2, 0.5]), np.array([1e-3, 2e-3, -3e-3])
        values = dict(zip(LOADS, [*force, *moment], strict=True))
        tip = eqs.frame("tip", q, v)
        axes = tip.rotation if turned else np.eye(3)
        power = (axes @ force) @ tip.velocity + (axes @ moment) @ tip.angular_velocity
        assert -(eqs.bias(q, v, inputs=values) - eqs.bias(q, v)) @ v == pytest.approx(power, rel=1e-9)


def test_code_and_memory_are_counted() -> None:
    rows = compare(
        pliant.derive(pliant.load("cantilever", set={"tip_force": 0.02})),
        {"rod": ["pcs:2", "pcs:8", "pcc:2"]},
        until=0.02,
    )
    few, many, arcs = rows
    # elements of one type share their code, and have separate memory
    assert few.code_kb == many.code_kb > 10
    assert many.memory_kb > 1.5 * few.memory_kb > 10
    assert arcs.code_kb != few.code_kb
    # the workspace is most of it, and no less than the matrices that it holds
    eqs = pliant.derive(pliant.load("cantilever").with_rod("rod", "pcs:8"))
    assert 1e3 * many.memory_kb > 3 * 8 * eqs.binding.program.tables.counts["nnz"]


def test_both_published_sets_of_the_module() -> None:
    code, table = (pliant.derive(name) for name in ("stiff_flop", "stiff_flop@paper_table"))
    for eqs, length, modulus in ((code, 0.044, 120e3), (table, 0.050, 205e3)):
        assert (eqs.parameters["length"], eqs.parameters["youngs_modulus"]) == (length, modulus)
        # the tip starts where the recording begins
        np.testing.assert_allclose(eqs.frame("tip", eqs.initial_state()).position, (0, 0, 0.0585), atol=1e-12)


def test_models_of_a_repeated_rod_are_compared() -> None:
    """The rod is written once and has several instances, which all change."""
    rows = compare(pliant.derive(pliant.load_text(PAIR)), {"arm": ["pcs:2", "pcs:4"]}, output="tip", until=0.05)
    assert [row.rod for row in rows] == ["pcs:2", "pcs:4"]
    # two rods of six strains per element
    assert [row.states for row in rows] == [48, 96]
    assert rows[0].mean_error_percent_of_rod == pytest.approx(rows[0].mean_error_mm)  # of a rod of 100 mm


PAIR = """
pliant: 1
materials: {rubber: {density: 1000 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.5}}
sections: {cord: {shape: circle, radius: 4 mm}}
rods:
  arm: {count: 2, length: 100 mm, section: cord, material: rubber, position: [=i*5 cm, 0, 0], rotation: {axis: x, angle: 90 deg}}
outputs: {tip: {frame: "arm[1].tip"}}
"""


def test_a_model_is_compared_as_it_is(tmp_path, capsys):
    """Without rod models there is one row: the same numbers as with the rod model of the file."""
    file = tmp_path / "run.csv"
    spec = pliant.load("stiff_flop", set={"youngs_modulus": "135 kPa"})
    pliant.simulate(pliant.derive(spec), 0.2, inputs={"p1": 1e4}, save_every=0.02).save(file)
    recording = pliant.read_recording(file)
    (row,) = compare(pliant.derive("stiff_flop"), recording=recording)
    (same,) = compare(pliant.derive("stiff_flop"), {"arm": ["pcs:3"]}, recording)
    assert row.rod == same.rod == "pcs:3"
    assert row.mean_error_mm == pytest.approx(same.mean_error_mm)
    assert row.mean_error_percent_of_rod == pytest.approx(same.mean_error_percent_of_rod)
    assert command(["compare", "stiff_flop", "--against", str(file), "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)["rows"]
    assert shown["mean_error_mm"] == pytest.approx(same.mean_error_mm)


def test_a_robot_without_rods_is_compared(tmp_path):
    file = tmp_path / "run.csv"
    eqs = pliant.derive("cart_pole")
    pliant.simulate(eqs, 0.2, inputs={"force": 1.0}, save_every=0.01).save(file)
    (row,) = compare(eqs, recording=pliant.read_recording(file))
    assert row.rod == "model"
    assert row.mean_error_mm < 0.01
    assert math.isnan(row.mean_error_percent_of_rod)


def test_a_comparison_with_nothing_says_what_to_give(capsys):
    assert command(["compare", "stiff_flop"]) == 2
    assert "--against FILE, or rod models to compare with each other with --rods arm=" in capsys.readouterr().err
    assert command(["compare", "cart_pole"]) == 2
    assert "give a recording with --against FILE)" in capsys.readouterr().err


TWO_FINGERS = """
pliant: 1
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.45}}
sections: {round: {shape: circle, radius: 5 mm}}
rods:
  first: {length: 10 cm, section: round, material: rubber, rotation: {axis: y, angle: 90 deg}, model: {kind: pcs, elements: 1}}
  second: {parent: first.tip, length: 5 cm, section: round, material: rubber, model: {kind: pcs, elements: 1}}
outputs: {tip: {frame: second.tip}}
"""


def test_models_of_several_rods_are_compared_together(tmp_path, capsys):
    """One row for the first models of all rods, one for the second: as if each robot were simulated with both."""
    robot = pliant.load_text(TWO_FINGERS)
    eqs = pliant.derive(robot)
    rows = compare(eqs, {"first": ["pcs:1", "pcs:2"], "second": ["pcs:2", "pcs:3"]}, until=0.02)
    assert [row.rod for row in rows] == ["first=pcs:1 second=pcs:2", "first=pcs:2 second=pcs:3"]
    assert [row.states for row in rows] == [2 * 6 * 3, 2 * 6 * 5]
    rest = pliant.equilibrium(pliant.derive(robot.with_rod("second", "pcs:2"))).outputs["tip"]
    assert rows[0].static_path[0] == pytest.approx(rest, abs=1e-9)
    with pytest.raises(ValueError, match="first 2, second 3"):
        compare(eqs, {"first": ["pcs:1", "pcs:2"], "second": ["pcs:1", "pcs:2", "pcs:3"]})
    file = tmp_path / "two.yaml"
    file.write_text(TWO_FINGERS)
    words = ["compare", str(file), "--until", "0.02", "--json", "--rods", "first=pcs:1,pcs:2"]
    assert command([*words, "--rods", "second=pcs:2"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [row["states"] for row in answer["rows"]] == [2 * 6 * 3, 2 * 6 * 4]
    assert command([*words, "--rod", "second=pcs:2"]) == 0
    assert [row["states"] for row in json.loads(capsys.readouterr().out)["rows"]] == [2 * 6 * 3, 2 * 6 * 4]
    assert command([*words, "--rods", "first=pcs:3"]) == 2
    assert "--rods gives 'first' twice" in json.loads(capsys.readouterr().out)["message"]


def test_a_rod_model_that_cannot_be_used_does_not_stop_the_others(tmp_path, capsys):
    file = tmp_path / "two.yaml"
    file.write_text(TWO_FINGERS.replace("5 cm,", "5 cm, rayleigh: {beta: 20 ms},"))
    words = ["compare", str(file), "--until", "0.02", "--rods"]
    assert command([*words, "second=pcs:1,pcc:1,pcs:2", "--json", "--plot", str(tmp_path / "x.png")]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert answer["status"] == "failed"
    assert [row["status"] for row in answer["rows"]] == ["completed", "failed", "completed"]
    (note,) = answer["rows"][1]["remarks"]
    assert note.startswith("pcc:1: ")
    assert "do not support Rayleigh damping" in note
    assert answer["rows"][0]["mean_error_mm"] > 0
    assert answer["rows"][1]["mean_error_mm"] is None
    assert command([*words, "second=pcs:1,pcc:1,pcs:2"]) == 2
    captured = capsys.readouterr()
    assert "pcc:1 failed" in " ".join(captured.out.split())
    assert "pcc:1: " in captured.err
    assert command([*words, "second=pcs:1,pcs:2,pcc:1"]) == 2
    assert "the reference pcc:1, the last rod model, cannot be computed" in capsys.readouterr().err


def test_a_recorded_free_motion_has_no_equilibrium_to_compare() -> None:
    """Nothing drives the robot, so its first sample is a displaced start, not rest."""
    eqs = pliant.derive("cantilever")
    run = pliant.simulate(eqs, 0.2, save_every=0.01, start="initial")
    path = run["tip"].values
    recording = pliant.Recording("free", run.time, {"x": path[:, 0], "y": path[:, 1], "z": path[:, 2]})
    (row,) = compare(eqs, recording=recording)
    assert len(row.static_times) == 0
    assert math.isnan(row.static_mean_error_mm)
    assert any("drives no input" in note for note in row.remarks)
    (asked,) = compare(eqs, recording=recording, rest_at=[0.1])
    assert len(asked.static_times) == 1
