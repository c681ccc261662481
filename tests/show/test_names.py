"""Names on pictures are next to their parts, not on one another."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import pliant
from pliant.show.names import NameLabel, OccupiedSpace, place_names


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


LINE = np.array([[0.0, 0.0], [1.0, 0.0]])


def place(*obstacles, taken=1):
    """Where the names of parts along one line stand, among other lines."""
    named = [NameLabel("a name", LINE, 0.01, "black")] * taken
    (found,) = place_names([OccupiedSpace([LINE, *obstacles], 1.0)], [named])
    return found


def test_a_name_goes_to_the_other_side_of_a_crowded_line():
    (free,) = place()
    assert free[1] > 0
    (other,) = place(np.array([[0.0, free[1]], [1.0, free[1]]]))
    assert other[1] < 0


def test_two_names_on_one_line_part():
    first, second = place(taken=2)
    assert np.linalg.norm(first - second) > 0.03


def test_names_stay_on_their_side_while_a_part_turns():
    """A bar that swings through the horizontal, and all the way round, carries its name along."""
    turns = np.linspace(-0.2, 2 * np.pi, 200)
    bars = [np.array([[0.0, 0.0], [np.cos(a), np.sin(a)]]) for a in turns]
    found = place_names(
        [OccupiedSpace([bar], 2.0) for bar in bars], [[NameLabel("bar", bar, 0.02, "black")] for bar in bars]
    )
    steps = np.linalg.norm(np.diff(np.array(found)[:, 0], axis=0), axis=1)
    assert steps.max() < 3 * np.median(steps)


def test_of_many_repeated_parts_one_has_the_name_of_all():
    text = """
pliant: 1
sections: {round: {shape: circle, radius: 2 mm}}
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.5}}
rods: {backbone: {length: 30 cm, section: round, material: rubber}}
bodies: {disc: {count: 10, along: backbone, mass: 1 g, shape: {type: cylinder, radius: 1 cm, length: 2 mm}}}
"""
    ax = pliant.sketch(pliant.derive(pliant.load_text(text)), frames=False)
    assert sorted(t.get_text() for t in ax.texts if t.get_text()[0].isalpha()) == ["backbone", "disc[i]"]
