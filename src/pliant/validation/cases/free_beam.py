"""Beam that flies, tumbles and vibrates freely."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.solve.motion.simulate import simulate
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, case
from pliant.validation.momentum import frames, momentum

MODEL = """
pliant: 1
world: {gravity: [0, 0, 0]}
sections: {strip: {shape: rectangle, width: 30 mm, height: 20 mm}}
materials: {rubber: {density: 1000, youngs_modulus: 1 MPa, poissons_ratio: 0.4}}
bodies: {end: {}}
joints: {flight: {type: free, child: end}}
rods: {arm: {parent: end, length: 0.4 m, section: strip, material: rubber, model: {kind: finite_element, elements: 4}}}
"""


@case(
    "Conservation",
    compared="Momentum, angular momentum and energy at 20 moments, each over its largest at the start",
    source="Laws of conservation of a free body: H. Goldstein, Classical Mechanics, 2nd ed. (1980), section 1-2.",
    tolerance=1e-6,
    measure="absolute",
)
def check() -> CaseResult:
    """A tumbling beam of finite elements that bends during the motion, with a relative tolerance of 1e-9."""
    eqs = derive(load_text(MODEL))
    start = eqs.initial_state()
    q, v = start.q, np.array(start.v)
    for (_, rate), s in zip(frames(eqs), np.linspace(-1, 1, 5), strict=True):
        v[rate : rate + 6] = [0.4 + s + 2 * s**2, 0.5 * s - s**2, 0.1 * s**2, 0.5, -2.5, 4.0]
    run = simulate(eqs, 0.2, start=replace(start, v=v), method="explicit", rtol=1e-9, save_every=0.01)
    energies = [eqs.energy(a, b) for a, b in zip(run.q, run.v, strict=True)]
    moved = np.array([momentum(eqs, a, b) for a, b in zip(run.q, run.v, strict=True)])
    before = momentum(eqs, q, v)
    total = np.array([x.total for x in energies]) / energies[0].total
    value = np.column_stack([moved[:, :3] / np.abs(before[:3]).max(), moved[:, 3:] / np.abs(before[3:]).max(), total])
    lines = (
        Line("kinetic", run.time, [x.kinetic for x in energies]),
        Line("elastic", run.time, [x.potential for x in energies]),
    )
    return CaseResult(value, np.broadcast_to(value[0], value.shape), Plot("time [s]", "energy [J]", lines))
