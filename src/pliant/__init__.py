"""Pliant: equations of motion for hybrid rigid-continuum robots, from one page of text.

Names are imported on first use, so that starting the command line does not wait for what it does not need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pliant._version import __version__

if TYPE_CHECKING:
    from pliant import control, plot
    from pliant.control.inverse_dynamics import inverse_dynamics
    from pliant.equations.equations import Equations, derive
    from pliant.io.results import load_path, load_result
    from pliant.language.arguments import ArgumentError
    from pliant.language.faults import Fault, SpecError
    from pliant.solve.continuation import continuation
    from pliant.solve.equilibrium import equilibria, equilibrium
    from pliant.solve.follower import Branch
    from pliant.solve.integrator import ExplicitRungeKutta, GeneralizedAlpha, Newmark, Rosenbrock, SemiImplicit
    from pliant.solve.kinematics import forward_kinematics, inverse_kinematics, manipulability
    from pliant.solve.linear import linearize
    from pliant.solve.modal import modes
    from pliant.solve.path import Path
    from pliant.solve.result import Result
    from pliant.solve.saving import At, Every
    from pliant.solve.simulate import simulate
    from pliant.solve.state import State
    from pliant.solve.watch import Event, Now
    from pliant.spec.flattening import flatten
    from pliant.spec.reader import bundled_robots, check, load, load_text
    from pliant.spec.robot import RobotSpec
    from pliant.spec.writer import dump, save
    from pliant.view.sketch import sketch

_HOME = {
    "ArgumentError": "pliant.language.arguments",
    "At": "pliant.solve.saving",
    "Branch": "pliant.solve.follower",
    "Equations": "pliant.equations.equations",
    "Event": "pliant.solve.watch",
    "Every": "pliant.solve.saving",
    "ExplicitRungeKutta": "pliant.solve.integrator",
    "GeneralizedAlpha": "pliant.solve.integrator",
    "Newmark": "pliant.solve.integrator",
    "Now": "pliant.solve.watch",
    "Path": "pliant.solve.path",
    "Result": "pliant.solve.result",
    "Rosenbrock": "pliant.solve.integrator",
    "SemiImplicit": "pliant.solve.integrator",
    "State": "pliant.solve.state",
    "continuation": "pliant.solve.continuation",
    "derive": "pliant.equations.equations",
    "equilibria": "pliant.solve.equilibrium",
    "forward_kinematics": "pliant.solve.kinematics",
    "inverse_dynamics": "pliant.control.inverse_dynamics",
    "inverse_kinematics": "pliant.solve.kinematics",
    "manipulability": "pliant.solve.kinematics",
    "equilibrium": "pliant.solve.equilibrium",
    "linearize": "pliant.solve.linear",
    "load_path": "pliant.io.results",
    "load_result": "pliant.io.results",
    "modes": "pliant.solve.modal",
    "simulate": "pliant.solve.simulate",
    "Fault": "pliant.language.faults",
    "RobotSpec": "pliant.spec.robot",
    "SpecError": "pliant.language.faults",
    "check": "pliant.spec.reader",
    "dump": "pliant.spec.writer",
    "flatten": "pliant.spec.flattening",
    "load": "pliant.spec.reader",
    "load_text": "pliant.spec.reader",
    "bundled_robots": "pliant.spec.reader",
    "save": "pliant.spec.writer",
    "sketch": "pliant.view.sketch",
}
"""Where each public name lives."""

_ROOMS = ("control", "plot")
"""Packages that are used by their own name: `pliant.plot.energy(run)`."""

__all__ = [
    "ArgumentError",
    "At",
    "Branch",
    "Equations",
    "Event",
    "Every",
    "ExplicitRungeKutta",
    "Fault",
    "GeneralizedAlpha",
    "Newmark",
    "Now",
    "Path",
    "Result",
    "RobotSpec",
    "Rosenbrock",
    "SemiImplicit",
    "SpecError",
    "State",
    "__version__",
    "bundled_robots",
    "check",
    "continuation",
    "control",
    "derive",
    "dump",
    "equilibria",
    "equilibrium",
    "flatten",
    "forward_kinematics",
    "inverse_dynamics",
    "inverse_kinematics",
    "linearize",
    "load",
    "load_path",
    "load_result",
    "load_text",
    "manipulability",
    "modes",
    "plot",
    "save",
    "simulate",
    "sketch",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"pliant.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'pliant' has no attribute '{name}'")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_ROOMS])
