"""The pretensioned leg, stabilized by a regulator that measures only the leaf spring's middle and damps its first vibration."""

from dataclasses import dataclass

import numpy as np

import pliant
from pliant.control import Limits, Mode, StateFeedback, discretize, kalman, lqr, reduce

SAMPLE = 2e-3
"""Time between two commands of the controller [s]."""
TORQUE = 1.0
"""Largest deviation of the motor's torque from its value at equilibrium [N m]."""
STEP = pliant.GeneralizedAlpha(step=2.5e-4)


def flexible_motion(run: pliant.Result, rest: np.ndarray, frequency: float) -> tuple[np.ndarray, np.ndarray]:
    """Times [s] and the vibration of the spring's middle along x [m], without the slow swing of the links."""
    x = run["middle"].values[:, 0] - rest[0]
    width = round(1 / frequency / (run.time[1] - run.time[0]))
    slow = np.convolve(x, np.ones(width) / width, mode="same")
    return run.time[width:-width], (x - slow)[width:-width]


@dataclass(frozen=True)
class Held:
    """The leg after a push, free and controlled: its posture at equilibrium, first flexible mode and initial torque [N m]."""

    runs: dict[str, pliant.Result]
    quiet: np.ndarray
    flexible: Mode
    damped: Mode
    torque: float

    def vibration(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Times [s] and the vibration of the spring's middle along x [m] in the run of that name."""
        return flexible_motion(self.runs[name], self.quiet, self.flexible.frequency)

    def left(self, name: str) -> float:
        """Fraction of the vibration that remains after 0.45 s."""
        t, x = self.vibration(name)
        return float(np.abs(x[t > 0.45]).max() / np.abs(x[t < 0.1]).max())


def hold() -> Held:
    """Design the loop, push the leg, and release it with and without control."""
    eqs = pliant.derive("leg@pretensioned")
    rest = pliant.equilibrium(eqs)
    linear = pliant.linearize(eqs, at=rest.state).select(outputs=("middle",))
    slow = reduce(linear, keep=3)  # the links' swing and creep, and the spring's first vibration
    sampled = discretize(slow.linear, SAMPLE)
    flexible = slow.kept[-1]
    weights = np.diag([0.0, 0.1, 0.1, 1.0, 1.0])  # mostly on the vibration
    regulator = lqr(sampled, states=weights, inputs=300.0)
    observer = kalman(sampled, process=0.0, inputs=1.0, outputs=1e-8)
    torque = float(linear.input_values[0])
    controller = StateFeedback(
        eqs,
        regulator,
        slow,
        observer,  # it starts from the equilibrium posture, which is wrong
        limits=Limits(lower={"hold": torque - TORQUE}, upper={"hold": torque + TORQUE}),
        noise={"middle": 1e-5},
    )
    assert slow.spillover(regulator.gain).stable, "the modes left out stay stable, sampling and observer aside"
    damped = next(mode for mode in regulator.modes if abs(mode.frequency / flexible.frequency - 1) < 0.1)

    push = pliant.simulate(eqs, 0.015, start=rest, inputs={"hold": torque + 0.5}, method=STEP)
    start = pliant.State(push.final.q, push.final.v)
    runs = {
        name: pliant.simulate(eqs, 0.6, start=start, controllers=controllers, save_every=SAMPLE / 2, method=STEP)
        for name, controllers in (("free", ()), ("held", controller))
    }
    return Held(runs, np.array(rest.outputs["middle"]), flexible, damped, torque)


def main() -> float:
    """Damping ratio of the first flexible mode in the loop."""
    leg = hold()
    flexible, damped = leg.flexible, leg.damped
    effort = np.abs(leg.runs["held"].inputs["hold"] - leg.torque).max()
    print(f"first flexible mode: {flexible.frequency:.1f} Hz, damping ratio {flexible.damping_ratio:.1e}")
    print(
        f"in the loop {damped.damping_ratio:.3f}; vibration left after 0.45 s: {leg.left('held'):.2f} "
        f"(free: {leg.left('free'):.2f})"
    )
    print(f"largest change of the torque: {effort:.2f} N m")
    assert damped.damping_ratio > 5 * flexible.damping_ratio
    assert leg.left("held") < 0.25
    assert leg.left("free") > 0.7
    assert effort <= TORQUE
    return damped.damping_ratio


if __name__ == "__main__":
    main()
