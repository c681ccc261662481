"""Results of a simulation: states over time with names, energies and constraint errors, as a labelled dataset."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pliant.analysis.numerics.labelled_arrays import LabelledArrays, Variable
from pliant.analysis.numerics.netcdf_files import partial_path, save_dataset
from pliant.analysis.numerics.status import Status
from pliant.language.arguments import ArgumentError, file_name
from pliant.language.limits import STOPPED_BY_TIME
from pliant.language.message_text import suggestion

if TYPE_CHECKING:
    import xarray

ENERGIES = ("kinetic", "potential", "dissipated", "supplied")
ADDED = "added"
"""Energy added by events and mid-step functions that set the state; present if they did."""
FRAME_PARTS = {"position": "axis", "quaternion": "quaternion_part", "velocity": "axis", "angular_velocity": "axis"}
"""Quantities stored for every frame, and the dimension of their components."""


@dataclass(frozen=True)
class Timing:
    """Computing times [s] and amounts of work."""

    derive_s: float = 0.0
    compile_s: float = 0.0
    run_s: float = 0.0
    steps: int = 0
    rejected: int = 0
    evaluations: int = 0


INTERRUPTED = "stopped by Ctrl-C"
STILL_RUNNING = "still running"
"""Beginning of the messages of runs that were ended by the user, and of files that are written during a run."""
KEPT = "results so far are kept"
"""Part of such messages."""


class LabelledResult:
    """Results as labelled arrays; `file_format`: the format stated in its files."""

    file_format: ClassVar[str]
    recorded: LabelledArrays
    status: Status
    message: str

    @property
    def is_partial(self) -> bool:
        """Whether it is incomplete: it failed, was interrupted by Ctrl-C, or was written while it was running.

        A run ended by an event or a controller is complete.
        """
        return self.status == Status.FAILED or self.message.startswith((INTERRUPTED, STILL_RUNNING, STOPPED_BY_TIME))

    @property
    def dataset(self) -> xarray.Dataset:
        """Everything, as an xarray Dataset with dimension `time` (of motions) or `point` (of paths)."""
        return self.recorded.dataset

    @property
    def q(self) -> np.ndarray:
        """Positions, one row for each saved time or point."""
        return self.recorded["q"]

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the available outputs."""
        return tuple(name[len("output.") :] for name in self.recorded if name.startswith("output."))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write as netCDF (all or nothing), with a checksum; `load_result` and `load_path` read it."""
        _check_ending(path, "end it in .nc")
        save_dataset(self.dataset, path, self.file_format)


def _check_ending(path: str | os.PathLike[str], hint: str) -> None:
    """Reject names of files that are not netCDF, which a program that goes by the ending could not read; none is accepted."""
    if file_name("path", path).suffix not in (".nc", ""):
        raise ArgumentError(f"cannot determine the format of '{path}'", hint)


def kept_at(found: LabelledResult, path: str | os.PathLike[str]) -> FilePath:
    """File of a result for `path`: that path, or `NAME.partial.nc` in the same folder if it is partial."""
    return partial_path(path) if found.is_partial else FilePath(path)


def keep(found: LabelledResult, path: str | os.PathLike[str]) -> FilePath:
    """Save a result and return its file: a partial one replaces no earlier result, a complete one also replaces
    earlier partial ones."""
    target = kept_at(found, file_name("path", path))
    found.save(target)
    if not found.is_partial:
        partial_path(path).unlink(missing_ok=True)
    return target


def no_such(what: str, name: str, names: Sequence[str]) -> KeyError:
    """The error for an unknown name, with the closest known one."""
    hint = suggestion(name, names, f"there are {', '.join(names[:12])}")
    return KeyError(f"the {what} '{name}'; {hint}")


def profile_axes(profiles: Mapping[str, np.ndarray]) -> dict[str, Variable]:
    """Axes with the arc lengths [m] of outputs along rods."""
    axes = {f"output.{name}.arc_length": at for name, at in profiles.items()}
    return {axis: ((axis,), at, {"long_name": "undeformed arc length", "units": "m"}) for axis, at in axes.items()}
