"""`--input`: one option with the same values for all commands that evaluate a model."""

import json

import numpy as np
import pytest

import pliant
from pliant.cli import run

MODEL = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {k: 50 N/m, push: {value: 0 N, input: true}, side: {value: 0 N, input: true}}
bodies: {cart: {mass: 1 kg}}
joints:
  x: {type: prismatic, axis: x, child: cart, displacement: {name: x, spring: =k, damper: 4 N s/m}}
loads:
  push: {type: wrench, frame: cart, force: [=push, 0, 0]}
  side: {type: wrench, frame: cart, force: [=side, 0, 0]}
outputs: {x: {coordinate: x}}
analyses:
  - equilibrium: {time: 0.5 s}
  - simulate: {until: 1 s}
"""


@pytest.fixture
def model(tmp_path):
    file = tmp_path / "cart.yaml"
    file.write_text(MODEL)
    return str(file)


def answer(capsys, *words):
    capsys.readouterr()
    code = run([*words, "--json"])
    out = capsys.readouterr()
    assert code == 0, out.err
    return json.loads(out.out)


def refusal(capsys, *words):
    capsys.readouterr()
    assert run(list(words)) == 2
    return capsys.readouterr().err


def test_functions_of_time_have_their_value_at_the_time_of_an_analysis(capsys, model):
    found = answer(capsys, "equilibrium", model, "--input", "push==5 N*sin(t/(1 s))", "--time", "0.5")
    assert found["outputs"]["x"] == pytest.approx(5 * np.sin(0.5) / 50, rel=1e-9)
    listed = answer(capsys, "run", model, "--input", "push==5 N*sin(t/(1 s))")["analyses"]
    assert listed[0]["outputs"]["x"] == pytest.approx(5 * np.sin(0.5) / 50, rel=1e-9)
    alone = pliant.simulate(pliant.derive(model), 1.0, inputs={"push": "5 N*sin(t/(1 s))"})
    assert listed[1]["samples"][-1]["outputs"]["x"] == pytest.approx(alone["x"].values[-1], rel=1e-6)


def test_sweeps_have_inputs_in_all_cases(capsys, model, tmp_path):
    out = str(tmp_path / "runs")
    words = ["sweep", model, "--vary", "k=50,100 N/m", "--out", out, "--until", "0.4", "--option", "save_every=0.1"]
    answer(capsys, *words, "--input", "push==5 N*t/(1 s)", "--input", "side=1 N")
    found = pliant.load_sweep(out)["output.x"].values[:, -1]
    for value, k in zip(found, (50.0, 100.0), strict=True):
        alone = pliant.simulate(
            pliant.derive(model), 0.4, save_every=0.1, parameters={"k": k}, inputs={"push": "5 N*t/(1 s)", "side": 1.0}
        )
        assert value == alone["x"].values[-1]
    again = answer(capsys, *words, "--input", "push==5 N*t/(1 s)", "--input", "side=1 N")
    assert (again["done_before"], again["done_now"]) == (2, 0)
    assert "contains another sweep" in refusal(capsys, *words, "--input", "push=5 N")
    assert "--input is for a new one" in refusal(capsys, "sweep", out, "--input", "push=5 N")
    varied = refusal(capsys, "sweep", model, "--vary", "push=1,2 N", "--input", "push=1 N", "--out", f"{out}2")
    assert "'push' is both varied and given" in varied


def test_sweeps_at_rest_take_functions_of_time_and_parameters(capsys, model, tmp_path):
    out = str(tmp_path / "rests")
    answer(
        capsys, "sweep", model, "--vary", "k=50,100 N/m", "--analysis", "equilibrium", "--option", "time=0.5",
        "--input", "push==k*t*0.1 m/s", "--out", out,
    )  # fmt: skip
    np.testing.assert_allclose(pliant.load_sweep(out)["output.x"].values, 0.05, rtol=1e-9)


def test_sweeps_play_their_best_cases_with_recorded_inputs(capsys, model, tmp_path):
    file, out = tmp_path / "force.csv", tmp_path / "runs"
    file.write_text("t [s],push [N]\n" + "".join(f"{t},{np.sin(t)}\n" for t in np.linspace(0, 1, 30)))
    words = ["sweep", model, "--vary", "k=50,100 N/m", "--out", str(out), "--until", "0.4", "--input", str(file)]
    answer(capsys, *words, "--report")
    assert (out / "report.html").exists()
    alone = pliant.simulate(pliant.derive(model), 0.4, parameters={"k": 50.0}, inputs={"push": "1 N*sin(t/(1 s))"})
    found = pliant.load_sweep(out)["output.x"].values[0, -1]
    assert found == pytest.approx(alone["x"].values[-1], rel=1e-4)


def recording(tmp_path, **inputs):
    """The motion of the cart with k = 70 N/m, with one input in the table."""
    times = np.linspace(0, 2, 81)
    run = pliant.simulate(
        pliant.derive(str(tmp_path / "cart.yaml")), 2.0, save_at=times, parameters={"k": 70.0}, inputs=inputs
    )
    file = tmp_path / "bench.csv"
    rows = (f"{t},{np.sin(3 * t)},{x}" for t, x in zip(times, run["x"].values, strict=True))
    file.write_text("t [s],push [N],x [m]\n" + "\n".join(rows) + "\n")
    return str(file)


def test_fits_take_inputs_beside_those_of_the_recording(capsys, model, tmp_path):
    file = recording(tmp_path, push="1 N*sin(3*t/(1 s))", side="0.5 N*cos(t/(1 s))")
    words = ["fit", model, "--parameters", "k", "--against", file, "--output", "x"]
    found = answer(capsys, *words, "--input", "side==0.5 N*cos(t/(1 s))")
    assert found["parameters"]["k"] == pytest.approx(70, rel=1e-4)
    without = answer(capsys, *words)
    assert abs(without["parameters"]["k"] - 70) > 1
    assert "the column 'push'" in refusal(capsys, *words, "--input", "push=1 N")
    assert "depends on the parameter 'k'" in refusal(capsys, *words, "--input", "side==k*1 mm")


def test_comparisons_take_inputs(capsys):
    words = ["compare", "stiff_flop", "--rods", "arm=pcs:1,pcs:2", "--until", "0.05", "--rest-at", "0.05"]
    still, pressed = (
        answer(capsys, *words, *more)["rows"][0] for more in ([], ["--input", "p1==400 kPa/s*t", "--input", "p2=5 kPa"])
    )
    assert pressed["max_error_mm"] > 10 * still["max_error_mm"]
    alone = [
        pliant.equilibrium(
            pliant.derive(pliant.load("stiff_flop").with_rod("arm", f"pcs:{n}")), inputs={"p1": 20e3, "p2": 5e3}
        ).outputs["tip"]
        for n in (1, 2)
    ]
    assert pressed["static_mean_error_mm"] == pytest.approx(1e3 * np.linalg.norm(np.subtract(*alone)), rel=1e-6)
