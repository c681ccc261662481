"""Double pendulum that flutters under a force along its second bar."""

from __future__ import annotations

import numpy as np

from pliant.solve.linear.modal import modes
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, case

MODEL = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {push: 0 N}
bodies:
  first: {mass: 2 kg, center_of_mass: [0, 0, 1 m], frames: {end: {position: [0, 0, 1 m]}}}
  second: {mass: 1 kg, center_of_mass: [0, 0, 1 m], frames: {end: {position: [0, 0, 1 m]}}}
defaults: {joints: {type: revolute, axis: y, angle: {spring: 1 N*m/rad}}}
joints: {lower: {child: first}, upper: {parent: first.end, child: second}}
loads: {end: {frame: second.end, force: [0, 0, =-push], expressed_in: second}}
"""


@case(
    "Stability",
    compared="Load P l/k at which two bars on springs, with masses 2 m and m at their ends, begin to flutter",
    source="H. Ziegler, Die Stabilitätskriterien der Elastomechanik, Ingenieur-Archiv 20 (1952) 49-56: 7/2 - sqrt(2).",
    tolerance=1e-5,
)
def check() -> CaseResult:
    """The critical load is found by bisection on whether a small motion grows."""
    eqs = derive(load_text(MODEL))
    low, high = 1.0, 3.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        stable = modes(eqs, at="initial", parameters={"push": middle}).stable
        low, high = (middle, high) if stable else (low, middle)
    return CaseResult((low + high) / 2, 7 / 2 - np.sqrt(2))
