"""A pneumatic arm draws a circle of 50 mm twice in four seconds, by predictive control of nine pressures."""

from dataclasses import dataclass

import casadi as ca
import numpy as np

import pliant
from pliant.control import Limits, Predictive

RADIUS, FREQUENCY = 0.05, 0.5
"""Radius of the circle [m], and turns per second [Hz]."""
HIGHEST = 600e3
"""Bound of the pressures [Pa]."""
BEGIN = 1.0
"""Time in which the circle grows from its centre [s]."""


def circle(centre: np.ndarray) -> ca.Function:
    """The reference position of the tip [m] at a time [s]: a circle that grows smoothly."""
    t = ca.SX.sym("t")
    s = ca.fmin(t / BEGIN, 1)
    r, angle = RADIUS * s**3 * (10 - 15 * s + 6 * s**2), 2 * np.pi * FREQUENCY * t
    return ca.Function("circle", [t], [ca.DM(centre) + ca.vertcat(r * ca.cos(angle), r * ca.sin(angle), 0)])


@dataclass(frozen=True)
class Drawn:
    """A run along the circle: reference positions n x 3 [m], the tip's error n [m], and the time of each command [s]."""

    run: pliant.Result
    wanted: np.ndarray
    error: np.ndarray
    seconds: list[float]

    @property
    def rms(self) -> float:
        """Root mean square of the error after the circle has reached its size [m]."""
        return float(np.sqrt(np.mean(self.error[self.run.time > BEGIN] ** 2)))


def draw(stiffness: float) -> Drawn:
    """The circle by an arm of this muscle stiffness [N/m]."""
    eqs = pliant.derive("three_section_arm")
    filled = dict.fromkeys(eqs.inputs, 150e3)
    arm = {"stiffness": stiffness}
    rest = pliant.equilibrium(eqs, inputs=filled, parameters=arm)
    wanted = circle(rest.frames["s3.tip"].position)
    controller = Predictive(
        eqs,  # the model keeps its own stiffness
        ("tip",),
        lambda t: np.asarray(wanted(t)).ravel(),
        sample_time=0.02,
        horizon=5,
        effort=1e-16,
        change=1e-15,
        limits=Limits(dict.fromkeys(eqs.inputs, 0.0), dict.fromkeys(eqs.inputs, HIGHEST)),
        preferred=np.full(len(eqs.inputs), 150e3),
    )
    run = pliant.simulate(
        eqs, 4.0, start=rest, inputs=filled, parameters=arm, controllers=controller, save_every=0.01, rtol=1e-5
    )
    places = np.array([np.asarray(wanted(t)).ravel() for t in run.time])
    return Drawn(run, places, np.linalg.norm(run["tip"].values - places, axis=1), controller.seconds)


def main() -> float:
    """Root mean square of the tip's error with the true model [m]."""
    for title, stiffness in (("10 % stiffer than the model", 1870.0), ("true model", 1700.0)):
        done = draw(stiffness)
        times = f"{1e3 * np.median(done.seconds):.1f} ms per command, at worst {1e3 * max(done.seconds):.1f} ms"
        print(f"{title}: error {1e3 * done.rms:.3f} mm RMS; {times}")
        assert done.rms < (1e-3 if stiffness != 1700.0 else 2e-4)
    return done.rms


if __name__ == "__main__":
    main()
