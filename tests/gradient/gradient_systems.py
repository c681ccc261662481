"""Small robots, and gradients of their motions against central differences of fourth order."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

import pliant

METHODS = {
    "rosenbrock": pliant.Rosenbrock(step=4e-3),
    "generalized_alpha": pliant.GeneralizedAlpha(step=4e-3),
    "newmark": pliant.Newmark(step=4e-3),
    "semi_implicit": pliant.SemiImplicit(step=4e-3),
    "symplectic_euler": pliant.SymplecticEuler(step=2e-3),
    "explicit_runge_kutta": pliant.ExplicitRungeKutta(step=2e-3),
}

ROD = """
pliant: 1
parameters: {E: 400 kPa, length: 20 cm, radius: 9 mm, push: {value: 0.02 N, input: true}}
sections: {round: {shape: circle, radius: =radius}}
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: =E, poissons_ratio: 0.45}}
rods: {arm: {length: =length, section: round, material: rubber, damping: [1, 1, 3, 6e-5, 6e-5, 4e-5], model: MODEL}}
loads: {side: {frame: arm.tip, force: [=push, "=push/2", 0]}}
outputs:
  tip: {frame: arm.tip}
  speed: {frame: arm.tip, quantity: velocity}
"""

TEXTS = {
    "tree": """
pliant: 1
parameters: {mass: 1.5, arm: 0.4, torque: {value: 0.3 N*m, input: true}}
bodies:
  hull: {mass: =mass, inertia: {principal: [0.02, 0.05, 0.06]}, frames: {side: {position: [0, =arm, 0]}}}
  wing: {mass: 0.5, center_of_mass: [0.1, =arm/2, 0], inertia: {principal: [0.01, 0.02, 0.025]}}
  tail: {mass: 0.2, center_of_mass: [0.05, 0, -0.1], inertia: {principal: [0.001, 0.002, 0.0015]}}
joints:
  flight: {type: free, child: hull, x: {rate: 0.3}, orientation: {initial: {axis: x, angle: 10 deg}, rate: [0.5, 3, 0.4]}}
  socket: {type: spherical, parent: hull.side, child: wing, orientation: {rate: [1, 2, -1], spring: 2, damper: 0.05}}
  hinge: {type: revolute, parent: hull, child: tail, axis: [0, 0.6, 0.8], angle: {initial: 0.4, spring: 1, input: =torque}}
outputs:
  at: {frame: wing}
  turns: {frame: tail, quantity: angular_velocity}
  hinge: {coordinate: hinge, quantity: acceleration}
""",
    "loop": """
pliant: 1
world: {gravity: [0, -9.81, 0]}
parameters: {crank: 0.12, bar: 0.5, torque: {value: 0.2 N*m, input: true}}
bodies:
  bar1: {mass: 1, center_of_mass: [=crank/2, 0, 0], shape: {type: slender_rod, length: =crank},
         frames: {tip: {position: [=crank, 0, 0]}}}
  bar2: {mass: 1, center_of_mass: [=bar/2, 0, 0], shape: {type: slender_rod, length: =bar}, frames: {tip: {position: [=bar, 0, 0]}}}
  bar3: {mass: 1, center_of_mass: [0.095, 0, 0], shape: {type: slender_rod, length: 0.19}, frames: {tip: {position: [0.19, 0, 0]}}}
joints:
  j1: {type: revolute, child: bar1, axis: z, position: [0.15, 0, 0], angle: {initial: 0.4, input: =torque}}
  j2: {type: revolute, parent: bar1.tip, child: bar2, axis: z, angle: {initial: 1.7, damper: 0.01}}
  j3: {type: revolute, child: bar3, axis: z, position: [0, 0.4, 0], angle: {initial: 0.5}}
constraints:
  pin: {between: [bar2.tip, bar3.tip], components: [x, y], expressed_in: world}
outputs:
  end: {frame: bar3.tip}
  force: {constraint: pin}
""",
    "cart": """
pliant: 1
parameters: {length: 0.5, drive: {value: 0 m, input: true}}
bodies:
  cart: {mass: 1}
  bob: {mass: 0.4, center_of_mass: [0, 0, =-length], inertia: {principal: [0.01, 0.01, 0.001]},
        frames: {end: {position: [0, 0, =-length]}}}
joints:
  rail: {type: prismatic, child: cart, axis: x, displacement: {motion: =drive}}
  hinge: {type: revolute, parent: cart, child: bob, axis: y, angle: {initial: 0.3, damper: 0.02}}
outputs:
  end: {frame: bob.end}
""",
    "tendon": ROD.replace("MODEL", "{kind: pcs, elements: 2}").replace(
        "push:", "wound: {value: 2 mm, input: true}, push:"
    )
    + """
tendons:
  line: {type: elastic, through: [{rod: arm, radius: 6 mm, angle: 200 deg}], stiffness: 300 N/m, shortening: =wound,
         damper: 0.5 N*s/m, friction: 0.15, smoothing: 0.2 mm}
""",
    "mesh": """
pliant: 1
parameters: {stiffness: 50 N, push: {value: 0.4 N, input: true}}
meshes:
  net:
    type: membrane
    drawing: {rectangle: [0.2 m, 0.2 m], cells: [2, 2]}
    sets: {corners: {nearest: [[0, 0, 0], [0.2 m, 0, 0], [0, 0.2 m, 0], [0.2 m, 0.2 m, 0]]}, middle: {nearest: [[0.1 m, 0.1 m, 0]]}}
    held: {corners: world}
    mass: 0.12 kg
    stiffness: =stiffness
    tightness: 0.95
    direction: both
    damping_time: 20 ms
loads: {down: {frame: net.middle, force: ["=push/3", 0, =push]}}
outputs:
  at: {frame: net.middle}
""",
    "shell": """
pliant: 1
parameters: {E: 2 MPa, push: {value: 0.05 N, input: true}}
sections: {bar: {shape: rectangle, width: 1 cm, height: 4 mm}}
materials: {rubber: {density: 1000 kg/m^3, youngs_modulus: =E, poissons_ratio: 0.45}}
meshes:
  plate:
    type: shell
    drawing: {rectangle: [0.1 m, 0.1 m], cells: [1, 1]}
    sets: {foot: {plane: x}, end: {nearest: [[0.1 m, 0.1 m, 0]]}}
    held: {foot: world}
    section: bar
    material: rubber
    damping_time: 20 ms
loads: {down: {frame: plate.end, force: [0, "=push/3", =push]}}
outputs:
  at: {frame: plate.end}
""",
}


@cache
def equations(text: str) -> pliant.Equations:
    return pliant.derive(pliant.load_text(text))


def rod(model: str) -> str:
    return ROD.replace("MODEL", model)


def largest_error(f: Any, *, share: float = 1e-3, seed: int = 0, at: Mapping[str, Any] | None = None) -> float:
    """Largest relative error of a gradient by the arguments of f, each in a random direction, for random weights of all outputs."""
    rng = np.random.default_rng(seed)
    values, pullback = f.vjp(at)
    weights = {name: rng.standard_normal(np.shape(x)) for name, x in values.items()}
    gradient = pullback(weights)
    here = {**f.initial, **(at or {})}
    errors = []
    for name in f.by:
        x = here[name]
        direction = rng.standard_normal(np.shape(x))
        step = share * (np.max(np.abs(x)) or 1.0)

        def along(offset: int) -> float:
            moved = f({**here, name: x + offset * step * direction})  # noqa: B023
            return float(sum(np.sum(weights[n] * (moved[n] - values[n])) for n in weights))

        difference = (8 * (along(1) - along(-1)) - (along(2) - along(-2))) / (12 * step)
        assert difference != 0.0, f"nothing changes with {name}"
        errors.append(abs(float(np.sum(gradient[name] * direction)) / difference - 1))
    return max(errors)
