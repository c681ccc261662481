"""A closed loop in two formulations: constraint forces on all coordinates, and reduction to the crank alone."""

import numpy as np

import pliant

REFERENCE = {"q1": -0.007104, "q2": 1.783227, "q3": 0.485388}
"""Angles at t = 2 s [rad], from rest."""


def main() -> float:
    """Largest difference between the two formulations at t = 2 s [rad]."""
    eqs = pliant.derive("four_bar")
    full = pliant.simulate(eqs, 2.0, rtol=1e-10, save_at=[2.0])
    reduced = pliant.simulate(eqs, 2.0, rtol=1e-10, save_at=[2.0], formulation="reduced", independent=("q1",))
    for name, value in REFERENCE.items():
        print(f"{name}: {full[name].values[-1]: .9f} with multipliers, {reduced[name].values[-1]: .9f} reduced")
        assert abs(full[name].values[-1] - value) < 1e-6
    # both compute the force in the pin
    np.testing.assert_allclose(full["pin_force"].values, reduced["pin_force"].values, rtol=1e-5)
    difference = float(np.abs(full.q - reduced.q).max())
    assert difference < 1e-7
    return difference


if __name__ == "__main__":
    main()
