"""Rods of every model for cases, by texts such as `pcs:20`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from pliant.equations.equations import Equations
from pliant.spec.derive import derive
from pliant.spec.reader import load
from pliant.spec.robot import RobotSpec
from pliant.spec.rod_switch import with_rod_model

SLENDER = {"shear_factor": 1e3, "stretch_factor": 1e3}
"""Parameters of the bundled cantilever for which shear and stretch are negligible."""
BENDING = 1e7 * np.pi / 4 * 0.01**4
"""Bending stiffness of the bundled cantilever [N m^2]; it is 1 m long."""
LINE_MASS = 1000 * np.pi * 0.01**2
"""Its mass per length [kg/m]."""


def cantilevers(words: Iterable[str]) -> Iterator[tuple[str, Equations]]:
    """The bundled cantilever with these rod models."""
    return in_models(load("cantilever"), "rod", words)


def in_models(spec: RobotSpec, rod: str, words: Iterable[str]) -> Iterator[tuple[str, Equations]]:
    """A robot with these models of one of its rods, each with its text."""
    for word in words:
        yield word, derive(with_rod_model(spec, rod, word))
