"""Frequencies of a chain of equal masses on springs."""

from __future__ import annotations

import numpy as np

from pliant.solve.linear.modal import modes
from pliant.spec.derive import derive
from pliant.spec.reader import load
from pliant.validation.case import CaseResult, Line, Plot, case

COUNT = 60


@case(
    "Vibration",
    compared="All frequencies of the bundled chain with sixty masses",
    source="J.-L. Lagrange (1759): 2 sqrt(k/m) sin((2 n - 1) pi/(4 N + 2)); L. Brillouin, Wave Propagation in "
    "Periodic Structures (1946), chapter I.",
    tolerance=1e-9,
    unit="Hz",
)
def check() -> CaseResult:
    """One end is fixed, the other is free."""
    found = np.sort(modes(derive(load("spring_mass_chain", set={"count": COUNT}))).frequencies)
    n = np.arange(1, COUNT + 1)
    exact = 2 * np.sqrt(100 / 0.5) * np.sin((2 * n - 1) * np.pi / (4 * COUNT + 2)) / (2 * np.pi)
    plot = Plot("mode", "frequency [Hz]", (Line("chain", n, found), Line("formula", n, exact, exact=True)))
    return CaseResult(found, exact, plot)
