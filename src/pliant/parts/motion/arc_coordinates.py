"""Choices of coordinates for a circular arc; bend and length are linear in each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import casadi as ca

from pliant.parts.motion.base import Fields

Option = Literal["bending", "strains", "muscles"]

MUSCLES = (0.0, 2 * math.pi / 3, 4 * math.pi / 3)
"""Angles of the three muscles about the tangent, from the section's x axis [rad]."""

LABELS: dict[Option, tuple[str, str, str]] = {
    "bending": ("b_x", "b_y", "length"),
    "strains": ("bend_x", "bend_y", "stretch"),
    "muscles": ("l1", "l2", "l3"),
}
UNITS: dict[Option, tuple[str, str, str]] = {
    "bending": ("rad", "rad", "m"),
    "strains": ("1/m", "1/m", "-"),
    "muscles": ("m", "m", "m"),
}

STRAINS: dict[Option, tuple[int, ...]] = {"bending": (4, 3, 2), "strains": (3, 4, 2)}
"""The strain that each coordinate corresponds to, by its index among the six of a rod: stretch 2, bend_x 3, bend_y 4."""

FREE = (2, 3, 4)
"""Indices of the strains of an arc."""

CONSTANTS = Fields("offset", "undeformed", "per_radius")
"""Constant part of the length [m], undeformed length [m], inverse of the distance of the muscles from the axis [1/m]."""


@dataclass(frozen=True)
class ArcCoordinates:
    """Coordinates q of an arc: `(w_x, w_y, L) = A q + (0, 0, offset)`, with w its rotation vector and L its length.

    `free`: its free strains, from `FREE`; each coordinate except a muscle's length corresponds to one of them. A
    length that is not free keeps its initial value, a bend that is not free is zero.
    """

    option: Option
    free: tuple[int, ...] = FREE

    @property
    def _kept(self) -> list[int]:
        """Indices of the coordinates that exist, among the three."""
        if self.option == "muscles":
            return [0, 1, 2]
        return [k for k, strain in enumerate(STRAINS[self.option]) if strain in self.free]

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return len(self._kept)

    @property
    def name(self) -> str:
        """Identifier in the names of kernels."""
        reduced = "" if self.free == FREE else "_" + "".join(map(str, self.free))
        return f"{self.option}_{self.size}{reduced}"

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        return tuple(LABELS[self.option][k] for k in self._kept)

    @property
    def units(self) -> tuple[str, ...]:
        """SI unit of each."""
        return tuple(UNITS[self.option][k] for k in self._kept)

    def constants(self, length: Any, start: Sequence[Any], radius: Any) -> list[Any]:
        """The `CONSTANTS` of an arc of this undeformed length [m] with six initial strains; muscles at a radius [m]."""
        offset = 0.0 if self.option == "bending" else length
        return CONSTANTS.write(
            offset=offset if 2 in self.free else length * (1 + start[2]), undeformed=length, per_radius=1 / radius
        )

    def matrix(self, c: Any) -> Any:
        """A, 3 x size, from the `CONSTANTS`."""
        if self.option == "bending":
            A = ca.SX([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
        elif self.option == "strains":
            A = CONSTANTS.read(c).undeformed * ca.SX.eye(3)
        else:
            # l = L - L0 - r u.b, solved for b and L; b = (w_y, -w_x)
            per_radius = CONSTANTS.read(c).per_radius
            columns = [ca.vertcat(math.sin(a) * per_radius, -math.cos(a) * per_radius, 0.5) for a in MUSCLES]
            A = ca.horzcat(*columns) * (2 / 3)
        return ca.sparsify(A)[:, self._kept]

    def shape(self, q: Any, c: Any) -> tuple[Any, Any]:
        """Bend `(w_x, w_y)` [rad] and length [m] of an arc, from its coordinates and `CONSTANTS`."""
        z = self.matrix(c) @ q
        return z[0:2], CONSTANTS.read(c).offset + z[2]

    def values(self, length: Any, strains: Sequence[Any], radius: Any) -> list[Any]:
        """Coordinates of an arc with these six strains, of which shear and twist are zero."""
        stretch, bend_x, bend_y = strains[2:5]
        lean = (length * bend_y, -length * bend_x)
        if self.option == "strains":
            return [[bend_x, bend_y, stretch][k] for k in self._kept]
        if self.option == "bending":
            return [[*lean, length * (1 + stretch)][k] for k in self._kept]
        return [length * stretch - radius * (math.cos(a) * lean[0] + math.sin(a) * lean[1]) for a in MUSCLES]
