"""Rope that slides over a cylinder."""

from __future__ import annotations

import numpy as np

from pliant.solve.motion.simulate import simulate
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case

MODEL = """
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
ROPES = (("cosserat", 40, "cylinder", 0.3, "strains: planar"), ("finite_element", 40, "capsule", 0.25, ""))
"""Kind and elements of the rope, the pin, the coefficient of friction, and other fields of the rope."""


@case(
    "Contact",
    compared="Tension over the weight that hangs on the other side, half a turn on, with coefficients 0.3 and 0.25",
    source="L. Euler (1769) and J. A. Eytelwein (1808): exp(mu pi); friction acts on the pin's surface, tension a "
    "rope's radius further out, which shortens the exponent by 40/40.5.",
    tolerance=8e-3,
    quick=False,
)
def check() -> CaseResult:
    """The rope is pulled up with increasing speed; the mean of the last tenth of a second is used."""
    value, reference = [], []
    for kind, elements, pin, friction, strains in ROPES:
        text = MODEL.format(kind=kind, elements=elements, pin=pin, friction=friction, strains=strains)
        run = simulate(derive(load_text(text)), 0.4, save_every=0.01)
        value.append(-run["tension"].values[-10:].mean())
        reference.append(np.exp(friction * np.pi * 40 / 40.5))
    return CaseResult(value, reference)
