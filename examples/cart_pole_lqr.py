"""A sampled LQR balances the cart-pole: linearize, design with SciPy, run on the nonlinear model."""

import numpy as np
from scipy.linalg import expm, solve_discrete_are

import pliant
from pliant.analysis.linearize import StateSpace

SAMPLE = 0.02
"""Time between two commands of the controller [s]."""


def discrete_gain(linear: StateSpace) -> np.ndarray:
    """Gain (4) of the discrete LQR for commands that are constant between samples."""
    n, m = linear.B.shape
    held = expm(SAMPLE * np.block([[linear.A, linear.B], [np.zeros((m, n + m))]]))
    A, B = held[:n, :n], held[:n, n:]
    Q, R = np.diag([10.0, 50.0, 1.0, 1.0]), np.array([[0.1]])
    P = solve_discrete_are(A, B, Q, R)
    return np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)[0]


def main() -> float:
    """Angle of the pole after 5 s, from 20 degrees [rad]."""
    eqs = pliant.derive("cart_pole")
    upright = np.zeros(2)
    linear = pliant.linearize(eqs, at=upright, independent=("rail", "hinge"))
    gain = discrete_gain(linear)
    start = pliant.State(np.array([0.0, np.radians(20)]), np.zeros(2))

    def control(now: pliant.Now) -> None:
        """Called after every step; a step is one sample."""
        now.inputs["force"] = float(-gain @ np.concatenate([now.q, now.v]))

    run = pliant.simulate(
        eqs,
        5.0,
        start=start,
        method=pliant.ExplicitRungeKutta(step=SAMPLE),
        inputs={"force": float(-gain @ np.concatenate([start.q, start.v]))},
        mid_step=control,
    )
    angle, travel = run["hinge"].values, run["rail"].values
    print(f"pole {np.degrees(angle[0]):.1f} to {np.degrees(angle[-1]):.4f} deg, cart moved up to {travel.max():.3f} m")
    assert abs(angle[-1]) < 1e-3
    assert np.abs(angle).max() < np.radians(25)
    return float(angle[-1])


if __name__ == "__main__":
    main()
