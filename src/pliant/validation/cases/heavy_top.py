"""Heavy top that precesses at a constant inclination."""

from __future__ import annotations

import numpy as np

from pliant.solve.motion.simulate import simulate
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case

MASS, HEIGHT, ACROSS, ALONG, LEAN, SPIN = 0.5, 0.06, 8e-4, 5e-4, 0.5, 300.0


def rates() -> tuple[float, float]:
    """The slow and the fast precession [rad/s]: A cos(lean) p^2 - C w p + m g l = 0, with w the spin about the top's axis."""
    inertia = ACROSS + MASS * HEIGHT**2
    slow, fast = np.sort(np.roots([inertia * np.cos(LEAN), -ALONG * SPIN, MASS * 9.81 * HEIGHT]).real)
    return float(slow), float(fast)


def model(precession: float) -> str:
    """The top, inclined towards +x, with the angular velocity of a steady precession in its own axes."""
    rate = [float(-precession * np.sin(LEAN)), 0.0, SPIN]
    return f"""
pliant: 1
bodies:
  top: {{mass: {MASS} kg, center_of_mass: [0, 0, {HEIGHT} m], inertia: {{principal: [{ACROSS}, {ACROSS}, {ALONG} kg*m^2]}},
        frames: {{head: {{position: [0, 0, 10 cm]}}}}}}
joints: {{ball: {{type: spherical, child: top, orientation: {{initial: {{axis: y, angle: {LEAN}}}, rate: {rate}}}}}}}
outputs: {{head: {{frame: top.head, quantity: position}}}}
"""


@case(
    "Motion",
    compared="Rate of the slow and of the fast precession, and the lean after a second [rad/s, rad]",
    source="J.-L. Lagrange (1788); H. Goldstein, Classical Mechanics, 2nd ed. (1980), section 5-7: the "
    "quadratic equation of steady precession.",
    tolerance=1e-4,
)
def check() -> CaseResult:
    """The top starts in a steady precession, the slow and the fast one."""
    value, reference = [], []
    for rate in rates():
        run = simulate(derive(load_text(model(rate))), 1.0, save_every=1e-3)
        x, y, z = run["head"].values.T
        turned = np.unwrap(np.arctan2(y, x))
        value += [(turned[-1] - turned[0]) / 1.0, float(np.arccos(z[-1] / 0.1))]
        reference += [rate, LEAN]
    return CaseResult(value, reference)
