"""Contact, friction and impact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from pliant.analysis.derivation.derive import derive
from pliant.analysis.equilibrium import equilibrium
from pliant.analysis.simulate import simulate
from pliant.engine.equations import Equations
from pliant.robot.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, cases_of

case = cases_of("Contact")

BLOCK = """
pliant: 1
world: {{gravity: ["=9.81 m/s^2*sin(angle)", 0, "=-9.81 m/s^2*cos(angle)"]}}
parameters: {{angle: {angle}}}
bodies:
  block: {{mass: 1 kg, shape: {{type: box, size: [10 cm, 10 cm, 4 cm]}}}}
joints:
  flight: {{type: free, child: block, z: {{initial: 2 cm}}, x: {{rate: {speed} m/s}}}}
surfaces:
  floor: {{type: plane}}
contacts:
  ground: {{between: [block, floor], friction: 0.5}}
outputs:
  friction: {{contact: ground, quantity: friction_force, component: x}}
"""
BALL = """
pliant: 1
world: {{gravity: [{pull}, 0, -9.81]}}
bodies:
  ball: {{mass: 0.1 kg, shape: {{type: sphere, radius: 3 cm}}}}
joints:
  flight: {{type: free, child: ball, z: {{initial: {height} m}}, x: {{rate: {speed} m/s}}}}
surfaces:
  floor: {{type: plane}}
contacts:
  ground: {{between: [ball, floor], {law}}}
"""


def block(angle: float, speed: float = 0.0) -> Equations:
    """A block of 1 kg on a slope [rad] with a coefficient of friction of 0.5, sliding down at a speed [m/s]."""
    return derive(load_text(BLOCK.format(angle=angle, speed=speed)))


def ball(law: str, *, height: float = 0.03, speed: float = 1.0, pull: float = 0.0) -> Equations:
    """A ball of 0.1 kg and 3 cm above a plane [m], with a speed [m/s] and an acceleration along the plane [m/s^2]."""
    return derive(load_text(BALL.format(law=law, height=height, speed=speed, pull=pull)))


@case(tolerance=2e-3)
def angle_of_friction() -> CaseResult:
    """Slope at which a block begins to slide.

    Bisection from 0.49 and 0.51.
    Compared: Tangent of the slope between the last on which the block stays for two seconds and the first on which it slides.
    Source: G. Amontons (1699): the coefficient of friction, 0.5.
    """
    low, high = 0.49, 0.51
    while high - low > 1e-3:
        middle = (low + high) / 2
        slides = np.asarray(simulate(block(float(np.arctan(middle))), 2.0, save_every=0.5).v)[-1, 0] > 1e-3
        low, high = (low, middle) if slides else (middle, high)
    return CaseResult((low + high) / 2, 0.5)


ANGLES = (0.1, 0.3)


@case(tolerance=1e-3, unit="m/s^2")
def ball_on_slope() -> CaseResult:
    """Ball that rolls down a slope.

    The slope is modelled by a force along a level plane, whose normal force is sufficient for rolling without slip.
    Compared: Acceleration of a ball on slopes of 0.1 and 0.3 rad.
    Source: G. Galilei (1638), with the rotation: 5/7 g sin a, H. Goldstein, Classical Mechanics, 2nd ed. (1980), chapter 1.
    """
    value = []
    for angle in ANGLES:
        run = simulate(ball("friction: 0.5", speed=0.0, pull=float(9.81 * np.sin(angle))), 1.0, save_every=0.1)
        value.append((run.v[-1, 0] - run.v[5, 0]) / 0.5)
    return CaseResult(value, 5 / 7 * 9.81 * np.sin(ANGLES))


@case(tolerance=1e-6, measure="absolute", unit="m")
def block_rests() -> CaseResult:
    """Block that sticks on a slope for an hour.

    Any creep would accumulate.
    Compared: Way of a block on a slope of 0.4 rad with a coefficient of 0.5, between the first second and the end of an hour.
    Source: C.-A. de Coulomb (1785): tan 0.4 is below 0.5, so it does not move.
    """
    run = simulate(block(0.4), 3600.0, save_every=1.0)
    return CaseResult(np.ptp(np.asarray(run.q)[1:, :3], axis=0), np.zeros(3))


BLOCK_METHODS: tuple[dict[str, Any], ...] = (
    {},
    {"method": "implicit"},
    {"method": "explicit"},
    {"method": "generalized_alpha", "step": 1e-3},
)


@case(tolerance=1e-3)
def block_slides() -> CaseResult:
    """Block that slides down a slope with friction.

    The acceleration is evaluated between half a second and one second.
    Compared: Acceleration and force of friction on a slope of 0.6 rad with a coefficient of 0.5, by four methods [m/s^2, N].
    Source: C.-A. de Coulomb (1785): g (sin a - mu cos a) and mu m g cos a.
    """
    eqs, value = block(0.6), []
    for options in BLOCK_METHODS:
        run = simulate(eqs, 1.0, save_every=0.1, **options)
        speed, time = np.asarray(run.v)[:, 0], np.asarray(run.time)
        value.append([(speed[-1] - speed[5]) / (time[-1] - time[5]), -run["friction"].values[-1]])
    held = 0.5 * 9.81 * np.cos(0.6)
    return CaseResult(np.array(value), (9.81 * np.sin(0.6) - held, held))


@case(tolerance=2e-3, unit="m")
def block_stops() -> CaseResult:
    """Block stopped by friction on level ground.

    Afterwards it stays at rest.
    Compared: Way of a block that slides at 1 m/s, with a coefficient of 0.5.
    Source: C.-A. de Coulomb (1785): v^2/(2 mu g).
    """
    run = simulate(block(0.0, speed=1.0), 1.0, save_every=0.05)
    return CaseResult(np.asarray(run.q)[-1, 0], 1 / (2 * 0.5 * 9.81))


G = 9.81


@case(tolerance=4e-3, measure="of the largest", unit="s")
def bouncing_ball() -> CaseResult:
    """Ball that bounces with and without loss.

    With a stiffness of 2 MN/m an impact takes less than a millisecond.
    Compared: Times of the tops of flights after a fall of 0.5 m, with restitution 0.8 and 1.
    Source: I. Newton (1687), definition of restitution: flights last e times as long as those before, bounces half a period.
    """
    value, reference, lines = [], [], []
    for restitution in (0.8, 1.0):
        law = f"restitution: {restitution}, stiffness: 2 MN/m"
        run = simulate(ball(law, height=0.53), 1.6, save_every=1e-3)
        time, speed = np.asarray(run.time), np.asarray(run.v)[:, 2]
        tops = np.flatnonzero((speed[:-1] > 0) & (speed[1:] <= 0))[:2]
        value += list(time[tops] + speed[tops] / G)
        flights = np.sqrt(2 * 0.5 / G) * restitution ** np.arange(3)
        reference += list(np.cumsum(flights[:-1] + flights[1:]) + np.pi * np.sqrt(0.1 / 2e6) * np.arange(1, 3))
        lines.append(Line(f"restitution {restitution:g}", time, run.q[:, 2] - 0.03))
    return CaseResult(value, reference, Plot("time [s]", "height [m]", tuple(lines)))


SHEAR_FACTOR = 6 * (1 + 0.4) / (7 + 6 * 0.4)
"""Shear coefficient of a circle with Poisson's ratio 0.4."""
CROSSED_RODS = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
sections: {{cord: {{shape: circle, radius: 2 mm}}}}
materials: {{rubber: {{density: 1100 kg/m^3, youngs_modulus: 10 MPa, poissons_ratio: 0.4}}}}
defaults:
  rods:
    length: 20 cm
    section: cord
    material: rubber
    damping: [0.1, 0.1, 0.3, 1e-6, 1e-6, 1e-6]
    model: {{kind: {kind}, elements: {elements}}}
parameters:
  down: {{value: 20 mm, input: true}}
bodies:
  hand: {{mass: 10 g, frames: {{end: {{position: [0, 20 cm, 0], rotation: {{axis: x, angle: -90 deg}}}}}}}}
joints:
  press: {{type: prismatic, child: hand, axis: z, position: [0, -10 cm, 4 mm], displacement: {{motion: =-down}}}}
rods:
  lower: {{position: [-10 cm, 0, 0], rotation: {{axis: y, angle: 90 deg}}}}
  upper: {{parent: hand, rotation: {{axis: x, angle: -90 deg}}}}
constraints:
  lower_end: {{between: [world, lower.tip], components: all, holds: as at start}}
  upper_end: {{between: [hand.end, upper.tip], components: all}}
inputs:
  down: {{ramp: {{start: 0 s, end: 0.5 s, after: 20 mm}}}}
contacts:
  touch: {{between: [lower, upper], stiffness: 100 kN/m, friction: {friction}}}
outputs:
  push: {{contact: touch, component: z}}
"""


def deflection(force: float) -> float:
    """Deflection of the middle of a clamped rod under a force there [m]: half of the extensible, shearable elastica, by SciPy."""
    length, radius, modulus = 0.1, 2e-3, 10e6
    area = np.pi * radius**2
    axial, bending = modulus * area, modulus * np.pi / 4 * radius**4
    shear = SHEAR_FACTOR * modulus / 2 / 1.4 * area

    def slope(_: np.ndarray, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        angle, pull = y[2], p[0]
        along = pull * np.cos(angle) + force / 2 * np.sin(angle)
        across = -pull * np.sin(angle) + force / 2 * np.cos(angle)
        stretch, sheared = 1 + along / axial, across / shear
        return np.array([
            stretch * np.cos(angle) - sheared * np.sin(angle), stretch * np.sin(angle) + sheared * np.cos(angle),
            y[3] / bending, sheared * along - stretch * across,
        ])  # fmt: skip

    def ends(a: np.ndarray, b: np.ndarray, _: np.ndarray) -> np.ndarray:
        return np.array([a[0], a[1], a[2], b[0] - length, b[2]])

    s = np.linspace(0, length, 41)
    guess = np.zeros((4, s.size))
    guess[0], guess[1] = s, 0.01 * (1 - np.cos(np.pi * s / length)) / 2
    found = scipy.integrate.solve_bvp(slope, ends, s, guess, p=[1.0], tol=1e-8, max_nodes=10000)
    assert found.success
    return float(found.y[1, -1])


@case(tolerance=5e-3, unit="N")
def crossed_rods() -> CaseResult:
    """Two crossed rods that are pressed together.

    Sixty elements of `cosserat` without friction, forty of `finite_element` with.
    Compared: Force between two rods, clamped at all ends, one pressed on the other by 20 mm, in a motion and at rest.
    Source: Twice the deflection of the extensible, shearable elastica and the depth of contact make the way: S. S. Antman,
    Nonlinear Problems of Elasticity, 2nd ed. (2005), chapter 4, as a boundary-value problem by SciPy.
    """
    exact = scipy.optimize.brentq(lambda f: 2 * deflection(f) + f / 1e5 - 0.02, 0.05, 3.0, xtol=1e-6)
    value = []
    for kind, elements, friction in (("cosserat", 60, 0.0), ("finite_element", 40, 0.3)):
        eqs = derive(load_text(CROSSED_RODS.format(kind=kind, elements=elements, friction=friction)))
        run = simulate(eqs, 1.0, save_every=0.05)
        rest = equilibrium(eqs.at(inputs={"down": 0.02}), start=run)
        value.append([-run["push"].values[-1], -float(rest.outputs["push"])])
    return CaseResult(np.array(value), exact)


@case(tolerance=1e-3, unit="m")
def hertz_ball() -> CaseResult:
    """Ball pressed into a plane by its weight (Hertz).

    A weight of 0.98 N causes a depth of a tenth of a millimetre.
    Compared: Depth at rest, and where a motion settles, with force = 1e6 N/m^1.5 depth^1.5.
    Source: H. Hertz, Über die Berührung fester elastischer Körper, J. reine angew. Math. 92 (1881) 156-171:
    (load/stiffness)^(2/3).
    """
    eqs = ball("exponent: 1.5, stiffness: =1e6 N/m^1.5, dissipation: 200 s/m")
    rest, run = equilibrium(eqs), simulate(eqs, 0.5, save_every=0.5)
    return CaseResult([0.03 - rest.q[2], 0.03 - np.asarray(run.q)[-1, 2]], (0.1 * 9.81 / 1e6) ** (2 / 3))


LADDER = """
pliant: 1
world: {{gravity: [0, -9.81, 0]}}
parameters: {{angle: {angle}}}
bodies:
  ladder: {{mass: 10 kg, shape: {{type: slender_rod, length: 4 m, axis: x}}}}
joints:
  pose:
    type: planar
    child: ladder
    x: {{initial: "=-2 m*cos(angle)"}}
    y: {{initial: "=2 m*sin(angle)"}}
    angle: {{initial: =angle}}
surfaces:
  floor: {{type: plane, normal: y}}
  wall: {{type: plane, normal: [-1, 0, 0]}}
  foot: {{type: sphere, parent: ladder, position: [-2 m, 0, 0], radius: 0}}
  head: {{type: sphere, parent: ladder, position: [2 m, 0, 0], radius: 0}}
contacts:
  ground: {{between: [foot, floor], friction: 0.4, stiffness: 10 MN/m}}
  side: {{between: [head, wall], friction: 0.3, stiffness: 10 MN/m}}
"""


def slides(tangent: float) -> bool:
    """Whether the ladder slides at an angle with this tangent, in a motion of three seconds."""
    eqs = derive(load_text(LADDER.format(angle=float(np.arctan(tangent)))))
    return bool(np.ptp(np.asarray(simulate(eqs, 3.0, save_every=0.5).q)[:, 2]) > 1e-3)


def has_no_rest(tangent: float) -> bool:
    """Whether no equilibrium is found near this angle."""
    angle = float(np.arctan(tangent))
    rest = equilibrium(derive(load_text(LADDER.format(angle=angle))), on_failure="return")
    return bool(rest.status != "converged" or abs(rest.q[2] - angle) > 1e-3)


def limit(falls: Callable[[float], bool]) -> float:
    """Tangent of the angle below which the ladder falls, by bisection."""
    low, high = 1.0, 1.2
    while high - low > 5e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if falls(middle) else (low, middle)
    return (low + high) / 2


@case(tolerance=5e-3)
def ladder() -> CaseResult:
    """Ladder against a wall, with friction at both ends.

    Coefficients of 0.4 at the floor and 0.3 at the wall.
    Compared: Tangent of the smallest angle to the floor at which the ladder stands, in motion and in equilibrium.
    Source: (1 - mu_floor mu_wall)/(2 mu_floor): S. P. Timoshenko and D. H. Young, Engineering Mechanics (1940), section on
    friction.
    """
    return CaseResult([limit(slides), limit(has_no_rest)], (1 - 0.4 * 0.3) / (2 * 0.4))


ROLLING_METHODS: tuple[dict[str, Any], ...] = (
    {},
    {"method": "explicit"},
    {"method": "generalized_alpha", "step": 1e-3},
)


@case(tolerance=1e-3, unit="m/s")
def rolling_ball() -> CaseResult:
    """Ball that slides and then rolls.

    With a coefficient of 0.3, after two seconds.
    Compared: Speed of a ball that slid at 1 m/s, and its speed of rotation times its radius, by three methods.
    Source: L. Euler (1758); H. Goldstein, Classical Mechanics, 2nd ed. (1980), chapter 5: 5/7 of the speed, whatever the friction.
    """
    value, lines = [], []
    for options in ROLLING_METHODS:
        run = simulate(ball("friction: 0.3"), 2.0, save_every=0.01, **options)
        value.append(np.asarray(run.v)[-1, [0, 4]] * (1, 0.03))
        lines.append(Line("centre", run.time, run.v[:, 0]))
    time = np.linspace(0, 2, 40)
    exact = Line("theory", time, np.maximum(5 / 7, 1 - 0.3 * 9.81 * time), exact=True)
    return CaseResult(np.array(value), 5 / 7, Plot("time [s]", "speed [m/s]", (lines[0], exact)))


ROPE_OVER_CYLINDER = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
sections: {{cord: {{shape: circle, radius: 0.5 mm}}}}
materials: {{nylon: {{density: 1100 kg/m^3, youngs_modulus: 200 MPa, poissons_ratio: 0.4}}}}
bodies:
  hand: {{mass: 1 g}}
joints:
  pull: {{type: prismatic, child: hand, axis: z, displacement: {{motion: "=-20 mm/s^2*t^2"}}}}
rods:
  rope:
    parent: hand
    position: [-40.5 mm, 0, -20 mm]
    length: =40 mm + 40.5 mm*pi
    section: cord
    material: nylon
    {strains}
    stress_free: false
    damping: [0.05, 0.05, 0.2, 1e-7, 1e-7, 1e-7]
    shape:
      type: poses
      poses:
        - {{at: 0}}
        - {{at: 20 mm, position: [0, 0, 20 mm]}}
        - {{at: =20 mm + 40.5 mm*pi/2, position: [40.5 mm, 0, 60.5 mm], rotation: {{axis: y, angle: 90 deg}}}}
        - {{at: =20 mm + 40.5 mm*pi, position: [81 mm, 0, 20 mm], rotation: {{axis: y, angle: 180 deg}}}}
        - {{at: =40 mm + 40.5 mm*pi, position: [81 mm, 0, 0], rotation: {{axis: y, angle: 180 deg}}}}
    model: {{kind: {kind}, elements: {elements}}}
surfaces:
  pin: {{type: {pin}, axis: y, radius: 40 mm, length: 40 mm}}
contacts:
  touch: {{between: [rope, pin], friction: {friction}}}
loads:
  weight: {{frame: rope.tip, force: [0, 0, "=-1 N*min(1, t/(20 ms))"]}}
outputs:
  tension: {{reaction: rope, component: z}}
"""
ROPES = (("cosserat", 40, "cylinder", 0.3, "strains: planar"), ("finite_element", 40, "capsule", 0.25, ""))
"""Kind and elements of the rope, the pin, the coefficient of friction, and other fields of the rope."""


@case(tolerance=8e-3, quick=False)
def rope_over_cylinder() -> CaseResult:
    """Rope that slides over a cylinder.

    The rope is pulled up with increasing speed; the mean of the last tenth of a second is used.
    Compared: Tension over the weight that hangs on the other side, half a turn on, with coefficients 0.3 and 0.25.
    Source: L. Euler (1769) and J. A. Eytelwein (1808): exp(mu pi); friction acts on the pin's surface, tension a rope's radius
    further out, which shortens the exponent by 40/40.5.
    """
    value, reference = [], []
    for kind, elements, pin, friction, strains in ROPES:
        text = ROPE_OVER_CYLINDER.format(kind=kind, elements=elements, pin=pin, friction=friction, strains=strains)
        run = simulate(derive(load_text(text)), 0.4, save_every=0.01)
        value.append(-run["tension"].values[-10:].mean())
        reference.append(np.exp(friction * np.pi * 40 / 40.5))
    return CaseResult(value, reference)
