"""The equations of motion as functions."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from types import NoneType
from typing import Any

import casadi as ca
import numpy as np
import scipy

from pliant.engine.binding import Binding, LinearizedEquations
from pliant.engine.contacts import Contacts, contacts_at
from pliant.engine.core import Core, check_names
from pliant.engine.frames import FrameMotion, frame_jacobian, frame_motion
from pliant.engine.initial_states import carried_along, on_motions, prescribed_coordinates
from pliant.engine.input_values import InputValue
from pliant.engine.model.limits import check_values, declared_bounds, refused_cases
from pliant.engine.model.model import SI_HINT, Model
from pliant.engine.printing import equations_latex, equations_text
from pliant.engine.program import Calls
from pliant.engine.state import (
    State,
    initial_states,
    positions,
    read_given,
    read_state,
    state_of,
    taken_apart,
    with_names,
)
from pliant.engine.symbolic import casadi_function
from pliant.language.arguments import ArgumentError, mapping, name_tuple, number, vector
from pliant.language.message_text import describe
from pliant.language.provided import called
from pliant.language.time_series import TimeSeries

RANK_TOLERANCE = 1e-9
DIFFERENCE = 1e-6
"""Relative increment of parameters in differences."""

Values = Mapping[str, float]
InputValues = Mapping[str, InputValue]


@dataclass(frozen=True)
class Energy:
    """Energies [J] and powers [W] in a state."""

    kinetic: float
    potential: float
    dissipation: float
    supply: float

    @property
    def total(self) -> float:
        """Kinetic and potential energy [J]."""
        return self.kinetic + self.potential


@dataclass(frozen=True)
class ConstraintTerms:
    """Constraints in a state: `value`, `rate` [m rows], `jacobian` (m x nv) and `bias`, with d2(value)/dt2 = jacobian a + bias.
    `names` are the names of the rows."""

    names: tuple[str, ...]
    value: np.ndarray
    rate: np.ndarray
    jacobian: scipy.sparse.csr_matrix
    bias: np.ndarray


class ParameterValues(dict[str, float]):
    """Values of parameters by name. A change would have no effect on the equations, so it is refused."""

    def _refuse(self, *given: Any, **more: Any) -> Any:
        raise TypeError(
            "equations are constant: write eqs.at(parameters={...}) for the same equations with other values"
        )

    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _refuse

    def __reduce__(self) -> Any:
        """Copies and pickled values are plain dictionaries."""
        return dict, (dict(self),)


class Equations:
    """Equations of motion `M(q) a + h(t, q, v, inputs, parameters) = J' multipliers` of one robot.

    Immutable: any number of threads may use one object, and it can be copied and pickled. Positions `q` and rates `v`
        are arrays in the order of `coordinates` and `rates`; q is longer than v if there are free rotations, which
        are unit quaternions. A `State`, or an object that has one (an equilibrium, a result), can be passed instead of both;
        inputs are then evaluated at its time. Inputs and parameters have the values of the model; `at` returns the same
        equations with other values. Compiled on first use.
    """

    __slots__ = ("__weakref__", "_core", "_derive_seconds", "_evaluations", "_initial", "_inputs", "_parameters")

    def __init__(self, model: Model, *, derive_seconds: float = 0.0) -> None:
        self._core = Core.of(model)
        self._derive_seconds = derive_seconds
        self._inputs: dict[str, float | TimeSeries] = {}
        self._parameters: dict[str, float] = {}
        self._evaluations: tuple[Calls, Binding] | None = None
        self._initial: State | None = None

    def __repr__(self) -> str:
        name = self.model.spec.name or "robot"
        changed = ", ".join(
            f"{name} = {value:g}" if isinstance(value, float) else f"{name} over time"
            for name, value in (*self._inputs.items(), *self._parameters.items())
        )
        return (
            f"Equations of {name}: {len(self.rates)} rates, {self.model.system.rows} constraints, "
            f"{len(self.inputs)} inputs, {len(self.model.parameter_names)} parameters"
            + (f"; at {changed}" if changed else "")
        )

    def _repr_html_(self) -> str:
        return str(called("Equations.html", self))

    def __copy__(self) -> Equations:
        return self

    def __deepcopy__(self, memo: Any) -> Equations:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.model, self._derive_seconds, self._inputs, self._parameters)

    # -- current values -----------------------------------------------------------------------------------------------

    def at(
        self, *, inputs: InputValues | None = None, parameters: Values | None = None, within_limits: bool = True
    ) -> Equations:
        """The same equations with these inputs and parameters by name (SI units); nothing is derived or compiled again.

        Values that are not given are unchanged. An input is a constant number, a text with a unit ("2 N"), or `(times, values)`
        optionally followed by an interpolation; `simulate` also accepts functions of time. Inputs outside their `minimum` and
        `maximum` are applied as given, and results have a warning. Parameters are validated as in a model file: values outside
        their `minimum` and `maximum`, or with which a part cannot be built, raise an error. `within_limits=False` skips this, for
        paths that pass through such values.
        """
        if inputs is None and parameters is None:
            return self
        inputs, parameters = mapping("inputs", inputs), mapping("parameters", parameters)
        if not parameters:
            if not inputs:
                return self
            if self._are_held(inputs):
                bound = self._core.bind_inputs(self.binding, inputs)
                here = self._with(self._inputs | inputs, self._parameters, bound)
                here._initial = self._initial
                return here
        try:
            key = (
                "at", within_limits, *sorted(parameters), None, *_sorted(self._inputs | inputs), None,
                *_sorted(self._parameters | parameters),
            )  # fmt: skip
            hash(key)
        except TypeError:  # not a number: reported by `_changed`
            return self._changed(inputs, parameters, within_limits=within_limits)
        return self._core.recent(key, lambda: self._changed(inputs, parameters, within_limits=within_limits))

    def _changed(self, inputs: dict[str, Any], parameters: dict[str, Any], *, within_limits: bool) -> Equations:
        self._core.check_structure(parameters)
        if within_limits and parameters:
            self._check(parameters)
        else:
            self.model.environment_with(parameters)
        changed = self._parameters | {
            name: number(f"the parameter '{name}'", value, hint=SI_HINT) for name, value in parameters.items()
        }
        return self._with(self._inputs | self._core.checked_inputs(inputs, changed), changed)

    def _with(
        self, inputs: dict[str, float | TimeSeries], parameters: dict[str, float], binding: Binding | None = None
    ) -> Equations:
        """The same equations with all these values, which have been validated."""
        other = Equations.__new__(Equations)
        other._core, other._derive_seconds = self._core, self._derive_seconds
        other._inputs, other._parameters, other._initial = inputs, parameters, None
        other._evaluations = None if binding is None or self._evaluations is None else (self._evaluations[0], binding)
        return other

    def at_each(self, cases: Sequence[tuple[Values, InputValues]]) -> list[Equations | Exception]:
        """The same equations for several cases, each with separate parameters and inputs, as returned by `at`; or the error
        that `at` would raise. Quantities that depend on parameters are computed for all cases together, with bitwise identical
        results."""
        if not isinstance(cases, Sequence) or not all(
            isinstance(x, tuple) and len(x) == 2 and all(isinstance(values, Mapping) for values in x) for x in cases
        ):
            raise ArgumentError(
                f"cases must be pairs of parameters and inputs, not {describe(cases)}", "write [({'length': 0.3}, {})]"
            )
        groups: dict[tuple[str, ...], list[int]] = {}
        instances: list[Any] = [None] * len(cases)
        for k, (parameters, inputs) in enumerate(cases):
            if parameters and _all_finite(parameters) and self._are_held(dict(inputs)):
                groups.setdefault(tuple(parameters), []).append(k)
            else:
                instances[k] = _or_refused(self, inputs, parameters)
        for names, members in groups.items():
            for k, here in zip(members, self._with_parameters(names, [cases[k] for k in members]), strict=True):
                instances[k] = here
        return instances

    def _with_parameters(
        self, names: tuple[str, ...], cases: Sequence[tuple[Values, InputValues]]
    ) -> list[Equations | Exception]:
        """The same equations with other values of some parameters, and constant inputs: finite numbers in each case."""
        model, core, binding = self.model, self._core, self.binding
        _, at = model.parameter_defaults
        if not at.keys() >= set(names) or model.structural & set(names):
            return [_or_refused(self, inputs, parameters) for parameters, inputs in cases]
        table = np.repeat(model.parameter_vector(self._parameters)[None], len(cases), axis=0)
        changed = {name: np.array([parameters[name] for parameters, _ in cases]) for name in names}
        for name, column in changed.items():
            table[:, at[name]] = column
        instances: list[Any] = list(refused_cases(model, self._parameters, changed))
        sound = [k for k, reason in enumerate(instances) if reason is None]
        if not sound:
            return instances
        constants, starts = core.constants_of_cases(table[sound]), initial_states(model, table[sound])
        for k, numbers, start in zip(sound, constants, starts, strict=True):
            if isinstance(numbers, Exception):
                instances[k] = numbers
                continue
            parameters, inputs = cases[k]
            held = {core.input_index[name]: value for name, value in inputs.items()}
            bound = binding.with_parameters(table[k], numbers, held)  # type: ignore[arg-type]
            here = self._with({**self._inputs, **inputs}, {**self._parameters, **parameters}, bound)  # type: ignore[dict-item]
            here._initial = start
            instances[k] = here
        return instances

    def _are_held(self, inputs: dict[str, Any]) -> bool:
        """Whether these are inputs with finite numbers that replace numbers, the only changes made by controllers."""
        known, before = self._core.input_index, self._inputs
        return all(
            name in known and type(value) is float and isfinite(value) and type(before.get(name)) in (float, NoneType)
            for name, value in inputs.items()
        )

    def _check(self, parameters: dict[str, Any]) -> None:
        """Reject invalid values of parameters; values that were just checked are not checked again."""
        merged = {**self._parameters, **parameters}
        try:
            key = ("checked", *sorted(parameters), None, *_sorted(merged))
            hash(key)
        except TypeError:  # not a number
            check_values(self.model, merged, parameters)
        else:
            self._core.recent(key, lambda: check_values(self.model, merged, parameters))

    @property
    def binding(self) -> Binding:
        """The compiled equations with their current values, as used by analyses."""
        return (self._evaluations or self._compiled())[1]

    def _compiled(self) -> tuple[Calls, Binding]:
        """Evaluations that check their arguments, with the current values; created on first use."""
        calls = self.model.once("given_calls", lambda: self._core.program.calls_with(read_given, finite=True))
        self._evaluations = made = calls, self._core.bind(self._inputs, self._parameters)
        return made

    @property
    def model(self) -> Model:
        """The compiled robot."""
        return self._core.model

    @property
    def derive_seconds(self) -> float:
        """Time to derive the model [s]."""
        return self._derive_seconds

    @property
    def given_inputs(self) -> dict[str, Any]:
        """Inputs that replace those of the model (`at`)."""
        return dict(self._inputs)

    @property
    def given_parameters(self) -> dict[str, float]:
        """Parameters that replace those of the model (`at`)."""
        return dict(self._parameters)

    # -- names ---------------------------------------------------------------------------------------------------------

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the entries of q."""
        return self.model.q_names

    @property
    def rates(self) -> tuple[str, ...]:
        """Names of the entries of v."""
        return self.model.v_names

    @property
    def parameters(self) -> dict[str, float]:
        """Independent parameters and their values (SI units), read-only: equations are constant."""
        values = self.model.parameter_vector(self._parameters).tolist()
        return ParameterValues(zip(self.model.parameter_names, values, strict=True))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return self.model.input_names

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all frames, the world first."""
        return tuple(self.model.frames)

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """Names of the constraint rows."""
        return self.model.constraint_names()

    def input_vector(self, inputs: Values | None = None) -> np.ndarray:
        """Constant values of all inputs, with changes by name."""
        given = {**self._inputs, **self._core.checked_inputs(mapping("inputs", inputs), self._parameters)}
        defaults = self.model.environment.values
        held = (given.get(name, defaults[name]) for name in self.inputs)
        return np.array([np.nan if isinstance(value, TimeSeries) else float(value) for value in held])

    def check_values(self, parameters: Values) -> None:
        """Reject values of parameters that would be invalid in a model file, as `at` does."""
        check_values(self.model, {**self._parameters, **parameters}, tuple(parameters))

    def declared_bounds(self, name: str) -> tuple[float, float]:
        """`minimum` and `maximum` of a parameter or input (SI units), with the current parameters; infinite if not given."""
        check_names("parameter", [name], self.model.spec.parameters)
        return declared_bounds(self.model, name, self.model.environment_with(self._parameters))

    def input_values(self, t: float = 0.0) -> dict[str, float]:
        """All inputs by name at time t [s]."""
        # positions that result from prescribed rates and accelerations follow the inputs of the model
        values = self.binding.signals(t)[0].tolist()
        return dict(zip(self.inputs, values, strict=False))

    # -- states --------------------------------------------------------------------------------------------------------

    def initial_state(self, parameters: Values | None = None, *, t: float = 0.0) -> State:
        """The initial state of the model; prescribed coordinates, and everything they carry, follow their motions at
        time t [s]. Loops may be open: analyses close them (`assemble`)."""
        here = self.at(parameters=parameters, within_limits=False)
        return here.on_motions(here._start(t))

    def state(self, values: Values, *, parameters: Values | None = None, t: float = 0.0) -> State:
        """The initial state with coordinates and rates set by name: `{"q1": 0.2, "d(q1)/dt": 1.0}` (SI units).

        Everything carried by these moves with them, including sections of rods in absolute coordinates and nodes of meshes.
        """
        here = self.at(parameters=parameters, within_limits=False)
        start = here._start(t)
        named = with_names(self.model, start, mapping("values", values))
        if not self.model.carried:
            return here.on_motions(named)
        return here.on_motions(carried_along(self.model, here.binding, start, named))

    def _start(self, t: float) -> State:
        """The initial state of the model, at the current parameters."""
        start = self._initial
        if start is None:
            key = ("start", *_sorted(self._parameters))
            vector = self.model.parameter_vector
            start = self._core.recent(key, lambda: initial_states(self.model, vector(self._parameters)[None])[0])
        return replace(start, q=start.q.copy(), v=start.v.copy(), t=t)

    def on_motions(self, state: State) -> State:
        """The state with prescribed coordinates according to their motions at its time; everything they carry moves with them."""
        return on_motions(self.model, self.binding, state) if prescribed_coordinates(self.model) else state

    # -- functions of the state ----------------------------------------------------------------------------------------

    def mass_matrix(self, q: Any, *, parameters: Values | None = None) -> scipy.sparse.csc_matrix:
        """M(q), nv x nv, sparse."""
        calls, binding = self._ready(None, parameters)
        return binding.matrix(calls.mass_matrix(binding, positions(q)))

    def coriolis_matrix(
        self, q: Any, v: Any = None, *, t: float | None = None, parameters: Values | None = None
    ) -> scipy.sparse.csc_matrix:
        """C(q, v), nv x nv, sparse: C v are the Coriolis and centrifugal forces in M a + C v = forces.

        It is computed from the Christoffel symbols, `C_ij = 1/2 (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) v_k`, where
        all rates are derivatives of coordinates. For free rotations, whose rates are angular velocities w in body axes, the symbols
        are those of the same connection in these rates: derivatives of M along them, and structure coefficients of the bracket
        `a x b` of rotations. In both cases dM/dt - 2 C is skew-symmetric. C is linear in v. Constraint forces and contributions
        of prescribed motions are not included.
        """
        at = self._state(q, v, t)
        return self.at(parameters=parameters).binding.coriolis_matrix(at.t, at.q, at.v)

    def bias(
        self, q: Any, v: Any = None, *, t: float | None = None, inputs: InputValues | None = None,
        parameters: Values | None = None,
    ) -> np.ndarray:  # fmt: skip
        """h: gyroscopic, gravity and all other forces, so that M a + h = J' multipliers."""
        rest = np.zeros(len(self.rates))
        return self.inverse_dynamics(q, v, rest, t=t, inputs=inputs, parameters=parameters)

    def inverse_dynamics(
        self, q: Any, v: Any = None, a: Any = None, *, t: float | None = None, inputs: InputValues | None = None,
        parameters: Values | None = None,
    ) -> np.ndarray:  # fmt: skip
        """M a + h: the generalized forces that the motion (q, v, a) requires in addition to those of the model, including
        constraint forces."""
        calls, binding = self._ready(inputs, parameters)
        if v is None:
            q, v, t, binding = self._taken_apart(q, t, binding)
        return calls.inverse(binding, t or 0.0, q, v, a)

    def forward_dynamics(
        self, q: Any, v: Any = None, *, t: float | None = None, inputs: InputValues | None = None,
        parameters: Values | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """Accelerations and constraint multipliers (forces of the constraints on the robot)."""
        # like `_ready`, but without a call if nothing changes
        calls, binding = (self._evaluations if inputs is parameters is None else None) or self._ready(
            inputs, parameters
        )
        if v is None:
            q, v, t, binding = self._taken_apart(q, t, binding)
        if binding.m > 1:
            binding = with_independent_rows(binding, t or 0.0, q, v, calls)
        return calls.forward(binding, t or 0.0, q, v)

    def forces(
        self, q: Any, v: Any = None, *, t: float | None = None, inputs: InputValues | None = None,
        parameters: Values | None = None,
    ) -> dict[str, np.ndarray]:  # fmt: skip
        """Generalized forces by source: gravity, and every coordinate, link and load by name."""
        at = self._state(q, v, t)
        binding = with_remembered(self.at(inputs=inputs, parameters=parameters).binding, at)
        return binding.force_by_source(at.t, at.q, at.v)

    def constraints(
        self, q: Any, v: Any = None, *, t: float | None = None, inputs: InputValues | None = None,
        parameters: Values | None = None,
    ) -> ConstraintTerms:  # fmt: skip
        """Constraint values, rates, Jacobian and convective terms; at rest if no rates are given."""
        at = self._state(q, v, t, at_rest=True)
        binding = self.at(inputs=inputs, parameters=parameters).binding
        value, rate, bias, jacobian = binding.constraints(at.t, at.q, at.v)
        return ConstraintTerms(self.constraint_names, value, rate, jacobian, bias)

    def energy(
        self, q: Any, v: Any = None, *, t: float | None = None, inputs: InputValues | None = None,
        parameters: Values | None = None,
    ) -> Energy:  # fmt: skip
        """Energies [J] and powers [W]."""
        calls, binding = self._ready(inputs, parameters)
        if v is None:
            q, v, t, binding = self._taken_apart(q, t, binding)
        return Energy(*calls.energies(binding, t or 0.0, q, v).tolist()[:4])

    def contacts(
        self, q: Any, v: Any = None, *, t: float | None = None, inputs: InputValues | None = None,
        parameters: Values | None = None,
    ) -> Contacts:  # fmt: skip
        """Contacts: pairs, positions and forces; at rest if no rates are given. A State includes the memory of sticking contacts.

        Otherwise friction is that of surfaces which have just reached their velocities, so there is none on surfaces at rest.
        """
        at = self._state(q, v, None if t is None else number("t", t), at_rest=True)
        binding = with_remembered(self.at(inputs=inputs, parameters=parameters).binding, at)
        return contacts_at(binding, at.t, at.q, at.v)

    def frame(
        self, name: str, q: Any, v: Any = None, a: Any = None, *, parameters: Values | None = None
    ) -> FrameMotion:
        """Pose of a frame in the world, and its velocity and acceleration if rates and accelerations are given."""
        check_names("frame", [name], self.model.frames)
        return self.frames(q, v, a, names=(name,), parameters=parameters)[name]

    def frames(
        self, q: Any, v: Any = None, a: Any = None, *, names: tuple[str, ...] | None = None,
        parameters: Values | None = None,
    ) -> dict[str, FrameMotion]:  # fmt: skip
        """Poses of all (or the named) frames in the world, and velocities and accelerations as for one."""
        calls, binding = self._ready(None, parameters)
        if v is None:
            q, v, _ = taken_apart(q, None)
        if names is not None:
            names = name_tuple(names) or ()
            check_names("frame", names, self.model.frames)
        return frame_motion(self.model, calls, binding, q, v, a, self.frame_names if names is None else names)

    def frame_jacobian(self, name: str, q: Any, *, parameters: Values | None = None) -> np.ndarray:
        """Velocity [m/s] of a frame's origin and its angular velocity [rad/s] per rate, in world axes, 6 x nv."""
        check_names("frame", [name], self.model.frames)
        calls, binding = self._ready(None, parameters)
        return frame_jacobian(self.model, calls, binding, positions(q), name)

    def linearization(
        self, q: Any, v: Any = None, *, a: Any = None, multipliers: Any = None, t: float | None = None,
        inputs: InputValues | None = None, parameters: Values | None = None,
    ) -> LinearizedEquations:  # fmt: skip
        """Exact derivatives of `M a + h - J' multipliers` with respect to increments of q, to v and to a.

        Accelerations and multipliers default to those of the free motion from this state.
        """
        calls, binding = self._ready(inputs, parameters)
        if v is None:
            q, v, t, binding = self._taken_apart(q, t, binding)
        t = 0.0 if t is None else number("t", t)
        if a is None or multipliers is None:
            there = with_independent_rows(binding, t, q, v, calls)
            free_a, free_multipliers = calls.forward(there, t, q, v)
            a = free_a if a is None else a
            multipliers = free_multipliers if multipliers is None else multipliers
        return binding.linear(*calls.linearized(binding, t, q, v, a, multipliers))

    def input_derivative(
        self, q: Any, v: Any = None, *, t: float | None = None, inputs: InputValues | None = None,
        parameters: Values | None = None,
    ) -> np.ndarray:  # fmt: skip
        """d(M a + h)/d(inputs), nv x inputs, exact."""
        here, at = self.at(inputs=inputs, parameters=parameters), self._state(q, v, t)
        return here.binding.input_tangent(at.t, at.q, at.v) @ here.signal_derivative(at.t)

    def parameter_derivative(
        self, q: Any, v: Any = None, a: Any = None, *, t: float | None = None, inputs: InputValues | None = None,
        parameters: Values | None = None,
    ) -> np.ndarray:  # fmt: skip
        """d(M a + h)/d(parameters), nv x parameters, exact (by CasADi's derivative of the same equations); by central differences
        for robots with contacts, which have no expressions."""
        here, at = self.at(inputs=inputs, parameters=parameters), self._state(q, v, t)
        a, binding = vector("a", a, len(self.rates)), here.binding
        if self.model.system.contacts.laws:
            return _parameter_differences(here, at, a)
        u = np.array(list(here.input_values(at.t).values()))
        jacobian = self._core.parameter_jacobian(at.q, at.v, a, at.t, u, binding.parameters)
        return np.asarray(jacobian).reshape(len(self.rates), -1)

    def signal_derivative(self, t: float) -> np.ndarray:
        """d(signals)/d(inputs) at the current inputs at time t [s], signals x inputs."""
        count, inputs = self.model.system.signal_count, len(self.inputs)
        if not count or not inputs or self.model.plan.signals is None:
            return np.zeros((count, inputs))
        u, _ = self.binding.signals(t)
        zero = np.zeros(len(u))
        jacobian = self._core.signal_jacobian(t, u, zero, zero, self.binding.parameters)
        return np.asarray(jacobian).reshape(count, -1)[:, :inputs]

    def motion_derivatives(self, t: float) -> tuple[np.ndarray, ...]:
        """Derivatives at time t [s], each signals x inputs of the plan: of the signals, their rates and their accelerations with
        respect to the inputs, then of their accelerations with respect to the rates and to the accelerations of the inputs."""
        count, inputs = self.model.system.signal_count, len(self.model.plan.kinds)
        if self.model.plan.signals is None:
            return tuple(np.zeros((count, inputs)) for _ in range(5))
        u = np.array([self.binding.input_motion(i, t) for i in range(inputs)]).reshape(inputs, 3).T
        derivatives = self._core.motion_jacobians(t, *u, self.binding.parameters)
        return tuple(np.asarray(x).reshape(count, inputs, order="F") for x in derivatives)

    # -- symbolic ------------------------------------------------------------------------------------------------------

    def casadi(self, name: str) -> ca.Function:
        """A CasADi function of (t, q, v, a, inputs, parameters) or part of them, for optimal control.

        Names: forward_dynamics (t, q, v, u, p) -> a [, multipliers]; inverse_dynamics (t, q, v, a, u, p);
        mass_matrix (q, p); constraints (t, q, v, u, p) -> value, rate; energy (t, q, v, u, p) -> kinetic, potential;
        rates (q, v) -> dq/dt; frame:NAME (q, p) -> rotation matrix, position.
        """
        return casadi_function(self.model, name)

    def text(self) -> str:
        """The equations in plain text: in full for small systems, otherwise by element."""
        return equations_text(self.model)

    def latex(self) -> str:
        """The equations in LaTeX: an aligned block for small systems, otherwise a document fragment by element."""
        return equations_latex(self.model)

    # -- checks --------------------------------------------------------------------------------------------------------

    def _ready(self, inputs: InputValues | None, parameters: Values | None) -> tuple[Calls, Binding]:
        """Arguments of evaluations with these values."""
        here = self if inputs is parameters is None else self.at(inputs=inputs, parameters=parameters)
        return here._evaluations or here._compiled()

    def _taken_apart(self, q: Any, t: float | None, binding: Binding) -> tuple[Any, Any, float | None, Binding]:
        """Positions, rates and time of a State given as q, and the binding with its contact memory."""
        given = q if isinstance(q, np.ndarray) else state_of(q)
        if not isinstance(given, State):
            return q, None, t, binding
        return given.q, given.v, given.t if t is None else t, with_remembered(binding, given)

    def _state(self, q: Any, v: Any = None, t: float | None = None, *, at_rest: bool = False) -> State:
        return read_state(self.model, q, v, t, at_rest=at_rest)


def _parameter_differences(eqs: Equations, at: State, a: np.ndarray) -> np.ndarray:
    """d(M a + h)/d(parameters), nv x parameters, in a state with accelerations a; zero for parameters that determine the number of
    parts."""
    columns = []
    for name, value in eqs.parameters.items():
        if name in eqs.model.structural:
            columns.append(np.zeros(len(eqs.rates)))
            continue
        step = DIFFERENCE * (abs(value) or 1.0)
        ends = []
        for x in (value + step, value - step):
            binding = eqs.at(parameters={**eqs.given_parameters, name: x}, within_limits=False).binding
            ends.append(with_remembered(binding, at).inverse(at.t, at.q, at.v, a))
        columns.append((ends[0] - ends[1]) / (2 * step))
    return np.array(columns).T.reshape(len(eqs.rates), -1)


def with_remembered(binding: Binding, state: State) -> Binding:
    """The binding with the contacts of a state, if known."""
    return binding if state.contacts is None else binding.with_contacts(state.contacts.rows)


def _all_finite(values: Mapping[str, Any]) -> bool:
    return all(type(value) is float and isfinite(value) for value in values.values())


def _or_refused(eqs: Equations, inputs: InputValues | None, parameters: Values | None) -> Equations | Exception:
    """The equations with these values, or the error if they are invalid."""
    try:
        return eqs.at(inputs=inputs or None, parameters=parameters or None)
    except Exception as reason:
        return reason


def _sorted(values: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted(values.items(), key=lambda item: item[0])


def _restored(
    model: Model, derive_seconds: float, inputs: dict[str, float | TimeSeries], parameters: dict[str, float]
) -> Equations:
    """Equations restored from their pickled data."""
    return Equations(model, derive_seconds=derive_seconds).at(inputs=inputs, parameters=parameters, within_limits=False)


def independent_rows(binding: Binding, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """1 for each constraint row of an independent set, 0 for rows that are redundant or have no effect in this pose."""
    rows = np.zeros(binding.m, dtype=np.int32)
    jacobian = _equilibrated(binding.constraint_jacobian(t, q, v))
    holding = np.flatnonzero(np.any(jacobian, axis=1))
    if not len(holding):
        return rows
    rows[holding] = 1
    held = jacobian[holding]
    squares = np.linalg.eigvalsh(held @ held.T)
    if squares[0] > 1e-10 * squares[-1]:
        return rows  # sufficient: a pivot is never below the smallest singular value
    _, upper, order = scipy.linalg.qr(held.T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(upper))
    rows[holding[order[int(np.sum(diagonal > RANK_TOLERANCE * diagonal[0])) :]]] = 0
    return rows


def _equilibrated(jacobian: np.ndarray) -> np.ndarray:
    """Columns, then rows, divided by their largest entries: dependence must not depend on units."""
    columns = jacobian / _or_one(np.abs(jacobian).max(axis=0, initial=0.0))
    return np.asarray(columns / _or_one(np.abs(columns).max(axis=1, initial=0.0))[:, None])


def _or_one(sizes: np.ndarray) -> np.ndarray:
    return np.where(sizes > 0, sizes, 1.0)


def with_independent_rows(binding: Binding, t: float, q: Any, v: Any, calls: Calls | None = None) -> Binding:
    """The binding with an independent set of active constraint rows. calls: evaluations to use instead of the program's."""
    if not binding.m:
        return binding
    if binding.all_rows:
        calls = calls or binding.program.calls
        if calls.row_independence(binding, t, q, v)[0] > RANK_TOLERANCE:
            return binding
    return binding.with_rows(independent_rows(binding, t, q, v))


_said: set[str] = set()


def say_once(message: str) -> None:
    """Warn, but only once."""
    if message not in _said:
        _said.add(message)
        warnings.warn(message, stacklevel=3)


def need_equations(value: Any) -> None:
    """Reject robots whose equations have not been derived, such as the name of a model."""
    if not isinstance(value, Equations):
        raise ArgumentError(f"an analysis needs equations, not {describe(value)}", "write pliant.derive(robot) first")
