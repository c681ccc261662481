"""Mass, weight and distributed loads of rods with steps and kinks are exact in every model."""

import numpy as np
import pytest

from pliant import derive, equilibrium, load_text
from pliant.parts.rod.stations import divide
from pliant.robot.rod_switch import with_rod_model

KINDS = ["pcs:3", "gvs:2", "cosserat:4", "finite_element:3", "pseudo_rigid:4", "polynomial:3", "pcc:3", "timoshenko:3"]
ROD = """
pliant: 1
world: {gravity: GRAVITY}
sections:
  a: {shape: circle, radius: 4 mm}
  c: {shape: circle, radius: 1 mm}
  stepped: {shape: table, stations: [{at: 0, section: a}, {at: 0.13, section: a}, {at: 0.13, section: c}, {at: 0.3, section: c}]}
materials: {m: {density: 1100, youngs_modulus: 10 GPa, poissons_ratio: 0.45}}
rods: {b: {rotation: {axis: y, angle: 180 deg}, length: 0.3, section: SECTION, material: m}}
LOADS
outputs:
  R: {reaction: b, expressed_in: world, component: z}
  X: {reaction: b, expressed_in: world, component: x}
  M: {reaction: b, quantity: moment, expressed_in: world, component: y}
"""
AREAS = np.pi * 16e-6, np.pi * 1e-6


def found(word, section, gravity="[0, 0, -9.81]", loads=""):
    text = ROD.replace("SECTION", section).replace("GRAVITY", gravity).replace("LOADS", loads)
    model = derive(with_rod_model(load_text(text), "b", word))
    return equilibrium(model).outputs


@pytest.mark.parametrize("word", KINDS)
def test_weight_of_a_stepped_rod(word):
    exact = 1100 * 9.81 * (0.13 * AREAS[0] + 0.17 * AREAS[1])
    assert abs(float(found(word, "stepped")["R"])) == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("word", KINDS)
def test_weight_of_a_taper_with_a_kink(word):
    exact = 1100 * 9.81 * 0.3 * (AREAS[0] + AREAS[1]) / 2
    assert abs(float(found(word, "[c, a, c]")["R"])) == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("word", [word for word in KINDS if word != "pcc:3"])
def test_total_of_a_load_with_a_profile(word):
    loads = "loads: {D: {type: distributed, rod: b, force: [1 mN/m, 0, 0], profile: [0, 1, 0, 1, 0, 1, 0]}}"
    out = found(word, "a", "[0, 0, 0]", loads)
    assert abs(float(out["X"])) == pytest.approx(1.5e-4, rel=1e-8)
    assert abs(float(out["M"])) == pytest.approx(2.25e-5, rel=1e-5)


def test_elements_end_at_steps():
    assert divide([], 4) == [0, 0.25, 0.5, 0.75, 1]
    assert divide([0.4], 3) == pytest.approx([0, 0.4, 0.7, 1])
    assert divide([0.1, 0.2], 2) == [0, 0.5, 1]
