"""Beam on a rotating hub, stiffened by centrifugal forces."""

from __future__ import annotations

import numpy as np

from pliant.solve.linear.modal import modes
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, case

MODEL = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {speed: 0 rad/s}
sections: {unit: {shape: stiffness, stiffness: [1, 1, 1, 1, 1, 1], mass_per_length: 1}}
bodies: {hub: {}}
joints: {shaft: {type: revolute, axis: z, child: hub, angle: {motion: "=speed*t"}}}
rods:
  blade:
    parent: hub
    rotation: {axis: y, angle: 90 deg}
    length: 1 m
    section: unit
    strains: bend_y
    model: {kind: pcs, elements: 40}
"""
PUBLISHED = {
    0.0: (3.5160, 22.0345, 61.6972),
    1.0: (3.6817, 22.1810, 61.8418),
    2.0: (4.1373, 22.6149, 62.2732),
    4.0: (5.5850, 24.2733, 63.9668),
    6.0: (7.3604, 26.8091, 66.6839),
    8.0: (9.2568, 29.9954, 70.2930),
    10.0: (11.2023, 33.6404, 74.6493),
}
"""Flapping frequencies by speed, both in sqrt(EI/m)/L^2, of a uniform beam clamped on the axis of rotation."""


@case(
    "Vibration",
    compared="Three lowest frequencies of flapping at seven speeds of rotation up to 10 [sqrt(EI/m)/L^2]",
    source="A. D. Wright, C. E. Smith, R. W. Thresher and J. L. C. Wang, Vibration modes of centrifugally stiffened "
    "beams, J. Applied Mechanics 49 (1982) 197-202, table 1, uniform beam without hub.",
    tolerance=5e-3,
    unit="rad/s",
)
def check() -> CaseResult:
    """Small motions about the steady rotation; the blade has only flapping degrees of freedom."""
    eqs = derive(load_text(MODEL))
    value = []
    for speed in PUBLISHED:
        found = np.abs(modes(eqs, at="initial", parameters={"speed": speed}).eigenvalues.imag)
        value.append(np.sort(found)[:3])
    speeds = list(PUBLISHED)
    lines = [Line(f"mode {k + 1}", speeds, [row[k] for row in value]) for k in range(2)]
    marks = [Line("published", speeds * 2, [PUBLISHED[x][k] for k in range(2) for x in speeds], exact=True)]
    return CaseResult(
        np.array(value), np.array(list(PUBLISHED.values())), Plot("speed [-]", "frequency [-]", (*lines, *marks))
    )
