"""Analyses as plain functions with derivatives: arrays by name in, outputs by name out, and products with Jacobians."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Any, Literal, TypeAlias

import numpy as np

from pliant.analysis.equilibrium import Equilibrium, equilibrium
from pliant.analysis.motion.result import Result
from pliant.analysis.motion.run import acting_controllers
from pliant.analysis.simulate import Simulate, simulate
from pliant.control.limits import named
from pliant.control.path_control import PidControl
from pliant.control.sample_derivatives import SmoothController
from pliant.engine.core import check_names
from pliant.engine.equations import Equations, need_equations
from pliant.engine.model.inputs import HELD
from pliant.engine.outputs import output_function, output_names
from pliant.engine.state import rate_name
from pliant.gradient.equilibrium import KINKS, EquilibriumCotangents, Linearization
from pliant.gradient.motion import MotionCotangents, RecordedMotion, recorded_motion, refuse, smooth_controllers
from pliant.gradient.parameter_derivatives import (
    SHARE,
    ParameterTangents,
    output_cotangents,
    refuse_moving_switches,
    refuse_others,
)
from pliant.language.arguments import ArgumentError, choice, mapping, name_tuple
from pliant.language.message_text import describe, suggestion
from pliant.language.time_series import TERMS, interpolated

Arrays: TypeAlias = dict[str, np.ndarray]
Pullback: TypeAlias = Callable[[Mapping[str, Any]], Arrays]
Analysis: TypeAlias = Literal["simulate", "equilibrium"]


def differentiable(
    eqs: Equations, of: Sequence[str] | str, by: Sequence[str] | str, *, analysis: Analysis = "simulate", **options: Any
) -> Differentiable:
    """A simulation or an equilibrium as a differentiable function.

    of: names of outputs. by: names of parameters, inputs, initial coordinates and rates ("q1", "d(q1)/dt"), and controller
    gains ("pid.proportional": the names of the controller and the gain). analysis: "simulate" or "equilibrium". options: those
    of the analysis. A simulation needs `until`; its outputs are evaluated at the times `save_at` [s], by default at its end. An
    input given as `inputs={name: (times, values)}` is an array argument, a constant input a number.

    Example::

        f = pliant.differentiable(eqs, of="tip", by=["youngs_modulus", "p1"], until=2.0,
                                  inputs={"p1": (times, np.zeros(len(times)))})
        values, pullback = f.vjp({"youngs_modulus": 1.2e5})
        gradient = pullback({"tip": values["tip"] - wanted})
    """
    need_equations(eqs)
    choice("analysis", analysis, ("simulate", "equilibrium"))
    outputs, names = name_tuple(of, "of") or (), name_tuple(by, "by") or ()
    check_names("output", outputs, eqs.model.spec.outputs)
    if not outputs or not names:
        raise ArgumentError("name at least one output and one argument to differentiate by")
    refuse_others(eqs, outputs)
    options = dict(options)
    if analysis == "simulate":
        if "until" not in options:
            raise ArgumentError("a simulation needs an end time", "write until=2.0")
        chosen = any(options.get(name) is not None for name in ("save_every", "save_at"))
        if chosen and not Simulate.of(options).saving.exact:
            raise ArgumentError("derivatives are available for outputs at `save_at` only, where steps end")
        options.setdefault("save_at", [options["until"]])
        if options["save_at"] is None:
            options["save_at"] = [options["until"]]
        refuse(eqs, options)
    elif eqs.model.system.contacts.laws:
        raise ArgumentError("equilibria in contact have no derivatives: friction depends on the history")
    return Differentiable(eqs, outputs, names, analysis, options)


@dataclass(frozen=True)
class Differentiable:
    """A function of named arrays (SI units), with Jacobian products; see `differentiable`.

    Attributes:
        of: outputs; by: arguments.
        analysis: "simulate" or "equilibrium", with its options.
    """

    eqs: Equations
    of: tuple[str, ...]
    by: tuple[str, ...]
    analysis: Analysis
    options: Mapping[str, Any]

    def __post_init__(self) -> None:
        eqs, start = self.eqs, self.options.get("start")
        known = [*eqs.parameters, *eqs.inputs, *eqs.coordinates, *map(rate_name, eqs.rates), *self._all_gains]
        for name in self.by:
            if name not in known:
                raise ArgumentError(
                    f"there is no parameter, input, start value or gain '{name}'", suggestion(name, known, "")
                )
        self._refuse_inputs_that_controllers_read()
        if self._starts and (self.analysis != "simulate" or not (start is None or isinstance(start, Mapping))):
            raise ArgumentError(
                "derivatives with respect to the initial state need a start by name",
                'write start={"q1": 0.2}, or omit the start',
            )
        for name in self._starts:
            if name in self._quaternions:
                raise ArgumentError(f"'{name}' is a component of a quaternion; use rates instead")

    @cached_property
    def initial(self) -> Arrays:
        """Values of the arguments in the model and the options."""
        given = mapping("inputs", self.options.get("inputs"))
        start = dict(zip(self.eqs.coordinates, self.eqs.initial_state().q.tolist(), strict=True))
        start |= dict(zip(map(rate_name, self.eqs.rates), self.eqs.initial_state().v.tolist(), strict=True))
        start |= mapping("start", self.options.get("start")) if self._starts else {}
        initial: Arrays = {}
        for name in self.by:
            if name in self._grids:
                initial[name] = np.array(given[name][1], dtype=float)
            elif name in self._inputs:
                initial[name] = np.array(float(given[name]) if name in given else _held(self.eqs, name))
            elif name in self._gains:
                initial[name] = self._all_gains[name]
            elif name in self._parameters:
                value = mapping("parameters", self.options.get("parameters")).get(name, self.eqs.parameters[name])
                initial[name] = np.array(float(value))
            else:
                initial[name] = np.array(float(start[name]))
        return initial

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the outputs, by name."""
        function, names = output_function(self.eqs.model), output_names(self.eqs.model)
        sizes = {name: int(function.size1_out(names.index(name))) for name in self.of}
        times = len(np.atleast_1d(self.options["save_at"])) if self.analysis == "simulate" else 0
        return {name: ((times,) if times else ()) + ((n,) if n > 1 else ()) for name, n in sizes.items()}

    def __call__(self, values: Mapping[str, Any] | None = None) -> Arrays:
        """The outputs at these values; omitted arguments have their initial values."""
        values = self._complete(values)
        if self.analysis == "equilibrium":
            return self._of_rest(equilibrium(self.eqs, **self._options_at(values)))
        options = self._options_at(values)
        run = simulate(self.eqs, options.pop("until"), **options)
        return self._of_motion(run)

    def vjp(self, values: Mapping[str, Any] | None = None) -> tuple[Arrays, Pullback]:
        """The outputs at these values, and a function that maps cotangents of outputs (by name; omitted ones are zero) to those
        of the arguments."""
        at = self.linearize(values)
        return at.outputs, at.vjp

    def jvp(self, values: Mapping[str, Any] | None, tangents: Mapping[str, Any]) -> tuple[Arrays, Arrays]:
        """The outputs at these values, and their tangents for tangents of the arguments (by name; omitted ones are zero)."""
        at = self.linearize(values)
        return at.outputs, at.jvp(tangents)

    def linearize(self, values: Mapping[str, Any] | None = None) -> Linearization:
        """The outputs at these values, and products with their Jacobian J, with J' and with J'J, all from one recorded
        simulation or one equilibrium."""
        values = self._complete(values)
        if self.analysis == "equilibrium":
            rest = equilibrium(self.eqs, **self._options_at(values))
            tangents = ParameterTangents(rest.equations)
            return Linearization(
                self, values, self._of_rest(rest), lambda given: self._rest_pullback(rest, tangents, given), None
            )
        given = self.options.get("controllers")
        described = given is None or given is True
        motion = recorded_motion(self.eqs, described=described, **self._motion_at(values))
        for name in set(self.by) & set(motion.eqs.model.parameter_names):
            refuse_moving_switches(motion.eqs, name, *motion.span)
        return Linearization(
            self, values, self._of_motion(motion.run),
            None if motion.is_remembered else lambda given: self._motion_pullback(motion, given),
            lambda moved: self._of_motion(motion.moved(**self._motion_at(moved))),
            KINKS.event_share if motion.has_events else SHARE, motion.rests_at_a_kink,
        )  # fmt: skip

    def _motion_at(self, values: Arrays) -> dict[str, Any]:
        options = self._options_at(values)
        options.pop("controllers")
        return options | {"rebuild": partial(self._controllers, values)}

    def _of_motion(self, run: Result) -> Arrays:
        return {name: np.reshape(run[name].values, self.shapes[name]) for name in self.of}

    def value_and_gradient(
        self, objective: Callable[[Arrays], tuple[float, Mapping[str, Any]]], values: Mapping[str, Any] | None = None
    ) -> tuple[float, Arrays]:
        """A scalar function of the outputs and its gradient. objective: returns the scalar and its derivatives with respect to
        the outputs."""
        if not callable(objective):
            raise ArgumentError(f"objective must be a function of the outputs, not {describe(objective)}")
        outputs, pullback = self.vjp(values)
        value, by_outputs = objective(outputs)
        return float(value), pullback(by_outputs)

    def to_jax(self) -> Callable[..., dict[str, Any]]:
        """The same as a JAX function from a dict of arrays to a dict of arrays, which supports `jax.grad`, `jax.jit` and
        `jax.vmap` (cases run in threads on all cores). Arrays are float64 if `jax_enable_x64` is set, otherwise float32;
        simulations always run in double precision. Needs `pliant[jax]`."""
        return jax_function(self)

    def to_torch(self) -> Callable[..., dict[str, Any]]:
        """The same as a PyTorch function from a dict of tensors to a dict of tensors, with `backward`. Outputs have the dtype
        and the device of the given tensors; simulations run on the CPU in double precision. Needs `pliant[torch]`."""
        return torch_function(self)

    def check_argument_names(self, names: Iterable[str]) -> None:
        """Raise ArgumentError for names that are not arguments."""
        for name in names:
            if name not in self.by:
                raise ArgumentError(
                    f"'{name}' is not an argument of this function", f"it is one of {', '.join(self.by)}"
                )

    # -- arguments ------------------------------------------------------------------------------------------------------

    @cached_property
    def _inputs(self) -> tuple[str, ...]:
        return tuple(name for name in self.by if name in self.eqs.inputs)

    @cached_property
    def _parameters(self) -> tuple[str, ...]:
        return tuple(name for name in self.by if name in self.eqs.parameters and name not in self.eqs.inputs)

    @cached_property
    def _starts(self) -> tuple[str, ...]:
        others = {*self.eqs.inputs, *self.eqs.parameters, *self._all_gains}
        return tuple(name for name in self.by if name not in others)

    @cached_property
    def _all_gains(self) -> Arrays:
        """Gains of the controllers, as `controller.gain`."""
        if self.analysis != "simulate":
            return {}
        acting = self._controllers({}, mapping("parameters", self.options.get("parameters")))
        return {f"{c.name}.{name}": gain for c in acting for name, gain in c.gain_values.items()}

    @cached_property
    def _gains(self) -> tuple[str, ...]:
        known = {*self.eqs.inputs, *self.eqs.parameters, *self.eqs.coordinates}
        return tuple(name for name in self.by if name in self._all_gains and name not in known)

    def _controllers(self, values: Arrays, parameters: Mapping[str, float]) -> list[SmoothController]:
        """New controllers of the motion for these parameters, with these values of gains: runs do not share them."""
        acting = acting_controllers(self.options.get("controllers"), self.eqs, parameters)
        controllers = []
        for c in smooth_controllers(acting):
            names = {name: f"{c.name}.{name}" for name in c.gain_values}
            controllers.append(c.with_gains({name: values[own] for name, own in names.items() if own in values}))
        return controllers

    def _refuse_inputs_that_controllers_read(self) -> None:
        """Reject derivatives that would have to pass through commands: of inputs over time, and of starts on the path of a
        controller."""
        if self.analysis != "simulate" or not self._inputs:
            return
        for controller in self._controllers({}, mapping("parameters", self.options.get("parameters"))):
            if isinstance(controller, PidControl) and (self._grids or controller.compensation == "reference"):
                raise ArgumentError(
                    f"there are no derivatives with respect to the input '{self._inputs[0]}': {named(controller)}"
                    " computes its compensation from it",
                    "give it as a constant, with the compensation `measured` or `none`",
                )

    @cached_property
    def _quaternions(self) -> set[str]:
        return {self.eqs.coordinates[q + k] for q, _ in self.eqs.model.system.quaternions() for k in range(4)}

    @cached_property
    def _grids(self) -> dict[str, tuple[np.ndarray, str]]:
        """Times and interpolation of inputs over time."""
        grids = {}
        for name, value in mapping("inputs", self.options.get("inputs")).items():
            if name not in self._inputs:
                continue
            if isinstance(value, tuple | list):
                usual = "cubic" if name in self.eqs.model.smooth_inputs else "linear"
                grids[name] = np.array(value[0], dtype=float), value[2] if len(value) > 2 else usual
            elif callable(value) or isinstance(value, str):
                raise ArgumentError(
                    f"the input '{name}' has no values to differentiate by", "give it as a number or as (times, values)"
                )
        return grids

    def _complete(self, values: Mapping[str, Any] | None) -> Arrays:
        given = mapping("values", values)
        self.check_argument_names(given)
        complete = {}
        for name, before in self.initial.items():
            complete[name] = np.asarray(given.get(name, before), dtype=float)
            if complete[name].shape != before.shape:
                raise ArgumentError(f"'{name}' has shape {complete[name].shape}; it must be {before.shape}")
            if not np.all(np.isfinite(complete[name])):
                raise ArgumentError(f"'{name}' has a number that is not finite")
        return complete

    def checked_cotangents(self, given: Mapping[str, Any]) -> Arrays:
        """Cotangents of outputs in their shapes. Raises ArgumentError if shapes do not match."""
        cotangents = {}
        for name, cotangent in mapping("cotangents", given).items():
            if name not in self.of:
                raise ArgumentError(f"'{name}' is not an output of this function", f"it is one of {', '.join(self.of)}")
            shape, made = self.shapes[name], np.asarray(cotangent, dtype=float)
            if made.shape not in (shape, ()):
                raise ArgumentError(f"the cotangent of '{name}' has shape {made.shape}; it must be {shape}")
            cotangents[name] = np.broadcast_to(made, shape)
        return cotangents

    def _options_at(self, values: Arrays) -> dict[str, Any]:
        """Options of the analysis with these values of the arguments."""
        options = dict(self.options)
        inputs = mapping("inputs", options.get("inputs"))
        for name in self._inputs:
            grid = self._grids.get(name)
            inputs[name] = float(values[name]) if grid is None else (grid[0], values[name], grid[1])
        parameters = mapping("parameters", options.get("parameters"))
        parameters |= {name: float(values[name]) for name in self._parameters}
        options |= {"inputs": inputs or None, "parameters": parameters or None}
        if self.analysis == "simulate":
            options["controllers"] = self._controllers(values, parameters)
        if self._starts:
            options["start"] = mapping("start", options.get("start")) | {n: float(values[n]) for n in self._starts}
        return options

    # -- derivatives ------------------------------------------------------------------------------------------------------

    def _motion_pullback(self, motion: RecordedMotion, given: Arrays) -> Arrays:
        start = bool(self._parameters or self._inputs or self._starts)
        cotangents = motion.cotangents(given, self._parameters, self._inputs, start=start)
        out = dict(zip(self._parameters, map(np.asarray, cotangents.parameters), strict=True))
        begin = float(self.options.get("begin", 0.0))
        rest = motion.rest(cotangents.back) if self._inputs and motion.starts_at_rest else None
        for name in self._inputs:
            index, grid = self.eqs.inputs.index(name), self._grids.get(name)
            out[name] = (
                np.asarray(cotangents.back.held[index]) if grid is None else _by_values(cotangents, index, *grid)
            )
            by_value, by_rate = motion.by_start_input(cotangents.back, name)
            if rest is not None:
                by_value += rest.input(name, motion.input_at(index, begin))
            if motion.control is not None and cotangents.control is not None and grid is None:
                by_value += motion.control.by_input(cotangents.control, name)
            if by_value or by_rate:
                shares = np.array([1.0, 0.0]) if grid is None else _shares(begin, *grid)
                out[name] = out[name] + by_value * shares[..., 0] + by_rate * shares[..., 1]
        for name in self._starts:
            out[name] = np.asarray(motion.by_start_value(cotangents.back, name))
        if motion.control is not None and cotangents.control is not None:
            out |= motion.control.named_gains(cotangents.control)
        return {name: out[name] for name in self.by}

    def _of_rest(self, rest: Equilibrium) -> Arrays:
        return {name: np.reshape(np.asarray(rest.outputs[name], dtype=float), self.shapes[name]) for name in self.of}

    def _rest_pullback(self, rest: Equilibrium, tangents: ParameterTangents, given: Arrays) -> Arrays:
        eqs = rest.equations
        zero = np.zeros((1, len(eqs.rates)))
        states = rest.q[None], zero, zero, rest.multipliers[None]
        cotangents = output_cotangents(eqs, states, {name: np.reshape(x, (1, -1)) for name, x in given.items()})
        by_q, by_multipliers = cotangents.samples.q[0], cotangents.samples.multipliers[0]
        out: Arrays = {}
        back = EquilibriumCotangents(eqs, rest.time, rest.q, by_q, rest.multipliers, by_multipliers, tangents)
        for name in self._parameters:
            out[name] = np.asarray(back.parameter(name) + tangents.constants(name) @ cotangents.constants)
        for name in self._inputs:
            out[name] = np.asarray(back.input(name, _held(eqs, name)))
        return {name: out[name] for name in self.by}


def _held(eqs: Equations, name: str) -> float:
    """The value of a constant input."""
    bound, index = eqs.binding, eqs.inputs.index(name)
    if bound.input_kind[index] != HELD:
        raise ArgumentError(
            f"the input '{name}' has no values to differentiate by",
            "give it in `inputs`, as a number or as (times, values)",
        )
    return float(bound.held[index])


def _shares(t: float, times: np.ndarray, interpolation: str) -> np.ndarray:
    """Derivative of an input and its rate at time t [s] with respect to each of its values, n x 2."""
    return np.array([interpolated(times, unit, interpolation).at(t)[:2] for unit in np.eye(len(times))])


def _by_values(cotangents: MotionCotangents, index: int, times: np.ndarray, interpolation: str) -> np.ndarray:
    """Cotangents of the values of an input at its times: series are linear in them."""
    by_poly = cotangents.series(index)
    if by_poly.shape != (len(times), TERMS):
        raise ArgumentError("an input that prescribes a velocity or acceleration has no derivatives")
    if interpolation == "previous" or len(times) == 1:
        return by_poly[:, 0].copy()
    if interpolation == "linear":
        slope = by_poly[:-1, 1] / np.diff(times)
        out = by_poly[:, 0].copy()
        out[1:] += slope
        out[:-1] -= slope
        return out
    units = np.eye(len(times))
    return np.array([np.sum(by_poly * interpolated(times, unit, interpolation).poly) for unit in units])


KEPT = 2
"""Maximum number of recorded motions between a call and its gradient, per core; each may use as much memory as one record."""


def jax_function(f: Differentiable) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """`Differentiable.to_jax`."""
    try:
        import jax
    except ImportError as reason:
        raise ModuleNotFoundError("jax is not installed: pip install 'pliant[jax]'", name="jax") from reason
    call = _jax_call(jax, f)

    def function(values: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Outputs by name at these values by name; omitted arguments have their initial values."""
        given = dict(values or {})
        f.check_argument_names(given)
        number_type = _jax_number_type(jax)
        full = {name: jax.numpy.asarray(given.get(name, x), number_type) for name, x in f.initial.items()}
        for name, x in f.initial.items():
            if full[name].shape != x.shape:
                raise ArgumentError(f"'{name}' has shape {full[name].shape}; it must be {x.shape}")
        return call(full)

    return function


def _jax_number_type(jax: Any) -> Any:
    """float64, or float32 unless `jax_enable_x64` is set."""
    return jax.dtypes.canonicalize_dtype(np.float64)


def _jax_call(jax: Any, f: Differentiable) -> Callable[[dict[str, Any]], Any]:
    """The function of JAX's arrays, all arguments by name, with its derivative."""
    cases = _Cases(f)

    def callback(function: Callable[..., Arrays], shapes: Mapping[str, tuple[int, ...]], *values: Any) -> Any:
        number_type = _jax_number_type(jax)
        results = {name: jax.ShapeDtypeStruct(shape, number_type) for name, shape in shapes.items()}
        return jax.pure_callback(function, results, *values, vmap_method="broadcast_all")

    @jax.custom_vjp
    def call(values: dict[str, Any]) -> Any:
        return callback(cases.outputs, f.shapes, values)

    def forward(values: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return callback(cases.recorded, f.shapes, values), values

    def backward(values: dict[str, Any], given: dict[str, Any]) -> tuple[Any]:
        return (callback(cases.cotangents, {name: x.shape for name, x in f.initial.items()}, values, given),)

    call.defvjp(forward, backward)
    return call


class _Cases:
    """One case or a batch, in one thread per core: arrays by name with leading batch axes."""

    def __init__(self, f: Differentiable) -> None:
        self._f = f
        self._cores = os.cpu_count() or 1
        self._kept: OrderedDict[bytes, Pullback] = OrderedDict()
        self._lock = threading.Lock()

    def outputs(self, values: Mapping[str, Any]) -> Arrays:
        return self._over_cases(self._f, self._f.shapes, values)

    def recorded(self, values: Mapping[str, Any]) -> Arrays:
        return self._over_cases(self._record, self._f.shapes, values)

    def cotangents(self, values: Mapping[str, Any], given: Mapping[str, Any]) -> Arrays:
        shapes = {name: x.shape for name, x in self._f.initial.items()}
        return self._over_cases(self._pull_back, shapes, values, given)

    def _over_cases(
        self, function: Callable[..., Arrays], shapes: Mapping[str, tuple[int, ...]], *given: Mapping[str, Any]
    ) -> Arrays:
        own = {name: x.ndim for name, x in self._f.initial.items()} | {n: len(s) for n, s in self._f.shapes.items()}
        arrays = [{name: np.asarray(x) for name, x in one.items()} for one in given]
        name, first = next(iter(arrays[0].items()))
        lead = first.shape[: first.ndim - own[name]]
        number_type = first.dtype
        cases = [
            [{n: x[at].astype(float) for n, x in one.items()} for one in arrays] for at in np.ndindex(*lead)
        ]  # fmt: skip
        if len(cases) == 1:
            arrays_of_cases = [function(*cases[0])]
        else:
            with ThreadPoolExecutor(min(self._cores, max(len(cases), 1))) as pool:
                arrays_of_cases = list(pool.map(lambda case: function(*case), cases))
        return {
            n: np.array([one[n] for one in arrays_of_cases], dtype=number_type).reshape(lead + tuple(shape))
            for n, shape in shapes.items()
        }

    def _record(self, values: Arrays) -> Arrays:
        outputs, pullback = self._f.vjp(values)
        self._keep(values, pullback)
        return outputs

    def _pull_back(self, values: Arrays, given: Arrays) -> Arrays:
        with self._lock:
            pullback = self._kept.pop(_key(values), None)  # used by one thread at a time
        if pullback is None:
            pullback = self._f.vjp(values)[1]
        cotangents = pullback(given)
        self._keep(values, pullback)
        return cotangents

    def _keep(self, values: Arrays, pullback: Pullback) -> None:
        with self._lock:
            self._kept[_key(values)] = pullback
            while len(self._kept) > KEPT * self._cores:
                self._kept.popitem(last=False)


def _key(values: Arrays) -> bytes:
    return b"".join(np.ascontiguousarray(values[name]).tobytes() for name in sorted(values))


def torch_function(f: Differentiable) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """`Differentiable.to_torch`."""
    try:
        import torch
        from torch.autograd.function import once_differentiable
    except ImportError as reason:
        raise ModuleNotFoundError("torch is not installed: pip install 'pliant[torch]'", name="torch") from reason

    def as_array(x: Any) -> np.ndarray:
        return np.asarray(x.detach().cpu().numpy(), dtype=float)

    class Function(torch.autograd.Function):
        """Outputs, in the order of `f.of`, of given tensors by name."""

        @staticmethod
        def forward(ctx: Any, names: tuple[str, ...], *given: Any) -> Any:
            values = {name: as_array(x) for name, x in zip(names, given, strict=True)}
            kind = reduce(torch.promote_types, [x.dtype for x in given])
            device = given[0].device
            if any(ctx.needs_input_grad[1:]):
                outputs, ctx.pullback = f.vjp(values)
            else:
                outputs = f(values)
            ctx.names, ctx.like = names, [(x.dtype, x.device) for x in given]
            return tuple(torch.as_tensor(np.array(outputs[name]), dtype=kind, device=device) for name in f.of)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, *cotangents: Any) -> Any:
            by_argument = ctx.pullback({name: as_array(x) for name, x in zip(f.of, cotangents, strict=True)})
            given = zip(ctx.names, ctx.like, strict=True)
            return None, *(torch.as_tensor(by_argument[n], dtype=kind, device=device) for n, (kind, device) in given)

    def function(values: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Outputs by name at these values by name; omitted arguments have their initial values."""
        f.check_argument_names(values or {})
        given = {name: torch.as_tensor(x) for name, x in (values or {}).items()}
        given = {n: x if x.is_floating_point() else x.to(torch.float64) for n, x in given.items()}
        if not given:
            return {name: torch.as_tensor(np.array(x)) for name, x in f().items()}
        outputs = Function.apply(tuple(given), *given.values())
        return dict(zip(f.of, outputs, strict=True))

    return function
