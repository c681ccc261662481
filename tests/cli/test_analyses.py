"""The analysis commands as a person or a script calls them."""

import json
import re

import numpy as np
import pytest

from pliant import load_result
from pliant.cli import run


def call(capsys, *arguments):
    code = run(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def call_json(capsys, *arguments):
    code, out, _ = call(capsys, *arguments, "--json")
    return code, json.loads(out)


def test_simulate_prints_one_json_object_with_all_it_promises(capsys):
    code, answer = call_json(capsys, "simulate", "four_bar", "--until", "2", "--save-at", "0.5,1,2")
    assert code == 0
    assert answer["status"] == "completed"
    assert answer["coordinates"] == ["q1", "q2", "q3"]
    assert [sample["t"] for sample in answer["samples"]] == [0.5, 1.0, 2.0]
    sample = answer["samples"][-1]
    assert set(sample) >= {"t", "q", "v", "frames", "energy", "constraint_error", "outputs"}
    assert set(sample["energy"]) >= {"kinetic", "potential", "total", "dissipated"}
    assert len(sample["frames"]["bar1.tip"]["position"]) == 3
    assert len(sample["frames"]["bar1.tip"]["quaternion"]) == 4
    assert sample["q"]["q1"] == pytest.approx(-0.007104, abs=1e-3)
    assert set(answer["timing"]) == {"derive_s", "compile_s", "run_s", "steps", "evaluations"}


def test_simulate_takes_method_tolerances_and_parameters(capsys):
    code, answer = call_json(
        capsys,
        "simulate",
        "four_bar",
        "--until",
        "0.1",
        "--method",
        "generalized_alpha",
        "--step",
        "1e-3",
        "--set",
        "length1=120 mm",
    )
    assert code == 0
    assert "generalized-alpha" in answer["method"]
    # the same length in another unit
    _, other = call_json(
        capsys, "simulate", "four_bar", "--until", "0.1", "--method", "generalized_alpha", "--step", "1e-3"
    )
    assert answer["samples"][-1]["q"]["q1"] == pytest.approx(other["samples"][-1]["q"]["q1"], abs=1e-9)


def test_equilibrium_prints_what_it_promises(capsys):
    code, answer = call_json(capsys, "equilibrium", "four_bar")
    assert code == 0
    assert set(answer) >= {"status", "message", "q", "frames", "outputs", "residual", "stable", "multipliers"}
    assert answer["status"] == "converged"
    assert answer["stable"] is True
    assert answer["residual"] < 1e-9
    assert [name.rpartition(".")[2] for name in answer["multipliers"]] == ["x", "y"]


def test_several_equilibria(capsys):
    code, answer = call_json(capsys, "equilibria", "four_bar", "--starts", "12")
    assert code == 0
    assert len(answer["q"]) == len(answer["outputs"]) >= 2
    assert call(capsys, "equilibria", "four_bar", "--starts", "12")[1].count("largest unbalanced force") >= 2


def test_modes_prints_what_it_promises(capsys):
    code, answer = call_json(capsys, "modes", "spring_mass_chain", "--count", "3")
    assert code == 0
    assert len(answer["frequencies"]) == len(answer["damping_ratios"]) == 3
    assert answer["stable"] is True
    assert answer["kinds"] == ["oscillating"] * 3
    assert all(isinstance(x, float) for shape in answer["shapes"] for x in shape)


LOCKED = """
pliant: 1
bodies: {a: {mass: 1 kg}, b: {mass: 1 kg}}
joints:
  sa: {type: prismatic, child: a, axis: x, displacement: {spring: 100 N/m}}
  sb: {type: prismatic, parent: a, child: b, axis: x, displacement: {spring: 1 N/m, damper: 1000 N*s/m}}
analyses: [{modes: {count: 2}}, {modes: {undamped: true}}]
"""


def test_modes_of_a_damped_robot(capsys, tmp_path):
    file = tmp_path / "locked.yaml"
    file.write_text(LOCKED)
    code, out, err = call(capsys, "modes", str(file))
    assert (code, err) == (0, "")
    assert "-0.0125 ± 7.071i  1.1254" in out
    assert out.count("overdamped") == 2
    code, answer = call_json(capsys, "modes", str(file), "--count", "2")
    assert answer["kinds"] == ["overdamped", "oscillating"]
    assert answer["eigenvalues"][1] == pytest.approx([-0.0125, 7.0711], abs=1e-4)
    assert [len(pair) for pair in answer["shapes"][1]] == [2, 2]  # phases
    code, answer = call_json(capsys, "modes", str(file), "--undamped")
    assert answer["frequencies"] == pytest.approx([0.158357, 1.59957], rel=1e-5)
    code, answer = call_json(capsys, "run", str(file))
    assert code == 0
    first, second = answer["analyses"]
    assert first["kinds"] == ["overdamped", "oscillating"]
    assert second["kinds"] == ["oscillating", "oscillating"]


def test_a_pose_that_is_not_at_rest_is_said(capsys):
    for command in ("modes", "linearize"):
        code, answer = call_json(capsys, command, "four_bar", "--at", "initial")
        assert code == 0
        said = "; ".join(answer["remarks"])
        assert "not an equilibrium" in said
        assert said.count("unbalanced") == 1
        assert call_json(capsys, command, "four_bar")[1]["message"] == ""


def test_linearize_prints_matrices_and_names(capsys):
    code, answer = call_json(capsys, "linearize", "cart_pole", "--at", "initial")
    assert code == 0
    n = len(answer["states"])
    assert len(answer["A"]) == len(answer["A"][0]) == n == 4
    assert len(answer["B"][0]) == len(answer["inputs"])
    assert len(answer["C"]) == len(answer["outputs"])


def test_run_does_the_listed_analyses_and_saves(capsys, tmp_path):
    code, answer = call_json(capsys, "run", "pendulum", "--out", str(tmp_path / "out"))
    assert code == 0
    assert [a["analysis"] for a in answer["analyses"]]
    assert list((tmp_path / "out").glob("*.nc"))


def test_equations_are_printed(capsys):
    code, out, _ = call(capsys, "equations", "cart_pole")
    assert code == 0
    assert "cos(" in out
    code, out, _ = call(capsys, "equations", "cart_pole", "--latex")
    assert r"\begin{aligned}" in out
    code, out, _ = call(capsys, "equations", "spring_mass_chain", "--set", "count=30")
    assert code == 0
    assert out.startswith("Equations of motion by element: M a + h = 0, with 30 rates")
    assert "force of slide[30] along slide[30]: as force of slide[1] along slide[1]" in out


@pytest.mark.parametrize("command", ["equilibrium", "equilibria", "modes", "linearize", "simulate", "run", "equations"])
def test_every_command_is_readable_without_json(capsys, command):
    code, out, _ = call(capsys, command, "pendulum")
    assert code == 0
    assert out.strip()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "four_bar", "--until", "-1"], "go forward"),
        (["simulate", "four_bar", "--until", "nan"], "finite"),
        (["simulate", "four_bar", "--save-at", "1,zwei"], "cannot read the times"),
        (["simulate", "four_bar", "--method", "explicitt"], "did you mean 'explicit'"),
        (["simulate", "four_bar", "--rtol", "7"], "rtol"),
        (["simulate", "four_bar", "--out", "x.txt"], "end it in .nc, .csv, .parquet or .mat"),
        (["simulate", "four_bar", "--out", "/nowhere/x.nc"], "cannot write"),
        (["simulate", "four_bar", "--start", "somewhere"], "expected initial or equilibrium, got 'somewhere'"),
        (["simulate", "four_bar", "--formulation", "reduced", "--independent", "q9"], "unknown coordinate 'q9'"),
        (["simulate", "four_bar", "--set", "length2=5 cm"], "cannot be closed"),
        (["simulate", "nowhere"], "nowhere"),
        (["modes", "four_bar", "--at", "moon"], "expected initial or equilibrium"),
        (["modes", "four_bar", "--count", "0"], "count"),
        (["linearize", "four_bar", "--independent", "q1,q2"], "1 independent"),
        (["equilibrium", "four_bar", "--set", "length1=abc"], "abc"),
        (["equilibria", "four_bar", "--seed", "-3"], "seed"),
        (["simulate", "four_bar", "--rtol", "0"], "rtol must be a number between"),
        (["simulate", "four_bar", "--atol", "-1"], "atol must be a positive number"),
        (["simulate", "four_bar", "--step", "0"], "step must be a positive number"),
        (["simulate", "four_bar", "--step", "1e-3", "--rtol", "1e-6"], "rtol has no effect with a fixed step"),
        (["simulate", "four_bar", "--independent", "q1"], "apply to the formulation 'reduced'"),
        (["simulate", "four_bar", "--formulation", "reduced", "--step", "1e-3"], "has its own method"),
        (["simulate", "pendulum", "--formulation", "reduced"], "this robot has none"),
        (["compare", "cantilever", "--rods", "rod=pcs:1,pcs:2", "--from", "0", "--to", "5"], "lasts from 0 to 1 s"),
        (["compare", "cantilever", "--rods", "rod=pcs:1,pcs:2", "--columns", "x"], "--against"),
        (["path", "leaf_spring", "--parameter", "end_distance", "--to", "0.4", "--point", "3"], "--start"),
        (["path", "leaf_spring", "--parameter", "end_distance", "--to", "0.4", "--axes", "a,b"], "--plot"),
        (
            ["path", "leaf_spring", "--parameter", "end_distance", "--to", "0.4", "--axes", "end_forc,end_distance"]
            + ["--plot", "none.png"],
            "unknown output or coordinate 'end_forc' (did you mean 'end_force'",
        ),
    ],
)
def test_bad_input_gets_a_message_and_exit_code_two(capsys, arguments, message):
    code, out, err = call(capsys, *arguments)
    assert code == 2, (out, err)
    assert message in err
    assert "Traceback" not in err + out
    code, answer = call_json(capsys, *arguments)
    assert code == 2
    assert answer["status"] in ("error", "faults", "failed")


def test_starts_take_units(capsys):
    start = "q1=10 deg,d(q1)/dt=0.5 rad/s"
    code, answer = call_json(capsys, "simulate", "four_bar", "--start", start, "--until", "0.01", "--save-at", "0,0.01")
    assert code == 0
    assert answer["samples"][0]["q"]["q1"] == pytest.approx(0.17453292519943295)
    assert answer["samples"][0]["v"]["q1"] == pytest.approx(0.5)
    assert any("q2 from 1.777 to" in note for note in answer["remarks"])


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("q1=10 s", "--start q1=10 s: expected a plain number or angle, got a time"),
        ("q1=ten", "--start q1=ten is not a number"),
        ("q1=nan", "start.q1: expected a finite number, got nan"),
        ("q1=1e200", "start.q1: the value is too large to compute with"),
        ("d(q1)/dt=2 m/s", "expected a rate, got a speed"),
    ],
)
def test_starts_that_make_no_sense_are_refused(capsys, start, message):
    code, _, err = call(capsys, "simulate", "four_bar", "--start", start)
    assert code == 2
    assert message in err


def test_a_failed_run_is_said_and_saved(capsys, tmp_path):
    file = tmp_path / "run.nc"
    asked = [
        "--formulation",
        "reduced",
        "--independent",
        "q3",
        "--start",
        "q1=1.0",
        "--until",
        "20",
        "--save-every",
        "0.01",
    ]
    code, out, err = call(capsys, "simulate", "four_bar", *asked, "--out", str(file))
    assert code == 2
    said = " ".join((out + err).split())
    assert "dead position" in said
    assert "because the run did not finish" in said
    assert not file.exists()
    with pytest.warns(UserWarning, match="is partial"):
        assert load_result(tmp_path / "run.partial.nc").status == "failed"


def test_a_report_that_cannot_be_written_fails_a_comparison_after_its_table(capsys, tmp_path):
    rods = ["--rods", "arm=pcs:1,pcs:2", "--until", "0.01"]
    code, out, err = call(capsys, "compare", "stiff_flop", *rods, "--report", str(tmp_path / "none" / "x.html"))
    assert code == 2
    assert "pcs:2" in out
    assert "cannot write" in err


LEVER = """pliant: 1
parameters: {torque: {value: 0 N*m, input: true}}
bodies: {rod: {mass: 1 kg, center_of_mass: [0, 0, -0.5 m], shape: {type: slender_rod, length: 1 m, axis: z}}}
joints: {hinge: {type: revolute, child: rod, axis: y, angle: {input: =torque}}}
"""


def test_inputs_that_hold_a_pose(tmp_path, capsys):
    """The torque of a lever at 150 degrees, m g l/2 sin(angle), stable or not."""
    (tmp_path / "lever.yaml").write_text(LEVER)
    lever = str(tmp_path / "lever.yaml")
    assert run(["hold", lever, "--with", "hinge=150 deg", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["inputs"]["torque"] == pytest.approx(9.81 * 0.5 * np.sin(np.radians(150)), rel=1e-9)
    assert found["q"]["hinge"] == pytest.approx(np.radians(150))
    assert found["stable"] is False
    assert run(["hold", lever, "--with", "hinge=150 deg"]) == 0
    assert re.search(r"torque +2\.4525 N m", capsys.readouterr().out)


def test_inputs_that_hold_a_position(capsys):
    assert run(["hold", "stiff_flop", "--with", "tip.x=4 mm,tip.y=0.002", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    np.testing.assert_allclose(found["outputs"]["tip"][:2], [4e-3, 2e-3], atol=1e-9)
    pressures = [f"--input={name}={value}" for name, value in found["inputs"].items()]
    assert run(["equilibrium", "stiff_flop", *pressures, "--json"]) == 0
    np.testing.assert_allclose(json.loads(capsys.readouterr().out)["outputs"]["tip"][:2], [4e-3, 2e-3], atol=1e-8)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--with", "tip.x=2 kPa"], "expected a length"),
        (["--with", "tap.x=2"], "did you mean 'tip.x'"),
        (["--with", "tip.x"], "cannot read --with"),
        (["--with", "tip.x=0.001", "--use", "q9"], "q9"),
    ],
)
def test_held_poses_that_cannot_be_read(words, message, capsys):
    assert run(["hold", "stiff_flop", *words]) == 2
    assert message in capsys.readouterr().err
