"""Shallow truss of two bars that snaps through."""

from __future__ import annotations

import numpy as np
import scipy

from pliant.solve.statics.continuation import continuation
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, case

HALF, RISE, STIFFNESS = 1.0, 0.3, 1000.0
MODEL = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{push: 0 N}}
bodies: {{apex: {{mass: 1 kg}}}}
joints: {{rail: {{type: prismatic, child: apex, axis: z, position: [0, 0, {RISE} m]}}}}
links:
  left: {{type: axial, between: [{{frame: world, position: [-{HALF} m, 0, 0]}}, apex], spring: {STIFFNESS} N/m}}
  right: {{type: axial, between: [{{frame: world, position: [{HALF} m, 0, 0]}}, apex], spring: {STIFFNESS} N/m}}
loads: {{top: {{frame: apex, force: [0, 0, =-push]}}}}
"""


def force(down: np.ndarray) -> np.ndarray:
    """Force on the apex at a downward displacement `down` [N]."""
    rest, length = np.hypot(HALF, RISE), np.hypot(HALF, RISE - down)
    return np.asarray(2 * STIFFNESS * (rest - length) * (RISE - down) / length)


@case(
    "Stability",
    compared="The two limit loads of the path",
    source="R. von Mises, Über die Stabilitätsprobleme der Elastizitätstheorie, ZAMM 3 (1923) 406-422; extremes of "
    "its formula by SciPy.",
    tolerance=1e-6,
    unit="N",
)
def check() -> CaseResult:
    """The path continues through both limit points, where the load reverses."""
    found = scipy.optimize.minimize_scalar(
        lambda x: -force(x), bounds=(0, RISE), method="bounded", options={"xatol": 1e-12}
    )
    limit = -found.fun
    path = continuation(derive(load_text(MODEL)), parameter="push", to=1.5 * limit)
    down = np.linspace(0, 2 * RISE, 50)
    lines = (Line("path", -path.q[:, 0], path.value), Line("formula", down, force(down), exact=True))
    value = [point.value for point in path.special if point.kind == "limit"]
    return CaseResult(value, [limit, -limit], Plot("sinks by [m]", "force [N]", lines))
