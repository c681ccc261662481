"""Rods in a fluid: blades, cables and swimmers, against their equations solved by SciPy and closed forms."""

from __future__ import annotations

import numpy as np
import scipy

from pliant.analysis.derivation.derive import derive
from pliant.analysis.equilibrium import equilibrium
from pliant.analysis.modes import modes
from pliant.analysis.simulate import simulate
from pliant.robot.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, cases_of

case = cases_of("Rods in fluid")

CAUCHY = (1.0, 10.0, 100.0, 1000.0)
BLADE_E, BLADE_THICK, BLADE_WIDE = 1e6, 1e-3, 2e-2
BLADE = f"""
pliant: 1
parameters: {{speed: {{value: 0, input: true}}}}
world: {{gravity: [0, 0, 0], fluid: {{density: 1000, current: ["=speed*(1 m/s)", 0, 0]}}}}
sections: {{strip: {{shape: rectangle, width: {BLADE_THICK}, height: {BLADE_WIDE}}}}}
materials: {{plastic: {{density: 1000, youngs_modulus: {BLADE_E}, poissons_ratio: 0.3}}}}
rods:
  blade:
    length: 1 m
    section: strip
    material: plastic
    strains: [kirchhoff, planar]
    fluid: {{normal_drag: [2, 0], axial_drag: 0}}
    model: {{kind: pcs, elements: 80}}
outputs: {{root: {{reaction: blade}}, tip: {{frame: blade.tip}}}}
"""


def blade_exact(number: float) -> tuple[float, float]:
    """Drag relative to the upright blade, and height over length, of an inextensible blade: `theta'' = -F.n` and
    `F' = -Ca cos(theta)^2 n`, with theta the angle from upright, n the normal, in units of its length and bending stiffness."""

    def slope(s: np.ndarray, y: np.ndarray) -> np.ndarray:
        theta, moment, F_x, F_z, _ = y
        c, d = np.cos(theta), np.sin(theta)
        return np.array([moment, -(F_x * c - F_z * d), -number * c**3, number * c**2 * d, c])

    def ends(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.array([a[0], b[1], b[2], b[3], a[4]])

    s = np.linspace(0, 1, 41)
    guess = np.array([s, 1 - s, 0.5 * (1 - s), 0 * s, s])
    solution = None
    for step in np.geomspace(min(0.5, number), number, 12):
        whole, number = number, float(step)
        solution = scipy.integrate.solve_bvp(slope, ends, s, guess, tol=1e-9, max_nodes=20000)
        s, guess, number = solution.x, solution.y, whole
    assert solution is not None, "there are steps"
    return float(solution.y[2, 0] / number), float(solution.y[4, -1])


@case(tolerance=2e-3, quick=False)
def blade_in_current() -> CaseResult:
    """Flexible blade in a steady current.

    The Cauchy number is density C_D width speed^2 length^3 / (2 E I).
    Compared: Drag relative to the upright blade and height over length, at Cauchy numbers of 1, 10, 100 and 1000.
    Source: M. Luhar and H. M. Nepf, Limnology and Oceanography 56 (2011), without buoyancy, normal drag alone; solved by SciPy.
    """
    eqs = derive(load_text(BLADE))
    bending = BLADE_E * BLADE_WIDE * BLADE_THICK**3 / 12
    value, start = [], None
    for number in CAUCHY:
        load = number * bending
        speed = np.sqrt(load / (0.5 * 1000 * 2 * BLADE_WIDE))
        for share in (0.3, 0.6, 0.8, 1.0) if start is not None else (1.0,):
            at = eqs.at(inputs={"speed": share * speed})
            found = equilibrium(at) if start is None else equilibrium(at, start=start)
            start = found.state
        drag = abs(float(np.asarray(found.outputs["root"])[0]))
        value.append((drag / load, float(found.frames["blade.tip"].position[2])))
    reference = [blade_exact(number) for number in CAUCHY]
    drag_line = (
        Line("drag", CAUCHY, [x for x, _ in value]),
        Line("SciPy", CAUCHY, [x for x, _ in reference], exact=True),
    )
    height_line = (
        Line("height", CAUCHY, [x for _, x in value]),
        Line("SciPy", CAUCHY, [x for _, x in reference], exact=True),
    )
    plot = Plot("Cauchy number", "drag, height over the upright blade's", (*drag_line, *height_line), logarithmic=True)
    return CaseResult(value, reference, plot)


IN_WATER = """
pliant: 1
world: {{gravity: [0, 0, 0]{fluid}}}
sections: {{round: {{shape: circle, radius: 5 mm}}}}
materials: {{plastic: {{density: 1200, youngs_modulus: 2 GPa, poissons_ratio: 0.35}}}}
rods: {{arm: {{length: 1 m, section: round, material: plastic, strains: kirchhoff, model: {{kind: gvs, order: 8}}}}}}
"""


@case(tolerance=2e-4)
def cylinder_in_water() -> CaseResult:
    """Vibrating cylinder in still water.

    A cantilever, in both planes.
    Compared: Square of the first four frequencies in water over those in vacuum.
    Source: m/(m + density A): H. Lamb, Hydrodynamics, 6th ed. (1932), article 68.
    """
    wet, dry = (
        modes(derive(load_text(IN_WATER.format(fluid=fluid))), count=4) for fluid in (", fluid: {density: 1000}", "")
    )
    value = (np.asarray(wet.frequencies) / np.asarray(dry.frequencies)) ** 2
    return CaseResult(value, np.full(4, 1200 / 2200))


TOWED_SPEEDS = (0.2, 0.5, 1.0, 2.0)
TOWED = """
pliant: 1
parameters: {speed: {value: 0, input: true}}
world: {fluid: {density: 1025, current: ["=-speed*(1 m/s)", 0, 0]}}
sections: {round: {shape: circle, radius: 5 mm}}
materials: {cable: {density: 4000, youngs_modulus: 1 GPa, poissons_ratio: 0.3}}
bodies: {pin: {mass: 1 g, inertia: {principal: [1e-6, 1e-6, 1e-6]}}}
joints: {tow: {type: revolute, axis: y, child: pin, angle: {initial: 30 deg}}}
rods:
  cable:
    parent: pin
    rotation: {axis: x, angle: 180 deg}
    length: 5 m
    section: round
    material: cable
    strains: [planar, kirchhoff]
    fluid: {normal_drag: 1.2, axial_drag: 0.01}
    model: {kind: pcs, elements: 6}
"""


@case(tolerance=1e-5, unit="rad")
def towed_cable() -> CaseResult:
    """Towed cable.

    Its weight in water balances the drag across it; drag along it changes its tension alone.
    Compared: Angle of a cable from the vertical at four speeds.
    Source: The straight cable with `w cos(phi) = 1/2 density C d U^2 sin(phi)^2`: H. Glauert, ARC R&M 934 (1924); H. O.
    Berteaux, Buoy Engineering (1976), section 4.
    """
    eqs = derive(load_text(TOWED))
    weight, drag = (4000 - 1025) * np.pi * 25e-6 * 9.81, 0.5 * 1025 * 1.2 * 0.01
    value, reference = [], []
    for speed in TOWED_SPEEDS:
        end = equilibrium(eqs.at(inputs={"speed": speed})).frames["cable.tip"].position
        value.append(np.arctan2(abs(end[0]), -end[2]))
        D = drag * speed**2
        reference.append(np.pi / 2 - np.arccos((-weight + np.sqrt(weight**2 + 4 * D**2)) / (2 * D)))
    return CaseResult(value, reference)


MOORED_LENGTH, MOORED_SPAN, MOORED_HEIGHT = 12.0, 8.0, 6.0
MOORED_DENSITY, MOORED_RADIUS, MOORED_E, MOORED_SPEED = 3000.0, 5e-3, 2e8, 0.8
MOORED = f"""
pliant: 1
world: {{fluid: {{density: 1025, current: ["=0.8 m/s*(1 + z/10 m)", 0, 0]}}}}
sections: {{round: {{shape: circle, radius: {MOORED_RADIUS}}}}}
materials: {{line: {{density: {MOORED_DENSITY}, youngs_modulus: {MOORED_E}, poissons_ratio: 0.3}}}}
bodies: {{pin: {{}}}}
joints: {{anchor: {{type: revolute, axis: y, child: pin, angle: {{initial: 1.8}}}}}}
rods:
  line:
    parent: pin
    length: {MOORED_LENGTH} m
    section: round
    material: line
    strains: planar
    stress_free: false
    shape: {{type: arc, angle: 2.2, direction: {np.pi}}}
    fluid: {{normal_drag: 1.1, axial_drag: 0.02}}
    frames: {{{", ".join(f"f{k}: {k} m" for k in range(1, 12))}}}
    model: {{kind: finite_element, elements: 48}}
constraints:
  ship:
    between: [{{frame: world, position: [{MOORED_SPAN} m, 0, {MOORED_HEIGHT} m]}}, line.tip]
    components: [x, z]
    expressed_in: world
"""


def moored_exact() -> np.ndarray:
    """Places (x, z) of a perfectly flexible line at each metre: shooting for the force at the anchor."""
    area = np.pi * MOORED_RADIUS**2
    weight = (MOORED_DENSITY - 1025) * area * 9.81
    across, along = 0.5 * 1025 * 1.1 * 2 * MOORED_RADIUS, 0.5 * 1025 * 0.02 * 2 * np.pi * MOORED_RADIUS

    def slope(_: float, y: np.ndarray) -> np.ndarray:
        tension = np.hypot(y[2], y[3])
        t = y[2:4] / tension
        n = np.array([t[1], -t[0]])
        U = np.array([MOORED_SPEED * (1 + y[1] / 10), 0.0])
        drag = across * abs(U @ n) * (U @ n) * n + along * abs(U @ t) * (U @ t) * t
        return np.concatenate([t * (1 + tension / (MOORED_E * area)), np.array([0, weight]) - drag])

    def shot(force: np.ndarray) -> scipy.integrate.OdeSolution:
        return scipy.integrate.solve_ivp(
            slope, (0, MOORED_LENGTH), [0, 0, *force], rtol=1e-10, atol=1e-12, dense_output=True
        ).sol

    force = scipy.optimize.fsolve(
        lambda f: shot(f)(MOORED_LENGTH)[:2] - [MOORED_SPAN, MOORED_HEIGHT], [2.0, -5.0], xtol=1e-12
    )
    return np.asarray(shot(force)(np.arange(1.0, 12.0))[:2].T)


@case(tolerance=2e-3, measure="of the largest", unit="m", quick=False)
def mooring_line() -> CaseResult:
    """Mooring line in a sheared current.

    Heavier than water, with drag across and along.
    Compared: Places of eleven sections of a line of 12 m between its anchor and a ship.
    Source: A perfectly flexible elastic line under weight, buoyancy and drag (H. O. Berteaux, Buoy Engineering, 1976), by
    shooting with SciPy.
    """
    found = equilibrium(derive(load_text(MOORED)))
    value = np.array([found.frames[f"line.f{k}"].position[[0, 2]] for k in range(1, 12)])
    reference = moored_exact()
    lines = (Line("line", value[:, 0], value[:, 1]), Line("shooting", reference[:, 0], reference[:, 1], exact=True))
    return CaseResult(value, reference, Plot("x [m]", "z [m]", lines))


FALLING = """
pliant: 1
world: {{fluid: {{density: 1000}}}}
sections: {{round: {{shape: circle, radius: 5 mm}}}}
materials: {{plastic: {{density: 1400, youngs_modulus: 2 GPa, poissons_ratio: 0.35}}}}
bodies: {{start: {{mass: 1 ug, inertia: {{principal: [1e-9, 1e-9, 1e-9]}}}}}}
joints: {{free: {{type: free, child: start}}}}
rods:
  stick:
    parent: start
    rotation: {{axis: y, angle: {angle} deg}}
    length: 20 cm
    section: round
    material: plastic
    strains: [kirchhoff, planar]
    fluid: {{normal_drag: 1.1, axial_drag: 0.02}}
    model: {{kind: pcs, elements: 1}}
"""


@case(tolerance=1e-5, measure="of the largest", unit="m/s")
def sinking_rods() -> CaseResult:
    """Rods that sink across and along their axis.

    Across they reach 0.24 m/s, along 1.25 m/s.
    Compared: Speed at 40 moments of the first 2 s.
    Source: v_t tanh(t/T) with the weight in water, quadratic drag, and the mass of the rod and, across, of the fluid moved
    aside.
    """
    area, time = np.pi * 25e-6, np.linspace(0, 2, 41)
    value, reference, lines = [], [], []
    for angle, drag, added in ((90, 0.5 * 1000 * 1.1 * 0.01, 1000), (180, 0.5 * 1000 * 0.02 * np.pi * 0.01, 0)):
        run = simulate(derive(load_text(FALLING.format(angle=angle))), 2.0, save_every=0.05, rtol=1e-9, atol=1e-10)
        weight, mass = 400 * area * 9.81, (1400 + added) * area
        limit = np.sqrt(weight / drag)
        value.append(-np.asarray(run.v)[:, 2])
        reference.append(limit * np.tanh(weight / mass / limit * time))
        name = "across" if angle == 90 else "along"
        lines += [Line(name, time, value[-1]), Line("tanh", time, reference[-1], exact=True)]
    return CaseResult(value, reference, Plot("time [s]", "speed [m/s]", tuple(lines)))


WAVES = (0.2, 0.5, 1.0)
"""Amplitudes times wave numbers."""
WAVE = """
pliant: 1
parameters: {{speed: 0.1}}
world:
  gravity: [0, 0, 0]
  fluid:
    density: 1
    viscosity: 1 Pa*s
    current: ["={stretch}/{root} - (1 - speed)*(1 m/s)", 0, "={stretch}*{slope}/{root}"]
sections: {{round: {{shape: circle, radius: 1 mm}}}}
materials: {{steel: {{density: 8000, youngs_modulus: 200 GPa, poissons_ratio: 0.3}}}}
bodies: {{head: {{mass: 1 g}}}}
joints: {{way: {{type: prismatic, axis: x, child: head}}}}
rods:
  tail:
    parent: head
    length: {length}
    section: round
    material: steel
    shape: {{type: points, points: {points}}}
    fluid: {{drag: viscous, drag_ratio: 2}}
    model: {{kind: cosserat, elements: 64}}
"""


def wave_mean(height: float, function: object) -> float:
    """Mean over a wavelength of a function of the slope of `height sin(x)`."""
    x = (np.arange(2000) + 0.5) * np.pi / 1000
    return float(np.mean(function((height * np.cos(x)) ** 2)))  # type: ignore[operator]


def swum(height: float) -> float:
    """Speed over that of the wave at which the force on a swimmer with this amplitude times wave number vanishes.

    In the frame of the wave its material slides along the sine with V/<cos>, and the fluid flows past: here the swimmer stands
    still in that flow, which is linear in the speed, and so is the force.
    """
    x = np.linspace(0, 4 * np.pi, 97)
    points = [[float(a), 0.0, float(b)] for a, b in zip(x, height * np.sin(x), strict=True)]
    stretch = wave_mean(height, lambda s: np.sqrt(1 + s))
    slope = f"{height}*cos(x/1 m)"
    text = WAVE.format(
        stretch=f"{stretch} m/s", root=f"sqrt(1 + ({slope})^2)", slope=slope, length=4 * np.pi * stretch, points=points
    )
    eqs, forces = derive(load_text(text)), []
    moving = (
        derive(load_text(text.replace("child: head}", "child: head, displacement: {rate: 1 m/s}}"))).initial_state().v
    )
    for speed in (0.0, 0.5):
        at = eqs.at(parameters={"speed": speed})
        residual = at.inverse_dynamics(at.initial_state(), a=np.zeros(len(moving)))
        forces.append(float(np.asarray(moving) @ np.asarray(residual)))
    return forces[0] / (forces[0] - forces[1]) * 0.5


@case(tolerance=1e-4, quick=False)
def swimming_wave() -> CaseResult:
    """Swimming by a wave in slow flow.

    A steel sine in the flow that a sine that runs along an inextensible swimmer feels.
    Compared: Speed over that of the wave, at amplitudes times wave numbers of 0.2, 0.5 and 1, drag ratio 2.
    Source: M. J. Lighthill, Mathematical Biofluiddynamics (1975), chapter 3: resistive-force theory with the arc length of the
    wave.
    """
    value, reference = [], []
    for height in WAVES:
        share = wave_mean(height, lambda s: 1 / np.sqrt(1 + s)) / wave_mean(height, lambda s: np.sqrt(1 + s))
        value.append(swum(height))
        reference.append((1 - share) / (share + 2 * (1 - share)))
    return CaseResult(value, reference)


@case(tolerance=5e-2, quick=False)
def gray_and_hancock() -> CaseResult:
    """Swimming by a wave of small slope.

    The same swimmer, against the formula of small slopes.
    Compared: Speed over that of the wave, at amplitudes times wave numbers of 0.2, 0.5 and 1, drag ratio 2.
    Source: J. Gray and G. J. Hancock, J. Exp. Biol. 32 (1955): 0.01923, 0.1, 0.25; they take the arc length for that of its
    axis.
    """
    return CaseResult([swum(height) for height in WAVES], [b**2 / 2 / (1 + b**2) for b in WAVES])
