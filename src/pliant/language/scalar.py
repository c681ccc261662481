"""Values as written in a model: `0.05`, `50 mm`, `=length/2`, or one per instance.

A spec keeps values as they were written, so that it can be written back to the same text. The dimension is part of the type of
the field, so that the schema alone defines the values of a field.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from pliant.language import dimension as dim
from pliant.language.base import Part, ReadBy, fault
from pliant.language.dimension import Dimension
from pliant.language.faults import ExpressionError
from pliant.language.message_text import describe
from pliant.language.syntax import parse


class Each(Part):
    """One value per instance of a repeated part: `mass: {each: [1 kg, 2 kg, 3 kg]}`."""

    each: tuple[Annotated[float | str, PlainScalar()], ...]
    """The values, one for each instance in order."""


Scalar: TypeAlias = float | str | Each
"""A value as written: a number in SI units, text with a unit or an expression, or one per instance."""

LARGEST = 1e50
"""Largest value of a field in SI units: its sixth power, as in the torsion of a polygon, is still finite."""
TOO_LARGE = "too large to compute with", f"values are at most {LARGEST:g} in SI units"
"""Message and hint for larger values."""

AS_AT_START = "as at start"
"""The keyword for a rest value that is measured in the robot's initial pose."""


@dataclass(frozen=True)
class Quantity:
    """Annotation of a field with a value.

    dimension: the required dimension; None if it depends on other fields.
    signal: whether the value may vary in time, that is, use `t` and input parameters.
    words: keywords allowed instead of a value.
    cycles: whether it is a frequency in cycles per second, where `rad/s` would be wrong by a factor of 2 pi.
    of_state: whether the value may depend on the state of its part (`Part.state_names`).
    """

    dimension: Dimension | None
    signal: bool = False
    words: tuple[str, ...] = ()
    cycles: bool = False
    of_state: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._read)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        number = "a number" if self.dimension is None else f"a {self.dimension}"
        text = f"{number} with a unit, or an expression that begins with ="
        each = {
            "type": "object",
            "properties": {"each": {"type": "array", "items": {"type": ["number", "string"]}}},
            "required": ["each"],
            "additionalProperties": False,
        }
        return {"anyOf": [{"type": "number"}, {"type": "string", "description": text}, each]}

    def _read(self, value: Any) -> Scalar:
        if isinstance(value, Mapping) and "each" in value:
            return Each.model_validate(value)
        if isinstance(value, Each):
            return value
        return read_scalar(value, self.words)


class PlainScalar(ReadBy):
    """Annotation of a value that cannot be given per instance."""

    json_schema: ClassVar[JsonSchemaValue] = {"type": ["number", "string"]}

    def read(self, value: Any) -> float | str:
        return read_scalar(value)


def read_scalar(value: Any, words: tuple[str, ...] = ()) -> float | str:
    """Check the syntax of a value (not its meaning); returns it unchanged."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        message = f"expected a value (a number, a number with a unit, or =expression), got {describe(value)}"
        raise fault("not_a_value", message)
    if isinstance(value, str):
        if value in words:
            return value
        try:
            parse(value)
        except ExpressionError as error:
            hint = f"write a value, or `{words[0]}`" if words and not value.startswith("=") else error.hint
            raise fault("bad_value", str(error), hint=hint) from None
        return value
    if abs(value) <= LARGEST:
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise fault("not_finite", f"expected a finite number, got {value}")
    raise fault("too_large", f"the value is {TOO_LARGE[0]}", hint=TOO_LARGE[1])


class FormulaMarker(ReadBy):
    """Annotation of an expression of outputs, parameters and the time."""

    json_schema: ClassVar[JsonSchemaValue] = {"type": "string", "description": "an expression that begins with ="}

    def read(self, value: Any) -> str:
        if not isinstance(value, str) or not value.lstrip().startswith("="):
            hint = "such as =2*pull.x"
            raise fault("not_a_value", f"expected an expression that begins with =, got {describe(value)}", hint=hint)
        read_scalar(value)
        return value


class CountMarker(ReadBy):
    """Annotation of a number of instances: an integer, or an expression of parameters."""

    json_schema: ClassVar[JsonSchemaValue] = {
        "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^="}]
    }

    def read(self, value: Any) -> int | str:
        if isinstance(value, str) and value.startswith("="):
            return str(read_scalar(value))
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
            return value
        message = f"expected a number of instances (1, 2, ..., or =expression), got {describe(value)}"
        raise fault("bad_count", message)


Formula: TypeAlias = Annotated[str, FormulaMarker()]
"""An expression of outputs, parameters and the time."""

Count: TypeAlias = Annotated[int | str, CountMarker()]
"""Number of instances of a repeated part."""

# Values that do not change in time.
Value: TypeAlias = Annotated[Scalar, Quantity(None)]
Number: TypeAlias = Annotated[Scalar, Quantity(dim.NUMBER)]
Angle: TypeAlias = Annotated[Scalar, Quantity(dim.NUMBER)]
Length: TypeAlias = Annotated[Scalar, Quantity(dim.LENGTH)]
Mass: TypeAlias = Annotated[Scalar, Quantity(dim.MASS)]
Time: TypeAlias = Annotated[Scalar, Quantity(dim.TIME)]
Speed: TypeAlias = Annotated[Scalar, Quantity(dim.SPEED)]
AngularSpeed: TypeAlias = Annotated[Scalar, Quantity(dim.RATE)]
Frequency: TypeAlias = Annotated[Scalar, Quantity(dim.RATE, cycles=True)]
Acceleration: TypeAlias = Annotated[Scalar, Quantity(dim.ACCELERATION)]
Force: TypeAlias = Annotated[Scalar, Quantity(dim.FORCE)]
Torque: TypeAlias = Annotated[Scalar, Quantity(dim.TORQUE)]
Pressure: TypeAlias = Annotated[Scalar, Quantity(dim.PRESSURE)]
Compliance: TypeAlias = Annotated[Scalar, Quantity(dim.COMPLIANCE)]
Density: TypeAlias = Annotated[Scalar, Quantity(dim.DENSITY)]
Area: TypeAlias = Annotated[Scalar, Quantity(dim.AREA)]
SecondMoment: TypeAlias = Annotated[Scalar, Quantity(dim.SECOND_MOMENT)]
AxialStiffness: TypeAlias = Annotated[Scalar, Quantity(dim.FORCE)]
BendingStiffness: TypeAlias = Annotated[Scalar, Quantity(dim.BENDING_STIFFNESS)]
MassPerLength: TypeAlias = Annotated[Scalar, Quantity(dim.MASS_PER_LENGTH)]
RotaryPerLength: TypeAlias = Annotated[Scalar, Quantity(dim.ROTARY_PER_LENGTH)]
Viscosity: TypeAlias = Annotated[Scalar, Quantity(dim.VISCOSITY)]
MomentOfInertia: TypeAlias = Annotated[Scalar, Quantity(dim.INERTIA)]
Stiffness: TypeAlias = Annotated[Scalar, Quantity(dim.STIFFNESS)]
AngularStiffness: TypeAlias = Annotated[Scalar, Quantity(dim.ANGULAR_STIFFNESS)]
Slowness: TypeAlias = Annotated[Scalar, Quantity(dim.SLOWNESS)]
Damping: TypeAlias = Annotated[Scalar, Quantity(dim.DAMPING)]
AngularDamping: TypeAlias = Annotated[Scalar, Quantity(dim.ANGULAR_DAMPING)]
Magnetization: TypeAlias = Annotated[Scalar, Quantity(dim.MAGNETIZATION)]
Remanence: TypeAlias = Annotated[Scalar, Quantity(dim.FLUX_DENSITY)]
MagneticMomentPerLength: TypeAlias = Annotated[Scalar, Quantity(dim.MAGNETIC_MOMENT_PER_LENGTH)]
RestLength: TypeAlias = Annotated[Scalar, Quantity(dim.LENGTH, words=(AS_AT_START,))]
RestAngle: TypeAlias = Annotated[Scalar, Quantity(dim.NUMBER, words=(AS_AT_START,))]

# Coefficients that may depend on the state of their part.
StateNumber: TypeAlias = Annotated[Scalar, Quantity(dim.NUMBER, of_state=True)]
StateStiffness: TypeAlias = Annotated[Scalar, Quantity(dim.STIFFNESS, of_state=True)]
StateAngularStiffness: TypeAlias = Annotated[Scalar, Quantity(dim.ANGULAR_STIFFNESS, of_state=True)]
StateDamping: TypeAlias = Annotated[Scalar, Quantity(dim.DAMPING, of_state=True)]
StateAngularDamping: TypeAlias = Annotated[Scalar, Quantity(dim.ANGULAR_DAMPING, of_state=True)]

# Values that may vary in time and depend on the state of their part.
SpeedField: TypeAlias = Annotated[Scalar, Quantity(dim.SPEED, signal=True, of_state=True)]
ForceField: TypeAlias = Annotated[Scalar, Quantity(dim.FORCE, signal=True, of_state=True)]
TorqueField: TypeAlias = Annotated[Scalar, Quantity(dim.TORQUE, signal=True, of_state=True)]
ForcePerLengthField: TypeAlias = Annotated[Scalar, Quantity(dim.STIFFNESS, signal=True, of_state=True)]
TorquePerLengthField: TypeAlias = Annotated[Scalar, Quantity(dim.FORCE, signal=True, of_state=True)]

# Values that may vary in time.
AnySignal: TypeAlias = Annotated[Scalar, Quantity(None, signal=True)]
LengthSignal: TypeAlias = Annotated[Scalar, Quantity(dim.LENGTH, signal=True)]
AngleSignal: TypeAlias = Annotated[Scalar, Quantity(dim.NUMBER, signal=True)]
ForceSignal: TypeAlias = Annotated[Scalar, Quantity(dim.FORCE, signal=True)]
TorqueSignal: TypeAlias = Annotated[Scalar, Quantity(dim.TORQUE, signal=True)]
ForcePerLengthSignal: TypeAlias = Annotated[Scalar, Quantity(dim.STIFFNESS, signal=True)]
MomentPerLengthSignal: TypeAlias = Annotated[Scalar, Quantity(dim.FORCE, signal=True)]
CurrentSignal: TypeAlias = Annotated[Scalar, Quantity(dim.CURRENT, signal=True)]
FluxDensitySignal: TypeAlias = Annotated[Scalar, Quantity(dim.FLUX_DENSITY, signal=True)]
FluxDensityGradientSignal: TypeAlias = Annotated[Scalar, Quantity(dim.FLUX_DENSITY_GRADIENT, signal=True)]
MagneticMomentSignal: TypeAlias = Annotated[Scalar, Quantity(dim.MAGNETIC_MOMENT, signal=True)]
PressureSignal: TypeAlias = Annotated[Scalar, Quantity(dim.PRESSURE, signal=True)]

Vector: TypeAlias = tuple[Number, Number, Number]
LengthVector: TypeAlias = tuple[Length, Length, Length]
AccelerationVector: TypeAlias = tuple[Acceleration, Acceleration, Acceleration]
AngularSpeedVector: TypeAlias = tuple[AngularSpeed, AngularSpeed, AngularSpeed]
ForceSignalVector: TypeAlias = tuple[ForceSignal, ForceSignal, ForceSignal]
TorqueSignalVector: TypeAlias = tuple[TorqueSignal, TorqueSignal, TorqueSignal]

Each.model_rebuild()


class Repeated(Part):
    """A part that may be repeated: with `count: 3`, `link` becomes `link[1]`, `link[2]` and `link[3]`."""

    count: Count | None = None
    """Number of instances of a repeated part; values and references may then use `i` (1, 2, ...) and `count`, and
    values may be listed with `each`."""
