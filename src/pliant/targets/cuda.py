"""A robot as CUDA: the program of a fleet as source, with a main that steps many robots."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from pliant._version import __version__
from pliant.engine.equations import Equations
from pliant.fleet.fleet import assembled_start, rows_in_force
from pliant.fleet.methods import fleet_method
from pliant.fleet.robot import Robot, commanded_inputs, refuse
from pliant.fleet.source import code_file, step_program, why_no_straight_line
from pliant.io import c_text
from pliant.io.c_text import ExportError, filled
from pliant.targets.base import Export, FolderTarget, exporter, write_files

FILES = {"fleet.cu": "cuda.cu", **{name: name for name in ("cuda.h", "fleet.h", "arrays.h", "steps.h", "loop.h")}}
"""Files of an export and their names in `fleet/code`."""


class Cuda(FolderTarget):
    """CUDA source of a fleet ([fleets](fleets.md)): the program that advances many robots on a GPU, with a `main` that steps them.
    Parameters have the values of the equations; constant inputs are set for each robot."""

    name: ClassVar[str] = "cuda"
    title: ClassVar[str] = "CUDA"
    summary: ClassVar[str] = "CUDA that steps many robots in parallel, into this new or empty folder"
    omits: ClassVar[str] = (
        "controllers; contacts, inputs that follow recordings, prescribed rates, and robots of more than 50 rates are errors"
    )

    method: Literal["semi_implicit", "implicit", "explicit", "symplectic_euler"] = "semi_implicit"
    """Integrator: `semi_implicit`, `implicit`, `explicit` or `symplectic_euler`."""
    step: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1e-3
    """Step of the exported main [s]."""

    def write(self, robot: Equations, path: Path) -> Export:
        """Write the folder; raises ArgumentError for a robot that fleets do not support."""
        chosen = fleet_method(self.method, self.step)
        refuse(robot)
        if reason := why_no_straight_line(robot, chosen):
            raise ExportError(f"{reason}: it cannot be exported as CUDA", "export it as C: --c")
        start = assembled_start(robot)
        one = Robot(robot, commanded_inputs(robot, None), (), *rows_in_force(start))
        program = step_program(one, chosen)
        held = dict(zip(robot.inputs, robot.input_vector(), strict=True))
        words = {
            "title": c_text.comment(robot.model.spec.title),
            "name": c_text.robot_identifier(robot.model.spec.title),
            "version": __version__,
            "method": chosen.describe(),
            "step": f"{self.step!r}",
            "q": ", ".join(repr(float(x)) for x in start.q) or "0",
            "v": ", ".join(repr(float(x)) for x in start.v) or "0",
            "u": ", ".join(repr(float(held[name])) for name in one.commanded) or "0",
            "coordinates": ", ".join(robot.coordinates),
            "rates": ", ".join(robot.rates),
            "inputs": ", ".join(one.commanded) or "none",
        }
        files = {name: code_file(source) for name, source in FILES.items()}
        files["robot.h"] = program.robot_file
        files["main.cu"] = filled("cuda_main.cu", words)
        files["README.txt"] = filled("cuda_README.txt", words)
        return Export(path, write_files(path, files), ())


export_cuda = exporter(Cuda)
