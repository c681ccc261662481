"""Motions that the steps of a run misrepresent, found in the linearized equations at some of its saved states.

A step h multiplies a small motion with the eigenvalue s by a factor that depends on the method (`Method.amplification`) instead of
exp(s h). Two cases have a remark. A growing motion that the steps damp: the true motion departs from the simulated one, however
small the deviation at the start. A vibration of a frame whose phase or amplitude is wrong at the end of a run with a fixed step;
adaptive steps limit such errors, and what they erase is recorded in every step (`runtime/vibration.c`).
"""

from __future__ import annotations

import cmath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pliant.analysis.integrators import Method
from pliant.analysis.linear.small_motion import FirstOrder, first_order
from pliant.analysis.motion.derived_quantities import ActiveBinding, SavedStates
from pliant.analysis.numerics.independent_coordinates import PartitionError
from pliant.analysis.numerics.quadratic_eigenvalues import MasslessMotion, eigenpairs, real_modes
from pliant.engine.binding import Binding
from pliant.engine.equations import Equations
from pliant.engine.model.model import Model
from pliant.engine.state import State
from pliant.engine.workspace import EvaluationError


@dataclass(frozen=True)
class Thresholds:
    """Numbers that decide which motions the steps misrepresent."""

    largest: int = 150
    """Number of rates and constraints up to which states are examined; the cost is that of dense eigenvalues, milliseconds each."""
    fewest: int = 5
    """Least number of examined states: the start, the end and three between."""
    most: int = 40
    """Largest number of examined states."""
    together: int = 2_000
    """Number of examined states times the square of the number of rates: a tenth of a second in all."""
    resolved: float = 0.5
    """Product of the fastest rate and the step up to which adaptive steps represent every motion to a percent."""
    grown: float = 20.0
    """Logarithm of the growth after which a deviation of the size of round-off is visible."""
    erased: float = 0.2
    """Speed of vibrations lost in the steps, relative to the largest speed of the same frame, that is accepted without a remark: a
    fifth is barely seen in a plot."""
    wrong: float = 0.5
    """Error of a vibration at the end of a run, relative to the vibration, that has a remark: half a radian out of phase."""


RESOLUTION = Thresholds()


@dataclass(frozen=True)
class ExaminedState:
    """The linearized equations at a saved state: K, C, M in the independent rates of `order`, whose sizes are `sizes`; the step
    there [s]."""

    bound: Binding
    t: float
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    step: float
    order: FirstOrder
    sizes: np.ndarray
    K: np.ndarray
    C: np.ndarray
    M: np.ndarray

    def rates(self, shape: np.ndarray) -> np.ndarray:
        """All rates (nv) for a shape in the independent ones."""
        return np.asarray(self.order.G @ (self.sizes * shape))

    def components(self, x: np.ndarray) -> np.ndarray:
        """Independent components of rates or accelerations (nv)."""
        return np.asarray(x[self.order.chosen] / self.sizes)

    def moved(self, shape: np.ndarray) -> np.ndarray:
        """Speed [m/s] and spin [rad/s] of every node (n x 2) for a shape."""
        rates = self.rates(shape)
        parts = [self.bound.node_twists(self.q, x) for x in (rates.real, rates.imag)]
        places = self.bound.node_poses(self.q)[1]
        squares = [
            np.stack(
                [np.sum((x[:, :3] + np.cross(x[:, 3:], places)) ** 2, axis=1), np.sum(x[:, 3:] ** 2, axis=1)], axis=1
            )
            for x in parts
        ]
        return np.sqrt(squares[0] + squares[1])


class StepResolution:
    """How the steps of a run represent the small motions about it.

    history: the active bindings, in order of time; steps: the step that led to each saved state [s].
    """

    def __init__(
        self, eqs: Equations, history: Sequence[ActiveBinding], motion: SavedStates, steps: np.ndarray, method: Method
    ) -> None:
        self.model, self.method = eqs.model, method
        self._eqs, self._history, self._motion, self._steps = eqs, history, motion, steps

    @cached_property
    def states(self) -> list[ExaminedState | None]:
        """Some states in order of time; None where the steps resolve everything, or the equations cannot be linearized."""
        n, nv = len(self._motion.time), len(self._eqs.rates)
        if n < 2 or not nv or nv + len(self._eqs.constraint_names) > RESOLUTION.largest:
            return []
        count = min(max(RESOLUTION.together // nv**2, RESOLUTION.fewest), RESOLUTION.most)
        return [self._state(int(k)) for k in np.unique(np.linspace(0, n - 1, count).astype(int))]

    def _state(self, k: int) -> ExaminedState | None:
        motion, known = self._motion, np.flatnonzero(self._steps)
        if not known.size:
            return None
        t, q, v, a, multipliers = (
            float(motion.time[k]), motion.q[k], motion.v[k], motion.a[k], motion.multipliers[k],
        )  # fmt: skip
        # no step has led to the first state; the one that led to the state in which a run was stopped is not recorded
        step = float(self._steps[known[np.argmin(np.abs(known - k))]])
        bound = next(x.bound for x in (*reversed(self._history), self._history[0]) if x.time <= t)
        if bound.system.contacts.laws:
            bound = bound.with_contacts(motion.contacts.samples(k, k + 1).rows, since=q)
        try:
            if not self.method.fixed and bound.fastest_rate(t, q, v) * step <= RESOLUTION.resolved:
                return None
            linear = bound.linearized(t, q, v, a, multipliers)
            order = first_order(self._eqs, bound, State(q, v, t, multipliers), a, linear)
        except (EvaluationError, np.linalg.LinAlgError, PartitionError):
            return None
        sizes = linear.rate_sizes[order.chosen]
        K, C, M = (sizes[:, None] * x * sizes for x in order.second_order(linear.mass))
        if not all(np.isfinite(x).all() for x in (K, C, M)):  # of a motion that diverges
            return None
        return ExaminedState(bound, t, q, v, a, step, order, sizes, K, C, M)

    def growth(self) -> str | None:
        """A remark on growing motions that the steps have damped."""
        worst: _Growth | None = None
        last: _Growth | None = None
        for state in self.states:
            now = None if state is None else _damped_growth(state, self.method)
            if now is not None and last is not None:
                since = (now.state.t - last.state.t) * min(now.value.real, last.value.real)
                now = replace(now, grown=max(now.grown, last.grown + since))
            last = now
            if now is not None and (worst is None or now.grown > worst.grown):
                worst = now
        return worst.remark(self.model) if worst is not None and worst.grown > RESOLUTION.grown else None

    def distortion(self, largest: np.ndarray) -> str | None:
        """A remark on the vibration that a fixed step distorts most; largest: speed and spin of every node in the run (n x 2)."""
        if not self.method.fixed:
            return None
        end, worst = float(self._motion.time[-1]), None
        for state in self.states:
            for found in () if state is None else _distorted(state, self.method, end, largest):
                worst = found if worst is None or found.share > worst.share else worst
        return None if worst is None else worst.remark(self.model)


@dataclass(frozen=True)
class _Growth:
    """A growing motion that the steps damp: eigenvalue [1/s], shape, logarithm of its growth so far."""

    state: ExaminedState
    value: complex
    shape: np.ndarray
    grown: float

    def remark(self, model: Model) -> str:
        moved = self.state.moved(self.shape)
        node = int(np.argmax(moved[:, 0] if moved[:, 0].any() else moved[:, 1]))
        how = f" while it vibrates at {abs(self.value.imag) / (2 * np.pi):.2g} Hz" if self.value.imag else ""
        return (
            f"the robot is unstable at t = {self.state.t:.3g} s, but the motion does not show it: a deviation of "
            f"'{node_name(model, node)}' grows by a factor e in {1 / self.value.real:.2g} s{how}, and the steps, of "
            f"{self.state.step:.2g} s there, are too long for it and damp it. Steps below {1 / abs(self.value):.2g} s follow it; "
            "check the signs of stiffness, damping and loads there"
        )


def _damped_growth(state: ExaminedState, method: Method) -> _Growth | None:
    """The fastest growing motion that a step of the method makes smaller."""
    try:
        pairs = eigenpairs(state.K, state.C, state.M)
    except (MasslessMotion, np.linalg.LinAlgError):
        return None
    best: int | None = None
    for i in np.flatnonzero(pairs.values.real > pairs.doubts):
        factor = _factor(method, complex(pairs.values[i]) * state.step)
        if factor is not None and abs(factor) < 1 and (best is None or pairs.values[i].real > pairs.values[best].real):
            best = int(i)
    if best is None:
        return None
    value = complex(pairs.values[best])
    return _Growth(state, value, pairs.shapes[:, best], value.real * state.step)


def _factor(method: Method, z: complex) -> complex | None:
    """The amplification; None at a pole."""
    try:
        return method.amplification(z)
    except (ZeroDivisionError, np.linalg.LinAlgError):
        return None


@dataclass(frozen=True)
class _Distortion:
    """A vibration with a wrong phase [rad] or amplitude (relative to the true one) at the end.

    node, share, size, unit: the frame whose motion it is the largest part of, that part, the largest rate there.
    """

    state: ExaminedState
    value: complex
    phase: float
    amplitude: float
    node: int
    share: float
    size: float
    unit: str

    def remark(self, model: Model) -> str:
        if abs(self.value.imag) * self.state.step > np.pi:
            what = "has less than two steps per period"
        else:
            what = (
                f"is {np.degrees(self.phase):.3g} degrees out of phase and has {self.amplitude:.0%} of its amplitude at the end, "
                "or when it has decayed"
            )
        return (
            f"a vibration of '{node_name(model, self.node)}' at about {self.value.imag / (2 * np.pi):.2g} Hz is distorted by steps "
            f"of {self.state.step:.2g} s: it {what}, and is {min(self.share, 1.0):.0%} of the motion there (up to {self.size:.2g} "
            f"{self.unit}); a smaller step resolves it"
        )


def _at_the_end(method: Method, value: complex, step: float, duration: float) -> tuple[float, float]:
    """Phase error [rad] and relative amplitude of a vibration after some time [s], or when it has decayed to 1/e."""
    z = value * step
    factor = _factor(method, z)
    if not factor or abs(z.imag) > np.pi:
        return np.pi, 0.0
    lasting = min(duration / step, 1 / -z.real if z.real < 0 else np.inf)
    change = lasting * (cmath.log(factor) - z)
    return abs(change.imag), float(np.exp(min(change.real, 700.0)))


def _distorted(state: ExaminedState, method: Method, end: float, largest: np.ndarray) -> Iterator[_Distortion]:
    """Vibrations that are a large part of the motion of some frame, and wrong at the end of the run [s]."""
    try:
        modes = real_modes(state.K, state.M)
    except (MasslessMotion, np.linalg.LinAlgError):
        return
    momenta = modes.shapes.T @ state.M
    rates, accelerations = (momenta @ state.components(x) for x in (state.v, state.a))
    decays = 0.5 * np.einsum("ij,ij->j", modes.shapes, state.C @ modes.shapes)
    for i in np.flatnonzero(modes.squares > decays**2):
        value = complex(-decays[i], np.sqrt(modes.squares[i] - decays[i] ** 2))
        phase, amplitude = _at_the_end(method, value, state.step, end - state.t)
        if abs(cmath.rect(amplitude, phase) - 1) <= RESOLUTION.wrong:
            continue
        speed = float(np.hypot(rates[i], accelerations[i] / np.sqrt(modes.squares[i])))
        moved = speed * state.moved(modes.shapes[:, i])
        shares = np.divide(moved, largest, out=np.zeros_like(moved), where=largest > 0)
        node, kind = (int(x) for x in np.unravel_index(int(np.argmax(shares)), shares.shape))
        if shares[node, kind] > RESOLUTION.erased:
            yield _Distortion(
                state, value, phase, amplitude, node, float(shares[node, kind]), float(largest[node, kind]),
                ("m/s", "rad/s")[kind],
            )  # fmt: skip


def node_name(model: Model, node: int) -> str:
    """The name of a frame on a node, or of a coordinate that moves it."""
    for name, frame in model.frames.items():
        if frame.node == node:
            return name
    for element in model.system.elements:
        if node in element.nodes:
            for c in model.coordinates:
                if element.v_at <= c.v_at < element.v_at + element.v_size:
                    return c.name
    return f"node {node}"
