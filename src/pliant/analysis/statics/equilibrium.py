"""Static equilibria: poses without unbalanced force, and their stability."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.analysis.numerics.coordinate_rows import coordinate_rows
from pliant.analysis.numerics.state import EQUILIBRIUM, AssembledState, Start, assemble, followed_positions, given_state
from pliant.analysis.numerics.status import AnalysisFailed, Status, unless_failed
from pliant.analysis.remarks.contact_remarks import rest_remarks, sliding_words
from pliant.analysis.remarks.crossing_surfaces import crossing_notes
from pliant.analysis.remarks.input_limits import beyond_limits
from pliant.analysis.remarks.validity import (
    friction_remarks,
    negative_tension_warnings,
    range_warnings,
    undetermined_reactions,
)
from pliant.analysis.statics.carried_sections import CarriedSections
from pliant.analysis.statics.relaxation import Relaxation, RelaxationResult
from pliant.analysis.statics.stability import Stability, held_by_damping, judge, judge_large
from pliant.analysis.statics.static_equations import StaticEquations
from pliant.engine.contacts import Contacts, contacts_at_rest, from_here
from pliant.engine.equations import Equations, InputValues, Values, with_remembered
from pliant.engine.frames import FrameMotion
from pliant.engine.input_values import inputs_at_time
from pliant.engine.outputs import evaluate_outputs
from pliant.engine.state import State
from pliant.language.arguments import choice, known_keywords, need_equations, number, positive, whole
from pliant.language.limits import time_is_up, time_limit
from pliant.language.message_text import enumeration, unit_after_value
from pliant.language.provided import called, with_remarks


@dataclass(frozen=True)
class Equilibrium:
    """An equilibrium.

    Attributes:
        status: converged or failed.
        message: description of the outcome and suggested action, including warnings.
        q: positions by the order of `coordinates`.
        multipliers: constraint forces, one per constraint row.
        residual: largest unbalanced generalized force [N or N m].
        stable: whether small disturbances decay; None if undetermined.
        stiffness: lowest eigenvalue of the stiffness on allowed motions [N/m or N m/rad, in mass-free metric].
        iterations: number of evaluations of the equations and their tangents.
        warnings: for the user.
        balanced: whether all forces balance, stable or not.
        contacts: contacts with their friction memory; None if the robot has no contacts.
    """

    status: Status
    message: str
    q: np.ndarray
    multipliers: np.ndarray
    residual: float
    stable: bool | None
    stiffness: float | None
    iterations: int
    equations: Equations
    time: float = 0.0
    warnings: tuple[str, ...] = ()
    balanced: bool = True
    contacts: Contacts | None = None

    @property
    def inputs(self) -> dict[str, Any]:
        """Inputs for which it was computed."""
        return self.equations.given_inputs

    @property
    def parameters(self) -> dict[str, float]:
        """Parameters for which it was computed."""
        return self.equations.given_parameters

    @property
    def state(self) -> State:
        """The pose as a state at rest."""
        rates = np.zeros(len(self.equations.rates))
        return State(self.q, rates, self.time, self.multipliers, contacts=self.contacts)

    @property
    def coordinates(self) -> dict[str, float]:
        """Positions by name."""
        return dict(zip(self.equations.coordinates, self.q.tolist(), strict=True))

    @property
    def frames(self) -> dict[str, FrameMotion]:
        """Frames by name."""
        return self.equations.frames(self.q)

    @property
    def outputs(self) -> dict[str, Any]:
        """The model's outputs by name."""
        bound = with_remembered(self.equations.binding, self.state)
        zero = np.zeros(bound.nv)
        return evaluate_outputs(self.equations.model, bound, self.time, self.q, zero, zero, self.multipliers, 0.0)

    def __repr__(self) -> str:
        rows = coordinate_rows(self.equations.model, self.q)
        values = ", ".join(f"{row.name} = {row.value}" for row in rows[:8])
        held = ", ".join(" ".join((name, "=", *value)).strip() for name, *value in self.input_rows)
        inputs = f"; inputs: {held}" if held else ""
        first = f"Equilibrium ({self.status}, stable: {self.stable}, residual {self.residual:.2g}): {values}{inputs}"
        return with_remarks(first, self.warnings)

    @property
    def input_rows(self) -> list[tuple[str, str, str]]:
        """Name, value and unit of the inputs for which it was computed, if they replace those of the model."""
        environment = self.equations.model.environment
        rows = []
        for name, value in self.equations.input_values(self.time).items():
            if name in self.inputs:
                unit = unit_after_value(environment.dimension(name)).strip()
                rows.append((name, f"{value:.6g}", unit))
        return rows

    def _repr_html_(self) -> str:
        return str(called("Equilibrium.html", self))


def state_at(eqs: Equations, given: Start, time: float, *, where: str, unstable: bool = False) -> State:
    """The state specified by a caller, including "equilibrium"; `unstable`: also if no stable equilibrium was found."""
    if not isinstance(given, str) or given != EQUILIBRIUM:
        return given_state(eqs, given, time, where=where)
    found = equilibrium(eqs, time=number("time", time), on_failure="return")
    if found.status != Status.CONVERGED and not (unstable and found.balanced):
        raise AnalysisFailed(f"{found.message}; or give the state 'initial' as {where}", found)
    return found.state


def about(
    eqs: Equations, at: Start, inputs: InputValues | None, parameters: Values | None, time: float | None
) -> tuple[Equations, State, float]:
    """Equations, state and time [s] of an analysis about a state: the inputs and parameters of an `Equilibrium` are used if none
    are given, and the time of a state."""
    if isinstance(at, Equilibrium):
        inputs = at.inputs if inputs is None else inputs
        parameters = at.parameters if parameters is None else parameters
    known = at.t if isinstance(at, State) else getattr(getattr(at, "state", None), "t", 0.0)
    here = inputs_at_time(eqs, inputs, parameters, known if time is None else time)
    eqs = eqs.at(inputs=here, parameters=parameters)
    state = state_at(eqs, at, 0.0 if time is None else time, where="at", unstable=True)
    return eqs, state, state.t if time is None else time


@known_keywords
@on_one_blas_thread
def equilibrium(
    eqs: Equations,
    *,
    start: Start = "initial",
    inputs: InputValues | None = None,
    parameters: Values | None = None,
    time: float = 0.0,
    tolerance: float = 1e-10,
    stability: Literal["stable", "any"] = "stable",
    timeout: float | None = None,
    on_failure: Literal["raise", "return"] = "raise",
) -> Equilibrium:
    """The stable equilibrium that the robot reaches from `start`: "initial", a State or an object with one, positions, or
    coordinates by name.

    Args:
        time: at which inputs are read [s]. Prescribed positions have their values then; a prescribed rate or acceleration leaves
            its components where `start` has them.
        tolerance: largest accepted unbalanced force, relative to the acting forces.
        stability: "any" accepts the nearest equilibrium even if it is unstable, for instance to stabilize it by a controller.
        timeout: seconds of real time after which the search ends and counts as failed.
        on_failure: "return" returns the last pose if no stable one was found, instead of raising AnalysisFailed with it.
    """
    need_equations(eqs)
    eqs = eqs.at(inputs=inputs_at_time(eqs, inputs, parameters, time), parameters=parameters)
    positive("tolerance", tolerance)
    choice("stability", stability, ("stable", "any"))
    choice("on_failure", on_failure, ("raise", "return"))
    begin = given_state(eqs, start, time, where="start")
    q = np.array(begin.q)
    made = assemble(eqs, eqs.binding, time, q, np.zeros(len(eqs.rates)), begin.given.at_rest())
    bound = from_here(with_remembered(made.bound, begin), time, made.q)
    with time_limit(None if timeout is None else positive("timeout", timeout)):
        rest = _search(eqs, StaticEquations(bound, time, tolerance), made, q, stable=stability == "stable")
        late = "" if rest.in_balance else time_is_up()
    bound = rest.bound
    touching = contacts_at_rest(bound, time, rest.q)
    driven = driven_words(eqs, made, time)
    at = StaticEquations(bound, time, tolerance).linearized(rest.q, rest.multipliers)
    judged = judge(at) or judge_large(at)
    warnings = [
        *made.messages,
        *([f"prescribed motions are held at their values at t = {time:g} s: {driven}"] if driven else []),
        *negative_tension_warnings(eqs.model, bound.signals(time)[1]),
        *beyond_limits(eqs.model, bound, time),
    ]
    if rest.pushed:
        warnings.append(_pushed(eqs, rest.pushed[-1]))
    if rest.met and rest.in_balance:
        warnings.append(_went_through(rest.met))
    warnings += [*range_warnings(eqs.model, bound, rest.q[None]), *friction_remarks(eqs.model)]
    warnings += [*undetermined_reactions(eqs.model, bound), *crossing_notes(bound, time, rest.q)]
    if rest.in_balance:
        warnings += rest_remarks(bound, time, rest.q, touching)
    stable, stiffness = (None, None) if judged is None else (judged.stable, judged.lowest)
    held = stable is False and held_by_damping(at)
    if held:
        stable = None
        warnings.append(
            f"the model has no damping; without any {judged.remark if judged else ''}, but one percent of damping "
            "stabilizes the pose"
        )
    found = rest.in_balance and (stable is not False or stability == "any")
    first = _found(judged, rest.iterations, held) if rest.in_balance else _not_found(eqs, at.residual, rest, touching)
    if late:
        first = f"{late}: {first}"
    if rest.in_balance and not found:
        first += ". No stable pose was found from here: start elsewhere, or accept this one with stability='any'"
    result = Equilibrium(
        Status.CONVERGED if found else Status.FAILED, "; ".join([first, *warnings]), rest.q, rest.multipliers,
        float(np.max(np.abs(at.residual), initial=0.0)), stable, stiffness, rest.iterations, eqs, time, tuple(warnings),
        rest.in_balance, touching,
    )  # fmt: skip
    return unless_failed(result, on_failure)


SHORT_REACH = 0.25
"""Factor on the maximum step of a second search."""


def _search(
    eqs: Equations, statics: StaticEquations, made: AssembledState, q: np.ndarray, *, stable: bool
) -> RelaxationResult:
    """The equilibrium reached from a start. The result for rods depends on how their ends were brought together, so open
    constraints are closed gradually, and at once only if that fails. If no equilibrium is found, the search is repeated with
    short steps, and finally with steps that may pass through surfaces."""
    carried = CarriedSections(eqs.model)
    starts = [q, made.q] if eqs.model.spec.rods and made.gap else [made.q]
    iterations = 0
    searches = [*((x, 1.0, False) for x in starts), (starts[0], SHORT_REACH, False), *((x, 1.0, True) for x in starts)]
    blocked = False
    for begin, reach, passing in searches:
        if passing and not blocked:
            break
        # the memory of contacts depends on the path of a search
        fresh = StaticEquations(statics.bound, statics.t, statics.tolerance)
        rest = Relaxation(fresh, carried, stable=stable, reach=reach, passing=passing).run(begin)
        iterations += rest.iterations
        blocked = blocked or bool(rest.met)
        if not passing:
            rest = replace(rest, met=())
        if (rest.in_balance and not rest.gives_way) or _still_slides(rest, statics.t) or time_is_up():
            break
    return replace(rest, iterations=iterations)


def _still_slides(rest: RelaxationResult, t: float) -> bool:
    """Whether a search ended while contacts were sliding; shorter steps would slide as well, only more slowly."""
    if rest.in_balance or rest.away:
        return False
    touching = contacts_at_rest(rest.bound, t, rest.q)
    return touching is not None and not np.all(touching.sticks)


def driven_words(eqs: Equations, made: AssembledState, t: float) -> str:
    """Words on prescribed motions that have a rate or an acceleration at time t [s], which an equilibrium does not have."""
    what, values, names = "is driven at", made.v, eqs.rates
    if not np.any(values):
        accelerations, signals = made.bound.signal_rates(t)[1], np.array(eqs.model.system.row_signals(), dtype=int)
        rows = np.flatnonzero((signals >= 0) & made.bound.active_rows)
        what, values, names = "is accelerated at", np.zeros(len(signals)), eqs.constraint_names
        values[rows] = accelerations[signals[rows]]
    if not np.any(values):
        return ""
    k = int(np.argmax(np.abs(values)))
    return f"'{names[k]}' {what} {values[k]:.3g} (SI units) then, and forces caused by this motion are not included"


def _pushed(eqs: Equations, rate: int) -> str:
    return (
        f"the search passed an unstable pose (buckled, or upright) and left it to the side on which '{eqs.rates[rate]}' "
        "grows; add an imperfection to the model to select the side, or follow both with `continuation`"
    )


def _went_through(met: tuple[tuple[str, str], ...]) -> str:
    pairs = enumeration([f"{a} and {b}" if a != b else f"{a} and itself" for a, b in met], 3, "pairs")
    return (
        f"the search found a rest only by passing through surfaces ({pairs}); a motion may be stopped there: "
        "simulate it, or start from a pose on the right side"
    )


def _found(judged: Stability | None, iterations: int, held: bool) -> str:
    stable = None if judged is None else judged.stable
    kind = {True: "stable", False: "unstable", None: "of unknown stability"}[stable]
    if judged is not None and stable is None and judged.lowest is not None:
        kind = "neutral (it can drift without force)"
    plural = "" if iterations == 1 else "s"
    if held:
        return f"equilibrium found in {iterations} iteration{plural}; it is stable with a little damping"
    why = f": {judged.remark}" if judged is not None and judged.remark else ""
    return f"equilibrium found in {iterations} iteration{plural}; it is {kind}{why}"


def _not_found(eqs: Equations, residual: np.ndarray, rest: RelaxationResult, touching: Contacts | None) -> str:
    k = int(np.argmax(np.abs(eqs.binding.sizes(rest.q)[1] * residual))) if len(residual) else 0
    worst, size = (eqs.rates[k], abs(residual[k])) if len(residual) else ("", 0.0)
    first = (
        f"no equilibrium found: a force of {size:.3g} on '{worst}' remains unbalanced after {rest.iterations} "
        "iterations. "
    )
    if sliding := sliding_words(touching):
        return f"{first}{sliding[0].upper()}{sliding[1:]}. Increase its `friction`, or start closer to an equilibrium."
    if rest.away:
        grounded = touching is not None
        ground = "touches nothing" if grounded else "is not supported"
        advice = "move its surfaces" if grounded else "add springs, stops, or `surfaces` with `contacts`"
        return (
            f"{first}The robot has no equilibrium: it moves away indefinitely and {ground}: {advice}, or start closer "
            "to an equilibrium."
        )
    return f"{first}The robot may have no equilibrium (add springs or stops), or the start is too far from one."


@known_keywords
@on_one_blas_thread
def equilibria(
    eqs: Equations,
    *,
    starts: int = 20,
    spread: float = 1.0,
    seed: int = 0,
    start: Start = "initial",
    inputs: InputValues | None = None,
    parameters: Values | None = None,
    time: float = 0.0,
    tolerance: float = 1e-10,
    stability: Literal["stable", "any"] = "stable",
) -> list[Equilibrium]:
    """Different equilibria found from `start` and from random poses around it, stable ones first.

    `spread`: standard deviation of the random increments, as a fraction of the robot's size or in rad. The other arguments are as
    in `equilibrium`; unstable poses are included with `stability="any"`.
    """
    need_equations(eqs)
    starts = whole("starts", starts, least=1, most=1_000_000)
    choice("stability", stability, ("stable", "any"))
    number("spread", spread, at_least=0)
    seed = whole("seed", seed, least=0)
    rng = np.random.default_rng(seed)
    eqs = eqs.at(inputs=inputs_at_time(eqs, inputs, parameters, time), parameters=parameters)
    first = given_state(eqs, start, time, where="start").q
    still = np.zeros(len(eqs.rates))
    bound = eqs.binding.with_series(followed_positions(eqs.model, eqs.binding, time, first, still))
    found: list[Equilibrium] = []
    size, sizes = bound.sizes(first)
    wanted: tuple[Literal["stable", "any"], ...] = ("stable",) if stability == "stable" else ("stable", "any")
    for k in range(starts):
        increment = np.zeros(bound.nv) if k == 0 else sizes * rng.normal(scale=spread, size=bound.nv)
        for which in wanted:
            try:
                begin = bound.increment(first, increment)
                if eqs.model.followed:  # a prescribed rate or acceleration leaves its components where `start` has them
                    begin = assemble(eqs, bound, time, begin, still).q
                result = equilibrium(eqs, start=begin, time=time, tolerance=tolerance, stability=which)
            except RuntimeError:
                continue
            poses = bound.node_poses(result.q)
            if not any(_same_pose(poses, bound.node_poses(other.q), size) for other in found):
                found.append(result)
    return sorted(found, key=lambda e: not e.stable)


def _same_pose(a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray], size: float) -> bool:
    return bool(np.allclose(a[0], b[0], atol=1e-5) and np.allclose(a[1], b[1], atol=1e-6 * size))
