"""Export of a designed controller as C: state feedback with or without an observer, together with the equations of a robot."""

from __future__ import annotations

import numpy as np

from pliant._version import __version__
from pliant.control.feedback import StateFeedback
from pliant.io import c_text
from pliant.io.c_text import ExportError, filled
from pliant.language.arguments import of_type

NO_BOUND = 1e300
"""Value of a missing bound."""


def controller_files(controller: StateFeedback) -> dict[str, str]:
    """Header and source of a controller, by file name.

    It measures the inputs of the observer; without an observer the deviations of the states are computed from all positions, then
    all rates, of the robot.
    """
    of_type("controller", controller, StateFeedback, "write pliant.control.StateFeedback(...)")
    if controller.share:
        raise ExportError(
            "sharing among redundant inputs solves an optimization at every sample", "export it without `share`"
        )
    if controller.equations.model.system.quaternions() and controller.observer is None:
        raise ExportError(
            "feedback of states with free rotations is not exported", "measure outputs, and add an observer"
        )
    parts = controller.matrices()
    name = c_text.robot_identifier(controller.equations.model.spec.title)
    rows = {
        "A": parts.A, "B": parts.B, "C": parts.C, "D": parts.D, "K": parts.K, "L": parts.L, "rest": parts.rest,
        "zero": parts.zero, "guess": parts.guess, "lower": _bounded(parts.lower), "upper": _bounded(parts.upper),
        "reach": _bounded(parts.reach),
    }  # fmt: skip
    data = [c_text.numbers(f"static const double {key}", np.append(np.ravel(x), 0.0)) for key, x in rows.items()]
    title = c_text.comment(controller.equations.model.spec.title)
    names = f"{name}_controller"
    listed = [
        c_text.names_list(f"const char *const {names}_measured_names", parts.measured),
        c_text.names_list(f"const char *const {names}_command_names", parts.commands),
    ]
    words = {
        "title": title,
        "what": c_text.comment(controller.name),
        "name": name,
        "version": __version__,
        "sample": f"{controller.sample_time:g}",
        "delay": f"{controller.delay:g}",
        "measured": "the measured outputs" if controller.observer is not None else "all positions and rates",
        "measured_count": str(len(parts.measured)),
        "command_count": str(len(parts.commands)),
        "state_count": str(len(parts.A)),
        "plant_count": str(parts.plant),
        "observed": str(int(controller.observer is not None)),
        "data": "\n".join(
            [*data, *listed, f"const double {names}_sample_time = {c_text.number(controller.sample_time)};"]
        ),
    }
    return {f"{names}.h": filled("controller.h", words), f"{names}.c": filled("controller.c", words)}


def _bounded(values: np.ndarray) -> np.ndarray:
    return np.clip(values, -NO_BOUND, NO_BOUND)
