"""Triangles between the sections of rods: closed, pointing outwards, with the volume of the prism."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.parts.surface.triangles import Triangles, filled, inset, is_clockwise, thickness, tube, tube_smooth_edges

SQUARE = np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]])
ANGLE = np.array([[0.0, 0], [5, 0], [5, 1], [1, 1], [1, 5], [0, 5]])
CROSS = np.array(
    [[-1.0, -3], [1, -3], [1, -1], [3, -1], [3, 1], [1, 1], [1, 3], [-1, 3], [-1, 1], [-3, 1], [-3, -1], [-1, -1]]
)
SPLIT = np.array([[0.0, 0], [2, 0], [2, 1], [2, 2], [0, 2], [0, 1]])
"""A rectangle with corners in the middle of two sides."""


def area(outline: np.ndarray) -> float:
    x, y = outline.T
    return float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) / 2)


@pytest.mark.parametrize("outline", [SQUARE, ANGLE, CROSS, SPLIT])
def test_tubes_are_closed_and_have_the_volume_of_a_prism(outline: np.ndarray) -> None:
    sections = 4
    items = tube(outline, sections)
    heights = np.repeat([0.0, 1, 3, 4], len(outline))[:, None]
    found = Triangles(np.hstack([np.tile(outline, (sections, 1)), heights]), np.array(items))
    assert found.volume == pytest.approx(4 * area(outline))
    assert np.all(found.edges.counts == 2)
    assert np.all(found.areas > 0)
    assert sum(Triangles(np.pad(outline, ((0, 0), (0, 1))), np.array(filled(outline))).areas) == pytest.approx(
        area(outline)
    )


@pytest.mark.parametrize(
    ("outline", "convex", "thick"), [(SQUARE, 4, 2.0), (ANGLE, 5, 1.0), (CROSS, 8, 2.0), (SPLIT, 4, 1.0)]
)
def test_sharp_edges_are_those_around_sections_and_convex_ones_along_the_rod(
    outline: np.ndarray, convex: int, thick: float
) -> None:
    sections, count = 3, len(outline)
    items = tube(outline, sections)
    every = {tuple(sorted((a, b))) for item in items for a, b in zip(item, (*item[1:], item[0]), strict=True)}
    sharp = every - tube_smooth_edges(outline, items, sections)
    assert len(sharp) == sections * count + (sections - 1) * convex
    assert thickness(outline) == pytest.approx(thick)


@pytest.mark.parametrize("outline", [SQUARE, ANGLE, CROSS, SPLIT])
def test_sides_are_moved_inwards(outline: np.ndarray) -> None:
    """The area of a strip along the outline is lost, less squares at convex corners and plus those at concave ones."""
    by = 0.1
    moved = np.array(inset([tuple(point) for point in outline], by))
    before, after = outline - np.roll(outline, 1, axis=0), np.roll(outline, -1, axis=0) - outline
    turns = np.sign(before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0])
    edge = np.linalg.norm(after, axis=1).sum()
    assert area(moved) == pytest.approx(area(outline) - by * edge + by**2 * turns.sum())
    assert is_clockwise(outline[::-1])
    assert not is_clockwise(outline)
