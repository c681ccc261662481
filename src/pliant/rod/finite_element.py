"""Rod model `finite_element`: geometrically exact two-node finite elements of fourth order.

Sections have absolute poses. Between two of them, strains vary as equilibrium asks for: with `e` the mean strain of the
helix through both ends (the logarithm of their relative pose over the length h) and no load inside the element, the
section wrench turns along,  lambda' = ad(e)' lambda, so that at the Gauss points s = +-h / (2 sqrt 3) from the middle

    lambda_g = lambda + s_g ad(e)' lambda,          strain_g = C_g^-1 lambda_g,

and the logarithm of the product of exponentials (Magnus 1954, to fourth order) demands for the middle's wrench

    e - rest = F lambda,    F = 1/2 sum_g (1 + s_g ad(e)) C_g^-1 (1 + s_g ad(e))'.

So the stored energy is h/2 (e - rest)' F^-1 (e - rest). It depends on the relative pose alone (objective, path
independent), vanishes for constant rest strain, locks in nothing, and for small displacements is the element that is
exact at its nodes. A curvature that varies linearly costs no further unknowns.

With actuators a(e) (forces along the strains, of a potential A) and any section law w(e), the wrench that turns along is that of
the loads alone, lambda = w(e) - a(e): under actuation alone the strain is the same all along the rod. With y = C^-1 lambda the
potential is

    h (W(e) - A(e)) + h/2 y' (F^-1 - C) y,

which is the one above for a linear law without actuators. C is the stiffness at the strain e, so that y stays small where a law
stiffens without bound. Of the second term the part that changes with `a` alone is not
counted as supplied: where actuation varies in time, energies balance up to the square of the element's length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import casadi as ca
from pydantic import Field

from pliant.formula.base import Effect, FrameForce, power_law
from pliant.formula.relative import ENDS
from pliant.geometry import so3
from pliant.language.base import Problem
from pliant.language.scalar import Scalar
from pliant.language.state_formula import depends_on_state
from pliant.motion.fields import Fields
from pliant.rod.absolute import Plane, add_elements, element_or_chain, free_sections, mesh, name_frames, planar_sections
from pliant.rod.actuation import actuation, signal_word
from pliant.rod.base import RodModelBase
from pliant.rod.finite_element_mass import add_consistent_masses
from pliant.rod.lumped import GAUSS, add_lumped_masses
from pliant.rod.properties import LABELS, RodProperties
from pliant.rod.section_law import Law, constants_of, relative_stiffness, section_effect

if TYPE_CHECKING:
    from pliant.model.build import Build
    from pliant.rod.rod import Rod

IN_PLANE: dict[Plane, tuple[int, ...]] = {"xz": (0, 2, 4), "yz": (1, 2, 3)}
"""Strains of a rod that moves in a plane."""

STRAIGHT = ca.DM([0, 0, 1, 0, 0, 0])
"""Derivative of position and orientation along a straight rod, in its axes."""

SHEAR_WITH_BEND = ((0, 4, -1), (1, 3, 1))
"""Each shear, the bend in the same plane, and the sign of the bend's slope under a positive shear force."""


class FiniteElement(RodModelBase):
    """Geometrically exact finite elements, two nodes each, of fourth order: most accurate per element, cost linear in
    their number."""

    example: ClassVar[str] = """\
pliant: 1
sections:
  strip: {shape: rectangle, width: 20 mm, height: 1 mm}
materials:
  steel: {density: 7800 kg/m^3, youngs_modulus: 210 GPa, poissons_ratio: 0.3}
rods:
  spring: {length: 30 cm, section: strip, material: steel, model: {kind: finite_element, elements: 6}}
"""

    most_joined: ClassVar[int] = 12

    kind: Literal["finite_element"] = "finite_element"
    elements: Annotated[int, Field(ge=1, le=2000, strict=True)] = 8
    """Number of elements. Every named frame of the rod is a node; there are more elements than asked for only where
    there are more frames."""
    plane: Plane | None = None
    """Nodes move only in the plane of the rod's x and z axes (`xz`) or y and z axes (`yz`), as these stand at the start:
    three rates per node instead of six. What carries the rod's base must stay in that plane."""

    mass: Literal["consistent", "lumped"] = "consistent"
    """Mass along the element's curve between its nodes (`consistent`; modes of bending and torsion are then of fourth
    order, and weight but for a share as small as shear and stretch), or at the nodes (`lumped`; quicker, and of second
    order)."""

    @property
    def has_own_drag(self) -> bool:
        """Drag by mass acts where consistent mass is."""
        return self.mass == "consistent"

    def rod_problems(self, rod: Rod, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Stiffness in every strain; rest strains in the plane."""
        for k, (label, factor) in enumerate(zip(LABELS, rod.stiffness_factors, strict=True)):
            if not depends_on_state(factor, LABELS, value) and not value(factor) > 0:
                text = f"finite elements need stiffness in every strain, but the factor of {label} is {value(factor):g}"
                yield ("stiffness_factors", k), text, "give a small factor above zero"
        for k, (label, rest) in enumerate(zip(LABELS, rod.rest, strict=True)):
            if self.plane is not None and k not in IN_PLANE[self.plane] and value(rest) != 0:
                text = f"the rest strain {label} is {value(rest):g}, which leads out of the {self.plane} plane"
                yield ("rest", k), text, "leave out the model's `plane`, or set that strain to zero"

    def apply(self, build: Build, rod: RodProperties) -> None:
        """Add the nodes and the elements between them to the system."""
        stations = mesh(build, rod, self.elements)
        if self.plane is None:
            places = free_sections(build, rod, stations.arc_lengths)
        else:
            places = planar_sections(build, rod, stations.arc_lengths, self.plane)
        every = []
        for k, ((_, end_a), (_, end_b)) in enumerate(pairwise(places)):
            near, far = (stations.fraction(k, 0.5 + side * GAUSS / 2) for side in (-1, 1))
            begin, end = stations.arc_lengths[k : k + 2]
            law, second = rod.law_constants(end - begin, near, rod.curve.strains(begin, end)), rod.section(far)
            ends = [*build.pose_entries(end_a), *build.pose_entries(end_b)]
            every.append([*ends, *FAR.write(far_stiffness=(*second.stiffness, *second.coupling)), *law])
        add_elements(build, rod, places, every, partial(element_force, rod.law, signals=rod.signals))
        if self.mass == "lumped":
            add_lumped_masses(build, rod, places, stations.arc_lengths, stations.fractions)
        else:
            add_consistent_masses(build, rod, stations, places)
        build.rod_stations(rod.name, places, stations.fractions)
        name_frames(build, rod, places, stations.frames)


FAR = Fields("far_stiffness:8")


def element_constants(law: Law) -> Fields:
    """Placements of both ends, stiffness (6) and coupling (2) at the second Gauss point, the section law at the first."""
    return ENDS + FAR + constants_of(law)


@cache
def element_force(law: Law, *, signals: int = 0, elements: int = 1) -> FrameForce:
    """The element between two sections, or all elements of a rod that the law joins."""
    fields = element_constants(law)

    def strain(p: Any, alpha: Any, c: Any) -> Any:
        helix = ca.vertcat(so3.inverse_left_jacobian(alpha) @ p, alpha)
        return helix / fields.read(c).length - STRAIGHT

    def answer(strain: Any, rate: Any, c: Any, signal: Any, mean: Any = None) -> Effect:
        return element_effect(strain, rate, c, signal, law, mean)

    return element_or_chain(f"rod_fe_{law}{signal_word(signals)}", fields, law, signals, elements, strain, answer)


def element_effect(strain: Any, rate: Any, c: Any, signal: Any, law: Law, mean: Any = None) -> Effect:
    """The element's answer to its mean strain (6): force conjugate to it, energy and powers. `c`: `element_constants`."""
    at = element_constants(law).read(c)
    length, stiffness = at.length, (ca.vertcat(at.stiffness, at.coupling), at.far_stiffness)
    mean_stiffness = (stiffness[0] + stiffness[1]) / 2
    # without damping
    section = SimpleNamespace(**vars(at))
    section.stiffness, section.coupling = mean_stiffness[0:6], mean_stiffness[6:8]
    section.damping, section.power = ca.DM.zeros(6), ca.DM.ones(6)
    none = ca.DM(0, 1)
    x, way = ca.SX.sym("x", 6), ca.SX.sym("way", 6)
    held = None if mean is None else (mean[0], 0.0)
    exact = section_effect(x, ca.DM.zeros(6), section, none, law, mean=held)
    # the wrench of the loads and its derivative, transposed, along a direction
    loads = -exact.force / length - actuation(x, signal)
    free = [x, way, c, signal, *(() if mean is None else (mean[0],))]
    answer = ca.Function("section", free, [loads, ca.jtimes(loads, x, way, True)])
    wrench = answer(strain, ca.DM.zeros(6), *free[2:])[0]
    softened = _Softened(law, x, section, (compliance(mean_stiffness), *(compliance(C) for C in stiffness)), free)
    middle, near, far = softened.compliances(strain)
    # the strain that this wrench has made, beside what actuators and the law's own curve made
    y = middle @ wrench
    varied, turned, energy = _varied(strain + STRAIGHT, y, length, (near, far))
    correction = answer(strain, middle @ varied - y, *free[2:])[1]
    hardened = softened.change(strain, wrench, varied, length)
    force = -length * (wrench + correction - turned + hardened)
    energy = length * (energy - ca.dot(y, wrench) / 2)
    stored = section_effect(strain, rate, section, none, law, mean=mean)
    friction = strain_friction(rate, length, mean_stiffness, at.damping, at.power)
    supply = length * ca.dot(actuation(strain, signal), rate) + stored.supply
    return Effect(force - friction, stored.energy + energy, ca.dot(friction, rate), supply)


class _Softened:
    """Compliances of a section whose law is not linear, at its strains, in the middle and at both Gauss points.

    With rho = 1 / sqrt(stiffness over that at rest), per strain, they are rho (compliance at rest) rho.
    """

    def __init__(self, law: Law, x: Any, section: Any, at_rest: Sequence[Any], free: Sequence[Any]) -> None:
        self.at_rest, self._free, self._rho = at_rest, free, None
        share = relative_stiffness(x, section, law)
        if share is not None:
            rho, way = 1 / ca.sqrt(ca.fmax(share, 1e-3)), ca.SX.sym("by_rho", 6)
            inputs = [x, way, *free[2:]]
            self._rho = ca.Function("rho", inputs, [rho, ca.jtimes(rho, x, way, True)])

    def _at(self, strain: Any, way: Any) -> Any:
        assert self._rho is not None
        return self._rho(strain, way, *self._free[2:])

    def compliances(self, strain: Any) -> list[Any]:
        """Compliances (6 x 6) at a strain."""
        if self._rho is None:
            return list(self.at_rest)
        rho = self._at(strain, ca.DM.zeros(6))[0]
        return [(rho @ rho.T) * C for C in self.at_rest]

    def change(self, strain: Any, wrench: Any, varied: Any, length: Any) -> Any:
        """Derivative of the potential's second term over the length by the strain, through the compliances alone.

        With g = 2 varied - wrench it is, by rho, half of g (C rho wrench) + wrench (C rho g) - sum_g l_g (C_g rho l_g).
        """
        if self._rho is None:
            return ca.DM.zeros(6)
        rho = self._at(strain, ca.DM.zeros(6))[0]
        g, (C, *ends) = 2 * varied - wrench, self.at_rest
        by_rho = g * (C @ (rho * wrench)) + wrench * (C @ (rho * g))
        slope = _turning(varied) @ (strain + STRAIGHT)
        for side, C_g in zip((-GAUSS, GAUSS), ends, strict=True):
            local = varied + side * length / 2 * slope
            by_rho -= local * (C_g @ (rho * local))
        return self._at(strain, by_rho / 2)[1]


def _turning(wrench: Any) -> Any:
    """X with `ad(e)' wrench = X e`."""
    n, m = so3.hat(wrench[0:3]), so3.hat(wrench[3:6])
    return ca.blockcat([[ca.SX(3, 3), n], [n, m]])


def _varied(e: Any, y: Any, length: Any, compliances: tuple[Any, Any]) -> tuple[Any, Any, Any]:
    """The wrench F^-1 y, half the change of y' F^-1 y with the mean strain e through F (6, with the sign of a force), and
    half of y' F^-1 y itself; the module's text has the equations."""
    places = (-GAUSS * length / 2, GAUSS * length / 2)
    wrench = _solve(_flexibility(e, places, compliances), y)
    turning = _turning(wrench)
    slope = turning @ e
    # the wrench makes the energy stationary, so only F is differentiated
    varied = sum(s * (C @ (wrench + s * slope)) for s, C in zip(places, compliances, strict=True))
    return wrench, turning.T @ varied / 2, ca.dot(y, wrench) / 2


def _flexibility(e: Any, places: tuple[Any, Any], compliances: tuple[Any, Any]) -> Any:
    """F of the module's text, for a mean strain that includes the straight rod's."""
    v, kappa = so3.hat(e[0:3]), so3.hat(e[3:6])
    ad = ca.blockcat([[kappa, v], [ca.SX(3, 3), kappa]])
    F = 0
    for s, C in zip(places, compliances, strict=True):
        shape = ca.SX.eye(6) + s * ad
        F += 0.5 * shape @ C @ shape.T
    return F


def straight_compliance(length: Any, stiffness: Any) -> Any:
    """F of a straight element with the same stiffness (six, and two couplings) all along."""
    places = (-GAUSS * length / 2, GAUSS * length / 2)
    return _flexibility(STRAIGHT, places, (compliance(stiffness),) * 2)


def compliance(stiffness: Any) -> Any:
    """Strains per force of a section, 6x6, from six stiffnesses and the coupling of the shears and of the bends."""
    out = ca.diag(1 / stiffness[0:6])
    for at, coupling in ((0, stiffness[6]), (3, stiffness[7])):
        a, b = stiffness[at], stiffness[at + 1]
        pair = ca.blockcat([[b, -coupling], [-coupling, a]]) / (a * b - coupling**2)
        out[at : at + 2, at : at + 2] = pair
    return out


def _solve(F: Any, x: Any) -> Any:
    """F^-1 x of a symmetric positive definite matrix."""
    R = ca.chol(F)
    return ca.solve(R, ca.solve(R.T, x))


def strain_friction(rate: Any, length: Any, stiffness: Any, damping: Any, power: Any) -> Any:
    """Friction of the strain rates at the Gauss points, as a force against the rate of the mean strain.

    A curvature that varies linearly shows in the mean shear; these are the rates of the straight element, for small
    displacements, with it set apart. Otherwise friction of shear would brake bending.
    """
    total = 0
    for side in (-GAUSS, GAUSS):
        rows = ca.SX.eye(6)
        for shear, bend, sign in SHEAR_WITH_BEND:
            phi = 12 * stiffness[bend] / (stiffness[shear] * length**2)
            rows[shear, shear] = phi / (1 + phi)
            rows[bend, shear] = side * sign * 6 / (length * (1 + phi))
        local = rows @ rate
        total += rows.T @ ca.vertcat(*[power_law(local[k], damping[k], power[k]) for k in range(6)])
    return length * total / 2
