"""Chain of masses on springs, released at its end."""

from __future__ import annotations

import numpy as np

from pliant.solve.motion.simulate import simulate
from pliant.spec.derive import derive
from pliant.spec.reader import load
from pliant.validation.case import CaseResult, Line, Plot, case

COUNT = 60


@case(
    "Motion",
    compared="Displacements of all sixty masses at 200 moments of 60 s, in which waves go to and fro ten times",
    source="J.-L. Lagrange (1759): the sum of all modes; L. Brillouin, Wave Propagation in Periodic Structures "
    "(1946), chapter I. Eigenvectors by NumPy.",
    tolerance=1e-3,
    measure="absolute",
)
def check() -> CaseResult:
    """Relative to the initial displacement of the last mass; all modes are excited."""
    eqs = derive(load("spring_mass_chain", set={"count": COUNT}))
    run = simulate(eqs, 60.0)
    stiffness = 100.0 * (2 * np.eye(COUNT) - np.eye(COUNT, k=1) - np.eye(COUNT, k=-1))
    stiffness[-1, -1] = 100.0
    squares, shapes = np.linalg.eigh(stiffness / 0.5)
    start = np.cumsum(eqs.initial_state().q)  # displacements are relative to the previous mass
    time = np.asarray(run.time)
    exact = (np.cos(np.sqrt(squares) * time[:, None]) * (shapes.T @ start)) @ shapes.T / 0.02
    value = np.cumsum(run.q, axis=1) / 0.02
    late = time > 50
    lines = (Line("last mass", time[late], value[late, -1]), Line("modes", time[late], exact[late, -1], exact=True))
    return CaseResult(value, exact, Plot("time [s]", "displacement [-]", lines))
