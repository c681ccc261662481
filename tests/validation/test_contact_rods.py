"""Contacts of rods against independent solutions: a rope over a cylinder, two crossed rods."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_bvp
from scipy.optimize import brentq

import pliant

SHEAR_FACTOR = 6 * (1 + 0.4) / (7 + 6 * 0.4)
"""Of a circle with Poisson's ratio 0.4."""
ROPE = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
sections: {{cord: {{shape: circle, radius: 0.5 mm}}}}
materials: {{nylon: {{density: 1100 kg/m^3, youngs_modulus: 200 MPa, poissons_ratio: 0.4}}}}
bodies:
  hand: {{mass: 1 g}}
joints:
  pull: {{type: prismatic, child: hand, axis: z, displacement: {{motion: "=-20 mm/s^2*t^2"}}}}
rods:
  rope:
    parent: hand
    position: [-40.5 mm, 0, -20 mm]
    length: =40 mm + 40.5 mm*pi
    section: cord
    material: nylon
    {strains}
    stress_free: false
    damping: [0.05, 0.05, 0.2, 1e-7, 1e-7, 1e-7]
    shape:
      type: poses
      poses:
        - {{at: 0}}
        - {{at: 20 mm, position: [0, 0, 20 mm]}}
        - {{at: =20 mm + 40.5 mm*pi/2, position: [40.5 mm, 0, 60.5 mm], rotation: {{axis: y, angle: 90 deg}}}}
        - {{at: =20 mm + 40.5 mm*pi, position: [81 mm, 0, 20 mm], rotation: {{axis: y, angle: 180 deg}}}}
        - {{at: =40 mm + 40.5 mm*pi, position: [81 mm, 0, 0], rotation: {{axis: y, angle: 180 deg}}}}
    model: {{kind: {kind}, elements: {elements}}}
surfaces:
  pin: {{type: {pin}, axis: y, radius: 40 mm, length: 40 mm}}
contacts:
  touch: {{between: [rope, pin], friction: {friction}}}
loads:
  weight: {{frame: rope.tip, force: [0, 0, "=-1 N*min(1, t/(20 ms))"]}}
outputs:
  tension: {{reaction: rope, component: z}}
"""


CROSSED = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
sections: {{cord: {{shape: circle, radius: 2 mm}}}}
materials: {{rubber: {{density: 1100 kg/m^3, youngs_modulus: 10 MPa, poissons_ratio: 0.4}}}}
defaults:
  rods:
    length: 20 cm
    section: cord
    material: rubber
    damping: [0.1, 0.1, 0.3, 1e-6, 1e-6, 1e-6]
    model: {{kind: {kind}, elements: {elements}}}
parameters:
  down: {{value: 20 mm, input: true}}
bodies:
  hand: {{mass: 10 g, frames: {{end: {{position: [0, 20 cm, 0], rotation: {{axis: x, angle: -90 deg}}}}}}}}
joints:
  press: {{type: prismatic, child: hand, axis: z, position: [0, -10 cm, 4 mm], displacement: {{motion: =-down}}}}
rods:
  lower: {{position: [-10 cm, 0, 0], rotation: {{axis: y, angle: 90 deg}}}}
  upper: {{parent: hand, rotation: {{axis: x, angle: -90 deg}}}}
constraints:
  lower_end: {{between: [world, lower.tip], components: all, holds: as at start}}
  upper_end: {{between: [hand.end, upper.tip], components: all}}
inputs:
  down: {{ramp: {{start: 0 s, end: 0.5 s, after: 20 mm}}}}
contacts:
  touch: {{between: [lower, upper], stiffness: 100 kN/m, friction: {friction}}}
outputs:
  push: {{contact: touch, component: z}}
"""


@pytest.mark.parametrize(
    ("kind", "elements", "pin", "friction", "options"),
    [
        ("cosserat", 40, "cylinder", 0.3, {}),
        ("finite_element", 40, "capsule", 0.25, {}),
        ("pcs", 24, "cylinder", 0.2, {"method": "generalized_alpha", "step": 1e-3}),
    ],
)
def test_a_rope_that_slides_over_a_cylinder(kind: str, elements: int, pin: str, friction: float, options: dict) -> None:
    """Half a turn: the tension in the hand is e^(friction * pi) times the weight (Euler, Eytelwein).

    Friction acts on the surface of the pin, and tension a rope's radius further out: the exponent is smaller by that much.
    """
    strains = "" if kind == "finite_element" else "strains: planar"
    text = ROPE.format(kind=kind, elements=elements, pin=pin, friction=friction, strains=strains)
    run = pliant.simulate(pliant.derive(pliant.load_text(text)), 0.4, save_every=0.01, **options)
    tension = -run["tension"].values[-10:].mean()
    assert tension == pytest.approx(np.exp(friction * np.pi), rel=0.02)
    assert tension == pytest.approx(np.exp(friction * np.pi * 40 / 40.5), rel=0.008)


def deflection(force: float) -> float:
    """Of the middle of a clamped rod under a force there [m]: half of the extensible, shearable elastica, by scipy."""
    length, radius, modulus = 0.1, 2e-3, 10e6
    area = np.pi * radius**2
    axial, bending = modulus * area, modulus * np.pi / 4 * radius**4
    shear = SHEAR_FACTOR * modulus / 2 / 1.4 * area

    def slope(_: np.ndarray, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        angle, pull = y[2], p[0]
        along = pull * np.cos(angle) + force / 2 * np.sin(angle)
        across = -pull * np.sin(angle) + force / 2 * np.cos(angle)
        stretch, sheared = 1 + along / axial, across / shear
        return np.array([
            stretch * np.cos(angle) - sheared * np.sin(angle), stretch * np.sin(angle) + sheared * np.cos(angle),
            y[3] / bending, sheared * along - stretch * across,
        ])  # fmt: skip

    def ends(a: np.ndarray, b: np.ndarray, _: np.ndarray) -> np.ndarray:
        return np.array([a[0], a[1], a[2], b[0] - length, b[2]])

    s = np.linspace(0, length, 41)
    guess = np.zeros((4, s.size))
    guess[0], guess[1] = s, 0.01 * (1 - np.cos(np.pi * s / length)) / 2
    found = solve_bvp(slope, ends, s, guess, p=[1.0], tol=1e-8, max_nodes=10000)
    assert found.success
    return float(found.y[1, -1])


@pytest.mark.parametrize(("kind", "elements", "friction"), [("cosserat", 60, 0.0), ("finite_element", 40, 0.3)])
def test_two_crossed_rods_pressed_together(kind: str, elements: int, friction: float) -> None:
    """Clamped at all ends, one pressed on the other by 20 mm: twice the deflection and the depth of contact make the way."""
    exact = brentq(lambda f: 2 * deflection(f) + f / 1e5 - 0.02, 0.05, 3.0, xtol=1e-6)
    eqs = pliant.derive(pliant.load_text(CROSSED.format(kind=kind, elements=elements, friction=friction)))
    run = pliant.simulate(eqs, 1.0, save_every=0.05)
    assert -run["push"].values[-1] == pytest.approx(exact, rel=5e-3)
    rest = pliant.equilibrium(eqs.at(inputs={"down": 0.02}), start=run)
    assert -rest.outputs["push"] == pytest.approx(exact, rel=5e-3)
