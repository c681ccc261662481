"""The period of a pendulum with large amplitude, compared with the elliptic integral."""

import numpy as np
from scipy.special import ellipk

import pliant

GRAVITY = 9.81


def main() -> float:
    """Relative error of the simulated period."""
    eqs = pliant.derive("pendulum")
    length = eqs.parameters["length"]
    angle = np.radians(120)
    start = {"hinge": angle}
    # from the highest point to the lowest one is a quarter of a period
    bottom = pliant.Event(lambda now: now.q[0], direction="falling", name="bottom")
    run = pliant.simulate(eqs, 2.0, start=start, rtol=1e-10, events=[bottom])
    period = 4 * run.final.t
    # a uniform rod swings like a point at 2/3 of its length; the argument of ellipk is the square of the modulus
    exact = 4 * np.sqrt(2 * length / (3 * GRAVITY)) * ellipk(np.sin(angle / 2) ** 2)
    print(f"period {period:.9f} s, exact {exact:.9f} s")
    error = abs(period / exact - 1)
    assert error < 1e-8
    return error


if __name__ == "__main__":
    main()
