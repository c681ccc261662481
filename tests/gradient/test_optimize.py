"""Optimal values: compared with closed forms and among methods; conditions; messages for bad input."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from gradient_systems import equations, rod

import pliant
from pliant.cli import run

SPRING = """
pliant: 1
parameters: {k: 100 N/m, mass: 2 kg, pull: {value: 0 N, input: true}, twice: =2*k}
bodies: {block: {mass: =mass}}
joints: {slide: {type: prismatic, child: block, axis: z, displacement: {spring: =k, input: =pull}}}
outputs: {at: {frame: block}, z: {coordinate: slide}}
"""


def stretch(k: float, pull: float, mass: float = 2.0) -> float:
    return (pull - mass * 9.81) / k


@pytest.mark.parametrize("method", ["slsqp", "ipopt"])
def test_a_spring_under_conditions(method: Any) -> None:
    """Least pull and stiffness that keep the block at most 5 cm low, with the exact optimum on the condition."""
    eqs = equations(SPRING)
    best = pliant.optimize(
        eqs, "(pull/(10 N))^2 + (twice/(200 N/m))^2", {"pull": "-5:30 N", "k": (50.0, 400.0)},
        subject_to=["z >= -5 cm", "at.norm <= 1 m"], method=method,
    )  # fmt: skip
    # on the condition pull = m g - k/20: minimize by hand
    k = np.linspace(50, 400, 2_000_001)
    by_hand = ((2 * 9.81 - 0.05 * k) / 10) ** 2 + (k / 100) ** 2
    assert best.status == "converged"
    assert best.objective == pytest.approx(by_hand.min(), rel=1e-6)
    assert best.values["k"] == pytest.approx(k[by_hand.argmin()], rel=1e-3)
    assert stretch(best.values["k"], best.values["pull"]) == pytest.approx(-0.05, abs=1e-6)
    assert best.spare["z >= -5 cm"] == pytest.approx(0, abs=1e-6)
    assert best.spare["at.norm <= 1 m"] > 0.9
    assert best.before == pytest.approx(1.0)
    assert pliant.equilibrium(best.equations).outputs["z"] == pytest.approx(-0.05, abs=1e-6)


def test_an_equality_and_a_bound() -> None:
    best = pliant.optimize(
        equations(SPRING), "pull^2/(1 N)^2", {"pull": "-5:30 N", "k": "50:200 N/m"}, subject_to="z == -8 cm"
    )
    assert best.values["k"] == pytest.approx(200)
    assert best.at_bounds == ("k",)
    assert best.values["pull"] == pytest.approx(2 * 9.81 - 0.08 * 200, rel=1e-6)
    report = str(best)
    assert "(at its bound)" in report
    assert re.search(r"z == -8 cm +satisfied, no margin", report)
    assert f"converged after {len(best.way)} evaluations; all conditions are satisfied" in report


def test_motions_at_one_time_and_at_several() -> None:
    eqs = equations(rod("{kind: pcs, elements: 2}"))
    options: dict[str, Any] = {"analysis": "simulate", "until": 0.06, "settings": {"step": 4e-3}}
    times = [0.03, 0.06]
    f = pliant.differentiable(eqs, "tip", "push", until=0.06, step=4e-3, save_at=times)
    there = f({"push": 0.03})["tip"][:, 0]
    vary = {"push": "0:0.1 N"}
    best = pliant.optimize(eqs, f"(1e3*tip.x/(1 m) - {1e3 * there[1]})^2", vary, **options)
    assert best.values["push"] == pytest.approx(0.03, rel=1e-3)
    # a condition holds at each time, and what is minimized is the mean over them
    held = pliant.optimize(eqs, "tip.x/(1 m)", vary, subject_to=f"tip.x >= {there.max()} m", save_at=times, **options)
    found = f({"push": held.values["push"]})["tip"][:, 0]
    assert found.min() == pytest.approx(there.max(), rel=1e-5)
    assert held.objective == pytest.approx(found.mean(), rel=1e-9)


def test_samples_where_there_are_no_derivatives() -> None:
    pytest.importorskip("optuna", reason="needs optuna: pip install 'pliant[optuna]'")
    eqs = equations(SPRING)
    vary = {"pull": "-5:30 N", "k": "50:400 N/m"}
    best = pliant.optimize(
        eqs, "pull^2/(1 N)^2", vary, subject_to="z >= -10 cm", method="optuna", evaluations=80, seed=1
    )
    again = pliant.optimize(
        eqs, "pull^2/(1 N)^2", vary, subject_to="z >= -10 cm", method="optuna", evaluations=80, seed=1
    )
    assert best.values == again.values
    assert best.status == "completed"
    assert len(best.way) == 80
    assert best.objective < 4.0  # 0 is the best there is
    assert stretch(best.values["k"], best.values["pull"]) >= -0.1 - 1e-9


def test_what_cannot_be_is_said() -> None:
    eqs = equations(SPRING)
    with pytest.raises(pliant.AnalysisFailed, match="no point satisfies all conditions") as failed:
        pliant.optimize(eqs, "pull/(1 N)", {"pull": "0:1 N"}, subject_to="z >= 1 m")
    assert failed.value.result.spare["z >= 1 m"] < 0
    returned = pliant.optimize(eqs, "pull/(1 N)", {"pull": "0:1 N"}, subject_to="z >= 1 m", on_failure="return")
    assert returned.status == "failed"


@pytest.mark.parametrize(
    ("minimize", "vary", "options", "words"),
    [
        ("z/(1 m)", {}, {}, "nothing varies"),
        ("z/(1 m)", {"kk": "1:2"}, {}, "there is no parameter or input 'kk'"),
        ("z/(1 m)", {"k": "3:2 N/m"}, {}, "the range '3:2 N/m' of 'k' is empty"),
        ("z/(1 m)", {"k": (3, 2)}, {}, "the range of 'k' is empty: it goes from 3 to 2"),
        ("z/(1 m)", {"k": "1:3:5 N/m"}, {}, "the range of 'k' cannot be '1:3:5 N/m'"),
        ("z/(1 m)", {"k": "1:2 kg"}, {}, "the range '1:2 kg' of 'k' is in kg, but it is in"),
        ("z/(1 m)", {"pull": "1:2 kg"}, {}, "the range '1:2 kg' of 'pull' is in kg, but it is in"),
        ("z/(1 m)", {"k": 3.0}, {}, "the range of 'k' cannot be"),
        ("z + 1 N", {"k": "1:2 N/m"}, {}, "'z \\+ 1 N'"),
        ("zz", {"k": "1:2 N/m"}, {}, "zz"),
        ("z +", {"k": "1:2 N/m"}, {}, "cannot read 'z \\+'"),
        ("at.w", {"k": "1:2 N/m"}, {}, "there is no 'at.w'"),
        ("at", {"k": "1:2 N/m"}, {}, "is a vector, not a number"),
        ("k/(1 N/m)", {"k": "1:2 N/m"}, {}, "no output of the robot is named"),
        ("z", {"k": "1:2 N/m"}, {"subject_to": "z"}, "'z' is not a condition"),
        ("z", {"k": "1:2 N/m"}, {"subject_to": "z >= 1 N"}, "'z - 1 N'|'1 N - z'"),
        ("z", {"k": "1:2 N/m"}, {"analysis": "simulate"}, "a simulation needs an end time"),
        ("z", {"k": "1:2 N/m"}, {"method": "newton"}, "method"),
        ("z", {"pull": "1:2 N"}, {"inputs": {"pull": ([0, 1], [0, 1])}}, "follows a function of time here"),
    ],
)  # fmt: skip
def test_bad_input_is_said_in_words(minimize: str, vary: Any, options: Any, words: str) -> None:
    with pytest.raises(pliant.ArgumentError, match=words):
        pliant.optimize(equations(SPRING), minimize, vary, **options)


def test_contacts_need_samples() -> None:
    with pytest.raises(pliant.ArgumentError, match=r"equilibria in contact have no derivatives"):
        pliant.optimize(pliant.derive("gripper"), "ball.z", {"friction": (0.3, 0.6)})


def test_the_command(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "spring.yaml"
    file.write_text(SPRING)
    words = ["optimize", str(file), "--minimize", "pull^2/(1 N)^2", "--vary", "pull=-5:30 N", "--vary", "k=50:200 N/m"]
    assert run([*words, "--subject-to", "z == -8 cm", "--json", "--out", str(tmp_path / "best.json")]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["status"] == "converged"
    assert answer["at_bounds"] == ["k"]
    assert answer["values"]["pull"] == pytest.approx(2 * 9.81 - 0.08 * 200, rel=1e-6)
    assert json.loads((tmp_path / "best.json").read_text())["values"] == answer["values"]
    assert run([*words, "--subject-to", "z == -8 cm"]) == 0
    assert re.search(r"k +100 +200 \(at its bound\) +50 +200", capsys.readouterr().out)
    assert run([*words, "--subject-to", "z >= 1 m"]) == 2
    assert run([*words, "--until", "1"]) == 2
    assert "--until applies to simulations only" in capsys.readouterr().err
    assert run(["optimize", str(file), "--minimize", "z", "--vary", "pull"]) == 2
    assert "cannot read --vary 'pull'" in capsys.readouterr().err


@pytest.mark.slow
def test_gains_of_the_model_are_tuned_and_stay_with_the_equations() -> None:
    """A damper that is too strong or too weak leaves the hinge far from its target at the end."""
    text = """
pliant: 1
parameters: {torque: {value: 0 N*m, input: true}, kd: {value: 20 N*m*s/rad, minimum: 0 N*m*s/rad}}
bodies: {arm: {mass: 2 kg, center_of_mass: [0.25 m, 0, 0], shape: {type: slender_rod, length: 0.5 m, axis: x}}}
joints: {hinge: {type: revolute, child: arm, axis: y, angle: {input: =torque}}}
outputs: {angle: {coordinate: hinge}}
control:
  raise: {type: pid, coordinates: hinge, path: 0.6, proportional: 30 N*m/rad, derivative: =kd, sample_time: 5 ms}
"""
    eqs = equations(text)
    until, options = 0.4, {"save_at": [0.2, 0.3, 0.4], "step": 5e-3}
    vary = {"kd": (0.5, 30.0)}
    best = pliant.optimize(eqs, "(angle-0.6)^2", vary, analysis="simulate", until=until, settings=options)
    assert best.status == "converged"
    run = pliant.simulate(best.equations, until, **options)
    assert float(np.mean((run["angle"].values - 0.6) ** 2)) == pytest.approx(best.objective, rel=1e-9)
    for kd in (0.97, 1.03):
        other = pliant.simulate(eqs, until, parameters={"kd": kd * best.values["kd"]}, **options)
        assert float(np.mean((other["angle"].values - 0.6) ** 2)) > best.objective


def test_an_unknown_component_is_named() -> None:
    eqs = pliant.derive("trunk")
    with pytest.raises(pliant.ArgumentError, match=r"there is no 'tip\.q' \(components are x, y, z, norm\)"):
        pliant.optimize(eqs, "tip.q", {"far1": "0:30 N"})
