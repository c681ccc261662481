"""Sections of rods: polygons against closed forms and each other, tables, given properties, values along the rod."""

import numpy as np
import pytest

from pliant import derive, equilibrium, load_text
from pliant.parts.section import Annulus, Circle, ExplicitProperties, ExplicitStiffness, Holes, Polygon, Rectangle
from pliant.parts.section.base import MaterialValues
from pliant.robot.rod_switch import with_rod_model

RUBBER = MaterialValues(2e5, 7e4, 1000.0)
KINDS = ["pcs:8", "gvs:1", "cosserat:8", "pseudo_rigid:8", "polynomial:4", "finite_element:4"]


def value(x):
    return float(x)


def numbers(section):
    return np.array(section.properties(value, RUBBER).entries(), dtype=float)


def polygon(*points, **more):
    return Polygon(vertices=tuple((float(x), float(y)) for x, y in points), **more)


def test_a_polygon_with_four_right_angles_is_a_rectangle():
    shifted = polygon((0.05, 0.02), (0.08, 0.02), (0.08, 0.03), (0.05, 0.03))
    plain = numbers(Rectangle(width=0.03, height=0.01))
    # stretch, bends, inertia are exact; shear and twist are solved numerically
    assert numbers(shifted) == pytest.approx(plain, rel=1e-3, abs=1e-12)
    exact = [2, 3, 4, 8, 9, 10, 11]
    assert numbers(shifted)[exact] == pytest.approx(plain[exact], rel=1e-12)
    clockwise = polygon(*[(float(x), float(y)) for x, y in shifted.vertices][::-1])
    assert numbers(clockwise) == pytest.approx(numbers(shifted), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("ratio", [1, 3, 8, 20])
def test_torsion_of_strips(ratio):
    n = np.arange(1, 60, 2)
    expected = ratio * (1 / 3 - 64 / (np.pi**5 * ratio) * np.sum(np.tanh(n * np.pi * ratio / 2) / n**5))
    strip = polygon((0, 0), (ratio, 0), (ratio, 1), (0, 1))
    assert strip.torsion(value) == pytest.approx(expected, rel=5e-3 if ratio > 8 else 1e-3)


def test_torsion_of_a_triangle_and_of_an_ellipse():
    triangle = polygon((0, 0), (1, 0), (0.5, np.sqrt(3) / 2))
    assert triangle.torsion(value) == pytest.approx(np.sqrt(3) / 80, rel=1e-3)
    a, b = 2.0, 1.0
    turns = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    ellipse = polygon(*zip(a * np.cos(turns), b * np.sin(turns), strict=True))
    assert ellipse.torsion(value) == pytest.approx(np.pi * a**3 * b**3 / (a**2 + b**2), rel=2e-3)


def test_a_fine_polygon_with_a_hole_is_a_ring():
    turns = np.linspace(0, 2 * np.pi, 160, endpoint=False)
    size = np.sqrt((2 * np.pi / 160) / np.sin(2 * np.pi / 160))  # a polygon of the circle's area
    points = list(zip(size * np.cos(turns), size * np.sin(turns), strict=True))
    assert numbers(polygon(*points)) == pytest.approx(numbers(Circle(radius=1.0)), rel=1e-3, abs=1e-6)
    ring = polygon(*points, holes=(Holes(radius=0.5, positions=((0.0, 0.0),)),))
    assert numbers(ring) == pytest.approx(numbers(Annulus(outer_radius=1.0, inner_radius=0.5)), rel=2e-3, abs=1e-5)


def test_turning_a_polygon_turns_its_stiffness():
    b, h, angle = 0.03, 0.01, 0.4
    c, s = np.cos(angle), np.sin(angle)
    R = np.array([[c, -s], [s, c]])
    corners = np.array([(-b / 2, -h / 2), (b / 2, -h / 2), (b / 2, h / 2), (-b / 2, h / 2)]) @ R.T
    plain, turned = numbers(Rectangle(width=b, height=h)), numbers(polygon(*corners))

    def pair(x, at, coupling):
        return np.array([[x[at], x[coupling]], [x[coupling], x[at + 1]]])

    for at, coupling, rel in ((0, 6, 1e-3), (3, 7, 1e-9)):
        assert pair(turned, at, coupling) == pytest.approx(
            R @ pair(plain, at, coupling) @ R.T, rel=rel, abs=rel * plain[at]
        )
    assert turned[5] == pytest.approx(plain[5], rel=1e-3)


SKEW = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {fx: 0 N, fy: 0 N, mx: 0 N*m}
sections:
  skew: {shape: polygon, vertices: [[0, 0], [40 mm, 10 mm], [36 mm, 26 mm], [-4 mm, 16 mm]]}
  plain: {shape: rectangle, width: 41.231056256 mm, height: 16.492422502 mm}
materials: {rubber: {density: 1000, youngs_modulus: 1 MPa, poissons_ratio: 0.4}}
rods: {arm: {length: 0.4 m, section: SECTION, material: rubber, rotation: {axis: z, angle: ANGLE}}}
loads: {tip: {frame: arm.tip, force: [=fx, =fy, 0], moment: [=mx, 0, 0]}}
"""


@pytest.mark.parametrize("word", KINDS)
def test_skew_bending_is_that_of_the_turned_rectangle(word):
    """A rectangle drawn askew as a polygon bends as the same rectangle on a rod that is turned about its axis."""
    forces = {"fx": 0.2, "fy": 0.1, "mx": 0.05}
    tips = []
    for section, angle in (("skew", "0"), ("plain", "14.036243468 deg")):
        text = SKEW.replace("SECTION", section).replace("ANGLE", angle)
        found = equilibrium(derive(with_rod_model(load_text(text), "arm", word)), parameters=forces)
        assert found.status == "converged"
        tips.append(found.frames["arm.tip"].position)
    assert np.linalg.norm(tips[0][:2]) > 0.02
    # pseudo_rigid turns about x before y, so the two differ by its error of first order
    assert tips[0] == pytest.approx(tips[1], abs=5e-3 if "pseudo_rigid" in word else 2e-5)


ALONG = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {pull: 0 N, twist: 0 N*m}
sections:
  thick: {shape: circle, radius: 15 mm}
  thin: {shape: circle, radius: 10 mm}
  stepped:
    shape: table
    stations: [{at: 0, section: thick}, {at: 0.1 m, section: thick}, {at: 0.1 m, section: thin}, {at: 0.3 m, section: thin}]
  given:
    shape: stiffness
    stiffness: [50 N, 50 N, 100 N, 0.01 N*m^2, 0.02 N*m^2, 0.03 N*m^2]
    mass_per_length: 0.5 kg/m
    inertia_per_length: [1e-5 kg*m, 1e-5 kg*m, 2e-5 kg*m]
materials:
  soft: {density: 1000, youngs_modulus: 200 kPa, poissons_ratio: 0.4}
  hard: {density: 1500, youngs_modulus: 600 kPa, poissons_ratio: 0.4}
rods: {arm: {length: 0.3 m, SETTINGS}}
loads: {tip: {frame: arm.tip, force: [0, 0, =pull], moment: [0, 0, =twist]}}
"""


def along(word, settings):
    return derive(with_rod_model(load_text(ALONG.replace("SETTINGS", settings)), "arm", word))


@pytest.mark.parametrize("word", ["pcs:3", "cosserat:3", "pseudo_rigid:3", "finite_element:3"])
def test_a_table_with_a_step(word):
    found = equilibrium(along(word, "section: stepped, material: soft"), parameters={"pull": 1.0})
    thick, thin = (200e3 * np.pi * r**2 for r in (0.015, 0.010))
    assert found.frames["arm.tip"].position[2] - 0.3 == pytest.approx(0.1 / thick + 0.2 / thin, rel=1e-9)


@pytest.mark.parametrize("word", ["pcs:16", "polynomial:4"])
def test_a_material_that_changes_along_the_rod(word):
    eqs = along(word, "section: thick, material: [soft, hard]")
    found = equilibrium(eqs, parameters={"pull": 1.0})
    soft, hard = (E * np.pi * 0.015**2 for E in (200e3, 600e3))
    expected = 0.3 * np.log(hard / soft) / (hard - soft)
    assert found.frames["arm.tip"].position[2] - 0.3 == pytest.approx(expected, rel=5e-3)


@pytest.mark.parametrize("word", ["pcs:3", "cosserat:3", "pseudo_rigid:3", "polynomial:2", "finite_element:3"])
def test_a_section_by_its_stiffness_needs_no_material(word):
    eqs = along(word, "section: given")
    found = equilibrium(eqs, parameters={"pull": 5.0, "twist": 0.02})
    frame = found.frames["arm.tip"]
    assert frame.position[2] == pytest.approx(0.3 * (1 + 5.0 / 100), rel=1e-9)
    assert np.arctan2(frame.rotation[1, 0], frame.rotation[0, 0]) == pytest.approx(0.02 * 0.3 / 0.03, rel=1e-3)


def test_given_properties_are_those_of_the_shape_they_come_from():
    r = 0.015
    area, moment = np.pi * r**2, np.pi * r**4 / 4
    nu = RUBBER.poissons_ratio
    k = 6 * (1 + nu) / (7 + 6 * nu)
    given = ExplicitProperties(
        area=area, second_moments=(moment, moment), torsion_constant=2 * moment, shear_factors=(k, k)
    )
    assert numbers(given) == pytest.approx(numbers(Circle(radius=r)), rel=1e-12)
    direct = ExplicitStiffness(
        stiffness=tuple(numbers(given)[:6]), mass_per_length=1000 * area, inertia_per_length=tuple(numbers(given)[9:12])
    )
    assert numbers(direct) == pytest.approx(numbers(given), rel=1e-12)


def test_damping_may_change_along_the_rod():
    eqs = along("pcs:2", "section: thick, material: soft, damping: [[0, 0, 1, 0, 0, 0], [0, 0, 3, 0, 0, 0]]")
    q, v = eqs.initial_state()
    rate = np.zeros(len(v))
    rate[[2, 8]] = 1e-3
    # a quarter and three quarters along: 1.5 and 2.5 N s, each on half the length
    force = eqs.bias(q, rate) - eqs.bias(q, v)
    assert [force[2], force[8]] == pytest.approx([0.15 * 1.5e-3, 0.15 * 2.5e-3], rel=1e-2)
    same = [along("pcs:2", f"section: thick, material: soft, damping: {d}") for d in ("2", "[2, 2, 2, 2, 2, 2]")]
    assert same[0].bias(q, rate) == pytest.approx(same[1].bias(q, rate), abs=1e-15)
