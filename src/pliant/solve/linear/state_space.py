"""Linearized equations of motion about a state in independent coordinates, for control design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pliant.equations.binding import Binding
from pliant.equations.contact_sums import carried_by_state, model_sums, sums_by_state
from pliant.equations.contacts import contacts_at
from pliant.equations.core import UnknownName, check_names
from pliant.equations.equations import Equations, InputValues, Values
from pliant.equations.outputs import (
    carrying_nodes,
    energy_outputs,
    output_function,
    output_jacobians,
    output_names,
    output_parts,
)
from pliant.equations.state import State
from pliant.language.arguments import ArgumentError, known_keywords, name_tuple, need_equations
from pliant.language.display import shown, with_remarks
from pliant.language.message_text import enumeration
from pliant.solve.blas_threads import on_one_blas_thread
from pliant.solve.configuration_group import ConfigurationGroup
from pliant.solve.contact_remarks import linear_remarks
from pliant.solve.input_limits import beyond_limits
from pliant.solve.linear.prescribed_motions import PrescribedMotions
from pliant.solve.linear.small_motion import (
    at_rest,
    first_order,
    imbalance,
    largest_force,
    unsteadiness,
    with_contacts_from,
)
from pliant.solve.state import Start, assemble
from pliant.solve.statics.equilibrium import about, driven_words
from pliant.solve.validity import friction_remarks

FEW = 6
"""Numbers of names and eigenvalues that the text form of a linear system lists."""


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


@dataclass(frozen=True, repr=False)
class StateSpace:
    """dx/dt = A x + B u, y = C x + D u for small changes about a state.

    x = (changes of the independent coordinates, changes of their rates). `states`, `inputs`, `outputs` name the rows
    and columns; `input_values` are the inputs at the state; `residual` is the largest acceleration there (zero at an
    equilibrium); `warnings` report how far a pose is from equilibrium, whether it was moved onto its constraints, and
    which outputs are omitted.

    Coordinates prescribed by inputs are states like others. An input that prescribes an acceleration is used
    unchanged. One that prescribes a position acts through its second derivative, which replaces it: `d2(u)/dt2`; one
    that prescribes a rate
    through its first: `d(u)/dt`.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    independent: tuple[str, ...]
    state: State
    input_values: np.ndarray
    residual: float
    warnings: tuple[str, ...] = ()

    @property
    def summary(self) -> list[str]:
        """Sizes, names, the slowest and the least damped eigenvalues, each on a line; the matrices are A, B, C and D."""
        lines = [f"{len(self.states)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs"]
        lines += [f"{what}: {_listed(getattr(self, what))}" for what in ("states", "inputs", "outputs")]
        values = np.linalg.eigvals(self.A) if self.A.size else np.zeros(0)
        values = values[(values.imag >= 0) & (np.abs(values) < np.inf)]
        slow = values[np.argsort(np.abs(values), kind="stable")]
        lines.append(f"eigenvalues [1/s], smallest first: {_listed([_eigenvalue(x) for x in slow])}")
        if len(slow) > FEW:
            ratio = slow.real / np.maximum(np.abs(slow), 1e-300)
            least = slow[np.argsort(-ratio, kind="stable")][:FEW]
            lines.append(f"least damped: {', '.join(_eigenvalue(x) for x in least)}")
        return lines

    def __repr__(self) -> str:
        first, *lines = self.summary
        return with_remarks("\n".join([f"StateSpace: {first}", *lines]), self.warnings)

    def _repr_html_(self) -> str:
        return str(shown("StateSpace.html", self))

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


@known_keywords
@on_one_blas_thread
def linearize(
    eqs: Equations,
    *,
    at: Start = "equilibrium",
    independent: Sequence[str] | None = None,
    inputs: InputValues | None = None,
    parameters: Values | None = None,
    time: float | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> StateSpace:
    """Exact linearization about a state, which may be moving.

    at: "equilibrium", "initial", a State, positions, coordinates and rates by name, or an `Equilibrium`, whose inputs
    and parameters are used. time: at which inputs are evaluated [s], by default that of the state. input_names, output_names:
    inputs and outputs to use, by default all; outputs without a derivative in the state, such as the norm of a zero vector, are
    then omitted with a note.

    With constraints, the state consists of independent coordinates: `independent` by rate name, or chosen for good
    conditioning. Coordinates prescribed by inputs are states, with their position and rate, and their acceleration is an input
    (see `StateSpace`). Outputs are those of the model, or all coordinates if it has none.
    """
    need_equations(eqs)
    independent = name_tuple(independent, "independent")
    eqs, given, t = about(eqs, at, inputs, parameters, time)
    made = assemble(eqs, eqs.binding, t, np.array(given.q), np.array(given.v), given.given)
    made = with_contacts_from(made, given, t)
    bound, q, v = made.bound, made.q, made.v
    touching = contacts_at(bound, t, q, v) if bound.system.contacts.laws else None
    a, multipliers = bound.forward(t, q, v)
    residual = float(np.max(np.abs(a), initial=0.0))
    notes = [*made.messages, *friction_remarks(eqs.model, linear=True), *linear_remarks(touching)]
    notes += beyond_limits(eqs.model, bound, t)
    if not np.any(v):
        resting, rest = at_rest(bound, t, q)
        said = imbalance(eqs, resting, forces=largest_force(bound, t, q))
        driven = driven_words(eqs, made, t)
        if said:
            notes.append(said)
        elif driven:
            notes.append(
                f"{driven.partition(',')[0]}: the linear system describes changes of this motion at this time only"
            )
        else:  # drop the round-off accelerations
            a, multipliers = np.zeros(bound.nv), rest.multipliers
    elif unsteady := unsteadiness(eqs, made, t):
        notes.append(f"{unsteady}: the linear system describes changes of this motion near this state and time only")
    state = State(q, v, t, multipliers, contacts=touching)
    linear = bound.linearized(t, q, v, a, multipliers)
    moved = PrescribedMotions(eqs, bound, state, linear, a)
    order = first_order(
        eqs, bound, state, a, linear, None if independent is None else _indices(eqs, independent), moved
    )
    chosen, G, P, by_q, by_v = order.chosen, order.G, order.P, order.by_q, order.by_v
    f, n, on = len(chosen), bound.nv, bound.active_rows
    by_u = np.linalg.solve(order.kkt, np.vstack([-moved.input_forces, moved.input_accelerations]))
    B = np.vstack([np.zeros((f, by_u.shape[1])), by_u[chosen]])
    full = np.zeros((eqs.model.system.rows, 2 * f + by_u.shape[1]))
    full[on] = np.hstack([by_q[n:], by_v[n:], by_u[n:]])
    changes = (by_q[:n], by_v[:n], by_u[:n])
    names, out_C, out_D = _outputs(eqs, bound, t, q, v, a, multipliers, G, P, *changes, full, f, moved)
    smooth = _smooth(names, np.hstack([out_C, out_D]), name_tuple(output_names, "output_names"), notes)
    names, out_C, out_D = tuple(names[i] for i in smooth), out_C[smooth], out_D[smooth]
    labels = tuple(eqs.rates[i] for i in chosen)
    space = StateSpace(
        order.A, B, out_C, out_D, labels + tuple(f"d({x})/dt" for x in labels), moved.names, names, labels,
        state, moved.input_values, residual, tuple(notes),
    )  # fmt: skip
    return space.select(name_tuple(input_names, "input_names"), name_tuple(output_names, "output_names"))


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


def _smooth(names: tuple[str, ...], rows: np.ndarray, asked: tuple[str, ...] | None, notes: list[str]) -> list[int]:
    """Which outputs have derivatives in this state; an error for those requested by name, others are omitted with a note."""
    rough = [name for name, row in zip(names, rows, strict=True) if not np.all(np.isfinite(row))]
    for name in rough:
        why = f"output '{name}' has no derivative in this state (the norm or the direction of a vector that is zero?)"
        if asked is not None and (name in asked or name.rpartition(".")[0] in asked):
            raise ArgumentError(f"{why}; use its components instead, or linearize about another state")
        if asked is None:
            notes.append(f"{why} and is omitted")
    return [i for i, name in enumerate(names) if name not in rough]
