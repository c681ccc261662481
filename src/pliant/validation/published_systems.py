"""Systems with published numbers."""

from __future__ import annotations

import numpy as np

from pliant.analysis.derivation.derive import derive
from pliant.analysis.equilibrium import equilibrium
from pliant.analysis.modes import modes
from pliant.analysis.simulate import simulate
from pliant.robot.reader import load, load_text
from pliant.validation.case import CaseResult, Line, Plot, cases_of
from pliant.validation.conservation import momentum
from pliant.validation.rods import ClampedRod, in_models, torsion

case = cases_of("Published systems")

RADIUS = 100.0
BATHE_BEND = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{push: 0 N}}
sections:
  square: {{shape: stiffness, stiffness: [5e6, 5e6, 1e7, {1e7 / 12}, {1e7 / 12}, {1e7 / 12}],
           mass_per_length: 1, inertia_per_length: [1, 1, 1]}}
rods:
  bend:
    rotation: {{axis: x, angle: -90 deg}}
    length: ={RADIUS} m*pi/4
    section: square
    shape: {{type: arc, radius: {RADIUS} m}}
    model: {{kind: finite_element, elements: 8}}
loads: {{tip: {{frame: bend.tip, force: [0, 0, =push]}}}}
"""
PUBLISHED = {300.0: (22.33, 58.84, 40.08), 450.0: (18.62, 52.32, 48.39), 600.0: (15.79, 47.23, 53.37)}
"""Position of the tip for each load: towards the centre of the arc, along the tangent of the base, and out of the plane."""


@case(tolerance=0.01, measure="of the largest")
def bathe_bend() -> CaseResult:
    """Curved cantilever that is bent out of its plane (45-degree bend).

    Eight finite elements along the true arc.
    Compared: Place of the tip under loads of 300, 450 and 600, of a quarter of a half circle of radius 100 (units as published).
    Source: K.-J. Bathe and S. Bolourchi, Large displacement analysis of three-dimensional beam structures, Int. J. Numerical
    Methods in Engineering 14 (1979) 961-986; numbers of J. C. Simo and L. Vu-Quoc, Comput. Methods Appl. Mech. Eng. 58 (1986)
    79-116, table. Published solutions differ by 1 %.
    """
    eqs = derive(load_text(BATHE_BEND))
    value = [equilibrium(eqs, parameters={"push": load}).frames["bend.tip"].position for load in PUBLISHED]
    lines = (
        Line("finite_element", list(PUBLISHED), [x[2] for x in value]),
        Line("published", list(PUBLISHED), [x[2] for x in PUBLISHED.values()], exact=True),
    )
    return CaseResult(np.array(value), np.array(list(PUBLISHED.values())), Plot("load", "out of plane", lines))


PULSE = "max(0, min(t/(2.5 s), 2 - t/(2.5 s)))"
FLYING_SPAGHETTI = f"""
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


@case(tolerance=0.01, measure="absolute")
def flying_spaghetti() -> CaseResult:
    """Free beam that is thrown by a force and a torque (flying spaghetti).

    Ten finite elements, at the defaults.
    Compared: After the throw of 5 s: momentum over that of the force, 20 N s, angular momentum and energy over those at its
    end, at ten moments up to 13 s.
    Source: J. C. Simo and L. Vu-Quoc, On the dynamics in space of rods undergoing large motions, Comput. Methods Appl. Mech.
    Eng. 66 (1988) 125-161, section 5 (the beam and its loads); momentum is the integral of the force, the rest is conserved.
    """
    eqs = derive(load_text(FLYING_SPAGHETTI))
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


LENGTH, WIDTH, HEIGHT, E, NU, WEIGHT = 0.508, 12.7e-3, 3.175e-3, 71.7e9, 0.31, 13.345
PRINCETON_BEAM = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{angle: 0 rad}}
sections: {{strip: {{shape: rectangle, width: {WIDTH}, height: {HEIGHT}}}}}
materials: {{aluminium: {{density: 2810, youngs_modulus: {E}, poissons_ratio: {NU}}}}}
rods: {{beam: {{length: {LENGTH} m, section: strip, material: aluminium}}}}
loads: {{tip: {{frame: beam.tip, force: ["={WEIGHT} N*cos(angle)", "={WEIGHT} N*sin(angle)", 0]}}}}
"""
ANGLES = np.radians([15.0, 45.0, 75.0])
PRINCETON_WORDS = ("finite_element:8", "cosserat:40")


def princeton_exact(angle: float) -> np.ndarray:
    """Position of the tip with the weight at an angle from the stiff direction [m]."""
    G, area = E / (2 * (1 + NU)), WIDTH * HEIGHT
    shear = 10 * (1 + NU) / (12 + 11 * NU) * G * area
    bending = (E * WIDTH * HEIGHT**3 / 12, E * HEIGHT * WIDTH**3 / 12, G * torsion(WIDTH, HEIGHT))
    force = (WEIGHT * np.cos(angle), WEIGHT * np.sin(angle), 0.0)
    return ClampedRod(LENGTH, (shear, shear, E * area), bending, (1.0, 0, 0, 0), force=force).position(LENGTH)


@case(tolerance=1e-3, measure="of the largest", unit="m")
def princeton_beam() -> CaseResult:
    """Strip that a weight bends in both planes and twists (Princeton beam).

    Bending in both planes twists the strip, an effect that linear theories do not contain.
    Compared: Place of the tip with a weight of 13.3 N at 15, 45 and 75 degrees from the strip's stiff direction, in two rod
    models.
    Source: E. H. Dowell, J. Traybar and D. H. Hodges, An experimental-theoretical correlation study of non-linear bending and
    torsion deformations of a cantilever beam, J. Sound and Vibration 50 (1977) 533-544 (set-up); the continuous rod by SciPy.
    """
    value = [
        [equilibrium(eqs, parameters={"angle": float(x)}).frames["beam.tip"].position for x in ANGLES]
        for _, eqs in in_models(load_text(PRINCETON_BEAM), "beam", PRINCETON_WORDS)
    ]
    reference = np.array([princeton_exact(float(x)) for x in ANGLES])
    lines = (
        Line("finite_element", np.degrees(ANGLES), [x[1] for x in value[0]]),
        Line("continuous rod", np.degrees(ANGLES), reference[:, 1], exact=True),
    )
    return CaseResult(np.array(value), reference, Plot("angle of the weight [deg]", "deflection across [m]", lines))


SQUEEZING_MECHANISM = """
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


@case(tolerance=1e-4, measure="absolute", unit="rad")
def squeezing_mechanism() -> CaseResult:
    """Andrews' squeezing mechanism of seven bodies and three loops.

    At the defaults.
    Compared: All seven angles after 0.03 s, in which the crank turns two and a half times.
    Source: E. Hairer and G. Wanner, Solving Ordinary Differential Equations II, 2nd ed. (1996), section VII.7; F. Mazzia and C.
    Magherini, Test Set for Initial Value Problem Solvers, release 2.4 (2008), Andrews' squeezing mechanism, reference solution
    at the end.
    """
    run = simulate(derive(load_text(SQUEEZING_MECHANISM)), 0.03)
    lines = [Line(name, 1e3 * np.asarray(run.time), run[name].values) for name in ("gamma", "phi", "delta")]
    ends = Line("reference at the end", [30.0] * 3, [REFERENCE[name] for name in ("gamma", "phi", "delta")], exact=True)
    plot = Plot("time [ms]", "angle [rad]", (*lines, ends))
    return CaseResult([run[name].values[-1] for name in REFERENCE], list(REFERENCE.values()), plot)


FREQUENCIES = {"a": (186.5, 1177.6, 3337.8, 6659.7, 8656.8), "b": (51.1, 322.4, 913.3)}
"""Frequencies of two beams [Hz]."""
DEFLECTIONS = {0.0: 3.0807, 9.81: 3.0918}
"""Deflection of the tip of the first beam by gravity [mm]."""


@case(tolerance=5e-4)
def timoshenko_table() -> CaseResult:
    """Beams of a published finite-element program.

    The bundled beams `timoshenko_cantilever@a` and `@b`, with the elements of that program.
    Compared: Frequencies of two cantilevers of linear Timoshenko elements, and the deflection of the first without and with
    weight [Hz, mm].
    Source: PACOMA leg, doctoral thesis, chapter on the beam model, tables of the cantilevers A and B; printed to four or five
    digits.
    """
    value: list[float] = []
    for variant, published in FREQUENCIES.items():
        eqs = derive(load("timoshenko_cantilever", variant=variant))
        value += list(modes(eqs, count=len(published)).frequencies)
    eqs = derive(load("timoshenko_cantilever", variant="a"))
    for gravity in DEFLECTIONS:
        value.append(-1e3 * equilibrium(eqs, parameters={"gravity": gravity}).frames["beam.tip"].position[2])
    return CaseResult(value, np.concatenate([*FREQUENCIES.values(), list(DEFLECTIONS.values())]))
