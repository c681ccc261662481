"""What results over times and along paths share: computing times, names of quantities, messages of results that are incomplete."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np

from pliant._version import __version__
from pliant.analysis.numerics.labelled_arrays import Variable
from pliant.language.message_text import suggestion


def versions() -> dict[str, str]:
    """Versions of the packages that a run depends on."""
    return {
        "pliant": __version__,
        "casadi": version("casadi"),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


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


def no_such(what: str, name: str, names: Sequence[str]) -> KeyError:
    """The error for an unknown name, with the closest known one."""
    hint = suggestion(name, names, f"there are {', '.join(names[:12])}")
    return KeyError(f"the {what} '{name}'; {hint}")


def profile_axes(profiles: Mapping[str, np.ndarray]) -> dict[str, Variable]:
    """Axes with the arc lengths [m] of outputs along rods."""
    axes = {f"output.{name}.arc_length": at for name, at in profiles.items()}
    return {axis: ((axis,), at, {"long_name": "undeformed arc length", "units": "m"}) for axis, at in axes.items()}
