"""Beams of a published finite-element program."""

from __future__ import annotations

import numpy as np

from pliant.solve.linear.modal import modes
from pliant.solve.statics.equilibrium import equilibrium
from pliant.spec.derive import derive
from pliant.spec.reader import load
from pliant.validation.case import CaseResult, case

FREQUENCIES = {"a": (186.5, 1177.6, 3337.8, 6659.7, 8656.8), "b": (51.1, 322.4, 913.3)}
"""Frequencies of two beams [Hz]."""
DEFLECTIONS = {0.0: 3.0807, 9.81: 3.0918}
"""Deflection of the tip of the first beam by gravity [mm]."""


@case(
    "Published systems",
    compared="Frequencies of two cantilevers of linear Timoshenko elements, and the deflection of the first without "
    "and with weight [Hz, mm]",
    source="PACOMA leg, doctoral thesis, chapter on the beam model, tables of the cantilevers A and B; printed to "
    "four or five digits.",
    tolerance=5e-4,
)
def check() -> CaseResult:
    """The bundled beams `timoshenko_cantilever@a` and `@b`, with the elements of that program."""
    value: list[float] = []
    for variant, published in FREQUENCIES.items():
        eqs = derive(load("timoshenko_cantilever", variant=variant))
        value += list(modes(eqs, count=len(published)).frequencies)
    eqs = derive(load("timoshenko_cantilever", variant="a"))
    for gravity in DEFLECTIONS:
        value.append(-1e3 * equilibrium(eqs, parameters={"gravity": gravity}).frames["beam.tip"].position[2])
    return CaseResult(value, np.concatenate([*FREQUENCIES.values(), list(DEFLECTIONS.values())]))
