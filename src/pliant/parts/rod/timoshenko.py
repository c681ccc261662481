"""Rod model `timoshenko`: the linear beam element of textbooks, for small displacements relative to the rod's base.

Between nodes 1 and 2, a length L apart, the strains are those of linear shape functions at the middle,

    shear = (w2 - w1) / L - (theta1 + theta2) / 2,    stretch = (u2 - u1) / L,    bend = (theta2 - theta1) / L,

which is one-point (selective reduced) integration of the shear. With the shear stiffness kGA phi / (1 + phi),
phi = 12 EI / (kGA L^2), the same matrix is the exact-shear element, exact at its nodes for loads at its nodes; it is what
`finite_element` becomes for small displacements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import casadi as ca
import numpy as np
from pydantic import Field, StrictBool

from pliant.language.base import Problem
from pliant.language.scalar import Scalar
from pliant.parts.assembly.build import Build
from pliant.parts.assembly.entries import SectionState
from pliant.parts.assembly.system import Element
from pliant.parts.formula.base import CoordinateForce, Effect, Inertia, power_law
from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion import DISPLACEMENT, PLANAR_XZ, PLANAR_YZ, Fields, Motion
from pliant.parts.rod.absolute import Mesh, mesh, name_frames, strains_of_sections
from pliant.parts.rod.base import RodModelBase
from pliant.parts.rod.chamber import actuation, signal_word
from pliant.parts.rod.finite_element import (
    STRAIGHT,
    compliance,
    gauss_rates,
    straight_compliance,
    strain_friction,
    turning_of,
)
from pliant.parts.rod.properties import GAUSS, RodProperties, lumped_pieces
from pliant.parts.rod.section_law import CONSTANTS, section_effect
from pliant.parts.rod.stations import note_sample, section_state
from pliant.parts.rod.strains import Free, Plane, plane_of

if TYPE_CHECKING:
    from pliant.parts.rod.rod import Rod

Shear = Literal["exact", "reduced"]
Shapes = Literal["cubic", "linear"]
Weight = Literal["consistent", "nodal"]

LABELS_OF: dict[Plane | None, tuple[str, ...]] = {
    None: ("x", "y", "z", "rotation_x", "rotation_y", "rotation_z"),
    "xz": ("x", "z", "angle"),
    "yz": ("y", "z", "angle"),
}
MOTION_OF: dict[Plane | None, Motion] = {None: DISPLACEMENT, "xz": PLANAR_XZ, "yz": PLANAR_YZ}
PLACES: dict[Plane | None, tuple[int, ...]] = {None: (0, 1, 2, 3, 4, 5), "xz": (0, 2, 4), "yz": (1, 2, 3)}
"""Indices of the node's coordinates among three displacements and three rotations."""

GAUSS_POINTS, GAUSS_WEIGHTS = (0.5 * (x + y) for x, y in zip(np.polynomial.legendre.leggauss(4), (1, 0), strict=True))
"""On [0, 1]; four points integrate products of cubics exactly."""


class Timoshenko(RodModelBase):
    """The linear Timoshenko beam element, for small displacements: teaching, and modes as in textbooks.

    Displacements and rotations are relative to the rod's base. Large ones are inaccurate as in any linear beam program; use
    `finite_element` for them.
    """

    example: ClassVar[str] = """\
pliant: 1
sections:
  bar: {shape: rectangle, width: 5 mm, height: 2.5 mm}
materials:
  aluminium: {density: 2600 kg/m^3, youngs_modulus: 70 GPa, poissons_ratio: 0.33}
rods:
  beam: {length: 15 cm, section: bar, material: aluminium, strains: planar_xz, model: {kind: timoshenko, elements: 10}}
"""

    is_linear: ClassVar[bool] = True

    kind: Literal["timoshenko"] = "timoshenko"
    elements: Annotated[int, Field(ge=1, le=500, strict=True)] = 10
    """Number of elements. Every named frame of the rod is a node; more elements than requested are used only if there
    are more frames."""
    shear: Shear = "exact"
    """The element that is exact at its nodes (`exact`), or linear shape functions with one-point integration of the
    shear (`reduced`)."""
    mass: Literal["cubic", "linear", "lumped"] = "cubic"
    """Shape functions of the consistent mass: cubic in deflection (`cubic`), or all linear (`linear`); or half of each
    element's mass at either node (`lumped`)."""
    rotary_inertia: StrictBool = True
    """Whether sections have rotary inertia. Without it some nodes' rotations would have no mass at all unless
    its `strains` are planar and its mass `cubic`."""

    weight: Weight = "consistent"
    """Whether weight acts as on the mass's shape functions (`consistent`), or at nodes without moments, as linear ones
    have it, whatever the mass (`nodal`)."""

    @classmethod
    def takes(cls, free: Free) -> Free:
        return strains_of_sections(free)

    @property
    def has_own_drag(self) -> bool:
        return self.mass != "lumped"

    def rod_problems(self, rod: Rod, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        if rod.law != "linear":
            text = f"a linear beam element cannot follow the law '{rod.law}'"
            yield ("law",), text, "use the model `finite_element`, or the linear law"
        for field, curved in (("rest", any(value(rest) != 0 for rest in rod.rest)), ("shape", rod.shape is not None)):
            if curved:
                yield (
                    (field,),
                    "a linear beam element is straight at rest",
                    f"use the model `finite_element`, or omit `{field}`",
                )
        if not self.rotary_inertia and (plane_of(rod.free_strains()) is None or self.mass != "cubic"):
            text = "without rotary inertia rotations have no mass here"
            hint = "keep `rotary_inertia`, or give the rod planar `strains` and the model `cubic` mass"
            yield ("model", "rotary_inertia"), text, hint

    def apply(self, build: Build, rod: RodProperties) -> None:
        stations, plane = mesh(build, rod, self.elements), plane_of(rod.free)
        places: list[tuple[int, Pose]] = [(rod.node, rod.placement)]
        elements: list[Element] = []
        for k, s in enumerate(stations.arc_lengths[1:], start=1):
            at = se3.compose(rod.placement, (ca.DM.eye(3), ca.vertcat(0, 0, s)))
            elements.append(build.element(rod.node, [build.plan(MOTION_OF[plane], at)]))
            for j, label in enumerate(LABELS_OF[plane]):
                name = f"{rod.name}.section[{k}].{label}"
                unit = "m" if label in ("x", "y", "z") else "rad"
                build.coordinate(name, elements[-1].q_at + j, elements[-1].v_at + j, 0.0, unit=unit)
            places.append((elements[-1].nodes[0], se3.identity()))
        self._add_elasticity(build, rod, stations, elements)
        self._add_mass(build, rod, stations, elements, places)
        name_frames(build, rod, places, stations.frames)

    def _add_elasticity(self, build: Build, rod: RodProperties, stations: Mesh, elements: list[Element]) -> None:
        for k in range(len(elements)):
            first = elements[max(k - 1, 0)]
            force = element_force(plane_of(rod.free), self.shear, clamped=k == 0, signals=rod.signals)
            law = rod.law_constants(stations.lengths[k], stations.fraction(k, 0.5), (0,) * 6, stations.span(k))
            index = build.system.coordinate_force(force, first.q_at, first.v_at, law, rod.actuation or 0, rod.name)
            exact = self.shear == "exact"
            for side in (-GAUSS, 0.0, GAUSS) if exact else (0.0,):
                state = element_state(plane_of(rod.free), self.shear, clamped=k == 0, side=side)
                note_sample(
                    build, rod, stations.fraction(k, 0.5 + side / 2), index, state, order=4 if exact else 2,
                    of_force=side == 0, of_moment=side != 0 or not exact,
                )  # fmt: skip

    def _add_mass(
        self, build: Build, rod: RodProperties, stations: Mesh, elements: list[Element], places: list[tuple[int, Pose]]
    ) -> None:
        turning = 1.0 if self.rotary_inertia else 0.0
        for k in range(len(elements)):
            length = stations.lengths[k]
            if self.mass == "lumped":
                section = rod.mean_section(*stations.span(k))
                inertia = _matrix([turning * length / 2 * x for x in section.rotary])
                for node, place in places[k : k + 2]:
                    if node:
                        build.system.mass(node, length / 2 * section.mass, ca.DM.zeros(3), inertia, place)
                continue
            points = {}
            inside = rod.carried_sections(GAUSS_POINTS.tolist(), GAUSS_WEIGHTS.tolist(), *stations.span(k))
            for i, (section, weight) in enumerate(zip(inside, GAUSS_WEIGHTS, strict=True)):
                inertias = (section.mass, *(turning * j for j in section.rotary))
                points[f"point_{i}"] = [weight * length * inertia for inertia in inertias]
            constants = MASS.write(length=length, start=stations.arc_lengths[k], **points)
            kind = element_inertia(plane_of(rod.free), self.mass, self.weight, clamped=k == 0)
            moved = elements[max(k - 1, 0) : k + 1]
            build.inertia(kind, [(rod.node, rod.placement)], moved, constants)
            if self.mass == "cubic" and self.weight == "consistent":
                build.rod_span(rod.name, places[k : k + 2], length, (0, 0, 1), stations.span(k))
            if rod.has_drag:
                drag, at = element_drag(kind), [rod.mass_damping, *constants]
                build.system.coordinate_force(drag, moved[0].q_at, moved[0].v_at, at, 0, rod.name)
        # for pictures of the mass, and for loads along the rod if they act at the nodes
        build.later_rod_pieces(rod.name, partial(lumped_pieces, rod, places, stations.arc_lengths, stations.fractions))


def _matrix(rotary: Sequence[Any]) -> Any:
    """Rotary inertia from its entries xx, yy, zz, xy."""
    return ca.blockcat([[rotary[0], rotary[3], 0], [rotary[3], rotary[1], 0], [0, 0, rotary[2]]])


def _both_ends(q: Any, plane: Plane | None, *, clamped: bool) -> Any:
    """Displacements (3) and rotations (3) of both ends, as 6 x 2."""
    size = len(PLACES[plane])
    ends = ca.SX.zeros(6, 2)
    for j, at in enumerate(PLACES[plane]):
        ends[at, 0] = 0 if clamped else q[j]
        ends[at, 1] = q[j] if clamped else q[size + j]
    return ends


def _undeformed(signal: Any) -> Any:
    """Force of chambers along the six strains, or nothing; like everything in this model, on the undeformed rod."""
    return actuation(ca.DM.zeros(6), signal) if signal.numel() else signal


@cache
def element_force(plane: Plane | None, shear: Shear, *, clamped: bool, signals: int = 0) -> CoordinateForce:
    """Elastic force of an element on the coordinates of its nodes (of the second alone if the first is `clamped`)."""

    def strain(q: Any, length: Any) -> Any:
        return _strain(q, length, plane, clamped=clamped)

    def effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
        at, signal = CONSTANTS.read(c), _undeformed(signal)
        e, rate, B = strain(q, at.length), strain(v, at.length), ca.jacobian(strain(q, at.length), q)
        if shear == "reduced":
            answer = section_effect(e, rate, at, signal, "linear")
            return Effect(B.T @ answer.force, answer.energy, answer.dissipation, answer.supply)
        # the wrench at the middle that equilibrium along the straight element requires
        drive = signal if signal.numel() else ca.DM.zeros(6)
        stiffness = ca.vertcat(at.stiffness, at.coupling)
        strained, actuated_strain = e - at.rest, compliance(stiffness) @ drive
        # actuation strains the element uniformly; the rest is due to loads (see `finite_element`)
        loaded = strained - actuated_strain
        wrench = ca.solve(straight_compliance(at.length, stiffness), loaded)
        friction = strain_friction(rate, at.length, at.stiffness, at.damping, at.power)
        energy = ca.dot(loaded, wrench) / 2 + ca.dot(drive, strained - actuated_strain / 2)
        force = -friction - at.length * wrench
        return Effect(B.T @ force, at.length * energy, ca.dot(friction, rate), at.length * ca.dot(drive, rate))

    motion = MOTION_OF[plane]
    name = "_".join(["timoshenko", plane or "space", shear, *["clamped"] * clamped]) + signal_word(signals)
    return CoordinateForce(name, motion.parts * (1 if clamped else 2), CONSTANTS.size, signals, effect)


def _strain(q: Any, length: Any, plane: Plane | None, *, clamped: bool) -> Any:
    """Strains (6) in the middle of an element."""
    ends = _both_ends(q, plane, clamped=clamped)
    slopes, turn = (ends[:, 1] - ends[:, 0]) / length, (ends[3:6, 0] + ends[3:6, 1]) / 2
    # a rotation about y tilts the section towards x, one about x away from y
    return slopes - ca.vertcat(turn[1], -turn[0], 0, 0, 0, 0)


@cache
def element_state(
    plane: Plane | None, shear: Shear, *, clamped: bool, side: float
) -> Callable[[Any, Any, Any, Any], SectionState]:
    """State of the section at `side` times half the element from its middle."""

    def state(q: Any, v: Any, c: Any, signal: Any) -> SectionState:
        at, signal = CONSTANTS.read(c), _undeformed(signal)
        e, rate = (_strain(x, at.length, plane, clamped=clamped) for x in (q, v))
        if shear == "reduced":
            return section_state(e, rate, at, signal, "linear")
        drive = signal if signal.numel() else ca.SX.zeros(6)
        stiffness = ca.vertcat(at.stiffness, at.coupling)
        flexible = compliance(stiffness)
        wrench = ca.solve(straight_compliance(at.length, stiffness), e - at.rest - flexible @ drive)
        carried = wrench + side * at.length / 2 * turning_of(wrench) @ STRAIGHT
        local = gauss_rates(at.length, at.stiffness, side) @ rate
        friction = ca.vertcat(*[power_law(local[k], at.damping[k], at.power[k]) for k in range(6)])
        return SectionState(at.rest + flexible @ (carried + drive), carried + drive + friction, drive)

    return state


MASS = Fields("length", "start", *(f"point_{k}:5" for k in range(len(GAUSS_POINTS))))
"""Length [m], arc length of the first node [m]; per Gauss point mass [kg] and rotary inertia (xx, yy, zz, xy) [kg m^2]."""


@cache
def element_inertia(plane: Plane | None, shapes: Shapes, weight: Weight, *, clamped: bool) -> Inertia:
    """Consistent mass of an element that moves with the rod's base frame and its nodes' coordinates."""

    def mass(pose: Any, q: Any, c: Any) -> tuple[Any, Any]:
        constants, rows, weights = MASS.read(c), [], []
        length, start = constants.length, constants.start
        for k, x in enumerate(GAUSS_POINTS):
            ends, at = _both_ends(q, plane, clamped=clamped), getattr(constants, f"point_{k}")
            displacement, turn = _interpolated(ends, x, length, shapes)
            carried = displacement if weight == "consistent" else _interpolated(ends, x, length, "linear")[0]
            here = ca.vertcat(0, 0, start + x * length) + carried
            by_nodes, by_carried = ca.jacobian(displacement, q), ca.jacobian(carried, q)
            rows.append(ca.horzcat(ca.SX.eye(3), -so3.hat(here), by_carried))
            rows.append(ca.horzcat(ca.SX(3, 3), ca.SX.eye(3), ca.jacobian(turn, q)))
            weights += [at[0] * ca.SX.eye(3), _matrix([at[1], at[2], at[3], at[4]])]
            if weight == "nodal":
                # the mass of the nodes remains that of the shape functions
                rows += [ca.horzcat(ca.SX(3, 6), by_nodes), ca.horzcat(ca.SX(3, 6), by_carried)]
                weights += [at[0] * ca.SX.eye(3), -at[0] * ca.SX.eye(3)]
        return ca.vertcat(*rows), ca.diagcat(*weights)

    name = "_".join(["timoshenko", plane or "space", shapes, weight, *["clamped"] * clamped])
    return Inertia(name, 1, MOTION_OF[plane].parts * (1 if clamped else 2), MASS.size, mass)


@cache
def element_drag(kind: Inertia) -> CoordinateForce:
    """Mass-proportional drag on the coordinates of an element. Constants: factor on the mass [1/s], those of the inertia."""

    def effect(q: Any, v: Any, c: Any, signal: Any) -> Effect:
        J, G = kind.mass(None, q, c[1:])
        rates = J[:, 6:] @ v
        momentum = G @ rates
        return Effect(-c[0] * (J[:, 6:].T @ momentum), 0.0, c[0] * ca.dot(rates, momentum))

    return CoordinateForce(f"drag_{kind.name}", kind.parts, 1 + kind.constants, 0, effect)


def _interpolated(ends: Any, x: float, length: Any, shapes: Shapes) -> tuple[Any, Any]:
    """Displacement and rotation at fraction x of an element."""
    linear = (1 - x) * ends[:, 0] + x * ends[:, 1]
    if shapes == "linear":
        return linear[0:3], linear[3:6]
    near, far = (1 + 2 * x) * (1 - x) ** 2, x**2 * (3 - 2 * x)
    slope_near, slope_far = x * (1 - x) ** 2, -(x**2) * (1 - x)
    # slopes of the deflections along x and y, from the rotations
    slopes = ca.vertcat(ends[4, :], -ends[3, :])
    across = near * ends[0:2, 0] + far * ends[0:2, 1] + length * (slope_near * slopes[:, 0] + slope_far * slopes[:, 1])
    return ca.vertcat(across, linear[2]), linear[3:6]
