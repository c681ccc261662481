"""What actuators can do: bounds and rates, and commands that make the best of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import lsq_linear

from pliant.equations.equations import UnknownName


@dataclass(frozen=True)
class Limits:
    """Bounds of inputs by name: `lower`, `upper` [unit of the input] and `rate` [unit per second]; none where unnamed."""

    lower: Mapping[str, float] = field(default_factory=dict)
    upper: Mapping[str, float] = field(default_factory=dict)
    rate: Mapping[str, float] = field(default_factory=dict)

    def bounds(self, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds in the order of `names`, infinite where there is none."""
        for table in (self.lower, self.upper, self.rate):
            for name in table:
                if name not in names:
                    raise UnknownName("input", name, names)
        lower = np.array([float(self.lower.get(name, -np.inf)) for name in names])
        upper = np.array([float(self.upper.get(name, np.inf)) for name in names])
        for name, low, high in zip(names, lower, upper, strict=True):
            if not low <= high:
                raise ValueError(f"the bounds of input '{name}' exclude each other: {low:g} to {high:g}")
        return lower, upper

    def within(self, names: tuple[str, ...], before: np.ndarray | None, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Bounds that hold `time` [s] after the command `before`, rates included."""
        lower, upper = self.bounds(names)
        if before is not None and self.rate:
            reach = np.array([float(self.rate.get(name, np.inf)) * time for name in names])
            lower, upper = np.maximum(lower, before - reach), np.minimum(upper, before + reach)
            # a command outside its bounds comes back as fast as it may
            lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)
        return lower, upper


def allocate(
    effect: np.ndarray,
    wanted: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    *,
    preferred: np.ndarray | None = None,
    regularization: float = 1e-8,
) -> tuple[np.ndarray, float]:
    """Inputs u (m) within bounds whose effect (k x m) u is nearest to `wanted` (k).

    Among equally good ones the nearest to `preferred`, by default the least ones; a pretension keeps tendons that pull
    against each other from going slack. Returns u and the part of `wanted` that is missed,
    relative to its size.
    """
    if preferred is None:
        preferred = np.clip(0.0, lower, upper)
    scale = np.linalg.norm(effect) or 1.0
    fixed = ~(upper > lower)
    free = ~fixed
    u = np.where(fixed, lower, np.clip(preferred, lower, upper))
    if np.any(free):
        rows = np.vstack([effect[:, free] / scale, np.sqrt(regularization) * np.eye(int(free.sum()))])
        target = np.concatenate(
            [(wanted - effect[:, fixed] @ u[fixed]) / scale, np.sqrt(regularization) * preferred[free]]
        )
        best = np.linalg.lstsq(rows, target, rcond=None)[0]
        if np.any(best < lower[free]) or np.any(best > upper[free]):
            best = lsq_linear(rows, target, (lower[free], upper[free]), method="bvls", tol=1e-14).x
        u[free] = best
    size = float(np.linalg.norm(wanted))
    return u, float(np.linalg.norm(effect @ u - wanted)) / size if size else 0.0
