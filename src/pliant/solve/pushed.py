"""Tendons that were asked to push, which a line cannot: said in warnings, since the line is slack instead."""

from __future__ import annotations

import numpy as np

from pliant.model.model import Model
from pliant.tendon import TensionTendon


def negative_tension_warnings(model: Model, lowest: np.ndarray) -> list[str]:
    """A warning for each tendon whose tension was asked to be below zero; `lowest` is the least value of each signal."""
    notes = []
    for name, tendon in model.spec.tendons.items():
        if isinstance(tendon, TensionTendon):
            value = float(lowest[model.system.routes[model.routes[name]].signals])
            if value < 0:
                notes.append(
                    f"the tendon '{name}' was asked for {value:.3g} N; a line cannot push, so it was slack then"
                )
    return notes
