"""Shallow frame of two bars that snaps through (Williams' toggle)."""

from __future__ import annotations

import numpy as np
import scipy

from pliant.solve.statics.continuation import continuation
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, case

SPAN, RISE, EA, EI = 12.943, 0.386, 1.885e6, 9.274e3
"""Half span and rise [inch], stiffness of the bars [lb, lb inch^2]; the unit of length of the model is the inch."""
LEAN = float(np.pi / 2 - np.arctan2(RISE, SPAN))
"""Angle of the bar from the vertical [rad]."""
LENGTH = float(np.hypot(SPAN, RISE))
MODEL = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{down: 0 m}}
sections: {{bar: {{shape: stiffness, stiffness: [1e9, 1e9, {EA}, 1, {EI}, 1], mass_per_length: 1, inertia_per_length: [1, 1, 1]}}}}
rods:
  bar:
    rotation: {{axis: y, angle: {LEAN}}}
    length: {LENGTH} m
    section: bar
    strains: planar
    model: {{kind: finite_element, elements: 8}}
bodies: {{apex: {{frames: {{knot: {{rotation: {{axis: y, angle: {LEAN}}}}}}}}}}}
joints: {{rail: {{type: prismatic, axis: z, child: apex, displacement: {{motion: =-down}}, position: [{SPAN} m, 0, {RISE} m]}}}}
constraints: {{knot: {{between: [apex.knot, bar.tip], components: [x, z, ry]}}}}
outputs: {{carried: {{reaction: rail, component: z, expressed_in: world}}}}
"""
DOWN = np.linspace(0.05, 0.65, 13)


def exact() -> np.ndarray:
    """Load of the whole frame [lb] at deflections of the apex: a bar that bends and stretches, by a boundary-value problem."""
    slope_at_rest = np.arctan2(RISE, SPAN)

    def slopes(s: np.ndarray, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        along = p[0] * np.cos(y[2]) + p[1] * np.sin(y[2])
        across = -p[0] * np.sin(y[2]) + p[1] * np.cos(y[2])
        stretch = 1 + along / EA
        return np.vstack([stretch * np.cos(y[2]), stretch * np.sin(y[2]), y[3] / EI, -stretch * across])

    s = np.linspace(0, LENGTH, 31)
    y = np.vstack([s * np.cos(slope_at_rest), s * np.sin(slope_at_rest), np.full_like(s, slope_at_rest), 0 * s])
    p, loads = np.array([0.0, 0.0]), []
    for down in DOWN:

        def ends(a: np.ndarray, b: np.ndarray, p: np.ndarray, down: float = down) -> np.ndarray:
            held = [b[0] - SPAN, b[1] - RISE + down, b[2] - slope_at_rest]
            return np.array([a[0], a[1], a[2] - slope_at_rest, *held])

        found = scipy.integrate.solve_bvp(slopes, ends, s, y, p=p, tol=1e-8, max_nodes=20000)
        assert found.success
        s, y, p = found.x, found.y, found.p
        loads.append(-2 * p[1])
    return np.array(loads)


@case(
    "Stability",
    compared="Load of the frame at thirteen deflections of its apex, through the limit point and back up",
    source="F. W. Williams, An approach to the non-linear behaviour of the members of a rigid jointed plane "
    "framework with finite deflections, Quart. J. Mech. Appl. Math. 17 (1964) 451-469; the extensible "
    "elastica by SciPy.",
    tolerance=3e-3,
    measure="of the largest",
    unit="lb",
)
def check() -> CaseResult:
    """Half of the frame, with the deflection as parameter of the path."""
    path = continuation(derive(load_text(MODEL)), parameter="down", to=float(DOWN[-1]), max_step=0.02)
    value = np.interp(DOWN, path.value, -2 * path["carried"])
    reference = exact()
    lines = (Line("path", path.value, -2 * path["carried"]), Line("elastica", DOWN, reference, exact=True))
    return CaseResult(value, reference, Plot("deflection of the apex [inch]", "load [lb]", lines))
