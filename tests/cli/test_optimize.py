"""The command for best values, as a person or a script calls it."""

import json

import pytest

from pliant.cli import run

SPRING = """
pliant: 1
parameters: {stiffness: 40 N/m, pull: {value: 1 N, input: true}}
bodies: {cart: {mass: 1 kg, frames: {mark: {}}}}
joints:
  rail: {type: prismatic, child: cart, axis: x, displacement: {spring: =stiffness, damper: 4 N*s/m, input: =pull}}
outputs: {x: {frame: cart.mark, component: x}}
"""


@pytest.fixture
def model(tmp_path):
    (tmp_path / "spring.yaml").write_text(SPRING)
    return str(tmp_path / "spring.yaml")


def test_the_page_shows_the_way_and_the_robot(model, tmp_path, capsys):
    page = tmp_path / "best.html"
    given = ["--minimize", "x/(1 m)", "--vary", "pull=1:4 N", "--subject-to", "x >= 5 cm", "--report", str(page)]
    assert run(["optimize", model, *given, "--json"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert found["values"]["pull"] == pytest.approx(2.0, rel=1e-6)
    assert f"report in {page}" in captured.err
    text = page.read_text()
    assert "Optimum" in text
    assert "x &gt;= 5 cm" in text
    assert "satisfied, no margin" in text
    assert "over the evaluations" in text
    assert "the robot at rest" in text  # in three dimensions


def test_the_page_of_a_motion_plays_the_best_one(model, tmp_path, capsys):
    page = tmp_path / "best.html"
    given = ["--minimize", "-x/(1 m)", "--vary", "pull=1:4 N", "--analysis", "simulate", "--until", "0.2"]
    assert run(["optimize", model, *given, "--report", str(page)]) == 0
    assert "the motion" in page.read_text()
    assert "(at its bound)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--vary", "pull=1:4 m"], "is in m, but it is in N"),
        (["--vary", "pull=4:1 N"], "is empty"),
        (["--vary", "pull=1:4 N", "--report", "best.pdf"], "end it in .html"),
    ],
)
def test_what_makes_no_sense_is_said(model, capsys, given, words):
    assert run(["optimize", model, "--minimize", "x/(1 m)", *given]) == 2
    assert words in capsys.readouterr().err
