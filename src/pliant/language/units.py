"""Units: parsing of text such as `mm`, `N*m/rad` or `kg m^2` to a factor to SI and a dimension.

The units are a fixed table, so that reading a model needs no unit library, and the nearest known unit can be suggested for an
unknown one.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from pliant.language import dimension as dim
from pliant.language.dimension import Dimension
from pliant.language.faults import ExpressionError
from pliant.language.message_text import describe, nearest

MAX_UNIT = 80
MAX_EXPONENT = 12


@dataclass(frozen=True)
class Unit:
    """A unit: `factor` times the SI unit of `dimension`. `turns` is the exponent of angle units in it."""

    factor: float
    dimension: Dimension
    turns: Fraction = Fraction(0)

    def __mul__(self, other: Unit) -> Unit:
        return Unit(self.factor * other.factor, self.dimension * other.dimension, self.turns + other.turns)

    def __pow__(self, power: Fraction) -> Unit:
        return Unit(self.factor ** float(power), self.dimension**power, self.turns * power)


_PREFIXES = {"n": 1e-9, "u": 1e-6, "µ": 1e-6, "m": 1e-3, "c": 1e-2, "d": 1e-1, "k": 1e3, "M": 1e6, "G": 1e9}

_GRAVITY = 9.80665  # m/s^2, the standard value that defines pound-force
_INCH = 0.0254  # m
_POUND = 0.45359237  # kg

_ENERGY = dim.FORCE * dim.LENGTH
_POWER = _ENERGY / dim.TIME
_VOLT = _POWER / dim.CURRENT
_ANGLE = Unit(1.0, dim.NUMBER, Fraction(1))
_DEGREE = Unit(math.pi / 180, dim.NUMBER, Fraction(1))
_TURN = Unit(2 * math.pi, dim.NUMBER, Fraction(1))

WITH_PREFIX: dict[str, Unit] = {
    "m": Unit(1.0, dim.LENGTH),
    "g": Unit(1e-3, dim.MASS),
    "s": Unit(1.0, dim.TIME),
    "A": Unit(1.0, dim.CURRENT),
    "K": Unit(1.0, dim.TEMPERATURE),
    "N": Unit(1.0, dim.FORCE),
    "Pa": Unit(1.0, dim.PRESSURE),
    "J": Unit(1.0, _ENERGY),
    "W": Unit(1.0, _POWER),
    "Hz": Unit(1.0, dim.RATE),
    "V": Unit(1.0, _VOLT),
    "ohm": Unit(1.0, _VOLT / dim.CURRENT),
    "C": Unit(1.0, dim.CURRENT * dim.TIME),
    "H": Unit(1.0, _VOLT * dim.TIME / dim.CURRENT),
    "T": Unit(1.0, dim.FLUX_DENSITY),
    "Wb": Unit(1.0, _VOLT * dim.TIME),
    "Nm": Unit(1.0, dim.TORQUE),
    "rad": _ANGLE,
    "L": Unit(1e-3, dim.LENGTH**3),
    "l": Unit(1e-3, dim.LENGTH**3),
    "bar": Unit(1e5, dim.PRESSURE),
}
"""Units that take the prefixes n, u, m, c, d, k, M, G."""

ALONE: dict[str, Unit] = {
    "deg": _DEGREE,
    "degree": _DEGREE,
    "degrees": _DEGREE,
    "radian": _ANGLE,
    "radians": _ANGLE,
    "rev": _TURN,
    "turn": _TURN,
    "rpm": Unit(2 * math.pi / 60, dim.RATE, Fraction(1)),
    "min": Unit(60.0, dim.TIME),
    "h": Unit(3600.0, dim.TIME),
    "percent": Unit(0.01, dim.NUMBER),
    "tonne": Unit(1e3, dim.MASS),
    "meter": Unit(1.0, dim.LENGTH),
    "metre": Unit(1.0, dim.LENGTH),
    "second": Unit(1.0, dim.TIME),
    "gram": Unit(1e-3, dim.MASS),
    "newton": Unit(1.0, dim.FORCE),
    "pascal": Unit(1.0, dim.PRESSURE),
    "inch": Unit(_INCH, dim.LENGTH),
    "in": Unit(_INCH, dim.LENGTH),
    "ft": Unit(12 * _INCH, dim.LENGTH),
    "foot": Unit(12 * _INCH, dim.LENGTH),
    "lb": Unit(_POUND, dim.MASS),
    "oz": Unit(_POUND / 16, dim.MASS),
    "kgf": Unit(_GRAVITY, dim.FORCE),
    "lbf": Unit(_POUND * _GRAVITY, dim.FORCE),
    "psi": Unit(_POUND * _GRAVITY / _INCH**2, dim.PRESSURE),
    "atm": Unit(101325.0, dim.PRESSURE),
    "mmHg": Unit(133.322387415, dim.PRESSURE),
}
"""Units without prefixes."""

UNITS: dict[str, Unit] = {
    **{
        prefix + name: Unit(factor * unit.factor, unit.dimension, unit.turns)
        for name, unit in WITH_PREFIX.items()
        for prefix, factor in _PREFIXES.items()
    },
    **WITH_PREFIX,
    **ALONE,
}
"""All units, by name with prefix."""

_USUAL = [name for name in UNITS if name in ALONE or name in WITH_PREFIX or name[0] in "mkMG" or name == "cm"]
"""Units that may be suggested for an unknown one."""

_TOKEN = re.compile(r"\s*(?:([A-Za-zµ]+)|([0-9]+(?:\.[0-9]+)?)|(\*\*|[*/^()+-]))")
_SPELLINGS = str.maketrans({"²": "^2", "³": "^3", "·": "*", "°": "deg", "μ": "µ", "Ω": "ohm"})


@lru_cache(maxsize=4096)
def parse_unit(text: str) -> Unit:
    """Read a unit: names joined by `*`, `/`, spaces and brackets, with small exponents (`m^2`); raises ExpressionError."""
    if len(text) > MAX_UNIT:
        raise ExpressionError(f"the unit {describe(text)} is too long", f"use at most {MAX_UNIT} characters")
    reader = _Reader(text.translate(_SPELLINGS))
    unit = reader.product(0)
    if reader.token is not None:
        raise ExpressionError(f"cannot read the unit {describe(text)}", "write it as N*m/rad, m/s^2 or 1/s")
    return unit


def atom(name: str) -> Unit:
    """A single unit by name; raises ExpressionError with the nearest known name as the hint."""
    unit = UNITS.get(name)
    if unit is None:
        same_letters = (known for known in UNITS if known.lower() == name.lower())
        match = next(same_letters, None) or nearest(name, _USUAL)
        raise ExpressionError(f"unknown unit {describe(name)}", f"did you mean '{match}'?" if match else "")
    return unit


class _Reader:
    """Reader of a unit by recursive descent; the nesting of brackets is limited, and with it the recursion."""

    def __init__(self, text: str) -> None:
        self.text, self.end = text, 0
        self.token: str | None = None
        self.advance()

    def advance(self) -> None:
        rest = self.text[self.end :]
        match = _TOKEN.match(rest)
        if match is None:
            if rest.strip():
                raise ExpressionError(f"cannot read the unit {describe(self.text)}", "write it as N*m/rad or m/s^2")
            self.token = None
            return
        self.token = match.group(1) or match.group(2) or match.group(3)
        self.end += match.end()

    def product(self, depth: int) -> Unit:
        unit = self.power(depth)
        while self.token is not None and self.token != ")":
            if self.token == "/":
                self.advance()
                unit = unit * self.power(depth) ** Fraction(-1)
            else:
                if self.token == "*":
                    self.advance()
                unit = unit * self.power(depth)
        return unit

    def power(self, depth: int) -> Unit:
        unit = self.single(depth)
        if self.token in ("^", "**"):
            self.advance()
            unit = unit ** self.exponent()
        return unit

    def single(self, depth: int) -> Unit:
        token = self.token
        if token == "(" and depth < 5:
            self.advance()
            unit = self.product(depth + 1)
            if self.token != ")":
                raise ExpressionError(f"a bracket is not closed in the unit {describe(self.text)}", "add )")
            self.advance()
            return unit
        self.advance()
        if token == "1":
            return Unit(1.0, dim.NUMBER)
        if token is None or not token[0].isalpha():
            raise ExpressionError(f"cannot read the unit {describe(self.text)}", "write it as N*m/rad or m/s^2")
        return atom(token)

    def exponent(self) -> Fraction:
        sign = 1
        if self.token in ("+", "-"):
            sign = -1 if self.token == "-" else 1
            self.advance()
        token = self.token
        if token is None or not token[0].isdigit() or len(token) > 6 or float(token) > MAX_EXPONENT:
            message = f"cannot read the exponent in the unit {describe(self.text)}"
            raise ExpressionError(message, f"use a number up to {MAX_EXPONENT}, as in m^2")
        self.advance()
        return sign * Fraction(token)
