"""Names for the constants of a motion, force or inertia: one layout for the numbers written and the symbols read."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import casadi as ca

SIZES = {"pose": 12, "matrix": 9}


class Fields:
    """Constants in order, each `name`, `name:SIZE`, `name:matrix` (3 x 3) or `name:pose` (rotation and position).

    `Fields("end:pose", "stiffness:6", "rest")` has twelve, six and one numbers; `+` concatenates layouts.
    """

    def __init__(self, *words: str) -> None:
        self.words = words
        self.at: dict[str, int] = {}
        """Index of each constant."""
        self.size = 0
        """Total number of constants."""
        self._shapes: dict[str, str] = {}
        for word in words:
            name, _, shape = word.partition(":")
            if name in self.at:
                raise ValueError(f"two constants are called '{name}'")
            self.at[name], self._shapes[name] = self.size, shape
            self.size += self._size(name)

    def __add__(self, other: Fields) -> Fields:
        return Fields(*self.words, *other.words)

    def read(self, c: Any) -> Any:
        """The constants `c` by name: scalars, vectors, matrices and poses."""
        return SimpleNamespace(**{name: self._read(c, name) for name in self.at})

    def write(self, **values: Any) -> list[Any]:
        """The numbers in order; a scalar or a sequence of entries by column for each name."""
        if values.keys() != self.at.keys():
            raise ValueError(f"constants {', '.join(self.at)} are needed, not {', '.join(values)}")
        out: list[Any] = []
        for name in self.at:
            given = values[name]
            entries = given if isinstance(given, Sequence) else [given]
            if len(entries) != self._size(name):
                raise ValueError(f"'{name}' has {self._size(name)} numbers, not {len(entries)}")
            out += entries
        return out

    def _size(self, name: str) -> int:
        shape = self._shapes[name]
        return SIZES.get(shape) or int(shape or 1)

    def _read(self, c: Any, name: str) -> Any:
        at, shape = self.at[name], self._shapes[name]
        if shape == "pose":
            return ca.reshape(c[at : at + 9], 3, 3), c[at + 9 : at + 12]
        if shape == "matrix":
            return ca.reshape(c[at : at + 9], 3, 3)
        return c[at : at + int(shape)] if shape else c[at]
