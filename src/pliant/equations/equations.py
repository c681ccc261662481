"""`derive(robot) -> Equations`: the equations of motion as functions a person can call."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import casadi as ca
import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from pliant.equations.compiled import CompiledEngine, EvaluationError, Linearized
from pliant.equations.frames import FrameMotion, frame_jacobian, frame_motion
from pliant.equations.interpreted import InterpretedEngine
from pliant.equations.libraries import NoCompiler
from pliant.language.arguments import ArgumentError, choice, mapping, number, vector
from pliant.language.words import describe, suggestion
from pliant.model.inputs import HELD
from pliant.model.limits import check_limits, declared_bounds
from pliant.model.model import SI_HINT, Model, compile_model
from pliant.spec.robot import RobotSpec

RANK_TOLERANCE = 1e-9

Engine = CompiledEngine | InterpretedEngine
EngineName = Literal["auto", "compiled", "interpreted"]
Values = Mapping[str, float]


class UnknownName(ArgumentError, KeyError):
    """A name that the robot does not have, with the nearest one it has."""

    def __init__(self, what: str, name: str, known: tuple[str, ...]) -> None:
        hint = suggestion(name, known, f"known: {', '.join(known[:12]) or 'none'}")
        super().__init__(f"unknown {what} '{name}'; {hint}")

    def __str__(self) -> str:
        return str(self.args[0])


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
    """Constraints in a state: `value`, `rate` [m rows], `jacobian` (m x nv) and `bias`, with
    d2(value)/dt2 = jacobian a + bias. `names` says which row is which."""

    names: tuple[str, ...]
    value: np.ndarray
    rate: np.ndarray
    jacobian: sp.csr_matrix
    bias: np.ndarray


class Equations:
    """Equations of motion `M(q) a + h(t, q, v, inputs, parameters) = J' multipliers` of one robot.

    Positions `q` and rates `v` are arrays in the order of `coordinates` and `rates`; q is longer than v where a free
    rotation is a unit quaternion. `inputs` and `parameters` are optional mappings from names to values (SI units) that
    replace the model's own; changing them derives and compiles nothing. Compiled on first use.
    """

    def __init__(self, model: Model, *, engine: EngineName = "auto", derive_seconds: float = 0.0) -> None:
        self.model = model
        self.engine_name = engine
        self.derive_seconds = derive_seconds
        self._bound: tuple[Any, ...] | None = None

    def __repr__(self) -> str:
        name = self.model.spec.name or "robot"
        return (
            f"Equations of {name}: {len(self.rates)} rates, {self.model.system.rows} constraints, "
            f"{len(self.inputs)} inputs, {len(self.parameters)} parameters"
        )

    def _repr_html_(self) -> str:
        from pliant.view.notebook import equations_html

        return equations_html(self)

    # -- names -------------------------------------------------------------------------------------------------------

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the numbers in q."""
        return self.model.q_names

    @property
    def rates(self) -> tuple[str, ...]:
        """Names of the numbers in v."""
        return self.model.v_names

    @property
    def parameters(self) -> dict[str, float]:
        """Independent parameters and their values in the model (SI units)."""
        return dict(zip(self.model.parameter_names, self.model.parameter_vector().tolist(), strict=True))

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

    def twin(self) -> Equations:
        """The same equations with an evaluator of their own, for use inside a controller of the first."""
        return Equations(self.model, engine=self.engine_name)

    # -- engine ------------------------------------------------------------------------------------------------------

    @cached_property
    def engine(self) -> Engine:
        """The evaluator: compiled where there is a compiler, else interpreted (said once)."""
        if self.engine_name != "interpreted":
            try:
                return CompiledEngine(self.model.system, self.model.plan)
            except NoCompiler as reason:
                if self.engine_name == "compiled":
                    raise
                _say_once(f"{reason}: running interpreted, which is slower but the same model")
        return InterpretedEngine(self.model.system, self.model.plan)

    def bind(
        self, inputs: Values | None = None, parameters: Values | None = None, *, within_limits: bool = True
    ) -> Engine:
        """The engine with these inputs and parameters in force (used by the analyses).

        Parameters are held against the `minimum` and `maximum` that the model gives them, unless `within_limits` is False:
        for analyses that pass the limits on their way.
        """
        engine = self.engine
        inputs, parameters = mapping("inputs", inputs), mapping("parameters", parameters)
        key = (tuple(sorted(inputs.items())), tuple(sorted(parameters.items())))
        if within_limits and parameters:
            self.check_limits(parameters)
        if self._bound == key:
            return engine
        held = self.input_vector(inputs)
        if self._bound is None or self._bound[1] != key[1]:
            self._bind_parameters(engine, parameters)
        engine.held[: len(self.inputs)] = held
        # a value given by the caller stands in for whatever the model says of that input
        kinds = [HELD if name in inputs else self.model.plan.kinds[i] for i, name in enumerate(self.inputs)]
        engine.input_kind[: len(kinds)] = kinds
        self._bound = key
        return engine

    def _bind_parameters(self, engine: Engine, parameters: Values | None) -> None:
        for name in sorted(self.model.structural & (parameters or {}).keys()):
            raise ArgumentError(
                f"the parameter '{name}' decides how many parts the robot has; load the model anew with "
                f"set={{'{name}': ...}} instead of changing it here"
            )
        vector = self.model.parameter_vector(parameters)
        values = self.model.system.constants.values(vector)
        if not np.all(np.isfinite(values)):
            raise EvaluationError(
                "with these parameter values some constants of the model are not finite numbers; check for zero "
                "lengths or masses used as divisors"
            )
        engine.theta[:] = values
        engine.parameters[:] = vector

    def input_vector(self, inputs: Values | None = None) -> np.ndarray:
        """Held values of all inputs, with changes by name."""
        given = mapping("inputs", inputs)
        for name in given:
            if name not in self.inputs:
                raise UnknownName("input", name, self.inputs)
        defaults = self.model.environment.values
        return np.array(
            [number(f"the input '{name}'", given.get(name, defaults[name]), hint=SI_HINT) for name in self.inputs]
        )

    def check_limits(self, parameters: Values) -> None:
        """Refuse values outside of the `minimum` and `maximum` that the model gives them."""
        check_limits(self.model, parameters)

    def declared_bounds(self, name: str) -> tuple[float, float]:
        """`minimum` and `maximum` that the model gives a parameter or input (SI units); infinite where it gives none."""
        return declared_bounds(self.model, name, self.model.environment)

    # -- states ------------------------------------------------------------------------------------------------------

    def initial_state(self, parameters: Values | None = None) -> tuple[np.ndarray, np.ndarray]:
        """q and v that the model gives as its start (constraints may be violated; see `assemble`)."""
        q, v = self.model.initial(self.model.parameter_vector(parameters))
        return np.asarray(q).ravel(), np.asarray(v).ravel()

    def position_vector(self, values: Values, base: np.ndarray | None = None) -> np.ndarray:
        """q with named coordinates set."""
        q = self.initial_state()[0] if base is None else np.array(base, dtype=float)
        for name, value in mapping("values", values).items():
            if name not in self.coordinates:
                raise UnknownName("coordinate", name, self.coordinates)
            q[self.coordinates.index(name)] = number(f"the coordinate '{name}'", value, hint=SI_HINT)
        return q

    # -- functions of the state --------------------------------------------------------------------------------------

    def mass_matrix(self, q: Any, *, parameters: Values | None = None) -> sp.csc_matrix:
        """M(q), nv x nv, sparse."""
        return self.bind(None, parameters).mass_matrix(self._q(q))

    def bias(
        self, q: Any, v: Any, *, t: float = 0.0, inputs: Values | None = None, parameters: Values | None = None
    ) -> np.ndarray:
        """h: gyroscopic, gravity and all other forces, so that M a + h = J' multipliers."""
        return self.inverse_dynamics(q, v, np.zeros(len(self.rates)), t=t, inputs=inputs, parameters=parameters)

    def inverse_dynamics(
        self,
        q: Any,
        v: Any,
        a: Any,
        *,
        t: float = 0.0,
        inputs: Values | None = None,
        parameters: Values | None = None,
    ) -> np.ndarray:
        """M a + h: the generalized forces that the motion still lacks."""
        return self.bind(inputs, parameters).inverse(t, self._q(q), self._v(v), self._v(a))

    def forward_dynamics(
        self, q: Any, v: Any, *, t: float = 0.0, inputs: Values | None = None, parameters: Values | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations and constraint multipliers (forces of the constraints on the robot)."""
        engine = self.bind(inputs, parameters)
        q, v = self._q(q), self._v(v)
        engine.row_active[:] = independent_rows(engine, t, q, v)
        return engine.forward(t, q, v)

    def forces(
        self, q: Any, v: Any, *, t: float = 0.0, inputs: Values | None = None, parameters: Values | None = None
    ) -> dict[str, np.ndarray]:
        """Generalized forces by source: gravity, and every coordinate, link and load by name."""
        return self.bind(inputs, parameters).force_by_source(t, self._q(q), self._v(v))

    def constraints(
        self, q: Any, v: Any | None = None, *, t: float = 0.0, parameters: Values | None = None
    ) -> ConstraintTerms:
        """Constraint values, rates, Jacobian and convective terms."""
        rates = np.zeros(len(self.rates)) if v is None else self._v(v)
        value, rate, bias, jacobian = self.bind(None, parameters).constraints(t, self._q(q), rates)
        return ConstraintTerms(self.constraint_names, value, rate, jacobian, bias)

    def energy(
        self, q: Any, v: Any, *, t: float = 0.0, inputs: Values | None = None, parameters: Values | None = None
    ) -> Energy:
        """Energies [J] and powers [W]."""
        values = self.bind(inputs, parameters).energies(t, self._q(q), self._v(v))
        return Energy(*map(float, values[:4]))

    def frame(
        self, name: str, q: Any, v: Any | None = None, a: Any | None = None, *, parameters: Values | None = None
    ) -> FrameMotion:
        """Pose and velocity of a frame in the world."""
        if name not in self.model.frames:
            raise UnknownName("frame", name, self.frame_names)
        return self.frames(q, v, a, names=(name,), parameters=parameters)[name]

    def frames(
        self,
        q: Any,
        v: Any | None = None,
        a: Any | None = None,
        *,
        names: tuple[str, ...] | None = None,
        parameters: Values | None = None,
    ) -> dict[str, FrameMotion]:
        """Poses and velocities of all (or the named) frames in the world."""
        engine = self.bind(None, parameters)
        return frame_motion(
            self.model,
            engine,
            self._q(q),
            None if v is None else self._v(v),
            None if a is None else self._v(a),
            names or self.frame_names,
        )

    def frame_jacobian(self, name: str, q: Any, *, parameters: Values | None = None) -> np.ndarray:
        """Velocity [m/s] of a frame's origin and its angular velocity [rad/s] per rate, in world axes, 6 x nv."""
        if name not in self.model.frames:
            raise UnknownName("frame", name, self.frame_names)
        return frame_jacobian(self.model, self.bind(None, parameters), self._q(q), name)

    def linearization(
        self,
        q: Any,
        v: Any,
        *,
        a: Any | None = None,
        multipliers: Any | None = None,
        t: float = 0.0,
        inputs: Values | None = None,
        parameters: Values | None = None,
    ) -> Linearized:
        """Exact derivatives of `M a + h - J' multipliers` by increments of q, by v and by a.

        Accelerations and multipliers default to those of the free motion from this state.
        """
        engine = self.bind(inputs, parameters)
        q, v = self._q(q), self._v(v)
        if a is None or multipliers is None:
            engine.row_active[:] = independent_rows(engine, t, q, v)
            free_a, free_multipliers = engine.forward(t, q, v)
            a = free_a if a is None else a
            multipliers = free_multipliers if multipliers is None else multipliers
        return engine.linearized(t, q, v, self._v(a), np.asarray(multipliers, dtype=float))

    def input_derivative(
        self, q: Any, v: Any, *, t: float = 0.0, inputs: Values | None = None, parameters: Values | None = None
    ) -> np.ndarray:
        """d(M a + h)/d(inputs), nv x inputs, exact."""
        engine = self.bind(inputs, parameters)
        by_signal = engine.input_tangent(t, self._q(q), self._v(v))
        return by_signal @ self._signal_derivative(engine, t)

    def parameter_derivative(
        self,
        q: Any,
        v: Any,
        a: Any,
        *,
        t: float = 0.0,
        inputs: Values | None = None,
        parameters: Values | None = None,
    ) -> np.ndarray:
        """d(M a + h)/d(parameters), nv x parameters, exact (by CasADi's derivative of the same equations)."""
        vector = self.model.parameter_vector(parameters)
        engine = self.bind(inputs, parameters)
        u = engine.signals(t)[0][: len(self.inputs)]
        return np.asarray(self._parameter_jacobian(self._q(q), self._v(v), self._v(a), t, u, vector)).reshape(
            len(self.rates), -1
        )

    @cached_property
    def _parameter_jacobian(self) -> ca.Function:
        residual = self.casadi("inverse_dynamics")
        q, v, a = (
            ca.MX.sym(n, k) for n, k in (("q", len(self.coordinates)), ("v", len(self.rates)), ("a", len(self.rates)))
        )
        t, u, p = ca.MX.sym("t"), ca.MX.sym("u", len(self.inputs)), ca.MX.sym("p", len(self.model.parameter_names))
        r = residual(t, q, v, a, u, p)
        return ca.Function("parameter_jacobian", [q, v, a, t, u, p], [ca.densify(ca.jacobian(r, p))])

    def _signal_derivative(self, engine: Engine, t: float) -> np.ndarray:
        """d(signals)/d(inputs) at the inputs in force."""
        count, inputs = self.model.system.signal_count, len(self.inputs)
        function = self.model.plan.signals
        if not count or not inputs or function is None:
            return np.zeros((count, inputs))
        u, _ = engine.signals(t)
        zero = np.zeros(len(u))
        return np.asarray(self._signal_jacobian(t, u, zero, zero, engine.parameters)).reshape(count, -1)[:, :inputs]

    @cached_property
    def _signal_jacobian(self) -> ca.Function:
        function = self.model.plan.signals
        assert function is not None, "asked for only where there are signals"
        symbols = [ca.MX.sym(f"x{i}", *function.size_in(i)) for i in range(5)]
        value = function(*symbols)[0]
        return ca.Function("signal_jacobian", symbols, [ca.densify(ca.jacobian(value, symbols[1]))])

    # -- symbolic ----------------------------------------------------------------------------------------------------

    def casadi(self, name: str) -> ca.Function:
        """A CasADi function of (t, q, v, a, inputs, parameters) or part of them, for optimal control.

        Names: forward_dynamics (t, q, v, u, p) -> a [, multipliers]; inverse_dynamics (t, q, v, a, u, p);
        mass_matrix (q, p); constraints (t, q, v, u, p) -> value, rate; energy (t, q, v, u, p) -> kinetic, potential;
        rates (q, v) -> dq/dt; frame:NAME (q, p) -> rotation matrix, position.
        """
        from pliant.equations.casadi_functions import casadi_function

        return casadi_function(self.model, name)

    def text(self) -> str:
        """The equations of a small system in plain text."""
        from pliant.equations.printing import equations_text

        return equations_text(self.model)

    def latex(self) -> str:
        """The equations of a small system in LaTeX."""
        from pliant.equations.printing import equations_latex

        return equations_latex(self.model)

    # -- checks ------------------------------------------------------------------------------------------------------

    def _q(self, q: Any) -> np.ndarray:
        return vector("q", q, len(self.coordinates))

    def _v(self, v: Any) -> np.ndarray:
        return vector("v", v, len(self.rates))


def independent_rows(engine: Engine, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """1 for each constraint row of an independent set, 0 for rows that the others already imply in this pose."""
    rows = np.ones(engine.m, dtype=np.int32)
    if engine.m < 2 or not engine.nv:
        return rows
    _, upper, order = la.qr(engine.constraints(t, q, v)[3].toarray().T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(upper))
    rank = int(np.sum(diagonal > RANK_TOLERANCE * diagonal[0])) if diagonal[0] > 0 else engine.m
    rows[order[rank:]] = 0
    return rows


_said: set[str] = set()


def _say_once(message: str) -> None:
    if message not in _said:
        _said.add(message)
        warnings.warn(message, stacklevel=3)


def derive(robot: RobotSpec | str | Path, *, engine: EngineName = "auto") -> Equations:
    """The equations of motion of a robot: a RobotSpec, a model file, or the name of a bundled robot.

    `engine`: compiled C where a compiler is found (`auto`), `compiled` to insist on it, `interpreted` to do without.
    """
    from pliant.spec import flatten, load, structural_parameters

    choice("engine", engine, ("auto", "compiled", "interpreted"))
    if not isinstance(robot, RobotSpec | str | Path):
        raise ArgumentError(
            f"a robot cannot be {describe(robot)}", "give a RobotSpec, a model file, or the name of a bundled robot"
        )
    start = time.perf_counter()
    spec = robot if isinstance(robot, RobotSpec) else load(robot)
    model = compile_model(flatten(spec), structural_parameters(spec))
    for note in model.notes:
        _say_once(note)
    return Equations(model, engine=engine, derive_seconds=time.perf_counter() - start)
