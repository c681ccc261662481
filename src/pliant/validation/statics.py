"""Rods and cables at rest under loads, against theories of beams, elasticas and catenaries."""

from __future__ import annotations

import numpy as np
import scipy

from pliant.analysis.derivation.derive import derive
from pliant.analysis.equilibrium import equilibrium
from pliant.analysis.simulate import simulate
from pliant.robot.reader import load, load_text
from pliant.validation.case import CaseResult, Line, Plot, cases_of
from pliant.validation.published_systems import BATHE_BEND, RADIUS
from pliant.validation.rods import (
    BENDING,
    LINE_MASS,
    LOADS,
    SLENDER,
    THICK_ARM,
    ClampedRod,
    cantilevers,
    continuous_arm,
    in_models,
)

case = cases_of("Statics")

CATENARY_LENGTH, CATENARY_SPAN, CATENARY_RADIUS, CATENARY_E, CATENARY_DENSITY = 1.0, 0.7, 1e-3, 5e6, 1100.0
HALF = 1.410185
"""Half the angle of the arc with this length and span, the initial shape of the cable [rad]."""
STATIONS = np.linspace(0, 1, 11)[1:-1]
CATENARY = f"""
pliant: 1
sections: {{cord: {{shape: circle, radius: {CATENARY_RADIUS} m}}}}
materials: {{rubber: {{density: {CATENARY_DENSITY}, youngs_modulus: {CATENARY_E}, poissons_ratio: 0.4}}}}
bodies: {{pin: {{}}}}
joints: {{hinge: {{type: revolute, axis: y, child: pin, angle: {{initial: {HALF}}}}}}}
rods:
  cable:
    parent: pin
    rotation: {{axis: y, angle: 90 deg}}
    length: {CATENARY_LENGTH} m
    section: cord
    material: rubber
    strains: planar
    shape: {{type: arc, angle: {2 * HALF}, direction: {np.pi}}}
    stress_free: false
    frames: {{{", ".join(f"f{k}: {s} m" for k, s in enumerate(STATIONS))}}}
    model: {{kind: finite_element, elements: 20}}
constraints:
  end: {{between: [{{frame: world, position: [{CATENARY_SPAN} m, 0, 0]}}, cable.tip], components: [x, z], expressed_in: world}}
"""


def elastic_catenary(s: np.ndarray, w: float, EA: float, length: float, span: float) -> np.ndarray:
    """Position (x, z) of the elastic catenary at arc lengths [m] (Irvine, with both ends at the same height).

    w: weight per length [N/m]; length: without load [m].
    """
    V = w * length / 2

    def x(H: float, s: np.ndarray) -> np.ndarray:
        return np.asarray(H * s / EA + H / w * (np.arcsinh(V / H) - np.arcsinh((V - w * s) / H)))

    H = scipy.optimize.brentq(lambda H: x(H, np.array(length)) - span, 1e-6, 10.0, xtol=1e-14)
    down = s / EA * (V - w * s / 2) + H / w * (np.sqrt(1 + (V / H) ** 2) - np.sqrt(1 + ((V - w * s) / H) ** 2))
    return np.array([x(H, s), -down])


def catenary_exact(s: np.ndarray) -> np.ndarray:
    """Position (x, z) of the cable at arc lengths [m]."""
    area = np.pi * CATENARY_RADIUS**2
    return elastic_catenary(s, CATENARY_DENSITY * area * 9.81, CATENARY_E * area, CATENARY_LENGTH, CATENARY_SPAN)


@case(tolerance=1e-3, measure="of the largest", unit="m")
def catenary() -> CaseResult:
    """Cable between two points, stretched by its own weight.

    The cable is a rod of finite elements with negligible bending stiffness.
    Compared: Places of nine sections of a cable of 1 m that hangs over a span of 0.7 m.
    Source: H. M. Irvine, Cable Structures, MIT Press (1981), section 1.4: the elastic catenary.
    """
    frames = equilibrium(derive(load_text(CATENARY))).frames
    value = np.array([frames[f"cable.f{k}"].position[[0, 2]] for k in range(len(STATIONS))])
    fine = catenary_exact(np.linspace(0, CATENARY_LENGTH, 60))
    plot = Plot(
        "x [m]", "z [m]", (Line("cable", value[:, 0], value[:, 1]), Line("catenary", fine[0], fine[1], exact=True))
    )
    return CaseResult(value, catenary_exact(STATIONS).T, plot)


CURVED_WORDS = ("finite_element:8", "cosserat:24", "pcs:24")


@case(tolerance=1e-3, measure="of the largest")
def curved_cantilever() -> CaseResult:
    """Curved cantilever compared with the continuous rod.

    The same arc as in `bathe_bend`.
    Compared: Place of the tip of the 45-degree bend under a load of 600, in three rod models.
    Source: Equilibrium of the continuous Cosserat rod with a natural curvature, S. S. Antman, Nonlinear Problems of Elasticity,
    2nd ed. (2005), chapter 8, as a boundary-value problem by SciPy.
    """
    EI = 1e7 / 12
    base = (np.cos(np.pi / 4), -np.sin(np.pi / 4), 0.0, 0.0)
    rod = ClampedRod(
        RADIUS * np.pi / 4, (5e6, 5e6, 1e7), (EI, EI, EI), base, natural=(0, 1 / RADIUS, 0), force=(0, 0, 600.0)
    )
    value = [
        equilibrium(eqs, parameters={"push": 600.0}).frames["bend.tip"].position
        for _, eqs in in_models(load_text(BATHE_BEND), "bend", CURVED_WORDS)
    ]
    return CaseResult(np.array(value), rod.position(rod.length))


EDGE_LENGTH, EDGE_WIDTH, EDGE_THICKNESS, EDGE_E = 0.2, 0.03, 0.8e-3, 500e3
MOVED = (0.02, 0.2, 1.0, 5.0)
EDGE_SIDEWAYS = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
sections: {{strip: {{shape: rectangle, width: {EDGE_WIDTH}, height: {EDGE_THICKNESS}}}}}
materials: {{jersey: {{youngs_modulus: {EDGE_E}, poissons_ratio: 0.4, density: 300}}}}
meshes:
  edge: {{type: shell, drawing: {{nodes: [[0, 0, 0], [{EDGE_LENGTH}, 0, 0]], edges: [[1, 2]]}}, ends: free,
         sets: {{root: {{nodes: 1}}}}, held: {{root: world}}, section: strip, material: jersey}}
"""


@case(tolerance=1e-4, unit="J")
def edge_sideways() -> CaseResult:
    """Elastic energy of an edge of a shell whose end is moved sideways without turning.

    A single edge; shear of a strip this thin is negligible.
    Compared: Energy of a strip of 20 cm whose end is moved sideways by 2 cm to 5 m.
    Source: EA (l - L)^2 / (2 L) of the stretch, and 6 EI / L times the square of the angle of its line to both ends.
    """
    eqs = derive(load_text(EDGE_SIDEWAYS))
    q, v = eqs.initial_state()
    value = []
    for distance in MOVED:
        q[2] = distance
        value.append(eqs.energy(q, v).potential)
    moved = np.array(MOVED)
    area, second = EDGE_WIDTH * EDGE_THICKNESS, EDGE_WIDTH * EDGE_THICKNESS**3 / 12
    stretch = EDGE_E * area * (np.hypot(EDGE_LENGTH, moved) - EDGE_LENGTH) ** 2 / (2 * EDGE_LENGTH)
    return CaseResult(value, stretch + 6 * EDGE_E * second / EDGE_LENGTH * np.arctan2(moved, EDGE_LENGTH) ** 2)


ELASTICA_LOADS = (1.0, 2.0, 5.0, 10.0)
ELASTICA_WORDS = ("pcs:20", "cosserat:20", "finite_element:5", "pseudo_rigid:25")


def elastica_exact(load: float) -> tuple[float, float, float]:
    """Deflection and shortening over the length, and angle of the tip [rad], at a load P L^2 / EI, by elliptic integrals."""

    def integrals(angle: float) -> tuple[float, float]:
        m = (1 + np.sin(angle)) / 2
        begin = np.arcsin(1 / np.sqrt(2 * m))
        first = scipy.special.ellipk(m) - scipy.special.ellipkinc(begin, m)
        return first, scipy.special.ellipe(m) - scipy.special.ellipeinc(begin, m)

    angle = scipy.optimize.brentq(lambda x: integrals(x)[0] - np.sqrt(load), 1e-6, np.pi / 2 - 1e-9, xtol=1e-14)
    return 1 - 2 * integrals(angle)[1] / np.sqrt(load), 1 - np.sqrt(2 * np.sin(angle) / load), angle


@case(tolerance=1e-3)
def elastica() -> CaseResult:
    """Large bending of a cantilever by a dead transverse tip force.

    Equilibria with negligible shear and stretch.
    Compared: Deflection and shortening of the tip over the length, and its angle [rad], at P L^2/EI = 1, 2, 5 and 10, in four rod
    models.
    Source: K. E. Bisshopp and D. C. Drucker, Large deflection of cantilever beams, Quarterly of Applied Mathematics 3 (1945)
    272-275; tabulated by K. Mattiasson, Int. J. Numerical Methods in Engineering 17 (1981) 145-153. Elliptic integrals by SciPy.
    """
    value = []
    for _, eqs in cantilevers(ELASTICA_WORDS):
        for factor in ELASTICA_LOADS:
            tip = equilibrium(eqs, parameters={**SLENDER, "tip_force": factor * BENDING}).frames["rod.tip"]
            tangent = tip.rotation[:, 2]
            value.append((-tip.position[2], 1 - tip.position[0], np.arctan2(-tangent[2], tangent[0])))
    loads = np.linspace(0.2, 10, 25)
    curves = [
        Line(f"{word}", ELASTICA_LOADS, [row[0] for row in value[4 * k : 4 * k + 4]])
        for k, word in enumerate(ELASTICA_WORDS[:1])
    ]
    plot = Plot(
        "P L²/EI [-]",
        "deflection over length [-]",
        (*curves, Line("elliptic integrals", loads, [elastica_exact(x)[0] for x in loads], exact=True)),
    )
    return CaseResult(
        np.array(value), np.array([elastica_exact(factor) for factor in ELASTICA_LOADS] * len(ELASTICA_WORDS)), plot
    )


FOLLOWER_LOAD = """
pliant: 1
world: {gravity: [0, 0, 0]}
sections: {round: {shape: circle, radius: 2 cm}}
materials: {rubber: {density: 1000, youngs_modulus: 1 MPa, shear_modulus: 0.4 MPa}}
rods: {arm: {length: 0.5 m, section: round, material: rubber}}
loads:
  spread: {type: distributed, rod: arm, force: [3 N/m, 0, -1 N/m], moment: [0, 0.1 N, 0], axes: section, profile: [0.4, 1]}
"""
FOLLOWER_WORDS = ("pcs:16", "cosserat:16", "pseudo_rigid:16", "polynomial:4", "finite_element:16")
FOLLOWER_LENGTH, FOLLOWER_E, G, FOLLOWER_RADIUS = 0.5, 1e6, 4e5, 0.02
AREA = np.pi * FOLLOWER_RADIUS**2
NU = FOLLOWER_E / (2 * G) - 1
EA, EI, GA = FOLLOWER_E * AREA, FOLLOWER_E * np.pi * FOLLOWER_RADIUS**4 / 4, 6 * (1 + NU) / (7 + 6 * NU) * G * AREA


def follower_exact() -> np.ndarray:
    """Tip (x, z) of the plane rod that shears and stretches, by a boundary-value problem [m]."""

    def slopes(s: np.ndarray, y: np.ndarray, share: float) -> np.ndarray:
        angle, n_x, n_z, m = y[2:]
        c, w = np.cos(angle), np.sin(angle)  # in (x, z) the tangent is (w, c), the section's x axis (c, -w)
        stretch, shear = 1 + (n_x * w + n_z * c) / EA, (n_x * c - n_z * w) / GA
        x_s, z_s = stretch * w + shear * c, stretch * c - shear * w
        across, along, about = (share * (0.4 + 0.6 * s / FOLLOWER_LENGTH) * load for load in (3.0, -1.0, 0.1))
        f_x, f_z = across * c + along * w, -across * w + along * c
        return np.vstack([x_s, z_s, m / EI, -f_x, -f_z, -(z_s * n_x - x_s * n_z) - about])

    s = np.linspace(0, FOLLOWER_LENGTH, 41)
    y = np.zeros((6, len(s)))
    y[1] = s
    for share in np.linspace(0.2, 1, 5):
        found = scipy.integrate.solve_bvp(
            lambda s, y, share=share: slopes(s, y, share), lambda a, b: np.concatenate([a[:3], b[3:]]), s, y, tol=1e-8
        )
        assert found.success
        s, y = found.x, found.y
    return np.asarray(y[:2, -1])


@case(tolerance=4e-3, measure="of the largest", unit="m")
def follower_load() -> CaseResult:
    """Rod under distributed follower loads.

    The load has no potential; any equilibrium is accepted, stable or not.
    Compared: Place of the tip under a force and a moment per length that grow towards it, in five rod models.
    Source: Equilibrium of the plane rod that shears and stretches, S. S. Antman, Nonlinear Problems of Elasticity, 2nd ed.
    (2005), chapter 4, as a boundary-value problem by SciPy.
    """
    value = [
        equilibrium(eqs, stability="any").frames["arm.tip"].position[[0, 2]]
        for _, eqs in in_models(load_text(FOLLOWER_LOAD), "arm", FOLLOWER_WORDS)
    ]
    return CaseResult(np.array(value), follower_exact())


HANGING_BAR = """
pliant: 1
sections: {round: {shape: circle, radius: 2 cm}}
materials: {rubber: {density: 1000, youngs_modulus: 100 kPa, poissons_ratio: 0.25}}
rods: {bar: {rotation: [{axis: x, angle: 180 deg}], length: 40 cm, section: round, material: rubber}}
bodies: {weight: {mass: 0.1 kg}}
joints: {hook: {type: weld, parent: bar.tip, child: weight}}
"""
BAR_WORDS = ("pcs:6", "cosserat:6", "finite_element:6", "pseudo_rigid:6", "polynomial:3", "timoshenko:6", "gvs:1")


@case(tolerance=1e-6, unit="m")
def hanging_bar() -> CaseResult:
    """Bar stretched by its own weight and by a mass at its end.

    Equilibria.
    Compared: Elongation of the bar, in seven rod models.
    Source: m g L / (E A) + rho g L^2 / (2 E): S. P. Timoshenko, Strength of Materials, part I, 3rd ed. (1955), section 5.
    """
    value = [
        -equilibrium(eqs).frames["bar.tip"].position[2] - 0.4
        for _, eqs in in_models(load_text(HANGING_BAR), "bar", BAR_WORDS)
    ]
    return CaseResult(value, 0.1 * 9.81 * 0.4 / (100e3 * np.pi * 0.02**2) + 1000 * 9.81 * 0.4**2 / (2 * 100e3))


STRIP_LENGTH, STRIP_SPAN, CELLS = 1.0, 0.7, 16
STRIP_WIDTH, STRIP_THICKNESS, STRIP_E, STRIP_DENSITY = 0.03, 0.2e-3, 5e6, 1000.0


def drawing() -> np.ndarray:
    """Nodes of links of one metre in total over the span, as an arc upwards, from which the strip falls through (n x 3) [m]."""
    angles = np.linspace(-1, 1, CELLS)
    scale = scipy.optimize.brentq(lambda a: np.cos(a * angles).mean() - STRIP_SPAN / STRIP_LENGTH, 1e-3, 3.0)
    steps = np.column_stack([np.cos(scale * angles), 0 * angles, np.sin(scale * angles)]) * STRIP_LENGTH / CELLS
    return np.vstack([np.zeros(3), np.cumsum(steps, axis=0)])


def strip_model() -> str:
    """The strip with its ends held."""
    edges = [[k, k + 1] for k in range(1, CELLS + 1)]
    return f"""
pliant: 1
sections: {{strip: {{shape: rectangle, width: {STRIP_WIDTH}, height: {STRIP_THICKNESS}}}}}
materials: {{rubber: {{youngs_modulus: {STRIP_E}, poissons_ratio: 0.3, density: {STRIP_DENSITY}}}}}
meshes:
  strip: {{type: shell, drawing: {{nodes: {drawing().tolist()}, edges: {edges}}}, section: strip, material: rubber}}
"""


@case(tolerance=3e-3, measure="of the largest", unit="m")
def hanging_strip() -> CaseResult:
    """Strip of cloth that hangs between two clamps, as a shell.

    Edges are straight or bent beams of 0.2 mm; the strip is drawn upwards and falls through.
    Compared: Places of the nodes of a strip of cloth of 1 m that hangs over a span of 0.7 m, as a shell of 16 edges.
    Source: H. M. Irvine, Cable Structures, MIT Press (1981), section 1.4: the elastic catenary.
    """
    frames = equilibrium(derive(load_text(strip_model()))).frames
    value = np.array([frames[f"strip.n{k + 1}"].position[[0, 2]] for k in range(CELLS + 1)])
    area = STRIP_WIDTH * STRIP_THICKNESS
    cable = (STRIP_DENSITY * area * 9.81, STRIP_E * area, STRIP_LENGTH, STRIP_SPAN)
    fine = elastic_catenary(np.linspace(0, STRIP_LENGTH, 60), *cable)
    lines = (Line("strip", value[:, 0], value[:, 1]), Line("catenary", fine[0], fine[1], exact=True))
    exact = elastic_catenary(np.linspace(0, STRIP_LENGTH, CELLS + 1), *cable)
    return CaseResult(value, exact.T, Plot("x [m]", "z [m]", lines))


HEAVY_LOADS = (2.0, 8.0, 20.0)
HEAVY_WORDS = ("pcs:20", "cosserat:20", "finite_element:8")


def heavy_exact(load: float) -> tuple[float, float]:
    """Shortening and deflection of the tip over the length at a load w L^3 / EI: EI angle'' = -w (L - s) cos(angle)."""

    def slope(s: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.vstack([y[1], -load * (1 - s) * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])])

    def ends(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.array([a[0], b[1], a[2], a[3]])

    s = np.linspace(0, 1, 41)
    found = scipy.integrate.solve_bvp(slope, ends, s, np.array([s, 1 - s, s, 0.3 * s]), tol=1e-9, max_nodes=20000)
    assert found.success
    return 1 - found.y[2, -1], found.y[3, -1]


@case(tolerance=3e-3)
def heavy_cantilever() -> CaseResult:
    """Large bending of a cantilever by its own weight.

    Equilibria with negligible shear and stretch; the factor is the gravity of the bundled cantilever.
    Compared: Shortening and deflection of the tip over the length at w L^3/EI = 2, 8 and 20, in three rod models.
    Source: F. V. Rohde, Large deflections of a cantilever beam with uniformly distributed load, Quarterly of Applied
    Mathematics 11 (1953) 337-338, here as a boundary-value problem by SciPy.
    """
    value = []
    for _, eqs in cantilevers(HEAVY_WORDS):
        for factor in HEAVY_LOADS:
            x, _, z = (
                equilibrium(eqs, parameters={**SLENDER, "gravity": factor * BENDING / LINE_MASS})
                .frames["rod.tip"]
                .position
            )
            value.append((1 - x, -z))
    loads = np.linspace(0.5, 20, 25)
    plot = Plot(
        "w L³/EI [-]",
        "deflection over length [-]",
        (
            Line("pcs:20", HEAVY_LOADS, [row[1] for row in value[:3]]),
            Line("continuous rod", loads, [abs(heavy_exact(x)[1]) for x in loads], exact=True),
        ),
    )
    return CaseResult(np.array(value), np.abs([heavy_exact(factor) for factor in HEAVY_LOADS] * len(HEAVY_WORDS)), plot)


MODULE_WORDS = ("pcs:3", "cosserat:3")
PRESSURE = 40e3


@case(tolerance=1e-7, measure="absolute", unit="m")
def module_elongation() -> CaseResult:
    """Pneumatic module that equal pressures in all chambers stretch without bending.

    Simulated by default: without weight, in 2 s to 40 kPa, and 1 s at rest.
    Compared: Length of the soft part at the end of a ramp of the pressures, and deflection of the tip, in two rod models.
    Source: Balance of 6 p A with the force of an incompressible neo-Hookean bar, E A_s/3 (l - 1/l^2). The moments of the
    chambers cancel: S. M. H. Sadati et al., TMTDyn, Int. J. Robotics Research 40 (2021), figure 14.
    """
    flop = load("stiff_flop")
    flop = flop.model_copy(update={"world": flop.world.model_copy(update={"gravity": [0.0, 0.0, 0.0]})})
    chambers = 6 * np.pi * 2.5e-3**2
    walls = np.pi * (12.5e-3**2 - 4.5e-3**2) - chambers

    def excess(stretch: float) -> float:
        return 120e3 * walls / 3 * (stretch - stretch**-2) - PRESSURE * chambers

    exact = 44e-3 * float(scipy.optimize.brentq(excess, 1, 3)) + 14.5e-3
    ramp = dict.fromkeys(("p1", "p2", "p3"), f"{PRESSURE} Pa*min(t/(2 s), 1)")
    value = [
        simulate(eqs, 3.0, start="equilibrium", inputs=ramp)["tip"].values[-1]
        for _, eqs in in_models(flop, "arm", MODULE_WORDS)
    ]
    return CaseResult(np.array(value), (0.0, 0.0, exact))


PRESSURE_BENDING = """
pliant: 1
world: {gravity: [0, 0, 0]}
sections: {strip: {shape: rectangle, width: 30 mm, height: 20 mm}}
materials: {rubber: {density: 1000, youngs_modulus: 1 MPa, poissons_ratio: 0.4}}
rods:
  arm:
    length: 0.4 m
    section: strip
    material: rubber
    chambers: {one: {pressure: 80 kPa, radius: 4 mm, positions: [[8 mm, 0]]}}
"""
PRESSURE_WORDS = ("pcs:3", "cosserat:4", "finite_element:3", "pcc:1", "gvs:1")


@case(tolerance=1e-6, measure="absolute")
def pressure_bending() -> CaseResult:
    """Rod bent to an arc by the pressure in a chamber off its axis.

    Equilibria without weight.
    Compared: Place of the tip and its direction, in five rod models.
    Source: A chamber of area A at the distance d pushes with p A and bends with p A d: stretch p A/(E A_s), curvature p A d/(E
    I), an arc of a circle. J. Fras et al., New STIFF-FLOP module construction idea, IEEE ICRA 2015.
    """
    push, area, inertia = 80e3 * np.pi * 0.004**2, 0.03 * 0.02, 0.02 * 0.03**3 / 12
    stretch, bend = push / (1e6 * area), push * 0.008 / (1e6 * inertia)
    angle, radius = 0.4 * bend, (1 + stretch) / bend
    value = []
    for _, eqs in in_models(load_text(PRESSURE_BENDING), "arm", PRESSURE_WORDS):
        tip = equilibrium(eqs).frames["arm.tip"]
        value.append((*tip.position[[0, 2]], *tip.rotation[[0, 2], 2]))
    # the chamber is on the +x side and bends the arm away from it
    exact = (-radius * (1 - np.cos(angle)), radius * np.sin(angle), -np.sin(angle), np.cos(angle))
    return CaseResult(np.array(value), exact)


SPACE_WORDS = ("pcs:24", "cosserat:25", "finite_element:10", "polynomial:4")


@case(tolerance=2e-3, measure="of the largest", unit="m")
def rod_in_space() -> CaseResult:
    """Thick rod with combined bending, twist, shear and stretch in space.

    The dead moment has no potential in space; any equilibrium is accepted, stable or not.
    Compared: Place of the tip and of a frame at two fifths of the length, under weight, a force and a moment, in four rod models.
    Source: Equilibrium of the continuous Cosserat rod, S. S. Antman, Nonlinear Problems of Elasticity, 2nd ed. (2005), chapter 8,
    as a boundary-value problem by SciPy.
    """
    value = []
    for _, eqs in in_models(load_text(THICK_ARM), "arm", SPACE_WORDS):
        frames = equilibrium(eqs, parameters=LOADS, stability="any").frames
        value.append([frames["arm.tip"].position, frames["arm.middle"].position])
    return CaseResult(np.array(value), continuous_arm((0.5, 0.2)).T)


ROLL_UP_WORDS = ("pcs:8", "cosserat:8", "finite_element:3", "pcc:1")
TURNS = (0.3, 1.0)


@case(tolerance=1e-6, measure="absolute")
def roll_up() -> CaseResult:
    """Cantilever rolled up to a circle by a moment at its tip.

    The moment has no potential in space, where the rolled-up rod flutters: any equilibrium is accepted, stable or not.
    Compared: Place of the tip [m] and its direction, after 0.3 turns and one turn, in four rod models.
    Source: A moment M bends a rod to an arc of the curvature M/EI: J. C. Simo and L. Vu-Quoc, A three-dimensional finite-strain
    rod model, part II, Comput. Methods Appl. Mech. Eng. 58 (1986) 79-116, section 5.1 (pure bending of a cantilever).
    """
    value, reference = [], []
    for _, eqs in cantilevers(ROLL_UP_WORDS):
        for turns in TURNS:
            angle = 2 * np.pi * turns
            parameters = {**SLENDER, "tip_moment": angle * BENDING}
            tip = equilibrium(eqs, parameters=parameters, stability="any").frames["rod.tip"]
            value.append((*tip.position[[0, 2]], *tip.rotation[[0, 2], 2]))
            s, c = np.sin(angle), np.cos(angle)
            reference.append((s / angle, (1 - c) / angle, c, s))
    return CaseResult(np.array(value), np.array(reference))


SHAFT_TORSION = """
pliant: 1
world: {gravity: [0, 0, 0]}
sections: {round: {shape: circle, radius: 2 cm}}
materials: {rubber: {density: 1000, youngs_modulus: 100 kPa, poissons_ratio: 0.25}}
rods: {shaft: {length: 40 cm, section: round, material: rubber}}
loads: {twist: {frame: shaft.tip, moment: [0, 0, 0.02 N*m]}}
"""
SHAFT_WORDS = ("pcs:6", "cosserat:6", "finite_element:6", "pseudo_rigid:6", "polynomial:3", "timoshenko:6", "gvs:1")


@case(tolerance=1e-3, unit="rad")
def shaft_torsion() -> CaseResult:
    """Shaft twisted by a torque at its end.

    A torque that twists the soft shaft by about four fifths of a radian.
    Compared: Angle of the tip, in seven rod models.
    Source: C.-A. de Coulomb (1784); T L / (G J) in S. P. Timoshenko, Strength of Materials, part I, 3rd ed. (1955), section 61.
    """
    value = []
    for _, eqs in in_models(load_text(SHAFT_TORSION), "shaft", SHAFT_WORDS):
        R = equilibrium(eqs, stability="any").frames["shaft.tip"].rotation
        value.append(np.arctan2(R[1, 0], R[0, 0]))
    return CaseResult(value, 0.02 * 0.4 / (40e3 * np.pi / 2 * 0.02**4))


TENDON_ARC = """
pliant: 1
world: {gravity: [0, 0, 0]}
sections: {round: {shape: circle, radius: 5 mm}}
materials: {rubber: {density: 1000, youngs_modulus: 1 MPa, poissons_ratio: 0.4}}
rods: {arm: {length: 0.3 m, section: round, material: rubber}}
tendons: {pull: {type: tension, through: [{rod: arm, offset: [4 mm, 0], eyelets: 61}], tension: 0.3 N}}
"""
ARC_WORDS = ("pcs:6", "cosserat:60", "finite_element:60", "gvs:1", "pcc:1")


@case(tolerance=1e-3, measure="of the largest", unit="m")
def tendon_arc() -> CaseResult:
    """Rod bent to an arc by a tendon parallel to its axis.

    Sixty-one eyelets guide the tendon along the rod.
    Compared: Place of the tip, bent by 42 degrees, in five rod models.
    Source: A tendon at the distance d bends with T d and compresses with T: curvature T d/EI, stretch -T/EA. D. C. Rucker and R.
    J. Webster, Statics and dynamics of continuum robots with general tendon routing, IEEE Trans. Robotics 27 (2011) 1033-1044.
    """
    bend, stretch = 0.3 * 0.004 / (1e6 * np.pi / 4 * 0.005**4), -0.3 / (1e6 * np.pi * 0.005**2)
    angle, radius = 0.3 * bend, (1 + stretch) / bend
    value = [
        equilibrium(eqs).frames["arm.tip"].position[[0, 2]]
        for _, eqs in in_models(load_text(TENDON_ARC), "arm", ARC_WORDS)
    ]
    return CaseResult(np.array(value), (radius * (1 - np.cos(angle)), radius * np.sin(angle)))


GUIDES = 12
POINTS = [(np.sin(x), 1 - np.cos(x)) for x in np.linspace(0, 2.0, GUIDES)]
TENDON_CAPSTAN = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
bodies: {{carriage: {{mass: 1 kg}}}}
joints:
  slide:
    {{type: prismatic, child: carriage, axis: [{np.cos(2.0)}, 0, {np.sin(2.0)}], displacement: {{spring: 100 N/m}},
      position: [{POINTS[-1][0] + np.cos(2.0)} m, 0, {POINTS[-1][1] + np.sin(2.0)} m]}}
tendons:
  line:
    type: tension
    friction: 0.3
    at_rest: pulled
    tension: 10 N
    through:
      - {{frame: world, position: [-1 m, 0, 0]}}
{"".join(f"      - {{frame: world, position: [{x} m, 0, {z} m]}}" + chr(10) for x, z in POINTS)}
      - carriage
outputs:
  pull: {{tendon: line, quantity: end_tension}}
"""


@case(tolerance=1e-3)
def tendon_capstan() -> CaseResult:
    """Tension loss of a tendon over guides.

    The total angle of the line is the same for any number of guides; the spring at its end measures the remaining tension.
    Compared: Tension at the end of a line that is pulled over twelve guides and turns by 2 rad, and the way of the spring there.
    Source: L. Euler (1769) and J. A. Eytelwein (1808): T exp(-mu turn); S. P. Timoshenko and D. H. Young, Engineering Mechanics
    (1940).
    """
    rest = equilibrium(derive(load_text(TENDON_CAPSTAN)))
    left = 10 * np.exp(-0.3 * 2.0)
    return CaseResult([float(rest.outputs["pull"]), -float(rest.q[0])], [left, left / 100])


THICK_CANTILEVER = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {tip: 0 N, inside: 0 N, spread: 0 N/m}
sections: {round: {shape: circle, radius: 2 cm}}
materials: {rubber: {density: 1000, youngs_modulus: 1 MPa, shear_modulus: 0.4 MPa}}
rods: {arm: {length: 10 cm, section: round, material: rubber, frames: {inside: 4 cm}}}
loads:
  tip: {frame: arm.tip, force: [=tip, 0, 0]}
  inside: {frame: arm.inside, force: [=inside, 0, 0]}
  spread: {type: distributed, rod: arm, force: [=spread, 0, 0]}
"""
THICK_WORDS = ("cosserat:40", "finite_element", "timoshenko")


def thick_exact() -> tuple[float, float, float]:
    """Deflection of the tip [m] under 1 mN at the tip, at 4 cm, and distributed along it."""
    L, a, E, G, r, F = 0.1, 0.04, 1e6, 0.4e6, 0.02, 1e-3
    nu = E / (2 * G) - 1
    EI, GA = E * np.pi / 4 * r**4, 6 * (1 + nu) / (7 + 6 * nu) * G * np.pi * r**2
    tip = F * L**3 / (3 * EI) + F * L / GA
    inside = F * a**3 / (3 * EI) + F * a / GA + F * a**2 / (2 * EI) * (L - a)
    return tip, inside, F * L**3 / (8 * EI) + F * L / (2 * GA)


@case(tolerance=4e-3, unit="m")
def thick_cantilever() -> CaseResult:
    """Thick cantilever that bends and shears under small loads.

    1 mN in each case, so that theories of small displacements apply.
    Compared: Deflection of the tip under a force there, a force within the rod, and a load along it; shear makes a tenth to a
    fifth.
    Source: P L^3 / (3 EI) + P L / (k G A) and alike: S. P. Timoshenko, Phil. Mag. 41 (1921) 744-746; shear coefficient k = 6 (1
    + nu)/(7 + 6 nu) of a circle: G. R. Cowper, J. Applied Mechanics 33 (1966) 335-340, table 1.
    """
    loads = ({"tip": 1e-3}, {"inside": 1e-3}, {"spread": 1e-2})
    value = [
        [equilibrium(eqs, parameters=load).frames["arm.tip"].position[0] for load in loads]
        for _, eqs in in_models(load_text(THICK_CANTILEVER), "arm", THICK_WORDS)
    ]
    return CaseResult(np.array(value), thick_exact())
