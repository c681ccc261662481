"""Names and units in the analyses of a model file: of states, of the parameter of a path, and of where it ends."""

from __future__ import annotations

from pathlib import Path

import pytest

import pliant
from pliant.cli import run

MODEL = """
pliant: 1
parameters: {length: 1 m, force: {value: 0 N, input: true}}
sections: {wire: {shape: circle, radius: 2 mm}}
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}}
bodies: {bar: {mass: 1 kg, shape: {type: slender_rod, length: =length}, frames: {tip: {position: [=length, 0, 0]}}}}
joints:
  hinge: {type: revolute, axis: z, child: bar, angle: {spring: 1 N*m/rad}}
rods: {arm: {length: 10 cm, section: wire, material: rubber, model: {kind: pcs, elements: 1}}}
loads: {push: {frame: bar.tip, force: [0, =force, 0]}}
outputs: {height: {frame: bar.tip, quantity: position, component: y}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.yaml"


SOUND = [
    "{simulate: {until: 1 s, start: {hinge: 30 deg, d(hinge)/dt: 2 rad/s}}}",
    "{simulate: {until: 1 s, start: {hinge: 0.5, 'arm.bend_x[1]': 3 1/m, 'd(arm.bend_x[1])/dt': 1}}}",
    "{equilibrium: {start: {hinge: =0.1*length/1 m}}}",
    "{path: {parameter: force, to: 1 N, stop: {hinge: 40 deg, height: 50 mm}, imperfection: {hinge: 1e-6}, branch: 1, by: height}}",
    "{path: {parameter: length, to: =2*length}}",
]
WRONG = [
    ("{simulate: {until: 1 s, start: {hnge: 1}}}", "simulate.start.hnge", "there is no coordinate or rate 'hnge'"),
    ("{simulate: {until: 1 s, start: {hinge: 1 m}}}", "simulate.start.hinge", "got a length"),
    ("{simulate: {until: 1 s, start: {d(hinge)/dt: 1 rad}}}", "simulate.start.d(hinge)/dt", "expected a rate"),
    ("{simulate: {until: 1 s, start: {'arm.bend_x[2]': 1}}}", "start.arm.bend_x[2]", "no coordinate or rate"),
    ("{modes: {at: {'arm.bend_x[1]': 3 m}}}", "modes.at.arm.bend_x[1]", "got a length"),
    ("{equilibrium: {start: {nothing: 1}}}", "equilibrium.start.nothing", "no coordinate or rate"),
    ("{path: {parameter: lenght, to: 1}}", "path.parameter", "did you mean 'length'"),
    ("{path: {parameter: length, to: 1 kg}}", "path.to", "expected a length, got a mass"),
    ("{path: {parameter: force, to: =length}}", "path.to", "expected a force, got a length"),
    ("{path: {parameter: force, to: 1, stop: {nothing: 1}}}", "path.stop.nothing", "no output or coordinate"),
    ("{path: {parameter: force, to: 1, stop: {height: 1 rad}}}", "path.stop.height", "expected a length"),
    ("{path: {parameter: force, to: 1, imperfection: {nothing: 1}}}", "path.imperfection.nothing", "there is no rate"),
    ("{path: {parameter: force, to: 1, branch: 1, by: nothing}}", "path.by", "no output or coordinate"),
]


@pytest.mark.parametrize("analysis", SOUND)
def test_sound_analyses(analysis: str, file: Path) -> None:
    file.write_text(f"{MODEL}analyses: [{analysis}]\n")
    assert pliant.check(file) == []


@pytest.mark.parametrize(("analysis", "place", "said"), WRONG)
def test_wrong_names_and_units(analysis: str, place: str, said: str, file: Path, capsys) -> None:
    file.write_text(f"{MODEL}analyses: [{analysis}]\n")
    (fault,) = pliant.check(file)
    assert fault.path.endswith(place)
    assert said in f"{fault.message} {fault.hint}"
    assert fault.line == len(MODEL.splitlines()) + 1
    assert run(["run", str(file)]) == 2  # nothing is begun
    assert said in " ".join(capsys.readouterr().err.split())
