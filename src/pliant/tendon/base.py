"""What all tendons share: the points they pass, and how a line becomes part of the system."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pydantic import model_validator

from pliant.formula.route import RouteForce
from pliant.language.base import Part, Problem, fault
from pliant.language.scalar import Count, Scalar
from pliant.tendon.through import Stretch, Through

if TYPE_CHECKING:
    from pliant.model.build import Build

TENSION_KEYS = ("tension",)
LENGTH_KEYS = ("stiffness", "axial_stiffness", "rest", "shortening", "damper", "smoothing")


class TendonBase(Part):
    """Common part of the tendons: a line that is straight between its points and slides through them without friction.

    Both of its ends are fixed to its first and last point; what moves or pulls the line does so along it, as a winch in
    the first point would.
    """

    through: tuple[Through, ...]
    """The points it passes, in order, two or more: frames (`hand`, `{frame: hand, position: [0, 0, 1 cm]}`) and
    stretches along rods (`{rod: arm, offset: [8 mm, 0]}`)."""
    count: Count | None = None
    """Number of instances, where the tendon is repeated; its values and references may use `i` (1, 2, ...) and
    `count`."""
    description: str = ""
    """What a reader should know about it."""

    @model_validator(mode="before")
    @classmethod
    def _one_drive(cls, data: Any) -> Any:
        given = [key for key in (*TENSION_KEYS, *LENGTH_KEYS) if isinstance(data, dict) and key in data]
        if any(key in TENSION_KEYS for key in given) and any(key in LENGTH_KEYS for key in given):
            message = f"a tendon has its tension given or its length, not both; here are {given[0]} and {given[1]}"
            hint = "keep `tension` (type tension), or what says its length and stiffness (type elastic)"
            raise fault("two_drives", message, hint=hint, key=given[1])
        return data

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Two points or more, and no two in a row at one place of one frame."""
        if sum(item.count() for item in self.through) < 2:
            yield ("through",), "a tendon needs two points or more", "add the frame or the rod that it leads to"
        for index, (first, second) in enumerate(pairwise(self.through), start=1):
            if first == second:
                yield ("through", index), "the tendon passes the same place twice in a row", "remove one of them"

    def reserve(self, build: Build) -> None:
        """Ask rods for the frames of the eyelets on them; before the rods are added to the system."""
        for item in self.through:
            if isinstance(item, Stretch):
                item.reserve(build)

    def passes(self, build: Build) -> list[tuple[int, Any]]:
        """Nodes and places on them that the line passes."""
        return [point for item in self.through for point in item.passes(build)]

    def add(
        self, build: Build, name: str, kind: RouteForce, constants: Sequence[Any], signals: Sequence[Scalar]
    ) -> None:
        """Add the line to the system with its law."""
        build.route(kind, self.passes(build), constants, signals, name)

    @abstractmethod
    def apply(self, build: Build, name: str) -> None:
        """Add the tendon to the system."""
