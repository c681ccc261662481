"""Rod model `eba`: sections with absolute poses, and between neighbours an elastic element (Euler-Bernoulli, absolute).

Every section is a free frame of its own, so the equations are sparse and cost grows linearly; strains follow from the
relative pose of neighbours, equation (2) of the reference or better.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import casadi as ca
from pydantic import Field

from pliant.geometry import se3, so3
from pliant.interaction.base import Effect, FrameForce
from pliant.interaction.relative import PLACEMENTS, relative_force
from pliant.motion import FREE
from pliant.rod.base import RodModelBase
from pliant.rod.lumped import WORLD, add_lumped_masses
from pliant.rod.properties import RodProperties
from pliant.rod.section_law import CONSTANTS, Law, section_effect

if TYPE_CHECKING:
    from pliant.model.build import Build

Map = Literal["logarithm", "midpoint", "published"]


class Eba(RodModelBase):
    """Sections with absolute poses joined by elastic elements: cheapest where many are needed."""

    example: ClassVar[str] = """\
pliant: 1
sections:
  wire: {shape: circle, radius: 5 mm}
materials:
  rubber: {density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}
rods:
  arm: {length: 30 cm, section: wire, material: rubber, model: {kind: eba, elements: 20}}
"""

    kind: Literal["eba"] = "eba"
    elements: Annotated[int, Field(ge=1, le=2000, strict=True)] = 10
    """Number of elements. Every named frame of the rod is a section between two of them, and lies on a section exactly;
    there are more elements than asked for only where there are more frames."""
    map: Map = "logarithm"
    """How strains follow from the poses of an element's ends: exactly for constant strain (`logarithm`), by the
    displacement seen from half-way (`midpoint`), or seen from the first end (`published`; positions then converge at
    first order)."""

    def apply(self, build: Build, rod: RodProperties) -> None:
        """Add the sections and the elements between them to the system."""
        arc_lengths, fractions, frames = mesh(build, rod, self.elements)
        base = se3.compose(build.initial_pose(rod.node), rod.placement)
        nodes = [(rod.node, rod.placement)]
        for k, s in enumerate(arc_lengths[1:], start=1):
            element = build.element(WORLD, [build.plan(FREE, se3.identity())])
            R, p = se3.compose(base, rod.unstressed(s))
            name = f"{rod.name}.section[{k}]"
            for j, axis in enumerate("xyz"):
                build.coordinate(f"{name}.{axis}", element.q_at + j, element.v_at + j, p[j])
            build.orientation(f"{name}.orientation", element.q_at + 3, element.v_at + 3, R)
            nodes.append((element.nodes[0], se3.identity()))
        add_lumped_masses(build, rod, nodes, arc_lengths, fractions)
        force = element_force(self.map, rod.law, actuated=rod.actuation is not None)
        for k in range(len(nodes) - 1):
            (node_a, end_a), (node_b, end_b) = nodes[k : k + 2]
            middle = (fractions[k] + fractions[k + 1]) / 2
            law = rod.law_constants(arc_lengths[k + 1] - arc_lengths[k], middle)
            constants = [*build.pose_entries(end_a), *build.pose_entries(end_b), *law]
            build.system.frame_force(force, [node_a, node_b], constants, rod.actuation or 0, rod.name)
        build.name_frame(rod.name, *nodes[0])
        for frame, k in frames.items():
            build.name_frame(f"{rod.name}.{frame}", *nodes[k])
        build.name_frame(f"{rod.name}.tip", *nodes[-1])


def mesh(build: Build, rod: RodProperties, elements: int) -> tuple[list[Any], list[float], dict[str, int]]:
    """Arc lengths [m] of all sections, base and tip included, as expressions; the fractions of the length that they are
    at the model's own parameter values; and which section each named frame is.

    Elements are equal between neighbouring frames and as equal as possible overall; how many stand where is settled at
    those values.
    """
    stops: dict[float, Any] = {0.0: 0.0, 1.0: rod.length}
    where = {}
    for name, at in rod.attachments.items():
        exact = build.nominal(at / rod.length)
        place = next((x for x in stops if abs(x - exact) < 1e-9), exact)
        stops.setdefault(place, at)
        where[name] = place
    places = sorted(stops)
    gaps = [b - a for a, b in pairwise(places)]
    counts = [1] * len(gaps)
    while sum(counts) < elements:
        longest = max(range(len(gaps)), key=lambda i: gaps[i] / counts[i])
        counts[longest] += 1
    arc_lengths, fractions, index = [stops[0.0]], [0.0], {0.0: 0}
    for a, b, count in zip(places[:-1], places[1:], counts, strict=True):
        arc_lengths += [stops[a] + (stops[b] - stops[a]) * (j / count) for j in range(1, count + 1)]
        fractions += [a + (b - a) * (j / count) for j in range(1, count + 1)]
        index[b] = len(arc_lengths) - 1
    return arc_lengths, fractions, {name: index[place] for name, place in where.items()}


@cache
def element_force(map: Map, law: Law, *, actuated: bool) -> FrameForce:
    """Section law on the strains of an element between two sections.

    Constants: placements of both ends, then those of the section law.
    """

    def strain(p: Any, alpha: Any, c: Any) -> Any:
        length = c[PLACEMENTS]
        return ca.vertcat(*_deformation(p, alpha, map)) / length - ca.DM([0, 0, 1, 0, 0, 0])

    def answer(strain: Any, rate: Any, c: Any, signal: Any) -> Effect:
        return section_effect(strain, rate, c[PLACEMENTS:], signal, law)

    name = f"rod_{map}_{law}" + ("_actuated" if actuated else "")
    return relative_force(
        name, constants=PLACEMENTS + CONSTANTS, signals=6 if actuated else 0, deformation=strain, law=answer
    )


def _deformation(p: Any, alpha: Any, map: Map) -> tuple[Any, Any]:
    """Strains times length from the far end's position and rotation vector seen from the near end."""
    if map == "logarithm":
        return so3.inverse_left_jacobian(alpha) @ p, alpha
    if map == "midpoint":
        return so3.exp(-alpha / 2) @ p, alpha
    # twice the vector part of the relative quaternion
    return p, so3.sinc(ca.dot(alpha, alpha) / 4) * alpha
