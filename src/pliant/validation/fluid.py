"""Bodies in a fluid: Kirchhoff's equations, floating, sinking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from pliant.analysis.derivation.derive import derive
from pliant.analysis.equilibrium import equilibrium
from pliant.analysis.modes import modes
from pliant.analysis.simulate import simulate
from pliant.robot.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, cases_of

case = cases_of("Fluid")

SEMI_AXES, WATER = np.array([0.3, 0.2, 0.1]), 1000.0
ELLIPSOID = """
pliant: 1
world: {{gravity: [0, 0, 0], fluid: {{density: 1000 kg/m^3}}}}
bodies:
  hull: {{mass: 40 kg, shape: {{type: ellipsoid, semi_axes: [0.3 m, 0.2 m, 0.1 m]}}, fluid: {{drag: none}}}}
joints:
  flight: {{type: free, child: hull, x: {{rate: {v[0]}}}, y: {{rate: {v[1]}}}, z: {{rate: {v[2]}}},
    orientation: {{rate: [{w[0]}, {w[1]}, {w[2]}]}}}}
"""


def ellipsoid_masses(mass: float) -> tuple[np.ndarray, np.ndarray]:
    """Masses along the axes and moments about them of the ellipsoid and of the fluid that it moves: Lamb's integrals by SciPy."""
    a = SEMI_AXES
    displaced = WATER * 4 / 3 * np.pi * a.prod()
    shares = np.array(
        [2 / 3 * a.prod() * scipy.special.elliprd(a[k - 2] ** 2, a[k - 1] ** 2, a[k] ** 2) for k in range(3)]
    )
    moments = []
    for k in range(3):
        b, c, beta, gamma = a[k - 2] ** 2, a[k - 1] ** 2, shares[k - 2], shares[k - 1]
        added = displaced / 5 * (b - c) ** 2 * (gamma - beta) / (2 * (b - c) + (b + c) * (beta - gamma))
        moments.append(mass * (b + c) / 5 + added)
    return mass + displaced * shares / (2 - shares), np.array(moments)


@case(tolerance=1e-6, measure="of the largest")
def kirchhoff_ellipsoid() -> CaseResult:
    """Drag-free motion of an ellipsoid in an ideal fluid.

    Axes 3:2:1, tumbling about all of them.
    Compared: Place [m] and axes of the body at twenty moments, over the distance travelled.
    Source: G. Kirchhoff (1869), equations of motion in H. Lamb, Hydrodynamics (1932), articles 124 and 125, with the added mass
    of articles 114 and 115; integrals and motion by SciPy (tolerance 1e-12).
    """
    v, w = np.array([0.5, 0.2, -0.1]), np.array([0.4, -0.7, 0.3])
    eqs = derive(load_text(ELLIPSOID.format(v=v, w=w)))
    times = np.linspace(0, 5, 21)
    run = simulate(eqs, 5.0, save_every=0.25, rtol=1e-9, atol=1e-11)
    masses, moments = ellipsoid_masses(40.0)

    def rates(t: float, x: np.ndarray) -> np.ndarray:
        R, momenta = x[3:12].reshape(3, 3), x[12:18]
        u, o = momenta[:3] / masses, momenta[3:] / moments
        return np.concatenate(
            [
                R @ u,
                (R @ np.cross(np.eye(3), o)).ravel(),
                np.cross(momenta[:3], o),
                np.cross(momenta[3:], o) + np.cross(momenta[:3], u),
            ]
        )

    start = np.concatenate([np.zeros(3), np.eye(3).ravel(), masses * v, moments * w])
    exact = scipy.integrate.solve_ivp(rates, (0, 5), start, t_eval=times, rtol=1e-12, atol=1e-12).y[:12].T
    places = np.array([_pose(q) for q in np.asarray(run.q)])
    lines = [Line(axis, times, places[:, k]) for k, axis in enumerate("xyz")]
    lines += [Line(f"{axis} (SciPy)", times, exact[:, k], exact=True) for k, axis in enumerate("xyz")]
    return CaseResult(places, exact, Plot("time [s]", "place [m]", tuple(lines)))


def _pose(q: np.ndarray) -> np.ndarray:
    """Place and rotation matrix, by rows, of a free body."""
    R = scipy.spatial.transform.Rotation.from_quat(q[3:7], scalar_first=True).as_matrix()
    return np.concatenate([q[:3], R.ravel()])


@case(tolerance=2e-3, measure="of the largest")
def broadside_motion() -> CaseResult:
    """Only broadside motion of an ellipsoid in an ideal fluid is stable.

    Along the longest axis it turns away about both others, along the shortest it swings.
    Compared: Rate of turning about the other axes at ten moments, of an ellipsoid that moves along each of its axes with a
    small disturbance, over that disturbance.
    Source: H. Lamb, Hydrodynamics (1932), article 124: with masses A, B and the moment R, w'' = -U^2 A (A - B)/(B R) w.
    """
    masses, moments = ellipsoid_masses(40.0)
    speed, small, times = 1.0, 1e-5, np.linspace(0, 1.5, 11)
    value, exact = [], []
    for along in range(3):
        w = np.zeros(3)
        w[[along - 2, along - 1]] = small
        eqs = derive(load_text(ELLIPSOID.format(v=speed * np.eye(3)[along], w=w)))
        run = simulate(eqs, 1.5, save_every=0.15, rtol=1e-10, atol=1e-14)
        for about in (along - 2, along - 1):
            other = 3 - along - about % 3
            A, B = masses[along], masses[other]
            square = speed**2 * A * (A - B) / (B * moments[about])
            growth = np.cos(np.sqrt(square + 0j) * times).real
            value.append(np.asarray(run.v)[:, 3 + about % 3] / small)
            exact.append(growth)
    scale = np.abs(exact).max(axis=1, keepdims=True)
    lines = [Line(f"axis {k // 2 + 1}", times, value[k] / scale[k]) for k in range(6)]
    return CaseResult(np.array(value) / scale, np.array(exact) / scale, Plot("time [s]", "rate [-]", tuple(lines)))


FLOATING = """
pliant: 1
world: {{gravity: [0, 0, -9.81], fluid: {{density: 1000 kg/m^3, surface: 20 cm}}}}
bodies:
  hull: {{mass: {mass}, inertia: {{principal: [0.05, 0.06, 0.07]}}, shape: {shape}, fluid: {{drag: none, {added}}}}}
joints:
  heave: {{type: prismatic, axis: z, child: carriage}}
  roll: {{type: revolute, axis: x, parent: carriage, child: hull{height}}}
"""
ADDED = np.diag([0, 0, 3.0, 0.02, 0, 0])


def floating(shape: str, mass: float, *, added: bool = False) -> Any:
    """A body that heaves and rolls."""
    text = FLOATING.format(
        mass=mass, shape=shape, height="", added=f"added_mass: {ADDED.tolist()}" if added else "has_added_mass: false"
    )
    return derive(load_text(text.replace("  hull:", "  carriage: {}\n  hull:")))


R, L, A, B, H = 0.1, 0.5, 0.5, 0.3, 0.2
SOLIDS = {
    "box": f"{{type: box, size: [{A}, {B}, {H}]}}",
    "sphere": f"{{type: sphere, radius: {R}}}",
    "lying cylinder": f"{{type: cylinder, radius: {R}, length: {L}, axis: x}}",
    "upright cylinder": f"{{type: cylinder, radius: {L}, length: {R}, axis: z}}",
    "ellipsoid": f"{{type: ellipsoid, semi_axes: [{A}, {B}, {H}]}}",
}


@case(tolerance=1e-7)
def floating_bodies() -> CaseResult:
    """Waterlines of floating bodies, and their periods of heave and roll.

    At a quarter to two thirds of the density of water; the centre of mass is that of the shape.
    Compared: Height of the centre above the surface [m], and periods of heave and roll [s], of a box, a sphere, a lying and an
    upright cylinder and an ellipsoid, the first with given added mass; a body of revolution about the roll axis has no period.
    Source: Archimedes; periods 2 pi sqrt((m + a)/(rho g A)) and 2 pi sqrt((I + J)/(rho g V GM)) with GM = I_A/V - BG (P.
    Bouguer, Traite du navire, 1746); volumes and centres of the immersed parts in closed form, waterlines by SciPy's root.
    """
    value, exact = [], []
    for name, volume, density in (
        ("box", A * B * H, 0.25), ("sphere", 4 / 3 * np.pi * R**3, 0.4), ("lying cylinder", np.pi * R**2 * L, 2 / 3),
        ("upright cylinder", np.pi * L**2 * R, 0.6), ("ellipsoid", 4 / 3 * np.pi * A * B * H, 0.3),
    ):  # fmt: skip
        mass, with_added = density * WATER * volume, name == "box"
        eqs = floating(SOLIDS[name], mass, added=with_added)
        rest = equilibrium(eqs)
        height, area, spread, below = waterline(name, density * volume)
        held = modes(eqs, at=rest.state).frequencies
        periods = np.sort(1 / np.asarray(held)[np.asarray(held) > 1e-4])
        heave = 2 * np.pi * np.sqrt((mass + 3.0 * with_added) / (WATER * 9.81 * area))
        metacentre = spread / (density * volume) - below
        roll = 2 * np.pi * np.sqrt((0.05 + 0.02 * with_added) / (mass * 9.81 * metacentre)) if metacentre > 1e-9 else 0
        expected = np.sort([heave, roll])[-len(periods) :]
        value += [rest.state.q[0] - 0.2, *periods]
        exact += [height, *expected]
    return CaseResult(value, exact)


def waterline(name: str, displaced: float) -> tuple[float, float, float, float]:
    """Height of the centre above the surface [m], area of the waterline [m^2], its second moment about x [m^4], and distance of the
    centre above that of the immersed part [m], of a body in `SOLIDS` that displaces a volume."""
    if name == "box":
        draught = displaced / (A * B)
        return H / 2 - draught, A * B, A * B**3 / 12, H / 2 - draught / 2
    if name == "upright cylinder":
        draught = displaced / (np.pi * L**2)
        return R / 2 - draught, np.pi * L**2, np.pi * L**4 / 4, R / 2 - draught / 2
    if name == "lying cylinder":
        angle = scipy.optimize.brentq(lambda x: (x - np.sin(x)) / 2 * R**2 * L - displaced, 0, 2 * np.pi, xtol=1e-14)
        chord = 2 * R * np.sin(angle / 2)
        return -R * -np.cos(angle / 2), chord * L, L * chord**3 / 12, L * chord**3 / 12 / displaced
    # a sphere, or its affine image
    x, y, z = (R, R, R) if name == "sphere" else (A, B, H)
    unit = displaced / (x * y * z)
    cap = scipy.optimize.brentq(lambda a: np.pi * a**2 * (3 - a) / 3 - unit, 0, 2, xtol=1e-14)
    cut = 1 - (1 - cap) ** 2
    below = np.pi / 4 * cut**2 / unit
    return z * (1 - cap), np.pi * cut * x * y, np.pi / 4 * cut**2 * x * y**3, z * below


@case(tolerance=1e-6, unit="m")
def metacentre() -> CaseResult:
    """Height of the centre of mass at which a barge loses its stability in roll.

    The mast is a point mass that is moved up; the stiffness of roll at rest changes its sign.
    Compared: Height of the metacentre above the keel [m], as the height of the centre of mass above which it capsizes, of
    barges with three proportions.
    Source: P. Bouguer, Traite du navire (1746): KM = T/2 + B^2/(12 T) for a box with the beam B and the draught T.
    """
    value, exact = [], []
    for beam, mass in ((0.3, 10.0), (0.4, 10.0), (0.3, 20.0)):
        text = f"""
pliant: 1
parameters: {{height: 0 m}}
world: {{fluid: {{density: 1000 kg/m^3, surface: 0 m}}}}
bodies:
  carriage: {{}}
  barge: {{mass: {mass / 2}, shape: {{type: box, size: [0.5 m, {beam} m, 0.2 m]}}, fluid: {{drag: none}}}}
  mast: {{mass: {mass / 2}, parent: barge, position: [0, 0, =height]}}
joints:
  heave: {{type: prismatic, axis: z, child: carriage}}
  roll: {{type: revolute, axis: x, parent: carriage, child: barge}}
"""
        eqs = derive(load_text(text))
        draught = mass / WATER / (0.5 * beam)
        q = np.array([0.1 - draught, 0.0])

        def stiffness(height: float, eqs: Any = eqs, q: np.ndarray = q) -> float:
            here = eqs.at(parameters={"height": height})
            return float(here.linearization(q, 0 * q).stiffness.toarray()[1, 1])

        high = scipy.optimize.brentq(stiffness, -0.5, 2.0, xtol=1e-12)
        value.append(0.1 + high / 2)
        exact.append(draught / 2 + beam**2 / (12 * draught))
    return CaseResult(value, exact)


@case(tolerance=2e-3, unit="m")
def moored_buoy() -> CaseResult:
    """A buoy on a heavy line, towed sideways in still water.

    The line is inextensible, and its bending stiffness does not count.
    Compared: Place of the shackle [m], downstream and above the anchor, of the bundled moored buoy at three forces.
    Source: The catenary (J. Bernoulli, G. W. Leibniz, C. Huygens, 1691) of a line with its weight in water, under a buoy that
    sinks in until it displaces its weight and the pull of the line (Archimedes); equations by SciPy's root.
    """
    eqs, value, exact = derive("moored_buoy"), [], []
    line = np.pi * 0.018**2 * (1380 - 1025) * 9.81
    for pull in (150.0, 300.0, 450.0):
        rest = equilibrium(eqs, inputs={"speed": 0.0, "pull": pull})
        value.append(eqs.frame("line.tip", rest.state).position[[0, 2]])

        def place(up: float, pull: float = pull) -> np.ndarray:
            """Upper end of the line under a vertical force [N]."""
            low = up - line * 11
            across = pull / line * (np.arcsinh(up / pull) - np.arcsinh(low / pull))
            return np.array([across, (np.hypot(pull, up) - np.hypot(pull, low)) / line])

        def excess(up: float, place: Any = place) -> float:
            draught = 8 - place(up)[1] - 0.05
            return float(1025 * 9.81 * np.pi * 0.35**2 * draught - 65 * 9.81 - up)

        exact.append(place(scipy.optimize.brentq(excess, 0.0, 1500.0)))
    return CaseResult(value, exact)


BALLS: Sequence[tuple[float, float, float, float]] = (
    (50e-6, 2500.0, 1.0, 1e-1),
    (0.5e-3, 2500.0, 1000.0, 1e-3),
    (2e-3, 7800.0, 1000.0, 1e-3),
    (10e-3, 7800.0, 1000.0, 1e-3),
    (20e-3, 1100.0, 1000.0, 1e-3),
)
"""Radius [m], density [kg/m^3], and density and viscosity of the fluid [kg/m^3, Pa s]."""


@case(tolerance=0.03, unit="m/s")
def terminal_speeds() -> CaseResult:
    """Terminal speeds of spheres from Stokes's to Newton's range.

    Released from rest, until the speed no longer changes.
    Compared: Speed of sinking of five spheres, Reynolds numbers from 1e-6 to 4e4.
    Source: P. P. Brown and D. F. Lawler, Sphere drag and settling velocity revisited, J. Environmental Engineering 129 (2003),
    eq. 19, fitted to 480 measurements: C = 24/Re (1 + 0.150 Re^0.681) + 0.407/(1 + 8710/Re). Pliant uses that of Clift and
    Gauvin (1971).
    """
    value, exact = [], []
    for radius, density, fluid, viscosity in BALLS:
        volume = 4 / 3 * np.pi * radius**3
        pull = (density - fluid) * volume * 9.81

        def excess(speed: float, x: tuple[float, float, float, float] = (radius, fluid, viscosity, pull)) -> float:
            r, rho, mu, force = x
            number = 2 * r * rho * speed / mu
            drag = 24 / number * (1 + 0.150 * number**0.681) + 0.407 / (1 + 8710 / number)
            return float(0.5 * rho * drag * np.pi * r**2 * speed**2 - force)

        speed = scipy.optimize.brentq(excess, 1e-9, 100.0, xtol=1e-15)
        text = f"""
pliant: 1
world: {{fluid: {{density: {fluid}, viscosity: {viscosity}}}}}
bodies: {{ball: {{mass: {density * volume}, shape: {{type: sphere, radius: {radius}}}}}}}
joints: {{fall: {{type: prismatic, axis: z, child: ball}}}}
"""
        run = simulate(derive(load_text(text)), 20 * speed / 9.81 * (1 + fluid / density))
        value.append(-float(np.asarray(run.v)[-1, 0]))
        exact.append(speed)
    return CaseResult(value, exact)
