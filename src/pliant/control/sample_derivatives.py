"""Controllers with derivatives: dependencies of the command and memory of a sample, and propagation of cotangents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeGuard

import numpy as np

from pliant.control.limits import named
from pliant.language.arguments import ArgumentError
from pliant.solve.motion.events import Now


@dataclass(frozen=True)
class Sample:
    """A sample of a controller: the present that it saw, what it remembered before and after, and the inputs that it commanded.

    measured: the outputs that it read, with their noise, in a row.
    """

    now: Now
    before: np.ndarray
    after: np.ndarray
    command: Mapping[str, float]
    measured: np.ndarray


@dataclass
class CommandCotangents:
    """What a number changes by with everything that a sample was computed from.

    q, v: by increments and rates of the state; memory: what the controller remembered; gains: by name; outputs: those measured, in
    a row; design: what was computed at the start of the run; inputs: those that were asked about, by name.
    """

    q: np.ndarray
    v: np.ndarray
    memory: np.ndarray
    gains: dict[str, np.ndarray]
    outputs: np.ndarray = field(default_factory=lambda: np.zeros(0))
    design: np.ndarray = field(default_factory=lambda: np.zeros(0))
    inputs: dict[str, float] = field(default_factory=dict)


class SmoothController(Protocol):
    """A controller whose commands have derivatives; beside what `Controller` requires.

    A command is a function of the state, of what the controller measures and remembers, of its gains, and of its design: numbers
    that `start` computes and that stay.
    """

    sample_time: float
    name: str

    @property
    def gain_values(self) -> dict[str, np.ndarray]:
        """Gains by name."""

    def with_gains(self, values: Mapping[str, Any]) -> Self:
        """Another controller with other gains by name, and no run behind it."""

    @property
    def measured(self) -> tuple[str, ...]:
        """Outputs that commands depend on; after `start`."""

    @property
    def memory(self) -> np.ndarray:
        """What lasts from one sample to the next, in a row. It may be set."""

    @memory.setter
    def memory(self, values: np.ndarray) -> None: ...

    @property
    def design(self) -> np.ndarray:
        """What `start` has computed, in a row."""

    def start(self, now: Now) -> None:
        """As of every controller."""

    def command(self, now: Now) -> dict[str, float]:
        """As of every controller."""

    def command_cotangents(
        self, sample: Sample, by_command: np.ndarray, by_memory: np.ndarray, inputs: tuple[str, ...]
    ) -> CommandCotangents:
        """From cotangents of a sample's command and of the memory after it to those of what they were computed from.

        inputs: those that the command may depend on through `now.inputs`, and that are asked about.
        """


def is_smooth(controller: Any) -> TypeGuard[SmoothController]:
    """Whether the commands of a controller have derivatives."""
    return hasattr(type(controller), "command_cotangents")


def new_gains(controller: Any, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """All gains of a controller, some of them replaced. Raises ArgumentError where one is unknown or has another shape."""
    found = dict(controller.gain_values)
    for name, value in values.items():
        if name not in found:
            raise ArgumentError(f"{named(controller)} has no gain '{name}'", f"it has {', '.join(found)}")
        made = np.asarray(value, dtype=float)
        if made.shape != found[name].shape:
            raise ArgumentError(
                f"'{name}' of {named(controller)} has shape {made.shape}; it must be {found[name].shape}"
            )
        found[name] = made
    return found


@dataclass(frozen=True)
class LeastSquares:
    """Inputs u within bounds for which effect u is nearest to `wanted`, and among those nearest to `preferred`; see `allocate`.

    clamped: inputs that stand at a bound (m, booleans).
    """

    effect: np.ndarray
    wanted: np.ndarray
    preferred: np.ndarray
    inputs: np.ndarray
    clamped: np.ndarray
    regularization: float


@dataclass(frozen=True)
class LeastSquaresCotangents:
    """By effect (k x m), wanted (k), preferred (m), and the bounds that inputs stand at (m)."""

    effect: np.ndarray
    wanted: np.ndarray
    preferred: np.ndarray
    bounds: np.ndarray


NOTHING = 1e-8
"""Singular values below this share of the largest are zero: what inputs do along them is up to the preference alone."""


def undo_least_squares(at: LeastSquares, by_inputs: np.ndarray) -> LeastSquaresCotangents:
    """Cotangents of the inputs as those of what they were found from.

    With A of the free inputs, (A'A + e) u = A'b + e p for a small e. Where inputs can do the same in several ways, y = (A'A + e)^-1
    of a cotangent is as large as 1/e, and the residual b - A u in their range as small as e: both are used times or over e.
    """
    e = at.regularization
    size = float(np.linalg.norm(at.effect)) or 1.0
    free = ~at.clamped
    A, u, p = at.effect[:, free] / size, at.inputs[free], at.preferred[free]
    b = (at.wanted - at.effect[:, at.clamped] @ at.inputs[at.clamped]) / size
    U, s, V = np.linalg.svd(A, full_matrices=True)
    n = int(np.sum(s > NOTHING * max(float(s.max(initial=0.0)), 1e-300)))
    s, by = s[:n], V @ by_inputs[free]
    U, inside = U[:, :n], V[:n]
    beta = U.T @ b
    outside = b - U @ beta
    y = inside.T @ (by[:n] / (s**2 + e))
    times_e = V.T @ np.concatenate([by[:n] * e / (s**2 + e), by[n:]])
    over_e = U @ ((beta - s * (inside @ p)) / (s**2 + e))
    by_b = A @ y
    effect, preferred, bounds = np.zeros_like(at.effect), np.zeros_like(at.inputs), np.zeros_like(at.inputs)
    effect[:, free] = np.outer(over_e, times_e) + np.outer(outside, y) - np.outer(by_b, u)
    effect[:, at.clamped] = -np.outer(by_b, at.inputs[at.clamped])
    preferred[free] = times_e
    bounds[at.clamped] = by_inputs[at.clamped] - at.effect[:, at.clamped].T @ by_b / size
    return LeastSquaresCotangents(effect / size, by_b / size, preferred, bounds)


def by_last(
    lower: np.ndarray, upper: np.ndarray, within: tuple[np.ndarray, np.ndarray], inputs: np.ndarray, by: np.ndarray
) -> np.ndarray:
    """Cotangents of the bounds that inputs stand at as those of the command before: bounds follow it where rates are limited.

    lower, upper: bounds without rates; within: with them.
    """
    at_lower, at_upper = inputs <= within[0], inputs >= within[1]
    moves = (at_lower & (within[0] != lower)) | (at_upper & (within[1] != upper))
    return np.where(moves, by, 0.0)
