"""Controllers of model files on the command line: faults of a design are reported in one clear sentence."""

import json

import pytest

import pliant
from pliant.cli import run

LEG = "leg@pretensioned"
WEIGHTS = "coordinate_weights: [{coordinate: q1, value: 1, rate: 1}]"
POLE = "coordinate_weights: [{coordinate: rail, value: 10}, {coordinate: hinge, value: 50}]"
TENDONS = "inputs: [near1, near2, near3, far1, far2, far3], output_weights: [{output: tip, weight: 1e4}]"

WEAK = "limits: [{input: near1, upper: 1 N}, {input: far1, upper: 0.5 N}]"


def with_control(folder, robot, text):
    file = folder / "robot.yaml"
    file.write_text(pliant.dump(pliant.load(robot)) + f"\ncontrol:\n  hold: {{{text}}}\n")
    return str(file)


@pytest.mark.parametrize(
    ("robot", "text", "words"),
    [
        (LEG, f"type: lqr, sample_time: 10 ms, {WEIGHTS}", ["0.01 s is too long for the mode at", "above 50 Hz", "`below`"]),
        (
            "cart_pole",
            f"type: lqr, about: {{near: [{{coordinate: hinge, value: 0.1}}]}}, sample_time: 20 ms, {POLE}, "
            "sensors: [{output: pole, noise: 1e-3}]",
            ["the outputs do not determine the mode that neither grows nor decays (mostly rail)", "Measure"],
        ),
        (
            "trunk",
            f"type: lqr, keep: 6, sample_time: 10 ms, {TENDONS}, {WEAK}, "
            "about: {frame: gripper.tip, components: xy, position: [12 cm, 0]}",
            ["cannot hold the task at (0.12, 0)", "'near1' (tension of tendon near[1]) at ", "above its upper limit of 1 N"],
        ),
        (
            "trunk",
            "type: statics, sample_time: 20 ms, inputs: [near1, near2, near3, far1, far2, far3], frame: gripper.tip, "
            f"components: xy, path: [12 cm, 0], {WEAK}",
            ["cannot hold the task", "'far1' (tension of tendon far[1]) at ", "above its upper limit of 0.5 N", "least_squares"],
        ),
        (
            "trunk",
            "type: pid, sample_time: 20 ms, inputs: near1, frame: gripper.tip, components: xy, path: [2 cm, 0], "
            "proportional: 5 N/m",
            ["2 components and 1 inputs", "1 independent directions"],
        ),
    ],
)  # fmt: skip
def test_designs_that_cannot_be_are_refused_by_name(robot, text, words, tmp_path, capsys):
    code = run(["simulate", with_control(tmp_path, robot, text), "--until", "0.1", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert code != 0
    assert answer["status"] == "error"
    message = json.dumps(answer, ensure_ascii=False)
    for word in ["controller 'hold'", *words]:
        assert word in message


def test_inputs_that_cannot_hold_a_mode_are_refused_by_its_name(tmp_path, capsys):
    """A force on the cart cannot turn a wheel that hangs free beside it."""
    wheel = (
        "bodies: {cart: {mass: 1 kg}, wheel: {mass: 1 kg, shape: {type: sphere, radius: 10 cm}}}\n"
        "joints: {rail: {type: prismatic, child: cart, axis: x, displacement: {input: =force}}, "
        "axle: {type: revolute, child: wheel, axis: y}}\n"
    )
    file = tmp_path / "wheel.yaml"
    hold = "control: {hold: {type: lqr, sample_time: 10 ms, coordinate_weights: [{coordinate: rail, value: 1}]}}\n"
    file.write_text("pliant: 1\nparameters: {force: {value: 0 N, input: true}}\n" + wheel + hold)
    assert run(["simulate", str(file), "--until", "0.1"]) != 0
    assert "the inputs cannot stabilize the mode that neither grows nor decays (mostly axle)" in " ".join(
        capsys.readouterr().err.split()
    )


def test_a_loop_that_will_grow_is_said_once(tmp_path, capsys):
    text = (
        "type: lqr, sample_time: 2 ms, keep: 3, output_weights: [{output: middle, weight: 1e7}], "
        "sensors: [{output: middle, noise: 0.01 mm}]"
    )
    file = with_control(tmp_path, LEG, text)
    assert run(["simulate", file, "--until", "0.004", "--start", "equilibrium", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert any("which the design neglects, grows (by" in text for text in answer["remarks"])
    assert run(["simulate", file, "--until", "0.004", "--start", "equilibrium"]) == 0
    assert " ".join(capsys.readouterr().err.split()).count("which the design neglects, grows (by") == 1
    assert run(["export", file, "--c", str(tmp_path / "c"), "--controller", "hold"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.count("which the design neglects, grows (by") == 1


def test_only_regulators_are_exported(tmp_path, capsys):
    text = "type: pid, sample_time: 2 ms, coordinates: rail, path: 1 m, proportional: 5 N/m, derivative: 2 N*s/m"
    file = with_control(tmp_path, "cart_pole", text)
    assert run(["export", file, "--c", str(tmp_path / "c"), "--controller", "hold"]) != 0
    said = " ".join(capsys.readouterr().err.split())
    assert "the controller 'hold' (pid) solves the model at every sample" in said
    assert "export one of type lqr" in said
