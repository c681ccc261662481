"""Placement of names on a picture: next to their parts, and not on other names or parts if possible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pliant.view import outlines

SAMPLES = 12
"""Points of a line between two corners that count as covered by a name on it."""
OVER_A_NAME = 1000
"""A name on another one is worse than on any part."""

Place = tuple[np.ndarray, str]
"""Position of a name [m], and its alignment there (`left` or `center`)."""


class Room:
    """Occupied areas of a picture: lines through points of parts (n x 2 each) [m], and names."""

    def __init__(self, parts: Sequence[np.ndarray]) -> None:
        share = np.linspace(0, 1, SAMPLES)[:, None, None]
        lines = [((1 - share) * p[:-1] + share * p[1:]).reshape(-1, 2) if len(p) > 1 else p for p in parts]
        self.points = np.concatenate(lines) if lines else np.zeros((0, 2))
        self.taken: list[np.ndarray] = []

    def best(self, places: Iterator[Place], width: float, height: float) -> Place:
        """The first of the places at which a name of that size covers least; it is taken from then on."""
        chosen, corners = min(
            ((place, _corners(place, width, height)) for place in places), key=lambda x: self._covered(x[1])
        )
        self.taken.append(corners)
        return chosen

    def _covered(self, corners: np.ndarray) -> int:
        low, high = corners
        names = sum(bool(np.all((low < other[1]) & (high > other[0]))) for other in self.taken)
        return OVER_A_NAME * names + int(np.sum(np.all((self.points > low) & (self.points < high), axis=1)))


def _corners(place: Place, width: float, height: float) -> np.ndarray:
    """Lower left and upper right corner of a name (2 x 2)."""
    (x, y), align = place
    left = x if align == "left" else x - width / 2
    return np.array([[left, y - height / 2], [left + width, y + height / 2]])


def name_places(points: np.ndarray, width: float, size: float) -> Iterator[Place]:
    """Places beside a part with these points (n x 2) that is that wide on each side, the usual one first. size: of the picture."""
    gap = width + 0.028 * size
    if len(points) == 8:  # a box
        middle, low, high = points.mean(axis=0), points.min(axis=0), points.max(axis=0)
        yield np.array([middle[0], low[1] - 0.035 * size]), "center"
        yield np.array([middle[0], high[1] + 0.035 * size]), "center"
        yield np.array([high[0] + 0.02 * size, middle[1]]), "left"
        return
    beside = outlines.across(outlines.unit(points[-1] - points[0], (1.0, 0.0)))
    beside = -beside if beside[0] < -1e-9 or (abs(beside[0]) <= 1e-9 and beside[1] < 0) else beside
    for share in (0.5, 0.3, 0.7):
        middle = _along(points, share)
        for side in (beside, -beside):
            yield middle + gap * side, "left" if side[0] > 0.3 else "center"
    if np.ptp(points, axis=0).max() < 2 * gap:  # a dot or a ball: any side will do
        yield points.mean(axis=0) + np.array([gap, 0.0]), "left"


def _along(points: np.ndarray, share: float) -> np.ndarray:
    """A point of a line that share of the way along it."""
    if len(points) > 2:
        return np.asarray(points[int(share * (len(points) - 1) + 0.5)])
    return np.asarray((1 - share) * points[0] + share * points[-1])
