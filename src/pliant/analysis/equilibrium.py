"""Static equilibria: poses without unbalanced force, and their stability."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from pliant.analysis.base import Analysis, PoseGiven, PureNumber, Seconds, function_of
from pliant.analysis.numerics.labelled_arrays import Variable
from pliant.analysis.numerics.state import assemble, driven_words, given_state, moved_onto_constraints
from pliant.analysis.numerics.status import Status
from pliant.analysis.remark import RemarkRule, remark
from pliant.analysis.remarks.contact_remarks import friction_supports, overlapping_parts, sliding_words
from pliant.analysis.remarks.input_limits import inputs_beyond_limits
from pliant.analysis.remarks.validity import (
    beyond_range,
    friction_of_tendons_at_rest,
    reactions_not_unique,
    slack_tendons,
)
from pliant.analysis.result import Along, AnalysisResult, Picture, Plot, Poses, Profile, Sheet, first_rows, number_text
from pliant.analysis.statics.relaxation import RelaxationResult, search
from pliant.analysis.statics.stability import Stability, held_by_damping, judge, judge_large
from pliant.analysis.statics.static_equations import StaticEquations
from pliant.engine.contacts import Contacts, contacts_at_rest, from_here
from pliant.engine.equations import Equations, with_remembered
from pliant.engine.frames import FrameMotion
from pliant.engine.input_values import inputs_at_time
from pliant.engine.model.model import Model
from pliant.engine.outputs import evaluate_outputs, output_axes, output_units
from pliant.engine.state import State
from pliant.language.base import Problem, positive
from pliant.language.limits import time_is_up
from pliant.language.message_text import enumeration, unit_after_value
from pliant.language.recording import heading

FEW = 12
"""Robots with at most this many coordinates have one row for each."""
MOST_GROUPS = 24
"""With more groups, each rod or mesh has one row."""


@dataclass(frozen=True)
class CoordinateRow:
    """A row: a name, or the first and the last name of a group; the SI unit (empty if none); a value, or the range of a group."""

    name: str
    unit: str
    value: str
    count: int = 1


def coordinate_rows(model: Model, q: np.ndarray) -> list[CoordinateRow]:
    """The rows of a pose q."""
    named = [(name, "" if c.is_rotation else c.unit) for c in model.coordinates for name in c.q_names]
    every = [(name, unit, float(x)) for (name, unit), x in zip(named, q.tolist(), strict=True)]
    parts = {*model.spec.rods, *model.spec.meshes}
    if len(every) <= FEW:
        return [_row([one]) for one in every]
    own = [_row([one]) for one in every if one[0].partition(".")[0] not in parts]
    groups: dict[tuple[str, ...], list[tuple[str, str, float]]] = {}
    for one in every:
        part, _, label = one[0].partition(".")
        if part in parts:
            groups.setdefault((part, re.sub(r"\d+", "", label)), []).append(one)
    if len(groups) > MOST_GROUPS:
        whole: dict[str, int] = {}
        for (part, _), entries in groups.items():
            whole[part] = whole.get(part, 0) + len(entries)
        return own + [CoordinateRow(part, "", f"{count} coordinates", count) for part, count in whole.items()]
    return own + [_row(entries) for entries in groups.values()]


def _row(entries: Sequence[tuple[str, str, float]]) -> CoordinateRow:
    (name, unit, _), values = entries[0], [x for _, _, x in entries]
    low, high = (f"{x + 0.0:.6g}" for x in (min(values), max(values)))
    shown = f"{values[0]:.9g}" if len(entries) == 1 else low if low == high else f"{low} to {high}"
    name = name if len(entries) == 1 else f"{name} ... {entries[-1][0].partition('.')[2]}"
    return CoordinateRow(name, "" if unit in ("-", "") else unit, shown, len(entries))


PAIRS_SHOWN = 24
"""Number of coordinates of a short table."""


@dataclass(frozen=True, repr=False, eq=False)
class Equilibrium(AnalysisResult):
    """An equilibrium; if the search failed, its last pose.

    Attributes:
        q: positions by the order of `equations.coordinates`; `coordinates` has them by name.
        multipliers: constraint forces, one per constraint row [N or N m].
        residual: largest unbalanced generalized force [N or N m].
        stable: whether small disturbances decay; None if undetermined.
        stiffness: lowest eigenvalue of the stiffness on allowed motions [N/m or N m/rad, in mass-free metric].
        given: the pose from which the search began, before it was moved onto the constraints.
        time: at which inputs were evaluated [s].
        contacts: contacts with their friction memory; None if the robot has no contacts.
        balanced: whether all forces balance, stable or not.
        iterations: number of evaluations of the equations and their tangents.
        growth: how small disturbances grow, or what stabilizes the pose, where the stiffness alone does not decide.
        needs_damping: whether the pose is stable with one percent of damping only; the model has none.
        left: the rate along which the search left an unstable pose.
        crossed: pairs of surfaces through which the search passed.
    """

    q: Annotated[np.ndarray, Along("coordinate")]
    multipliers: Annotated[np.ndarray, Along("constraint", unit="N or N m")]
    residual: Annotated[float, Along(unit="N or N m")]
    stable: Annotated[bool | None, Along()]
    stiffness: Annotated[float | None, Along()]
    equations: Equations
    given: State | None = None
    time: float = 0.0
    contacts: Annotated[Contacts | None, Along("instant")] = None
    balanced: bool = True
    iterations: int = 0
    growth: str = ""
    needs_damping: bool = False
    left: str = ""
    crossed: Annotated[tuple[str, ...], Along("crossing")] = ()
    status: Status = Status.CONVERGED
    message: str = ""

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

    @cached_property
    def outputs(self) -> dict[str, Any]:
        """The model's outputs by name."""
        bound = with_remembered(self.equations.binding, self.state)
        zero = np.zeros(bound.nv)
        return evaluate_outputs(self.equations.model, bound, self.time, self.q, zero, zero, self.multipliers, 0.0)

    def derived(self) -> Iterator[tuple[str, Variable]]:
        """The outputs."""
        units = output_units(self.equations.model)
        for name, value in self.outputs.items():
            values = np.asarray(value, dtype=float)
            yield f"output.{name}", ((f"output.{name}.part",) * values.ndim, values, {"units": units[name]})

    def figures(self) -> tuple[Plot, ...]:
        """The robot at rest, and outputs along rods."""
        along = output_axes(self.equations.model, self.equations.binding)
        return (Picture("the robot at rest"), *(Profile(name) for name in along))

    def sheets(self) -> tuple[Sheet, ...]:
        """Inputs that replace those of the model, outputs and coordinates."""
        eqs, units = self.equations, output_units(self.equations.model)
        outputs = [(heading(name, units[name]), number_text(value)) for name, value in self.outputs.items()]
        rows = coordinate_rows(eqs.model, self.q)
        coordinates = [(heading(row.name, row.unit), row.value) for row in rows]
        if len(self.q) > sum(row.count == 1 for row in rows[:PAIRS_SHOWN]):
            coordinates.insert(PAIRS_SHOWN, ("...", f"{len(self.q)} in all: `coordinates`, --json"))
        balance = [("largest unbalanced force", f"{self.residual:.2g}")]
        tables = (("input", self.input_rows), ("output", outputs), ("coordinate", coordinates), ("", balance))
        return tuple(
            Sheet(
                (what, "value" if what else ""),
                tuple(pairs),
                first=first_rows(len(pairs), PAIRS_SHOWN + 1),
                words=f"{what}s",
            )
            for what, pairs in tables
            if pairs
        )

    @property
    def input_rows(self) -> list[tuple[str, str]]:
        """Name and value of the inputs for which it was computed, if they replace those of the model."""
        environment = self.equations.model.environment
        return [
            (name, f"{value:.6g}{unit_after_value(environment.dimension(name))}")
            for name, value in self.equations.input_values(self.time).items()
            if name in self.inputs
        ]

    def poses(self) -> Iterator[Poses]:
        """The pose."""
        yield Poses("at rest", self.q[None], np.zeros(1), self.time, contacts=(self.contacts,))

    def as_json(self) -> dict[str, Any]:
        """Its content as plain data, with the values of all inputs, the outputs and the frames."""
        frames = {name: {"position": f.position, "quaternion": f.quaternion} for name, f in self.frames.items()}
        inputs = self.equations.input_values(self.time)
        return super().as_json() | {"inputs": inputs, "outputs": self.outputs, "frames": frames}


# -- remarks -----------------------------------------------------------------------------------------------------------


@remark("a prescribed motion has a rate or an acceleration", "an equilibrium has none")
def prescribed_motions_held(eqs: Equations, result: Equilibrium) -> str | None:
    """Forces caused by prescribed motions are not part of an equilibrium."""
    driven = driven_words(eqs, result.assembled, result.time)
    return driven and f"prescribed motions are held at their values at t = {result.time:g} s: {driven}"


@remark("the search passed an unstable pose", "of several stable poses, the search selects one")
def left_unstable_pose(eqs: Equations, result: Equilibrium) -> str | None:
    """The side to which the search left an unstable pose."""
    if not result.left:
        return None
    return (
        f"the search passed an unstable pose (buckled, or upright) and left it to the side on which '{result.left}' "
        "grows; add an imperfection to the model to select the side, or follow both with `continuation`"
    )


@remark("no equilibrium was found without it", "a motion may be stopped by these surfaces")
def passed_through_surfaces(eqs: Equations, result: Equilibrium) -> str | None:
    """Pairs of surfaces through which the search passed."""
    if not result.crossed:
        return None
    return (
        f"the search found a rest only by passing through surfaces ({enumeration(result.crossed, 3, 'pairs')}); a motion may be "
        "stopped there: simulate it, or start from a pose on the right side"
    )


@remark("it grows without damping and decays with one percent of it", "real parts have at least one percent of damping")
def stable_with_damping(eqs: Equations, result: Equilibrium) -> str | None:
    """The pose is stable with light damping only."""
    if not result.needs_damping:
        return None
    return f"the model has no damping; without any {result.growth}, but one percent of damping stabilizes the pose"


class FindEquilibrium(Analysis):
    """Find an equilibrium and its stability: the stable equilibrium that the robot reaches from a pose.

    Prescribed positions have their values at the given time; a prescribed rate or acceleration leaves its components where the
    start has them.
    """

    name: ClassVar[str] = "equilibrium"
    title: ClassVar[str] = "Equilibrium"
    state: ClassVar[str] = "start"
    result: ClassVar[type[AnalysisResult]] = Equilibrium
    remarks: ClassVar[tuple[RemarkRule, ...]] = (
        moved_onto_constraints, prescribed_motions_held, slack_tendons, inputs_beyond_limits, left_unstable_pose,
        passed_through_surfaces, beyond_range, friction_of_tendons_at_rest, reactions_not_unique, overlapping_parts,
        friction_supports, stable_with_damping,
    )  # fmt: skip

    start: PoseGiven = "initial"
    """Pose from which the search starts: `initial`, or coordinates by name."""
    time: Seconds = 0
    """Time at which inputs are evaluated [s]."""
    tolerance: PureNumber = 1e-10
    """Largest accepted unbalanced force, relative to the acting forces [-]."""
    stability: Literal["stable", "any"] = "stable"
    """Requested equilibrium: a stable one (`stable`), or the nearest even if it is unstable (`any`), for instance to
    stabilize it by a controller."""

    def problems(self, value: Any) -> Iterator[Problem]:
        """Tolerances that are not positive."""
        yield from positive(self, value, "tolerance")

    def run(self, eqs: Equations) -> Equilibrium:
        """Search, and judge the stability of the pose."""
        t = self.time
        eqs = eqs.at(inputs=inputs_at_time(eqs, self.inputs, self.parameters, t), parameters=self.parameters)
        start = given_state(eqs, self.start, t, where="start")
        given = State(np.array(start.q), np.zeros(len(eqs.rates)), t, given=start.given.at_rest())
        made = assemble(eqs, eqs.binding, t, given.q, given.v, given.given)
        bound = from_here(with_remembered(made.bound, start), t, made.q)
        statics = StaticEquations(bound, t, self.tolerance)
        rest = search(eqs.model, statics, given.q, made, stable=self.stability == "stable")
        late = "" if rest.in_balance else time_is_up()
        contacts = contacts_at_rest(rest.bound, t, rest.q)
        pose = StaticEquations(rest.bound, t, self.tolerance).linearized(rest.q, rest.multipliers)
        judged = judge(pose) or judge_large(pose)
        needs_damping = judged is not None and judged.stable is False and held_by_damping(pose)
        stable = None if judged is None or needs_damping else judged.stable
        found = rest.in_balance and (stable is not False or self.stability == "any")
        if rest.in_balance:
            message = _kind_words(judged, rest.iterations, needs_damping)
        else:
            message = _failure_words(eqs, pose.residual, rest, contacts)
        if rest.in_balance and not found:
            message += ". No stable pose was found from here: start elsewhere, or accept this one with stability='any'"
        return Equilibrium(
            rest.q, rest.multipliers, float(np.max(np.abs(pose.residual), initial=0.0)), stable,
            None if judged is None else judged.lowest, eqs, given, t, contacts, rest.in_balance, rest.iterations,
            "" if judged is None else judged.growth, needs_damping, eqs.rates[rest.pushed[-1]] if rest.pushed else "",
            tuple(f"{a} and {b}" if a != b else f"{a} and itself" for a, b in rest.crossed) if rest.in_balance else (),
            Status.CONVERGED if found else Status.FAILED, f"{late}: {message}" if late else message,
        )  # fmt: skip


equilibrium = function_of(FindEquilibrium)


def _kind_words(judged: Stability | None, iterations: int, needs_damping: bool) -> str:
    """The message of an equilibrium: how stable it is."""
    first = f"equilibrium found in {iterations} iteration{'' if iterations == 1 else 's'}; it is"
    if needs_damping:
        return f"{first} stable with a little damping"
    stable = None if judged is None else judged.stable
    kind = {True: "stable", False: "unstable", None: "of unknown stability"}[stable]
    if judged is not None and stable is None and judged.lowest is not None:
        kind = "neutral (it can drift without force)"
    return f"{first} {kind}{f': {judged.growth}' if judged is not None and judged.growth else ''}"


def _failure_words(eqs: Equations, residual: np.ndarray, rest: RelaxationResult, contacts: Contacts | None) -> str:
    """The message of a search that found no equilibrium: what remains unbalanced, and what to do."""
    k = int(np.argmax(np.abs(eqs.binding.sizes(rest.q)[1] * residual))) if len(residual) else 0
    worst, size = (eqs.rates[k], abs(residual[k])) if len(residual) else ("", 0.0)
    first = (
        f"no equilibrium found: a force of {size:.3g} on '{worst}' remains unbalanced after {rest.iterations} "
        "iterations. "
    )
    if sliding := sliding_words(contacts):
        return f"{first}{sliding[0].upper()}{sliding[1:]}. Increase its `friction`, or start closer to an equilibrium."
    if rest.away:
        supported = contacts is None
        ground = "is not supported" if supported else "touches nothing"
        advice = "add springs, stops, or `surfaces` with `contacts`" if supported else "move its surfaces"
        return (
            f"{first}The robot has no equilibrium: it moves away indefinitely and {ground}: {advice}, or start closer "
            "to an equilibrium."
        )
    return f"{first}The robot may have no equilibrium (add springs or stops), or the start is too far from one."
