"""Between the ends of a step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.solve.integrator.group import Group


@dataclass(frozen=True)
class Ends:
    """One end of a step: positions, rates, accelerations, multipliers, energies [J] and powers [W] (dissipated,
    supplied)."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    multipliers: np.ndarray
    work: np.ndarray
    power: np.ndarray


def interpolate(group: Group, old: Ends, new: Ends, h: float, x: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v and a at the fraction x of a step of size h [s]: the quintic through both ends' positions and their first
    and second derivatives, quaternions component by component."""
    d0, d1 = group.rates(old.q, old.v), group.rates(new.q, new.v)
    dd0, dd1 = group.second_rates(old.q, old.v, old.a), group.second_rates(new.q, new.v, new.a)
    # columns: weights of q0, q1, h d0, h d1, h^2 dd0, h^2 dd1; rows: powers of x
    table = np.array(
        [
            [1, 0, 0, 0, 0, 0],
            [0, 0, 1, 0, 0, 0],
            [0, 0, 0, 0, 0.5, 0],
            [-10, 10, -6, -4, -1.5, 0.5],
            [15, -15, 8, 7, 1.5, -1],
            [-6, 6, -3, -3, -0.5, 0.5],
        ]
    )
    n = np.arange(6)
    powers = np.array([x**n, n * x ** np.maximum(n - 1, 0), n * (n - 1) * x ** np.maximum(n - 2, 0)])
    data = np.array([old.q, new.q, h * d0, h * d1, h * h * dd0, h * h * dd1])
    q, q_dot, q_ddot = (powers @ table) @ data
    v, a = group.motion(q, q_dot / h, q_ddot / (h * h))
    return group.normalized(q), v, a


def interpolate_work(
    work0: np.ndarray, work1: np.ndarray, power0: np.ndarray, power1: np.ndarray, h: float, x: float
) -> np.ndarray:
    """Energies [J] at the fraction x of a step of size h [s]: the cubic through both ends' energies and powers."""
    x2, x3 = x * x, x * x * x
    rest = h * ((x - 2 * x2 + x3) * power0 + (x3 - x2) * power1)
    return (1 - 3 * x2 + 2 * x3) * work0 + (3 * x2 - 2 * x3) * work1 + rest
