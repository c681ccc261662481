"""Pliant: equations of motion for hybrid rigid-continuum robots, from one page of text.

The public names are listed once, in `__init__.pyi`, for type checkers and for this module alike. They are imported on first use,
so that starting the command line does not wait for what it does not need.
"""

from __future__ import annotations

import lazy_loader

from pliant.language.display import show_by

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

show_by(
    {
        "RobotSpec.text": "pliant.view.tables:text",
        "RobotSpec.html": "pliant.view.notebook:spec_html",
        "Equations.html": "pliant.view.notebook:equations_html",
        "Equations.report": "pliant.view.report:write_report",
        "Equilibrium.html": "pliant.view.notebook:equilibrium_html",
        "Modes.html": "pliant.view.notebook:modes_html",
        "Result.html": "pliant.view.notebook:result_html",
        "Path.plot": "pliant.view.plot.continuation:drawn_path",
    }
)
