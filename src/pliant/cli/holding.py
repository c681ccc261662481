"""Quantities that `pliant equilibrium --with` holds: coordinates, and components of positions of frames."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from pliant.cli.common import CommandError
from pliant.cli.model_argument import read_settings
from pliant.cli.options import si_number
from pliant.control.task import Coordinates, FramePosition, Several, Task
from pliant.engine.equations import Equations
from pliant.language.message_text import suggestion
from pliant.parts.output.motion import FrameOutput

EXAMPLE = '"hinge=30 deg" or tip.x=0.1'


def read_held(eqs: Equations, settings: Sequence[str]) -> tuple[Task, np.ndarray]:
    """A task and its value [SI] from NAME=VALUE; a name is a coordinate, a component of a frame's position (`hand.tip.x`), or
    one of an output of a frame's position (`tip.x`)."""
    given = read_settings([word for one in settings for word in re.split(",(?=[^,]*=)", one)], "--with", EXAMPLE)
    units = {c.name: c.unit for c in eqs.model.coordinates if not c.is_rotation}
    tasks: list[Task] = []
    values = []
    for name, value in given.items():
        if name in units:
            tasks.append(Coordinates((name,)))
        elif (frame := _frame(eqs, name.rpartition(".")[0])) and name[-1:] in ("x", "y", "z"):
            tasks.append(FramePosition(frame, name[-1]))
        else:
            known = [
                *units,
                *(f"{x}.{c}" for x in (*eqs.model.spec.outputs, *eqs.frame_names) if _frame(eqs, x) for c in "xyz"),
            ]
            hint = suggestion(
                name, known, f"name a coordinate or a component of a position: {', '.join(known[:8])}, ..."
            )
            raise CommandError(f"--with {name}: there is no such coordinate or position", hint)
        values.append(si_number("--with", name, value, {**units, name: units.get(name, "m")}))
    return (tasks[0] if len(tasks) == 1 else Several(tuple(tasks))), np.array(values)


def _frame(eqs: Equations, name: str) -> str:
    """The frame of a name: its own, or that of an output of its position; empty if there is none."""
    output = eqs.model.spec.outputs.get(name)
    if isinstance(output, FrameOutput) and output.quantity == "position" and output.relative_to == "world":
        return output.frame
    return name if name in eqs.frame_names and output is None else ""
