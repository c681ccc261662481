"""Free boxes that collide with friction and losses."""

from __future__ import annotations

import numpy as np

from pliant.equations.equations import Equations
from pliant.solve.motion.simulate import simulate
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case

SIZES = {"top": (0.3, (0.1, 0.06, 0.04)), "table": (2.0, (0.5, 0.4, 0.2))}
"""Mass [kg] and edges [m]."""
MODEL = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
bodies:
  top: {{mass: 0.3 kg, shape: {{type: box, size: [10 cm, 6 cm, 4 cm]}}}}
  table: {{mass: 2 kg, shape: {{type: box, size: [50 cm, 40 cm, 20 cm]}}}}
joints:
  a: {{type: free, child: top, x: {{rate: 0.7}}, z: {{initial: 17 cm, rate: -0.5}}, orientation: {{rate: [3, -2, 5]}}}}
  b: {{type: free, child: table, orientation: {{rate: [0.3, 0.1, -0.2], initial: {{axis: y, angle: 4 deg}}}}}}
contacts:
  touch: {{between: [top, table], stiffness: 2e4, {law}}}
"""
LAWS = ("friction: 0, dissipation: 0", "friction: 0.5", "friction: {along: 0.5, at_rest: 1.3}, exponent: 1.5")


def momenta(eqs: Equations, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Linear and angular momentum about the world's origin [kg m/s, kg m^2/s]."""
    total = np.zeros(6)
    for name, (mass, (x, y, z)) in SIZES.items():
        frame = eqs.frame(name, q, v)
        inertia = mass / 12 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y])
        assert frame.velocity is not None, "requested with v"
        spin = frame.rotation @ inertia @ frame.rotation.T @ frame.angular_velocity
        total += np.concatenate([mass * frame.velocity, spin + mass * np.cross(frame.position, frame.velocity)])
    return total


@case(
    "Conservation",
    compared="Momentum and angular momentum after the collision, and energy with what was dissipated over that at "
    "the start, with three laws of contact",
    source="Laws of conservation: I. Newton (1687), third law; H. Goldstein, Classical Mechanics, 2nd ed. (1980), "
    "section 1-2.",
    tolerance=2e-4,
    measure="absolute",
)
def check() -> CaseResult:
    """A small box hits a large one; a relative tolerance of 1e-7."""
    value, reference = [], []
    for law in LAWS:
        eqs = derive(load_text(MODEL.format(law=law)))
        run = simulate(eqs, 0.4, save_every=0.01, rtol=1e-7)
        if not abs(run.v[-1, 2] - run.v[0, 2]) > 0.2:
            raise RuntimeError("the boxes did not collide")
        energy = np.asarray(run.energy["total"]) + np.asarray(run.energy["dissipated"])
        value.append([*momenta(eqs, run.q[-1], run.v[-1]), energy[-1] / energy[0]])
        reference.append([*momenta(eqs, run.q[0], run.v[0]), 1.0])
    return CaseResult(np.array(value), np.array(reference))
