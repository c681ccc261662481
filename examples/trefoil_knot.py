"""A trefoil knot is tied in an elastic rod and pulled: tension T and radius R of its loop, against T R^2 / (E I) = 1/2.

B. Audoly, N. Clauvelin and S. Neukirch, Elastic knots, Phys. Rev. Lett. 99, 164301 (2007): a loose knot without friction, in a rod
that is free to twist, is a circular loop between two straight tails, closed by a short braid. 1/2 is the limit for rods that are
thin compared with R.
"""

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

import pliant

SIZE, TAIL, ARM = 20e-3, 0.13, 20e-3
"""Scale of the initial knot, length of its tails, distance of the three points from which the radius is computed [m]."""
YOUNGS_MODULUS = 1e9
RADIUS, ELEMENTS, DAMPING_TIME = 0.5e-3, 80, 0.02
"""Radius of the rod [m], number of its elements, viscous over elastic modulus in bending [s]."""
PULLS, REST = ((0.1, 0.1),), 0.8
"""Displacements of the ends [m] and their times [s], each within 0.4 s; time at which the knot is at rest afterwards [s]."""
KNOT = """
pliant: 1
name: trefoil_knot
world: {{gravity: [0, 0, 0]}}
parameters: {{pull: {{value: 0 m, input: true}}}}
sections: {{cord: {{shape: circle, radius: {radius} m}}}}
materials: {{nylon: {{density: 1200 kg/m^3, youngs_modulus: {modulus} Pa, poissons_ratio: 0.4}}}}
bodies:
  hand: {{mass: 1 g}}
joints:
  slide: {{type: prismatic, child: hand, axis: x, position: [{span} m, 0, 0], displacement: {{motion: =pull}}}}
rods:
  rope:
    rotation: [{{axis: y, angle: 90 deg}}, {{axis: z, angle: 90 deg}}]
    length: {length} m
    section: cord
    material: nylon
    stress_free: false
    damping: [5, 5, 20, {loss}, {loss}, {loss}]
    frames: {{before: {before} m, middle: {middle} m, after: {after} m}}
    shape: {{type: points, points: {points}}}
    model: {{kind: cosserat, elements: {elements}}}
constraints:
  grip: {{between: [hand, rope.tip], components: [x, y, z, ry, rz], holds: as at start}}
contacts:
  itself: {{between: rope}}
inputs:
  pull: "{pull}"
outputs:
  tension: {{reaction: grip, component: x}}
"""


@dataclass(frozen=True)
class Rest:
    """Tension [N], radius of the loop [m], difference between the length of the rod and the distance of its ends [m], and T R^2 /
    (E I)."""

    tension: float
    radius: float
    slack: float
    number: float


def tied() -> np.ndarray:
    """Points of the initial rod (n x 3) [m]: a polynomial trefoil, with tails along x."""
    t = np.linspace(-2.05, 2.05, 41)
    knot = np.array([t**3 - 3 * t, t**4 - 4 * t**2, 0.12 * (t**5 - 10 * t)])
    end, far = knot[:, -1], TAIL / SIZE
    ways = [[0.35, 1.1, -0.5], [1.2, 2.0, -0.8], [2.6, 2.45, -0.95], [2.6 + far / 2, 2.5, -1], [2.6 + far, 2.5, -1]]
    tail = end + np.array(ways) * [1, 1, end[2]]
    points = SIZE * np.vstack([tail[::-1] * [-1, 1, -1], knot.T, tail])
    return points - points[0]


def circle(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    """Radius of the circle through three points [m]."""
    sides = np.linalg.norm(b - c), np.linalg.norm(a - c), np.linalg.norm(a - b)
    return float(np.prod(sides) / (2 * np.linalg.norm(np.cross(b - a, c - a))))


def length_of(points: np.ndarray) -> float:
    """Length of the smooth curve through points [m]."""
    chords = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    fine = CubicSpline(chords, points)(np.linspace(0, chords[-1], 6001))
    return float(np.linalg.norm(np.diff(fine, axis=0), axis=1).sum())


def pulled(elements: int, radius: float) -> list[Rest]:
    """The knot at rest after each pull, in a rod with this number of elements and radius [m]."""
    points, bending = tied(), YOUNGS_MODULUS * np.pi / 4 * radius**4
    length = length_of(points)
    steps = [f"{way / 2} m*(1 - cos(pi*min(1, max(0, (t - {start} s)/(0.4 s)))))" for way, start in PULLS]
    text = KNOT.format(
        radius=radius, modulus=YOUNGS_MODULUS, span=points[-1, 0], length=length, elements=elements, pull="=" + " + ".join(steps),
        before=length / 2 - ARM, middle=length / 2, after=length / 2 + ARM, points=points[:, [1, 2, 0]].round(6).tolist(),
        loss=DAMPING_TIME * bending,
    )  # fmt: skip
    eqs = pliant.derive(pliant.load_text(text))
    until = [start for _, start in PULLS[1:]] + [PULLS[-1][1] + REST]
    run = pliant.simulate(eqs, until[-1], save_every=0.05)
    found = []
    for time in until:
        k = int(np.argmin(np.abs(np.asarray(run.time) - time)))
        loop = circle(*(eqs.frame(f"rope.{name}", run.q[k]).position for name in ("before", "middle", "after")))
        tension = float(run["tension"].values[k])
        slack = length - eqs.frame("rope.tip", run.q[k]).position[0]
        found.append(Rest(tension, loop, float(slack), tension * loop**2 / bending))
    return found


def main() -> float:
    """T R^2 / (E I) of a rod whose radius is a hundredth of the loop's."""
    rests = pulled(ELEMENTS, RADIUS)
    for rest in rests:
        print(
            f"slack {1e3 * rest.slack:.0f} mm: tension {1e3 * rest.tension:.2f} mN, loop of {1e3 * rest.radius:.1f} mm, "
            f"T R^2 / (E I) = {rest.number:.3f}"
        )
    assert all(abs(rest.number - 0.5) < 0.1 for rest in rests)
    return rests[-1].number


if __name__ == "__main__":
    main()
