"""STL surfaces, text or binary: the sides of their triangles. STL has no unit."""

from __future__ import annotations

import numpy as np

from pliant.mesh.formats.wireframe import MAX_EDGES, Drawing, MeshProblem, sides

HEADER, RECORD = 84, 50


def read_stl(data: bytes, what: str) -> Drawing:
    """The sides of all triangles."""
    count = int.from_bytes(data[80:HEADER], "little") if len(data) >= HEADER else -1
    if count >= 0 and len(data) == HEADER + RECORD * count:
        if 3 * count > MAX_EDGES:
            raise MeshProblem(
                f"{what} is too large ({count} triangles)", f"at most {MAX_EDGES // 3}; use a coarser mesh"
            )
        records = np.frombuffer(data, dtype=np.uint8, offset=HEADER).reshape(count, RECORD)
        with np.errstate(invalid="ignore"):  # NaN is rejected with the coordinates
            corners = records[:, 12:48].copy().view("<f4").reshape(-1, 3).astype(float)
    else:
        corners = _text_corners(data, what)
    triangles = np.arange(len(corners)).reshape(-1, 3)
    lines = sides(triangles) if len(triangles) else np.zeros((0, 2), dtype=int)
    return Drawing(corners, lines, faces=triangles)


def _text_corners(data: bytes, what: str) -> np.ndarray:
    try:
        words = data.decode("utf-8").split()
    except UnicodeDecodeError:
        words = []
    if not words or words[0].lower() != "solid":
        raise MeshProblem(f"{what} is not an STL file: neither its text nor its size fits", "export it again")
    at = [k for k, word in enumerate(words) if word.lower() == "vertex"]
    if len(at) % 3 or (at and at[-1] + 3 >= len(words)):
        raise MeshProblem(f"{what} ends within a triangle", "export it again")
    try:
        return np.array([[float(x) for x in words[k + 1 : k + 4]] for k in at]).reshape(-1, 3)
    except ValueError:
        raise MeshProblem(f"{what} has a corner that is not three numbers") from None
