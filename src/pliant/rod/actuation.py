"""Forces along the strains of a rod from its chambers: signals, and their effect at the current strains.

A chamber at (x, y) in the section is stretched by `m = n.z` with n = (1, y, -x) and z = (1 + stretch, bend_x, bend_y). The effect
of its pressure follows from a potential per length of rod, a polynomial in m: its volume times the pressure if its wall is
inextensible. All chambers of a rod together exert the force `w + Q z + C(z, z)` on z, where Q is the sum of n n' and C that of n
n n, each times a coefficient. The signals are w, as a force along the six strains, and the distinct entries of Q and C, so that
the kernels of a rod do not depend on the number of its chambers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement, permutations
from typing import Any

import casadi as ca

PAIRS = tuple(combinations_with_replacement(range(3), 2))
TRIPLES = tuple(combinations_with_replacement(range(3), 3))
STEADY = 6
"""Number of signals of chambers whose force is independent of the strains: that force."""
VARYING = STEADY + len(PAIRS) + len(TRIPLES)
"""Number of signals of chambers whose force depends on the strains: also the distinct entries of Q and C."""


def chamber_signals(x: Any, y: Any, coefficients: Sequence[Any]) -> list[Any]:
    """Signals of a chamber at (x, y) [m] that pushes with `c0 + c1 m + c2 m^2` [N] when stretched by m: six if c1 and c2 are
    omitted."""
    n = (1, y, -x)
    out = [0, 0, *(coefficients[0] * entry for entry in n), 0]
    if len(coefficients) > 1:
        out += [coefficients[1] * n[i] * n[j] for i, j in PAIRS]
        out += [coefficients[2] * n[i] * n[j] * n[k] for i, j, k in TRIPLES]
    return out


def actuation(strain: Any, signal: Any) -> Any:
    """Force along the six strains [N, N m] from a rod's signals: none, `STEADY` or `VARYING` ones."""
    if signal.numel() <= STEADY:
        return signal if signal.numel() else ca.DM.zeros(STEADY)
    z = ca.vertcat(1 + strain[2], strain[3], strain[4])
    pairs = signal[STEADY : STEADY + len(PAIRS)]
    triples = signal[STEADY + len(PAIRS) :]
    linear = ca.SX(3, 3)
    for at, (i, j) in enumerate(PAIRS):
        linear[i, j] = linear[j, i] = pairs[at]
    for at, triple in enumerate(TRIPLES):
        for i, j, k in sorted(set(permutations(triple))):
            linear[i, j] += triples[at] * z[k]
    push = linear @ z
    return signal[:STEADY] + ca.vertcat(0, 0, push, 0)


def signal_word(signals: int) -> str:
    """Suffix of the names of force kinds with different signals."""
    return {0: "", STEADY: "_actuated", VARYING: "_chambers"}[signals]
