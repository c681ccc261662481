"""Linear equations of motion about a state, in independent coordinates: A, B, C and D for control design."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from pliant.analysis.base import Analysis, CoordinateNames, Seconds, SignalNames, StateGiven, function_of, unknown_name
from pliant.analysis.linear.small_motion import (
    PrescribedMotions,
    at_rest,
    first_order,
    imbalance,
    kinked_pose,
    largest_force,
    unbalanced_pose,
    unsteadiness,
    with_contacts_from,
)
from pliant.analysis.numerics.configuration_group import ConfigurationGroup
from pliant.analysis.numerics.state import assemble, driven_words, moved_onto_constraints
from pliant.analysis.numerics.status import Status
from pliant.analysis.remark import remark
from pliant.analysis.remarks.contact_remarks import contacts_linearized
from pliant.analysis.remarks.input_limits import inputs_beyond_limits
from pliant.analysis.remarks.validity import friction_of_tendons_linearized
from pliant.analysis.result import Along, AnalysisResult, Sheet
from pliant.analysis.states import about
from pliant.engine.binding import Binding
from pliant.engine.contact_sums import carried_by_state, model_sums, sums_by_state
from pliant.engine.contacts import contacts_at
from pliant.engine.core import UnknownName, check_names
from pliant.engine.equations import Equations
from pliant.engine.model.model import Model
from pliant.engine.outputs import (
    carrying_nodes,
    energy_outputs,
    output_function,
    output_jacobians,
    output_names,
    output_parts,
)
from pliant.engine.state import State
from pliant.language.arguments import ArgumentError, name_tuple
from pliant.language.base import Problem
from pliant.language.message_text import enumeration
from pliant.language.names import with_repeated

FEW = 6
"""Numbers of names and eigenvalues that the text form of a linear system lists."""
MOST_ROWS = 12
"""Largest number of states of a system whose matrices are shown."""
ROUND_OFF = 1e-14
"""Numbers below this fraction of the largest of a matrix are shown as 0."""


def _named(what: str, given: str | Sequence[str], names: Sequence[str]) -> list[int]:
    """Indices of the signals with these names, of their components (`tip.x`) and of their instances (`pull[2]`)."""
    found: list[int] = []
    for name in name_tuple(given, f"the {what}s") or ():
        if what == "input":
            refuse_smooth(name, tuple(names))
        matches = [i for i, x in enumerate(names) if x == name or x.startswith((f"{name}.", f"{name}["))]
        if not matches:
            raise UnknownName(what, name, tuple(names))
        found += matches
    return found


@dataclass(frozen=True, repr=False, eq=False)
class StateSpace(AnalysisResult):
    """dx/dt = A x + B u, y = C x + D u for small changes about a state.

    x = (changes of the independent coordinates, changes of their rates). `states`, `inputs`, `outputs` name the rows and columns;
    `input_values` are the inputs at the state; `residual` is the largest acceleration there (zero at an equilibrium); `omitted`
    are outputs that have no derivative there; `given` is the requested state, before it was moved onto its constraints.

    Coordinates prescribed by inputs are states like others. An input that prescribes an acceleration is used unchanged. One that
    prescribes a position acts through its second derivative, which replaces it: `d2(u)/dt2`; one that prescribes a rate
    through its first: `d(u)/dt`.
    """

    plots = ("eigenvalues",)

    A: Annotated[np.ndarray, Along("state", "state_column")]
    B: Annotated[np.ndarray, Along("state", "linear_input")]
    C: Annotated[np.ndarray, Along("linear_output", "state_column")]
    D: Annotated[np.ndarray, Along("linear_output", "linear_input")]
    states: Annotated[tuple[str, ...], Along("state", labels=True)]
    inputs: Annotated[tuple[str, ...], Along("linear_input", labels=True)]
    outputs: Annotated[tuple[str, ...], Along("linear_output", labels=True)]
    independent: Annotated[tuple[str, ...], Along("independent", labels=True)]
    state: State
    input_values: Annotated[np.ndarray, Along("linear_input")]
    residual: Annotated[float, Along()]
    equations: Equations = None  # type: ignore[assignment]  # a system may also be written down
    omitted: Annotated[tuple[str, ...], Along("omitted")] = ()
    given: State | None = None
    status: Status = Status.COMPLETED
    message: str = ""

    def labels(self) -> dict[str, tuple[str, ...]]:
        """The states, also along the columns."""
        return {"state_column": self.states}

    def sheets(self) -> list[Sheet]:
        """Names and eigenvalues; the matrices of small systems."""
        sizes = f"{len(self.states)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs"
        names: tuple[tuple[str, str], ...] = ()
        if self.equations is not None:
            names = (("linearized about", _listed(_pose(self.equations, self.state))),)
        names += tuple((what, _listed(getattr(self, what))) for what in ("states", "inputs", "outputs"))
        values = np.linalg.eigvals(self.A) if self.A.size else np.zeros(0)
        values = values[(values.imag >= 0) & (np.abs(values) < np.inf)]
        slow = values[np.argsort(np.abs(values), kind="stable")]
        names += (("eigenvalues [1/s]", _listed([_eigenvalue(x) for x in slow])),)
        if len(slow) > FEW:
            ratio = slow.real / np.maximum(np.abs(slow), 1e-300)
            least = slow[np.argsort(-ratio, kind="stable")][:FEW]
            names += (("least damped", ", ".join(_eigenvalue(x) for x in least)),)
        if len(self.A) > MOST_ROWS:
            names += (("matrices", "attributes A, B, C and D; --json and --out FILE have the numbers"),)
        made = [Sheet(("", ""), names, title=sizes)]
        for what in ("states", "inputs", "outputs"):
            rows = tuple((name,) for name in getattr(self, what))
            made.append(Sheet((what,), rows, words=what, where="page"))
        pairs = tuple((f"{x.real:.6g}", f"± {x.imag:.6g}" if x.imag else "0") for x in slow)
        made.append(Sheet(("real part [1/s]", "imaginary part [1/s]"), pairs, words="eigenvalues", where="page"))
        if len(self.A) <= MOST_ROWS:
            sides = {"A": (self.states, self.states), "B": (self.states, self.inputs)}
            sides |= {"C": (self.outputs, self.states), "D": (self.outputs, self.inputs)}
            for letter, (down, across) in sides.items():
                matrix = without_round_off(getattr(self, letter))
                if matrix.size:
                    lines = tuple((name, *(f"{x:.6g}" for x in row)) for name, row in zip(down, matrix, strict=True))
                    made.append(Sheet((letter, *across), lines, where="command"))
        return made

    def select(
        self, inputs: str | Sequence[str] | None = None, outputs: str | Sequence[str] | None = None
    ) -> StateSpace:
        """The same system with some of its inputs and outputs. An output's name takes all its components, and the name of a
        repeated input or output all its instances."""
        columns = list(range(len(self.inputs))) if inputs is None else _named("input", inputs, self.inputs)
        rows = list(range(len(self.outputs))) if outputs is None else _named("output", outputs, self.outputs)
        return replace(
            self, B=self.B[:, columns], C=self.C[rows], D=self.D[np.ix_(rows, columns)],
            inputs=tuple(self.inputs[i] for i in columns), input_values=self.input_values[columns],
            outputs=tuple(self.outputs[i] for i in rows),
        )  # fmt: skip

    def to_control(self) -> Any:
        """The same as a `control.StateSpace` with named signals."""
        import control

        def allowed(names: tuple[str, ...]) -> list[str]:
            return [name.replace(".", "_") for name in names]  # python-control keeps the dot for itself

        return control.ss(
            self.A, self.B, self.C, self.D,
            states=allowed(self.states), inputs=allowed(self.inputs), outputs=allowed(self.outputs),
        )  # fmt: skip


def _pose(eqs: Equations, state: State) -> list[str]:
    """Coordinates of a state, with units."""
    units = [entry.unit for entry in eqs.model.coordinates for _ in entry.q_names]
    return [
        f"{name} = {x:.9g}{'' if unit in ('', '-') else f' {unit}'}"
        for name, x, unit in zip(eqs.coordinates, state.q, units, strict=True)
    ]


def _eigenvalue(value: complex) -> str:
    return f"{value.real:.4g}" if value.imag == 0 else f"{value.real:.4g} ± {value.imag:.4g}i"


def _listed(names: Sequence[str]) -> str:
    return enumeration(names, FEW) or "none"


def refuse_smooth(name: str, inputs: tuple[str, ...]) -> None:
    """Raise an error that explains why an input that prescribes a position or a rate is not an input of a linear system."""
    for what, derivative in (("position", f"d2({name})/dt2"), ("rate", f"d({name})/dt")):
        if derivative in inputs:
            raise ArgumentError(
                f"the input '{name}' prescribes a {what}, so the linear system has its derivative '{derivative}' in its place; "
                f"for feedback, prescribe an acceleration in the model (a constraint with `acceleration: ={name}`)"
            )


def _indices(eqs: Equations, names: tuple[str, ...]) -> list[int]:
    check_names("coordinate", names, eqs.rates)
    return [eqs.rates.index(name) for name in names]


def _outputs(
    eqs: Equations, bound: Binding, t: float, q: np.ndarray, v: np.ndarray, a: np.ndarray, multipliers: np.ndarray,
    G: np.ndarray, P: np.ndarray, a_q: np.ndarray, a_v: np.ndarray, a_u: np.ndarray, multiplier_rows: np.ndarray, f: int,
    moved: PrescribedMotions,
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:  # fmt: skip
    """Names, C and D of the outputs."""
    model = eqs.model
    wanted = output_names(model)
    if len(energy_outputs(model)) == len(wanted):
        names = eqs.rates
        return names, np.hstack([G, np.zeros_like(G)]), np.zeros((len(names), a_u.shape[1]))
    signals, rates = bound.signals(t)[1], bound.signal_rates(t)[0]
    sums = model_sums(model, bound, [t], q, v).ravel()
    nodes = carrying_nodes(model)
    more = np.zeros(6 * len(nodes))
    d_q, d_v, d_a, d_l, d_s, d_c, d_w = (
        np.asarray(part)
        for part in output_jacobians(model).call([q, v, a, multipliers, bound.constants, signals, rates, sums, more])
    )
    touching_q, touching_v = sums_by_state(model, bound, t, q, v)
    # values that an output does not require may be NaN
    used = np.any(d_c != 0, axis=0)
    carried_q, carried_v = carried_by_state(bound, nodes, t, q, v)
    d_q = d_q @ ConfigurationGroup(model.system).rate_matrix(q) + d_c[:, used] @ touching_q[used] + d_w @ carried_q
    d_v = d_v + d_c[:, used] @ touching_v[used] + d_w @ carried_v
    by_y = (d_q + d_v @ P + d_s @ moved.signals @ moved.by_q) @ G + d_a @ a_q + d_l @ multiplier_rows[:, :f]
    by_r = d_v @ G + d_a @ a_v + d_l @ multiplier_rows[:, f : 2 * f]
    by_u = d_a @ a_u + d_l @ multiplier_rows[:, 2 * f :] + d_s @ moved.input_signals
    labels: list[str] = []
    rows: list[int] = []
    at = 0
    for i, name in enumerate(wanted):
        size = output_function(model).size1_out(i)
        at += size
        if name in energy_outputs(model):
            continue
        rows += range(at - size, at)
        labels += output_parts(model, name)
    return tuple(labels), np.hstack([by_y, by_r])[rows], by_u[rows]


def _smooth(names: tuple[str, ...], rows: np.ndarray, asked: tuple[str, ...] | None) -> list[int]:
    """Which outputs have derivatives in this state; an error for those requested by name, others are omitted."""
    rough = [name for name, row in zip(names, rows, strict=True) if not np.all(np.isfinite(row))]
    for name in rough:
        if asked is not None and (name in asked or name.rpartition(".")[0] in asked):
            raise ArgumentError(f"{_rough(name)}; use its components instead, or linearize about another state")
    return [i for i, name in enumerate(names) if name not in rough]


def _rough(name: str) -> str:
    return f"output '{name}' has no derivative in this state (the norm or the direction of a vector that is zero?)"


def without_round_off(values: np.ndarray) -> np.ndarray:
    """An array with 0 in place of numbers that are round-off of the largest."""
    size = np.abs(values)
    return np.where(size > ROUND_OFF * size.max(initial=0.0), values, 0.0)


# -- remarks -----------------------------------------------------------------------------------------------------------


@remark(
    "the state is driven, or moves but not steadily",
    "a linear system with constant matrices describes steady states only",
)
def momentary(eqs: Equations, result: StateSpace) -> str | None:
    """The linear system describes changes at the time of its state only."""
    given = result.given if result.given is not None else result.state
    t = result.state.t
    made = assemble(eqs, eqs.binding, t, np.array(given.q), np.array(given.v), given.given)
    made = with_contacts_from(made, given, t)
    if np.any(made.v):
        unsteady = unsteadiness(eqs, made, t)
        return (
            f"{unsteady}: the linear system describes changes of this motion near this state and time only"
            if unsteady
            else None
        )
    if unbalanced_pose(eqs, result):
        return None
    driven = driven_words(eqs, made, t)
    return (
        driven and f"{driven.partition(',')[0]}: the linear system describes changes of this motion at this time only"
    )


@remark("an output has no derivative in the state", "the derivative of a norm at zero does not exist")
def outputs_without_derivative(eqs: Equations, result: StateSpace) -> str | None:
    """Outputs that are omitted, because they have no derivative in the state."""
    return "; ".join(f"{_rough(name)} and is omitted" for name in result.omitted) or None


class Linearize(Analysis):
    """Linear equations of motion about a state, which may be moving: exact derivatives, in independent coordinates.

    With constraints, the state consists of independent coordinates. Coordinates prescribed by inputs are states, with their
    position and rate, and their acceleration is an input (see `StateSpace`). Outputs are those of the model, or all coordinates if
    it has none. The inputs and parameters of an `Equilibrium` are used if none are given.
    """

    name: ClassVar[str] = "linearize"
    title: ClassVar[str] = "Linear system"
    result = StateSpace
    remarks = (
        moved_onto_constraints, friction_of_tendons_linearized, contacts_linearized, inputs_beyond_limits, unbalanced_pose,
        kinked_pose, momentary, outputs_without_derivative,
    )  # fmt: skip

    at: StateGiven = "equilibrium"
    """State about which the equations are linearized: `equilibrium`, `initial`, or coordinates and rates by name."""
    time: Seconds | None = None
    """Time at which inputs are evaluated [s]; default: that of the state."""
    independent: CoordinateNames | None = None
    """Independent coordinates of a robot with closed loops; default: chosen for good conditioning."""
    input_names: SignalNames | None = None
    """Inputs to use; default: all."""
    output_names: SignalNames | None = None
    """Outputs to use; default: all that have a derivative in the state."""

    def faults(self, model: Model) -> Iterator[Problem]:
        """Names among the options that the robot does not have."""
        yield from super().faults(model)
        known = {"input": model.input_names, "output": output_names(model)}
        for what, names in known.items():
            for name in getattr(self, f"{what}_names") or ():
                bare = (
                    name.partition("(")[2].partition(")")[0] or name
                )  # d2(u)/dt2 of an input that prescribes a position
                if not {bare, bare.rpartition(".")[0]} & {*names, *with_repeated(names)}:
                    yield (f"{what}_names",), *unknown_name(what, name, names)

    def run(self, eqs: Equations) -> StateSpace:
        """Linearize, and eliminate dependent coordinates and constraint forces."""
        eqs, given, t = about(eqs, self.at, self.inputs, self.parameters, self.time)
        made = assemble(eqs, eqs.binding, t, np.array(given.q), np.array(given.v), given.given)
        made = with_contacts_from(made, given, t)
        bound, q, v = made.bound, made.q, made.v
        touching = contacts_at(bound, t, q, v) if bound.system.contacts.laws else None
        a, multipliers = bound.forward(t, q, v)
        residual = float(np.max(np.abs(a), initial=0.0))
        if not np.any(v):
            resting, rest = at_rest(bound, t, q)
            balanced = not imbalance(eqs, resting, forces=largest_force(bound, t, q))
            if balanced and not driven_words(eqs, made, t):  # drop the round-off accelerations
                a, multipliers = np.zeros(bound.nv), rest.multipliers
        state = State(q, v, t, multipliers, contacts=touching)
        linear = bound.linearized(t, q, v, a, multipliers)
        moved = PrescribedMotions(eqs, bound, state, linear, a)
        order = first_order(
            eqs, bound, state, a, linear, None if self.independent is None else _indices(eqs, self.independent), moved
        )
        chosen, G, P, by_q, by_v = order.chosen, order.G, order.P, order.by_q, order.by_v
        f, n, on = len(chosen), bound.nv, bound.active_rows
        by_u = np.linalg.solve(order.kkt, np.vstack([-moved.input_forces, moved.input_accelerations]))
        B = np.vstack([np.zeros((f, by_u.shape[1])), by_u[chosen]])
        full = np.zeros((eqs.model.system.rows, 2 * f + by_u.shape[1]))
        full[on] = np.hstack([by_q[n:], by_v[n:], by_u[n:]])
        changes = (by_q[:n], by_v[:n], by_u[:n])
        names, out_C, out_D = _outputs(eqs, bound, t, q, v, a, multipliers, G, P, *changes, full, f, moved)
        smooth = _smooth(names, np.hstack([out_C, out_D]), self.output_names)
        omitted = tuple(name for i, name in enumerate(names) if i not in smooth)
        names, out_C, out_D = tuple(names[i] for i in smooth), out_C[smooth], out_D[smooth]
        labels = tuple(eqs.rates[i] for i in chosen)
        space = StateSpace(
            order.A, B, out_C, out_D, labels + tuple(f"d({x})/dt" for x in labels), moved.names, names, labels,
            state, moved.input_values, residual, eqs, omitted, given,
        )  # fmt: skip
        return space.select(self.input_names, self.output_names)


linearize = function_of(Linearize)
