"""Data shared by all bindings of one model: the program, created on first use, and functions of the model."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from pliant.engine.binding import Binding
from pliant.engine.input_values import expanded_inputs, input_value
from pliant.engine.model.model import Model
from pliant.engine.program import EvaluationError, Program
from pliant.engine.symbolic import casadi_function
from pliant.language.arguments import ArgumentError, article
from pliant.language.message_text import describe, suggestion
from pliant.language.names import with_repeated
from pliant.language.time_series import TimeSeries

KEPT = 16
"""Number of cached results for repeated values."""


NOT_FINITE = (
    "with these parameter values some constants of the model are not finite numbers; check for zero lengths or masses used as "
    "divisors, and for values too large to compute with"
)


REPEATED = ("input", "output")
"""Things whose name denotes all instances if they are repeated."""


class UnknownName(ArgumentError, KeyError):
    """An unknown name, with the closest known one."""

    def __init__(self, what: str, name: str, known: tuple[str, ...]) -> None:
        hint = suggestion(
            name, with_repeated(known) if what in REPEATED else known, f"known: {', '.join(known[:12]) or 'none'}"
        )
        super().__init__(f"unknown {what} '{name}'; {hint}")

    def __str__(self) -> str:
        return str(self.args[0])


def check_names(what: str, names: Iterable[str], known: Collection[str]) -> None:
    """Reject unknown names."""
    for name in names:
        if not isinstance(name, str):
            raise ArgumentError(f"the name of {article(what)} {what} cannot be {describe(name)}")
        if name not in known:
            raise UnknownName(what, name, tuple(known))


class Core:
    """A model, its program and its derivatives by CasADi; each is created once, by the first thread that needs it."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._lock = threading.Lock()
        self._recent: OrderedDict[Hashable, Any] = OrderedDict()

    @classmethod
    def of(cls, model: Model) -> Core:
        """The instance of a model."""
        return model.once("core", lambda: cls(model))

    def recent(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The cached object for an equal key, or a new one."""
        with self._lock:
            if key in self._recent:
                self._recent.move_to_end(key)
                return self._recent[key]
        made = make()
        with self._lock:
            self._recent[key] = made
            while len(self._recent) > KEPT:
                self._recent.popitem(last=False)
        return made

    @property
    def program(self) -> Program:
        """The compiled equations."""
        return self.model.once("program", lambda: Program(self.model.system, self.model.plan))

    def bind(self, inputs: dict[str, float | TimeSeries], parameters: dict[str, float]) -> Binding:
        """The program with these inputs and parameters instead of the model's."""
        bound: Binding = self.recent(("bound", *sorted(parameters.items())), lambda: self._bound(parameters))
        return self.bind_inputs(bound, inputs)

    def bind_inputs(self, bound: Binding, inputs: Mapping[str, float | TimeSeries]) -> Binding:
        """The same with these inputs: values given by the caller replace those of the model."""
        index = self.input_index
        held = {index[name]: value for name, value in inputs.items() if not isinstance(value, TimeSeries)}
        series = {index[name]: value for name, value in inputs.items() if isinstance(value, TimeSeries)}
        return bound.with_held(held).with_series(series)

    @cached_property
    def input_index(self) -> dict[str, int]:
        """Index of each input."""
        return {name: i for i, name in enumerate(self.model.input_names)}

    def _bound(self, parameters: dict[str, float]) -> Binding:
        model, held = self.model, np.zeros(len(self.model.plan.kinds))
        vector, constants = self._constants(parameters)
        held[: len(model.input_names)] = [model.environment.values[name] for name in model.input_names]
        return Binding.of(self.program, constants=constants, parameters=vector, held=held)

    def _constants(self, parameters: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
        vector = self.model.parameter_vector(parameters)
        values = self.constants_of_cases(vector[None])[0]
        if isinstance(values, EvaluationError):
            raise values
        vector.flags.writeable = False
        return vector, values

    def constants_of_cases(self, parameters: np.ndarray) -> list[np.ndarray | EvaluationError]:
        """The constants in several cases (cases x parameters), or the reason why they are undefined."""
        table = self.model.system.constants.of_cases(parameters)
        sound = np.isfinite(table).all(axis=1)
        return [_frozen(x) if good else EvaluationError(NOT_FINITE) for x, good in zip(table, sound, strict=True)]

    def checked_inputs(self, given: dict[str, Any], parameters: Mapping[str, float]) -> dict[str, float | TimeSeries]:
        """Inputs by name, those of repeated ones by instance; unknown names and invalid values are rejected."""
        given = expanded_inputs(self.model, given)
        check_names("input", given, self.model.input_names)
        return {name: input_value(self.model, name, value, parameters) for name, value in given.items()}

    def check_structure(self, parameters: dict[str, float]) -> None:
        """Reject parameters that determine the number of parts of the robot, and inputs."""
        for name in sorted(self.model.structural & parameters.keys()):
            raise ArgumentError(
                f"the parameter '{name}' determines the number of parts; load the model again with "
                f"set={{'{name}': ...}} instead of changing it here"
            )
        for name in sorted(parameters.keys() & set(self.model.input_names)):
            raise ArgumentError(f"'{name}' is an input, not a parameter", f"give it in inputs={{'{name}': ...}}")

    # -- derivatives by CasADi -----------------------------------------------------------------------------------------

    @property
    def parameter_jacobian(self) -> ca.Function:
        """`(q, v, a, t, inputs, parameters) -> d(M a + h)/d(parameters)`."""
        return self.model.once("parameter_jacobian", self._parameter_jacobian)

    def _parameter_jacobian(self) -> ca.Function:
        model = self.model
        residual = casadi_function(model, "inverse_dynamics")
        sizes = {"q": len(model.q_names), "v": len(model.v_names), "a": len(model.v_names), "t": 1,
                 "u": len(model.input_names), "p": len(model.parameter_names)}  # fmt: skip
        q, v, a, t, u, p = (ca.MX.sym(name, size) for name, size in sizes.items())
        r = residual(t, q, v, a, u, p)
        return ca.Function("parameter_jacobian", [q, v, a, t, u, p], [ca.densify(ca.jacobian(r, p))])

    @property
    def signal_jacobian(self) -> ca.Function:
        """`(t, u, du, d2u, parameters) -> d(signals)/d(inputs)`."""
        return self.model.once("signal_jacobian", self._signal_jacobian)

    def _signal_jacobian(self) -> ca.Function:
        function = self.model.plan.signals
        assert function is not None, "used only if there are signals"
        symbols = [ca.MX.sym(f"x{i}", *function.size_in(i)) for i in range(5)]
        value = function(*symbols)[0]
        return ca.Function("signal_jacobian", symbols, [ca.densify(ca.jacobian(value, symbols[1]))])

    @property
    def motion_jacobians(self) -> ca.Function:
        """`(t, u, du, d2u, parameters)` to derivatives: of the signals, of their rates and of their accelerations with respect to
        the inputs u, then of their accelerations with respect to du and d2u, each signals x inputs."""
        return self.model.once("motion_jacobians", self._motion_jacobians)

    def _motion_jacobians(self) -> ca.Function:
        function = self.model.plan.signals
        assert function is not None, "used only if there are signals"
        symbols = [ca.MX.sym(f"x{i}", *function.size_in(i)) for i in range(5)]
        value, rate, acceleration = function(*symbols)
        pairs = ((value, 1), (rate, 1), (acceleration, 1), (acceleration, 2), (acceleration, 3))
        found = [ca.densify(ca.jacobian(x, symbols[i])) for x, i in pairs]
        return ca.Function("motion_jacobians", symbols, found)


def _frozen(values: np.ndarray) -> np.ndarray:
    """A read-only copy."""
    copied = np.array(values)
    copied.flags.writeable = False
    return copied
