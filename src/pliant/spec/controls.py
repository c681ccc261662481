"""Controllers fit the model: dimensions of limits, paths, gains and poses, and who sets which input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pliant.control.base import ControllerBase, TaskController
from pliant.control.lqr_control import HeldPose, LqrControlSpec
from pliant.control.pid import PidControlSpec
from pliant.joint.coordinate import LengthCoordinate, Orientation
from pliant.language.dimension import ACCELERATION, FORCE, LENGTH, NUMBER, RATE, SPEED, TIME, TORQUE, Dimension
from pliant.language.scalar import Scalar
from pliant.language.words import KeyPath
from pliant.output.outputs import (
    ContactOutput,
    CoordinateOutput,
    EnergyOutput,
    FrameOutput,
    Output,
    RodOutput,
    TendonOutput,
)
from pliant.spec.listing import coordinate_table
from pliant.spec.rods import Finding

if TYPE_CHECKING:
    from pliant.spec.meaning import Checked


def control_problems(checked: Checked) -> Iterator[Finding]:
    """Values of controllers have the dimensions of what they are about; no input has two controllers."""
    owner: dict[str, str] = {}
    for name, controller in checked.flat.control.items():
        for path, value, expected in _values(checked, controller):
            problem = None if expected is None else checked.dimension_problem(value, expected)
            if problem and expected is not None:
                message, hint = problem
                if path[-1] == "rate":
                    hint = f"give a change per second, in {(expected * TIME).unit}/s"
                yield "control", name, path, message, hint
        for input_name in controller.inputs or sorted(checked.inputs):
            if input_name in owner:
                message = f"the input '{input_name}' is also set by the controller '{owner[input_name]}'"
                yield "control", name, ("inputs",), message, "list under `inputs` what each controller sets"
            owner.setdefault(input_name, name)


def _values(checked: Checked, controller: ControllerBase) -> Iterator[tuple[KeyPath, Scalar, Dimension | None]]:
    """Values whose dimension the model decides: where they stand, what they are, and that dimension (None: unknown)."""
    lengths = _coordinates(checked)

    def of_input(name: str) -> Dimension | None:
        found = checked.dimensions.get(name)
        return found if isinstance(found, Dimension) else None

    for index, limit in enumerate(controller.limits):
        unit = of_input(limit.input)
        for bound, expected in (("lower", unit), ("upper", unit), ("rate", None if unit is None else unit / TIME)):
            if getattr(limit, bound) is not None:
                yield ("limits", index, bound), getattr(limit, bound), expected
    if isinstance(controller, TaskController):
        parts = [lengths.get(x) for x in controller.coordinates] or [LENGTH] * len(controller.components)
        for index, (value, part) in enumerate(zip(controller.path, parts, strict=False)):
            yield ("path", index), value, part
        if isinstance(controller, PidControlSpec):
            for field, time in (("proportional", NUMBER), ("derivative", TIME), ("integral", NUMBER / TIME)):
                gains = getattr(controller, field)
                for index, gain in enumerate(gains):
                    units = set(parts) if len(gains) == 1 else {parts[index] if index < len(parts) else None}
                    unit = units.pop() if len(units) == 1 else None
                    yield (field, index), gain, None if unit is None else TORQUE / unit / unit * time
    if isinstance(controller, LqrControlSpec):
        for index, sensor in enumerate(controller.sensors):
            output = checked.flat.outputs.get(sensor.output)
            yield ("sensors", index, "noise"), sensor.noise, None if output is None else _measured(output, lengths)
        for index, disturbance in enumerate(controller.disturbances):
            yield ("disturbances", index, "deviation"), disturbance.deviation, of_input(disturbance.input)
    if isinstance(controller, LqrControlSpec) and isinstance(controller.about, HeldPose):
        about = controller.about
        for index, given in enumerate(about.inputs):
            yield ("about", "inputs", index, "value"), given.value, of_input(given.input)
        for field in ("coordinates", "near"):
            for index, given in enumerate(getattr(about, field)):
                yield ("about", field, index, "value"), given.value, lengths.get(given.coordinate)


def _measured(output: Output, lengths: Mapping[str, Dimension]) -> Dimension | None:
    """The dimension of an output; None where its parts have several or the model has to be built to know it."""
    if isinstance(output, CoordinateOutput):
        unit = lengths.get(output.coordinate)
        if unit is None:
            return None
        return {"value": unit, "rate": unit / TIME, "acceleration": unit / TIME / TIME, "force": TORQUE / unit}[
            output.quantity
        ]
    if isinstance(output, FrameOutput):
        known = {"position": LENGTH, "velocity": SPEED, "acceleration": ACCELERATION, "angular_velocity": RATE}
        return known.get(output.quantity, NUMBER)
    if isinstance(output, TendonOutput):
        return {"length": LENGTH, "rate": SPEED, "tension": FORCE}[output.quantity]
    if isinstance(output, RodOutput):
        return LENGTH if output.quantity in ("radius", "length") else NUMBER
    if isinstance(output, ContactOutput):
        return FORCE
    return TORQUE if isinstance(output, EnergyOutput) else None


def _coordinates(checked: Checked) -> dict[str, Dimension]:
    """Dimensions of the joints' coordinates by name; those of rods are checked when the robot is built."""
    return {
        entry.name: LENGTH if isinstance(entry.coordinate, LengthCoordinate) else NUMBER
        for entry in coordinate_table(checked.flat)
        if not isinstance(entry.coordinate, Orientation)
    }
