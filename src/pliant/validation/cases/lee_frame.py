"""L-shaped frame on two hinges under a load on its beam, beyond the load at which it snaps (Lee's frame)."""

from __future__ import annotations

import numpy as np
import scipy

from pliant.solve.statics.continuation import continuation
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, case

LENGTH, LOADED, EA, EI = 120.0, 24.0, 7.2e6 * 6, 7.2e6 * 2
"""Length of column and beam, and distance of the load from the corner [cm]; stiffness [N, N cm^2]. The unit of length of the model
is the centimetre."""
MODEL = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{down: 0 m}}
sections:
  bar: {{shape: stiffness, stiffness: [1e10, 1e10, {EA}, 1, {EI}, 1], mass_per_length: 1, inertia_per_length: [1, 1, 1]}}
defaults: {{rods: {{section: bar, strains: planar}}}}
bodies: {{foot: {{}}, slider: {{}}}}
joints:
  hinge: {{type: revolute, axis: y, child: foot}}
  press: {{type: prismatic, axis: z, child: slider, position: [0, 0, {LENGTH} m], displacement: {{motion: =-down}}}}
rods:
  column: {{parent: foot, length: {LENGTH} m, model: {{kind: finite_element, elements: 10}}}}
  corner:
    parent: column.tip
    length: {LOADED} m
    rotation: {{axis: y, angle: 90 deg}}
    model: {{kind: finite_element, elements: 3}}
  beam: {{parent: corner.tip, length: {LENGTH - LOADED} m, model: {{kind: finite_element, elements: 8}}}}
constraints:
  support: {{between: [{{frame: world, position: [{LENGTH} m, 0, {LENGTH} m]}}, beam.tip], components: [x, z], expressed_in: world}}
  pressed: {{between: [slider, corner.tip], components: [z], expressed_in: world}}
outputs: {{load: {{constraint: pressed}}}}
"""
DOWN = np.linspace(8, 56, 7)
"""Deflections of the loaded point [cm]."""


def exact() -> np.ndarray:
    """Load [N] at these deflections: column and both parts of the beam bend and stretch, as one boundary-value problem."""
    lengths = (LENGTH, LOADED, LENGTH - LOADED)

    def slopes(s: np.ndarray, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Derivatives of x, y, angle and moment of each part with respect to its fraction; p: section force at the foot, and the
        load."""
        rows = []
        for k, length in enumerate(lengths):
            angle, moment = y[4 * k + 2], y[4 * k + 3]
            force = (p[0], p[1] + (p[2] if k == 2 else 0.0))
            along = force[0] * np.cos(angle) + force[1] * np.sin(angle)
            across = -force[0] * np.sin(angle) + force[1] * np.cos(angle)
            stretch = 1 + along / EA
            rows += [stretch * np.cos(angle), stretch * np.sin(angle), moment / EI, -stretch * across]
            rows[-4:] = [length * row for row in rows[-4:]]
        return np.vstack(rows)

    s = np.linspace(0, 1, 21)
    begins, angles = ((0.0, 0.0), (0.0, LENGTH), (LOADED, LENGTH)), (np.pi / 2, 0.0, 0.0)
    y = np.vstack(
        [
            row
            for (x0, y0), angle, length in zip(begins, angles, lengths, strict=True)
            for row in (
                x0 + length * s * np.cos(angle), y0 + length * s * np.sin(angle), np.full_like(s, angle), 0 * s,
            )
        ]
    )  # fmt: skip
    p, loads = np.zeros(3), []
    for down in DOWN:

        def ends(a: np.ndarray, b: np.ndarray, p: np.ndarray, down: float = down) -> np.ndarray:
            hinges = [a[0], a[1], a[3], b[8] - LENGTH, b[9] - LENGTH, b[11]]
            corner = [a[4] - b[0], a[5] - b[1], a[6] - b[2] + np.pi / 2, a[7] - b[3]]
            loaded = [a[8] - b[4], a[9] - b[5], a[10] - b[6], a[11] - b[7]]
            return np.array([*hinges, *corner, *loaded, b[5] - LENGTH + down])

        found = scipy.integrate.solve_bvp(slopes, ends, s, y, p=p, tol=1e-5, max_nodes=20000)
        assert found.success
        s, y, p = found.x, found.y, found.p
        loads.append(p[2])
    return np.array(loads)


@case(
    "Stability",
    compared="Load at seven deflections of the loaded point, beyond the limit load of 18.55 kN",
    source="S.-L. Lee, F. S. Manuel, E. C. Rossow, Large deflections and stability of elastic frames, J. Eng. Mech. Div. ASCE "
    "94 (1968) 521-548; the extensible elastica by SciPy.",
    tolerance=1e-3,
    measure="of the largest",
    unit="N",
)
def check() -> CaseResult:
    """Column and beam of finite elements, with the deflection as parameter of the path."""
    path = continuation(derive(load_text(MODEL)), parameter="down", to=float(DOWN[-1]))
    carried = -path["load"]
    value, reference = scipy.interpolate.CubicSpline(path.value, carried)(DOWN), exact()
    lines = (Line("path", path.value, carried), Line("elastica", DOWN, reference, exact=True))
    return CaseResult(value, reference, Plot("deflection [cm]", "load [N]", lines))
