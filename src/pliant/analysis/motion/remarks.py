"""Remarks on motions: what one has to know about the start, the inputs, the steps and the model to read the numbers correctly.

The functions read what a run has left (`RunRecord`), and run when remarks are shown.
"""

from __future__ import annotations

import cmath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pliant.analysis.integrators import Method
from pliant.analysis.linear.small_motion import FirstOrder, first_order
from pliant.analysis.motion.derived_quantities import ActiveBinding, SavedStates
from pliant.analysis.motion.result import Result, RunRecord
from pliant.analysis.numerics.quadratic_eigenvalues import MasslessMotion, eigenpairs, real_modes
from pliant.analysis.numerics.saddle import PartitionError
from pliant.analysis.numerics.state import moved_onto_constraints
from pliant.analysis.remark import joined, remark
from pliant.analysis.remarks.contact_remarks import contacts_that_are_too_soft, overlapping_parts, overlapping_start
from pliant.analysis.remarks.input_limits import inputs_beyond_limits
from pliant.analysis.remarks.validity import beyond_range, constraints_that_opened, reactions_not_unique, slack_tendons
from pliant.engine.binding import Binding
from pliant.engine.equations import Equations
from pliant.engine.model.inputs import SERIES
from pliant.engine.model.model import Model
from pliant.engine.program import EvaluationError
from pliant.engine.state import State
from pliant.language.message_text import enumeration, unit_after_value


@dataclass(frozen=True)
class ResolutionThresholds:
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


RESOLUTION = ResolutionThresholds()


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


@dataclass(frozen=True)
class Thresholds:
    """Numbers that decide whether a remark appears, and how long it is."""

    same: float = 1e-9
    """Relative difference below which values are equal: round-off of a few operations."""
    far: float = 0.5
    """Distance of the start from the pose of a controller [m or rad]: half a radian is where sines leave their tangents by 4 %."""
    violent: float = 1000.0
    """Acceleration of a frame from rest [m/s^2]: a hundred times gravity, far beyond what a robot at rest in its pose has."""
    lost: float = 0.02
    """Part of the exchanged energy that may be missing: twenty times what motions lose at the default tolerances."""
    at_rest: float = 1e-12
    """Exchanged energy below this part of the energy itself is round-off: the robot is at rest."""
    still: float = 1e-9
    """Motion of all nodes below this part of the robot's size [-], and rotation below this [rad], is round-off."""
    examined: int = 50
    """Number of states that are examined for motion: a motion between all of them would be a vibration at their distance."""
    named: int = 4
    """Number of values that a remark lists."""
    contradictions: int = 5
    """Number of contradicting states that are described."""
    times: int = 20
    """Number of times of an event that are listed."""


THRESHOLDS = Thresholds()


def record_of(result: Result) -> RunRecord:
    """What the run has left; remarks are not computed for motions that were read from files."""
    assert result.record is not None
    return result.record


def cure(method: Method) -> str:
    """What makes the steps of a method shorter."""
    return "a smaller step" if method.fixed else "a smaller rtol"


# -- the start ---------------------------------------------------------------------------------------------------------


@remark(
    f"a value differs by more than {THRESHOLDS.same:g} of itself", "the run does not use the values of the equilibrium"
)
def held_with_other_values(eqs: Equations, result: Result) -> str | None:
    """The start is an equilibrium that was found with other inputs or parameters, which the run does not use."""
    start = record_of(result).start
    if start.rest is None:
        return None
    there, texts = start.rest.equations, []
    if there.inputs != eqs.inputs or tuple(there.parameters) != tuple(eqs.parameters):
        return None
    commanded = [_commanded(controller) for controller in start.controllers]
    if all(names is not None for names in commanded) and start.rest.inputs:
        known = {name for names in commanded for name in names or ()}
        found, used = there.input_vector(), eqs.input_vector()
        other = [
            f"{name} = {x:.4g}{_unit(eqs, name)}"
            for name, x, y in zip(eqs.inputs, found, used, strict=True)
            if name not in known and name not in eqs.given_inputs and _differ(x, y)
        ]
        if other:
            few = enumeration(other, THRESHOLDS.named)
            texts.append(f"the start is an equilibrium with other inputs: {few}; give inputs=pose.inputs to hold it")
    changed = [
        f"{name} = {x:.4g}{_unit(eqs, name)}"
        for name, x in there.parameters.items()
        if name not in eqs.given_parameters and _differ(x, eqs.parameters[name])
    ]
    if changed:
        few = enumeration(changed, THRESHOLDS.named)
        texts.append(
            f"the start is an equilibrium with other parameters: {few}; give parameters=pose.parameters to hold it"
        )
    return joined(texts)


def _commanded(controller: Any) -> tuple[str, ...] | None:
    """Inputs that a controller commands; None if unknown."""
    plant = getattr(getattr(controller, "regulator", None), "plant", None)
    names = getattr(plant, "inputs", None) or getattr(controller, "inputs", None)
    return tuple(names) if isinstance(names, Sequence) and not isinstance(names, str) else None


def _differ(x: float, y: float) -> bool:
    return abs(x - y) > THRESHOLDS.same * max(abs(x), abs(y))


def _unit(eqs: Equations, name: str) -> str:
    return unit_after_value(eqs.model.environment.dimension(name))


@remark(f"a coordinate is off by more than {THRESHOLDS.far:g} m or rad", "linear designs hold near their pose only")
def far_from_the_pose_of_a_controller(eqs: Equations, result: Result) -> str | None:
    """The start is far from the pose that a controller was linearized about."""
    start, texts = record_of(result).start, []
    for controller in start.controllers:
        held = getattr(getattr(getattr(controller, "regulator", None), "plant", None), "state", None)
        if held is None or np.shape(held.q) != start.assembled.q.shape:
            continue
        apart = np.abs(start.assembled.q - held.q)
        k = int(np.argmax(apart)) if len(apart) else 0
        if len(apart) and apart[k] > THRESHOLDS.far:
            name = getattr(controller, "name", "") or type(controller).__name__
            texts.append(
                f"the start is {apart[k]:.2g} (m or rad, '{eqs.coordinates[k]}') from the pose that the controller '{name}' "
                "holds; its design is linear about that pose: give a `start` closer to it"
            )
    return joined(texts)


@remark("an input of a prescribed motion jumps, or its rate", "jumps of rates are impulses")
def prescribed_motions_that_jump(eqs: Equations, result: Result) -> str | None:
    """Inputs that prescribe positions or rates along series with jumps."""
    start, model, texts = record_of(result).start, eqs.model, []
    bound = start.assembled.bound
    for i, name in enumerate(model.input_names):
        if name not in model.smooth_inputs or bound.input_kind[i] != SERIES:
            continue
        series, moves = bound.series[bound.input_series[i]], name in model.position_inputs
        times = series.rate_jumps if moves else series.value_jumps
        count = int(np.sum((times > start.begin) & (times < start.end)))
        if count:
            what = f"rate of input '{name}', which prescribes a position," if moves else f"input '{name}', a rate,"
            texts.append(
                f"the {what} jumps at {count} times: the impulses are included in the supplied energy, but not in the "
                "multipliers; cubic interpolation or a smooth function avoids them"
            )
    return joined(texts)


@remark(f"a frame accelerates at more than {THRESHOLDS.violent:g} m/s^2 from rest", "a hundred times gravity")
def violent_start(eqs: Equations, result: Result) -> str | None:
    """Springs, tendons or loads strongly accelerate the robot from its initial state at rest."""
    steps = record_of(result).steps
    if steps is None:
        return None
    bound, t, q, v, a = steps.begun
    if np.any(v) or not np.all(np.isfinite(a)):
        return None
    accelerations = bound.node_accelerations(t, q, v, a)
    places = bound.node_poses(q)[1]
    linear = accelerations[:, :3] + np.cross(accelerations[:, 3:], places)
    fastest = float(np.linalg.norm(linear, axis=1).max(initial=0.0))
    if fastest < THRESHOLDS.violent:
        return None
    return (
        f"the start is far from equilibrium: parts of the robot accelerate at {fastest:.2g} m/s^2 and vibrate afterwards. "
        "To start at rest use start='equilibrium' (--start equilibrium)"
    )


# -- events and controllers --------------------------------------------------------------------------------------------


@remark("a state that an event or a mid-step function sets violates a constraint", "motions satisfy all constraints")
def contradicting_states(eqs: Equations, result: Result) -> str | None:
    """States that were set and changed, because they contradict the constraints."""
    texts = []
    for t, changed in record_of(result).contradictions[: THRESHOLDS.contradictions]:
        few = enumeration([f"{name} from {x:.6g} to {y:.6g}" for name, (x, y) in changed.items()], THRESHOLDS.named)
        texts.append(f"values that were set at t = {t:.6g} s contradict the constraints and were changed: {few}")
    return joined(texts)


@remark("an event has occurred", "its times are part of the result")
def events_that_occurred(eqs: Equations, result: Result) -> str | None:
    """Times of events; of frequent ones the first times, and their number."""
    texts = []
    for name, times in record_of(result).events.items():
        texts += [(t, f"{name} at t = {t:.9g} s") for t in times[: THRESHOLDS.times]]
        if len(times) > THRESHOLDS.times:
            texts.append((times[-1], f"{name} {len(times)} times in total, last at t = {times[-1]:.9g} s"))
    return joined([text for _, text in sorted(texts, key=lambda item: item[0])])


@remark("a controller reports something", "stated by the controller")
def reports_of_controllers(eqs: Equations, result: Result) -> str | None:
    """What controllers say about the run, such as saturation."""
    return joined(record_of(result).control)


# -- steps -------------------------------------------------------------------------------------------------------------


@remark("an impact is shorter than a step", "its rebound is then too low")
def brief_impacts(eqs: Equations, result: Result) -> str | None:
    """Impacts that steps have passed over."""
    steps = record_of(result).steps
    count = 0 if steps is None else steps.brief_impacts
    if steps is None or not count:
        return None
    what = "an impact was" if count == 1 else f"{count} impacts were"
    return f"{what} shorter than a step, so rebounds are too low; use {cure(steps.method)}, or the automatic method"


@remark("a signal differs from a straight line within a fixed step", "adaptive steps find such changes")
def changes_missed_by_fixed_steps(eqs: Equations, result: Result) -> str | None:
    """Fixed steps have missed a change of a signal."""
    steps = record_of(result).steps
    share, t, signal = (0.0, 0.0, 0) if steps is None else steps.missed_signal
    if steps is None or not share:
        return None
    model = eqs.model
    names = [name for name, uses in zip(model.input_names, model.signal_sources[signal, 1:], strict=False) if uses]
    what = (
        f"the input{'s' if names[1:] else ''} {', '.join(map(repr, names))}" if names else "a force or motion over time"
    )
    return (
        f"fixed steps of {steps.method.step or 0:.3g} s are too long for {what}: within one, at t = {t:.4g} s, it differs from a "
        f"straight line by {share:.0%} of its largest value. Use a smaller step, or a method that chooses its steps"
    )


@remark(
    f"a growing motion is damped, or a vibration that is {RESOLUTION.erased:.0%} of the motion of a frame is lost or distorted",
    "smaller errors are not visible in a plot of the motion",
)
def motions_misrepresented_by_steps(eqs: Equations, result: Result) -> str | None:
    """Instabilities and vibrations for which the steps are too long."""
    record = record_of(result)
    steps = record.steps
    if steps is None:
        return None
    seen = StepResolution(eqs, record.history, record.motion, steps.steps, steps.method)
    finer = (
        "a smaller step" if steps.method.fixed else "the method 'explicit', or a fixed step of a tenth of its period,"
    )
    return (
        seen.growth()
        or lost_vibration(eqs.model, steps.lost_vibrations, steps.method.relative_tolerance, finer)
        or seen.distortion(steps.lost_vibrations[..., 0])
    )


def lost_vibration(model: Model, found: np.ndarray, rtol: float, finer: str) -> str | None:
    """A remark if the steps have erased vibrations that are a large part of the motion of a frame.

    found: per node, of speed and spin: the largest one, the erased one, and its angular frequency (`TimeLoop.lost_vibrations`).
    rtol: speeds below this fraction of the largest one of the robot are within the tolerance; finer: suggested method or step.
    """
    largest, lost, frequency = (found[..., k] for k in range(3))
    shares = np.where(lost > rtol * largest.max(axis=0, initial=0.0), lost, 0.0) / np.where(
        largest > 0, largest, np.inf
    )
    worst = np.minimum(shares, 1.0).max(axis=1, initial=0.0)
    nodes = [int(g) for g in np.argsort(-worst, kind="stable") if worst[g] > RESOLUTION.erased]
    if not nodes:
        return None
    first = nodes[0]
    kind = int(np.argmax(shares[first]))
    size, unit = largest[first, kind], ("m/s", "rad/s")[kind]
    more = f", and of {len(nodes) - 1} more frames," if len(nodes) > 1 else ""
    hertz = frequency[first, kind] / (2 * np.pi)
    return (
        f"a vibration of '{node_name(model, first)}'{more} at about {hertz:.2g} Hz was lost: the steps are too long for it, and "
        f"it is {worst[first]:.0%} of the motion there (up to {size:.2g} {unit}); {finer} resolves it"
    )


@remark(
    f"more than {THRESHOLDS.lost:.0%} of the exchanged energy is missing",
    "motions at the default tolerances keep it to a thousandth",
)
def energy_balance(eqs: Equations, result: Result) -> str | None:
    """Energy was lost or gained in the steps."""
    record = record_of(result)
    if record.steps is None or len(record.history) > 1:
        return None
    text = open_balance(record.derived.energies, cure(record.steps.method), record.added, record.steps.energy_exchanged)
    return None if text is None or is_still(record.history[0].bound, record.motion.q) else text


def open_balance(energies: np.ndarray, finer: str, added: np.ndarray | float, exchanged: float) -> str | None:
    """A remark if the energy balance of a run is not satisfied.

    energies: kinetic, potential, dissipated and supplied [J], one row per state; finer: suggested change; added: energy added by
    setting the state [J], one per state; exchanged: the most that the steps have exchanged [J], as the saved times may be those at
    which a vibration passes through rest.
    """
    if len(energies) < 2 or not np.all(np.isfinite(energies)):
        return None
    kinetic, potential, dissipated, supplied = energies.T
    balance = kinetic + potential + dissipated - supplied - added
    scale = max(exchanged, float(np.max(kinetic)), *(float(np.ptp(x)) for x in (potential, dissipated, supplied)))
    changes = balance - balance[0]
    # at the end if that is sufficient: within long steps the energy includes interpolation errors
    change = float(changes[-1] if abs(changes[-1]) > THRESHOLDS.lost * scale else changes[np.argmax(np.abs(changes))])
    if scale <= THRESHOLDS.at_rest * float(np.max(np.abs(energies))) or abs(change) <= THRESHOLDS.lost * scale:
        return None
    what = "was lost" if change < 0 else "was gained"
    return (
        f"{abs(change) / scale:.0%} of the energy exchanged {what} in the steps, which are too long for some vibrations; {finer}"
        " resolves them"
    )


def is_still(bound: Binding, states: np.ndarray) -> bool:
    """Whether the robot does not move over some states (n x q)."""
    size, _ = bound.sizes(states[0])
    rotations, places = bound.node_poses(states[0])
    for k in np.unique(np.linspace(0, len(states) - 1, THRESHOLDS.examined).astype(int)):
        turned, moved = bound.node_poses(states[k])
        if (
            np.abs(moved - places).max(initial=0.0) > THRESHOLDS.still * size
            or np.abs(turned - rotations).max(initial=0.0) > THRESHOLDS.still
        ):
            return False
    return True


MOTION_REMARKS = (
    moved_onto_constraints, held_with_other_values, far_from_the_pose_of_a_controller, overlapping_start,
    overlapping_parts, prescribed_motions_that_jump, violent_start, contradicting_states, events_that_occurred,
    reports_of_controllers, brief_impacts, contacts_that_are_too_soft, changes_missed_by_fixed_steps,
    motions_misrepresented_by_steps, slack_tendons, inputs_beyond_limits, beyond_range,
    reactions_not_unique, constraints_that_opened, energy_balance,
)  # fmt: skip
"""All remarks on motions, in the order in which they are shown."""
