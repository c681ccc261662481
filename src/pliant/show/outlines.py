"""Shapes on the picture: points of capsules, tubes, coils and ground marks, in picture coordinates [m]."""

import numpy as np
import scipy

TEETH = 6


def unit(vector: np.ndarray, otherwise: tuple[float, float] = (0.0, -1.0)) -> np.ndarray:
    """The direction of a vector (2), or an arbitrary one if it is zero."""
    length = float(np.linalg.norm(vector))
    return np.asarray(vector / length) if length > 1e-12 else np.array(otherwise)


def across(direction: np.ndarray) -> np.ndarray:
    """The direction a quarter turn to the left."""
    return np.array([-direction[1], direction[0]])


def capsule(start: np.ndarray, end: np.ndarray, radius: float) -> np.ndarray:
    """A bar with round ends (n x 2)."""
    along = unit(end - start, (1.0, 0.0))
    heading = np.arctan2(along[1], along[0])
    turn = np.linspace(-np.pi / 2, np.pi / 2, 16)
    front = end + radius * np.stack([np.cos(heading + turn), np.sin(heading + turn)], axis=1)
    back = start - radius * np.stack([np.cos(heading + turn), np.sin(heading + turn)], axis=1)
    return np.concatenate([front, back])


def tube(points: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """The outline (2n x 2) of a curve (n x 2) with this half width (n)."""
    tangents = np.gradient(points, axis=0)
    length = np.linalg.norm(tangents, axis=1, keepdims=True)
    tangents = tangents / np.where(length > 0, length, 1)
    normals = np.stack([-tangents[:, 1], tangents[:, 0]], axis=1) * radii[:, None]
    return np.concatenate([points + normals, (points - normals)[::-1]])


def arrow(start: np.ndarray, end: np.ndarray, half_width: float) -> np.ndarray:
    """An arrow from start to end with this half width of its shaft (7 x 2)."""
    along, length = unit(end - start), float(np.linalg.norm(end - start))
    side, neck = half_width * across(along), end - min(5 * half_width, 0.6 * length) * along
    return np.array([start + side, neck + side, neck + 2.6 * side, end, neck - 2.6 * side, neck - side, start - side])


def hull(points: np.ndarray) -> np.ndarray:
    """The convex outline of points (n x 2)."""
    try:
        return np.asarray(points[scipy.spatial.ConvexHull(points).vertices])
    except scipy.spatial.QhullError:
        return points


def coil(start: np.ndarray, end: np.ndarray, width: float) -> np.ndarray:
    """A spring drawn as a zigzag with straight ends (n x 2)."""
    side = across(unit(end - start)) * width
    places = np.linspace(0.18, 0.82, 2 * TEETH + 1)
    swing = np.array([0.0, *([1.0, -1.0] * TEETH)[: 2 * TEETH - 1], 0.0])
    middle = [start + s * (end - start) + k * side for s, k in zip(places, swing, strict=True)]
    return np.array([start, *middle, end])


def spiral(center: np.ndarray, inner: float, outer: float) -> np.ndarray:
    """A torsion spring around a hinge (n x 2)."""
    turn = np.linspace(0, 3.5 * np.pi, 90)
    radius = np.linspace(inner, outer, 90)
    return center + radius[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)


def hatching(center: np.ndarray, outward: np.ndarray, half_width: float, depth: float) -> list[np.ndarray]:
    """A piece of ground: a line across `outward`, with strokes of that depth beyond it; each stroke is 2 x 2."""
    along = across(outward)
    strokes = [np.stack([center - half_width * along, center + half_width * along])]
    for s in np.arange(-half_width, half_width - 0.4 * depth, depth):
        foot = center + (s + 0.2 * depth) * along
        strokes.append(np.stack([foot, foot + depth * (outward + 0.7 * along)]))
    return strokes


def normals(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two directions in space that are perpendicular to an axis (unit vector) and to each other."""
    helper = np.array([1.0, 0, 0]) if abs(axis[0]) < 0.8 else np.array([0, 1.0, 0])
    first = np.cross(axis, helper)
    first /= np.linalg.norm(first)
    return first, np.cross(axis, first)


def ring(center: np.ndarray, axis: np.ndarray, radius: float, count: int = 40) -> np.ndarray:
    """A circle in space about an axis (n x 3)."""
    a, b = normals(axis)
    turn = np.linspace(0, 2 * np.pi, count, endpoint=False)
    return np.asarray(center + radius * (np.cos(turn)[:, None] * a + np.sin(turn)[:, None] * b))


BOX_FACES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
"""Corners of each face of a box whose corners are counted with z changing fastest, seen from outside."""


def round_length(length: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not above a length."""
    power = 10.0 ** np.floor(np.log10(length))
    return float(power * max(k for k in (1, 2, 5) if k * power <= length * (1 + 1e-9)))


def length_text(length: float) -> str:
    """A length in a suitable unit."""
    if length >= 1:
        return f"{length:g} m"
    return f"{100 * length:g} cm" if length >= 0.01 else f"{1000 * length:g} mm"
