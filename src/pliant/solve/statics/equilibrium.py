"""Static equilibria: poses without unbalanced force, and their stability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.equations.binding import Binding
from pliant.equations.equations import Equations, InputValues, Values
from pliant.equations.frames import FrameMotion
from pliant.equations.outputs import evaluate_outputs
from pliant.equations.state import State
from pliant.language.arguments import ArgumentError, known_keywords, need_equations, number, positive, whole
from pliant.language.display import shown
from pliant.solve.blas_threads import on_one_blas_thread
from pliant.solve.options import EquilibriumOptions
from pliant.solve.state import EQUILIBRIUM, Start, assemble, given_state
from pliant.solve.statics.arc_length import robot_size
from pliant.solve.statics.homotopy import follow_homotopy
from pliant.solve.statics.newton import NewtonStatics
from pliant.solve.statics.stability import DENSE_UP_TO, Stability, judge, judge_large
from pliant.solve.status import Status
from pliant.solve.validity import negative_tension_warnings, range_warnings


@dataclass(frozen=True)
class Equilibrium:
    """A pose at rest.

    Attributes:
        status: converged or failed.
        message: what happened, and what to do.
        q: positions by the order of `coordinates`.
        multipliers: constraint forces, one per constraint row.
        residual: largest unbalanced generalized force [N or N m].
        stable: whether small disturbances die out; None where it could not be judged.
        stiffness: lowest eigenvalue of the stiffness on allowed motions [N/m or N m/rad, in mass-free metric].
        iterations: Newton steps.
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

    @property
    def inputs(self) -> dict[str, Any]:
        """Inputs that were given for it."""
        return self.equations.given_inputs

    @property
    def parameters(self) -> dict[str, float]:
        """Parameters that were given for it."""
        return self.equations.given_parameters

    @property
    def state(self) -> State:
        """The pose as a state at rest."""
        return State(self.q, np.zeros(len(self.equations.rates)), self.time, self.multipliers)

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
        bound = self.equations.binding
        zero = np.zeros(bound.nv)
        return evaluate_outputs(self.equations.model, bound, self.time, self.q, zero, zero, self.multipliers, 0.0)

    def __repr__(self) -> str:
        values = ", ".join(f"{name} = {value:.6g}" for name, value in list(self.coordinates.items())[:8])
        return f"Equilibrium ({self.status}, stable: {self.stable}, residual {self.residual:.2g}): {values}"

    def _repr_html_(self) -> str:
        return str(shown("Equilibrium.html", self))


def state_at(eqs: Equations, given: Start, time: float, *, where: str) -> State:
    """The state that a caller gives, which may be the equilibrium by name."""
    if not isinstance(given, str) or given != EQUILIBRIUM:
        return given_state(eqs, given, time, where=where)
    found = equilibrium(eqs, time=number("time", time))
    if found.status != Status.CONVERGED:
        raise ArgumentError(found.message, f"or give the state 'initial' as {where}")
    return found.state


def about(
    eqs: Equations, at: Start, inputs: InputValues | None, parameters: Values | None, time: float | None
) -> tuple[Equations, State, float]:
    """Equations, state and time [s] that an analysis works about: an `Equilibrium` brings its inputs and parameters along, where
    none are given, and a state its time."""
    if isinstance(at, Equilibrium):
        inputs = at.inputs if inputs is None else inputs
        parameters = at.parameters if parameters is None else parameters
    eqs = eqs.at(inputs=inputs, parameters=parameters)
    state = state_at(eqs, at, 0.0 if time is None else time, where="at")
    return eqs, state, state.t if time is None else time


@known_keywords(EquilibriumOptions.renamed)
@on_one_blas_thread
def equilibrium(
    eqs: Equations,
    *,
    start: Start = "initial",
    inputs: InputValues | None = None,
    parameters: Values | None = None,
    time: float = 0.0,
    tolerance: float = 1e-10,
    stay: bool = False,
) -> Equilibrium:
    """A pose at rest near `start`: "initial", a State or what has one, positions, or coordinates by name.

    Where the pose that balances all forces lacks stiffness, or none is found, loads and constraint gaps are applied along a
    path instead, which leaves the unstable pose as the robot would: where it loses its stiffness. A pose that flutters keeps
    its stiffness; no path leads away from it.

    `time`: at which inputs are read [s]. `tolerance`: largest unbalanced force accepted, relative to the forces in play. `stay`:
    keep a pose that lacks stiffness, as a controller can hold it.
    """
    need_equations(eqs)
    eqs = eqs.at(inputs=inputs, parameters=parameters)
    positive("tolerance", tolerance)
    begin = given_state(eqs, start, time, where="start")
    start_q = q = np.array(begin.q)
    t = time
    made = assemble(eqs, eqs.binding, t, q, np.zeros(len(eqs.rates)), begin.given.at_rest())
    bound = made.bound
    solver = NewtonStatics(bound, t, tolerance)
    notes = [*made.messages, *negative_tension_warnings(eqs.model, bound.signals(t)[1])]
    # what is soft remembers how its ends were brought together, so far ones are not put there at once
    squeezed = not stay and _is_squeezed(eqs, bound, start_q, made.gap)
    settled = follow_homotopy(eqs, bound, t, start_q, tolerance) if squeezed else None
    if settled is not None and settled.stable:
        q, multipliers, iterations, done = settled.q, settled.multipliers, settled.points, True
        notes += settled.notes
    else:
        q, multipliers, iterations, done = solver.solve(made.q, np.zeros(bound.m), 0.0)
        if not done:
            q, multipliers, more, done = solver.continuation(made.q)
            iterations += more
    if done:
        q, multipliers = solver.polish(q, multipliers)
    at = solver.linearized(q, multipliers)
    judged = judge(at) or judge_large(at)
    came = not stay and (iterations > 0 or bool(made.messages))
    gives_way = judged is not None and judged.stable is False and judged.conservative
    gives_way = gives_way and bound.nv <= DENSE_UP_TO
    if came and settled is None and (not done or gives_way):
        settled = follow_homotopy(eqs, bound, t, start_q, tolerance)
        if settled is not None and (settled.stable or not done):
            q, multipliers, done = settled.q, settled.multipliers, True
            iterations += settled.points
            notes += settled.notes
            at = solver.linearized(q, multipliers)
            judged = judge(at) or judge_large(at)
    residual = float(np.max(np.abs(at.residual), initial=0.0))
    stable, stiffness = (None, None) if judged is None else (judged.stable, judged.lowest)
    notes.insert(0, _found(judged, iterations) if done else _not_found(eqs, at.residual, iterations))
    notes += range_warnings(eqs.model, bound, q[None])
    status = Status.CONVERGED if done else Status.FAILED
    return Equilibrium(status, "; ".join(notes), q, multipliers, residual, stable, stiffness, iterations, eqs, t)


def _found(judged: Stability | None, iterations: int) -> str:
    stable = None if judged is None else judged.stable
    kind = {True: "stable", False: "unstable", None: "of unknown stability"}[stable]
    if judged is not None and stable is None and judged.lowest is not None:
        kind = "neutral (it can drift without force)"
    plural = "" if iterations == 1 else "s"
    why = f": {judged.remark}" if judged is not None and judged.remark else ""
    return f"equilibrium found in {iterations} iteration{plural}; it is {kind}{why}"


def _not_found(eqs: Equations, residual: np.ndarray, iterations: int) -> str:
    size = np.abs(residual)
    worst = eqs.rates[int(np.argmax(size))] if len(size) else ""
    return (
        f"no equilibrium found: a force of {size.max(initial=0.0):.3g} on '{worst}' stays unbalanced after {iterations} "
        "iterations. The robot may have no rest (add springs or stops), or start from a pose nearer to it."
    )


SQUEEZED = 1e-3
"""Constraints that are open by this share of the robot's size at the start squeeze or stretch what is soft."""


def _is_squeezed(eqs: Equations, bound: Binding, q: np.ndarray, gap: float) -> bool:
    """Whether closing the constraints deforms rods by much."""
    return bool(eqs.model.spec.rods) and gap > SQUEEZED * robot_size(bound.node_poses(q)[1])


@known_keywords(EquilibriumOptions.renamed)
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
    stay: bool = False,
) -> list[Equilibrium]:
    """Different equilibria found from `start` and from random poses around it.

    `spread`: standard deviation of the random increments [m or rad]. The others are those of `equilibrium`.
    """
    need_equations(eqs)
    whole("starts", starts, least=1)
    number("spread", spread, at_least=0)
    rng = np.random.default_rng(seed)
    eqs = eqs.at(inputs=inputs, parameters=parameters)
    bound, first = eqs.binding, given_state(eqs, start, time, where="start").q
    found: list[Equilibrium] = []
    for k in range(starts):
        increment = np.zeros(bound.nv) if k == 0 else rng.normal(scale=spread, size=bound.nv)
        try:
            begin = bound.increment(first, increment)
            result = equilibrium(eqs, start=begin, time=time, tolerance=tolerance, stay=stay)
        except RuntimeError:
            continue
        if result.status != Status.CONVERGED:
            continue
        poses = bound.node_poses(result.q)
        if not any(_same_pose(poses, bound.node_poses(other.q)) for other in found):
            found.append(result)
    return sorted(found, key=lambda e: not e.stable)


def _same_pose(a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]) -> bool:
    return bool(np.allclose(a[0], b[0], atol=1e-5) and np.allclose(a[1], b[1], atol=1e-6))
