"""One derivation, many robots: parameters stay symbolic, so a sweep compiles nothing again."""

import time

import numpy as np

import pliant


def main() -> float:
    """Largest relative error of the swept frequencies compared with the formula."""
    eqs = pliant.derive("pendulum")
    lengths = np.linspace(0.1, 2.0, 200)
    pliant.modes(eqs, at=np.zeros(1))  # derived and compiled here, once
    begin = time.perf_counter()
    found = [pliant.modes(eqs, at=np.zeros(1), parameters={"length": x}).frequencies[0] for x in lengths]
    seconds = time.perf_counter() - begin
    exact = np.sqrt(3 * 9.81 / (2 * lengths)) / (2 * np.pi)
    error = float(np.abs(np.array(found) / exact - 1).max())
    print(f"{len(lengths)} pendulums in {seconds:.3f} s, largest error {error:.1e}")
    assert error < 1e-10
    return error


if __name__ == "__main__":
    main()
