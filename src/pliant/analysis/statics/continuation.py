"""Numerical continuation of equilibria in a parameter, through limit points and bifurcations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any, Literal

import numpy as np

from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.analysis.numerics.result import Timing
from pliant.analysis.numerics.state import EQUILIBRIUM, Start, assemble, given_state
from pliant.analysis.numerics.status import Status
from pliant.analysis.remarks.input_limits import beyond_limits
from pliant.analysis.remarks.validity import friction_remarks
from pliant.analysis.statics.arc_length import ArcLengthStatics, Direction, EquilibriumPoint
from pliant.analysis.statics.equilibrium import equilibrium
from pliant.analysis.statics.path import Path, PathPoint
from pliant.analysis.statics.path_dataset import record_path
from pliant.analysis.statics.path_following import MAX_STEP, Branch, PathFollower
from pliant.analysis.statics.path_parameter import PathParameter
from pliant.engine.contacts import from_here
from pliant.engine.core import check_names
from pliant.engine.equations import Equations, InputValues, Values, need_equations
from pliant.engine.input_values import inputs_at_time
from pliant.engine.model.model import SI_HINT
from pliant.engine.state import State
from pliant.language.arguments import ArgumentError, is_number, known_keywords, mapping, number, positive, whole
from pliant.language.message_text import describe

# Number of load steps in which an imperfection is applied if it moves the start far.
PUSH_STAGES = 10


@known_keywords
@on_one_blas_thread
def continuation(
    eqs: Equations,
    *,
    parameter: str,
    to: float,
    start: Start = "equilibrium",
    branch: Literal[1, -1] | None = None,
    mode: int = 1,
    by: str | None = None,
    imperfection: Mapping[str, float] | None = None,
    stop: Mapping[str, float] | None = None,
    reverse: bool = False,
    inputs: InputValues | None = None,
    parameters: Values | None = None,
    time: float = 0.0,
    max_points: int = 500,
    max_step: float = MAX_STEP,
    tolerance: float = 1e-10,
) -> Path:
    """Path of equilibria while `parameter` (a parameter or input of the model) changes to the value `to` [SI units].

    Arc-length continuation passes limit points, where the parameter reverses, and bifurcations. Both are located and reported,
    with the directions that lose their stiffness.

    Args:
        start: start of the path: the model's "equilibrium", a pose near one ("initial", a State, positions, coordinates by
            name), or a point of another path (which is continued in its direction, or backward with `reverse`; a point of a
            path in another parameter is only the pose where this one begins).
        branch: leave the path at a bifurcation, to the side on which the output `by` (or the coordinate that moves most, which
            `SpecialPoint.moves` names) grows (1) or falls (-1).
        mode: which loss of stiffness along the path to branch off at, from 1; the start itself if it is a bifurcation.
        imperfection: small generalized forces [N or N m] by rate name that act along the entire path; bifurcations of a perfect
            robot become smooth turns to their side.
        time: at which inputs are evaluated [s].
        stop: values of outputs, their components (`tip.x`) or coordinates at which the path ends.
        max_points: maximum number of points.
        max_step: longest step: 1 is a motion by the robot's size, or the entire range of the parameter.
        tolerance: largest accepted unbalanced force, relative to the acting forces.
    """
    begin, t = perf_counter(), time
    need_equations(eqs)
    leave = _branch(branch, mode, by)
    imperfection, stop = mapping("imperfection", imperfection), mapping("stop", stop)
    for name, value in stop.items():
        number(f"stop: '{name}'", value, hint=SI_HINT)
    number("to", to, hint=SI_HINT)
    max_points = whole("max_points", max_points, least=2)
    positive("max_step", max_step)
    positive("tolerance", tolerance)
    eqs = eqs.at(inputs=inputs_at_time(eqs, inputs, parameters, t), parameters=parameters)
    loading = PathParameter(eqs, parameter, 1.0)
    eqs.check_values({parameter: to})
    if isinstance(start, PathPoint) and start.parameter != parameter:
        start = _pose_of(eqs, start, t, reverse)
    first = start.value if isinstance(start, PathPoint) else loading.initial(t)
    if first == to:
        raise ArgumentError(f"'{parameter}' is {to:g} already; give another target value")
    loading.scale = abs(to - first)
    place, statics, notes = _first_place(eqs, loading, first, start, imperfection, t, tolerance, to, reverse)
    follower = PathFollower(
        eqs, statics, to, first, t, branch=leave, stop=stop, max_points=max_points, max_step=max_step
    )
    if place is None:
        status, message = Status.FAILED, notes.pop(0)
    else:
        status, message = follower.run(place, start if isinstance(start, PathPoint) else None)
    timing = Timing(
        eqs.derive_seconds, eqs.binding.program.compile_seconds, perf_counter() - begin, len(follower.record.places),
        follower.rejected, follower.tried,
    )  # fmt: skip
    return record_path(eqs, statics, follower.record, status, message, tuple(notes), timing, loading, t)


def _pose_of(eqs: Equations, point: PathPoint, t: float, reverse: bool) -> State:
    """The pose of a point of a path in another parameter, which must have the same value here."""
    if reverse:
        raise ArgumentError(
            f"the start is a point of a path in '{point.parameter}', which has no direction in another parameter",
            "omit reverse",
        )
    here = PathParameter(eqs, point.parameter, 1.0).initial(t)
    if abs(here - point.value) > 1e-9 * max(abs(here), abs(point.value)):
        given = "input" if point.parameter in eqs.inputs else "parameter"
        raise ArgumentError(
            f"the start is a point of a path at '{point.parameter}' = {point.value:g}, but this path has {here:g}",
            f"give the {given} {point.parameter} = {point.value!r}",
        )
    return point.state


def _branch(branch: Any, mode: int, by: str | None) -> Branch | None:
    whole("the mode of a branch", mode, least=1)
    if branch is None and (by is not None or mode != 1):
        raise ArgumentError("mode and by apply to a branch only", "add branch: +1 or -1")
    if branch is not None and not (is_number(branch) and branch in (1, -1)):
        raise ArgumentError(
            f"branch must be the side +1 or -1, not {describe(branch)}", "use it with mode=1, by='output'"
        )
    return None if branch is None else Branch(mode, branch, by)


def _pushed(
    statics: ArcLengthStatics, q: np.ndarray, multipliers: np.ndarray, value: float, push: np.ndarray
) -> EquilibriumPoint | None:
    """The pose under an imperfection that is not small: applied in load steps at a fixed value of the parameter."""
    fixed = Direction(np.zeros(len(push)), np.zeros(len(multipliers)), statics.loading.scale)
    place = None
    for share in np.linspace(0, 1, PUSH_STAGES + 1)[1:]:
        statics.push(share * push)
        statics.apply(value)
        metric = statics.metric(statics.linearized(q, multipliers))
        place = statics.correct(q, multipliers, value, fixed, metric, patient=True)
        if place is None:
            return None
        q, multipliers = place.q, place.multipliers
    return place


def _first_place(
    eqs: Equations, loading: PathParameter, first: float, start: Start,
    imperfection: Mapping[str, float], t: float, tolerance: float, to: float, reverse: bool,
) -> tuple[EquilibriumPoint | None, ArcLengthStatics, list[str]]:  # fmt: skip
    """The first point of the path with its tangent; None, with the reason as the first note, if there is none."""
    eqs = loading.equations(first)
    push = np.zeros(len(eqs.rates))
    for name, force in imperfection.items():
        check_names("rate", [name], eqs.rates)
        push[eqs.rates.index(name)] = number(f"the imperfection on '{name}'", force, hint=SI_HINT)
    at_rest = start is None or (isinstance(start, str) and start == EQUILIBRIUM)
    state = given_state(eqs, "initial" if at_rest else start, t, where="start")
    made = assemble(eqs, eqs.binding, t, state.q, np.zeros(len(eqs.rates)), state.given.at_rest())
    bound, q, multipliers, touching = made.bound, made.q, state.multipliers, state.contacts
    notes = [*made.messages, *friction_remarks(eqs.model), *beyond_limits(eqs.model, bound, t)]
    statics = ArcLengthStatics(bound, t, tolerance, loading, bound.sizes(q)[0])
    statics.push(push)
    fixed = Direction(np.zeros(bound.nv), np.zeros(bound.m), loading.scale)
    if at_rest or len(multipliers) != bound.m:
        wanted: Literal["stable", "any"] = "stable" if at_rest else "any"
        rest = equilibrium(eqs, start=q, time=t, tolerance=tolerance, stability=wanted, on_failure="return")
        if not rest.balanced:
            return None, statics, [f"the path has no first point: {rest.message}"]
        if rest.status != Status.CONVERGED:
            notes.append("no stable equilibrium was found near the start: the path begins at an unstable one")
        q, multipliers, touching = rest.q, rest.multipliers, rest.contacts
    if bound.system.contacts.laws:
        rows = None if touching is None else touching.rows
        statics.bound = from_here(statics.bound, t, q) if rows is None else statics.bound.with_contacts(rows, since=q)
    statics.apply(first)
    metric = statics.metric(statics.linearized(q, multipliers))
    place = statics.correct(q, multipliers, first, fixed, metric, patient=True)
    if place is None and push.any():
        place = _pushed(statics, q, multipliers, first, push)
    if place is not None:
        place = replace(place, value=first)  # the corrections are across it, up to round-off
    way = Direction(fixed.q, fixed.multipliers, np.sign(to - first) * loading.scale)
    if isinstance(start, PathPoint):
        way = Direction(*start.tangent).times(-1.0 if reverse else 1.0)
        if place is None:
            place = statics.correct(q, multipliers, first, way, metric, patient=True)
    if place is None:
        if at_rest:
            pushed = " with the imperfection; make it smaller, or" if push.any() else ";"
            reason = (
                f"no equilibrium was found at the start{pushed} start from a pose near one, or a point of another path."
            )
        else:
            reason = "no equilibrium was found near the start. Start from an equilibrium (the default), or a point of another path."
        return None, statics, [reason]
    place = statics.with_tangent(place, way)
    if place is None:
        reason = (
            f"the start has no neighbouring equilibria: no motion of the robot balances a change of '{loading.name}'. Hold the "
            "coordinates that it drives, by springs or prescribed motions."
        )
        return None, statics, [reason]
    return place, statics, notes
