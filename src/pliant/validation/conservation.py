"""Energy and momentum that must be conserved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.analysis.derivation.derive import derive
from pliant.analysis.simulate import simulate
from pliant.engine.equations import Equations
from pliant.robot.reader import load_text
from pliant.validation.case import CaseResult, Line, Plot, cases_of
from pliant.validation.rods import THICK_ARM, in_models

case = cases_of("Conservation")


def frames(eqs: Equations) -> list[tuple[int, int]]:
    """Indices of the position of each free frame in q and v."""
    return [(c.q_at - 3, c.v_at - 3) for c in eqs.model.coordinates if c.is_rotation]


def momentum(eqs: Equations, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Linear and angular momentum about the world's origin: the work of the momenta of v on rigid motions of the robot."""
    directions = np.zeros((len(v), 6))
    for at, rate in frames(eqs):
        w, x, y, z = q[at + 3 : at + 7]
        R = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )
        px, py, pz = q[at : at + 3]
        directions[rate : rate + 3, :3] = np.eye(3)
        directions[rate : rate + 3, 3:] = -np.array([[0, -pz, py], [pz, 0, -px], [-py, px, 0]])
        directions[rate + 3 : rate + 6, 3:] = R.T
    return np.asarray(directions.T @ (eqs.mass_matrix(q) @ v))


SIZES = {"top": (0.3, (0.1, 0.06, 0.04)), "table": (2.0, (0.5, 0.4, 0.2))}
"""Mass [kg] and edges [m]."""
COLLIDING_BOXES = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
bodies:
  top: {{mass: 0.3 kg, shape: {{type: box, size: [10 cm, 6 cm, 4 cm]}}}}
  table: {{mass: 2 kg, shape: {{type: box, size: [50 cm, 40 cm, 20 cm]}}}}
joints:
  a: {{type: free, child: top, x: {{rate: 0.7}}, z: {{initial: 17 cm, rate: -0.5}}, orientation: {{rate: [3, -2, 5]}}}}
  b: {{type: free, child: table, orientation: {{rate: [0.3, 0.1, -0.2], initial: {{axis: y, angle: 4 deg}}}}}}
contacts:
  touch: {{between: [top, table], stiffness: 2e4, {law}}}
"""
LAWS = ("friction: 0, dissipation: 0", "friction: 0.5", "friction: {along: 0.5, at_rest: 1.3}, exponent: 1.5")


def momenta(eqs: Equations, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Linear and angular momentum about the world's origin [kg m/s, kg m^2/s]."""
    total = np.zeros(6)
    for name, (mass, (x, y, z)) in SIZES.items():
        frame = eqs.frame(name, q, v)
        inertia = mass / 12 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y])
        assert frame.velocity is not None, "requested with v"
        spin = frame.rotation @ inertia @ frame.rotation.T @ frame.angular_velocity
        total += np.concatenate([mass * frame.velocity, spin + mass * np.cross(frame.position, frame.velocity)])
    return total


@case(tolerance=2e-4, measure="absolute")
def colliding_boxes() -> CaseResult:
    """Free boxes that collide with friction and losses.

    A small box hits a large one; a relative tolerance of 1e-7.
    Compared: Momentum and angular momentum after the collision, and energy with what was dissipated over that at the start,
    with three laws of contact.
    Source: Laws of conservation: I. Newton (1687), third law; H. Goldstein, Classical Mechanics, 2nd ed. (1980), section 1-2.
    """
    value, reference = [], []
    for law in LAWS:
        eqs = derive(load_text(COLLIDING_BOXES.format(law=law)))
        run = simulate(eqs, 0.4, save_every=0.01, rtol=1e-7)
        if not abs(run.v[-1, 2] - run.v[0, 2]) > 0.2:
            raise RuntimeError("the boxes did not collide")
        energy = np.asarray(run.energy["total"]) + np.asarray(run.energy["dissipated"])
        value.append([*momenta(eqs, run.q[-1], run.v[-1]), energy[-1] / energy[0]])
        reference.append([*momenta(eqs, run.q[0], run.v[0]), 1.0])
    return CaseResult(np.array(value), np.array(reference))


@case(tolerance=2e-3, measure="absolute")
def four_bar_energy() -> CaseResult:
    """Closed loop that swings for one minute.

    At the defaults.
    Compared: Range of the total energy over that of the kinetic energy, and largest error of the constraint, of the bundled
    four-bar linkage in a minute [-, m].
    Source: Conservation of energy; M. Gonzalez et al., A benchmarking system for MBS simulation software, Multibody System
    Dynamics 16 (2006) 179-190, which measures by the same.
    """
    run = simulate(derive("four_bar"), 60.0)
    energy = {name: run.energy[name].values for name in ("total", "kinetic")}
    value = [np.ptp(energy["total"]) / np.ptp(energy["kinetic"]), run.constraint_error.max()]
    lines = (Line("total", run.time, energy["total"]), Line("kinetic", run.time, energy["kinetic"]))
    return CaseResult(value, 0.0, Plot("time [s]", "energy [J]", lines))


FREE_BEAM = """
pliant: 1
world: {gravity: [0, 0, 0]}
sections: {strip: {shape: rectangle, width: 30 mm, height: 20 mm}}
materials: {rubber: {density: 1000, youngs_modulus: 1 MPa, poissons_ratio: 0.4}}
bodies: {end: {}}
joints: {flight: {type: free, child: end}}
rods: {arm: {parent: end, length: 0.4 m, section: strip, material: rubber, model: {kind: finite_element, elements: 4}}}
"""


@case(tolerance=1e-6, measure="absolute")
def free_beam() -> CaseResult:
    """Beam that flies, tumbles and vibrates freely.

    A tumbling beam of finite elements that bends during the motion, with a relative tolerance of 1e-9.
    Compared: Momentum, angular momentum and energy at 20 moments, each over its largest at the start.
    Source: Laws of conservation of a free body: H. Goldstein, Classical Mechanics, 2nd ed. (1980), section 1-2.
    """
    eqs = derive(load_text(FREE_BEAM))
    start = eqs.initial_state()
    q, v = start.q, np.array(start.v)
    for (_, rate), s in zip(frames(eqs), np.linspace(-1, 1, 5), strict=True):
        v[rate : rate + 6] = [0.4 + s + 2 * s**2, 0.5 * s - s**2, 0.1 * s**2, 0.5, -2.5, 4.0]
    run = simulate(eqs, 0.2, start=replace(start, v=v), method="explicit", rtol=1e-9, save_every=0.01)
    energies = [eqs.energy(a, b) for a, b in zip(run.q, run.v, strict=True)]
    moved = np.array([momentum(eqs, a, b) for a, b in zip(run.q, run.v, strict=True)])
    before = momentum(eqs, q, v)
    total = np.array([x.total for x in energies]) / energies[0].total
    value = np.column_stack([moved[:, :3] / np.abs(before[:3]).max(), moved[:, 3:] / np.abs(before[3:]).max(), total])
    lines = (
        Line("kinetic", run.time, [x.kinetic for x in energies]),
        Line("elastic", run.time, [x.potential for x in energies]),
    )
    return CaseResult(value, np.broadcast_to(value[0], value.shape), Plot("time [s]", "energy [J]", lines))


SPINNING_ROTOR = """
pliant: 1
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: 2 MPa, poissons_ratio: 0.49}}
sections: {round: {shape: circle, radius: 8 mm}}
bodies: {disc: {mass: 0.3 kg, shape: {type: cylinder, radius: 5 cm, length: 1 cm, axis: z}}}
rods: {shaft: {rotation: {axis: x, angle: 175 deg}, length: 0.2 m, section: round, material: rubber,
               model: {kind: pcs, elements: 3}}}
joints: {bearing: {type: revolute, axis: z, parent: shaft.tip, child: disc, angle: {rate: 100 rad/s}}}
"""


@case(tolerance=2e-3)
def spinning_rotor() -> CaseResult:
    """Rotor on a soft shaft that keeps its spin.

    Slightly off its axis, so that it swings and whirls; with default settings.
    Compared: Turns of a disc at the tip of a hanging rod after 2 s over those at a constant spin, and energy over that at the
    start, which counts from the top.
    Source: Nothing turns the disc about its axis, and nothing is lost: H. Goldstein, Classical Mechanics, 2nd ed. (1980),
    section 1-2.
    """
    run = simulate(derive(load_text(SPINNING_ROTOR)), 2.0)
    energy = run.energy["total"].values
    return CaseResult([run["bearing"].values[-1] / 200, *(energy / energy[0])], np.ones(1 + len(energy)))


SWINGING_WORDS = ("pcs:3", "cosserat:4", "finite_element:4", "pseudo_rigid:4", "polynomial:2", "gvs:1", "pcc:2")


@case(tolerance=1e-5, measure="absolute")
def swinging_rods() -> CaseResult:
    """Rods of all models that swing without damping.

    With the explicit method and a relative tolerance of 1e-9, over 0.3 s.
    Compared: Range of the total energy over the largest kinetic energy, of a heavy rod released from the horizontal, in seven
    rod models.
    Source: Conservation of energy: H. Goldstein, Classical Mechanics, 2nd ed. (1980), section 1-2.
    """
    value = []
    for _, eqs in in_models(load_text(THICK_ARM), "arm", SWINGING_WORDS):
        run = simulate(eqs, 0.3, method="explicit", rtol=1e-9, parameters={"gravity": 9.81}, save_every=0.01)
        value.append(np.ptp(run.energy["total"].values) / run.energy["kinetic"].values.max())
    return CaseResult(value, 0.0)
