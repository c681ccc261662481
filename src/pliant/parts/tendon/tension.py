"""A tendon under a given tension."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import casadi as ca

from pliant.language.base import Problem
from pliant.language.scalar import ForceSignal, Scalar
from pliant.parts.formula.base import Effect
from pliant.parts.formula.route import RouteForce
from pliant.parts.tendon.base import TendonBase

if TYPE_CHECKING:
    from pliant.engine.model.build import Build


class TensionTendon(TendonBase):
    """A line under a given tension, as from a motor under force control. Its length follows from the motion."""

    type: Literal["tension"] = "tension"
    tension: ForceSignal
    """Tension, which may vary in time [N]. A line cannot push: while the value is negative the line is slack, which
    results report as a warning. It must not be negative at the start."""

    example: ClassVar[str] = """\
pliant: 1
parameters:
  pull: {value: 0.2 N, input: true}
sections:
  wire: {shape: circle, radius: 5 mm}
materials:
  rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}
rods:
  arm: {length: 30 cm, section: wire, material: rubber, model: {kind: pcs, elements: 5}}
tendons:
  flexor: {type: tension, through: [{rod: arm, offset: [8 mm, 0]}], tension: =pull}
outputs:
  shortened: {tendon: flexor, quantity: length}
"""

    def problems(self, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Points as for all tendons; no tension below zero."""
        yield from super().problems(value)
        if value(self.tension) < 0:
            message = f"the tension cannot be negative, but it is {value(self.tension):g} N: a line cannot push"
            yield ("tension",), message, "use a tendon on the other side instead"

    def apply(self, build: Build, name: str) -> None:
        """Add the tendon to the system."""
        self.add(build, name, GIVEN_TENSION, [], [self.tension])


def _law(length: Any, rate: Any, c: Any, signal: Any, signal_rate: Any) -> Effect:
    # at zero the derivative is that of a pulling line: controllers need it for a line without tension
    tension = ca.if_else(signal[0] >= 0, signal[0], 0.0)
    return Effect(force=tension, supply=-tension * rate)


GIVEN_TENSION = RouteForce("tension", constants=0, signals=1, coupled=False, law=_law)
