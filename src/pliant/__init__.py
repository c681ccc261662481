"""Pliant: equations of motion for hybrid rigid-continuum robots, from one page of text.

Names are imported on first use, so that starting the command line does not wait for what it does not need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pliant._version import __version__

if TYPE_CHECKING:
    from pliant.spec.robot import RobotSpec

_HOME = {
    "RobotSpec": "pliant.spec.robot",
}
"""Where each public name lives."""

__all__ = ["RobotSpec", "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'pliant' has no attribute '{name}'")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
