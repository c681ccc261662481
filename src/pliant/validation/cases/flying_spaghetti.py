"""Free beam that is thrown by a force and a torque (flying spaghetti)."""

from __future__ import annotations

import numpy as np

from pliant.solve.motion.simulate import simulate
from pliant.spec.derive import derive
from pliant.spec.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, case
from pliant.validation.momentum import momentum

PULSE = "max(0, min(t/(2.5 s), 2 - t/(2.5 s)))"
MODEL = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
sections:
  spaghetti: {{shape: stiffness, stiffness: [1e4, 1e4, 1e4, 500, 500, 500], mass_per_length: 1, inertia_per_length: [10, 10, 10]}}
bodies: {{end: {{}}}}
joints:
  flight: {{type: free, child: end, x: {{initial: 6 m}}, orientation: {{initial: {{axis: y, angle: {-np.arctan2(0.6, 0.8)}}}}}}}
rods: {{beam: {{parent: end, length: 10 m, section: spaghetti, model: {{kind: finite_element, elements: 10}}}}}}
loads: {{throw: {{frame: end, force: ["=8 N*{PULSE}", 0, 0], moment: [0, "=80 N*m*{PULSE}", 0]}}}}
outputs: {{end: {{frame: end}}, tip: {{frame: beam.tip}}}}
"""


@case(
    "Published systems",
    compared="After the throw of 5 s: momentum over that of the force, 20 N s, angular momentum and energy over "
    "those at its end, at ten moments up to 13 s",
    source="J. C. Simo and L. Vu-Quoc, On the dynamics in space of rods undergoing large motions, Comput. Methods "
    "Appl. Mech. Eng. 66 (1988) 125-161, section 5 (the beam and its loads); momentum is the integral of the "
    "force, the rest is conserved.",
    tolerance=0.01,
    measure="absolute",
)
def check() -> CaseResult:
    """Ten finite elements, at the defaults."""
    eqs = derive(load_text(MODEL))
    run = simulate(eqs, 13.0, save_every=0.1)
    late = np.linspace(51, 130, 10).astype(int)
    moved = np.array([momentum(eqs, run.q[k], run.v[k]) for k in late])
    spin, energy = moved[:, 4], run.energy["total"].values[late]
    value = np.column_stack([moved[:, 0] / 20, moved[:, 2] / 20, spin / spin[0], energy / energy[0]])
    lines = [
        Line(
            f"at {t:g} s",
            [run[x].values[10 * t, 0] for x in ("end", "tip")],
            [run[x].values[10 * t, 2] for x in ("end", "tip")],
        )
        for t in (0, 5)
    ]
    path = Line("path of the end", run["end"].values[:, 0], run["end"].values[:, 2])
    return CaseResult(value, np.broadcast_to([1.0, 0.0, 1.0, 1.0], value.shape), Plot("x [m]", "z [m]", (path, *lines)))
