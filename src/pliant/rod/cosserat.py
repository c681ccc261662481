"""Rod model `cosserat`: a discrete Cosserat rod, sections with absolute poses and elastic elements between neighbours.

Every section is a free frame of its own, so the equations are sparse and cost grows linearly; strains follow from the
relative pose of neighbours, equation (2) of the reference or better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import casadi as ca
from pydantic import Field

from pliant.formula.base import Effect, FrameForce
from pliant.formula.relative import ENDS, relative_deformation, relative_force
from pliant.geometry import so3
from pliant.geometry.se3 import Pose
from pliant.language.base import Problem
from pliant.language.scalar import Scalar
from pliant.rod.absolute import mesh, name_frames, plane_problems, sections, strains_of_sections
from pliant.rod.actuation import signal_word
from pliant.rod.base import RodModelBase
from pliant.rod.lumped import add_lumped_masses
from pliant.rod.properties import RodProperties
from pliant.rod.section_law import Law, constants_of, section_effect
from pliant.rod.stations import SectionState, note_sample, section_state
from pliant.rod.strains import Free

if TYPE_CHECKING:
    from pliant.model.build import Build
    from pliant.rod.rod import Rod

Map = Literal["logarithm", "midpoint", "published"]


class Cosserat(RodModelBase):
    """Discrete Cosserat rod: sections with absolute poses joined by elastic elements, cheapest where many are needed."""

    example: ClassVar[str] = """\
pliant: 1
sections:
  wire: {shape: circle, radius: 5 mm}
materials:
  rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}
rods:
  arm: {length: 30 cm, section: wire, material: rubber, model: {kind: cosserat, elements: 20}}
"""

    kind: Literal["cosserat"] = "cosserat"
    elements: Annotated[int, Field(ge=1, le=2000, strict=True)] = 10
    """Number of elements. Every named frame of the rod is a section between two of them, and lies on a section exactly;
    there are more elements than asked for only where there are more frames."""
    map: Map = "logarithm"
    """How strains follow from the poses of an element's ends: exactly for constant strain (`logarithm`), by the
    displacement seen from half-way (`midpoint`), or seen from the first end (`published`; positions then converge at
    first order)."""

    @classmethod
    def takes(cls, free: Free) -> Free:
        """All strains, or those of a plane."""
        return strains_of_sections(free)

    def rod_problems(self, rod: Rod, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Rest strains in the plane."""
        yield from plane_problems(rod, value)

    def apply(self, build: Build, rod: RodProperties) -> None:
        """Add the sections and the elements between them to the system."""
        stations = mesh(build, rod, self.elements)
        places = sections(build, rod, stations.arc_lengths)
        add_lumped_masses(build, rod, places, stations.arc_lengths, stations.fractions)
        force = element_force(self.map, rod.law, signals=rod.signals)
        for k, ((node_a, end_a), (node_b, end_b)) in enumerate(pairwise(places)):
            begin, end = stations.arc_lengths[k : k + 2]
            law = rod.law_constants(end - begin, stations.fraction(k, 0.5), self._started(rod, begin, end))
            constants = [*build.pose_entries(end_a), *build.pose_entries(end_b), *law]
            index = build.system.frame_force(force, [node_a, node_b], constants, rod.actuation or 0, rod.name)
            state = element_state(self.map, rod.law)
            note_sample(build, rod, stations.fraction(k, 0.5), index, state, order=2, on_frames=True)
        build.rod_stations(rod.name, places, stations.fractions)
        name_frames(build, rod, places, stations.frames)

    def _started(self, rod: RodProperties, begin: Any, end: Any) -> Sequence[Any]:
        """Strains of an element in the rod's shape, as its map measures them."""
        if self.map == "logarithm":
            return rod.curve.strains(begin, end)
        return rod.curve.measured(begin, end, self._measure)

    def _measure(self, relative: Pose, length: Any) -> Sequence[Any]:
        moved = ca.vertcat(*_deformation(relative[1], so3.log(relative[0]), self.map)) / length
        return moved[0], moved[1], moved[2] - 1, moved[3], moved[4], moved[5]


@cache
def element_force(map: Map, law: Law, *, signals: int = 0) -> FrameForce:
    """Section law on the strains of an element between two sections. Constants: placements of both ends, those of the law."""
    fields = ENDS + constants_of(law)

    def strain(p: Any, alpha: Any, c: Any) -> Any:
        return _strain(p, alpha, fields.read(c).length, map)

    def answer(strain: Any, rate: Any, c: Any, signal: Any) -> Effect:
        return section_effect(strain, rate, fields.read(c), signal, law)

    name = f"rod_{map}_{law}{signal_word(signals)}"
    return relative_force(name, constants=fields.size, signals=signals, deformation=strain, law=answer)


@cache
def element_state(map: Map, law: Law) -> Callable[[Any, Any, Any, Any], SectionState]:
    """State of the section in the middle of an element."""
    fields = ENDS + constants_of(law)

    def strain(p: Any, alpha: Any, c: Any) -> Any:
        return _strain(p, alpha, fields.read(c).length, map)

    def state(poses: Any, twists: Any, c: Any, signal: Any) -> SectionState:
        e, rate, _ = relative_deformation(poses, twists, c, strain)
        return section_state(e, rate, fields.read(c), signal, law)

    return state


def _strain(p: Any, alpha: Any, length: Any, map: Map) -> Any:
    return ca.vertcat(*_deformation(p, alpha, map)) / length - ca.DM([0, 0, 1, 0, 0, 0])


def _deformation(p: Any, alpha: Any, map: Map) -> tuple[Any, Any]:
    """Strains times length from the far end's position and rotation vector seen from the near end."""
    if map == "logarithm":
        return so3.inverse_left_jacobian(alpha) @ p, alpha
    if map == "midpoint":
        return so3.exp(-alpha / 2) @ p, alpha
    # twice the vector part of the relative quaternion
    return p, so3.sinc(ca.dot(alpha, alpha) / 4) * alpha
