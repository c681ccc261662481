"""Magnets in uniform fields, in those of coils, and of each other."""

from __future__ import annotations

import numpy as np
import scipy

from pliant.analysis.derivation.derive import derive
from pliant.analysis.equilibrium import equilibrium
from pliant.analysis.path import continuation
from pliant.engine.equations import Equations
from pliant.robot.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, cases_of
from pliant.validation.rods import in_models

case = cases_of("Magnets")

LENGTH, RADIUS, E, MAGNETIZATION = 0.02, 0.5e-3, 1e6, 1e5
UNIT = E * np.pi * RADIUS**4 / 4 / (MAGNETIZATION * np.pi * RADIUS**2 * LENGTH**2)
"""Flux density for which M A B L^2/EI is 1 [T]."""
MAGNETIC = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{across: 0 T, along: 0 T}}
sections: {{wire: {{shape: circle, radius: {RADIUS} m}}}}
materials: {{loaded_rubber: {{density: 2400 kg/m^3, youngs_modulus: {E}, poissons_ratio: 0.48}}}}
rods:
  beam: {{length: {LENGTH} m, section: wire, material: loaded_rubber, strains: bend_y, model: {{kind: gvs, order: 4, elements: 4}}}}
magnets:
  beam: {{type: rod, rod: beam, magnetization: [0, 0, {MAGNETIZATION}]}}
  field: {{type: uniform, flux_density: [=across, 0, =along]}}
"""
WORDS = ("finite_element:40", "cosserat:40")
FIELDS = (1.0, 2.0, 5.0)


def tip_angle(field: float) -> float:
    """Angle of the tip of the hard-magnetic elastica in a cross field, by shooting [deg]; field: M A B L^2/EI."""

    def miss(slope: float) -> float:
        run = scipy.integrate.solve_ivp(
            lambda s, y: [y[1], -field * np.cos(y[0])], (0, 1), [0.0, slope], rtol=1e-11, atol=1e-12
        )
        ends.append(float(run.y[0, -1]))
        return float(run.y[1, -1])

    ends: list[float] = []
    miss(scipy.optimize.brentq(miss, 0.0, 2 * field, xtol=1e-13))
    return float(np.degrees(ends[-1]))


@case(tolerance=1e-4, unit="deg")
def magnetic_cantilever() -> CaseResult:
    """Hard-magnetic cantilever in a field across it.

    It is magnetized along its axis. Models of absolute poses also shear and stretch, but hardly so here.
    Compared: Angle of the tip at M A B L^2/EI = 1, 2 and 5, in three rod models.
    Source: Hard-magnetic elastica, L. Wang, Y. Kim, C. F. Guo and X. Zhao, J. Mech. Phys. Solids 142 (2020) 104045: EI theta''
    = -M A B cos(theta), as a boundary-value problem by SciPy: 26.43352, 44.79097 and 69.63546 deg.
    """
    planar = load_text(MAGNETIC.replace("strains: bend_y", "strains: planar"))

    def angle(eqs: Equations, field: float) -> float:
        R = equilibrium(eqs, parameters={"across": field * UNIT}).frames["beam.tip"].rotation
        return float(np.degrees(np.arctan2(R[0, 2], R[2, 2])))

    models = [derive(load_text(MAGNETIC)), *(eqs for _, eqs in in_models(planar, "beam", WORDS))]
    value = np.array([[angle(eqs, field) for field in FIELDS] for eqs in models])
    exact = np.array([tip_angle(field) for field in FIELDS])
    plot = Plot(
        "M A B L^2/EI", "angle [deg]", (Line("gvs", FIELDS, value[0]), Line("exact", FIELDS, exact, exact=True))
    )
    return CaseResult(value, np.broadcast_to(exact, value.shape), plot)


@case(tolerance=1e-6)
def magnetic_buckling() -> CaseResult:
    """Buckling of a hard-magnetic cantilever in a field against its magnetization.

    A path of equilibria over the field, whose first bifurcation is located.
    Compared: M A B L^2/EI at which the straight rod is no longer stable.
    Source: EI theta'' + M A B theta = 0 with theta = 0 at the base and theta' = 0 at the tip: pi^2/4, as of L. Euler's column.
    """
    path = continuation(derive(load_text(MAGNETIC)), parameter="along", to=-3 * UNIT)
    return CaseResult(-path.special[0].value / UNIT, np.pi**2 / 4)


PAIR = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
defaults: {{bodies: {{mass: 1 kg, inertia: {{principal: [1, 1, 1]}}}}}}
bodies: {{first: {{}}, second: {{}}}}
joints:
  first: {{type: free, child: first}}
  second: {{type: free, child: second, x: {{initial: {x}}}, y: {{initial: {y}}}, z: {{initial: {z}}}}}
magnets:
  first: {first}
  second: {{type: dipole, frame: second, moment: {moment}}}
"""


def push(way: np.ndarray, moment: np.ndarray, first: str) -> np.ndarray:
    """Force on a dipole moment at `way` from the first magnet [N]: its acceleration, as it has 1 kg."""
    x, y, z = map(float, way)
    text = PAIR.format(x=x, y=y, z=z, moment=[float(m) for m in moment], first=first)
    eqs = derive(load_text(text))
    start = eqs.initial_state()
    accelerations = dict(zip(eqs.rates, np.asarray(eqs.forward_dynamics(start.q, start.v)[0]), strict=True))
    return np.array([accelerations[f"second.{axis}"] for axis in "xyz"])


def dipole_force(way: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Force between two dipoles [N] (Yung, Landecker and Villani 1998)."""
    r = np.linalg.norm(way)
    n = way / r
    a, b = first @ n, second @ n
    return np.asarray(3e-7 / r**4 * (a * second + b * first + (first @ second) * n - 5 * a * b * n))


@case(tolerance=1e-9, measure="of the largest", unit="N")
def dipoles() -> CaseResult:
    """Forces between two dipoles, and of a coil on a dipole on its axis.

    Moments of 20 A m^2 at distances of 10 cm.
    Compared: Force on a dipole in line with another one, beside it, anywhere, and on the axis of a coil.
    Source: K. W. Yung, P. B. Landecker and D. D. Villani, Magnetic and Electrical Separation 9 (1998) 39-52; J. D. Jackson,
    Classical Electrodynamics, 3rd ed. (1999), section 5.5: B = mu_0 I a^2/(2 (a^2 + z^2)^1.5) on the axis.
    """
    first = np.array([0.0, 0.0, 20.0])
    pairs = [
        (np.array([0, 0, 0.1]), np.array([0.0, 0.0, 15.0])),
        (np.array([0.1, 0, 0]), np.array([0.0, 0.0, 15.0])),
        (np.array([0.05, -0.07, 0.06]), np.array([4.0, -9.0, 7.0])),
    ]
    source = f"{{type: dipole, frame: first, moment: {first.tolist()}}}"
    value = [push(way, moment, source) for way, moment in pairs]
    exact = [dipole_force(way, first, moment) for way, moment in pairs]
    turns, a, z = 500, 0.05, 0.03
    coil = f"{{type: coil, frame: first, radius: {a}, turns: {turns}, current: 3 A}}"
    value.append(push(np.array([0, 0, z]), pairs[0][1], coil))
    slope = -3 * 4e-7 * np.pi * turns * 3 * a**2 * z / (2 * (a**2 + z**2) ** 2.5)
    exact.append(np.array([0, 0, 15.0 * slope]))
    return CaseResult(np.array(value), np.array(exact))
