"""Placement of names on a picture: next to their parts, and not on other names or parts if possible."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pliant.language.message_text import INSTANCE
from pliant.show import outlines


@dataclass(frozen=True)
class NameLayout:
    """Sizes of names, and penalties of their positions."""

    samples: int = 12
    """Number of points on a line between two corners that are tested for being covered by a name."""
    over_a_name: int = 1000
    """Penalty of covering another name, larger than that of covering any part."""
    far_away: int = 300
    """Penalty of a position farther from the part: between the penalties of covering parts and names."""
    further: float = 2.5
    """Distance of such positions from their part, as a multiple of the usual gap."""
    letter: float = 0.022
    """Width of a letter, relative to the picture's size."""
    line: float = 0.036
    """Height of a line of text, relative to the picture's size."""


NAME_LAYOUT = NameLayout()


@dataclass(frozen=True)
class NameLabel:
    """A part and its name on a picture.

    Attributes:
        words: the name.
        points: of the part on the picture (n x 2) [m], from one end to the other; eight are the corners of a box.
        width: extent of the part to each side of its points [m].
        colour: of the name.
    """

    words: str
    points: np.ndarray
    width: float
    colour: str


class OccupiedSpace:
    """Occupied space of a picture: lines through points of parts (n x 2 each) [m], and names. size: that of the picture [m]."""

    def __init__(self, parts: Sequence[np.ndarray], size: float) -> None:
        share = np.linspace(0, 1, NAME_LAYOUT.samples)[:, None, None]
        lines = [((1 - share) * p[:-1] + share * p[1:]).reshape(-1, 2) if len(p) > 1 else p for p in parts]
        self.points = np.concatenate(lines) if lines else np.zeros((0, 2))
        self.taken: list[np.ndarray] = []
        self.size = size

    def corners(self, named: NameLabel, place: np.ndarray) -> np.ndarray:
        """Lower left and upper right corner of a name with its middle there (2 x 2)."""
        half = self.half(named)
        return np.array([place - half, place + half])

    def half(self, named: NameLabel) -> np.ndarray:
        """Half of the width and height of a name [m]."""
        return 0.5 * self.size * np.array([NAME_LAYOUT.letter * len(named.words), NAME_LAYOUT.line])

    def covered(self, corners: np.ndarray) -> int:
        """Penalty of a name with these corners."""
        low, high = corners
        names = sum(bool(np.all((low < other[1]) & (high > other[0]))) for other in self.taken)
        return NAME_LAYOUT.over_a_name * names + int(np.sum(np.all((self.points > low) & (self.points < high), axis=1)))


def place_names(rooms: Sequence[OccupiedSpace], pictures: Sequence[Sequence[NameLabel]]) -> list[list[np.ndarray]]:
    """Positions (2) [m] of the centres of names on several pictures of the same parts, for each picture by part.

    A name has the same position relative to its part on all of them: the one that covers least in total.
    """
    found: list[list[np.ndarray]] = [[] for _ in rooms]
    for part in zip(*pictures, strict=True):
        sign = _first_side(part[0])
        places = [name_places(named, room, sign) for named, room in zip(part, rooms, strict=True)]
        costs = np.array(
            [
                [room.covered(room.corners(named, place)) for place in there]
                for named, room, there in zip(part, rooms, places, strict=True)
            ]
        )
        far = NAME_LAYOUT.far_away * (np.arange(costs.shape[1]) >= len(_around(part[0], rooms[0], sign)))
        best = int(np.argmin((costs + far).sum(axis=0)))
        for k, (named, room) in enumerate(zip(part, rooms, strict=True)):
            room.taken.append(room.corners(named, places[k][best]))
            found[k].append(places[k][best])
    return found


def names_once(names: Sequence[str], most: int = 3) -> dict[int, str]:
    """Names by their index; of repeated parts with more than `most` instances only that of the first, as `disc[i]`."""
    out: dict[int, str] = {}
    for words, group in _repeated(names).items():
        out |= {group[0]: words} if len(group) > most else {k: names[k] for k in group}
    return out


def first_of_each(named: Sequence[NameLabel]) -> list[NameLabel]:
    """The first of each group of repeated parts (`disc[1]`, `disc[2]`, ...), which represents all of them (`disc[i]`)."""
    groups = _repeated([one.words for one in named])
    return [replace(named[k], words=words) if more else named[k] for words, (k, *more) in groups.items()]


def _repeated(names: Sequence[str]) -> dict[str, list[int]]:
    """Indices of the names of instances of each part."""
    groups: dict[str, list[int]] = {}
    for k, name in enumerate(names):
        groups.setdefault(INSTANCE.sub("[i]", name), []).append(k)
    return groups


def name_places(named: NameLabel, room: OccupiedSpace, sign: float) -> list[np.ndarray]:
    """Candidate centres of a name beside its part, the preferred one first; their number is fixed, and none jumps when the part
    turns.

    sign: 1 or -1, for the preferred side of the part.
    """
    return [
        *_around(named, room, sign),
        *_around(named, room, sign, NAME_LAYOUT.further),
        *_beyond(named, room, NAME_LAYOUT.further),
    ]


def _around(named: NameLabel, room: OccupiedSpace, sign: float, ring: float = 1.0) -> list[np.ndarray]:
    """Positions on the sides of a part, at a multiple of the usual gap."""
    points, half = named.points, room.half(named)
    if len(points) == 8:  # a box
        middle, low, high = points.mean(axis=0), points.min(axis=0), points.max(axis=0)
        away = half + 0.017 * ring * room.size
        return [
            np.array([middle[0], low[1] - away[1]]),
            np.array([middle[0], high[1] + away[1]]),
            np.array([high[0] + away[0], middle[1]]),
            np.array([low[0] - away[0], middle[1]]),
        ]
    beside = sign * _across(points)
    gap, places = named.width + 0.02 * ring * room.size, []
    for share in (0.5, 0.3, 0.7):
        middle = _along(points, share)
        for side in (beside, -beside):
            # as far out as the corner of the name that is nearest to the part
            places.append(middle + (gap + float(np.abs(side) @ half)) * side)
    return places


def _beyond(named: NameLabel, room: OccupiedSpace, ring: float) -> list[np.ndarray]:
    """Positions beyond the two ends of a part."""
    half, along = room.half(named), outlines.unit(named.points[-1] - named.points[0], (1.0, 0.0))
    gap = named.width + 0.02 * ring * room.size + float(np.abs(along) @ half)
    return [named.points[-1] + gap * along, named.points[0] - gap * along]


def _first_side(named: NameLabel) -> float:
    """The sign of the side that is to the right of a part, or above it, on the first picture."""
    beside = _across(named.points)
    return -1.0 if beside[0] < -1e-9 or (abs(beside[0]) <= 1e-9 and beside[1] < 0) else 1.0


def _across(points: np.ndarray) -> np.ndarray:
    return outlines.across(outlines.unit(points[-1] - points[0], (1.0, 0.0)))


def _along(points: np.ndarray, share: float) -> np.ndarray:
    """A point of a line at a fraction of its length."""
    if len(points) > 2:
        return np.asarray(points[int(share * (len(points) - 1) + 0.5)])
    return np.asarray((1 - share) * points[0] + share * points[-1])
