"""Slider-crank at constant speed."""

from __future__ import annotations

import numpy as np

from pliant.solve.motion.simulate import simulate
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, case

CRANK, ROD, SPEED, MASS = 0.1, 0.3, 20.0, 0.5
MODEL = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
bodies:
  crank: {{frames: {{pin: {{position: [{CRANK} m, 0, 0]}}}}}}
  rod: {{frames: {{end: {{position: [{ROD} m, 0, 0]}}}}}}
  slider: {{mass: {MASS} kg}}
joints:
  shaft: {{type: revolute, axis: z, child: crank, angle: {{motion: "={SPEED} rad/s*t"}}}}
  pin: {{type: revolute, axis: z, parent: crank.pin, child: rod}}
  rail: {{type: prismatic, axis: x, child: slider, displacement: {{initial: {CRANK + ROD} m}}}}
constraints: {{wrist: {{between: [slider, rod.end], components: [x, y]}}}}
outputs: {{torque: {{reaction: shaft, quantity: moment, component: z}}}}
"""


def exact(angle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position of the slider [m], and the torque at the crank [N m], which does work on the slider only."""
    lean = np.sqrt(ROD**2 - (CRANK * np.sin(angle)) ** 2)
    place = CRANK * np.cos(angle) + lean
    by_angle = -CRANK * np.sin(angle) - CRANK**2 * np.sin(angle) * np.cos(angle) / lean
    twice = (
        -CRANK * np.cos(angle)
        - CRANK**2 * np.cos(2 * angle) / lean
        - (CRANK**2 * np.sin(angle) * np.cos(angle)) ** 2 / lean**3
    )
    return place, MASS * SPEED**2 * twice * by_angle


@case(
    "Motion",
    compared="Place of the slider and torque at the crank over a turn, each over its largest [-]",
    source="J. J. Uicker, G. R. Pennock and J. E. Shigley, Theory of Machines and Mechanisms, 3rd ed. (2003), "
    "sections 2.9 and 16.2: x = r cos a + sqrt(l^2 - r^2 sin^2 a), torque by virtual work.",
    tolerance=1e-6,
    measure="absolute",
)
def check() -> CaseResult:
    """Crank and rod have no mass."""
    run = simulate(derive(load_text(MODEL)), 2 * np.pi / SPEED)
    angle = SPEED * np.asarray(run.time)
    place, torque = exact(angle)
    value = np.array([run["rail"].values / place.max(), run["torque"].values / torque.max()])
    lines = (Line("torque", angle, run["torque"].values), Line("virtual work", angle, torque, exact=True))
    return CaseResult(
        value, np.array([place / place.max(), torque / torque.max()]), Plot("angle [rad]", "torque [N m]", lines)
    )
