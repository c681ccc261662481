"""Buckling, flutter and snap-through: critical loads, and paths beyond them."""

from __future__ import annotations

import numpy as np
import scipy

from pliant.analysis.derivation.derive import derive
from pliant.analysis.modes import modes
from pliant.analysis.path import continuation
from pliant.analysis.periodic import periodic
from pliant.robot.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, cases_of

case = cases_of("Stability")

BECK_COLUMN = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {push: 0 N}
sections: {unit: {shape: stiffness, stiffness: [1, 1, 1, 1, 1, 1], mass_per_length: 1}}
rods: {column: {length: 1 m, section: unit, strains: bend_y, model: {kind: gvs, order: 4, elements: 4}}}
loads: {end: {frame: column.tip, force: [0, 0, =-push], expressed_in: column.tip}}
"""


def characteristic(load: float, frequency: float) -> float:
    """Zero at the frequencies of the column [sqrt(EI/m)/L^2] under a load [EI/L^2]."""
    root = np.sqrt(load**2 / 4 + frequency**2)
    a, b = np.sqrt(root - load / 2), np.sqrt(root + load / 2)
    waves = 2 * frequency**2 * (1 + np.cosh(a) * np.cos(b)) + load * frequency * np.sinh(a) * np.sin(b)
    return float(load**2 + waves)


def critical() -> float:
    """The load at which the two lowest frequencies meet: where their function of the frequency touches zero."""

    def slope(x: np.ndarray) -> list[float]:
        h = 1e-4
        both = (characteristic(x[0], x[1] + h) - characteristic(x[0], x[1] - h)) / (2 * h)
        return [characteristic(x[0], x[1]), both]

    return float(scipy.optimize.fsolve(slope, [20.0, 11.0], xtol=1e-12)[0])


@case(tolerance=5e-4)
def beck_column() -> CaseResult:
    """Flutter of a column under a follower force.

    Small motions of the straight column; the critical load is found by bisection on whether one of them grows.
    Compared: Load P L^2/EI at which the undamped column begins to flutter.
    Source: M. Beck, Die Knicklast des einseitig eingespannten, tangential gedrückten Stabes, ZAMP 3 (1952) 225-228: 20.05, here
    from its characteristic equation by SciPy.
    """
    eqs = derive(load_text(BECK_COLUMN))

    def grows(load: float) -> bool:
        return not modes(eqs, at="initial", parameters={"push": load}).stable

    low, high = 15.0, 25.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if grows(middle) else (middle, high)
    loads = np.linspace(0, 20, 21)
    pairs = np.array(
        [
            2 * np.pi * np.sort(np.abs(modes(eqs, at="initial", parameters={"push": x}, count=2).frequencies))
            for x in loads
        ]
    )
    roots = np.array([(x, f) for x in loads[1::4] for f in _roots(x)])
    lines = (Line("first mode", loads, pairs[:, 0]), Line("second mode", loads, pairs[:, 1]))
    plot = Plot(
        "P L²/EI [-]", "frequency [sqrt(EI/m)/L²]", (*lines, Line("Beck", roots[:, 0], roots[:, 1], exact=True))
    )
    return CaseResult((low + high) / 2, critical(), plot)


def _roots(load: float) -> list[float]:
    """The two lowest frequencies under a load."""
    grid = np.linspace(0.5, 25, 400)
    signs = np.sign([characteristic(load, x) for x in grid])
    at = np.flatnonzero(np.diff(signs))[:2]
    return [float(scipy.optimize.brentq(lambda x: characteristic(load, x), grid[k], grid[k + 1])) for k in at]


EULER_COLUMN = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{push: 0 N}}
sections: {{unit: {{shape: stiffness, stiffness: [1, 1, 1, 1, 1, 1], mass_per_length: 1}}}}
bodies: {{foot: {{}}, head: {{}}}}
joints:
  foot: {{type: {foot}, child: foot}}
  head: {{type: weld, parent: column.tip, child: head}}
rods: {{column: {{parent: foot, length: 1 m, section: unit, strains: bend_y, model: {{kind: gvs, order: 4, elements: 4}}}}}}
loads: {{top: {{frame: head, force: [0, 0, =-push]}}}}
{held}
"""
HINGE = "revolute, axis: y"
HELD = "constraints: {{guide: {{between: [world, head], components: [{}]}}}}"
ENDS = {
    "clamped and free": ("weld", "", np.pi**2 / 4),
    "hinged": (HINGE, HELD.format("x"), np.pi**2),
    "clamped and hinged": ("weld", HELD.format("x"), None),
    "clamped": ("weld", HELD.format("x, ry"), 4 * np.pi**2),
}


@case(tolerance=5e-4)
def euler_column() -> CaseResult:
    """Columns that buckle under a dead force along their axis.

    The rod can only bend; its curvature is a polynomial of order four in each quarter.
    Compared: Critical load P L^2/EI of a clamped and free, a hinged, a clamped and hinged, and a clamped column, where the path
    of straight poses bifurcates.
    Source: L. Euler, De curvis elasticis (1744); S. P. Timoshenko and J. M. Gere, Theory of Elastic Stability, 2nd ed. (1961),
    sections 2.1-2.2: pi^2/4, pi^2, the root of tan(k) = k squared, 4 pi^2.
    """
    value, reference = [], []
    for foot, held, exact in ENDS.values():
        reference.append(exact or scipy.optimize.brentq(lambda k: np.tan(k) - k, 4.4, 4.6) ** 2)
        path = continuation(
            derive(load_text(EULER_COLUMN.format(foot=foot, held=held))), parameter="push", to=1.1 * reference[-1]
        )
        value.append(path.special[0].value)
    return CaseResult(value, reference)


LATERAL_BUCKLING = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {push: 0 N}
sections: {strip: {shape: stiffness, stiffness: [1, 1, 1, 1e5, 1, 1], mass_per_length: 1, inertia_per_length: [1, 1, 1]}}
rods: {strip: {length: 1 m, section: strip, strains: kirchhoff, model: {kind: gvs, order: 6}}}
loads: {end: {frame: strip.tip, force: [0, =push, 0]}}
"""


@case(tolerance=5e-4, quick=False)
def lateral_buckling() -> CaseResult:
    """Lateral buckling of a strip under a force at its end.

    The bending stiffness in its plane is 100,000 times larger, so that its deflection before buckling is negligible.
    Compared: Critical force P L^2/sqrt(EI GJ) of a cantilever that is stiff in the plane of the force, where the path bifurcates.
    Source: L. Prandtl, Kipp-Erscheinungen (1899), and A. G. M. Michell, Phil. Mag. 48 (1899) 298-309; S. P. Timoshenko and J. M.
    Gere, Theory of Elastic Stability, 2nd ed. (1961), section 6.3: twice the first zero of J(-1/4), by SciPy.
    """
    zero = scipy.optimize.brentq(lambda x: scipy.special.jv(-1 / 4, x), 1.5, 2.5)
    path = continuation(derive(load_text(LATERAL_BUCKLING)), parameter="push", to=5.0)
    return CaseResult(path.special[0].value, 2 * zero)


LEE_LENGTH, LOADED, LEE_EA, LEE_EI = 120.0, 24.0, 7.2e6 * 6, 7.2e6 * 2
"""Length of column and beam, and distance of the load from the corner [cm]; stiffness [N, N cm^2]. The unit of length of the model
is the centimetre."""
LEE_FRAME = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{down: 0 m}}
sections:
  bar: {{shape: stiffness, stiffness: [1e10, 1e10, {LEE_EA}, 1, {LEE_EI}, 1], mass_per_length: 1, inertia_per_length: [1, 1, 1]}}
defaults: {{rods: {{section: bar, strains: planar}}}}
bodies: {{foot: {{}}, slider: {{}}}}
joints:
  hinge: {{type: revolute, axis: y, child: foot}}
  press: {{type: prismatic, axis: z, child: slider, position: [0, 0, {LEE_LENGTH} m], displacement: {{motion: =-down}}}}
rods:
  column: {{parent: foot, length: {LEE_LENGTH} m, model: {{kind: finite_element, elements: 10}}}}
  corner:
    parent: column.tip
    length: {LOADED} m
    rotation: {{axis: y, angle: 90 deg}}
    model: {{kind: finite_element, elements: 3}}
  beam: {{parent: corner.tip, length: {LEE_LENGTH - LOADED} m, model: {{kind: finite_element, elements: 8}}}}
constraints:
  support:
    between: [{{frame: world, position: [{LEE_LENGTH} m, 0, {LEE_LENGTH} m]}}, beam.tip]
    components: [x, z]
    expressed_in: world
  pressed: {{between: [slider, corner.tip], components: [z], expressed_in: world}}
outputs: {{load: {{constraint: pressed}}}}
"""
LEE_DOWN = np.linspace(8, 56, 7)
"""Deflections of the loaded point [cm]."""


def lee_exact() -> np.ndarray:
    """Load [N] at these deflections: column and both parts of the beam bend and stretch, as one boundary-value problem."""
    lengths = (LEE_LENGTH, LOADED, LEE_LENGTH - LOADED)

    def slopes(s: np.ndarray, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Derivatives of x, y, angle and moment of each part with respect to its fraction; p: section force at the foot, and the
        load."""
        rows = []
        for k, length in enumerate(lengths):
            angle, moment = y[4 * k + 2], y[4 * k + 3]
            force = (p[0], p[1] + (p[2] if k == 2 else 0.0))
            along = force[0] * np.cos(angle) + force[1] * np.sin(angle)
            across = -force[0] * np.sin(angle) + force[1] * np.cos(angle)
            stretch = 1 + along / LEE_EA
            rows += [stretch * np.cos(angle), stretch * np.sin(angle), moment / LEE_EI, -stretch * across]
            rows[-4:] = [length * row for row in rows[-4:]]
        return np.vstack(rows)

    s = np.linspace(0, 1, 21)
    begins, angles = ((0.0, 0.0), (0.0, LEE_LENGTH), (LOADED, LEE_LENGTH)), (np.pi / 2, 0.0, 0.0)
    y = np.vstack(
        [
            row
            for (x0, y0), angle, length in zip(begins, angles, lengths, strict=True)
            for row in (
                x0 + length * s * np.cos(angle), y0 + length * s * np.sin(angle), np.full_like(s, angle), 0 * s,
            )
        ]
    )  # fmt: skip
    p, loads = np.zeros(3), []
    for down in LEE_DOWN:

        def ends(a: np.ndarray, b: np.ndarray, p: np.ndarray, down: float = down) -> np.ndarray:
            hinges = [a[0], a[1], a[3], b[8] - LEE_LENGTH, b[9] - LEE_LENGTH, b[11]]
            corner = [a[4] - b[0], a[5] - b[1], a[6] - b[2] + np.pi / 2, a[7] - b[3]]
            loaded = [a[8] - b[4], a[9] - b[5], a[10] - b[6], a[11] - b[7]]
            return np.array([*hinges, *corner, *loaded, b[5] - LEE_LENGTH + down])

        found = scipy.integrate.solve_bvp(slopes, ends, s, y, p=p, tol=1e-5, max_nodes=20000)
        assert found.success
        s, y, p = found.x, found.y, found.p
        loads.append(p[2])
    return np.array(loads)


@case(tolerance=1e-3, measure="of the largest", unit="N")
def lee_frame() -> CaseResult:
    """L-shaped frame on two hinges under a load on its beam, beyond the load at which it snaps (Lee's frame).

    Column and beam of finite elements, with the deflection as parameter of the path.
    Compared: Load at seven deflections of the loaded point, beyond the limit load of 18.55 kN.
    Source: S.-L. Lee, F. S. Manuel, E. C. Rossow, Large deflections and stability of elastic frames, J. Eng. Mech. Div. ASCE 94
    (1968) 521-548; the extensible elastica by SciPy.
    """
    path = continuation(derive(load_text(LEE_FRAME)), parameter="down", to=float(LEE_DOWN[-1]))
    carried = -path["load"]
    value, reference = scipy.interpolate.CubicSpline(path.value, carried)(LEE_DOWN), lee_exact()
    lines = (Line("path", path.value, carried), Line("elastica", LEE_DOWN, reference, exact=True))
    return CaseResult(value, reference, Plot("deflection [cm]", "load [N]", lines))


SELF_BUCKLING = """
pliant: 1
world: {gravity: [0, 0, =-g]}
parameters: {g: 0 m/s^2}
sections: {unit: {shape: stiffness, stiffness: [1, 1, 1, 1, 1, 1], mass_per_length: 1}}
rods: {column: {length: 1 m, section: unit, strains: bend_y, model: {kind: gvs, order: 4, elements: 4}}}
"""


@case(tolerance=5e-4)
def self_buckling() -> CaseResult:
    """Column that buckles under its own weight.

    Gravity is the parameter of the path.
    Compared: Critical weight w L^3/EI of a column that is clamped below and free above, where the path bifurcates.
    Source: A. G. Greenhill, Determination of the greatest height consistent with stability that a vertical pole or mast can be
    made, Proc. Cambridge Phil. Soc. 4 (1881) 65-73: 9/4 of the square of the first zero of J(-1/3), by SciPy.
    """
    zero = scipy.optimize.brentq(lambda x: scipy.special.jv(-1 / 3, x), 1.5, 2.2)
    path = continuation(derive(load_text(SELF_BUCKLING)), parameter="g", to=9.0)
    return CaseResult(path.special[0].value, 9 / 4 * zero**2)


HALF, TRUSS_RISE, STIFFNESS = 1.0, 0.3, 1000.0
SHALLOW_TRUSS = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{push: 0 N}}
bodies: {{apex: {{mass: 1 kg}}}}
joints: {{rail: {{type: prismatic, child: apex, axis: z, position: [0, 0, {TRUSS_RISE} m]}}}}
links:
  left: {{type: axial, between: [{{frame: world, position: [-{HALF} m, 0, 0]}}, apex], spring: {STIFFNESS} N/m}}
  right: {{type: axial, between: [{{frame: world, position: [{HALF} m, 0, 0]}}, apex], spring: {STIFFNESS} N/m}}
loads: {{top: {{frame: apex, force: [0, 0, =-push]}}}}
"""


def force(down: np.ndarray) -> np.ndarray:
    """Force on the apex at a downward displacement `down` [N]."""
    rest, length = np.hypot(HALF, TRUSS_RISE), np.hypot(HALF, TRUSS_RISE - down)
    return np.asarray(2 * STIFFNESS * (rest - length) * (TRUSS_RISE - down) / length)


@case(tolerance=1e-6, unit="N")
def shallow_truss() -> CaseResult:
    """Shallow truss of two bars that snaps through.

    The path continues through both limit points, where the load reverses.
    Compared: The two limit loads of the path.
    Source: R. von Mises, Über die Stabilitätsprobleme der Elastizitätstheorie, ZAMM 3 (1923) 406-422; extremes of its formula
    by SciPy.
    """
    found = scipy.optimize.minimize_scalar(
        lambda x: -force(x), bounds=(0, TRUSS_RISE), method="bounded", options={"xatol": 1e-12}
    )
    limit = -found.fun
    path = continuation(derive(load_text(SHALLOW_TRUSS)), parameter="push", to=1.5 * limit)
    down = np.linspace(0, 2 * TRUSS_RISE, 50)
    lines = (Line("path", -path.q[:, 0], path.value), Line("formula", down, force(down), exact=True))
    value = [point.value for point in path.special if point.kind == "limit"]
    return CaseResult(value, [limit, -limit], Plot("sinks by [m]", "force [N]", lines))


MASS, HEIGHT, ACROSS, ALONG = 0.5, 0.06, 8e-4, 5e-4
SLEEPING_TOP = f"""
pliant: 1
bodies:
  gimbal: {{}}
  top: {{mass: {MASS} kg, center_of_mass: [0, 0, {HEIGHT} m], inertia: {{principal: [{ACROSS}, {ACROSS}, {ALONG} kg*m^2]}}}}
joints:
  lean: {{type: universal, child: gimbal, axis1: x, axis2: y}}
  spin: {{type: revolute, parent: gimbal, child: top, axis: z}}
"""


@case(tolerance=1e-5, unit="rad/s")
def sleeping_top() -> CaseResult:
    """Upright top at the spin rate that stabilizes it.

    The critical spin is found by bisection on whether a small motion grows; rates are included, because the motion is steady.
    Compared: Smallest spin at which small motions about the upright pose do not grow.
    Source: J.-L. Lagrange (1788): (C w)^2 = 4 A m g l with A about the point of support; H. Goldstein, Classical Mechanics, 2nd
    ed. (1980), section 5-7.
    """
    eqs = derive(load_text(SLEEPING_TOP))
    low, high = 50.0, 250.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        stable = not any(kind == "unstable" for kind in modes(eqs, at={"d(spin)/dt": middle}).kinds)
        low, high = (low, middle) if stable else (middle, high)
    inertia = ACROSS + MASS * HEIGHT**2
    return CaseResult((low + high) / 2, np.sqrt(4 * inertia * MASS * 9.81 * HEIGHT) / ALONG)


RATIO = 1.5
"""Ratio of torsional to bending stiffness."""
TWISTED_RING = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{turned: 0 rad}}
sections:
  round: {{shape: stiffness, stiffness: [1e4, 1e4, 1e4, 1, 1, {RATIO}], mass_per_length: 1, inertia_per_length: [1e-3, 1e-3, 2e-3]}}
bodies: {{collar: {{}}}}
joints: {{turn: {{type: revolute, axis: z, child: collar, angle: {{motion: =turned}}}}}}
rods:
  ring:
    length: =2*pi
    section: round
    shape: {{type: arc, angle: 360 deg}}
    stress_free: false
    frames: {{half: =pi}}
    model: {{kind: finite_element, elements: 16}}
constraints:
  closed: {{between: [collar, ring.tip], components: all}}
  plane: {{between: [world, ring.half], components: [y]}}
"""


@case(tolerance=3e-3, unit="rad", quick=False)
def twisted_ring() -> CaseResult:
    """Ring that buckles out of its plane when twisted.

    The ring is fixed at one section, where it is twisted, and against rotation about the tangent there, which costs no energy:
    only its rigid-body motions are removed.
    Compared: Angle by which a ring, bent of a straight rod, can be twisted before it buckles out of its plane.
    Source: J. H. Michell, On the stability of a bent and twisted wire, Messenger of Mathematics 19 (1889-90) 181-184; A. Goriely,
    Twisted elastic rings and the rediscoveries of Michell's instability, J. Elasticity 84 (2006) 281-299: 2 pi sqrt(3) EI/GJ.
    """
    exact = 2 * np.pi * np.sqrt(3) / RATIO
    path = continuation(derive(load_text(TWISTED_RING)), parameter="turned", to=1.05 * exact)
    return CaseResult(path.special[0].value, exact)


SPAN, WILLIAMS_RISE, WILLIAMS_EA, WILLIAMS_EI = 12.943, 0.386, 1.885e6, 9.274e3
"""Half span and rise [inch], stiffness of the bars [lb, lb inch^2]; the unit of length of the model is the inch."""
LEAN = float(np.pi / 2 - np.arctan2(WILLIAMS_RISE, SPAN))
"""Angle of the bar from the vertical [rad]."""
WILLIAMS_LENGTH = float(np.hypot(SPAN, WILLIAMS_RISE))
WILLIAMS_TOGGLE = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{down: 0 m}}
sections:
  bar: {{shape: stiffness, stiffness: [1e9, 1e9, {WILLIAMS_EA}, 1, {WILLIAMS_EI}, 1], mass_per_length: 1,
        inertia_per_length: [1, 1, 1]}}
rods:
  bar:
    rotation: {{axis: y, angle: {LEAN}}}
    length: {WILLIAMS_LENGTH} m
    section: bar
    strains: planar
    model: {{kind: finite_element, elements: 8}}
bodies: {{apex: {{frames: {{knot: {{rotation: {{axis: y, angle: {LEAN}}}}}}}}}}}
joints:
  rail: {{type: prismatic, axis: z, child: apex, displacement: {{motion: =-down}}, position: [{SPAN} m, 0, {WILLIAMS_RISE} m]}}
constraints: {{knot: {{between: [apex.knot, bar.tip], components: [x, z, ry]}}}}
outputs: {{carried: {{reaction: rail, component: z, expressed_in: world}}}}
"""
WILLIAMS_DOWN = np.linspace(0.05, 0.65, 13)


def williams_exact() -> np.ndarray:
    """Load of the whole frame [lb] at deflections of the apex: a bar that bends and stretches, by a boundary-value problem."""
    slope_at_rest = np.arctan2(WILLIAMS_RISE, SPAN)

    def slopes(s: np.ndarray, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        along = p[0] * np.cos(y[2]) + p[1] * np.sin(y[2])
        across = -p[0] * np.sin(y[2]) + p[1] * np.cos(y[2])
        stretch = 1 + along / WILLIAMS_EA
        return np.vstack([stretch * np.cos(y[2]), stretch * np.sin(y[2]), y[3] / WILLIAMS_EI, -stretch * across])

    s = np.linspace(0, WILLIAMS_LENGTH, 31)
    y = np.vstack([s * np.cos(slope_at_rest), s * np.sin(slope_at_rest), np.full_like(s, slope_at_rest), 0 * s])
    p, loads = np.array([0.0, 0.0]), []
    for down in WILLIAMS_DOWN:

        def ends(a: np.ndarray, b: np.ndarray, p: np.ndarray, down: float = down) -> np.ndarray:
            held = [b[0] - SPAN, b[1] - WILLIAMS_RISE + down, b[2] - slope_at_rest]
            return np.array([a[0], a[1], a[2] - slope_at_rest, *held])

        found = scipy.integrate.solve_bvp(slopes, ends, s, y, p=p, tol=1e-8, max_nodes=20000)
        assert found.success
        s, y, p = found.x, found.y, found.p
        loads.append(-2 * p[1])
    return np.array(loads)


@case(tolerance=3e-3, measure="of the largest", unit="lb")
def williams_toggle() -> CaseResult:
    """Shallow frame of two bars that snaps through (Williams' toggle).

    Half of the frame, with the deflection as parameter of the path.
    Compared: Load of the frame at thirteen deflections of its apex, through the limit point and back up.
    Source: F. W. Williams, An approach to the non-linear behaviour of the members of a rigid jointed plane framework with
    finite deflections, Quart. J. Mech. Appl. Math. 17 (1964) 451-469; the extensible elastica by SciPy.
    """
    path = continuation(
        derive(load_text(WILLIAMS_TOGGLE)), parameter="down", to=float(WILLIAMS_DOWN[-1]), max_step=0.02
    )
    value = np.interp(WILLIAMS_DOWN, path.value, -2 * path["carried"])
    reference = williams_exact()
    lines = (Line("path", path.value, -2 * path["carried"]), Line("elastica", WILLIAMS_DOWN, reference, exact=True))
    return CaseResult(value, reference, Plot("deflection of the apex [inch]", "load [lb]", lines))


ZIEGLER_PENDULUM = """
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


@case(tolerance=1e-5)
def ziegler_pendulum() -> CaseResult:
    """Double pendulum that flutters under a force along its second bar.

    The critical load is found by bisection on whether a small motion grows.
    Compared: Load P l/k at which two bars on springs, with masses 2 m and m at their ends, begin to flutter.
    Source: H. Ziegler, Die Stabilitätskriterien der Elastomechanik, Ingenieur-Archiv 20 (1952) 49-56: 7/2 - sqrt(2).
    """
    eqs = derive(load_text(ZIEGLER_PENDULUM))
    low, high = 1.0, 3.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        stable = modes(eqs, at="initial", parameters={"push": middle}).stable
        low, high = (middle, high) if stable else (low, middle)
    return CaseResult((low + high) / 2, 7 / 2 - np.sqrt(2))


VAN_DER_POL = """
pliant: 1
world: {gravity: [0, 0, 0]}
bodies: {mass: {mass: 1 kg}}
joints:
  x:
    type: prismatic
    child: mass
    axis: x
    displacement: {initial: 0.1 m, spring: 1 N/m, damper: "=((displacement/1 m)^2 - 1)*1 N*s/m"}
"""


@case(tolerance=1e-8)
def van_der_pol() -> CaseResult:
    """Limit cycle of van der Pol's oscillator.

    A damper that drives small motions and damps large ones.
    Compared: Period [s] and amplitude [m] for mu = 1.
    Source: P. Amore, J. P. Boyd and F. M. Fernandez, High order analysis of the limit cycle of the van der Pol oscillator,
    Journal of Mathematical Physics 59 (2018), by recurrences.
    """
    found = periodic(derive(load_text(VAN_DER_POL)), tolerance=1e-9)
    return CaseResult(np.array([found.period, found.largest[0]]), np.array([6.6632868593231301, 2.0086198608748431]))


SHAKEN_PENDULUM = """
pliant: 1
world: {gravity: [0, 0, -9.81]}
parameters: {stroke: 0.4 m, rate: 3 rad/s}
bodies: {cart: {mass: 1 kg}, bob: {mass: 1 kg, center_of_mass: [0, 0, -2 m]}}
joints:
  pivot: {type: prismatic, child: cart, axis: z, displacement: {motion: "=stroke*cos(rate*t)"}}
  swing: {type: revolute, parent: cart, child: bob, axis: y}
"""


@case(tolerance=1e-7, unit="rad/s", quick=False)
def shaken_pendulum() -> CaseResult:
    """Tongue of instability of a pendulum whose pivot is shaken.

    Both ends are period doublings.
    Compared: Frequencies at which the hanging pendulum loses and regains its stability.
    Source: E. Mathieu (1868): rate = sqrt(4 g/(l a)) with the characteristic values a of the functions ce_1 and se_1 at q = 2
    stroke/l, by SciPy.
    """
    found = periodic(derive(load_text(SHAKEN_PENDULUM)), parameter="rate", to=8.0, max_step=0.05)
    edges = found.values[np.array(found.bifurcations) == "period doubling"]
    values = np.array([scipy.special.mathieu_a(1, 0.4), scipy.special.mathieu_b(1, 0.4)])
    return CaseResult(edges, np.sort(np.sqrt(4 * 9.81 / (2.0 * values))))
