"""A soft finger is pressed on the edge of a table and drawn along it: it sticks, bends back, and slides when friction is
exceeded."""

import numpy as np

import pliant

FRICTION, PRESS, SPEED = 0.4, 6e-3, 20e-3
"""Coefficient of friction, depth to which the finger is pressed down [m], and its speed [m/s]."""
FINGER = f"""
pliant: 1
name: finger_along_edge
parameters:
  down: {{value: 0 m, input: true}}
  along: {{value: 0 m, input: true}}
sections: {{finger: {{shape: circle, radius: 6 mm}}}}
materials: {{silicone: {{density: 1070 kg/m^3, youngs_modulus: 500 kPa, poissons_ratio: 0.49}}}}
bodies:
  carriage: {{mass: 50 g}}
  hand: {{mass: 50 g}}
joints:
  draw: {{type: prismatic, child: carriage, axis: y, displacement: {{motion: =along}}}}
  press: {{type: prismatic, parent: carriage, child: hand, axis: z, position: [0, 0, 8 mm], displacement: {{motion: =-down}}}}
rods:
  finger:
    parent: hand
    rotation: {{axis: y, angle: 90 deg}}
    length: 80 mm
    section: finger
    material: silicone
    strains: kirchhoff
    damping: [0, 0, 0, 1e-5, 1e-5, 1e-5]
    model: {{kind: pcs, elements: 8}}
surfaces:
  table: {{type: box, size: [40 mm, 400 mm, 40 mm], position: [75 mm, 0, -20 mm], rounding: 0.5 mm}}
contacts:
  edge: {{between: [finger, table], friction: {FRICTION}}}
inputs:
  down: "={PRESS} m*(1 - cos(pi*min(1, t/(0.5 s))))/2"
  along: "={SPEED} m/s*max(0, t - 0.6 s)"
outputs:
  pressing: {{contact: edge, quantity: normal_force}}
  drag: {{contact: edge, component: y}}
  sliding: {{contact: edge, quantity: sliding_speed}}
"""


def main() -> float:
    """Drag over normal force while the finger slides."""
    run = pliant.simulate(pliant.derive(pliant.load_text(FINGER)), 3.0, save_every=0.02)
    time, drag, pressing = np.asarray(run.time), -run["drag"].values, run["pressing"].values
    drawn = time > 0.6
    share = drag[drawn] / pressing[drawn]
    slides = run["sliding"].values[drawn] > 0.5 * SPEED
    begins = time[drawn][slides][0]
    print(
        f"pressed with {pressing[-1]:.3f} N; sticks for {begins - 0.6:.2f} s, then slides at {share[-1]:.4f} of the normal force"
    )
    assert 0.1 < begins - 0.6 < 2.0
    assert share.max() < 1.002 * FRICTION
    assert abs(share[-1] / FRICTION - 1) < 2e-3
    return float(share[-1])


if __name__ == "__main__":
    main()
