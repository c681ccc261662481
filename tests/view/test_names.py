"""Names on pictures stand beside what they name, not on one another."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import pliant
from pliant.view.names import Room, name_places


@pytest.mark.parametrize("robot", ["rus_leg", "leg", "flexible_four_bar", "four_bar", "gripper"])
def test_names_do_not_cover_each_other(robot):
    ax = pliant.sketch(pliant.derive(robot), frames=False)
    figure = ax.figure
    figure.canvas.draw()
    words = [text for text in ax.texts if text.get_text() and not text.get_text()[0].isdigit()]
    boxes = [text.get_window_extent(figure.canvas.get_renderer()) for text in words]
    over = [
        (words[i].get_text(), words[j].get_text())
        for i in range(len(boxes))
        for j in range(i)
        if boxes[i].overlaps(boxes[j])
    ]
    assert len(words) >= 3
    assert over == []


def test_a_name_goes_to_the_other_side_of_a_crowded_line():
    line = np.array([[0.0, 0.0], [1.0, 0.0]])
    free, _ = Room([line]).best(name_places(line, 0.01, 1.0), 0.2, 0.04)
    assert free[1] > 0
    above = np.array([[0.0, free[1]], [1.0, free[1]]])
    other, _ = Room([line, above]).best(name_places(line, 0.01, 1.0), 0.2, 0.04)
    assert other[1] < 0


def test_two_names_on_one_line_part():
    line, room = np.array([[0.0, 0.0], [1.0, 0.0]]), Room([])
    first, second = (room.best(name_places(line, 0.01, 1.0), 0.2, 0.04)[0] for _ in range(2))
    assert np.linalg.norm(first - second) > 0.03
