"""Section laws: the response of a rod's section to its six strains, per length of rod.

Strains are (shear, shear, stretch, bend, bend, twist) relative to the straight, unstretched rod; forces are conjugate to them.
All laws but `mean_stretch` derive from a stored energy, so undamped motion conserves it exactly. `mean_stretch` is the published
update of stiffness by the mean stretch of the rod, which does not: energy added or removed by the update is counted as supplied. It
couples all pieces of a rod, so they form one force.

The hyperelastic laws are those of fibres (`section.fibre_law`): a fibre of an incompressible rod that is stretched by x stores E
w(x), and the shear modulus of the stretched solid is G s(x). Sections become thinner by 1/sqrt(x), so a fibre at the
undeformed distance y from the axis is at y / sqrt(x), and with stretch x, shears, bend b and twist t the rod stores per length

    integral of E w(x + b y / sqrt(x)) over the section + s(x) kGA shear^2 / 2 + s(x) / x GJ t^2 / 2:

exact in stretch, for any bend at which sections shrink evenly, and to second order in shear and twist of the stretched rod.
The integral is a sum over fibres (`section.fibres`), whose distances are scaled by the section's radii of gyration, so that EI is
the section's own. Without an outline (sections given by their numbers) its expansion EA w(x) + w''(x) / x EI b^2 / 2 is
used.

Stiffness factors that depend on the strains (`StrainFactors`) are applied as written: the force along a strain is its factor
times its stiffness times the strain from rest. The stored energy is the work of these forces along a straight path from rest;
that is the integral of each if it depends on its own strain alone. If it depends on others, the forces have no potential, and the
difference is counted as supplied.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import casadi as ca

from pliant.language.evaluate import StateFormula, sizes, words
from pliant.parts.formula.base import Effect, gauss, power_law
from pliant.parts.motion import Fields
from pliant.parts.rod.chamber import actuation
from pliant.parts.rod.strains import LABELS
from pliant.parts.section.material import FIBRE_LAWS, FibreLaw

LawName = Literal["linear", "neo_hookean", "mooney_rivlin", "gent", "ogden", "mean_stretch"]


@dataclass(frozen=True)
class StrainFactors:
    """The linear law with stiffness factors that depend on the strains: a formula for each of the six, or None.

    The stiffness among a law's constants is that at zero strain.
    """

    formulas: tuple[StateFormula | None, ...]

    def __str__(self) -> str:
        """Key that distinguishes it from others in names of kernels."""
        return f"linear{words(self.formulas)}"

    def factors(self, strain: Any, numbers: Any) -> list[Any]:
        """Factors relative to the stiffness at zero strain, at these strains (6)."""
        state, unstrained = ({name: x[k] for k, name in enumerate(LABELS)} for x in (strain, ca.SX(6, 1)))
        out, at = [], 0
        for formula in self.formulas:
            if formula is None:
                out.append(1.0)
                continue
            own = numbers[at : at + formula.count]
            out.append(formula.value(state, own) / formula.value(unstrained, own))
            at += formula.count
        return out


@dataclass(frozen=True)
class FibreSection:
    """A hyperelastic law of this name, summed over a number of fibres of the section, which are among its constants."""

    name: LawName
    fibres: int

    def __str__(self) -> str:
        """Key that distinguishes it from others in names of kernels."""
        return f"{self.name}_{self.fibres}_fibres"


Law = LawName | StrainFactors | FibreSection

CONSTANTS = Fields("length", "stiffness:6", "coupling:2", "rest:6", "damping:6", "power:6")
"""Length [m]; of the section stiffness, coupling of the shears and of the bends, rest strain, damping coefficient and power."""


def constants_of(law: Law) -> Fields:
    """Constants of a law: `CONSTANTS`, the numbers of a law that has some, under `law`, and its `fibres` (`standardized`)."""
    if isinstance(law, StrainFactors):
        return CONSTANTS + Fields(f"law:{sizes(law.formulas)}")
    fibre_law = fibre_law_of(law)
    numbers = Fields(f"law:{fibre_law.size}") if fibre_law is not None and fibre_law.size else Fields()
    fibres = Fields(f"fibres:{3 * law.fibres}") if isinstance(law, FibreSection) else Fields()
    return CONSTANTS + numbers + fibres


def fibre_law_of(law: Law) -> FibreLaw | None:
    """The law of fibres of a hyperelastic law; None for others."""
    if isinstance(law, StrainFactors):
        return None
    return FIBRE_LAWS.get(law.name if isinstance(law, FibreSection) else law)


def section_effect(
    strain: Any, rate: Any, at: Any, signal: Any, law: Law, *, viscous: bool = False,
    mean: tuple[Any, Any] | None = None,
) -> Effect:  # fmt: skip
    """The response of a length of rod to a constant strain (6): forces conjugate to the strains.

    `at` are the constants of the law (`constants_of`) by name; `signal` are the signals of actuators (`rod.actuation`), or empty.
    `viscous`: damping has power one regardless of `at`, which avoids logarithms. `mean`: for the law `mean_stretch`, the mean
    stretch of the rod and its rate, if this is only a part of it.
    """
    length, damping = at.length, at.damping
    energy, elastic, updated = _elastic(ca.SX(strain), ca.SX(rate), at, law, mean)
    if viscous:
        friction = length * damping * rate
    else:
        friction = length * ca.vertcat(*[power_law(rate[k], damping[k], at.power[k]) for k in range(6)])
    drive = length * actuation(strain, signal)
    force = drive - length * elastic - friction
    return Effect(force, length * energy, ca.dot(friction, rate), ca.dot(drive, rate) + length * updated)


def _elastic(strain: Any, rate: Any, at: Any, law: Law, mean: tuple[Any, Any] | None) -> tuple[Any, Any, Any]:
    """Per length: stored energy [J/m], the forces along the strains, and the power supplied by a law without potential [W/m]."""
    if law == "mean_stretch":
        return _updated(strain, at, mean or (1 + strain[2] - at.rest[2], rate[2]))
    x = ca.SX.sym("strain", 6)
    if isinstance(law, StrainFactors):
        density = _integrated(lambda e: _varying_force(e, at, law), x, at.rest)
    else:
        density = _energy(x, at, law)
    energy, force = ca.substitute([density, ca.gradient(density, x)], [x], [strain])
    if not isinstance(law, StrainFactors):
        return energy, force, 0.0
    held = _varying_force(strain, at, law)
    return energy, held, ca.dot(force - held, rate)


def _varying_force(strain: Any, at: Any, law: StrainFactors) -> Any:
    """Forces along the strains of a section with strain-dependent stiffness; couplings are scaled by the mean of their factors."""
    e, f = strain - at.rest, law.factors(strain, at.law)
    force = [f[k] * at.stiffness[k] * e[k] for k in range(6)]
    for (i, j), coupling in (((0, 1), at.coupling[0]), ((3, 4), at.coupling[1])):
        between = (f[i] + f[j]) / 2 * coupling
        force[i] += between * e[j]
        force[j] += between * e[i]
    return ca.vertcat(*force)


def _integrated(force: Callable[[Any], Any], strain: Any, rest: Any) -> Any:
    """Work of a force along a straight path from rest to a strain: the stored energy, if the force has a potential."""
    e, total = strain - rest, 0.0
    for point, weight in zip(*gauss(), strict=True):
        total += weight * ca.dot(force(rest + point * e), e)
    return total


def _energy(strain: Any, at: Any, law: LawName | FibreSection) -> Any:
    """Stored energy per length [J/m]."""
    e, stiffness, coupling = strain - at.rest, at.stiffness, at.coupling
    between = coupling[0] * e[0] * e[1], coupling[1] * e[3] * e[4]
    fibre_law = fibre_law_of(law)
    if fibre_law is None:
        return 0.5 * ca.dot(stiffness * e, e) + between[0] + between[1]
    shear = 0.5 * (stiffness[0] * e[0] ** 2 + stiffness[1] * e[1] ** 2) + between[0]
    bend = 0.5 * (stiffness[3] * e[3] ** 2 + stiffness[4] * e[4] ** 2) + between[1]
    twist = 0.5 * stiffness[5] * e[5] ** 2
    x, numbers = 1 + strain[2] - at.rest[2], getattr(at, "law", None)
    axial, shearing, bending = fibre_factors(fibre_law, x, numbers)
    others = shearing * shear + shearing / x * twist
    if not isinstance(law, FibreSection):
        return stiffness[2] * axial + bending * bend + others
    n = law.fibres
    fibre_x, fibre_y, share = at.fibres[:n], at.fibres[n : 2 * n], at.fibres[2 * n :]
    by_x, by_y = (e[k] * ca.sqrt(stiffness[k] / stiffness[2]) for k in (3, 4))
    stretches = x + (by_x * fibre_y - by_y * fibre_x) / ca.sqrt(x)
    fibres = ca.dot(share, fibre_law.energy(fibre_law.within(stretches, numbers), numbers))
    # zero, unless factors of stiffness scale the coupling of the bends otherwise than the bends, or properties are interpolated
    uncounted = between[1] + stiffness[2] * ca.dot(share, fibre_x * fibre_y) * by_x * by_y
    return stiffness[2] * fibres + bending * uncounted + others


def fibre_factors(law: FibreLaw, x: Any, numbers: Any) -> tuple[Any, Any, Any]:
    """w(x), s(x) and w''(x) / x of a fibre law at a stretch; NaN outside of the law's range."""
    fibre = ca.SX.sym("x")
    energy = ca.SX(law.energy(fibre, numbers))
    curvature = ca.gradient(ca.gradient(energy, fibre), fibre)
    factors = ca.vertcat(energy, law.shear(fibre, numbers), curvature / fibre)
    found = ca.substitute(factors, fibre, ca.SX(law.within(x, numbers)))
    return found[0], found[1], found[2]


def relative_stiffness(strain: Any, at: Any, law: Law) -> Any:
    """Stiffness of the six strains relative to that among the constants, at a strain (6); None if it is the same."""
    if isinstance(law, StrainFactors):
        return ca.vertcat(*law.factors(strain, at.law))
    fibre_law = fibre_law_of(law)
    if fibre_law is None:
        return None
    x = 1 + strain[2] - at.rest[2]
    _, shear, bend = fibre_factors(fibre_law, x, getattr(at, "law", None))
    return ca.vertcat(shear, shear, bend * x, bend, bend, shear / x)


def _updated(strain: Any, at: Any, mean: tuple[Any, Any]) -> tuple[Any, Any, Any]:
    """Energy, forces along the strains and power of the published update at a mean stretch x of the rod and its rate.

    Radii shrink by 1/sqrt(x), E and G by 1/x, and pieces are x times as long. For a piece of undeformed length h this multiplies
    EA/h and kGA/h by x^-3, EI/h and GJ/h by x^-4. The stored energy is that of the current springs.
    """
    e, k = strain - at.rest, at.stiffness
    shear, bend = at.coupling[0], at.coupling[1]
    stretching = ca.vertcat(k[0] * e[0] + shear * e[1], k[1] * e[1] + shear * e[0], k[2] * e[2])
    turning = ca.vertcat(k[3] * e[3] + bend * e[4], k[4] * e[4] + bend * e[3], k[5] * e[5])
    x = mean[0] * ca.if_else(mean[0] > 0, 1.0, ca.SX(float("nan")))
    force = ca.vertcat(stretching / x**3, turning / x**4)
    faded = -3 * ca.dot(stretching, e[0:3]) / x**4 - 4 * ca.dot(turning, e[3:6]) / x**5
    return ca.dot(force, e) / 2, force, faded / 2 * mean[1]


def mean_stretch(strains: Sequence[Any], rates: Sequence[Any], pieces: Sequence[Any]) -> tuple[Any, Any]:
    """Mean stretch of a rod relative to rest, and its rate, from strains, their rates and constants of its pieces."""
    total = sum(at.length for at in pieces)
    stretched = sum(at.length * (1 + e[2] - at.rest[2]) for e, at in zip(strains, pieces, strict=True))
    return stretched / total, sum(at.length * rate[2] for rate, at in zip(rates, pieces, strict=True)) / total


def joins_pieces(law: Law) -> bool:
    """Whether a law couples all pieces of a rod, so that they form one force."""
    return law == "mean_stretch"
