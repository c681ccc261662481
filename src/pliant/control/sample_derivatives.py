"""Controllers with derivatives: dependencies of the command and memory of a sample, and propagation of cotangents."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeGuard

import numpy as np

from pliant.analysis.motion.events import Now
from pliant.control.limits import named
from pliant.language.arguments import ArgumentError


@dataclass(frozen=True)
class Sample:
    """A sample of a controller: the state that it measured, its internal state before and after, and its commands.

    measured: the values of its outputs, with their noise, concatenated.
    """

    now: Now
    before: np.ndarray
    after: np.ndarray
    command: Mapping[str, float]
    measured: np.ndarray


@dataclass
class CommandCotangents:
    """Cotangents of everything that a sample was computed from.

    q, v: of increments and rates of the state; memory: of the internal state; gains: by name; outputs: of the measured values,
    concatenated; design: of values computed at the start of the run; inputs: of the requested ones, by name.
    """

    q: np.ndarray
    v: np.ndarray
    memory: np.ndarray
    gains: dict[str, np.ndarray]
    outputs: np.ndarray = field(default_factory=lambda: np.zeros(0))
    design: np.ndarray = field(default_factory=lambda: np.zeros(0))
    inputs: dict[str, float] = field(default_factory=dict)


class SmoothController(Protocol):
    """A controller whose commands have derivatives; in addition to the requirements of `Controller`.

    A command is a function of the state, of the measurements and the internal state of the controller, of its gains, and of its
    design: constants computed by `start`.
    """

    sample_time: float
    name: str

    @property
    def gain_values(self) -> dict[str, np.ndarray]:
        """Gains by name."""

    def with_gains(self, values: Mapping[str, Any]) -> Self:
        """A new controller with other gains by name, without a run."""

    @property
    def measured(self) -> tuple[str, ...]:
        """Outputs on which commands depend; available after `start`."""

    @property
    def memory(self) -> np.ndarray:
        """The internal state between samples, as a vector. It may be set."""

    @memory.setter
    def memory(self, values: np.ndarray) -> None: ...

    @property
    def design(self) -> np.ndarray:
        """The values computed by `start`, as a vector."""

    def start(self, now: Now) -> None:
        """As for every controller."""

    def command(self, now: Now) -> dict[str, float]:
        """As for every controller."""

    def command_cotangents(
        self, sample: Sample, by_command: np.ndarray, by_memory: np.ndarray, inputs: tuple[str, ...]
    ) -> CommandCotangents:
        """Propagate cotangents of a sample's command and of the internal state after it.

        inputs: those with requested cotangents on which the command may depend through `now.inputs`.
        """


def is_smooth(controller: Any) -> TypeGuard[SmoothController]:
    """Whether the commands of a controller have derivatives."""
    return hasattr(type(controller), "command_cotangents")


def new_gains(controller: Any, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """All gains of a controller, some of them replaced. Raises ArgumentError if one is unknown or has another shape."""
    gains = dict(controller.gain_values)
    for name, value in values.items():
        if name not in gains:
            raise ArgumentError(f"{named(controller)} has no gain '{name}'", f"it has {', '.join(gains)}")
        made = np.asarray(value, dtype=float)
        if made.shape != gains[name].shape:
            raise ArgumentError(
                f"'{name}' of {named(controller)} has shape {made.shape}; it must be {gains[name].shape}"
            )
        gains[name] = made
    return gains


@dataclass(frozen=True)
class LeastSquares:
    """Inputs u within bounds that minimize the distance of effect u from `wanted`, and from `preferred` if not unique; see
    `allocate`.

    clamped: inputs at a bound (m, booleans).
    """

    effect: np.ndarray
    wanted: np.ndarray
    preferred: np.ndarray
    inputs: np.ndarray
    clamped: np.ndarray
    regularization: float


@dataclass(frozen=True)
class LeastSquaresCotangents:
    """Cotangents of effect (k x m), wanted (k), preferred (m), and the active bounds (m)."""

    effect: np.ndarray
    wanted: np.ndarray
    preferred: np.ndarray
    bounds: np.ndarray


NOTHING = 1e-8
"""Singular values below this fraction of the largest are zero: along them inputs are determined by the preference alone."""


def undo_least_squares(at: LeastSquares, by_inputs: np.ndarray) -> LeastSquaresCotangents:
    """Propagate cotangents of the inputs.

    With A of the free inputs, (A'A + e) u = A'b + e p for a small e. If inputs are redundant, y = (A'A + e)^-1 times a cotangent
    is of order 1/e, and the residual b - A u in their range of order e: both are scaled accordingly.
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
    """Propagate cotangents of active bounds to the previous command, on which bounds depend if rates are limited.

    lower, upper: bounds without rates; within: with them.
    """
    at_lower, at_upper = inputs <= within[0], inputs >= within[1]
    moves = (at_lower & (within[0] != lower)) | (at_upper & (within[1] != upper))
    return np.where(moves, by, 0.0)
