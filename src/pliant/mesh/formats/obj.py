"""OBJ surfaces: the sides of their faces, which may have any number of corners, and their lines. OBJ has no unit."""

from __future__ import annotations

import numpy as np

from pliant.mesh.formats.wireframe import MAX_EDGES, Drawing, MeshProblem, check_counts, fan


def read_obj(text: str, what: str) -> Drawing:
    """The sides of faces and the lines of an OBJ file; groups (`g`) and objects (`o`) are labels."""
    points: list[list[float]] = []
    lines: list[tuple[int, int]] = []
    faces: list[tuple[int, int, int]] = []
    labels: dict[str, list[int]] = {}
    ignored: dict[str, int] = {}
    current: list[str] = []
    for number, line in enumerate(text.replace("\\\n", " ").splitlines(), start=1):
        key, *words = line.split("#", 1)[0].split() or [""]
        if key == "v":
            points.append(_numbers(words, number, what))
        elif key in ("f", "l"):
            corners = [_corner(word, len(points), number, what) for word in words]
            if len(corners) < 2 or len(lines) + len(corners) > MAX_EDGES:
                check_counts(len(points), len(lines) + len(corners), what)
                raise MeshProblem(f"line {number} of {what} has too few corners")
            after = corners[1:] + corners[:1] if key == "f" and len(corners) > 2 else corners[1:]
            lines += zip(corners, after, strict=False)
            faces += fan(corners) if key == "f" else []
            for name in current:
                labels.setdefault(name, []).extend(corners)
        elif key in ("g", "o"):
            current = words
        elif key in ("curv", "curv2", "surf"):
            ignored[key] = ignored.get(key, 0) + 1
    return Drawing(
        np.array(points, dtype=float).reshape(-1, 3),
        np.array(lines, dtype=int).reshape(-1, 2),
        ignored=ignored,
        labels={name: np.unique(members) for name, members in labels.items()},
        faces=np.array(faces, dtype=int).reshape(-1, 3),
    )


def _numbers(words: list[str], number: int, what: str) -> list[float]:
    try:
        x, y, z = (float(word) for word in words[:3])
    except ValueError:
        raise MeshProblem(f"line {number} of {what} is not a point of three numbers") from None
    return [x, y, z]


def _corner(word: str, count: int, number: int, what: str) -> int:
    """Index of a point: from 1 on, or counted back from the last one."""
    try:
        index = int(word.partition("/")[0])
    except ValueError:
        index = 0
    index = index - 1 if index > 0 else count + index
    if not 0 <= index < count or word.startswith("0"):
        raise MeshProblem(f"line {number} of {what} refers to a point that it does not have")
    return index
