"""The model language: schema, reader, units, expressions, checks and writer.

Names are imported on first use, because the parts of a robot (joints, links, ...) build on this package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pliant.spec.environment import Environment
    from pliant.spec.faults import Fault, SpecError
    from pliant.spec.flattening import flatten, structural_parameters
    from pliant.spec.listing import coordinate_table
    from pliant.spec.reader import bundled_robots, check, load, load_text
    from pliant.spec.robot import RobotSpec
    from pliant.spec.series import read_series
    from pliant.spec.writer import dump, save

_HOME = {
    "Environment": "environment",
    "Fault": "faults",
    "RobotSpec": "robot",
    "SpecError": "faults",
    "check": "reader",
    "coordinate_table": "listing",
    "dump": "writer",
    "flatten": "flattening",
    "load": "reader",
    "load_text": "reader",
    "bundled_robots": "reader",
    "read_series": "series",
    "save": "writer",
    "structural_parameters": "flattening",
}

__all__ = [
    "Environment",
    "Fault",
    "RobotSpec",
    "SpecError",
    "bundled_robots",
    "check",
    "coordinate_table",
    "dump",
    "flatten",
    "load",
    "load_text",
    "read_series",
    "save",
    "structural_parameters",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'pliant.spec' has no attribute '{name}'")
    return getattr(import_module(f"pliant.spec.{_HOME[name]}"), name)
