"""The cart-pole swings its pole up along a planned motion and holds it there, with a motor of 15 N."""

import numpy as np

import pliant
from pliant.control import Goal, Limits, Tracking, Trajectory, discretize, lqr, plan

SAMPLE = 0.02
STRONGEST = 15.0
"""Bound of the motor's force to both sides [N]."""
FRICTION = 0.6
"""Friction of the robot's cart [N s/m]; that of the planned model is smaller."""
WEIGHTS = {"states": [10.0, 50.0, 1.0, 1.0], "inputs": 0.1}


def swing_up() -> tuple[pliant.Result, Trajectory]:
    """The pole's motion from hanging to upright, and the plan that it follows."""
    eqs = pliant.derive("cart_pole")
    limits = Limits(lower={"force": -STRONGEST}, upper={"force": STRONGEST})
    hanging = pliant.State(np.array([0.0, np.pi]), np.zeros(2))
    swing = plan(eqs, 2.5, Goal({"rail": 0.0, "hinge": 0.0}), start=hanging, limits=limits, intervals=40)
    assert swing.status == "converged", swing.message
    upright = pliant.linearize(eqs, at=np.zeros(2), independent=("rail", "hinge"))
    hold = lqr(discretize(upright, SAMPLE), **WEIGHTS)
    controller = Tracking(eqs, swing, hold, sample_time=SAMPLE, limits=limits, **WEIGHTS)
    # the robot starts slightly off the plan
    aside = pliant.State(np.array([0.05, np.pi - 0.1]), np.zeros(2))
    return pliant.simulate(eqs, 5.0, start=aside, controllers=controller, parameters={"friction": FRICTION}), swing


def main() -> float:
    """Angle of the pole after 5 s, from hanging [rad]."""
    run, _ = swing_up()
    angle, force = run["hinge"].values, run.inputs["force"]
    print(
        f"pole from {np.degrees(angle[0]):.0f} to {np.degrees(angle[-1]):.3f} deg with at most {np.abs(force).max():.1f} N"
    )
    assert abs(angle[-1]) < 1e-3
    assert np.abs(force).max() <= STRONGEST
    return float(angle[-1])


if __name__ == "__main__":
    main()
