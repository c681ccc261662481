"""Linear systems in discrete time: zero-order hold, and commands with delay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from pliant.analysis.linearize import StateSpace
from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.control.limits import DesignError
from pliant.control.modes import system_modes
from pliant.language.arguments import ArgumentError, number, positive
from pliant.language.message_text import with_article

ANSWERED = 1e3
"""Largest growth of deviations before the controller can respond."""


@dataclass(frozen=True, repr=False)
class DiscreteStateSpace:
    """x[k+1] = A x[k] + B u[k], y[k] = C x[k] + D u[k] for commands u[k] computed at sample k.

    x = (states of `continuous`, then, for delayed commands, the past commands that have not taken effect yet, latest first).

    Attributes:
        sample_time: time between samples [s].
        delay: time from a sample until its command takes effect [s].
        past: number of past commands in x.
        continuous: the original system.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    sample_time: float
    delay: float
    past: int
    continuous: StateSpace

    def __repr__(self) -> str:
        sizes = f"{len(self.states)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs"
        past = f", {self.past} past commands among the states" if self.past else ""
        return f"DiscreteStateSpace: {sizes}; samples of {self.sample_time:g} s, delay {self.delay:g} s{past}"

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states."""
        old = tuple(f"{name}[{-k - 1}]" for k in range(self.past) for name in self.inputs)
        return self.continuous.states + old

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return self.continuous.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return self.continuous.outputs

    def select(
        self, inputs: str | Sequence[str] | None = None, outputs: str | Sequence[str] | None = None
    ) -> DiscreteStateSpace:
        """The same system with some of its inputs and outputs, as `StateSpace.select`."""
        return discretize(self.continuous.select(inputs, outputs), self.sample_time, delay=self.delay)


@on_one_blas_thread
def discretize(linear: StateSpace, sample_time: float, *, delay: float = 0.0) -> DiscreteStateSpace:
    """Exact discrete equations for a zero-order hold with a delay of `delay` [s].

    Rejects sample times that alias an oscillation of the system, or in which, including the delay, an unstable mode
    grows a thousandfold.
    """
    sample_time = positive("the sample time", sample_time, hint="in seconds")
    delay = number("the delay", delay, at_least=0, hint="in seconds")
    need_linear("discretize", linear, StateSpace)
    _check_sample_time(linear, sample_time, delay)
    return held_commands(linear, sample_time, delay)


def need_linear(function: str, given: Any, *kinds: type) -> None:
    """Reject arguments that are not linear systems, with a hint."""
    if isinstance(given, kinds):
        return
    kind = type(given).__name__
    if isinstance(getattr(given, "linear", None), kinds):
        hint = f"its system is `.linear`: {function}({'reduced' if kind == 'Reduction' else 'found'}.linear, ...)"
    elif isinstance(given, DiscreteStateSpace):
        hint = "it is sampled already; give the continuous system"
    else:
        hint = "pliant.linearize(eqs) gives one"
    raise ArgumentError(f"{function} takes a linear system, not {with_article(kind)}", hint)


def held_commands(linear: StateSpace, sample_time: float, delay: float) -> DiscreteStateSpace:
    """As `discretize`, for any sample time, including aliased oscillations."""
    n, m = linear.B.shape
    whole = int(np.floor(delay / sample_time + 1e-9))
    late = max(0.0, delay - whole * sample_time)
    late = 0.0 if late < 1e-9 * sample_time else late
    A, early_part = held(linear.A, linear.B, sample_time - late)
    if late:
        # the previous command acts for the first `late` seconds, the new one for the rest
        first_A, first_B = held(linear.A, linear.B, late)
        blocks = [early_part, A @ first_B]
        A = A @ first_A
    else:
        blocks = [early_part]
    past = whole + len(blocks) - 1
    size = n + m * past
    big_A, big_B = np.zeros((size, size)), np.zeros((size, m))
    big_A[:n, :n] = A
    for k, block in enumerate(blocks, start=whole):
        # the command computed k samples ago
        if k == 0:
            big_B[:n] = block
        else:
            big_A[:n, n + m * (k - 1) : n + m * k] = block
    if past:
        big_B[n : n + m] = np.eye(m)
        big_A[n + m :, n:-m] = np.eye(m * (past - 1))
    C = np.hstack([linear.C, np.zeros((len(linear.C), m * past))])
    D = linear.D if past == 0 else np.zeros_like(linear.D)
    if past and np.any(linear.D):
        # direct feedthrough at the sample is that of the command active then
        in_force = whole + (1 if late else 0)
        C[:, n + m * (in_force - 1) : n + m * in_force] = linear.D
    return DiscreteStateSpace(big_A, big_B, C, D, sample_time, delay, past, linear)


def held(A: np.ndarray, B: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
    """exp(A time) and the integral of exp(A s) B over it: the response to a constant input."""
    n, m = B.shape
    whole = scipy.linalg.expm(time * np.block([[A, B], [np.zeros((m, n + m))]]))
    return whole[:n, :n], whole[:n, n:]


def _check_sample_time(linear: StateSpace, sample_time: float, delay: float) -> None:
    modes = system_modes(linear.A, names=linear.states)
    falling = max(modes, key=lambda mode: mode.eigenvalue.real, default=None)
    late = sample_time + delay
    if falling is not None and falling.eigenvalue.real * late > np.log(ANSWERED):
        raise DesignError(
            f"a sample time of {sample_time:g} s with a delay of {delay:g} s is too long for {falling}: deviations become "
            f"{np.exp(min(700.0, falling.eigenvalue.real * late)):.2g} times as large before the controller responds. Their sum"
            f" must be below {np.log(ANSWERED) / falling.eigenvalue.real:.3g} s, and well below to be robust to model errors"
        )
    fastest = max(modes, key=lambda mode: mode.eigenvalue.imag, default=None)
    if fastest is not None and fastest.eigenvalue.imag * sample_time >= np.pi:
        raise DesignError(
            f"a sample time of {sample_time:g} s is too long for {fastest}: less than "
            f"{np.pi / fastest.eigenvalue.imag:.3g} s is needed to resolve it. Sample faster, or leave"
            f" the modes above {0.5 / sample_time:.3g} Hz out of the design (`reduce`; `keep` or `below` in a model file)"
        )
