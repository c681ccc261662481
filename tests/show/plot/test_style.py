"""The style of plots: lines that can be distinguished, and tick labels that do not overlap."""

from itertools import pairwise

import numpy as np

from pliant.show.plot.style import STYLES, axes, spaced_ticks, style


def test_no_two_of_many_lines_look_alike():
    with style():
        ax = axes(None)
        lines = [ax.plot([0, 1])[0] for _ in range(len(STYLES))]
    assert len({(line.get_color(), str(line._unscaled_dash_pattern)) for line in lines}) == len(lines) > 14


def test_long_labels_of_ticks_do_not_overlap():
    with style():
        for low, span in ((1234567.0, 2e4), (-1234.5, 2e-3), (0.0, 1.0)):
            ax = axes(None)
            ax.plot(low + span * np.linspace(0, 1, 5), np.arange(5))
            spaced_ticks(ax)
            ax.figure.canvas.draw()
            inside = [x for x in ax.get_xticklabels() if ax.get_xlim()[0] <= x.get_position()[0] <= ax.get_xlim()[1]]
            boxes = [x.get_window_extent() for x in inside]
            assert len(boxes) >= 2
            assert all(a.x1 < b.x0 for a, b in pairwise(boxes))
