"""Base class of integration methods: options, and the number of the step function in the runtime."""

from __future__ import annotations

import cmath
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pliant.engine.binding import Binding
from pliant.engine.time_loop import TimeLoop
from pliant.language.arguments import ArgumentError, number, positive

# An adaptive run has at least this number of steps, so that short pulses of inputs are not missed.
LEAST_STEPS = 50
# An adaptive run that would need more steps than this is abandoned: minutes for a pendulum, days for a soft robot.
MOST_STEPS = 100_000_000


class Method(ABC):
    """An integration method. Final classes are frozen dataclasses of options.

    Class attributes:
        name: its name on the command line and in model files; words: its description.
        code: its number in runtime/integrate.h.
        order: order of convergence of positions and rates.
        explicit: whether steps longer than the fastest vibration allows make the motion diverge.
    """

    name: ClassVar[str]
    words: ClassVar[str]
    code: ClassVar[int]
    order: ClassVar[int]
    explicit: ClassVar[bool] = False

    step: float | None

    @property
    def fixed(self) -> bool:
        """Whether steps are equal, without error control."""
        return self.step is not None

    @property
    def relative_tolerance(self) -> float:
        """Error per step relative to the size of the motion [-]."""
        return 1e-6

    @property
    def absolute_tolerance(self) -> float:
        """Absolute error per step that is accepted [m and rad]."""
        return 0.0

    @property
    def most_steps(self) -> float:
        """Number of steps beyond which a run is abandoned; unlimited for a fixed step."""
        return math.inf

    @property
    def coefficients(self) -> dict[str, float]:
        """Numbers that its step function needs, by their names in `layout.RunHead`."""
        return {}

    def largest_step(self, duration: float) -> float:
        """Largest step [s] in a run of that duration [s]."""
        return duration / LEAST_STEPS

    @abstractmethod
    def amplification(self, z: complex) -> complex:
        """Factor by which a step h multiplies a small motion that in truth is multiplied by exp(z), z = eigenvalue * h.

        A complex z is one of a conjugate pair, a real one belongs to z and -z. Raises ZeroDivisionError or LinAlgError at a pole.
        """

    @abstractmethod
    def describe(self) -> str:
        """Description of the method and its options."""


def make_run(bound: Binding, method: Method) -> TimeLoop:
    """A run by the method with the values of the binding."""
    return TimeLoop(bound, method.code, method.coefficients)


def spring_and_damper(z: complex) -> tuple[float, float]:
    """Stiffness and damping of x'' + c x' + k x = 0 with the eigenvalue z, as `Method.amplification` reads it."""
    return (abs(z) ** 2, -2 * z.real) if z.imag else (-(z.real**2), 0.0)


def closest_root(step: np.ndarray, z: complex) -> complex:
    """The eigenvalue of the matrix of a step that represents exp(z)."""
    roots = np.linalg.eigvals(step)
    return complex(roots[np.argmin(np.abs(roots - cmath.exp(min(z.real, 700.0) + 1j * z.imag)))])


@dataclass(frozen=True, kw_only=True)
class Adaptive(Method):
    """Options of methods that can choose their step.

    Attributes:
        step: fixed step [s]; the run is cut into equal steps of at most this size, which implicit methods halve temporarily
            if Newton's iterations do not converge. None: adaptive.
        rtol: error per step of the positions and directions of all frames, and of their rates, relative to the size of the motion
        so
            far [-]. Vibrations that move no frame as far as this are not followed.
        atol: absolute error per step that is accepted [m and rad]; None: errors below a
            hundred-thousandth of rtol, relative to the robot's size and in rad, are always accepted.
        max_step: largest step [s] of an adaptive run; None: a fiftieth of the run.
        max_steps: an adaptive run that would need more steps than this is abandoned; None: a hundred million.
    """

    step: float | None = None
    rtol: float = 1e-6
    atol: float | None = None
    max_step: float | None = None
    max_steps: float | None = None

    def __post_init__(self) -> None:
        name = type(self).__name__
        for option in ("step", "atol", "max_step", "max_steps"):
            if getattr(self, option) is not None:
                positive(f"{name}: {option}", getattr(self, option))
        number(f"{name}: rtol", self.rtol, at_least=1e-14, at_most=0.1, hint="1e-6 is usual, 1e-14 is round-off")
        for option in ("max_step", "max_steps"):
            if self.step is not None and getattr(self, option) is not None:
                raise ArgumentError(f"{name}: {option} has no effect with a fixed step", "give one of the two")

    @property
    def relative_tolerance(self) -> float:
        """Error per step relative to the size of the motion [-]."""
        return self.rtol

    @property
    def absolute_tolerance(self) -> float:
        """Absolute error per step that is accepted [m and rad]."""
        return 0.0 if self.atol is None else self.atol

    @property
    def most_steps(self) -> float:
        """Number of steps beyond which a run is abandoned."""
        if self.fixed:
            return super().most_steps
        return MOST_STEPS if self.max_steps is None else self.max_steps

    def largest_step(self, duration: float) -> float:
        """Largest step [s] in a run of that duration [s]."""
        return super().largest_step(duration) if self.max_step is None else self.max_step

    def describe(self) -> str:
        """Description of the method and its options."""
        return f"{self.words}, {self._stepping()}"

    def _stepping(self) -> str:
        return f"rtol {self.rtol:g}" if self.step is None else f"fixed step {self.step:g} s"
