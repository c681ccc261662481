"""The cart-pole swings its pole up along a planned motion and holds it there, with a motor of 15 N."""

import numpy as np

import pliant
from pliant.control import Goal, Limits, Tracking, discretize, lqr, plan

SAMPLE = 0.02
WEIGHTS = {"states": [10.0, 50.0, 1.0, 1.0], "inputs": 0.1}


def main() -> float:
    """Angle of the pole after 5 s, from hanging [rad]."""
    eqs = pliant.derive("cart_pole")
    limits = Limits(lower={"force": -15.0}, upper={"force": 15.0})
    hanging = pliant.State(np.array([0.0, np.pi]), np.zeros(2))
    swing = plan(eqs, 2.5, Goal({"rail": 0.0, "hinge": 0.0}), start=hanging, limits=limits, intervals=40)
    assert swing.status == "converged", swing.message
    upright = pliant.linearize(eqs, at=np.zeros(2), independent=("rail", "hinge"))
    hold = lqr(discretize(upright, SAMPLE), **WEIGHTS)
    controller = Tracking(eqs, swing, hold, sample_time=SAMPLE, limits=limits, **WEIGHTS)
    # the robot has more friction than the plan knew, and starts a little aside
    aside = pliant.State(np.array([0.05, np.pi - 0.1]), np.zeros(2))
    run = pliant.simulate(eqs, 5.0, start=aside, controllers=controller, parameters={"friction": 0.6})
    angle, force = run["hinge"].value, run.inputs["force"]
    print(
        f"pole from {np.degrees(angle[0]):.0f} to {np.degrees(angle[-1]):.3f} deg with at most {np.abs(force).max():.1f} N"
    )
    assert abs(angle[-1]) < 1e-3
    assert np.abs(force).max() <= 15
    return float(angle[-1])


if __name__ == "__main__":
    main()
