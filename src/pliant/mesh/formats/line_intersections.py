"""Lines that cross or touch: split at these points, so that they share nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from pliant.mesh.formats.wireframe import Drawing, MeshProblem

MAX_PAIRS = 50_000_000
"""Maximum number of neighbouring pairs of lines that are examined before a drawing is rejected."""
CHUNK = 500_000
PARALLEL = 1e-12
"""Lines are parallel, and touch with their ends only, if the squared sine of the angle between them is below this."""

Cuts = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Lines (k), fractions of their lengths at which they are split (k), and the points there (k x 3)."""


def split(drawing: Drawing, tolerance: float, what: str) -> Drawing:
    """The drawing with its lines split wherever two of them come closer than the tolerance [unit of the drawing].

    New points have the labels common to both ends of their line.
    """
    ends = drawing.points[drawing.lines]
    found = [_cuts(ends, pair, tolerance) for pair in _neighbours(ends, tolerance, what)]
    line, share, place = (np.concatenate([cuts[k] for cuts in found]) for k in range(3))
    # duplicates, such as from two lines that end in one point, are split once
    order = np.lexsort((share, line))
    line, share, place = line[order], share[order], place[order]
    apart = np.linalg.norm(np.diff(place, axis=0), axis=1) > tolerance
    kept = np.concatenate([[True], (np.diff(line) != 0) | apart])[: len(line)]
    line, place = line[kept], place[kept]
    new = len(drawing.points) + np.arange(len(line))
    # every line as a chain of points: its first end, its cuts, its second end
    count = len(drawing.lines)
    owner = np.concatenate([np.arange(count), line, np.arange(count)])
    rank = np.concatenate([np.zeros(count, int), np.ones(len(line), int), np.full(count, 2)])
    points = np.concatenate([drawing.lines[:, 0], new, drawing.lines[:, 1]])
    order = np.lexsort((points * (rank == 1), rank, owner))
    owner, points = owner[order], points[order]
    within = owner[:-1] == owner[1:]
    lines = np.column_stack([points[:-1], points[1:]])[within]
    labels = {}
    for name, members in drawing.labels.items():
        has = np.zeros(len(drawing.points), dtype=bool)
        has[members] = True
        both = has[drawing.lines].all(axis=1)
        labels[name] = np.concatenate([members, new[both[line]]])
    return replace(drawing, points=np.concatenate([drawing.points, place]), lines=lines, labels=labels)


def _neighbours(ends: np.ndarray, tolerance: float, what: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs of lines with overlapping bounding boxes, a chunk at a time; `ends` is m x 2 x 3."""
    low, high = ends.min(axis=1) - tolerance, ends.max(axis=1)
    axis = int(np.argmax(np.ptp(ends.reshape(-1, 3), axis=0) / np.maximum(np.mean(high - low, axis=0), 1e-300)))
    order = np.argsort(low[:, axis], kind="stable")
    low, high = low[order], high[order]
    # the later lines in the order that begin before this one ends
    last = np.searchsorted(low[:, axis], high[:, axis], side="right")
    counts = np.maximum(last - np.arange(len(order)) - 1, 0)
    if counts.sum() > MAX_PAIRS:
        raise MeshProblem(
            f"{what} has too many lines to look for crossings", "cut them in the drawing, without `split`"
        )
    begin = 0
    total = np.concatenate([[0], np.cumsum(counts)])
    while begin < len(order):
        end = max(int(np.searchsorted(total, total[begin] + CHUNK, side="right")) - 1, begin + 1)
        first = np.repeat(np.arange(begin, end), counts[begin:end])
        second = first + 1 + np.arange(len(first)) - (total[first] - total[begin])
        touch = ((low[first] <= high[second]) & (low[second] <= high[first])).all(axis=1)
        yield order[first[touch]], order[second[touch]]
        begin = end


def _cuts(ends: np.ndarray, pair: tuple[np.ndarray, np.ndarray], tolerance: float) -> Cuts:
    """Points at which lines of these pairs are split by each other."""
    found = [_touching(ends, *way, end, tolerance) for way in (pair, pair[::-1]) for end in (0, 1)]
    lines, shares, points = (
        np.concatenate(parts) for parts in zip(*found, *_crossing(ends, *pair, tolerance), strict=True)
    )
    return lines, shares, points


def _touching(ends: np.ndarray, cut: np.ndarray, other: np.ndarray, end: int, tolerance: float) -> Cuts:
    """Lines that contain an end of another, away from their own ends."""
    base, way = ends[cut, 0], ends[cut, 1] - ends[cut, 0]
    point = ends[other, end]
    square = np.maximum((way**2).sum(axis=1), 1e-300)
    share = ((point - base) * way).sum(axis=1) / square
    distance = np.linalg.norm(point - base - share[:, None] * way, axis=1)
    on = (distance <= tolerance) & _inside(share, np.sqrt(square), tolerance)
    return cut[on], share[on], point[on]


def _crossing(ends: np.ndarray, first: np.ndarray, second: np.ndarray, tolerance: float) -> tuple[Cuts, Cuts]:
    """Lines that pass each other closer than the tolerance, away from the ends of both: split half-way between them."""
    p, q = ends[first, 0], ends[second, 0]
    u, v = ends[first, 1] - p, ends[second, 1] - q
    uu, uv, vv = (u * u).sum(axis=1), (u * v).sum(axis=1), (v * v).sum(axis=1)
    uw, vw = (u * (p - q)).sum(axis=1), (v * (p - q)).sum(axis=1)
    determinant = uu * vv - uv**2
    slanted = determinant > PARALLEL * uu * vv
    safe = np.where(slanted, determinant, 1.0)
    s, t = (uv * vw - vv * uw) / safe, (uu * vw - uv * uw) / safe
    a, b = p + s[:, None] * u, q + t[:, None] * v
    on = slanted & (np.linalg.norm(a - b, axis=1) <= tolerance)
    on &= _inside(s, np.sqrt(uu), tolerance) & _inside(t, np.sqrt(vv), tolerance)
    middle = (a[on] + b[on]) / 2
    return (first[on], s[on], middle), (second[on], t[on], middle)


def _inside(share: np.ndarray, length: np.ndarray, tolerance: float) -> np.ndarray:
    """Whether a point on a line is farther than the tolerance from both of its ends."""
    return np.asarray((share * length > tolerance) & ((1 - share) * length > tolerance))
