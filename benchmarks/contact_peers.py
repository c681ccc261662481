"""Rods and balls in contact, in PyElastica and MuJoCo: the models of `contact.py` for these two programs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

LIMIT = 120.0
"""Runs that exceed this processor time are abandoned [s]; their time is then a lower bound."""


@dataclass(frozen=True)
class StraightRod:
    """Base of a rod [m], its direction, its velocity [m/s], and whether its first end is clamped."""

    start: tuple[float, float, float]
    direction: tuple[float, float, float]
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    clamped: bool = False


@dataclass(frozen=True)
class RodCase:
    """Rods that touch each other, the ground or themselves. SI units.

    The material's damping is `beta` times its stiffness [s]. PyElastica has no such damping: it has `drag` [1/s] instead, a force
    of that times mass and velocity, which does not change the final equilibrium.
    """

    name: str
    rods: tuple[StraightRod, ...]
    until: float
    length: float
    gravity: float = 9.81
    ground: bool = False
    itself: bool = False
    friction: float = 0.0
    beta: float = 0.0
    drag: float = 0.0
    radius: float = 5e-3
    youngs_modulus: float = 1e6
    poissons_ratio: float = 0.45
    density: float = 1100.0
    samples: int = 20
    points: int = 5

    @property
    def area(self) -> float:
        """Of the section [m^2]."""
        return float(np.pi * self.radius**2)

    @property
    def bending_stiffness(self) -> float:
        """E I [N m^2]."""
        return float(self.youngs_modulus * np.pi * self.radius**4 / 4)

    @property
    def times(self) -> np.ndarray:
        """When places are compared [s]."""
        return np.arange(1, self.samples + 1) * self.until / self.samples


@dataclass(frozen=True)
class Outcome:
    """Places of points along the rods [m] (samples x rods x points x 3), and the processor time of the motion alone [s]."""

    places: np.ndarray
    seconds: float

    @property
    def failed(self) -> bool:
        """Whether the run diverged."""
        return not np.isfinite(self.places).all()


def along(nodes: np.ndarray, count: int) -> np.ndarray:
    """Places of equally spaced points of a polygon with equal sides."""
    s = np.linspace(0, len(nodes) - 1, count)
    return np.stack([np.interp(s, np.arange(len(nodes)), x) for x in nodes.T], axis=1)


# -- PyElastica --------------------------------------------------------------------------------------------------------


def elastica_run(case: RodCase, *, elements: int, step: float, stiffness: float, damping: float) -> Outcome:
    """The case in PyElastica, with its contact's stiffness [N/m] and damping [N s/m], at a fixed step [s]."""
    import elastica as ea

    class Simulator(ea.BaseSystemCollection, ea.Constraints, ea.Forcing, ea.Damping, ea.Contact):
        pass

    simulator = Simulator()
    rods = [_elastica_rod(ea, simulator, case, rod, elements, step) for rod in case.rods]
    for i, rod in enumerate(rods):
        for other in rods[i + 1 :]:
            simulator.detect_contact_between(rod, other).using(ea.RodRodContact, k=stiffness, nu=damping)
        if case.itself:
            simulator.detect_contact_between(rod, rod).using(ea.RodSelfContact, k=stiffness, nu=damping)
    if case.ground:
        plane = ea.Plane(plane_origin=np.zeros(3), plane_normal=np.array([0.0, 0.0, 1.0]))
        simulator.append(plane)
        coefficients = np.full(3, case.friction)
        for rod in rods:
            simulator.detect_contact_between(rod, plane).using(
                ea.RodPlaneContactWithAnisotropicFriction, k=stiffness, nu=damping, slip_velocity_tol=1e-3,
                static_mu_array=coefficients, kinetic_mu_array=coefficients,
            )  # fmt: skip
    simulator.finalize()
    return _elastica_steps(ea.PositionVerlet(), simulator, rods, case, step)


def _elastica_rod(ea: Any, simulator: Any, case: RodCase, rod: StraightRod, elements: int, step: float) -> Any:
    direction = np.array(rod.direction)
    normal = np.cross(direction, [0.0, 1.0, 0.0] if abs(direction[1]) < 0.9 else [0.0, 0.0, 1.0])
    made = ea.CosseratRod.straight_rod(
        elements, np.array(rod.start), direction, normal / np.linalg.norm(normal), case.length, case.radius, case.density,
        youngs_modulus=case.youngs_modulus, shear_modulus=case.youngs_modulus / (2 * (1 + case.poissons_ratio)),
    )  # fmt: skip
    simulator.append(made)
    made.velocity_collection[:] = np.array(rod.velocity)[:, None]
    simulator.add_forcing_to(made).using(ea.GravityForces, acc_gravity=np.array([0.0, 0.0, -case.gravity]))
    if rod.clamped:
        fixed = {"constrained_position_idx": (0,), "constrained_director_idx": (0,)}
        simulator.constrain(made).using(ea.OneEndFixedBC, **fixed)
    if case.drag:
        damper = {"uniform_damping_constant": case.drag, "time_step": step}
        simulator.dampen(made).using(ea.AnalyticalLinearDamper, **damper)
    return made


def _elastica_steps(stepper: Any, simulator: Any, rods: Sequence[Any], case: RodCase, step: float) -> Outcome:
    places, seconds, now = [], 0.0, np.float64(0.0)
    for t in case.times:
        count = max(1, round((t - float(now)) / step))
        h = np.float64((t - float(now)) / count)
        begin = time.process_time()
        for _ in range(count):
            now = stepper.step(simulator, now, h)
        seconds += time.process_time() - begin
        places.append([along(rod.position_collection.T, case.points) for rod in rods])
        if not np.isfinite(places[-1]).all() or seconds > LIMIT:
            return Outcome(np.full((len(case.times), len(rods), case.points, 3), np.nan), seconds)
    return Outcome(np.array(places), seconds)


# -- MuJoCo ------------------------------------------------------------------------------------------------------------


def mujoco_rods(case: RodCase, *, elements: int, step: float, reference: str, solver: str = "Newton") -> Any:
    """Chains of capsules with ball joints. reference: MuJoCo's `solref` of all contacts."""
    import mujoco

    h = case.length / elements
    mass = case.density * case.area * h
    lateral, axial = mass * (3 * case.radius**2 + h**2) / 12, mass * case.radius**2 / 2
    stiffness = case.bending_stiffness / h
    inertial = f'<inertial pos="0 0 {h / 2}" mass="{mass}" diaginertia="{lateral} {lateral} {axial}"/>'
    geom = f'<geom type="capsule" fromto="0 0 0 0 0 {h}" size="{case.radius}"/>'
    bodies, excluded = [], []
    near = 1 + int(np.ceil(0.8 * np.pi * case.radius / h)) if case.itself else elements
    for n, rod in enumerate(case.rods):
        chain = "</body>" * elements
        for i in reversed(range(elements)):
            k = stiffness * (2 if i == 0 else 1)  # a clamp is half an element away from the first section
            joint = f'<joint type="ball" stiffness="{k}" damping="{case.beta * k}"/>'
            joint = "<freejoint/>" if i == 0 and not rod.clamped else joint
            place = f'pos="{_text(rod.start)}" quat="{_text(_turn(rod.direction))}"' if i == 0 else f'pos="0 0 {h}"'
            chain = f'<body name="r{n}_{i}" {place}>{inertial}{joint}{geom}' + chain
        bodies.append(chain)
        excluded += [
            f'<exclude body1="r{n}_{i}" body2="r{n}_{j}"/>'
            for i in range(elements)
            for j in range(i + 2, min(i + near, elements))
        ]
    floor = '<geom type="plane" size="5 5 1"/>' if case.ground else ""
    # pairs that cannot collide are defined by bits if rods do not touch themselves: cheaper than excluded pairs
    text = f"""<mujoco><option timestep="{step}" gravity="0 0 {-case.gravity}" solver="{solver}" integrator="implicitfast"/>
<size memory="500M"/><default><geom friction="{case.friction} 0 0" condim="{3 if case.friction else 1}" solref="{reference}"/>
</default><worldbody>{floor}{"".join(bodies)}</worldbody><contact>{"".join(excluded)}</contact></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    if not case.itself:
        chain_of = np.maximum(model.body_rootid[model.geom_bodyid], 0)
        for i, root in enumerate(np.unique(chain_of)):
            model.geom_contype[chain_of == root] = 1 << i
            model.geom_conaffinity[chain_of == root] = 0xFF & ~(1 << i)
    return model


def mujoco_rods_run(case: RodCase, **setting: Any) -> Outcome:
    """The case in MuJoCo."""
    import mujoco

    model = mujoco_rods(case, **setting)
    data = mujoco.MjData(model)
    first = [model.body(f"r{n}_0").id for n in range(len(case.rods))]
    for rod, body in zip(case.rods, first, strict=True):
        if not rod.clamped:
            at = model.jnt_dofadr[model.body_jntadr[body]]
            data.qvel[at : at + 3] = rod.velocity
    places, seconds, done = [], 0.0, 0
    for t in case.times:
        count = round(t / setting["step"]) - done
        begin = time.process_time()
        mujoco.mj_step(model, data, nstep=count)
        seconds += time.process_time() - begin
        done += count
        mujoco.mj_kinematics(model, data)
        places.append([along(_mujoco_nodes(data, body, setting["elements"], case), case.points) for body in first])
        if data.time < 0.5 * t or seconds > LIMIT:  # it restarts from zero if it becomes unstable
            return Outcome(np.full((len(case.times), len(first), case.points, 3), np.nan), seconds)
    return Outcome(np.array(places), seconds)


def _mujoco_nodes(data: Any, body: int, elements: int, case: RodCase) -> np.ndarray:
    nodes = data.xpos[body : body + elements]
    end = nodes[-1] + data.xmat[body + elements - 1].reshape(3, 3)[:, 2] * case.length / elements
    return np.vstack([nodes, end])


def _text(numbers: Sequence[float]) -> str:
    return " ".join(map(str, numbers))


def _turn(direction: Sequence[float]) -> np.ndarray:
    """Quaternion that turns z to a direction other than -z."""
    x, y, z = direction
    quaternion = np.array([1 + z, -y, x, 0.0])
    return quaternion / np.linalg.norm(quaternion)


# -- piles -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BallCase:
    """Equal balls that fall into a box without a lid. SI units."""

    count: int
    until: float = 0.5
    radius: float = 0.01
    mass: float = 4e-3
    friction: float = 0.4
    stiffness: float = 1e4

    @property
    def name(self) -> str:
        """In words."""
        return f"pile of {self.count} balls"

    @property
    def side(self) -> int:
        """Balls along each side of the box, which is twice as high as wide when it is filled."""
        return int(np.ceil((self.count / 2) ** (1 / 3)))

    @property
    def places(self) -> np.ndarray:
        """Where the balls start [m]: on a grid, disturbed."""
        i, m = np.arange(self.count), self.side
        grid = np.stack([i % m, (i // m) % m, i // m**2], axis=1)
        return (2.2 * grid + 1.05 + np.random.default_rng(0).uniform(0, 0.1, (self.count, 3))) * self.radius

    @property
    def walls(self) -> list[tuple[tuple[float, float, float], tuple[float, float, float]]]:
        """Normals and places of the five planes."""
        w = 2.2 * self.side * self.radius
        here, there = (0.0, 0.0, 0.0), (w, w, 0.0)
        return [((0, 0, 1), here), ((1, 0, 0), here), ((0, 1, 0), here), ((-1, 0, 0), there), ((0, -1, 0), there)]


def mujoco_balls_run(case: BallCase, *, step: float, reference: str, solver: str) -> dict[str, float]:
    """A pile in MuJoCo: time, contacts at the end, mean height and largest overlap, relative to the radius."""
    import mujoco

    planes = "".join(f'<geom type="plane" size="1 1 1" zaxis="{_text(n)}" pos="{_text(p)}"/>' for n, p in case.walls)
    ball = f'<freejoint/><geom type="sphere" size="{case.radius}" mass="{case.mass}"/>'
    balls = "".join(f'<body pos="{_text(p)}">{ball}</body>' for p in case.places)
    model = mujoco.MjModel.from_xml_string(f"""<mujoco><option timestep="{step}" solver="{solver}"/><size memory="1G"/>
<default><geom friction="{case.friction} 0 0" solref="{reference}"/></default>
<worldbody>{planes}{balls}</worldbody></mujoco>""")
    data = mujoco.MjData(model)
    begin = time.process_time()
    mujoco.mj_step(model, data, nstep=round(case.until / step))
    return {
        "seconds": time.process_time() - begin,
        "contacts": data.ncon,
        "height": float(data.qpos.reshape(case.count, 7)[:, 2].mean()) / case.radius,
        "overlap": -float(data.contact.dist.min()) / case.radius,
    }
