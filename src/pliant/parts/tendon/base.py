"""Base of all tendons: the points they pass, and their contribution to the system."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from pydantic import model_validator

from pliant.language.base import Problem, fault, positive
from pliant.language.repeated import Repeated
from pliant.language.scalar import Number, Scalar, Speed
from pliant.parts.formula.route import RouteForce
from pliant.parts.tendon.routing import Stretch, Through

if TYPE_CHECKING:
    from pliant.engine.model.build import Build

TENSION_KEYS = ("tension",)
LENGTH_KEYS = ("stiffness", "axial_stiffness", "rest", "shortening", "damper", "smoothing")
FORMED = 4.0
"""Ratio of sliding speed to slip speed at which friction counts as fully developed: tanh(4) is 0.9993."""


class TendonBase(Repeated):
    """Common part of the tendons: a line that is straight between its points and slides through them, with friction or without.

    Its ends are fixed to its first and last points. Drives act along the line, like a winch at the first point.

    With `friction` the tension falls over every point between the ends, in the direction in which the line slides there, by the
    factor `exp(-friction * turn)`, where `turn` is the angle between the spans before and after it [rad] (the capstan equation). A
    given tension is that at the first point; the law of an elastic tendon gives the mean along the line.
    """

    through: tuple[Through, ...]
    """The points it passes, in order, two or more: frames (`hand`, `{frame: hand, position: [0, 0, 1 cm]}`) and
    stretches along rods (`{rod: arm, offset: [8 mm, 0]}`)."""
    friction: Number = 0
    """Coefficient of friction at every point between its ends [-]."""
    slip_speed: Speed = "1 mm/s"
    """Sliding speed at which friction has reached 76 % of its full value [m/s]; it is proportional to
    `tanh(speed/slip_speed)`. There is no sticking: a line at rest creeps at less than this speed."""
    at_rest: Literal["none", "pulled", "released"] = "none"
    """Friction at rest, which may have any value up to the full one: none, that of a line that was just pulled in at
    the first point, or that of one that was released. Used in equilibria and linear systems. In motions the line
    counts as pulled (released) until it slides the other way at four times the slip speed."""
    description: str = ""
    """Description for readers."""

    @model_validator(mode="before")
    @classmethod
    def _one_drive(cls, data: Any) -> Any:
        given = [key for key in (*TENSION_KEYS, *LENGTH_KEYS) if isinstance(data, dict) and key in data]
        if any(key in TENSION_KEYS for key in given) and any(key in LENGTH_KEYS for key in given):
            message = f"a tendon has either a given tension or a given length, but {given[0]} and {given[1]} are given"
            hint = "keep `tension` (type tension), or length and stiffness (type elastic)"
            raise fault("two_drives", message, hint=hint, key=given[1])
        return data

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Two points or more, none twice in a row; friction that is not negative and has points to act on."""
        if sum(item.count() for item in self.through) < 2:
            yield ("through",), "a tendon needs two points or more", "add the frame or the rod that it runs to"
        for index, (first, second) in enumerate(pairwise(self.through), start=1):
            if first == second:
                yield ("through", index), "the tendon passes the same point twice in a row", "remove one of them"
        if value(self.friction) < 0:
            yield ("friction",), f"friction must not be negative, but it is {value(self.friction):g}", ""
        yield from positive(self, value, "slip_speed")
        if self.at_rest != "none" and not self.has_friction:
            yield ("at_rest",), "a line without friction has none at rest", "give `friction`, or remove `at_rest`"
        if self.has_friction and sum(item.count() for item in self.through) == 2:
            message = "a line with two points has no point with friction between them"
            yield ("friction",), message, "remove `friction`, or route the line through more points"

    @property
    def has_friction(self) -> bool:
        """Whether there is friction at the points between its ends."""
        return self.friction != 0

    def reserve(self, build: Build) -> None:
        """Request the frames of eyelets from rods; to be called before the rods are added to the system."""
        for item in self.through:
            if isinstance(item, Stretch):
                item.reserve(build)

    def passes(self, build: Build) -> list[tuple[int, Any]]:
        """Points that the line passes: nodes, and positions in their frames [m]."""
        return [point for item in self.through for point in item.passes(build)]

    def add(
        self, build: Build, name: str, kind: RouteForce, constants: Sequence[Any], signals: Sequence[Scalar]
    ) -> None:
        """Add the line to the system with the force law `kind`."""
        friction: list[Any] = []
        if self.has_friction:
            slip = build.value(self.slip_speed)
            shift = {"none": 0.0, "pulled": FORMED, "released": -FORMED}[self.at_rest]
            friction = [build.value(self.friction), slip, shift * slip]
        build.route(kind, self.passes(build), constants, signals, name, friction)

    @abstractmethod
    def apply(self, build: Build, name: str) -> None:
        """Add the tendon to the system."""
