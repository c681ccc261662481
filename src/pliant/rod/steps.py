"""Remark about steps of a rod's section that its model cannot resolve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pliant.rod.properties import RodProperties
from pliant.rod.quadrature import NEAR

if TYPE_CHECKING:
    from pliant.model.build import Build

RATIO = 1.2
"""Ratio of the bending stiffnesses on both sides of a step from which it is remarked."""


def remark_steps(build: Build, rod: RodProperties, ends: Sequence[float]) -> None:
    """Remark a step between the ends of elements (fractions of the length): strains are smooth there, but should jump."""
    for step in rod.steps:
        if any(abs(end - step) < 10 * NEAR for end in ends):
            continue
        before, after = (build.nominal(rod.section(step + side * 10 * NEAR).stiffness[3]) for side in (-1, 1))
        if max(before, after) > RATIO * min(before, after):
            build.notes.append(
                f"the section of the rod '{rod.name}' has a step at {step * build.nominal(rod.length):.3g} m, within an element: "
                "its strains cannot jump there, so its deflection is inaccurate. Use more elements, or a model whose elements "
                "end at steps (pcs, gvs with elements, cosserat, finite_element)"
            )
            return
