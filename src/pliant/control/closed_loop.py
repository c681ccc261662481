"""The complete sampled loop on the full linear robot: the effect of a regulator and its observer on every mode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy

from pliant.analysis.linearize import StateSpace
from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.control.discrete import DiscreteStateSpace, held_commands
from pliant.control.modes import Mode, system_modes

if TYPE_CHECKING:
    from pliant.control.feedback import StateFeedback


@dataclass(frozen=True)
class PoleTolerances:
    """When poles count as growing, and as those of the same motion."""

    split: float = 1e-6
    """Growth below this is zero: a double pole at 1 is split by the square root of round-off."""
    margin: float = 1e-9
    """Poles closer to 1 than this neither grow nor decay, within round-off."""
    near: float = 0.2
    """A pole of the loop belongs to the same motion as an open-loop pole that is closer than this."""


TOLERANCES = PoleTolerances()


@dataclass(frozen=True, repr=False)
class ClosedLoop:
    """The closed loop of a robot with all its modes, a zero-order hold with delay, and a controller with its observer.

    Attributes:
        poles: eigenvalues per sample, largest first.
        mode: the open-loop mode that the largest pole corresponds to; None if there is no such mode.
        neglected: whether the design neglects that mode.
        states: coordinates that move most in the largest pole.
        sample_time: [s].
    """

    poles: np.ndarray
    mode: Mode | None
    neglected: bool
    states: tuple[str, ...]
    sample_time: float

    def __repr__(self) -> str:
        judged = "stable" if self.stable else "not stable"
        head = f"ClosedLoop: {judged}, {len(self.poles)} poles per sample of {self.sample_time:g} s"
        if not len(self.poles):
            return head
        rate = -np.log(max(self.largest, 1e-300)) / self.sample_time
        verb = "decays" if rate > 0 else "grows"
        which = f"; in the open loop {self.motion.rstrip(',')}" if self.mode is not None else f"; {self.motion}"
        return f"{head}, largest {self.largest:.6g} ({verb} by {abs(rate):.4g} 1/s){which}"

    @property
    def largest(self) -> float:
        """The largest magnitude of a pole: the asymptotic factor by which deviations shrink (or grow) per sample."""
        return float(np.abs(self.poles[0])) if len(self.poles) else 0.0

    @property
    def stable(self) -> bool:
        """Whether every deviation decays."""
        return self.largest < 1 - TOLERANCES.margin

    @property
    def motion(self) -> str:
        """Description of the motion of the largest pole."""
        frequency = abs(np.angle(self.poles[0])) / (2 * np.pi * self.sample_time)
        if self.mode is not None:
            said = [f"which aliases to {frequency:.4g} Hz"] if self.mode.frequency * self.sample_time > 0.5 else []
            said += ["which the design neglects"] if self.neglected else []
            return f"{self.mode}, {' and '.join(said)}," if said else str(self.mode)
        where = f" (mostly {', '.join(self.states)})" if self.states else ""
        return f"a motion of the loop at {frequency:.4g} Hz{where}"

    @property
    def warning(self) -> str:
        """Warning with a hint for an unstable loop; empty otherwise."""
        if self.stable:
            return ""
        grows = self.largest > 1 + TOLERANCES.split
        what = f"grows (by {np.log(self.largest) / self.sample_time:.3g} 1/s)" if grows else "does not decay"
        if grows:
            advice = "include that mode in the design" if self.neglected else "lower the gains"
            advice = f"Shorten sample time or delay, raise the weights of inputs, or {advice}"
        elif self.neglected:
            advice = "Include that mode in the design, or add damping to the robot"
        else:
            advice = "Add a weight on the states that it moves, or damping to the robot"
        return (
            f"in the complete sampled loop with delay, {self.motion} {what}: largest pole {self.largest:.6g} per "
            f"sample of {self.sample_time:g} s. {advice}"
        )


@on_one_blas_thread
def closed_loop(controller: StateFeedback, plant: StateSpace | None = None) -> ClosedLoop:
    """The closed loop of a controller and a linear robot: `plant`, or the full system before reduction.

    `plant` may have other parameters, or more modes, than the design; its states are the independent coordinates and their
    rates. The delay is that of the controller, which may differ from that of the design.
    """
    regulator, observer, reduction = controller.regulator, controller.observer, controller.reduction
    design = regulator.linear
    whole = plant or (reduction.full if reduction is not None else regulator.plant)
    whole = whole.select(inputs=regulator.plant.inputs)
    sampled = held_commands(whole, controller.sample_time, controller.delay)
    n, m = whole.B.shape
    remembered = design.past if isinstance(design, DiscreteStateSpace) else 0
    count = max(1, remembered, sampled.past)
    r = 0 if observer is None else len(regulator.plant.states)
    size = n + m * count + r
    # one step of the loop from each unit vector of (states of the robot, past commands, estimates)
    unit = np.eye(size)
    x, past, estimate = unit[:n], unit[n : n + m * count], unit[n + m * count :]
    robot = np.vstack([x, past[: m * sampled.past]])
    known = past[: m * remembered]
    if observer is None:
        seen = x if reduction is None else reduction.onto @ x
        state = np.vstack([seen, known])
    else:
        rows = [whole.outputs.index(name) for name in observer.linear.outputs]
        y = sampled.C[rows] @ robot
        if sampled.past == 0:
            y = y + sampled.D[rows] @ past[:m]  # outputs are measured before the new command takes effect
        in_force = past[:m] if remembered == 0 else np.zeros((m, size))
        state = observer.correct(np.vstack([estimate, known]), y, in_force)
        state[r:] = known
    u = -regulator.gain @ state
    parts = [(sampled.A @ robot + sampled.B @ u)[:n], u, past[: m * (count - 1)]]
    if observer is not None:
        parts.append(observer.predict(state, u)[:r])
    poles, vectors = scipy.linalg.eig(np.vstack(parts))
    order = np.argsort(-np.abs(poles), kind="stable")
    if not size:
        return ClosedLoop(poles, None, False, (), controller.sample_time)
    largest, vector = complex(poles[order[0]]), vectors[:n, order[0]]
    mode = mode_of_motion(whole, largest, vector, controller.sample_time)
    left_out = reduction is not None and mode is not None and _is_neglected(mode, reduction.neglected)
    moves = np.abs(vector[: n // 2])
    leading = [int(k) for k in np.argsort(-moves)[:2] if moves[k] > 0.2 * moves.max()]
    names = tuple(whole.states[k] for k in leading)
    return ClosedLoop(poles[order], mode, left_out, names, controller.sample_time)


def mode_of_motion(whole: StateSpace, pole: complex, vector: np.ndarray, sample_time: float) -> Mode | None:
    """The mode of the robot that dominates a motion of the loop, if the loop hardly moves its pole."""
    modes = system_modes(whole.A, names=whole.states)
    # a mode above half the sampling frequency is aliased: its pole may be the other of the pair
    share = [
        max(abs(np.vdot(mode.left, x)) for x in (vector, vector.conj())) * np.linalg.norm(mode.right) for mode in modes
    ]
    mode = modes[int(np.argmax(share))]
    free = np.exp(mode.eigenvalue * sample_time)
    return mode if min(abs(free - pole), abs(free - pole.conjugate())) < TOLERANCES.near else None


def _is_neglected(mode: Mode, neglected: tuple[Mode, ...]) -> bool:
    size = max(abs(mode.eigenvalue), 1e-300)
    return any(abs(mode.eigenvalue - other.eigenvalue) < 1e-6 * size for other in neglected)
