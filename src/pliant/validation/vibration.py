"""Frequencies of beams, bars, chains, shafts and strings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy

from pliant.analysis.derivation.derive import derive
from pliant.analysis.modes import modes
from pliant.robot.reader import load, load_text
from pliant.validation.case import CaseResult, Line, Plot, cases_of
from pliant.validation.rods import BENDING, LINE_MASS, SLENDER, cantilevers, in_models

case = cases_of("Vibration")

BAR_FREQUENCIES = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
sections: {{round: {{shape: circle, radius: 1 cm}}}}
materials: {{steel: {{density: 7800, youngs_modulus: 200 GPa, poissons_ratio: 0.3}}}}
rods: {{bar: {{length: 0.5 m, section: round, material: steel, strains: {strain}, model: {{kind: {kind}}}}}}}
"""
BAR_KINDS = ("pcs, elements: 24", "gvs, order: 4")


@case(tolerance=2e-3, unit="Hz")
def bar_frequencies() -> CaseResult:
    """Frequencies of stretching and of twisting of a clamped bar.

    The rod has only the strain under test.
    Compared: Two lowest frequencies of stretching and of twisting, in two rod models.
    Source: (2 n - 1) c/(4 L) with c = sqrt(E/rho) and sqrt(G/rho): R. D. Blevins, Formulas for Natural Frequency and Mode Shape
    (1979), tables 8-16 and 8-19, clamped and free.
    """
    value = [
        [
            modes(derive(load_text(BAR_FREQUENCIES.format(strain=strain, kind=kind))), count=2).frequencies
            for kind in BAR_KINDS
        ]
        for strain in ("stretch", "twist")
    ]
    speeds = np.sqrt(np.array([200e9, 200e9 / 2.6]) / 7800)
    return CaseResult(np.array(value), (speeds[:, None] * np.array([1, 3]) / (4 * 0.5))[:, None, :])


BEAM_WORDS = ("pcs:30", "cosserat:30", "finite_element:8", "pseudo_rigid:30", "timoshenko:8")


@case(tolerance=5e-3, unit="Hz")
def beam_frequencies() -> CaseResult:
    """Bending frequencies of a slender clamped beam.

    Shear and stretch are negligible; rotary inertia of the sections lowers the third frequency by a thousandth.
    Compared: Three lowest frequencies in both planes, in five rod models.
    Source: L. Euler (1744) and D. Bernoulli (1751): cos b cosh b = -1, w = b^2 sqrt(EI/(m L^4)); R. D. Blevins, Formulas for
    Natural Frequency and Mode Shape (1979), table 8-1, case 3. Roots by SciPy.
    """
    b = np.array([_beam_root(x) for x in (1.9, 4.7, 7.9)])
    exact = np.repeat(b**2 * np.sqrt(BENDING / LINE_MASS) / (2 * np.pi), 2)
    return CaseResult(
        np.array([modes(x, parameters=SLENDER, count=6).frequencies for _, x in cantilevers(BEAM_WORDS)]), exact
    )


def _beam_root(near: float) -> float:
    return float(scipy.optimize.brentq(lambda x: np.cos(x) + 1 / np.cosh(x), near - 0.1, near + 0.1))


COUNT = 60


@case(tolerance=1e-9, unit="Hz")
def chain_frequencies() -> CaseResult:
    """Frequencies of a chain of equal masses on springs.

    One end is fixed, the other is free.
    Compared: All frequencies of the bundled chain with sixty masses.
    Source: J.-L. Lagrange (1759): 2 sqrt(k/m) sin((2 n - 1) pi/(4 N + 2)); L. Brillouin, Wave Propagation in Periodic
    Structures (1946), chapter I.
    """
    found = np.sort(modes(derive(load("spring_mass_chain", set={"count": COUNT}))).frequencies)
    n = np.arange(1, COUNT + 1)
    exact = 2 * np.sqrt(100 / 0.5) * np.sin((2 * n - 1) * np.pi / (4 * COUNT + 2)) / (2 * np.pi)
    plot = Plot("mode", "frequency [Hz]", (Line("chain", n, found), Line("formula", n, exact, exact=True)))
    return CaseResult(found, exact, plot)


COMPOUND_PENDULUM = """
pliant: 1
sections: {round: {shape: circle, radius: 1 cm}}
materials: {steel: {density: 1000, youngs_modulus: 20 GPa, poissons_ratio: 0.3}}
bodies: {hub: {mass: 0.2 kg, center_of_mass: [0, 0, -5 cm], frames: {below: {position: [0, 0, -10 cm]}}}}
joints: {hinge: {type: revolute, child: hub, axis: y}}
rods: {arm: {parent: hub.below, rotation: [{axis: x, angle: 180 deg}], length: 60 cm, section: round, material: steel}}
"""
COMPOUND_WORDS = ("pcs:4", "cosserat:4", "finite_element:4", "pseudo_rigid:4", "polynomial:2", "timoshenko:4", "gvs:1")


@case(tolerance=1e-4, unit="Hz")
def compound_pendulum() -> CaseResult:
    """Stiff rod on a hinged body, which swings as a compound pendulum.

    The rod is stiff enough to move as a rigid body.
    Compared: Lowest frequency about the equilibrium, in seven rod models.
    Source: C. Huygens, Horologium Oscillatorium (1673), part IV: w^2 = m g s/J about the hinge.
    """
    mass, near, length, radius = 1000 * np.pi * 0.01**2 * 0.6, 0.1, 0.6, 0.01
    center = near + length / 2
    inertia = mass * (center**2 + length**2 / 12 + radius**2 / 4) + 0.2 * 0.05**2
    exact = np.sqrt(9.81 * (mass * center + 0.2 * 0.05) / inertia) / (2 * np.pi)
    return CaseResult(
        [modes(x, count=1).frequencies[0] for _, x in in_models(load_text(COMPOUND_PENDULUM), "arm", COMPOUND_WORDS)],
        exact,
    )


HELD_BEAMS = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
sections:
  unit: {{shape: stiffness, stiffness: [1e5, 1e5, 1e7, 1, 1, 1], mass_per_length: 1, inertia_per_length: [1e-9, 1e-9, 1e-9]}}
bodies: {{foot: {{}}}}
joints: {{foot: {{type: {foot}, child: foot}}}}
rods: {{beam: {{parent: foot, length: 1 m, section: unit, strains: planar, model: {{kind: finite_element, elements: 12}}}}}}
constraints: {{end: {{between: [world, beam.tip], components: [{held}], holds: as at start}}}}
"""
HINGE = "revolute, axis: y"
ENDS = {"clamped": ("weld", "x, ry"), "hinged": (HINGE, "x"), "clamped and hinged": ("weld", "x")}


@case(tolerance=3e-3, unit="rad/s")
def held_beams() -> CaseResult:
    """Bending frequencies of beams supported at both ends.

    Twelve finite elements; supported ends may still move along the beam.
    Compared: Three lowest frequencies of a clamped, a hinged, and a clamped and hinged beam [sqrt(EI/m)/L^2].
    Source: cos b cosh b = 1, sin b = 0, tan b = tanh b; R. D. Blevins, Formulas for Natural Frequency and Mode Shape (1979),
    table 8-1, cases 7, 5 and 6. Roots by SciPy.
    """
    value = [
        2 * np.pi * modes(derive(load_text(HELD_BEAMS.format(foot=foot, held=held))), at="initial", count=3).frequencies
        for foot, held in ENDS.values()
    ]
    n = np.arange(1, 4)
    clamped = [_held_root(lambda x: np.cos(x) - 1 / np.cosh(x), (k + 0.5) * np.pi) for k in n]
    mixed = [_held_root(lambda x: np.sin(x) - np.cos(x) * np.tanh(x), (k + 0.25) * np.pi) for k in n]
    return CaseResult(np.array(value), np.array([clamped, n * np.pi, mixed]) ** 2)


def _held_root(function: Callable[[float], float], near: float) -> float:
    return float(scipy.optimize.brentq(function, near - 0.1, near + 0.1))


YOUNGS_MODULUS, THICKNESS, MASS_PER_AREA = 1e9, 5e-3, 5.0
"""[Pa], [m], [kg/m^2]; the plate is 1 m wide and has no Poisson effect."""


def plate_grid_model(cells: int) -> str:
    """The plate as a grid with this number of cells along a side; every strip represents its part of the width.

    Strips at the edge have mass as well, although there is no plate beyond it: the total is heavier by that amount.
    """
    return f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
sections: {{strip: {{shape: rectangle, width: {1 / cells}, height: {THICKNESS}}}}}
materials: {{sheet: {{youngs_modulus: {YOUNGS_MODULUS}, poissons_ratio: 0}}}}
meshes:
  plate: {{type: shell, drawing: {{rectangle: [1 m, 1 m], cells: [{cells}, {cells}]}}, section: strip, material: sheet,
          mass: {MASS_PER_AREA * (cells + 1) / cells}, held: {{a: world, b: world, c: world, d: world}},
          sets: {{a: {{plane: x}}, b: {{plane: x, through: [1, 0, 0]}}, c: {{plane: y}}, d: {{plane: y, through: [0, 1, 0]}}}}}}
"""


def isotropic() -> float:
    """Lowest frequency of the plate itself [Hz]."""
    bending = YOUNGS_MODULUS * THICKNESS**3 / 12
    return float(35.99 * np.sqrt(bending / MASS_PER_AREA) / (2 * np.pi))


def orthotropic(cells: int) -> float:
    """Lowest frequency of a plate with the bending stiffness of the strips and the torsional stiffness of both families [Hz]."""
    bending, width, t = YOUNGS_MODULUS * THICKNESS**3 / 12, 1 / cells, THICKNESS
    torsion = width * t**3 * (1 / 3 - 0.21 * t / width * (1 - (t / width) ** 4 / 12))
    twist = 2 * (YOUNGS_MODULUS / 2) * torsion / width
    return float(np.sqrt((4.730**4 * 2 * bending + 151.3 * twist) / MASS_PER_AREA) / (2 * np.pi))


@case(tolerance=0.015, unit="Hz")
def plate_grid() -> CaseResult:
    """Grid of beams that models a clamped plate.

    The strips are twice as stiff in torsion as a sheet: frequencies are a tenth above those of an isotropic plate.
    Compared: Lowest frequency of a square sheet that is clamped all around, as a shell of 24 x 24 cells.
    Source: R. F. S. Hearmon, The frequency of flexural vibration of rectangular orthotropic plates with clamped or supported
    edges, J. Applied Mechanics 26 (1959) 537-540: one-term formula, an upper estimate.
    """
    return CaseResult(modes(derive(load_text(plate_grid_model(24))), count=1).frequencies[0], orthotropic(24))


ROTATING_BEAM = """
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


@case(tolerance=5e-3, unit="rad/s")
def rotating_beam() -> CaseResult:
    """Beam on a rotating hub, stiffened by centrifugal forces.

    Small motions about the steady rotation; the blade has only flapping degrees of freedom.
    Compared: Three lowest frequencies of flapping at seven speeds of rotation up to 10 [sqrt(EI/m)/L^2].
    Source: A. D. Wright, C. E. Smith, R. W. Thresher and J. L. C. Wang, Vibration modes of centrifugally stiffened beams, J.
    Applied Mechanics 49 (1982) 197-202, table 1, uniform beam without hub.
    """
    eqs = derive(load_text(ROTATING_BEAM))
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


MASS, ACROSS, ALONG, EI, LENGTH = 2.0, 0.02, 0.04, 200.0, 0.5
ROTOR_WHIRL = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{speed: 0 rad/s}}
sections:
  shaft: {{shape: stiffness, stiffness: [1e9, 1e9, 1e9, {EI}, {EI}, 1e9], mass_per_length: 1e-9,
          inertia_per_length: [1e-12, 1e-12, 1e-12]}}
rods: {{shaft: {{length: {LENGTH} m, section: shaft, strains: kirchhoff, model: {{kind: gvs, order: 1}}}}}}
bodies: {{disc: {{mass: {MASS} kg, inertia: {{principal: [{ACROSS}, {ACROSS}, {ALONG} kg*m^2]}}}}}}
joints: {{bearing: {{type: revolute, axis: z, parent: shaft.tip, child: disc, angle: {{motion: "=speed*t"}}}}}}
"""
SPEEDS = (0.0, 50.0, 100.0, 200.0)


def rotor_exact(speed: float) -> np.ndarray:
    """The four lowest whirling speeds [rad/s]: with x + i y ~ exp(i w t), M w^2 - G speed w - K = 0."""
    k = EI / LENGTH**3 * np.array([[12, -6 * LENGTH], [-6 * LENGTH, 4 * LENGTH**2]])
    M, G = np.diag([MASS, ACROSS]), np.diag([0, ALONG]) * speed
    zero, one = np.zeros((2, 2)), np.eye(2)
    state = np.block([[zero, one], [np.linalg.solve(M, k), np.linalg.solve(M, G)]])
    return np.sort(np.abs(np.linalg.eigvals(state).real))


@case(tolerance=1e-4, unit="rad/s")
def rotor_whirl() -> CaseResult:
    """Disc on an elastic shaft that whirls forward and backward.

    The disc rotates at a prescribed constant speed; linear curvature along the shaft is exact.
    Compared: Four whirling speeds of an overhung disc at four speeds of rotation.
    Source: A. Stodola, Dampf- und Gasturbinen, 5th ed. (1924); G. Genta, Dynamics of Rotating Systems (2005), section 2.5: the
    gyroscopic disc on a massless shaft, eigenvalues by NumPy.
    """
    eqs = derive(load_text(ROTOR_WHIRL))
    value = []
    for speed in SPEEDS:
        found = np.abs(modes(eqs, at="initial", parameters={"speed": speed}).eigenvalues.imag)
        value.append(np.sort(found[found > 1e-3])[:4])
    speeds = np.linspace(0, 200, 25)
    branches = np.array([rotor_exact(x) for x in speeds])
    lines = [Line(f"{word} whirl", SPEEDS, [row[k] for row in value]) for k, word in enumerate(("slow", "next"))]
    marks = [Line(f"theory, {word}", speeds, branches[:, k], exact=True) for k, word in enumerate(("slow", "next"))]
    plot = Plot("speed of rotation [rad/s]", "whirling speed [rad/s]", (*lines, *marks))
    return CaseResult(np.array(value), np.array([rotor_exact(x) for x in SPEEDS]), plot)


STIFF_STRING = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {pull: 0 N}
sections:
  wire: {shape: stiffness, stiffness: [1e7, 1e7, 1e8, 1, 1, 1], mass_per_length: 1, inertia_per_length: [1e-9, 1e-9, 1e-9]}
bodies: {foot: {}}
joints: {foot: {type: revolute, axis: y, child: foot}}
rods: {string: {parent: foot, length: 1 m, section: wire, strains: planar, model: {kind: finite_element, elements: 20}}}
constraints: {end: {between: [world, string.tip], components: [x]}}
loads: {pull: {frame: string.tip, force: [0, 0, =pull]}}
"""
PULLS = (0.0, 10.0, 100.0, 1000.0)


@case(tolerance=2e-3, unit="rad/s")
def stiff_string() -> CaseResult:
    """Frequencies of a taut string with bending stiffness.

    About the equilibrium under tension.
    Compared: Three lowest frequencies of a hinged string at four tensions T L^2/EI between 0 and 1000.
    Source: w = (n pi/L) sqrt(T/m) sqrt(1 + n^2 pi^2 EI/(T L^2)): H. Fletcher, Normal vibration frequencies of a stiff piano
    string, J. Acoust. Soc. Am. 36 (1964) 203-209.
    """
    eqs, n = derive(load_text(STIFF_STRING)), np.arange(1, 4)
    value = [2 * np.pi * modes(eqs, parameters={"pull": x}, count=3).frequencies for x in PULLS]
    pulls = np.linspace(0, 1000, 20)
    exact = np.sqrt(pulls[:, None] * (n * np.pi) ** 2 + (n * np.pi) ** 4)
    lines = [Line(f"mode {k + 1}", PULLS, [row[k] for row in value]) for k in range(2)]
    marks = [Line(f"theory, mode {k + 1}", pulls, exact[:, k], exact=True) for k in range(2)]
    plot = Plot("T L²/EI [-]", "frequency [sqrt(EI/m)/L²]", (*lines, *marks))
    return CaseResult(np.array(value), np.sqrt(np.array(PULLS)[:, None] * (n * np.pi) ** 2 + (n * np.pi) ** 4), plot)
