"""Remarks: on values that are valid but rarely intended, and none on ordinary robots."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pliant
from pliant.cli import run
from pliant.robot.reader import FOLDER, templates

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
  ball: {mass: 1 kg, inertia: {principal: [1, 1, 3]}}
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
    "bodies.ball.inertia": "no body has the principal moments of inertia 1, 1, 3 kg*m^2",
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
        .replace("[1, 1, 3]", "[1, 1, 2]")
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


BELOW_ZERO = """
pliant: 1
parameters: {stiffness: -5 N/m}
bodies: {a: {count: 3, mass: 1 kg}, b: {mass: 1 kg}}
joints:
  slide:
    type: prismatic
    parent: a[i-1]
    first_parent: world
    child: a
    displacement: {spring: =stiffness, damper: {coefficient: -1 N*s/m}}
  flight: {type: free, child: b, orientation: {damper: -1}, x: {spring: {coefficient: =-5 N/m*(x/(1 m))}}}
links:
  rope: {type: axial, between: [world, b], spring: {coefficient: -3 N/m, rest: 1 m}}
  beam: {type: beam, between: [world, b], stiffness: [1, -2, 3, 0, 0, 0]}
"""

PUSHES, DRIVES = "it pushes away from its rest", "it drives the motion instead of damping it"


def test_springs_and_dampers_below_zero_are_reported_once_for_all_instances() -> None:
    found = pliant.load_text(BELOW_ZERO).remarks
    assert {remark.path: remark.message for remark in found} == {
        "joints.slide.displacement.spring": f"-5 is below zero: {PUSHES}",
        "joints.slide.displacement.damper.coefficient": f"-1 is below zero: {DRIVES}",
        "joints.flight.orientation.damper": f"-1 is below zero: {DRIVES}",
        "links.rope.spring.coefficient": f"-3 is below zero: {PUSHES}",
        "links.beam.stiffness": f"-2 is below zero: {PUSHES}",
    }
    assert not pliant.load_text(BELOW_ZERO.replace("-", "").replace("a[i1]", "a[i-1]")).remarks


def test_check_and_derive_report_them(tmp_path, capsys) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(BELOW_ZERO)
    assert run(["check", str(path)]) == 0
    assert capsys.readouterr().out.count("is below zero") == 5
    with pytest.warns(UserWarning, match="pushes away from its rest"):
        pliant.derive(path)


def test_parameters_that_only_other_variants_use_are_no_remark() -> None:
    text = ODD.replace("spare: 3 N, ", "")
    assert not [x for x in pliant.load_text(text, variant="heavy").remarks if x.path.startswith("parameters")]
    bare = text.replace("variants: {heavy:", "variants: {bare: {bodies: {ball: {mass: 2 kg}}}, heavy:")
    assert not [x for x in pliant.load_text(bare, variant="bare").remarks if x.path.startswith("parameters")]


def test_masses_in_grams_and_angles_in_degrees_without_their_units() -> None:
    text = """
pliant: 1
bodies: {{ball: {{mass: {mass}, shape: {{type: sphere, radius: 1 cm}}}}}}
joints: {{hinge: {{type: revolute, axis: y, child: ball, angle: {{initial: {angle}}}}}}}
"""
    odd = [str(remark) for remark in pliant.load_text(text.format(mass=5, angle=90)).remarks]
    assert len(odd) == 2
    assert "a mass of 5 kg in a shape of 4.19e-06 m^3" in odd[0]
    assert "the initial angle is 90 rad, 14.3 turns" in odd[1]
    assert not pliant.load_text(text.format(mass="5 g", angle="90 deg")).remarks


@pytest.mark.parametrize(
    ("section", "other", "remarked"),
    [
        ("{shape: rectangle, width: 20 mm, height: 4 mm}", "{shape: rectangle, width: 10 mm, height: 4 mm}", False),
        ("{shape: rectangle, width: 20 mm, height: 4 mm}", "{shape: circle, radius: 4 mm}", True),
        (
            "{shape: polygon, vertices: [[-10 mm, -2 mm], [10 mm, -2 mm], [0, 9 mm]]}",
            "{shape: circle, radius: 4 mm}",
            True,
        ),
        ("{shape: circle, radius: 3 mm}", "{shape: circle, radius: 4 mm}", False),
    ],
)
def test_rods_of_sections_with_different_corners_touch_as_round_ones(section, other, remarked):
    """Contacts miss an overlap of 5 mm there."""
    text = f"""
pliant: 1
materials: {{hard: {{density: 1000 kg/m^3, youngs_modulus: 1 GPa, poissons_ratio: 0.3}}}}
sections: {{bar: {section}, other: {other}}}
rods:
  bar: {{position: [0, 0, 5 mm], rotation: {{axis: y, angle: 90 deg}}, length: 100 mm, section: [bar, other], material: hard}}
surfaces: {{floor: {{type: plane}}}}
contacts: {{c: {{between: [bar, floor]}}}}
"""
    found = [str(remark) for remark in pliant.load_text(text).remarks]
    assert any("touches as a round rod" in remark for remark in found) == remarked


def test_remarks_on_the_instances_of_a_part_are_one():
    text = """
pliant: 1
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}}
sections: {round: {shape: circle, radius: 5 mm}, flat: {shape: rectangle, width: 9 mm, height: 4 mm}}
rods: {r: {count: 3, length: 1 m, section: [round, flat], material: rubber}}
surfaces: {floor: {type: plane}}
contacts: {c: {between: [r, floor]}}
"""
    found = [str(remark) for remark in pliant.load_text(text).remarks]
    assert len(found) == 1
    assert "the sections of the rod 'r[1..3]' have different numbers" in found[0]


def test_texts_are_merged_where_one_number_changes():
    from pliant.language.message_text import merged_instances

    assert merged_instances(["a[1] of 2", "x", "a[2] of 2", "a[1] of 3"]) == ["a[1..2] of 2", "x", "a[1] of 3"]
    assert merged_instances(["a[1]", "a[4]", "a[1]"]) == ["a[1,4]"]
    apart = ["a[1].b[2]", "a[2].b[1]", "a[1].b[1]"]
    assert merged_instances(apart) == apart
    assert merged_instances(["a[1] on c[1]", "a[2] on c[2]"]) == ["a[1..2] on c[1..2]"]


def test_lines_and_chambers_far_from_a_short_rod() -> None:
    """Metres instead of millimetres; an offset beyond the section, as with discs, is usual."""
    text = """
pliant: 1
sections: {wire: {shape: circle, radius: 1 mm}}
materials: {rubber: {density: 1000 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.4}}
rods:
  arm: {length: 20 cm, section: wire, material: rubber, chambers: {side: {force: 1 N, positions: [[CHAMBER, 0]]}}}
tendons:
  even: {type: tension, through: [{rod: arm, offset: [0, EVEN], eyelets: 3}], tension: 1 N}
  wound: {type: tension, through: [{rod: arm, radius: WOUND, turns: 1, eyelets: 3}], tension: 1 N}
  placed: {type: tension, through: [{rod: arm, points: [0, {at: 10 cm, offset: [PLACED, 0]}]}], tension: 1 N}
"""
    sizes = {"CHAMBER": "8", "EVEN": "4", "WOUND": "3", "PLACED": "2"}

    def remarks(unit: str) -> list[str]:
        made = text.replace("points: [0, ", "points: [{at: 0}, ")
        for word, size in sizes.items():
            made = made.replace(word, f"{size}{unit}")
        return [str(remark) for remark in pliant.load_text(made).remarks if "from the axis" in str(remark)]

    assert remarks(" mm") == []
    found = remarks("")
    assert {note.partition(" is ")[2].partition(" m")[0] for note in found} == {"8", "4", "2", "3"}
    assert any("tendons.even.through[0].offset" in note for note in found)
