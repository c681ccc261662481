"""Triangles between the sections of a rod whose outline is a polygon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.surface.triangles import Triangles

Point = tuple[Any, Any]


def inset(outline: Sequence[Point], by: Any) -> list[Point]:
    """An anticlockwise outline with all its sides moved inwards by a length [m]: numbers or expressions."""
    sides = list(zip(outline, [*outline[1:], outline[0]], strict=True))
    normals = []
    for (ax, ay), (bx, by_) in sides:
        length = ((bx - ax) ** 2 + (by_ - ay) ** 2) ** 0.5
        normals.append(((ay - by_) / length, (bx - ax) / length))
    moved = []
    for (x, y), (nx, ny), (mx, my) in zip(outline, [normals[-1], *normals[:-1]], normals, strict=True):
        factor = by / (1 + nx * mx + ny * my)
        moved.append((x + factor * (nx + mx), y + factor * (ny + my)))
    return moved


def is_clockwise(outline: np.ndarray) -> bool:
    """Whether an outline (n x 2) runs clockwise."""
    x, y = outline.T
    return bool(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) < 0)


def thickness(outline: np.ndarray) -> float:
    """Smallest distance of a corner of an outline (n x 2) from sides that do not end there [m]."""
    count, least = len(outline), np.inf
    for k in range(count):
        for j in range(count):
            a, b = outline[j], outline[(j + 1) % count]
            if k in (j, (j + 1) % count):
                continue
            share = np.clip((outline[k] - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
            least = min(least, float(np.linalg.norm(outline[k] - a - share * (b - a))))
    return least


def filled(outline: np.ndarray) -> list[tuple[int, int, int]]:
    """Triangles of the area in an anticlockwise outline (n x 2), by clipping ears."""
    left, found = list(range(len(outline))), []

    def turn(a: int, b: int, c: int) -> float:
        (px, py), (qx, qy), (rx, ry) = outline[a], outline[b], outline[c]
        return float((qx - px) * (ry - py) - (qy - py) * (rx - px))

    while len(left) > 3:
        ears = []
        for k, b in enumerate(left):
            a, c = left[k - 1], left[(k + 1) % len(left)]
            others = [p for p in left if p not in (a, b, c)]
            inside = any(min(turn(a, b, p), turn(b, c, p), turn(c, a, p)) >= 0 for p in others)
            if not inside:
                ears.append((turn(a, b, c), (a, b, c)))
        _, ear = max(ears)  # the largest: flat ones last
        found.append(ear)
        left.remove(ear[1])
    return [*found, (left[0], left[1], left[2])]


def tube(outline: np.ndarray, sections: int) -> list[tuple[int, int, int]]:
    """Triangles of a closed tube with an anticlockwise outline (n x 2) at each of its sections; the vertices of a section follow
    those of the one before it."""
    count = len(outline)
    ends = filled(outline)
    items = [(a, c, b) for a, b, c in ends]
    for first in range(0, count * (sections - 1), count):
        for j in range(count):
            a, b = first + j, first + (j + 1) % count
            items += [(a, b, b + count), (a, b + count, a + count)]
    last = count * (sections - 1)
    return items + [(a + last, b + last, c + last) for a, b, c in ends]


def tube_smooth_edges(
    outline: np.ndarray, items: Sequence[tuple[int, int, int]], sections: int
) -> frozenset[tuple[int, int]]:
    """Edges of a tube that cannot cross others, however it bends: diagonals, and concave or flat edges along it."""
    count = len(outline)
    heights = np.repeat(np.arange(sections) * np.ptp(outline), count)[:, None]
    straight = Triangles(np.hstack([np.tile(outline, (sections, 1)), heights]), np.array(items))
    inner = range(count, count * (sections - 1))
    return frozenset((a, b) for a, b in straight.smooth_edges() if not (a in inner and a // count == b // count))
