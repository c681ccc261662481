"""Bead that slides outward in a rotating tube."""

from __future__ import annotations

import numpy as np

from pliant.solve.motion.simulate import simulate
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case

MODEL = """
pliant: 1
world: {gravity: [0, 0, 0]}
bodies: {tube: {}, bead: {mass: 0.1 kg}}
joints:
  turn: {type: revolute, axis: z, child: tube, angle: {motion: "=5 rad/s*t"}}
  slide: {type: prismatic, axis: x, parent: tube, child: bead, displacement: {initial: 10 cm}}
outputs: {torque: {reaction: turn, quantity: moment, component: z}}
"""


@case(
    "Motion",
    compared="Place of the bead after 1 s, and the torque that turns the tube then [m, N m]",
    source="r0 cosh(w t), and the torque of Coriolis' force 2 m w r r': L. Meirovitch, Methods of Analytical "
    "Dynamics (1970), chapter 3.",
    tolerance=1e-5,
)
def check() -> CaseResult:
    """The tube rotates at a constant speed."""
    run = simulate(derive(load_text(MODEL)), 1.0)
    place, speed = 0.1 * np.cosh(5), 0.1 * 5 * np.sinh(5)
    return CaseResult([run["slide"].values[-1], run["torque"].values[-1]], [place, 2 * 0.1 * 5 * place * speed])
