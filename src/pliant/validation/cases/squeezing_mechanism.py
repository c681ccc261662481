"""Andrews' squeezing mechanism of seven bodies and three loops."""

from __future__ import annotations

import numpy as np

from pliant.solve.motion.simulate import simulate
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, case

MODEL = """
pliant: 1
world: {gravity: [0, 0, 0]}
defaults: {joints: {type: revolute, axis: z}}
bodies:
  k1: {mass: 0.04325, center_of_mass: [0.00092, 0, 0], inertia: {principal: [2.194e-6, 2.194e-6, 2.194e-6]},
       frames: {f: {position: [0.007, 0, 0]}}}
  k2: {mass: 0.00365, center_of_mass: [-0.0115, 0, 0], inertia: {principal: [4.41e-7, 4.41e-7, 4.41e-7]},
       frames: {knot: {position: [-0.028, 0, 0]}}}
  k3: {mass: 0.02373, center_of_mass: [0.01043, -0.01874, 0], inertia: {principal: [5.255e-6, 5.255e-6, 5.255e-6]},
       frames: {knot: {position: [0, -0.035, 0]}, d: {position: [0.02, -0.018, 0]}}}
  k4: {mass: 0.00706, center_of_mass: [0, -0.00579, 0], inertia: {principal: [5.667e-7, 5.667e-7, 5.667e-7]},
       frames: {knot: {position: [0, -0.02, 0]}}}
  k5: {mass: 0.0705, center_of_mass: [0.02308, 0.00916, 0], inertia: {principal: [1.169e-5, 1.169e-5, 1.169e-5]},
       frames: {g: {position: [0.04, 0, 0]}}}
  k6: {mass: 0.00706, center_of_mass: [0.00579, 0, 0], inertia: {principal: [5.667e-7, 5.667e-7, 5.667e-7]},
       frames: {knot: {position: [0.02, 0, 0]}}}
  k7: {mass: 0.05498, center_of_mass: [-0.00449, -0.01228, 0], inertia: {principal: [1.912e-5, 1.912e-5, 1.912e-5]},
       frames: {h: {position: [0, -0.04, 0]}}}
joints:
  beta: {child: k1, angle: {initial: -0.0617138900142764, input: 0.033 N*m}}
  theta: {parent: k1.f, child: k2}
  gamma: {child: k3, position: [-0.03635, 0.03273, 0], angle: {initial: 0.455279819163070}}
  delta: {child: k5, position: [-0.06934, -0.00227, 0], angle: {initial: 0.487364979543843}}
  phi: {parent: k5.g, child: k4, angle: {initial: 0.222668390165886}}
  epsilon: {child: k7, position: [-0.06934, -0.00227, 0], angle: {initial: 1.23054744454982}}
  omega: {parent: k7.h, child: k6, angle: {initial: -0.222668390165886}}
links:
  spring: {type: axial, between: [k3.d, {frame: world, position: [0.014, 0.072, 0]}],
           spring: {coefficient: 4530 N/m, rest: 0.07785 m}}
constraints:
  knot3: {between: [k2.knot, k3.knot], components: [x, y], expressed_in: world}
  knot4: {between: [k2.knot, k4.knot], components: [x, y], expressed_in: world}
  knot6: {between: [k2.knot, k6.knot], components: [x, y], expressed_in: world}
"""
REFERENCE = {
    "beta": 15.81077119629904,
    "theta": -15.75637105984298,
    "gamma": 0.04082224013073101,
    "phi": -0.5347301163226948,
    "delta": 0.5244099658805304,
    "omega": 0.5347301163226948,
    "epsilon": 1.048080741042263,
}
"""Angles at 0.03 s [rad]."""


@case(
    "Published systems",
    compared="All seven angles after 0.03 s, in which the crank turns two and a half times",
    source="E. Hairer and G. Wanner, Solving Ordinary Differential Equations II, 2nd ed. (1996), section VII.7; F. "
    "Mazzia and C. Magherini, Test Set for Initial Value Problem Solvers, release 2.4 (2008), Andrews' "
    "squeezing mechanism, reference solution at the end.",
    tolerance=1e-4,
    measure="absolute",
    unit="rad",
)
def check() -> CaseResult:
    """At the defaults."""
    run = simulate(derive(load_text(MODEL)), 0.03)
    lines = [Line(name, 1e3 * np.asarray(run.time), run[name].values) for name in ("gamma", "phi", "delta")]
    ends = Line("reference at the end", [30.0] * 3, [REFERENCE[name] for name in ("gamma", "phi", "delta")], exact=True)
    plot = Plot("time [ms]", "angle [rad]", (*lines, ends))
    return CaseResult([run[name].values[-1] for name in REFERENCE], list(REFERENCE.values()), plot)
