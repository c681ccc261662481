"""Mass and centre of mass of a robot, against its mass matrix."""

import numpy as np
import pytest

from pliant import derive, load, load_text
from pliant.engine.model.model import build_tree
from pliant.robot import flatten
from pliant.show.tables import mass_budget, overview

FLOATING = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {length: 40 cm}
sections:
  thick: {shape: circle, radius: 12 mm}
  thin: {shape: circle, radius: 5 mm}
materials:
  rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}
bodies:
  base: {mass: 0.2 kg, center_of_mass: [1 cm, 2 cm, 0], shape: {type: box, size: [5 cm, 5 cm, 2 cm]}}
  tool: {mass: 30 g, shape: {type: sphere, radius: 1 cm}}
joints:
  float: {type: free, child: base, position: [0.1, 0.2, 0.3]}
  mount: {type: weld, parent: arm.tip, child: tool}
rods:
  arm:
    parent: base
    position: [0, 0, 1 cm]
    length: =length
    section: [thick, thin]
    material: rubber
    shape: {type: arc, angle: 200 deg}
    model: {kind: pcs, elements: 40, mass_points: 3}
"""


def budget(spec):
    return mass_budget(build_tree(flatten(spec)))


@pytest.mark.parametrize("initial", ["{}", "{'bend_x[3]': 4, 'stretch[5]': 0.2}"])
def test_mass_and_centre_are_those_of_the_mass_matrix(initial):
    """Rows of a free base's velocities: m and -m [c]x about its origin, whose axes are the world's here."""
    spec = load_text(FLOATING + f"    initial: {initial}\n")
    eqs = derive(spec)
    q, _ = eqs.initial_state()
    M = eqs.mass_matrix(q).toarray()
    found = budget(spec)
    assert M[0, 0] == pytest.approx(found.total, rel=1e-12)
    cross = M[:3, 3:6] / found.total  # -[c]x
    center = np.array([cross[1, 2], cross[2, 0], cross[0, 1]]) + [0.1, 0.2, 0.3]
    np.testing.assert_allclose(found.center, center, atol=1e-12)
    assert found.bodies == pytest.approx(0.23)
    assert found.rods == pytest.approx(1100 * np.pi * 0.4 * (0.012**2 + 0.005**2) / 2)


def test_a_finer_model_of_the_rod_has_the_same_centre():
    """The centre of a rod is that of its shape, not of its model; a model of many segments comes to it."""
    from pliant.robot.rod_switch import with_rod_model

    spec = load_text(FLOATING)
    assert np.array_equal(budget(spec).center, budget(with_rod_model(spec, "arm", "finite_element:3")).center)


def test_everything_is_in_the_totals():
    for name in ("net", "cloth", "stiff_flop", "trunk", "double_pendulum"):
        spec = load(name)
        eqs = derive(spec)
        totals = dict(overview(spec).totals)
        assert totals["free coordinates"] == str(len(eqs.rates))
        assert float(totals["mass"].partition(" ")[0]) > 0
    assert totals["mass"] == "0.5 kg"
    totals = dict(overview(load("net")).totals)
    assert totals["mass"] == "0.312 kg (0.312 kg in meshes)"
    assert totals["center of mass at the start"] == "[0.5, 0.5, 0] m"


def test_a_mesh_weighs_what_its_nodes_weigh():
    spec = load_text("""
pliant: 1
bodies: {rail: {mass: 1 kg}}
joints: {x: {type: prismatic, child: rail, axis: x}}
meshes:
  net:
    type: membrane
    drawing: {rectangle: [20 cm, 10 cm], cells: [4, 2]}
    node_mass: 2 g
    stiffness: 10 N
    parent: rail
    held: {ends: rail}
""")
    found = budget(spec)
    assert found.meshes == pytest.approx(15 * 2e-3)
    np.testing.assert_allclose(found.center, [0.03 * 0.1 / 1.03, 0.03 * 0.05 / 1.03, 0], atol=1e-12)


def test_clamped_rods_that_start_elsewhere_have_no_known_centre():
    text = FLOATING.replace("pcs, elements: 40, mass_points: 3", "cosserat, elements: 4")
    spec = load_text(text.replace("parent: base", "parent: world") + "    initial: {'section[2].x': 0.1}\n")
    assert budget(spec).center is None
    assert "center of mass at the start" not in dict(overview(spec).totals)


@pytest.mark.parametrize("kind", ["membrane", "shell"])
@pytest.mark.parametrize("mass", ["", "node_mass: 1 g"])
def test_nodes_of_a_mesh_have_masses_of_their_own(kind, mass):
    spec = load_text(f"""
pliant: 1
sections: {{strip: {{shape: rectangle, width: 2 cm, height: 1 mm}}}}
materials: {{felt: {{density: 300 kg/m^3, youngs_modulus: 2 MPa, poissons_ratio: 0.3}}}}
bodies: {{rail: {{mass: 1 g}}}}
joints: {{x: {{type: free, child: rail}}}}
meshes:
  net:
    type: {kind}
    drawing: {{rectangle: [20 cm, 10 cm], cells: [2, 1]}}
    parent: rail
    sets: {{hem: {{plane: y}}, tip: {{nodes: 6}}}}
    held: {{all: rail}}
    section: strip
    material: felt
    nodes: {{hem: {{mass: 3 g}}, tip: {{mass: 7 g}}}}
    {mass}
""")
    eqs = derive(spec)
    M = eqs.mass_matrix(eqs.initial_state()[0]).toarray()
    found = budget(spec)
    assert found.total == pytest.approx(M[0, 0], rel=1e-12)
    assert found.meshes == pytest.approx(3 * 3e-3 + 7e-3 + (2e-3 if mass else 6e-3 * (0.1 + 0.15)), rel=1e-9)
    cross = M[:3, 3:6] / found.total
    np.testing.assert_allclose(found.center, [cross[1, 2], cross[2, 0], cross[0, 1]], atol=1e-12)
