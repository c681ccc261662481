"""A target docks at a platform on six legs: without control, with one regulator for all motors, and with one for each leg."""

from dataclasses import dataclass

import numpy as np

import pliant
from pliant.control import Group, Limits, StateFeedback, closed_loop, decentralized_lqr, discretize, lqr, reduce

SAMPLE = 1e-3
"""Time between two commands [s]."""
THRUST = 30.0
"""Force that presses the target against the probe [N]."""
STRONGEST = 5.0
"""Torques of the motors in addition to those of their servos [N m]."""
WEIGHTS = {"speed": 1e3, "contact": 0.05}
"""Costs of the platform's speed and of deviations of the contact force [1/(m/s)^2, 1/N^2]; torques cost 1 [1/(N m)^2]."""
LEGS = range(1, 7)
MOTORS = tuple(f"torque{k}" for k in LEGS)
STEP = pliant.GeneralizedAlpha(step=1e-3)


@dataclass(frozen=True)
class Docking:
    """A run of 1.5 s from the first equilibrium."""

    run: pliant.Result

    @property
    def force(self) -> np.ndarray:
        """Force of the port on the probe [N]."""
        return -np.asarray(self.run["contact"].values)

    @property
    def peak(self) -> float:
        """Largest force [N]."""
        return float(self.force.max())

    def left(self, quantity: np.ndarray) -> float:
        """Half the peak-to-peak amplitude of a quantity in the last half second."""
        return float(np.ptp(quantity[self.run.time > 1.0]) / 2)

    @property
    def vibration(self) -> float:
        """Of the lateral motion of the platform [m]."""
        return self.left(self.run["position"].values[:, 0])

    @property
    def torque(self) -> float:
        """Largest torque in addition to those of the servos [N m]."""
        return max(float(np.abs(self.run.inputs[name]).max()) for name in MOTORS)


def controllers(eqs: pliant.Equations, priority: float | None) -> dict[str, StateFeedback | None]:
    """Regulators that hold the docked pose. Decentralized legs measure only the angle and the rate of their own crank."""
    docked = pliant.equilibrium(eqs, inputs={"thrust": THRUST})
    linear = pliant.linearize(eqs, at=docked)
    push = linear.B[:, linear.inputs.index("thrust")]  # disturbances of the design: impulses on the target
    motors = linear.select(inputs=MOTORS)
    slow = reduce(motors, below=30.0)
    sampled = discretize(slow.linear, SAMPLE)
    limits = Limits(lower=dict.fromkeys(MOTORS, -STRONGEST), upper=dict.fromkeys(MOTORS, STRONGEST))

    def own(k: int, priority: float = 1.0) -> Group:
        return Group((f"torque{k}",), outputs=(f"leg{k}/crank", f"leg{k}/crank_rate"), priority=priority)

    groups = {"each leg by itself": {f"leg{k}": own(k) for k in LEGS}}
    if priority is not None:
        groups["the same, legs 1 and 2 first"] = {f"leg{k}": own(k, priority if k < 3 else 1.0) for k in LEGS}
    found: dict[str, StateFeedback | None] = {"servos alone": None}
    central = lqr(sampled, states=0.0, outputs=WEIGHTS)
    found["one regulator"] = StateFeedback(eqs, central, slow, limits=limits)
    for name, chosen in groups.items():
        regulator = decentralized_lqr(sampled, chosen, states=0.0, outputs=WEIGHTS, reduction=slow, disturbances=push)
        found[name] = StateFeedback(eqs, regulator, limits=limits)
    for controller in found.values():
        assert controller is None or closed_loop(controller, motors).stable, (
            "on the whole linear robot, sampled as it runs"
        )
    return found


def dock(priority: float | None = None) -> dict[str, Docking]:
    """The target docks with each of the controllers; one of them gives priority to legs 1 and 2, if requested."""
    eqs = pliant.derive("six_leg@docking_target")
    rest = pliant.equilibrium(eqs)
    found = {}
    for name, controller in controllers(eqs, priority).items():
        chosen = () if controller is None else controller
        run = pliant.simulate(eqs, 1.5, start=rest, method=STEP, save_every=2e-3, controllers=chosen)
        found[name] = Docking(run)
    return found


def main() -> float:
    """Ratio of the peak contact forces with a regulator in each leg and without control."""
    runs = dock()
    for name, run in runs.items():
        print(
            f"{name}: peak {run.peak:.1f} N, force still swings by {run.left(run.force):.2f} N, platform by "
            f"{1e3 * run.vibration:.2f} mm, torque up to {run.torque:.2f} N m"
        )
    free, central, local = (runs[name] for name in ("servos alone", "one regulator", "each leg by itself"))
    assert central.peak < 0.8 * free.peak
    assert local.peak < 0.87 * free.peak
    for run in (central, local):
        assert run.left(run.force) < 0.1 * free.left(free.force)
        assert run.vibration < 0.3 * free.vibration
        assert run.torque < STRONGEST
    return local.peak / free.peak


if __name__ == "__main__":
    main()
