"""Pictures of a robot of a fleet as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.fleet.fleet import Fleet
from pliant.view.sketch import sketch


def picture(fleet: Fleet, robot: int) -> np.ndarray:
    """A robot as it is now (height x width x 3, 8 bit)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    def host(values: Any) -> np.ndarray:
        return np.asarray(values.get() if hasattr(values, "get") else values, dtype=float)

    figure = Figure(figsize=(6.4, 4.8), dpi=100)
    canvas = FigureCanvasAgg(figure)
    inputs = dict(zip(fleet.input_names, host(fleet.inputs)[robot].tolist(), strict=True))
    sketch(fleet.eqs, host(fleet.q)[robot], inputs=inputs, ax=figure.add_subplot(), labels=False, frames=False)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()
