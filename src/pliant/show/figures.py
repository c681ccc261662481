"""Matplotlib figures in pages."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.show.page import picture
from pliant.show.plot.style import axes, style
from pliant.show.sketch import settings, sketch

if TYPE_CHECKING:
    from pliant.analysis.motion.result import Result
    from pliant.engine.equations import Equations

WIDE = 5.5
"""Figures wider than this [inch] are scrolled on narrow screens: their text would be too small to read."""


def figure_html(draw: Callable[[], Any], words: str) -> str:
    """The figure that a function draws as an image, with `words` as alternative text."""
    with style():
        return _image(draw(), words)


def _image(axes: Any, words: str) -> str:
    import matplotlib.pyplot as plt

    figure = np.ravel(np.asarray(axes, dtype=object))[0].figure
    content = io.BytesIO()
    with settings({"svg.fonttype": "path", "svg.hashsalt": "pliant"}):
        figure.savefig(content, format="svg", metadata={"Date": None})
    plt.close(figure)
    image = picture(content.getvalue(), "svg+xml", words)
    return f'<div class="wide">{image}</div>' if figure.get_figwidth() > WIDE else image


def sketch_html(eqs: Equations, pose: Any, words: str) -> str:
    """The drawing of a robot, as an image."""
    return _image(sketch(eqs, pose), words)


def constraint_error(run: Result) -> Any:
    """Axes with the largest constraint error over time."""
    ax = axes(None)
    ax.semilogy(run.time, np.maximum(run.constraint_error, 1e-17))
    ax.set_xlabel("time [s]")
    ax.set_ylabel("constraint error [m or rad]")
    return ax
