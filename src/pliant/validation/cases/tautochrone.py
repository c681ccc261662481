"""Mass on a cycloid, whose period does not depend on its amplitude."""

from __future__ import annotations

import numpy as np
import scipy

from pliant.solve.motion.simulate import simulate
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, case

RADIUS = 0.2
MODEL = f"""
pliant: 1
bodies: {{carriage: {{}}, wheel: {{mass: 1 kg, center_of_mass: [0, 0, -{RADIUS} m]}}}}
joints:
  roll: {{type: prismatic, axis: x, child: carriage, displacement: {{equal_to: {{coordinate: turn, ratio: {RADIUS} m}}}}}}
  turn: {{type: revolute, axis: [0, -1, 0], parent: carriage, child: wheel}}
"""
ANGLES = (0.3, 1.5, 2.9)


@case(
    "Motion",
    compared="Period of a mass on the rim of a massless wheel that rolls below a ceiling, from three starts",
    source="C. Huygens, Horologium Oscillatorium (1673), part II, proposition 25: 4 pi sqrt(r/g), whatever the "
    "amplitude.",
    tolerance=1e-5,
    unit="s",
)
def check() -> CaseResult:
    """The rim of the wheel traces the cycloid; its angle is 0 at the lowest point of the mass."""
    eqs, exact = derive(load_text(MODEL)), 4 * np.pi * np.sqrt(RADIUS / 9.81)
    value, lines = [], []
    for angle in ANGLES:
        run = simulate(eqs, 2.2 * exact, start={"turn": angle}, save_every=exact / 400)
        time, turn = np.asarray(run.time), np.asarray(run["turn"].values)
        passes = [x for x in scipy.interpolate.CubicSpline(time, turn).roots() if 0 < x < time[-1]]
        value.append(passes[2] - passes[0])
        lines.append(Line(f"from {angle:g} rad", time, 4 * RADIUS * np.sin(turn / 2)))
    return CaseResult(value, exact, Plot("time [s]", "way along the curve [m]", tuple(lines)))
