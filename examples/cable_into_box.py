"""A cable falls into a box and comes to rest on itself: the floor carries its weight, and no energy comes from the contacts."""

import numpy as np

import pliant

CABLE = """
pliant: 1
name: cable_into_box
sections: {cable: {shape: circle, radius: 3 mm}}
materials: {rubber: {density: 1200 kg/m^3, youngs_modulus: 2 MPa, poissons_ratio: 0.45}}
bodies:
  end: {mass: 1 g, shape: {type: sphere, radius: 3 mm}}
joints:
  flight: {type: free, child: end, x: {initial: -20 mm}, y: {initial: 5 mm}, z: {initial: 60 mm}}
rods:
  cable:
    parent: end
    length: 40 cm
    section: cable
    material: rubber
    shape: {type: helix, radius: 22 mm, turns: 2.7}
    stress_free: true
    damping: [0.05, 0.05, 0.3, 2e-6, 2e-6, 2e-6]
    model: {kind: cosserat, elements: 40}
surfaces:
  floor: {type: plane}
  left: {type: plane, normal: x, position: [-60 mm, 0, 0]}
  right: {type: plane, normal: [-1, 0, 0], position: [60 mm, 0, 0]}
  front: {type: plane, normal: y, position: [0, -60 mm, 0]}
  back: {type: plane, normal: [0, -1, 0], position: [0, 60 mm, 0]}
contacts:
  walls: {between: [cable, [floor, left, right, front, back]], friction: 0.4}
  itself: {between: cable, friction: 0.4}
outputs:
  carried: {contact: walls, component: z}
  own: {contact: itself, quantity: count}
"""


def main() -> float:
    """Force on the floor over the weight of the cable, at rest."""
    run = pliant.simulate(pliant.derive(pliant.load_text(CABLE)), 2.0, save_every=0.02)
    weight = (0.001 + 1200 * np.pi * 0.003**2 * 0.4) * 9.81
    energy = run.energy
    balance = (energy["total"] + energy["dissipated"]).values
    share = float(run["carried"].values[-1]) / weight
    print(
        f"the floor carries {share:.4f} of the weight; {int(run['own'].values[-1])} places where the cable touches itself"
    )
    assert abs(share - 1) < 0.01
    assert run["own"].values[-1] >= 1
    assert np.max(balance - balance[0]) < 0.01 * (energy["total"].values[0] - energy["total"].values[-1])
    return share


if __name__ == "__main__":
    main()
