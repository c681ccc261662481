"""A chaotic motion conserves its energy: two methods, and the error of a fixed step."""

import numpy as np

import pliant


def drift(run: pliant.Result) -> float:
    """Largest change of the total energy, relative to the range of the kinetic energy."""
    total = run.energy["total"].values
    return float(np.abs(total - total[0]).max() / run.energy["kinetic"].values.max())


def main() -> float:
    """Relative energy drift over 20 s with a tight tolerance."""
    eqs = pliant.derive("double_pendulum")
    tight = drift(pliant.simulate(eqs, 20.0, rtol=1e-12))
    steps = [2e-3, 1e-3]
    coarse, fine = (drift(pliant.simulate(eqs, 2.0, method=pliant.GeneralizedAlpha(step=h))) for h in steps)
    print(f"explicit, rtol 1e-12, 20 s: {tight:.1e}")
    print(f"generalized-alpha, 2 s: {coarse:.1e} with 2 ms, {fine:.1e} with 1 ms")
    assert tight < 1e-8
    assert 3.5 < coarse / fine < 4.5  # second order
    return tight


if __name__ == "__main__":
    main()
