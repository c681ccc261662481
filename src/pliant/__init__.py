"""Pliant: equations of motion for hybrid rigid-continuum robots, from one page of text.

Names are imported on first use, so that starting the command line does not wait for what it does not need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pliant._version import __version__

if TYPE_CHECKING:
    from pliant.spec.faults import Fault, SpecError
    from pliant.spec.flattening import flatten
    from pliant.spec.reader import bundled_robots, check, load, load_text
    from pliant.spec.robot import RobotSpec
    from pliant.spec.writer import dump, save

_HOME = {
    "Fault": "pliant.spec.faults",
    "RobotSpec": "pliant.spec.robot",
    "SpecError": "pliant.spec.faults",
    "check": "pliant.spec.reader",
    "dump": "pliant.spec.writer",
    "flatten": "pliant.spec.flattening",
    "load": "pliant.spec.reader",
    "load_text": "pliant.spec.reader",
    "bundled_robots": "pliant.spec.reader",
    "save": "pliant.spec.writer",
}
"""Where each public name lives."""

__all__ = [
    "Fault",
    "RobotSpec",
    "SpecError",
    "__version__",
    "bundled_robots",
    "check",
    "dump",
    "flatten",
    "load",
    "load_text",
    "save",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'pliant' has no attribute '{name}'")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
