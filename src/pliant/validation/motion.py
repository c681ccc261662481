"""Motions with exact solutions or reference solutions by SciPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy

from pliant.analysis.derivation.derive import derive
from pliant.analysis.simulate import simulate
from pliant.engine.equations import Equations
from pliant.robot.reader import load, load_text
from pliant.validation.case import CaseResult, Line, Plot, cases_of

case = cases_of("Motion")

L1, L2, M1, M2, G = 0.4, 0.3, 0.3, 0.2, 9.81


def double_slope(_: float, y: np.ndarray) -> np.ndarray:
    """Of the angles of two uniform rods from the vertical, and of their rates."""
    a, b, da, db = y
    c, s = np.cos(a - b), np.sin(a - b)
    coupling = M2 * L1 * L2 / 2
    M = np.array([[M1 * L1**2 / 3 + M2 * L1**2, coupling * c], [coupling * c, M2 * L2**2 / 3]])
    first = -coupling * s * db**2 - (M1 / 2 + M2) * G * L1 * np.sin(a)
    second = coupling * s * da**2 - M2 * G * L2 / 2 * np.sin(b)
    return np.concatenate([[da, db], np.linalg.solve(M, [first, second])])


@case(tolerance=1e-3, measure="absolute", unit="rad")
def double_pendulum() -> CaseResult:
    """Double pendulum compared with its textbook equations.

    The bundled double pendulum; its second angle is relative to the first rod.
    Compared: Angles of both rods at 200 moments of the first 3 s.
    Source: L. D. Landau and E. M. Lifshitz, Mechanics, 3rd ed. (1976), section 5, problem 1, with uniform rods; integrated by
    SciPy (DOP853, 1e-12).
    """
    run = simulate(derive("double_pendulum"), 3.0)
    time, q = np.asarray(run.time), np.asarray(run.q)
    value = np.cumsum(q, axis=1)
    found = scipy.integrate.solve_ivp(
        double_slope, (0, 3.0), [*value[0], 0, 0], method="DOP853", t_eval=time, rtol=1e-12, atol=1e-12
    )
    lines = (Line("lower rod", time, value[:, 1]), Line("SciPy", time, found.y[1], exact=True))
    return CaseResult(value, found.y[:2].T, Plot("time [s]", "angle [rad]", lines))


FALLING_WITH_DRAG = """
pliant: 1
bodies: {ball: {mass: 0.5 kg}}
joints: {drop: {type: prismatic, axis: z, child: ball, displacement: {damper: {coefficient: 0.02, power: 2}}}}
"""


@case(tolerance=1e-4, measure="of the largest", unit="m/s")
def falling_with_drag() -> CaseResult:
    """Fall against a drag that grows with the square of the speed.

    From rest.
    Compared: Speed at 200 moments of a fall of 5 s.
    Source: v_t tanh(g t/v_t) with v_t = sqrt(m g/c): H. Lamb, Dynamics, 2nd ed. (1923).
    """
    run = simulate(derive(load_text(FALLING_WITH_DRAG)), 5.0)
    limit = np.sqrt(0.5 * 9.81 / 0.02)
    time, value = np.asarray(run.time), -np.asarray(run["drop"].rate)
    exact = limit * np.tanh(9.81 * time / limit)
    return CaseResult(
        value,
        exact,
        Plot("time [s]", "speed [m/s]", (Line("fall", time, value), Line("tanh", time, exact, exact=True))),
    )


INERTIA = np.array([1.0, 2.0, 3.0])
FREE_RIGID_BODY = """
pliant: 1
world: {gravity: [0, 0, 0]}
bodies: {stone: {mass: 1 kg, inertia: {principal: [1, 2, 3 kg*m^2]}}}
joints: {ball: {type: spherical, child: stone, orientation: {rate: [0.4 rad/s, 0, 1 rad/s]}}}
"""


def rigid_body_exact(time: np.ndarray) -> np.ndarray:
    """Angular velocity in the body's axes (n x 3), which begins with w_2 = 0 and has 2 E I_2 below the angular momentum squared."""
    first, middle, last = INERTIA
    spin = np.array([0.4, 0.0, 1.0])
    energy, momentum = float(INERTIA @ spin**2), float(INERTIA**2 @ spin**2)
    assert momentum > energy * middle
    amplitudes = np.sqrt(
        [
            (energy * last - momentum) / (first * (last - first)),
            (energy * last - momentum) / (middle * (last - middle)),
            (momentum - energy * first) / (last * (last - first)),
        ]
    )
    rate = np.sqrt((last - middle) * (momentum - energy * first) / (first * middle * last))
    m = (middle - first) * (energy * last - momentum) / ((last - middle) * (momentum - energy * first))
    sn, cn, dn, _ = scipy.special.ellipj(rate * time, m)
    return np.asarray(amplitudes * np.array([cn, sn, dn]).T)


@case(tolerance=1e-4, measure="of the largest", unit="rad/s")
def free_rigid_body() -> CaseResult:
    """Free body that tumbles about its middle axis.

    Moments of inertia 1, 2 and 3 kg m^2.
    Compared: Angular velocity in the body's axes at 200 moments of 30 s.
    Source: L. Euler (1758), C. G. J. Jacobi (1849); L. D. Landau and E. M. Lifshitz, Mechanics, 3rd ed. (1976), section 37,
    eqs. (37.8)-(37.10). Elliptic functions by SciPy.
    """
    run = simulate(derive(load_text(FREE_RIGID_BODY)), 30.0)
    time, value = np.asarray(run.time), np.asarray(run.v)
    reference = rigid_body_exact(time)
    lines = [Line(f"w{k + 1}", time, value[:, k]) for k in range(2)]
    return CaseResult(
        value,
        reference,
        Plot("time [s]", "angular velocity [rad/s]", (*lines, Line("Jacobi, w2", time, reference[:, 1], exact=True))),
    )


TOP_MASS, HEIGHT, ACROSS, ALONG, LEAN, SPIN = 0.5, 0.06, 8e-4, 5e-4, 0.5, 300.0


def rates() -> tuple[float, float]:
    """The slow and the fast precession [rad/s]: A cos(lean) p^2 - C w p + m g l = 0, with w the spin about the top's axis."""
    inertia = ACROSS + TOP_MASS * HEIGHT**2
    slow, fast = np.sort(np.roots([inertia * np.cos(LEAN), -ALONG * SPIN, TOP_MASS * 9.81 * HEIGHT]).real)
    return float(slow), float(fast)


def top_model(precession: float) -> str:
    """The top, inclined towards +x, with the angular velocity of a steady precession in its own axes."""
    rate = [float(-precession * np.sin(LEAN)), 0.0, SPIN]
    return f"""
pliant: 1
bodies:
  top: {{mass: {TOP_MASS} kg, center_of_mass: [0, 0, {HEIGHT} m], inertia: {{principal: [{ACROSS}, {ACROSS}, {ALONG} kg*m^2]}},
        frames: {{head: {{position: [0, 0, 10 cm]}}}}}}
joints: {{ball: {{type: spherical, child: top, orientation: {{initial: {{axis: y, angle: {LEAN}}}, rate: {rate}}}}}}}
outputs: {{head: {{frame: top.head, quantity: position}}}}
"""


@case(tolerance=1e-4)
def heavy_top() -> CaseResult:
    """Heavy top that precesses at a constant inclination.

    The top starts in a steady precession, the slow and the fast one.
    Compared: Rate of the slow and of the fast precession, and the lean after a second [rad/s, rad].
    Source: J.-L. Lagrange (1788); H. Goldstein, Classical Mechanics, 2nd ed. (1980), section 5-7: the quadratic equation of
    steady precession.
    """
    value, reference = [], []
    for rate in rates():
        run = simulate(derive(load_text(top_model(rate))), 1.0, save_every=1e-3)
        x, y, z = run["head"].values.T
        turned = np.unwrap(np.arctan2(y, x))
        value += [(turned[-1] - turned[0]) / 1.0, float(np.arccos(z[-1] / 0.1))]
        reference += [rate, LEAN]
    return CaseResult(value, reference)


PERIOD_ANGLES = np.radians([30.0, 90.0, 150.0, 175.0])


def period_exact(amplitude: float) -> float:
    """Period of the bundled pendulum, a uniform rod of 0.5 m [s]."""
    return float(4 * np.sqrt(2 * 0.5 / (3 * 9.81)) * scipy.special.ellipk(np.sin(amplitude / 2) ** 2))


def period(eqs: Equations, amplitude: float) -> float:
    """From the first to the third passage of the lowest point [s]."""
    run = simulate(
        eqs, 2.2 * period_exact(amplitude), start={"hinge": amplitude}, save_every=period_exact(amplitude) / 400
    )
    time, angle = np.asarray(run.time), np.asarray(run["hinge"].values)
    cubic = scipy.interpolate.CubicSpline(time, angle)
    passes = [x for x in cubic.roots() if 0 < x < time[-1]]
    return float(passes[2] - passes[0])


@case(tolerance=1e-5, unit="s")
def pendulum_period() -> CaseResult:
    """Period of a pendulum at large amplitude.

    The bundled pendulum, from rest at its amplitude.
    Compared: Period at amplitudes of 30, 90, 150 and 175 degrees.
    Source: A.-M. Legendre, Traité des fonctions elliptiques (1825); 4 sqrt(J/(m g s)) K(sin(a/2)): L. D. Landau and E. M.
    Lifshitz, Mechanics, 3rd ed. (1976), section 11, problem 1. Elliptic integral by SciPy.
    """
    eqs = derive("pendulum")
    value = [period(eqs, float(x)) for x in PERIOD_ANGLES]
    fine = np.linspace(5, 178, 40)
    lines = (
        Line("simulated", np.degrees(PERIOD_ANGLES), value),
        Line("elliptic integral", fine, [period_exact(np.radians(x)) for x in fine], exact=True),
    )
    return CaseResult(
        value, [period_exact(float(x)) for x in PERIOD_ANGLES], Plot("amplitude [deg]", "period [s]", lines)
    )


COUNT = 60


@case(tolerance=1e-3, measure="absolute")
def plucked_chain() -> CaseResult:
    """Chain of masses on springs, released at its end.

    Relative to the initial displacement of the last mass; all modes are excited.
    Compared: Displacements of all sixty masses at 200 moments of 60 s, in which waves go to and fro ten times.
    Source: J.-L. Lagrange (1759): the sum of all modes; L. Brillouin, Wave Propagation in Periodic Structures (1946), chapter
    I. Eigenvectors by NumPy.
    """
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


ROTATING_TUBE = """
pliant: 1
world: {gravity: [0, 0, 0]}
bodies: {tube: {}, bead: {mass: 0.1 kg}}
joints:
  turn: {type: revolute, axis: z, child: tube, angle: {motion: "=5 rad/s*t"}}
  slide: {type: prismatic, axis: x, parent: tube, child: bead, displacement: {initial: 10 cm}}
outputs: {torque: {reaction: turn, quantity: moment, component: z}}
"""


@case(tolerance=1e-5)
def rotating_tube() -> CaseResult:
    """Bead that slides outward in a rotating tube.

    The tube rotates at a constant speed.
    Compared: Place of the bead after 1 s, and the torque that turns the tube then [m, N m].
    Source: r0 cosh(w t), and the torque of Coriolis' force 2 m w r r': L. Meirovitch, Methods of Analytical Dynamics (1970),
    chapter 3.
    """
    run = simulate(derive(load_text(ROTATING_TUBE)), 1.0)
    place, speed = 0.1 * np.cosh(5), 0.1 * 5 * np.sinh(5)
    return CaseResult([run["slide"].values[-1], run["torque"].values[-1]], [place, 2 * 0.1 * 5 * place * speed])


CRANK, ROD, SPEED, CRANK_MASS = 0.1, 0.3, 20.0, 0.5
SLIDER_CRANK = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
bodies:
  crank: {{frames: {{pin: {{position: [{CRANK} m, 0, 0]}}}}}}
  rod: {{frames: {{end: {{position: [{ROD} m, 0, 0]}}}}}}
  slider: {{mass: {CRANK_MASS} kg}}
joints:
  shaft: {{type: revolute, axis: z, child: crank, angle: {{motion: "={SPEED} rad/s*t"}}}}
  pin: {{type: revolute, axis: z, parent: crank.pin, child: rod}}
  rail: {{type: prismatic, axis: x, child: slider, displacement: {{initial: {CRANK + ROD} m}}}}
constraints: {{wrist: {{between: [slider, rod.end], components: [x, y]}}}}
outputs: {{torque: {{reaction: shaft, quantity: moment, component: z}}}}
"""


def crank_exact(angle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position of the slider [m], and the torque at the crank [N m], which does work on the slider only."""
    lean = np.sqrt(ROD**2 - (CRANK * np.sin(angle)) ** 2)
    place = CRANK * np.cos(angle) + lean
    by_angle = -CRANK * np.sin(angle) - CRANK**2 * np.sin(angle) * np.cos(angle) / lean
    twice = (
        -CRANK * np.cos(angle)
        - CRANK**2 * np.cos(2 * angle) / lean
        - (CRANK**2 * np.sin(angle) * np.cos(angle)) ** 2 / lean**3
    )
    return place, CRANK_MASS * SPEED**2 * twice * by_angle


@case(tolerance=1e-6, measure="absolute")
def slider_crank() -> CaseResult:
    """Slider-crank at constant speed.

    Crank and rod have no mass.
    Compared: Place of the slider and torque at the crank over a turn, each over its largest [-].
    Source: J. J. Uicker, G. R. Pennock and J. E. Shigley, Theory of Machines and Mechanisms, 3rd ed. (2003), sections 2.9 and
    16.2: x = r cos a + sqrt(l^2 - r^2 sin^2 a), torque by virtual work.
    """
    run = simulate(derive(load_text(SLIDER_CRANK)), 2 * np.pi / SPEED)
    angle = SPEED * np.asarray(run.time)
    place, torque = crank_exact(angle)
    value = np.array([run["rail"].values / place.max(), run["torque"].values / torque.max()])
    lines = (Line("torque", angle, run["torque"].values), Line("virtual work", angle, torque, exact=True))
    return CaseResult(
        value, np.array([place / place.max(), torque / torque.max()]), Plot("angle [rad]", "torque [N m]", lines)
    )


STRUCK_BAR = """
pliant: 1
world: {gravity: [0, 0, 0]}
materials: {steel: {density: 7800 kg/m^3, youngs_modulus: 200 GPa, poissons_ratio: 0.3}}
sections: {round: {shape: circle, radius: 1 cm}}
bodies: {hammer: {mass: 2 kg, shape: {type: sphere, radius: 3 cm}}}
rods: {bar: {length: 1 m, section: round, material: steel, model: {kind: cosserat, elements: 40}}}
joints: {weld: {type: weld, parent: bar.tip, child: hammer}}
"""


@case(tolerance=0.03, measure="absolute")
def struck_bar() -> CaseResult:
    """Bar that is struck at its end by a mass.

    Forty elements cannot resolve the jump at the front of the wave, where the error is.
    Compared: Speed of the mass until the wave returns, over the speed at which it struck.
    Source: A. Barré de Saint-Venant (1867); W. Goldsmith, Impact (1960), section 3.3: exp(-impedance t/m).
    """
    eqs = derive(load_text(STRUCK_BAR))
    impedance, back = np.sqrt(200e9 * 7800) * np.pi * 1e-4, 2.0 / np.sqrt(200e9 / 7800)
    k = eqs.rates.index("bar.section[40].z")
    v = np.zeros(len(eqs.rates))
    v[k] = -1.0
    run = simulate(eqs, 0.95 * back, start=replace(eqs.initial_state(), v=v))
    time = np.asarray(run.time)
    exact = np.exp(-impedance * time / 2.0)
    lines = (Line("mass", 1e6 * time, -run.v[:, k]), Line("Saint-Venant", 1e6 * time, exact, exact=True))
    return CaseResult(-run.v[:, k], exact, Plot("time [µs]", "speed [-]", lines))


RADIUS = 0.2
TAUTOCHRONE = f"""
pliant: 1
bodies: {{carriage: {{}}, wheel: {{mass: 1 kg, center_of_mass: [0, 0, -{RADIUS} m]}}}}
joints:
  roll: {{type: prismatic, axis: x, child: carriage, displacement: {{equal_to: {{coordinate: turn, ratio: {RADIUS} m}}}}}}
  turn: {{type: revolute, axis: [0, -1, 0], parent: carriage, child: wheel}}
"""
TAUTOCHRONE_ANGLES = (0.3, 1.5, 2.9)


@case(tolerance=1e-5, unit="s")
def tautochrone() -> CaseResult:
    """Mass on a cycloid, whose period does not depend on its amplitude.

    The rim of the wheel traces the cycloid; its angle is 0 at the lowest point of the mass.
    Compared: Period of a mass on the rim of a massless wheel that rolls below a ceiling, from three starts.
    Source: C. Huygens, Horologium Oscillatorium (1673), part II, proposition 25: 4 pi sqrt(r/g), whatever the amplitude.
    """
    eqs, exact = derive(load_text(TAUTOCHRONE)), 4 * np.pi * np.sqrt(RADIUS / 9.81)
    value, lines = [], []
    for angle in TAUTOCHRONE_ANGLES:
        run = simulate(eqs, 2.2 * exact, start={"turn": angle}, save_every=exact / 400)
        time, turn = np.asarray(run.time), np.asarray(run["turn"].values)
        passes = [x for x in scipy.interpolate.CubicSpline(time, turn).roots() if 0 < x < time[-1]]
        value.append(passes[2] - passes[0])
        lines.append(Line(f"from {angle:g} rad", time, 4 * RADIUS * np.sin(turn / 2)))
    return CaseResult(value, exact, Plot("time [s]", "way along the curve [m]", tuple(lines)))
