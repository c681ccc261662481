"""Physical dimensions as exponents of the base units.

An angle has no dimension (a degree is a number, 0.01745), so `N*m/rad` and `N*m` are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

BASE_UNITS = ("m", "kg", "s", "A", "K")


@dataclass(frozen=True)
class Dimension:
    """Exponents of metre, kilogram, second, ampere and kelvin."""

    exponents: tuple[Fraction, ...] = (Fraction(0),) * len(BASE_UNITS)

    def __mul__(self, other: Dimension) -> Dimension:
        return Dimension(tuple(a + b for a, b in zip(self.exponents, other.exponents, strict=True)))

    def __truediv__(self, other: Dimension) -> Dimension:
        return Dimension(tuple(a - b for a, b in zip(self.exponents, other.exponents, strict=True)))

    def __pow__(self, power: Fraction | int) -> Dimension:
        return Dimension(tuple(a * Fraction(power) for a in self.exponents))

    @property
    def is_number(self) -> bool:
        """True for a plain number or an angle."""
        return not any(self.exponents)

    def __str__(self) -> str:
        """Its name if it has one (`length`), else its unit (`kg*m/s^3`)."""
        return NAMES.get(self) or self.unit

    @property
    def unit(self) -> str:
        """The SI unit: by its usual name (`N`), otherwise in base units (`kg*m/s^3`); `1` for a number."""
        if self in USUAL_UNITS:
            return USUAL_UNITS[self]
        above = [_power(unit, exponent) for unit, exponent in self._factors() if exponent > 0]
        below = [_power(unit, -exponent) for unit, exponent in self._factors() if exponent < 0]
        return "/".join(["*".join(above) or "1", *below])

    def _factors(self) -> list[tuple[str, Fraction]]:
        by_unit = dict(zip(BASE_UNITS, self.exponents, strict=True))
        return [(unit, by_unit[unit]) for unit in ("kg", "m", "s", "A", "K")]


def _power(unit: str, exponent: Fraction) -> str:
    return unit if exponent == 1 else f"{unit}^{float(exponent):g}"


def base(unit: str) -> Dimension:
    """The dimension of one base unit: `base("kg")` is a mass."""
    return Dimension(tuple(Fraction(int(name == unit)) for name in BASE_UNITS))


NUMBER = Dimension()
LENGTH, MASS, TIME, CURRENT, TEMPERATURE = (base(unit) for unit in BASE_UNITS)
AREA = LENGTH**2
SPEED = LENGTH / TIME
ACCELERATION = SPEED / TIME
RATE = NUMBER / TIME  # angular velocity, frequency
ANGULAR_ACCELERATION = RATE / TIME
FORCE = MASS * ACCELERATION
TORQUE = FORCE * LENGTH
PRESSURE = FORCE / AREA
DENSITY = MASS / LENGTH**3
INERTIA = MASS * AREA
STIFFNESS = FORCE / LENGTH
SLOWNESS = TIME / LENGTH
ANGULAR_STIFFNESS = TORQUE
DAMPING = FORCE / SPEED
ANGULAR_DAMPING = TORQUE * TIME
SECOND_MOMENT = AREA**2  # of a section
BENDING_STIFFNESS = FORCE * AREA
MASS_PER_LENGTH = MASS / LENGTH
ROTARY_PER_LENGTH = INERTIA / LENGTH
CURVATURE = NUMBER / LENGTH
COMPLIANCE = NUMBER / PRESSURE
VISCOSITY = PRESSURE * TIME
FLUX_DENSITY = FORCE / (CURRENT * LENGTH)
FLUX_DENSITY_GRADIENT = FLUX_DENSITY / LENGTH
MAGNETIC_MOMENT = CURRENT * AREA
MAGNETIZATION = MAGNETIC_MOMENT / LENGTH**3
MAGNETIC_MOMENT_PER_LENGTH = MAGNETIC_MOMENT / LENGTH


def damping_dimension(viscous: Dimension, power: float) -> Dimension:
    """Dimension of the coefficient of a damper whose force grows with a power of the rate.

    `viscous` is that of power 1: DAMPING along a length, ANGULAR_DAMPING on an angle.
    """
    rate = SPEED if viscous == DAMPING else RATE
    return viscous * rate / rate ** Fraction(power).limit_denominator(1000)


NAMES: dict[Dimension, str] = {
    NUMBER: "number",
    LENGTH: "length",
    MASS: "mass",
    TIME: "time",
    CURRENT: "electric current",
    TEMPERATURE: "temperature",
    AREA: "area",
    SPEED: "speed",
    ACCELERATION: "acceleration",
    RATE: "rate",
    FORCE: "force",
    TORQUE: "torque or energy",
    PRESSURE: "pressure",
    DENSITY: "density",
    INERTIA: "moment of inertia",
    STIFFNESS: "stiffness",
    DAMPING: "damping",
    ANGULAR_DAMPING: "angular damping",
    SECOND_MOMENT: "second moment of area",
    BENDING_STIFFNESS: "bending stiffness",
    MASS_PER_LENGTH: "mass per length",
    ROTARY_PER_LENGTH: "inertia per length",
    CURVATURE: "curvature",
    COMPLIANCE: "growth per pressure",
    VISCOSITY: "viscosity",
    FLUX_DENSITY: "magnetic flux density",
    FLUX_DENSITY_GRADIENT: "gradient of magnetic flux density",
    MAGNETIC_MOMENT: "magnetic moment",
    MAGNETIZATION: "magnetization",
    MAGNETIC_MOMENT_PER_LENGTH: "magnetic moment per length",
}

USUAL_UNITS: dict[Dimension, str] = {
    FORCE: "N",
    TORQUE: "N*m",
    PRESSURE: "Pa",
    STIFFNESS: "N/m",
    DAMPING: "N*s/m",
    ANGULAR_DAMPING: "N*m*s",
    BENDING_STIFFNESS: "N*m^2",
    COMPLIANCE: "1/Pa",
    VISCOSITY: "Pa*s",
    FLUX_DENSITY: "T",
    FLUX_DENSITY_GRADIENT: "T/m",
    MAGNETIC_MOMENT: "A*m^2",
    FORCE * TIME: "N*s",
    BENDING_STIFFNESS * TIME: "N*m^2*s",
}
"""SI units that are not written in base units."""

EXAMPLES: dict[Dimension, str] = {
    NUMBER: "0.5 or 30 deg",
    LENGTH: "50 mm",
    MASS: "28 g",
    TIME: "10 ms",
    SPEED: "2 m/s",
    ACCELERATION: "9.81 m/s^2",
    RATE: "3 rad/s",
    ANGULAR_ACCELERATION: "3 rad/s^2",
    FORCE: "5 N",
    TORQUE: "2 N*m",
    PRESSURE: "205 kPa",
    DENSITY: "1200 kg/m^3",
    VISCOSITY: "1 mPa*s",
    INERTIA: "2e-4 kg*m^2",
    STIFFNESS: "100 N/m",
    DAMPING: "3 N*s/m",
    ANGULAR_DAMPING: "0.1 N*m*s/rad",
    AREA: "3 mm^2",
    SECOND_MOMENT: "200 mm^4",
    BENDING_STIFFNESS: "0.5 N*m^2",
    MASS_PER_LENGTH: "0.2 kg/m",
    ROTARY_PER_LENGTH: "1e-5 kg*m",
    CURVATURE: "2 1/m",
    COMPLIANCE: "2e-6 1/Pa",
    CURRENT: "2 A",
    FLUX_DENSITY: "20 mT",
    FLUX_DENSITY_GRADIENT: "0.5 T/m",
    MAGNETIC_MOMENT: "0.3 A*m^2",
    MAGNETIZATION: "100 kA/m",
    MAGNETIC_MOMENT_PER_LENGTH: "0.1 A*m",
}
"""An example of a value of each dimension, for hints."""
