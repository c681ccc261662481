"""A robot as CUDA: the program of a fleet as source, with a main that steps many robots."""

from __future__ import annotations

import os
from pathlib import Path

from pliant._version import __version__
from pliant.equations.equations import Equations
from pliant.fleet.initial_states import assembled_start, rows_in_force
from pliant.fleet.methods import fleet_method
from pliant.fleet.program import step_program, why_no_straight_line
from pliant.fleet.robot import Robot, commanded_inputs, refuse
from pliant.fleet.source import code_file
from pliant.io import c_text
from pliant.io.c_text import ExportError, filled
from pliant.io.folders import check_folder, write_files

FILES = {"fleet.cu": "cuda.cu", **{name: name for name in ("cuda.h", "fleet.h", "arrays.h", "steps.h", "loop.h")}}
"""Files of an export and their names in `fleet/code`."""


def export_cuda(
    eqs: Equations,
    folder: str | os.PathLike[str],
    *,
    method: str = "semi_implicit",
    step: float = 1e-3,
    force: bool = False,
) -> list[Path]:
    """Write the program that advances a fleet of robots on a GPU as source, and return the files written.

    method: `semi_implicit`, `implicit`, `explicit` or `symplectic_euler`; step: the step [s] that the main uses. Parameters have
    the values of the equations; constant inputs are set for each robot. force: replace the export's own files in a folder
    that is not empty.

    Raises ExportError when the folder cannot be written to, ArgumentError for a robot that fleets do not support.
    """
    target = Path(folder)
    check_folder(target, force=force)
    chosen = fleet_method(method, step)
    refuse(eqs)
    if reason := why_no_straight_line(eqs, chosen):
        raise ExportError(f"{reason}: it cannot be exported as CUDA", "export it as C: --c")
    start = assembled_start(eqs)
    robot = Robot(eqs, commanded_inputs(eqs, None), (), *rows_in_force(start))
    program = step_program(robot, chosen)
    held = dict(zip(eqs.inputs, eqs.input_vector(), strict=True))
    words = {
        "title": c_text.comment(eqs.model.spec.title),
        "name": c_text.robot_identifier(eqs.model.spec.title),
        "version": __version__,
        "method": chosen.describe(),
        "step": f"{step!r}",
        "q": ", ".join(repr(float(x)) for x in start.q) or "0",
        "v": ", ".join(repr(float(x)) for x in start.v) or "0",
        "u": ", ".join(repr(float(held[name])) for name in robot.commanded) or "0",
        "coordinates": ", ".join(eqs.coordinates),
        "rates": ", ".join(eqs.rates),
        "inputs": ", ".join(robot.commanded) or "none",
    }
    files = {name: code_file(source) for name, source in FILES.items()}
    files["robot.h"] = program.robot_file
    files["main.cu"] = filled("cuda_main.cu", words)
    files["README.txt"] = filled("cuda_README.txt", words)
    return write_files(target, files)
