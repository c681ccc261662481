"""Rod model `finite_element`: geometrically exact two-node finite elements of fourth order.

Sections have absolute poses. Between two of them, strains vary as equilibrium requires: with `e` the mean strain of the
helix through both ends (the logarithm of their relative pose over the length h) and no load inside the element, the
section wrench satisfies  lambda' = ad(e)' lambda, so that at the Gauss points s = +-h / (2 sqrt 3) from the middle

    lambda_g = lambda + s_g ad(e)' lambda,          strain_g = C_g^-1 lambda_g,

and the logarithm of the product of exponentials (Magnus 1954, to fourth order) requires for the wrench at the midpoint

    e - rest = F lambda,    F = 1/2 sum_g (1 + s_g ad(e)) C_g^-1 (1 + s_g ad(e))'.

So the stored energy is h/2 (e - rest)' F^-1 (e - rest). It depends on the relative pose alone (objective, path
independent), vanishes for constant rest strain, does not lock, and for small displacements is the element that is
exact at its nodes. A linearly varying curvature needs no additional unknowns.

With actuators a(e) (forces along the strains, of a potential A) and any section law w(e), the wrench in this equation is that of
the loads alone, lambda = w(e) - a(e): under actuation alone the strain is constant along the rod. With y = C^-1 lambda the
potential is

    h (W(e) - A(e)) + h/2 y' (F^-1 - C) y,

which is the one above for a linear law without actuators. C is the stiffness at the strain e, so that y stays small if a law
stiffens without bound. The element stores the value of this potential without actuators, a function of its shape alone, and
everything else is work of the actuators: the force that they add, the gradient of a potential at constant signals, times the rate
of the mean strain. So energies balance exactly, also if signals vary in time.

Consistent mass of geometrically exact elements: mass along the curve defined by the poses of both ends.

Between ends at pA and pB, a length h apart, with tangents tA and tB that rotate with the sections,

    p(x) = (1 - x) pA + x pB + h x (1 - x) (tA - tB) / 2,

a parabola for constant bending. So the velocity is linear in the ends' velocities and in the tangents' rates, with
constant coefficients in world axes: rigid motions are exact, a common translation moves the mass and nothing else, and
the mass matrix depends only on the relative rotation. The error of the parabola is odd about the middle, which
causes a fourth-order error of bending modes and weight only. The rotation of sections is half lumped, half linear
interpolation, which makes torsion fourth-order too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import casadi as ca
import numpy as np
from pydantic import Field

from pliant.language.base import Problem
from pliant.language.evaluate import depends_on_state
from pliant.language.scalar import Scalar
from pliant.parts.assembly.build import Build
from pliant.parts.assembly.entries import SectionState
from pliant.parts.formula.base import Effect, FrameForce, Inertia, power_law
from pliant.parts.formula.relative import ENDS, helical_force
from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion import Fields
from pliant.parts.rod.absolute import (
    Mesh,
    Place,
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
from pliant.parts.rod.chamber import STEADY, actuation, signal_word
from pliant.parts.rod.properties import GAUSS, RodProperties, add_lumped_masses, lumped_pieces
from pliant.parts.rod.section_law import Law, constants_of, joins_pieces, relative_stiffness, section_effect
from pliant.parts.rod.stations import material_wrench, note_sample
from pliant.parts.rod.strains import LABELS, Free
from pliant.parts.section.base import SectionProperties

if TYPE_CHECKING:
    from pliant.parts.rod.rod import Rod


STRAIGHT = ca.DM([0, 0, 1, 0, 0, 0])
"""Derivative of position and orientation along a straight rod, in its axes."""

SHEAR_WITH_BEND = ((0, 4, -1), (1, 3, 1))
"""Each shear, the bend in the same plane, and the sign of the bend's slope due to a positive shear force."""


class FiniteElement(RodModelBase):
    """Geometrically exact finite elements of fourth order with two nodes each: most accurate per element, cost linear in
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
    elements: Annotated[int, Field(ge=1, strict=True)] = 8
    """Number of elements. Every named frame of the rod is a node; more elements than requested are used only if there
    are more frames."""
    mass: Literal["consistent", "lumped"] = "consistent"
    """Mass along the element's curve between its nodes (`consistent`; modes of bending and torsion are then of fourth
    order, and so is weight except for a part as small as shear and stretch), or at the nodes (`lumped`; faster, and
    of second order)."""

    @classmethod
    def takes(cls, free: Free) -> Free:
        return strains_of_sections(free)

    @property
    def has_own_drag(self) -> bool:
        return self.mass == "consistent"

    def rod_problems(self, rod: Rod, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        for k, (label, factor) in enumerate(zip(LABELS, rod.stiffness_factors, strict=True)):
            if not depends_on_state(factor, LABELS, value) and not value(factor) > 0:
                text = f"finite elements need stiffness in every strain, but the factor of {label} is {value(factor):g}"
                yield ("stiffness_factors", k), text, "give a small factor above zero"
        yield from plane_problems(rod, value)

    def apply(self, build: Build, rod: RodProperties) -> None:
        stations = mesh(build, rod, self.elements)
        places = sections(build, rod, stations.arc_lengths)
        every = []
        for k, ((_, end_a), (_, end_b)) in enumerate(pairwise(places)):
            near, far = (stations.fraction(k, 0.5 + side * GAUSS / 2) for side in (-1, 1))
            begin, end = stations.arc_lengths[k : k + 2]
            law = rod.law_constants(stations.lengths[k], near, rod.curve.strains(begin, end))
            second = rod.section(far)
            ends = [*build.pose_entries(end_a), *build.pose_entries(end_b)]
            every.append([*ends, *FAR.write(far_stiffness=(*second.stiffness, *second.coupling)), *law])
        force = partial(element_force, rod.law, signals=rod.signals)
        for k, (index, at, together) in enumerate(add_elements(build, rod, places, every, force)):
            for side in (-1, 0, 1):
                note_sample(
                    build, rod, stations.fraction(k, 0.5 + side * GAUSS / 2), index,
                    point_state(rod.law, side, at, together), order=4, on_frames=True,
                    of_force=side == 0, of_moment=side != 0,
                )  # fmt: skip
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
    """The element between two sections, or all elements of a rod that the law couples."""
    fields, name = element_constants(law), f"rod_fe_{law}{signal_word(signals)}"
    if joins_pieces(law):

        def answer(strain: Any, rate: Any, c: Any, signal: Any, mean: Any) -> Effect:
            return element_effect(strain, rate, c, signal, law, mean)

        return element_or_chain(name, fields, law, signals, elements, _mean_strain(fields), answer)

    # the mean strain is the helix per length
    def effect(helix: Any, rate: Any, c: Any, signal: Any) -> Effect:
        per_length = so3.reciprocal(fields.read(c).length)
        found = element_effect(per_length * helix - STRAIGHT, per_length * rate, c, signal, law)
        return replace(found, force=per_length * found.force)

    def slopes(helix: Any, rate: Any, c: Any, signal: Any) -> tuple[Any, Any, Any, Any]:
        per_length = so3.reciprocal(fields.read(c).length)
        found = _slopes(law, c.numel(), signals)(per_length * helix - STRAIGHT, per_length * rate, c, signal)
        force, by_strain, by_rate, by_signal = found
        return per_length * force, per_length**2 * by_strain, per_length**2 * by_rate, per_length * by_signal

    return helical_force(name, constants=fields.size, signals=signals, law=effect, slopes=slopes)


@cache
def _slopes(law: Law, constants: int, signals: int) -> ca.Function:
    """For mean strain, its rate, constants and signals: the force along the strain, and its derivatives with respect to strain,
    rate and signal.

    The wrench at the midpoint is defined by F wrench = y, so that its derivatives are F^-1 (dy - dF wrench): F is factorized
    once, and the elimination is not differentiated.
    """
    strain, rate, wrench = ca.SX.sym("e", 6), ca.SX.sym("rate", 6), ca.SX.sym("wrench", 6)
    c, signal = ca.SX.sym("c", constants), ca.SX.sym("s", signals)
    equation: list[Any] = []

    def unknown(F: _Flexibility, y: Any) -> Any:
        equation.extend((F, y))
        return wrench

    force = element_effect(strain, rate, c, signal, law, solve=unknown).force
    F, y = equation
    factors, by_wrench, left = _factorized(F.matrix()), ca.jacobian(force, wrench), y - F.times(wrench)
    derivatives = [
        ca.jacobian(force, x) + by_wrench @ _eliminated(factors, ca.jacobian(left, x)) if x.numel() else ca.SX(6, 0)
        for x in (strain, signal)
    ]
    outputs = ca.substitute(
        [force, derivatives[0], ca.jacobian(force, rate), derivatives[1]], [wrench], [_eliminated(factors, y)]
    )
    return ca.Function("slopes", [strain, rate, c, signal], outputs, {"cse": True})


def _mean_strain(fields: Fields) -> Callable[[Any, Any, Any], Any]:
    """The mean strain of an element from the far end's position and rotation vector relative to the near end, and its constants."""

    def strain(p: Any, alpha: Any, c: Any) -> Any:
        helix = ca.vertcat(so3.inverse_left_jacobian(alpha) @ p, alpha)
        return helix / fields.read(c).length - STRAIGHT

    return strain


@cache
def point_state(law: Law, side: int, index: int, elements: int) -> Callable[[Any, Any, Any, Any], SectionState]:
    """State of the section at the first (side -1) or second (1) Gauss point of one of the elements of `element_force`, or in its
    middle (0)."""
    fields = element_constants(law)

    def state(poses: Any, twists: Any, c: Any, signal: Any) -> SectionState:
        element = element_state(poses, twists, c, fields, _mean_strain(fields), index, elements)
        e, rate, mean = element.strain, element.rate, element.mean
        at = fields.read(element.constants)
        near, far = ca.vertcat(at.stiffness, at.coupling), at.far_stiffness
        middle = (near + far) / 2
        # the strain due to actuators and the rest shape of the law, without load
        elastic = material_wrench(e, ca.DM.zeros(6), _undamped(at, middle), law, mean)
        softened = _SectionCompliance(law, e, (1.0 if mean is None else mean[0], element.constants, signal), ())
        unloaded = e - softened.of(compliance(middle)) @ (elastic - actuation(e, signal))
        local = gauss_rates(at.length, middle, side * GAUSS) @ rate
        friction = ca.vertcat(*[power_law(local[k], at.damping[k], at.power[k]) for k in range(6)])

        def strain(carried: Any, x: float) -> Any:
            stiffness = middle + (far - near) * (x - 0.5) / GAUSS
            return unloaded + softened.of(compliance(stiffness)) @ (carried - friction)

        # wrench on the far end, in the axes of the near one
        held = -element.change.T @ element_effect(e, rate, element.constants, signal, law, mean).force
        x = 0.5 + side * GAUSS / 2
        carried = _along_element(held, strain, at.length, x)
        here = strain(carried, x)
        pushed = ca.SX(actuation(here, signal))
        return SectionState(here, carried + pushed, pushed)

    return state


def _undamped(at: Any, stiffness: Any) -> SimpleNamespace:
    """Constants of the section law with another stiffness (six, and two couplings), without damping."""
    section = SimpleNamespace(**vars(at))
    section.stiffness, section.coupling = stiffness[0:6], stiffness[6:8]
    section.damping, section.power = ca.DM.zeros(6), ca.DM.ones(6)
    return section


def _along_element(wrench: Any, strain: Callable[[Any, float], Any], length: Any, end: float) -> Any:
    """The wrench of an element's near end at a fraction of its length, without loads in between, for strains as functions of the
    wrench and of the fraction: one step of the classical Runge-Kutta method for lambda' = ad(e)' lambda."""

    def slope(here: Any, x: float) -> Any:
        return turning_of(here) @ (strain(here, x) + STRAIGHT)

    step = end * length
    first = slope(wrench, 0.0)
    second = slope(wrench + step / 2 * first, end / 2)
    third = slope(wrench + step / 2 * second, end / 2)
    fourth = slope(wrench + step * third, end)
    return wrench + step / 6 * (first + 2 * second + 2 * third + fourth)


def turning_of(wrench: Any) -> Any:
    """X with `X e = ad(e)' wrench`."""
    n, m = so3.hat(wrench[0:3]), so3.hat(wrench[3:6])
    return ca.blockcat([[ca.SX(3, 3), n], [n, m]])


Solve = Callable[["_Flexibility", Any], Any]
"""Function that returns F^-1 y from F and y (6)."""


def element_effect(
    strain: Any, rate: Any, c: Any, signal: Any, law: Law, mean: Any = None, solve: Solve | None = None
) -> Effect:
    """The response of the element to its mean strain (6): conjugate force, energy and powers. `c`: `element_constants`.

    mean: for a law that couples all elements, the mean stretch of the rod and its rate. solve: replaces elimination.
    """
    at = element_constants(law).read(c)
    length, section = at.length, _middle_section(law, c)
    stretch = None if mean is None else mean[0]
    force, second = _shape_terms(strain, c, signal, law, stretch, solve or _solved)
    stored = section_effect(strain, rate, section, ca.DM(0, 1), law, mean=mean)
    supply = stored.supply
    if signal.numel():
        # the stored energy is that of the element without actuators, a function of its strain: the rest of the force is theirs
        passive, second = _shape_terms(strain, c, ca.DM(0, 1), law, stretch, _solved)
        supply += ca.dot(force - passive, rate)
    if mean is not None:
        supply += _change_with_mean(strain, c, law, mean)
    friction = strain_friction(rate, length, ca.vertcat(section.stiffness, section.coupling), at.damping, at.power)
    return Effect(force - friction, stored.energy + second, ca.dot(friction, rate), supply)


def _shape_terms(strain: Any, c: Any, signal: Any, law: Law, mean: Any, solve: Solve) -> tuple[Any, Any]:
    """The force along the mean strain without damping, and the second term of the potential in the module's docstring, at a mean
    stretch of the rod for a law that couples all elements."""
    at = element_constants(law).read(c)
    length, stiffness = at.length, (ca.vertcat(at.stiffness, at.coupling), at.far_stiffness)
    # the wrench of the loads at a strain, and its derivative, transposed, along a direction
    answer = _loads(law, c.numel(), signal.numel(), is_joined=mean is not None)
    others = (1.0 if mean is None else mean, c, signal)
    wrench = answer(strain, ca.DM.zeros(6), *others)[0]
    at_rest = (compliance((stiffness[0] + stiffness[1]) / 2), *(compliance(C) for C in stiffness))
    softened = _SectionCompliance(law, strain, others, at_rest)
    middle, near, far = softened.compliances()
    is_linear = law == "linear" and signal.numel() <= STEADY
    # the strain due to this wrench, without those due to actuators and the rest shape of the law
    y = strain - at.rest - middle @ actuation(strain, signal) if is_linear else middle @ wrench
    varied, turned, energy = _varied(strain + STRAIGHT, y, length, (near, far), solve)
    if (
        is_linear
    ):  # the derivative of the wrench is the stiffness, so that the difference of the two compliances vanishes
        force = -length * (varied - turned)
    else:
        correction = answer(strain, middle @ varied - y, *others)[1]
        hardened = softened.change(wrench, varied, length)
        force = -length * (wrench + correction - turned + hardened)
    return force, length * (energy - ca.dot(y, wrench) / 2)


def _change_with_mean(strain: Any, c: Any, law: Law, mean: tuple[Any, Any]) -> Any:
    """Rate of the second term of the potential due to the mean stretch of the rod [W], to which the forces do not respond."""
    stretch = ca.SX.sym("mean")
    _, second = _shape_terms(strain, c, ca.DM(0, 1), law, stretch, _solved)
    return ca.substitute(ca.gradient(second, stretch), stretch, mean[0]) * mean[1]


@cache
def _loads(law: Law, constants: int, signals: int, *, is_joined: bool) -> ca.Function:
    """For a strain, a direction, the mean stretch of a rod that the law couples, `element_constants` and signals: the
    corresponding wrench of the loads, and its transposed derivative along the direction."""
    x, way, stretch = ca.SX.sym("x", 6), ca.SX.sym("way", 6), ca.SX.sym("mean")
    c, signal = ca.SX.sym("c", constants), ca.SX.sym("s", signals)
    section = _middle_section(law, c)
    mean = (stretch, 0.0) if is_joined else None
    exact = section_effect(x, ca.DM.zeros(6), section, ca.DM(0, 1), law, mean=mean)
    loads = -so3.reciprocal(section.length) * exact.force - actuation(x, signal)
    return ca.Function("loads", [x, way, stretch, c, signal], [loads, ca.jtimes(loads, x, way, True)])


@cache
def _softening(law: Law, constants: int, signals: int) -> ca.Function | None:
    """For the same arguments: rho = 1 / sqrt(stiffness relative to that at rest), per strain, and its transposed derivative along
    the direction; None for a law with constant stiffness."""
    x, way, stretch = ca.SX.sym("x", 6), ca.SX.sym("way", 6), ca.SX.sym("mean")
    c, signal = ca.SX.sym("c", constants), ca.SX.sym("s", signals)
    share = relative_stiffness(x, _middle_section(law, c), law)
    if share is None:
        return None
    rho = 1 / ca.sqrt(ca.fmax(share, 1e-3))
    return ca.Function("rho", [x, way, stretch, c, signal], [rho, ca.jtimes(rho, x, way, True)])


def _middle_section(law: Law, c: Any) -> SimpleNamespace:
    at = element_constants(law).read(c)
    return _undamped(at, (ca.vertcat(at.stiffness, at.coupling) + at.far_stiffness) / 2)


class _SectionCompliance:
    """Compliances of a section with a nonlinear law, at a strain, at the midpoint and at both Gauss points.

    With rho (`_softening`) they are rho (compliance at rest) rho.
    """

    def __init__(self, law: Law, strain: Any, others: tuple[Any, Any, Any], at_rest: Sequence[Any]) -> None:
        self.at_rest, self._strain, self._others = at_rest, strain, others
        self._function = _softening(law, others[1].numel(), others[2].numel())
        self._rho = None if self._function is None else self._function(strain, ca.DM.zeros(6), *others)[0]

    def of(self, at_rest: Any) -> Any:
        """A compliance (6 x 6) from that at rest."""
        return at_rest if self._rho is None else (self._rho @ self._rho.T) * at_rest

    def compliances(self) -> list[Any]:
        """Compliances (6 x 6) at the strain."""
        return [self.of(C) for C in self.at_rest]

    def change(self, wrench: Any, varied: Any, length: Any) -> Any:
        """Derivative of the second term of the potential per length with respect to the strain, through the compliances alone.

        With g = 2 varied - wrench its derivative with respect to rho is half of g (C rho wrench) + wrench (C rho g) - sum_g l_g
        (C_g rho l_g).
        """
        if self._function is None:
            return ca.DM.zeros(6)
        g, rho, (C, *ends) = 2 * varied - wrench, self._rho, self.at_rest
        by_rho = g * (C @ (rho * wrench)) + wrench * (C @ (rho * g))
        slope = turning_of(varied) @ (self._strain + STRAIGHT)
        for side, C_g in zip((-GAUSS, GAUSS), ends, strict=True):
            local = varied + side * length / 2 * slope
            by_rho -= local * (C_g @ (rho * local))
        return self._function(self._strain, by_rho / 2, *self._others)[1]


def _varied(e: Any, y: Any, length: Any, compliances: tuple[Any, Any], solve: Solve) -> tuple[Any, Any, Any]:
    """The wrench F^-1 y, half the derivative of y' F^-1 y with respect to the mean strain e through F (6, with the sign of a
    force), and half of y' F^-1 y itself; see the equations in the module's docstring."""
    F = _Flexibility(e, length, compliances)
    wrench = solve(F, y)
    # the wrench makes the energy stationary, so only F is differentiated
    return wrench, turning_of(wrench).T @ F.slope(wrench), ca.dot(y, wrench) / 2


class _Flexibility:
    """F of the module's docstring, for a mean strain that includes the straight rod's: with the mean C of the compliances at the
    Gauss points s = -+d from the middle, and half their difference B times d,

    F = C + ad(e) B + B ad(e)' + d^2 ad(e) C ad(e)'.
    """

    def __init__(self, e: Any, length: Any, compliances: tuple[Any, Any]) -> None:
        near, far = compliances
        place = 0.5 * GAUSS * length
        self._e, self._square = e, place**2
        self._mean, self._difference = 0.5 * (near + far), 0.5 * place * (far - near)

    def matrix(self) -> Any:
        """F, 6 x 6."""
        v, kappa = so3.hat(self._e[0:3]), so3.hat(self._e[3:6])
        ad = ca.blockcat([[kappa, v], [ca.SX(3, 3), kappa]])
        half = ad @ (self._difference + 0.5 * self._square * (self._mean @ ad.T))
        return self._mean + half + half.T

    def slope(self, wrench: Any) -> Any:
        """Half the derivative of wrench' F wrench with respect to ad(e)' wrench."""
        return self._difference @ wrench + self._square * (self._mean @ (turning_of(wrench) @ self._e))

    def times(self, wrench: Any) -> Any:
        """F wrench."""
        turned = turning_of(wrench) @ self._e  # ad(e)' wrench
        v, kappa, varied = self._e[0:3], self._e[3:6], self.slope(wrench)
        linear = ca.cross(kappa, varied[0:3]) + ca.cross(v, varied[3:6])
        return self._mean @ wrench + self._difference @ turned + ca.vertcat(linear, ca.cross(kappa, varied[3:6]))


def straight_compliance(length: Any, stiffness: Any) -> Any:
    """F of a straight element with constant stiffness (six, and two couplings)."""
    return _Flexibility(STRAIGHT, length, (compliance(stiffness),) * 2).matrix()


def compliance(stiffness: Any) -> Any:
    """Compliance matrix of a section, 6x6, from six stiffnesses and the coupling of the shears and of the bends."""
    out = ca.SX(6, 6)
    for at, coupling in ((0, stiffness[6]), (3, stiffness[7])):
        a, b = stiffness[at], stiffness[at + 1]
        over = so3.reciprocal(a * b - coupling**2)
        out[at : at + 2, at : at + 2] = over * ca.blockcat([[b, -coupling], [-coupling, a]])
        out[at + 2, at + 2] = so3.reciprocal(stiffness[at + 2])
    return out


def _solved(F: _Flexibility, y: Any) -> Any:
    """F^-1 y."""
    return _eliminated(_factorized(F.matrix()), y)


def _factorized(F: Any) -> tuple[Any, list[Any]]:
    """L and the inverse of D of a symmetric positive definite F = L D L', with one division for each pivot."""
    F, n = ca.SX(F), F.shape[0]  # a copy, which is eliminated in place
    L, inverse = ca.SX.eye(n), []
    for j in range(n):
        inverse.append(so3.reciprocal(F[j, j]))
        for i in range(j + 1, n):
            L[i, j] = F[i, j] * inverse[j]
        for i in range(j + 1, n):
            for k in range(j + 1, i + 1):
                F[i, k] -= L[i, j] * F[k, j]
    return L, inverse


def _eliminated(factors: tuple[Any, list[Any]], x: Any) -> Any:
    """F^-1 x for the factors of F and one or more columns x."""
    L, inverse = factors
    rows = [x[i, :] for i in range(len(inverse))]
    for i in range(len(rows)):
        for j in range(i):
            rows[i] -= L[i, j] * rows[j]
    rows = [rows[i] * inverse[i] for i in range(len(rows))]
    for i in reversed(range(len(rows))):
        for j in range(i + 1, len(rows)):
            rows[i] -= L[j, i] * rows[j]
    return ca.vertcat(*rows)


def strain_friction(rate: Any, length: Any, stiffness: Any, damping: Any, power: Any) -> Any:
    """Damping of the strain rates at the Gauss points, as a force against the rate of the mean strain.

    A linearly varying curvature appears in the mean shear; these are the rates of the straight element, for small displacements,
    with it separated. Otherwise damping of shear would act on bending.
    """
    total = 0
    for side in (-GAUSS, GAUSS):
        rows = gauss_rates(length, stiffness, side)
        local = rows @ rate
        total += rows.T @ ca.vertcat(*[power_law(local[k], damping[k], power[k]) for k in range(6)])
    return length * total / 2


def gauss_rates(length: Any, stiffness: Any, side: float) -> Any:
    """Strain rates at a Gauss point, at `side` times half the element from its midpoint, per rate of the mean strain, 6 x 6."""
    rows = ca.SX.eye(6)
    for shear, bend, sign in SHEAR_WITH_BEND:
        # phi / (1 + phi) and 1 / (1 + phi), phi = 12 EI / (GA length^2)
        bending, shearing = 12 * stiffness[bend], stiffness[shear] * length**2
        over = so3.reciprocal(bending + shearing)
        rows[shear, shear] = bending * over
        rows[bend, shear] = side * sign * 6 * stiffness[shear] * length * over
    return rows


POINTS, WEIGHTS = (0.5 * (x + y) for x, y in zip(np.polynomial.legendre.leggauss(3), (1, 0), strict=True))
"""Gauss points on [0, 1]: exact for products of parabolas."""

TURNING = ca.DM([[5, 1], [1, 5]]) / 12


MASS = Fields("length", "tangent:3", "mass:3", "rotary:4")
"""Length [m], tangent at the start in the section's axes, mass at each Gauss point [kg], rotary inertia of the element about
x, y, z and its xy entry [kg m^2]."""


def _mass(pose: Any, q: Any, c: Any) -> tuple[Any, Any]:
    (R, _), zero = pose, ca.SX(3, 3)
    at = MASS.read(c)
    tangent = so3.hat(at.tangent)
    # velocities of both ends and rates of both tangents in the first end's axes, then both angular velocities
    rates = ca.blockcat(
        [
            [ca.SX.eye(3), zero, zero, zero],
            [zero, zero, R, zero],
            [zero, -tangent, zero, zero],
            [zero, zero, zero, -R @ tangent],
            [zero, ca.SX.eye(3), zero, zero],
            [zero, zero, zero, ca.SX.eye(3)],
        ]
    )
    return rates, ca.diagcat(ca.kron(_along(at), ca.DM.eye(3)), ca.kron(TURNING, _rotary(at)))


def _along(at: Any) -> Any:
    """Mass matrix of both ends' positions and both tangents, 4 x 4."""
    along = ca.SX(4, 4)
    for k, x in enumerate(POINTS):
        bubble = at.length * x * (1 - x) / 2
        shape = ca.vertcat(1 - x, x, bubble, -bubble)
        along += at.mass[k] * shape @ shape.T
    return along


def _rotary(at: Any) -> Any:
    x, y, z, xy = (at.rotary[k] for k in range(4))
    return ca.blockcat([[x, xy, 0], [xy, y, 0], [0, 0, z]])


def _velocity_forces(pose: Any, q: Any, W: Any, c: Any) -> Any:
    """Forces at dW/dt = 0: of the resulting accelerations of positions and tangents, and of the rotating momenta of the
    sections."""
    (R, _), at = pose, MASS.read(c)
    speeds, turns = (W[0:3], W[6:9]), (W[3:6], W[9:12])
    axes = (ca.SX.eye(3), R)
    accelerations = [axes[k] @ ca.cross(turns[k], speeds[k]) for k in range(2)]
    accelerations += [axes[k] @ ca.cross(turns[k], ca.cross(turns[k], at.tangent)) for k in range(2)]
    held = ca.horzcat(*accelerations) @ _along(at)
    momenta = _rotary(at) @ ca.horzcat(*turns) @ TURNING
    out = []
    for k in range(2):
        moment = ca.cross(at.tangent, axes[k].T @ held[:, 2 + k])
        out += [axes[k].T @ held[:, k], moment + ca.cross(turns[k], momenta[:, k])]
    return ca.vertcat(*out)


ELEMENT = Inertia("rod_fe", 2, (), MASS.size, _mass, velocity_forces=_velocity_forces)

DRAGGED = ENDS + Fields("length", "tangent:3", "drag:3")
"""Placements of both ends, length [m], tangent, drag coefficient at each Gauss point [N s/m]."""


def _drag(poses: Sequence[Pose], twists: Sequence[Any], c: Any, signal: Any) -> Effect:
    at = DRAGGED.read(c)
    near, far = se3.compose(poses[1], at.first), se3.compose(poses[2], at.second)
    t_near, t_far = near[0] @ at.tangent, far[0] @ at.tangent
    wrenches, dissipation = [ca.SX.zeros(6) for _ in poses], 0
    for k, x in enumerate(POINTS):
        bubble = at.length * x * (1 - x) / 2
        arms = ((1 - x) * near[1] + bubble * t_near, x * far[1] - bubble * t_far)
        # velocity of the point from each frame's twist (v, w): share v + w x arm; that of the base is subtracted
        moved = ((-arms[0] - arms[1], -1), (arms[0], 1 - x), (arms[1], x))
        velocity = sum(share * V[0:3] + ca.cross(V[3:6], arm) for (arm, share), V in zip(moved, twists, strict=True))
        force = -at.drag[k] * velocity
        dissipation += -ca.dot(force, velocity)
        for i, (arm, share) in enumerate(moved):
            wrenches[i] += ca.vertcat(share * force, ca.cross(arm, force))
    return Effect(ca.vertcat(*wrenches), 0.0, dissipation)


DRAG = FrameForce("rod_fe_drag", 3, DRAGGED.size, 0, _drag)
"""Drag on the element's mass from velocities relative to the rod's base section, the first frame."""


def add_consistent_masses(build: Build, rod: RodProperties, stations: Mesh, places: Sequence[Place]) -> None:
    """Mass of every element between neighbouring sections; loads along the rod act on the same curves."""
    written: dict[tuple[int, ...], tuple[Any, dict[str, Any]]] = {}
    for k, length in enumerate(stations.lengths):
        started = rod.curve.strains(*stations.arc_lengths[k : k + 2])
        ends = stations.fractions[k : k + 2]
        inside = [*rod.carried_sections(POINTS.tolist(), WEIGHTS.tolist(), *ends), rod.mean_section(*ends)]
        key = tuple(map(id, (length, started, *inside)))  # elements of a uniform rod are equal, and created once
        if key not in written:
            # stored with the objects of the key, whose ids stay valid
            written[key] = (started, inside), _mass_numbers(length, started, inside)
        numbers = written[key][1]
        build.inertia(ELEMENT, places[k : k + 2], (), MASS.write(**numbers))
        build.rod_span(rod.name, places[k : k + 2], length, numbers["tangent"], ends)
        if rod.has_drag:
            (near, near_end), (far, far_end) = places[k : k + 2]
            constants = DRAGGED.write(
                first=build.pose_entries(near_end), second=build.pose_entries(far_end), length=length,
                tangent=numbers["tangent"], drag=[rod.mass_damping * mass for mass in numbers["mass"]],
            )  # fmt: skip
            build.system.frame_force(DRAG, [rod.node, near, far], constants, 0, rod.name)
    # for pictures of the mass
    build.later_rod_pieces(rod.name, partial(lumped_pieces, rod, places, stations.arc_lengths, stations.fractions))


def _mass_numbers(length: Any, started: Sequence[Any], inside: Sequence[SectionProperties]) -> dict[str, Any]:
    """Constants of an element of this length [m] with these initial strains, from its sections at the Gauss points and at its
    midpoint; by the names of `MASS`."""
    masses = [weight * length * at.mass for at, weight in zip(inside[:-1], WEIGHTS.tolist(), strict=True)]
    rotary = [length * x for x in inside[-1].rotary]
    return {"length": length, "tangent": (started[0], started[1], 1 + started[2]), "mass": masses, "rotary": rotary}
