"""Rod model `cosserat`: a discrete Cosserat rod, sections with absolute poses and elastic elements between neighbours.

Every section is a free frame, so the equations are sparse and the cost is linear in their number; strains follow from the
relative pose of neighbours, equation (2) of the reference or better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import casadi as ca
from pydantic import Field

from pliant.language.base import Problem
from pliant.language.scalar import Scalar
from pliant.parts.assembly.build import Build
from pliant.parts.assembly.entries import SectionState
from pliant.parts.formula.base import Effect, FrameForce
from pliant.parts.formula.relative import ENDS
from pliant.parts.geometry import so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion import Fields
from pliant.parts.rod.absolute import (
    add_elements,
    element_or_chain,
    element_state,
    mesh,
    name_frames,
    plane_problems,
    sections,
    strains_of_sections,
)
from pliant.parts.rod.base import RodModelBase
from pliant.parts.rod.chamber import signal_word
from pliant.parts.rod.properties import RodProperties, add_lumped_masses
from pliant.parts.rod.section_law import Law, constants_of, section_effect
from pliant.parts.rod.stations import note_sample, section_state
from pliant.parts.rod.strains import Free

if TYPE_CHECKING:
    from pliant.parts.rod.rod import Rod

Map = Literal["logarithm", "midpoint", "published"]


class Cosserat(RodModelBase):
    """Discrete Cosserat rod: sections with absolute poses connected by elastic elements; cheapest for large numbers of elements."""

    example: ClassVar[str] = """\
pliant: 1
sections:
  wire: {shape: circle, radius: 5 mm}
materials:
  rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}
rods:
  arm: {length: 30 cm, section: wire, material: rubber, model: {kind: cosserat, elements: 20}}
"""

    most_joined: ClassVar[int] = 12

    kind: Literal["cosserat"] = "cosserat"
    elements: Annotated[int, Field(ge=1, strict=True)] = 10
    """Number of elements. Every named frame of the rod coincides with a section between two of them; more elements
    than requested are used only if there are more frames."""
    map: Map = "logarithm"
    """Map from the poses of an element's ends to strains: exact for constant strain (`logarithm`), by the
    displacement in the midpoint frame (`midpoint`), or in the frame of the first end (`published`; positions then
    converge at first order)."""

    @classmethod
    def takes(cls, free: Free) -> Free:
        return strains_of_sections(free)

    def rod_problems(self, rod: Rod, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        yield from plane_problems(rod, value)

    def apply(self, build: Build, rod: RodProperties) -> None:
        stations = mesh(build, rod, self.elements)
        places = sections(build, rod, stations.arc_lengths)
        add_lumped_masses(build, rod, places, stations.arc_lengths, stations.fractions)
        every = []
        for k, ((_, end_a), (_, end_b)) in enumerate(pairwise(places)):
            begin, end = stations.arc_lengths[k : k + 2]
            law = rod.law_constants(
                stations.lengths[k], stations.fraction(k, 0.5), self._started(rod, begin, end), stations.span(k)
            )
            every.append([*build.pose_entries(end_a), *build.pose_entries(end_b), *law])
        force = partial(element_force, self.map, rod.law, signals=rod.signals)
        for k, (index, at, together) in enumerate(add_elements(build, rod, places, every, force)):
            state = middle_state(self.map, rod.law, at, together)
            note_sample(build, rod, stations.fraction(k, 0.5), index, state, order=2, on_frames=True)
        build.rod_stations(rod.name, places, stations.fractions)
        name_frames(build, rod, places, stations.frames)

    def _started(self, rod: RodProperties, begin: Any, end: Any) -> Sequence[Any]:
        """Strains of an element in the rod's shape, as measured by its map."""
        if self.map == "logarithm":
            return rod.curve.strains(begin, end)
        return rod.curve.measured(begin, end, self._measure)

    def _measure(self, relative: Pose, length: Any) -> Sequence[Any]:
        moved = ca.vertcat(*_deformation(relative[1], so3.log(relative[0]), self.map)) / length
        return moved[0], moved[1], moved[2] - 1, moved[3], moved[4], moved[5]


@cache
def element_force(map: Map, law: Law, *, signals: int = 0, elements: int = 1) -> FrameForce:
    """Section law on the strains of an element between two sections, or of all elements of a rod that the law couples. Constants
    of each: placements of both ends, those of the law."""
    fields = ENDS + constants_of(law)

    def answer(strain: Any, rate: Any, c: Any, signal: Any, mean: Any = None) -> Effect:
        return section_effect(strain, rate, fields.read(c), signal, law, mean=mean)

    name = f"rod_{map}_{law}{signal_word(signals)}"
    return element_or_chain(name, fields, law, signals, elements, _strain(fields, map), answer)


@cache
def middle_state(map: Map, law: Law, index: int, elements: int) -> Callable[[Any, Any, Any, Any], SectionState]:
    """State of the section in the middle of one of the elements of `element_force`."""
    fields = ENDS + constants_of(law)

    def state(poses: Any, twists: Any, c: Any, signal: Any) -> SectionState:
        at = element_state(poses, twists, c, fields, _strain(fields, map), index, elements)
        return section_state(at.strain, at.rate, fields.read(at.constants), signal, law, at.mean)

    return state


def _strain(fields: Fields, map: Map) -> Callable[[Any, Any, Any], Any]:
    """The strain of an element from the far end's position and rotation vector relative to the near end, and its constants."""

    def strain(p: Any, alpha: Any, c: Any) -> Any:
        return ca.vertcat(*_deformation(p, alpha, map)) / fields.read(c).length - ca.DM([0, 0, 1, 0, 0, 0])

    return strain


def _deformation(p: Any, alpha: Any, map: Map) -> tuple[Any, Any]:
    """Strains times length from the far end's position and rotation vector relative to the near end."""
    if map == "logarithm":
        return so3.inverse_left_jacobian(alpha) @ p, alpha
    if map == "midpoint":
        return so3.exp(-alpha / 2) @ p, alpha
    # twice the vector part of the relative quaternion
    return p, so3.sinc(ca.dot(alpha, alpha) / 4) * alpha
