"""Ladder against a wall, with friction at both ends."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pliant.solve.motion.simulate import simulate
from pliant.solve.statics.equilibrium import equilibrium
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case

MODEL = """
pliant: 1
world: {{gravity: [0, -9.81, 0]}}
parameters: {{angle: {angle}}}
bodies:
  ladder: {{mass: 10 kg, shape: {{type: slender_rod, length: 4 m, axis: x}}}}
joints:
  pose:
    type: planar
    child: ladder
    x: {{initial: "=-2 m*cos(angle)"}}
    y: {{initial: "=2 m*sin(angle)"}}
    angle: {{initial: =angle}}
surfaces:
  floor: {{type: plane, normal: y}}
  wall: {{type: plane, normal: [-1, 0, 0]}}
  foot: {{type: sphere, parent: ladder, position: [-2 m, 0, 0], radius: 0}}
  head: {{type: sphere, parent: ladder, position: [2 m, 0, 0], radius: 0}}
contacts:
  ground: {{between: [foot, floor], friction: 0.4, stiffness: 10 MN/m}}
  side: {{between: [head, wall], friction: 0.3, stiffness: 10 MN/m}}
"""


def slides(tangent: float) -> bool:
    """Whether the ladder slides at an angle with this tangent, in a motion of three seconds."""
    eqs = derive(load_text(MODEL.format(angle=float(np.arctan(tangent)))))
    return bool(np.ptp(np.asarray(simulate(eqs, 3.0, save_every=0.5).q)[:, 2]) > 1e-3)


def has_no_rest(tangent: float) -> bool:
    """Whether no equilibrium is found near this angle."""
    angle = float(np.arctan(tangent))
    rest = equilibrium(derive(load_text(MODEL.format(angle=angle))), on_failure="return")
    return bool(rest.status != "converged" or abs(rest.q[2] - angle) > 1e-3)


def limit(falls: Callable[[float], bool]) -> float:
    """Tangent of the angle below which the ladder falls, by bisection."""
    low, high = 1.0, 1.2
    while high - low > 5e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if falls(middle) else (low, middle)
    return (low + high) / 2


@case(
    "Contact",
    compared="Tangent of the smallest angle to the floor at which the ladder stands, in motion and in equilibrium",
    source="(1 - mu_floor mu_wall)/(2 mu_floor): S. P. Timoshenko and D. H. Young, Engineering Mechanics (1940), "
    "section on friction.",
    tolerance=5e-3,
)
def check() -> CaseResult:
    """Coefficients of 0.4 at the floor and 0.3 at the wall."""
    return CaseResult([limit(slides), limit(has_no_rest)], (1 - 0.4 * 0.3) / (2 * 0.4))
