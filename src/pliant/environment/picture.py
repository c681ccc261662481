"""Pictures of a robot of a fleet as arrays."""

from __future__ import annotations

import numpy as np

from pliant.fleet.fleet import Fleet, to_numpy
from pliant.view.sketch import sketch


def picture(fleet: Fleet, robot: int) -> np.ndarray:
    """A picture of the current state of a robot (height x width x 3, 8 bit)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.8), dpi=100)
    canvas = FigureCanvasAgg(figure)
    inputs = dict(zip(fleet.input_names, to_numpy(fleet.inputs)[robot].tolist(), strict=True))
    q = np.asarray(to_numpy(fleet.q)[robot], dtype=float)
    sketch(fleet.eqs, q, inputs=inputs, ax=figure.add_subplot(), labels=False, frames=False)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()
