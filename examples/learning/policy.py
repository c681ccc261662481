"""A trained policy in NumPy: the file written by `train.py` as a function of one observation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np


def load_policy(path: str | Path) -> Callable[[np.ndarray], np.ndarray]:
    """The mean action of the policy, in SI units, from an observation."""
    with np.load(path) as saved:
        given = dict(saved)
    layers = [(given[f"{k}.weight"], given[f"{k}.bias"]) for k in (0, 2, 4)]
    deviation = np.sqrt(given["observation_variance"] + 1e-8)

    def policy(seen: np.ndarray) -> np.ndarray:
        x = np.clip((seen - given["observation_mean"]) / deviation, -5, 5)
        for index, (weight, bias) in enumerate(layers):
            x = weight @ x + bias
            x = np.tanh(x) if index < len(layers) - 1 else np.clip(x, -1, 1)
        return given["low"] + (given["high"] - given["low"]) * (x + 1) / 2

    return policy
