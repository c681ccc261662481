"""A column of numbers and expressions that is assembled incrementally."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

import casadi as ca


class Column:
    """Grows at its end: by scalars (floats or expressions), or by many entries at once as a matrix.

    Thousands of scalars take CasADi long to stack; a matrix is kept unchanged.
    """

    def __init__(self) -> None:
        self._pieces: list[Any] = [[]]  # lists of scalars, and matrices of one column
        self._begins = [0]
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, scalar: Any) -> None:
        """Add a scalar."""
        self.extend([scalar])

    def extend(self, scalars: Iterable[Any]) -> None:
        """Add scalars."""
        if not isinstance(self._pieces[-1], list):
            self._begin([])
        before = len(self._pieces[-1])
        self._pieces[-1].extend(scalars)
        self._size += len(self._pieces[-1]) - before

    def extend_by_columns(self, matrix: Any) -> None:
        """Add the entries of a matrix, column by column."""
        self._begin(ca.vec(ca.densify(matrix)))
        self._size += matrix.numel()

    def _begin(self, piece: Any) -> None:
        self._pieces.append(piece)
        self._begins.append(self._size)

    def part(self, begin: int, count: int) -> Any:
        """`count` entries from `begin` on that were added together, as a matrix of one column."""
        number = bisect_right(self._begins, begin) - 1
        at = begin - self._begins[number]
        found = self._pieces[number][at : at + count]
        return ca.vertcat(*found) if isinstance(found, list) else found

    def whole(self) -> Any:
        """All entries as a matrix of one column."""
        return ca.vertcat(*[ca.vertcat(*piece) if isinstance(piece, list) else piece for piece in self._pieces])
