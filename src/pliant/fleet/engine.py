"""Engines of fleets: their interface, and the arrays they work on."""

from __future__ import annotations

import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pliant.engine.equations import Equations


@dataclass(frozen=True)
class Group:
    """Number of robots, the inputs that are set for each, and the parameters that differ, by name."""

    count: int
    inputs: tuple[str, ...]
    parameters: tuple[str, ...]


class Engine(ABC):
    """Arrays of a fleet, with a column per robot, and the functions that advance and evaluate them.

    arrays: `q`, `v`, `u` (inputs), `c` (constants that differ between robots), `time` and `status` (0 unless a robot has diverged).
    """

    name: ClassVar[str]

    def __init__(self, eqs: Equations, group: Group, device: Any, *, constants: int) -> None:
        columns = device.columns(group.count)
        rows = {"q": len(eqs.coordinates), "v": len(eqs.rates), "u": len(group.inputs), "c": constants}
        self.arrays = {name: device.zeros(n, columns) for name, n in rows.items()}
        self.arrays["time"] = device.zeros(1, columns, np.float64)
        self.arrays["status"] = device.zeros(1, columns, np.int32)
        self.arrays["status"][0, group.count :] = 1  # padding columns

    @abstractmethod
    def put_parameters(self, which: np.ndarray, parameters: np.ndarray) -> None:
        """Parameters of some robots, by index (robots x parameters of the model)."""

    @abstractmethod
    def step(self, n: int) -> None:
        """Advance all robots by n steps."""

    @abstractmethod
    def outputs(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Outputs in the current states, one row per component (components x count)."""

    @abstractmethod
    def frame(self, name: str) -> Any:
        """Rotation matrix by rows and position [m] of a frame (12 x count)."""


# -- messages on stderr ------------------------------------------------------------------------------------------------

PATIENCE = 2.0
"""Seconds after which a line on stderr states that a program is being compiled."""


@contextmanager
def notice_if_long(words: str) -> Iterator[None]:
    """Write a line to stderr if the work in this context takes longer than a moment."""
    timer = threading.Timer(PATIENCE, lambda: print(words, file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
