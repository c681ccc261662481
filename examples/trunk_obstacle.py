"""A tendon-driven trunk reaches behind a ball without touching it: planned at rest, tracked in motion, all with the same model.

The trunk hangs from a shoulder that rotates freely with little damping, so the tendons also have to damp its swing. They pull
between 0.5 and 20 N; the plan leaves the ends of that range to the feedback.
"""

import time
from dataclasses import dataclass
from functools import cache

import numpy as np

import pliant
from pliant.control import FramePosition, Goal, Limits, Sphere, Tracking, Trajectory, discretize, lqr, plan_slow
from pliant.parts import Placement, RodFrame

TENDONS = ("near1", "near2", "near3", "far1", "far2", "far3")
WEAKEST, STRONGEST = 0.5, 20.0
"""Bounds of the tensions [N]."""
PLANNED = (2.0, 18.0)
"""Bounds of the planned ones [N]; the lower one is the pretension at the start."""
TARGET = np.array([0.0, 0.2, -0.26])
"""Target of the tip [m]; it starts 0.42 m below the shoulder."""
CENTRE, RADIUS = np.array([0.0, 0.11, -0.36]), 0.03
"""The ball [m]."""
MARGIN = 0.006
"""Clearance of the plan from the ball [m]."""
GRIPPER = (0.025, 0.016, 0.04)
"""Its box [m], along the trunk at last."""
DURATION, AFTER, SAMPLE = 3.0, 2.0, 0.02
"""Time of the motion, time to hold the tip afterwards, and time between two commands [s]."""


@dataclass(frozen=True)
class Reach:
    """A run along a plan: clearance at the saved times [m], error of the tip at the end [m], tensions n x 6 [N]."""

    run: pliant.Result
    clearance: np.ndarray
    error: float
    tensions: np.ndarray
    seconds: list[float]


@cache
def trunk(stations: int) -> tuple[pliant.Equations, dict[str, float]]:
    """The trunk with this number of named frames along each rod and half as many along the gripper; and its radius [m] around
    each."""
    robot = pliant.load("trunk")
    value = pliant.derive(robot).parameters
    rods, around = {}, {}
    for name, thick, thin in (("upper", "top_radius", "middle_radius"), ("lower", "middle_radius", "end_radius")):
        length = value[f"{name}_length"]
        places = {f"at{k}": RodFrame(at=length * k / stations) for k in range(1, stations)}
        rods[name] = robot.rods[name].model_copy(update={"frames": places})
        for k, frame in enumerate([*places, "tip"], 1):
            around[f"{name}.{frame}"] = value[thick] + (value[thin] - value[thick]) * k / stations
    gripper = robot.bodies["gripper"]
    pieces = stations // 2
    between = {f"at{k}": Placement(position=(0, 0, GRIPPER[2] * k / pieces)) for k in range(1, pieces)}
    frames = {**gripper.frames, **between}
    across = float(np.hypot(GRIPPER[0], GRIPPER[1])) / 2  # its box fits into a cylinder of this radius
    around |= dict.fromkeys(("lower.tip", "gripper.tip", *(f"gripper.{name}" for name in between)), across)
    bodies = {**robot.bodies, "gripper": gripper.model_copy(update={"frames": frames})}
    return pliant.derive(robot.replace(rods=rods, bodies=bodies)), around


def ball(around: dict[str, float], margin: float = 0.0) -> Sphere:
    """The ball, and the frames that avoid it."""
    return Sphere(CENTRE, RADIUS, {name: x + margin for name, x in around.items()})


def planned(eqs: pliant.Equations, *obstacles: Sphere) -> Trajectory:
    """Equilibria from hanging under pretension to the target."""
    found = plan_slow(
        eqs,
        DURATION,
        Goal(positions={"gripper.tip": TARGET}),
        start=dict.fromkeys(TENDONS, PLANNED[0]),
        inputs=TENDONS,
        limits=Limits(dict.fromkeys(TENDONS, PLANNED[0]), dict.fromkeys(TENDONS, PLANNED[1])),
        obstacles=obstacles,
    )
    assert found.status == "converged", found.message
    return found


def tracking(eqs: pliant.Equations, motion: Trajectory) -> Tracking:
    """State feedback of the trunk with weights on the position and velocity of its tip."""
    tensions = dict(zip(TENDONS, motion.inputs[-1].tolist(), strict=True))
    there = pliant.linearize(eqs, at=motion.final, inputs=tensions, independent=eqs.rates)
    there = there.select(TENDONS, ("tip",))
    J = there.C[:, : len(eqs.rates)]
    zero = np.zeros((J.shape[1], J.shape[1]))
    weights = {"states": np.block([[1e4 * J.T @ J, zero], [zero, 1e3 * J.T @ J]]), "inputs": 1.0}
    return Tracking(
        eqs,
        motion,
        lqr(discretize(there, SAMPLE), **weights),
        sample_time=SAMPLE,
        limits=Limits(dict.fromkeys(TENDONS, WEAKEST), dict.fromkeys(TENDONS, STRONGEST)),
        task=FramePosition("gripper.tip"),
        integral=1.5,
        **weights,
    )


def reach(eqs: pliant.Equations, controller: Tracking, *, stiffness: float = 1.0) -> Reach:
    """The motion of a trunk whose Young's modulus is `stiffness` times that of the model."""
    pulled, made = dict.fromkeys(TENDONS, PLANNED[0]), {"youngs_modulus": stiffness * eqs.parameters["youngs_modulus"]}
    run = pliant.simulate(
        eqs,
        DURATION + AFTER,
        start=pliant.equilibrium(eqs, inputs=pulled, parameters=made),
        inputs=pulled,
        parameters=made,
        controllers=controller,
        save_every=SAMPLE,
        method=pliant.GeneralizedAlpha(step=0.005),
    )
    assert run.status == "completed", run.message
    finer, around = trunk(12)  # the same model, checked against the ball at more points than in the plan
    clearance = np.array([ball(around).clearance(finer, q) for q in run.q])
    tensions = np.stack([run.inputs[name] for name in TENDONS], axis=1)
    error = float(np.linalg.norm(run["tip"].values[-1] - TARGET))
    return Reach(run, clearance, error, tensions, list(controller.seconds))


def main() -> float:
    """Smallest distance between the trunk and the ball [m]."""
    eqs, around = trunk(4)
    begin = time.perf_counter()
    motion = planned(eqs, ball(around, MARGIN))
    found = time.perf_counter() - begin
    print(f"{len(eqs.rates)} coordinates; planned in {found:.1f} s and {motion.iterations} iterations")
    controller = tracking(eqs, motion)
    done = {
        "straight": reach(eqs, tracking(eqs, planned(eqs))),
        "around": reach(eqs, controller),
        "around, trunk 10 % stiffer": reach(eqs, controller, stiffness=1.1),
    }
    for words, x in done.items():
        print(
            f"{words}: least clearance {1e3 * x.clearance.min():.1f} mm, tip {1e3 * x.error:.2f} mm off at the end, "
            f"tensions {x.tensions.min():.2f} to {x.tensions.max():.2f} N, {1e3 * np.median(x.seconds):.2f} ms per command"
        )
        assert WEAKEST <= x.tensions.min() <= x.tensions.max() <= STRONGEST
    start = done["around"].run["tip"].values[0]
    along = TARGET - start
    nearest = np.linalg.norm(start + (CENTRE - start) @ along / (along @ along) * along - CENTRE)
    print(f"the straight line of the tip passes {1e3 * nearest:.1f} mm from the middle of the ball")
    assert nearest < RADIUS
    assert done["straight"].clearance.min() < -0.01, "without the ball in the plan the trunk hits it"
    assert done["around"].clearance.min() > 0.5 * MARGIN
    assert done["around"].error < 5e-4
    assert done["around, trunk 10 % stiffer"].clearance.min() > 0
    assert done["around, trunk 10 % stiffer"].error < 2e-3
    return float(done["around"].clearance.min())


if __name__ == "__main__":
    main()
