"""Rayleigh damping of a rod: C = alpha M + beta K on its deformation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Self

import casadi as ca
from pydantic import Field, PrivateAttr, model_validator

from pliant.formula.base import Effect, FrameForce
from pliant.formula.relative import ENDS, relative_force
from pliant.language.base import Part, Problem, fault
from pliant.language.scalar import Frequency, Number, Scalar, Time
from pliant.motion.fields import Fields

if TYPE_CHECKING:
    from pliant.model.build import Build
    from pliant.rod.properties import RodProperties

Mode = Annotated[int, Field(ge=1, le=50, strict=True)]


class Rayleigh(Part):
    """Rayleigh damping with a given ratio of two modes of a rod: forces `alpha` times mass and `beta` times stiffness.

    It acts only on the rod's deformation: on velocities relative to its base section, and on strain rates. Rigid-body motions
    of the rod are not damped. With `ratio` z at the frequencies w1 and w2 [rad/s], alpha = 2 z w1 w2 / (w1 + w2) and
    beta = 2 z / (w1 + w2); modes between them have less than z, modes outside more.
    """

    ratio: Number | None = None
    """Damping ratio of both modes [-]."""
    modes: tuple[Mode, Mode] | None = None
    """The two modes, counted from 1: of the isolated rod, clamped at its base and free at its tip. Their frequencies, and
    with them `alpha` and `beta`, follow the parameters of the model."""
    frequencies: tuple[Frequency, Frequency] | None = None
    """Instead of `modes`: the two frequencies [Hz]."""
    alpha: Frequency | None = None
    """Instead of a ratio: factor on the mass [1/s]."""
    beta: Time | None = None
    """Instead of a ratio: factor on the stiffness [s]."""

    _followed: ca.Function | None = PrivateAttr(default=None)

    def at_frequencies(self, found: Sequence[float], followed: ca.Function | None) -> Self:
        """The same damping with the frequencies [Hz] of its modes, `found` at the model's own parameters. followed: the frequencies
        of all these modes as a function of the parameters; None if they do not depend on them."""
        assert self.modes is not None, "used for damping at modes only"
        first, second = self.modes
        copy = self.model_copy(update={"modes": None, "frequencies": (found[first - 1], found[second - 1])})
        if followed is not None:
            p = ca.SX.sym("p", followed.numel_in(0))
            values = followed(p)
            copy._followed = ca.Function("frequencies", [p], [values[first - 1], values[second - 1]])
        return copy

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        direct = self.alpha is not None or self.beta is not None
        if direct and (self.ratio is not None or self.modes is not None or self.frequencies is not None):
            message = "Rayleigh damping is given by a ratio at two modes, or by alpha and beta, not both"
            raise fault(
                "two_ways", message, hint="keep one of the two", key="alpha" if self.alpha is not None else "beta"
            )
        if not direct and (self.ratio is None or (self.modes is None) == (self.frequencies is None)):
            message = "Rayleigh damping needs a ratio and the two modes or frequencies that have it"
            raise fault("no_way", message, hint="write {ratio: 0.02, modes: [1, 2]}, or give alpha and beta")
        if self.modes is not None and self.modes[0] == self.modes[1]:
            raise fault("same_modes", "the two modes are the same", hint="give two different ones", key="modes")
        return self

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Values must not be negative; frequencies must be positive."""
        for key in ("ratio", "alpha", "beta"):
            given = getattr(self, key)
            if given is not None and value(given) < 0:
                yield (key,), f"{key} cannot be negative, but it is {value(given):g}", ""
        for k, given in enumerate(self.frequencies or ()):
            if not value(given) > 0:
                yield ("frequencies", k), f"a frequency is above zero, but this is {value(given):g}", ""

    def factors(self, build: Build) -> tuple[Any, Any]:
        """alpha [1/s] and beta [s]."""
        if self.ratio is None:
            return tuple(0.0 if x is None else build.value(x) for x in (self.alpha, self.beta))  # type: ignore[return-value]
        assert self.frequencies is not None, "computed from the modes before the robot is built"
        given = map(build.value, self.frequencies) if self._followed is None else self._followed(build.parameters)
        first, second = (2 * ca.pi * x for x in given)
        ratio = build.value(self.ratio)
        return 2 * ratio * first * second / (first + second), 2 * ratio / (first + second)


def add_drag(build: Build, rod: RodProperties) -> None:
    """Forces `mass_damping` times mass against velocities relative to the base section, on all pieces of the rod."""
    base = build.pose_entries(rod.placement)
    pieces = build.rod_pieces(rod.name)
    if not pieces:
        raise ValueError(
            f"the model of the rod '{rod.name}' has no pieces of mass for Rayleigh damping by mass (alpha)"
        )
    for piece in pieces:
        if piece.node == rod.node:
            continue
        weight = rod.mass_damping * piece.length * rod.section(piece.x).mass
        constants = [*base, *build.pose_entries(piece.placement), weight]
        build.system.frame_force(relative_drag(), [rod.node, piece.node], constants, 0, rod.name)


@cache
def relative_drag() -> FrameForce:
    """Drag of a point against its velocity relative to a frame, on which the opposite wrench acts."""
    fields = ENDS + Fields("drag")

    def law(place: Any, rate: Any, c: Any, signal: Any) -> Effect:
        force = -fields.read(c).drag * rate
        return Effect(force, 0.0, -ca.dot(force, rate))

    return relative_force("relative_drag", constants=fields.size, signals=0, deformation=lambda p, alpha, c: p, law=law)
