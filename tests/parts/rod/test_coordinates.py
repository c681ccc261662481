"""Coordinates of rods wherever coordinates of joints are used: tables, outputs, ties, initial values."""

import numpy as np
import pytest

from pliant import derive, equilibrium, load, load_text
from pliant.analysis.derivation.derive import rod_coordinates
from pliant.language.faults import SpecError
from pliant.robot.flattening import flatten
from pliant.robot.rod_switch import with_rod_model

ROD = """
pliant: 1
world: {gravity: [0, 0, 0]}
sections: {round: {shape: circle, radius: 10 mm}}
materials: {rubber: {density: 1000, youngs_modulus: 1 MPa, poissons_ratio: 0.4}}
bodies: {disk: {mass: 1 kg, shape: {type: sphere, radius: 5 cm}}}
joints: {hinge: {type: revolute, child: disk, axis: y, angle: {equal_to: {coordinate: "arm.bend_y[1]", ratio: 0.1 m}}}}
rods:
  arm: {parent: world, length: 0.3 m, section: round, material: rubber, model: {kind: pcs, elements: 3}, EXTRA}
outputs:
  bending: {coordinate: "arm.bend_y[1]"}
  rate: {coordinate: "arm.bend_y[3]", quantity: rate}
"""
START = "initial: {'bend_y[1]': 2 1/m, 'stretch[2]': 0.05}, rates: {'bend_y[3]': 0.4 1/(m*s)}"


def test_names_are_those_of_the_equations():
    for word in ("pcs:3", "cosserat:3", "pseudo_rigid:2", "polynomial:2", "finite_element:2"):
        spec = with_rod_model(load("cantilever"), "rod", word)
        names = [x for c in rod_coordinates(flatten(spec)) for x in ((f"{c.name}.qw",) if c.is_rotation else (c.name,))]
        found = derive(spec).coordinates
        assert names == [name for name in found if not name.endswith((".qx", ".qy", ".qz"))]


def test_tables_list_them():
    text = str(load("cantilever"))
    assert "rod.bend_x[1] ... rod.bend_x[20]" in text
    assert "free coordinates" in text
    assert "120" in text


def test_outputs_ties_and_initial_values():
    eqs = derive(load_text(ROD.replace("EXTRA", START)))
    q, v = eqs.initial_state()
    by_name = dict(zip(eqs.coordinates, q, strict=True))
    assert (by_name["arm.bend_y[1]"], by_name["arm.stretch[2]"]) == (2.0, 0.05)
    assert dict(zip(eqs.rates, v, strict=True))["arm.bend_y[3]"] == 0.4
    rest = equilibrium(eqs)
    assert rest.outputs["bending"] == pytest.approx(rest.coordinates["arm.bend_y[1]"], abs=1e-15)
    assert rest.outputs["bending"] == pytest.approx(0, abs=1e-9)
    assert rest.outputs["rate"] == 0


def test_the_tie_holds():
    text = ROD.replace("EXTRA", "description: tied")
    text += "loads: {bend: {frame: arm.tip, moment: [0, 2 mN*m, 0]}}\n"
    rest = equilibrium(derive(load_text(text)))
    assert rest.outputs["bending"] > 0.1
    assert rest.coordinates["hinge"] == pytest.approx(0.1 * rest.outputs["bending"], rel=1e-9)


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ("initial: {'bend_y[4]': 1}", "has no coordinate 'bend_y\\[4\\]'"),
        ("initial: {'bend_y[1]': 1 m}", "expected a curvature"),
        ("model: {kind: cosserat, elements: 3}, initial: {'section[1].orientation': 1}", "no coordinate 'arm.bend_y"),
    ],
)
def test_what_is_not_there_is_named(extra, message):
    text = ROD.replace(
        "model: {kind: pcs, elements: 3}, EXTRA",
        extra if "model" in extra else f"model: {{kind: pcs, elements: 3}}, {extra}",
    )
    with pytest.raises(SpecError, match=message):
        derive(load_text(text))


def test_rotations_have_no_single_value():
    text = load_text(
        ROD.split("bodies")[0]
        + """
rods:
  arm: {length: 0.3 m, section: round, material: rubber, model: {kind: cosserat, elements: 2}}
"""
    )
    assert np.all(np.isfinite(derive(text).initial_state().q))
    started = load_text(
        ROD.split("bodies")[0]
        + """
rods:
  arm:
    length: 0.3 m
    section: round
    material: rubber
    model: {kind: cosserat, elements: 2}
    initial: {'section[1].orientation': 1}
"""
    )
    with pytest.raises(SpecError, match="free rotation, which has no single value"):
        derive(started)
