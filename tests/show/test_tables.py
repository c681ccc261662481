"""Robots as tables: text and HTML."""

from __future__ import annotations

import pytest

from pliant.language.source import bundled
from pliant.robot.reader import load, load_text
from pliant.show.tables import overview

NASTY = """\
pliant: 1
name: "<b>arm</b>"
description: "<script>alert(1)</script> [red]markup[/red] \\e[31m"
parameters:
  length: {value: 1 m, description: "<i>x</i>"}
bodies: {rod: {mass: 1 kg, description: "&amp;"}}
joints: {hinge: {type: revolute, child: rod}}
outputs: {o: {energy: total, description: "<img src=x onerror=y>"}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", bundled())
def test_a_robot_prints_as_tables(name: str) -> None:
    spec = load(name)
    text, html = str(spec), spec._repr_html_()
    for word in (spec.name, *spec.outputs):
        assert word in text
        assert word in html
    assert "totals" in text
    assert all(len(line) <= 110 for line in text.splitlines())


def test_totals() -> None:
    totals = dict(overview(load("four_bar")).totals)
    assert totals["mass"] == "3 kg"
    assert totals["free coordinates"] == "3"
    assert totals["degrees of freedom"].startswith("1,")
    assert dict(overview(load("tumbling_body")).totals)["free coordinates"] == "6"


def test_mass_from_density() -> None:
    text = """\
pliant: 1
materials: {water: {density: 1000 kg/m^3}}
bodies:
  a: {shape: {type: box, size: [1, 2, 3]}, material: water}
  b: {shape: {type: tube, outer_radius: 2, inner_radius: 1, length: 1}, material: water}
  c: {shape: {type: sphere, radius: 1}, material: water}
  d: {shape: {type: cylinder, radius: 1, length: 1}, material: water}
joints: {ja: {type: free, child: a}, jb: {type: free, child: b}, jc: {type: free, child: c}, jd: {type: free, child: d}}
"""
    bodies = next(sheet for sheet in overview(load_text(text)).sheets if sheet.title == "bodies")
    assert [row[1] for row in bodies.rows] == ["6000 kg", "9425 kg", "4189 kg", "3142 kg"]


def test_long_chains_are_shortened() -> None:
    spec = load("spring_mass_chain", set={"count": 1000})
    text = str(spec)
    assert "mass[1000]" in text
    assert "mass[500]" not in text
    assert "... 997 more" in text
    assert "500 kg" in text


def test_nothing_in_a_model_becomes_markup() -> None:
    spec = load_text(NASTY)
    html = spec._repr_html_()
    for tag in ("<script", "<b>", "<i>", "<img"):
        assert tag not in html
    assert "&lt;script&gt;" in html
    text = str(spec)
    assert "[red]markup[/red]" in text
    assert "\x1b" not in text


FINE = """\
pliant: 1
sections: {round: {shape: circle, radius: 1 cm}}
materials: {gum: {density: 1000 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.5}}
rods:
  arm: {length: 20 cm, section: round, material: gum, model: {kind: MODEL}, shape: {type: arc, angle: 500 deg}}
"""


def test_rods_of_very_many_elements_are_not_built_for_a_table() -> None:
    totals = dict(overview(load_text(FINE.replace("MODEL", "cosserat, elements: 150000"))).totals)
    assert "rods of 150000 elements" in totals["mass and free coordinates"]


def test_what_is_found_wrong_in_building_is_said_in_place_of_totals() -> None:
    """An element of this kind cannot turn so far."""
    totals = dict(overview(load_text(FINE.replace("MODEL", "cosserat, elements: 2"))).totals)
    assert "turns by 250 deg between neighbouring sections" in totals["cannot be built"]
