"""Pliant: equations of motion for hybrid rigid-continuum robots, from one page of text.

The public names are listed in `__init__.pyi`, for type checkers and for this module. They are imported on first use,
so that the command line starts without unneeded imports.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import lazy_loader

from pliant.language.provided import provide

_listed, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """A public name; the functions of all analyses for many cases (`NAME_many`) are public, too."""
    if name.endswith("_many") and name not in __all__:
        return getattr(import_module("pliant.study.many"), name)
    return _listed(name)


provide(
    {
        "RobotSpec.text": "pliant.show.tables:text",
        "RobotSpec.html": "pliant.show.notebook:spec_html",
        "ImportedRobot.text": "pliant.show.tables:import_text",
        "Equations.html": "pliant.show.notebook:equations_html",
        "Equations.report": "pliant.show.report:write_report",
        "AnalysisResult.html": "pliant.show.notebook:result_of_analysis_html",
        "Film.html": "pliant.show.notebook:film_html",
        "Result.html": "pliant.show.notebook:result_html",
        "AnalysisResult.picture": "pliant.show.plot.analyses:save_plot",
        "AnalysisResult.plot": "pliant.show.plot.analyses:plot_result",
        "Result.plot": "pliant.show.plot.motion:trajectory",
        "controller": "pliant.control.described:designed",
        "<robot>": "pliant.foreign.urdf:read_urdf",
        "<mujoco>": "pliant.foreign.mjcf:read_mjcf",
    }
)
