"""Versions of the packages that a result depends on."""

from __future__ import annotations

import platform
from importlib.metadata import version

import numpy as np

from pliant._version import __version__


def versions() -> dict[str, str]:
    """Versions of the packages that a run depends on."""
    return {
        "pliant": __version__,
        "casadi": version("casadi"),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
