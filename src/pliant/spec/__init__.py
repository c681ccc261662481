"""The model language: schema, reader, units, expressions, checks and writer.

Names are imported on first use, because the parts of a robot (joints, links, ...) build on this package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pliant.input.series import read_series
    from pliant.language.environment import Environment
    from pliant.language.faults import Fault, SpecError
    from pliant.spec.flattening import flatten, structural_parameters
    from pliant.spec.listing import coordinate_table
    from pliant.spec.reader import bundled_robots, check, load, load_text
    from pliant.spec.robot import RobotSpec
    from pliant.spec.writer import dump, save

_HOME = {
    "Environment": "pliant.language.environment",
    "Fault": "pliant.language.faults",
    "RobotSpec": "pliant.spec.robot",
    "SpecError": "pliant.language.faults",
    "check": "pliant.spec.reader",
    "coordinate_table": "pliant.spec.listing",
    "dump": "pliant.spec.writer",
    "flatten": "pliant.spec.flattening",
    "load": "pliant.spec.reader",
    "load_text": "pliant.spec.reader",
    "bundled_robots": "pliant.spec.reader",
    "read_series": "pliant.input.series",
    "save": "pliant.spec.writer",
    "structural_parameters": "pliant.spec.flattening",
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
    return getattr(import_module(_HOME[name]), name)
