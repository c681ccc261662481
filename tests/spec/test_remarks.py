"""Remarks: what can be right but is rarely meant, and nothing about robots that are as they should be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pliant
from pliant.cli import run
from pliant.spec.templates import FOLDER, templates

ODD = """\
pliant: 1
parameters: {length: 20 cm, spare: 3 N, number: 2, index: 1, pull: {count: 2, value: 1 N}, only_variant: 1 kg}
materials:
  air: {density: 1, youngs_modulus: 1 mPa, poissons_ratio: 0.4}
  rubber: {density: 1000 kg/m^3, youngs_modulus: 100 kPa, poissons_ratio: 0.4}
sections: {thick: {shape: circle, radius: 5}, thin: {shape: circle, radius: 5 mm}}
rods:
  arm: {length: =length, section: thick, material: air}
  leg: {length: =length, section: thin, material: rubber}
bodies:
  rock: {parent: leg.tip, mass: 1000 kg}
  bead: {count: =number, mass: "=1 kg*pull[i]/(1 N)", parent: world}
  ghost: {}
  post: {}
  ball: {mass: 1 kg}
joints:
  hinge: {type: revolute, child: ghost, axis: y}
  swivel: {type: revolute, child: post, axis: z}
  pin: {type: revolute, parent: post, child: ball, axis: y}
outputs: {place: {frame: "bead[index]"}}
variants: {heavy: {bodies: {ball: {mass: =only_variant}}}}
"""

EXPECTED = {
    "parameters.spare": "the parameter 'spare' is not used",
    "materials.air.youngs_modulus": "no solid has a Young's modulus of 0.001 Pa",
    "materials.air.density": "no solid has a density of 1 kg/m^3",
    "rods.arm.section": "the rod is 10 m thick and 0.2 m long",
    "bodies.rock.mass": "the 1e+03 kg of 'rock' would bend the rod 'leg' by 2.7e+06 times its length",
    "joints.hinge.child": "the joint moves 'ghost' and nothing else, and that has no mass",
}


def test_what_is_rarely_meant_is_said_with_its_line() -> None:
    found = pliant.load_text(ODD, file="odd.yaml").remarks
    assert {
        remark.path: remark.message.startswith(EXPECTED.get(remark.path, "-")) for remark in found
    } == dict.fromkeys(EXPECTED, True)
    lines = {remark.path: remark.line for remark in found}
    assert lines["rods.arm.section"] == 8
    assert lines["bodies.rock.mass"] == 11


def test_units_that_were_left_out_are_the_difference() -> None:
    text = ODD.replace("radius: 5}", "radius: 5 mm}").replace("1000 kg}", "1 g}").replace("mPa", "MPa")
    text = (
        text.replace("density: 1,", "density: 1 g/cm^3,")
        .replace("spare: 3 N, ", "")
        .replace("ghost: {}", "ghost: {mass: 1 g}")
    )
    assert pliant.load_text(text).remarks == ()


@pytest.mark.parametrize("name", [robot.name for robot in pliant.bundled_robots()])
def test_bundled_robots_need_no_remark(name: str) -> None:
    assert pliant.load(name).remarks == ()


def test_templates_need_no_remark() -> None:
    assert [pliant.load(FOLDER / f"{one.kind}.yaml").remarks for one in templates()] == [()] * len(templates())


def test_check_and_analyses_say_remarks_and_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "odd.yaml"
    file.write_text(ODD)
    assert run(["check", str(file), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["remarks"]) == len(EXPECTED)
    assert run(["check", str(file)]) == 0
    assert "the parameter 'spare' is not used" in capsys.readouterr().out
    assert run(["show", str(file)]) == 0
    assert "the parameter 'spare' is not used" in capsys.readouterr().err
