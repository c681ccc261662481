"""A rope hangs over a peg with a weight at one end, while the other end is let out.

While the rope slips, the holding force is smaller than the weight by the factor e^(friction * angle) (Euler, Eytelwein).
"""

import numpy as np

import pliant

FRICTION, WEIGHT = 0.3, 2.0
"""Coefficient of friction between rope and peg, and the weight [N]."""
ROPE = f"""
pliant: 1
name: rope_over_peg
world: {{gravity: [0, 0, 0]}}
sections: {{cord: {{shape: circle, radius: 0.5 mm}}}}
materials: {{nylon: {{density: 1100 kg/m^3, youngs_modulus: 200 MPa, poissons_ratio: 0.4}}}}
bodies:
  hand: {{mass: 1 g}}
joints:
  give: {{type: prismatic, child: hand, axis: z, displacement: {{motion: "=20 mm/s^2*t^2"}}}}
rods:
  rope:
    parent: hand
    position: [-40.5 mm, 0, -20 mm]
    length: =40 mm + 40.5 mm*pi
    section: cord
    material: nylon
    strains: planar
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
    model: {{kind: cosserat, elements: 40}}
surfaces:
  peg: {{type: cylinder, axis: y, radius: 40 mm, length: 40 mm}}
contacts:
  touch: {{between: [rope, peg], friction: {FRICTION}}}
loads:
  weight: {{frame: rope.tip, force: [0, 0, "=-{WEIGHT} N*min(1, t/(20 ms))"]}}
outputs:
  held: {{reaction: rope, component: z}}
"""


def main() -> float:
    """Ratio of the weight to the holding force while the rope slips."""
    run = pliant.simulate(pliant.derive(pliant.load_text(ROPE)), 0.4, save_every=0.01)
    held = -run["held"].values
    ratio = WEIGHT / float(held[-10:].mean())
    exact = float(np.exp(FRICTION * np.pi))
    print(f"the hand holds {held[-1]:.3f} N of {WEIGHT:g} N: {ratio:.3f} times less; e^(friction * pi) is {exact:.3f}")
    assert abs(ratio / exact - 1) < 0.02
    return ratio


if __name__ == "__main__":
    main()
