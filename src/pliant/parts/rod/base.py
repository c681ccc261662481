"""Base of all rod models: a number for the resolution, and a method that adds the rod to a system."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import casadi as ca

from pliant.language.base import Part, Problem
from pliant.language.faults import Fault, SpecError
from pliant.language.scalar import Scalar
from pliant.parts.assembly.build import Build
from pliant.parts.geometry.se3 import Pose
from pliant.parts.rod.properties import RodProperties
from pliant.parts.rod.stations import ROUND_OFF
from pliant.parts.rod.strains import ALL, Free

if TYPE_CHECKING:
    from pliant.parts.rod.rod import Rod


class RodModelBase(Part):
    """A rod model. Final classes add `kind`, the field given by `fineness`, and their options."""

    fineness: ClassVar[str] = "elements"
    """The field of the resolution: the N of `KIND:N`."""

    most_joined: ClassVar[int] = 40
    """Maximum number of pieces for laws that couple all pieces of a rod, which then form one force."""

    is_linear: ClassVar[bool] = False
    """Whether it is valid for small deflections only."""

    @classmethod
    def takes(cls, free: Free) -> Free:
        """The free strains of this model if a rod requests these: the nearest supported set.

        By default all six, for models whose coordinates determine all strains.
        """
        return ALL

    @property
    def has_own_drag(self) -> bool:
        """Whether `apply` adds the drag of `rod.mass_damping` itself, from its own mass; otherwise it acts on its pieces."""
        return False

    def rod_problems(self, rod: Rod, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Faults if this model does not support a rod; paths start at the rod."""
        yield from ()

    def pieces(self) -> int:
        """Number of pieces on which the section law acts."""
        return int(getattr(self, self.fineness))

    def arcs(self) -> int:
        """Number of circular arcs of the rod; 0 for models without arcs."""
        return 0

    @abstractmethod
    def apply(self, build: Build, rod: RodProperties) -> None:
        """Add the rod to the system: elements, masses, section forces, and all of its frames by name."""


TURN_SHARE = 0.95
"""Fraction of its limit above which a rotation is reported, and a shape rejected."""


def limit_turns(
    build: Build, rod: RodProperties, places: Sequence[tuple[int, Pose]], arc_lengths: Sequence[Any], limit: float,
    hint: str,
) -> None:  # fmt: skip
    """Limit the rotation between neighbouring sections to `limit` [rad]: reject shapes beyond it, and monitor analyses."""
    if rod.curve.straight is None:
        arc_lengths = build.nominals(ca.vertcat(*arc_lengths)).ravel().tolist()
    for (a, b), (begin, end) in zip(pairwise(places), pairwise(arc_lengths), strict=True):
        refuse_turn(rod, begin, end, limit, hint, "between neighbouring sections")
        build.limit_turn(rod.name, a, b, limit, hint)


def refuse_turn(rod: RodProperties, begin: Any, end: Any, limit: float, hint: str, where: str) -> None:
    """Reject a shape that rotates too far from one arc length to another [m]."""
    turn = rod.curve.turn(begin, end)
    if turn >= TURN_SHARE * limit:
        text = f"the shape turns by {math.degrees(turn):.4g} deg {where}; this rod model allows up to {math.degrees(limit):g} deg"
        raise SpecError([Fault(text, hint, f"rods.{rod.name}.shape")])


STEP_RATIO = 1.2
"""Ratio of the bending stiffnesses on both sides of a step from which it is remarked."""


def remark_steps(build: Build, rod: RodProperties, ends: Sequence[float]) -> None:
    """Remark a step between the ends of elements (fractions of the length): strains are smooth there, but should jump."""
    for step in rod.steps:
        if any(abs(end - step) < 10 * ROUND_OFF for end in ends):
            continue
        before, after = (build.nominal(rod.section(step + side * 10 * ROUND_OFF).stiffness[3]) for side in (-1, 1))
        if max(before, after) > STEP_RATIO * min(before, after):
            build.remarks.append(
                f"the section of the rod '{rod.name}' has a step at {step * build.nominal(rod.length):.3g} m, within an element: "
                "its strains cannot jump there, so its deflection is inaccurate. Use more elements, or a model whose elements "
                "end at steps (pcs, gvs with elements, cosserat, finite_element)"
            )
            return
