"""Sliders of pages: the numbers of a robot that can be changed, with ranges."""

import math
from dataclasses import dataclass

from pliant.engine.equations import Equations
from pliant.language.message_text import unit_text
from pliant.parts.joint.coordinate import LengthCoordinate

MOST = 24
"""Maximum number of sliders of one type; of more, the first ones are shown."""
USUAL = {"Pa": 1e5, "N": 1.0, "N*m": 0.1, "m": 0.1, "rad": math.pi, "m/s^2": 10.0, "kg": 1.0}
"""Range to each side of a value that is zero in the model, by its unit; 1 for other units."""


@dataclass(frozen=True)
class Slider:
    """A number that can be changed: its value in the model and its range (SI units)."""

    name: str
    unit: str
    value: float
    low: float
    high: float
    hint: str = ""

    @property
    def label(self) -> str:
        """Name and unit."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name


def parameter_sliders(eqs: Equations) -> list[Slider]:
    """Independent parameters that can change without a new derivation."""
    names = [name for name in eqs.parameters if name not in eqs.model.structural]
    return [_slider(eqs, name, eqs.parameters[name]) for name in names[:MOST]]


def input_sliders(eqs: Equations) -> list[Slider]:
    """Inputs, at their values at t = 0: those of `inputs` in the model file, if it drives them."""
    held = eqs.binding.signals(0.0)[0]
    return [_slider(eqs, name, float(held[k])) for k, name in enumerate(eqs.inputs[:MOST])]


def coordinate_sliders(eqs: Equations, size: float) -> list[Slider]:
    """Coordinates of joints at the start; the range of lengths is the robot's size [m] to each side."""
    start = eqs.initial_state().q
    sliders = []
    for entry in eqs.model.coordinates:
        if entry.spec is None or entry.is_rotation:
            continue
        unit, reach = ("m", size) if isinstance(entry.spec, LengthCoordinate) else ("rad", math.pi)
        value = float(start[entry.q_at])
        value, low, high = map(_short, (value, value - reach, value + reach))
        sliders.append(Slider(entry.name, unit, value, low, high, "initial state of the robot"))
    return sliders[:MOST]


def _slider(eqs: Equations, name: str, value: float) -> Slider:
    environment, spec = eqs.model.environment, eqs.model.spec.parameters.get(name)
    unit = unit_text(environment.dimension(name))
    reach = 0.5 * abs(value) if value else USUAL.get(unit, 1.0)
    low, high = value - reach, value + reach
    if spec is not None and spec.minimum is not None:
        low = float(environment.value(spec.minimum))
    if spec is not None and spec.maximum is not None:
        high = float(environment.value(spec.maximum))
    if unit == "Pa" and not value:
        low = max(low, 0.0)  # chambers are pressurized, not evacuated
    low, high = min(low, value), max(high, value)
    high = high if high > low else low + 1.0
    value, low, high = map(_short, (value, low, high))
    return Slider(name, unit, value, low, high, spec.description if spec is not None else "")


def _short(x: float) -> float:
    """A number with five digits, which are enough for a slider and easy to read."""
    return float(f"{x:.5g}")
