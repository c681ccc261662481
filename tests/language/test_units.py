"""Units: each compared with another library, compound ones, and rejected texts."""

from __future__ import annotations

from fractions import Fraction

import pint
import pytest

from pliant.language import dimension as dim
from pliant.language.faults import ExpressionError
from pliant.language.units import UNITS, parse_unit

REGISTRY = pint.UnitRegistry()
REGISTRY.define("rev = 2 * pi * radian")
REGISTRY.define("Nm = newton * meter")
BASE = ("[length]", "[mass]", "[time]", "[current]", "[temperature]")


@pytest.mark.parametrize("name", sorted(UNITS))
def test_a_unit_agrees_with_another_library(name: str) -> None:
    other = REGISTRY.Quantity(1, name).to_base_units()
    unit = parse_unit(name)
    assert unit.factor == pytest.approx(other.magnitude, rel=1e-12)
    exponents = tuple(Fraction(other.dimensionality.get(base, 0)) for base in BASE)
    assert unit.dimension.exponents == exponents


@pytest.mark.parametrize(
    ("text", "factor", "dimension"),
    [
        ("N*m/rad", 1.0, dim.TORQUE),
        ("kg m^2", 1.0, dim.INERTIA),
        ("kg*m²", 1.0, dim.INERTIA),
        ("m/s^2", 1.0, dim.ACCELERATION),
        ("m s^-2", 1.0, dim.ACCELERATION),
        ("m/s/s", 1.0, dim.ACCELERATION),
        ("1/s", 1.0, dim.RATE),
        ("kN/mm", 1e6, dim.STIFFNESS),
        ("N/(m/s)", 1.0, dim.DAMPING),
        ("g/cm^3", 1000.0, dim.DENSITY),
        ("°", 0.017453292519943295, dim.NUMBER),
        ("µm", 1e-6, dim.LENGTH),
    ],
)
def test_compound_units(text: str, factor: float, dimension: dim.Dimension) -> None:
    unit = parse_unit(text)
    assert unit.factor == pytest.approx(factor, rel=1e-14)
    assert unit.dimension == dimension


def test_fractional_powers() -> None:
    assert parse_unit("N/(m/s)^0.5").dimension == dim.FORCE / dim.SPEED ** Fraction(1, 2)
    assert str(parse_unit("N/(m/s)^0.5").dimension) == "kg*m^0.5/s^1.5"


@pytest.mark.parametrize(
    "text", ["", "furlong", "m^", "m^99", "m^m", "(m", "m)", "()", "2 m", "m;", "m__x", "m" * 100, "((((((m"]
)
def test_what_is_no_unit(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse_unit(text)
