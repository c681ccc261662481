"""The optimization problem in scaled variables from 0 to 1, with derivatives."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import casadi as ca
import numpy as np
import scipy
from pydantic import Field

from pliant.analysis.base import Analysis, Option, Seconds, function_of
from pliant.analysis.equilibrium import equilibrium
from pliant.analysis.numerics.status import AnalysisFailed, Status
from pliant.analysis.result import Along, AnalysisResult, Sheet
from pliant.analysis.simulate import simulate
from pliant.engine.equations import Equations
from pliant.engine.input_values import INSTANT, inputs_over_time, names_in
from pliant.engine.outputs import output_function, output_names
from pliant.gradient.differentiable import Analysis as OutputAnalysis
from pliant.gradient.differentiable import Differentiable, differentiable
from pliant.language.arguments import ArgumentError, function, is_number
from pliant.language.base import InPython, OneOrList
from pliant.language.evaluate import evaluate
from pliant.language.faults import ExpressionError
from pliant.language.message_text import describe, suggestion
from pliant.language.ranges import read_range
from pliant.language.syntax import Binary, Node, parse, symbols, to_text
from pliant.parts.output.base import ExpressionOutput, component

EXAMPLE = 'write it as in model files: "(tip.x - 20 cm)^2 + (tip.z + 30 cm)^2"'
LIMITS = {"<=": 1.0, "<": 1.0, ">=": -1.0, ">": -1.0, "==": 0.0}
"""Operators of conditions, and the sign of the expression that must not be positive."""


@dataclass(frozen=True)
class Quantity:
    """An expression of outputs, their components (`tip.x`, `tip.norm`) and parameters.

    varied: parameters and inputs with respect to which it is differentiated.
    """

    eqs: Equations
    node: Node
    varied: tuple[str, ...]

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The outputs that it depends on."""
        known = self.eqs.model.spec.outputs
        return tuple(sorted({name.partition(".")[0] for name in symbols(self.node)} & known.keys()))

    def value(self, values: Mapping[str, float], outputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """Values at each time. values: of the variables. outputs: times x components by name."""
        return self._evaluated(values, outputs)[0].ravel()

    def derivatives(
        self, values: Mapping[str, float], outputs: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Derivatives at each time with respect to variables that occur in the text (times x varied), and to the outputs."""
        _, by_varied, *by_outputs = self._evaluated(values, outputs)
        return by_varied, dict(zip(self.outputs, by_outputs, strict=True))

    def _evaluated(self, values: Mapping[str, float], outputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        given = [np.reshape(outputs[name], (-1, self._size(name))) for name in self.outputs]
        times = len(given[0]) if given else 1
        x = np.array([values[name] for name in self.varied])
        rows = [
            [np.asarray(y, dtype=float).ravel() for y in self._function(x, *(g[t] for g in given))]
            for t in range(times)
        ]
        return [np.array(column) for column in zip(*rows, strict=True)]

    def _size(self, output: str) -> int:
        model = self.eqs.model
        return int(output_function(model).size1_out(output_names(model).index(output)))

    @cached_property
    def _function(self) -> ca.Function:
        robot = self.eqs.model.spec
        x = ca.SX.sym("x", len(self.varied))
        vectors = {name: ca.SX.sym("output", self._size(name)) for name in self.outputs}
        given = {**self.eqs.parameters, **dict(zip(self.varied, ca.vertsplit(x), strict=True))}
        environment = self.eqs.model.environment
        allowed = {*environment.independent, *environment.inputs}
        values = dict(environment.with_values({n: v for n, v in given.items() if n in allowed}).values)
        for symbol in symbols(self.node):
            output, _, part = symbol.partition(".")
            if output in vectors:
                values[symbol] = _part(vectors[output], part, robot.outputs[output].components(robot), symbol)
        try:
            found = ca.SX(evaluate(self.node, values))
        except ExpressionError as reason:
            raise ArgumentError(f"'{_text(self.node)}': {reason}", reason.hint or EXAMPLE) from None
        if found.numel() != 1:
            raise ArgumentError(
                f"'{_text(self.node)}' is a vector, not a number", "name a component (tip.x) or its length (tip.norm)"
            )
        inputs = [x, *vectors.values()]
        return ca.Function("quantity", inputs, [found, *(ca.densify(ca.jacobian(found, y)) for y in inputs)])


def _part(vector: ca.SX, part: str, labels: Sequence[str], symbol: str) -> ca.SX:
    if not part or part == "norm":
        return component(vector, part or None)
    if part not in labels:
        raise ArgumentError(f"there is no '{symbol}'", f"components are {', '.join([*labels, 'norm'])}")
    return vector[list(labels).index(part)]


def quantity(eqs: Equations, text: str, varied: tuple[str, ...]) -> Quantity:
    """Parse a text. Raises ArgumentError if it is invalid, or if units do not match."""
    return Quantity(eqs, _checked(eqs, _parsed(eqs, text)), varied)


@dataclass(frozen=True)
class Condition:
    """A quantity that must not be positive, or must be zero. text: as written."""

    text: str
    quantity: Quantity
    equal: bool
    sides: tuple[Quantity, Quantity]


def condition(eqs: Equations, text: str, varied: tuple[str, ...]) -> Condition:
    """Parse a condition such as `tip.z >= 10 cm`."""
    node = _parsed(eqs, text)
    if not isinstance(node, Binary) or node.operator not in LIMITS:
        raise ArgumentError(f"'{text}' is not a condition", 'write "tip.z >= 10 cm", "force <= 5 N" or "tip.x == 0"')
    left, right = (node.left, node.right) if LIMITS[node.operator] >= 0 else (node.right, node.left)
    difference = _checked(eqs, Binary("-", left, right))
    sides = Quantity(eqs, node.left, varied), Quantity(eqs, node.right, varied)
    return Condition(text, Quantity(eqs, difference, varied), node.operator == "==", sides)


def _parsed(eqs: Equations, text: str) -> Node:
    if not isinstance(text, str):
        raise ArgumentError("`minimize` and conditions must be texts", EXAMPLE)
    try:
        return parse("=" + text)
    except ExpressionError as reason:
        robot = eqs.model.spec
        for output, part in re.findall(r"([^\W\d]\w*)\.([^\W\d]\w*)", text):
            if output in robot.outputs:
                labels = [*robot.outputs[output].components(robot), "norm"]
                if part not in labels:
                    raise ArgumentError(
                        f"there is no '{output}.{part}'", f"components are {', '.join(labels)}"
                    ) from None
        raise ArgumentError(f"cannot read '{text}': {reason}", reason.hint or EXAMPLE) from None


def _text(node: Node) -> str:
    return to_text(node).removeprefix("=")


def _checked(eqs: Equations, node: Node) -> Node:
    """The parsed expression; its names are known, and its units match."""
    model = eqs.model
    units = {x: c.unit for c in model.coordinates for x in c.q_names}
    try:
        ExpressionOutput(expression=to_text(node)).result_dimension(model.spec, units, ())
    except ExpressionError as reason:
        raise ArgumentError(f"'{_text(node)}': {reason}", reason.hint or EXAMPLE) from None
    return node


@dataclass(frozen=True)
class OptimizeNumbers:
    """Tolerances and limits of optimizations."""

    holds: float = 1e-6
    """Accepted violation of a condition, relative to its size."""
    tolerance: float = 1e-8
    """Tolerance of the objective, relative to its size at the start, at which a gradient-based search ends."""
    most_evaluations: int = 1_000_000_000
    """Largest number of evaluations; optimizers count in 32 bits."""


NUMBERS = OptimizeNumbers()


@dataclass(frozen=True)
class Evaluation:
    """A point evaluated by a search.

    Attributes:
        values: of the variables, by name (SI units).
        objective: value of the objective [its SI unit].
        spare: margin of each condition, relative to its size; negative if it is violated.
    """

    values: Mapping[str, float]
    objective: float
    spare: Mapping[str, float]

    @property
    def missed(self) -> float:
        """Largest violation of the conditions, relative to their size; 0 if all are satisfied."""
        most = -min(self.spare.values(), default=0.0)
        return most if most > NUMBERS.holds else 0.0


@dataclass(frozen=True)
class Outcome:
    """Objective, then conditions (at most zero, or zero), each at the point x, and their derivatives, one row each."""

    objective: float
    conditions: np.ndarray
    gradient: np.ndarray
    jacobian: np.ndarray


@dataclass
class Problem:
    """Objective and conditions, bounds of the variables by name (SI units), and the analysis with its options that computes
    outputs."""

    eqs: Equations
    minimize: Quantity
    conditions: tuple[Condition, ...]
    bounds: Mapping[str, tuple[float, float]]
    analysis: OutputAnalysis
    options: Mapping[str, Any]
    progress: Callable[[Evaluation], None] | None = None
    way: list[Evaluation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._seen: dict[bytes, Outcome] = {}

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """All required outputs."""
        wanted = [self.minimize, *(c.quantity for c in self.conditions)]
        return tuple(sorted({name for x in wanted for name in x.outputs}))

    @cached_property
    def function(self) -> Differentiable:
        """Outputs with derivatives. Raises ArgumentError if there are none."""
        return differentiable(self.eqs, self.outputs, tuple(self.bounds), analysis=self.analysis, **self.options)

    @property
    def equal(self) -> np.ndarray:
        """Whether each row of the conditions is an equality; available after the first evaluation."""
        return np.repeat([c.equal for c in self.conditions], self._times).astype(bool)

    def values(self, x: np.ndarray) -> dict[str, float]:
        """The variables, by name, at fractions x of their ranges."""
        return {n: float(low + s * (high - low)) for s, (n, (low, high)) in zip(x, self.bounds.items(), strict=True)}

    def look(self, x: np.ndarray) -> Outcome:
        """Objective and conditions with derivatives with respect to x."""
        key = np.asarray(x, dtype=float).tobytes()
        if key not in self._seen:
            values = self.values(x)
            outputs, pullback = self.function.vjp(values)
            self._note(values, outputs)
            gradients = [self._pulled(c.quantity, values, outputs, pullback) for c in self.conditions]
            gradient = self._pulled(self.minimize, values, outputs, pullback).mean(axis=0)
            jacobian = np.concatenate(
                [np.zeros((0, len(x))), *(d / s for d, s in zip(gradients, self._sizes, strict=True))]
            )
            width = np.array([high - low for low, high in self.bounds.values()])
            self._seen[key] = Outcome(self._objective, self._rows, gradient * width, jacobian * width)
        return self._seen[key]

    def try_out(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Objective and conditions, without derivatives."""
        values = self.values(x)
        parameters = {n: v for n, v in values.items() if n not in self.eqs.inputs}
        inputs = {n: v for n, v in values.items() if n in self.eqs.inputs}
        options = {**self.options, "parameters": parameters or None, "inputs": inputs or None}
        if self.analysis == "equilibrium":
            rest = equilibrium(self.eqs, **options)
            self._note(values, {name: np.atleast_1d(rest.outputs[name]) for name in self.outputs})
        else:
            if options.get("save_at") is None:
                options["save_at"] = [options["until"]]
            run = simulate(self.eqs, **options)
            self._note(values, {name: run[name].values for name in self.outputs})
        return self._objective, self._rows

    def again(self, eqs: Equations) -> Any:
        """The equilibrium or the motion of these equations."""
        options = {name: x for name, x in self.options.items() if name != "save_at"}
        analyse: Any = equilibrium if self.analysis == "equilibrium" else simulate
        return analyse(eqs, on_failure="return", **options)

    def _note(self, values: Mapping[str, float], outputs: Mapping[str, np.ndarray]) -> None:
        """Objective and conditions of these outputs; the point is recorded."""
        self._objective = float(self.minimize.value(values, outputs).mean())
        rows = [c.quantity.value(values, outputs) for c in self.conditions]
        self._times = len(rows[0]) if rows else 0
        if not self.way:  # sizes are taken at the start
            sides = [[np.max(np.abs(side.value(values, outputs))) for side in c.sides] for c in self.conditions]
            self._sizes = [max(both) or 1.0 for both in sides]
        self._rows = np.concatenate([np.zeros(0), *(r / s for r, s in zip(rows, self._sizes, strict=True))])
        spare = {
            c.text: -float(np.max(np.abs(r) if c.equal else r)) / size + 0.0
            for c, r, size in zip(self.conditions, rows, self._sizes, strict=True)
        }
        visit = Evaluation(dict(values), self._objective, spare)
        self.way.append(visit)
        if self.progress is not None:
            self.progress(visit)

    def _pulled(self, of: Quantity, values: Mapping[str, float], outputs: Any, pullback: Any) -> np.ndarray:
        """Derivatives of a quantity with respect to the variables, one row per time."""
        direct, by_outputs = of.derivatives(values, outputs)
        if not by_outputs:
            return direct
        rows = []
        for t, row in enumerate(direct):
            given = {}
            for name, d in by_outputs.items():
                one = np.zeros_like(d)
                one[t] = d[t]
                given[name] = one.reshape(np.shape(outputs[name]))
            back = pullback(given)
            rows.append(row + np.array([float(back[name]) for name in self.bounds]))
        return np.array(rows)


def by_slsqp(problem: Problem, start: np.ndarray, most: int, seed: int) -> str:
    """SciPy's sequential quadratic programming. Returns the reason if it has not converged."""
    size = abs(problem.look(start).objective) or 1.0
    equal = problem.equal
    rows = [("ineq", ~equal, -1.0), ("eq", equal, 1.0)]
    conditions = [
        {
            "type": kind,
            "fun": lambda x, r=r, s=s: s * problem.look(x).conditions[r],
            "jac": lambda x, r=r, s=s: s * problem.look(x).jacobian[r],
        }
        for kind, r, s in rows
        if np.any(r)
    ]
    minimum = scipy.optimize.minimize(
        lambda x: problem.look(x).objective / size, start, jac=lambda x: problem.look(x).gradient / size,
        bounds=[(0.0, 1.0)] * len(start), constraints=conditions, method="SLSQP",
        options={"maxiter": most, "ftol": NUMBERS.tolerance},
    )  # fmt: skip
    return "" if minimum.success else str(minimum.message)


def by_ipopt(problem: Problem, start: np.ndarray, most: int, seed: int) -> str:
    """IPOPT's interior-point method, as bundled with CasADi, with a quasi-Newton matrix."""
    first = problem.look(start)
    size, n, m = abs(first.objective) or 1.0, len(start), len(first.conditions)

    class Rows(ca.Callback):
        """Objective and conditions, or with `slopes` their derivatives."""

        def __init__(self, slopes: bool) -> None:
            ca.Callback.__init__(self)
            self.slopes = slopes
            self.construct("slopes" if slopes else "rows", {})

        def get_n_in(self) -> int:
            return 2 if self.slopes else 1

        def get_sparsity_in(self, i: int) -> Any:
            return ca.Sparsity.dense(n, 1) if i == 0 else ca.Sparsity(1 + m, 1)

        def get_sparsity_out(self, i: int) -> Any:
            return ca.Sparsity.dense(1 + m, n if self.slopes else 1)

        def eval(self, given: Any) -> Any:
            look = problem.look(np.asarray(given[0], dtype=float).ravel())
            if self.slopes:
                return [np.vstack([look.gradient / size, look.jacobian])]
            return [np.concatenate([[look.objective / size], look.conditions])]

        def has_jacobian(self, *_: Any) -> bool:
            return not self.slopes

        def get_jacobian(self, *_: Any) -> Any:
            kept.append(Rows(slopes=True))
            return kept[-1]

    kept: list[Any] = []  # CasADi does not keep them alive
    rows, x = Rows(slopes=False), ca.MX.sym("x", n)
    both = rows(x)
    options: Any = {
        "print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.max_iter": most, "ipopt.tol": NUMBERS.tolerance,
        "ipopt.hessian_approximation": "limited-memory", "ipopt.constr_viol_tol": 0.1 * NUMBERS.holds,
    }  # fmt: skip
    program: Any = {"x": x, "f": both[0], "g": both[1:]}
    solver = ca.nlpsol("search", "ipopt", program, options)
    solver(x0=start, lbx=0, ubx=1, lbg=np.where(problem.equal, 0.0, -np.inf), ubg=np.zeros(m))
    status = solver.stats()
    return "" if status["success"] else str(status["return_status"]).replace("_", " ").lower()


def by_optuna(problem: Problem, start: np.ndarray, most: int, seed: int) -> str:
    """Samples of Optuna's tree-structured Parzen estimators: no derivatives; failed samples are skipped."""
    try:
        import optuna
    except ImportError as reason:
        raise ModuleNotFoundError("optuna is not installed: pip install 'pliant[optuna]'", name="optuna") from reason
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def conditions(trial: Any) -> list[float]:
        return list(trial.user_attrs.get("rows", [1.0]))

    def objective(trial: Any) -> float:
        x = np.array([trial.suggest_float(name, 0.0, 1.0) for name in problem.bounds])
        try:
            value, rows = problem.try_out(x)
        except (AnalysisFailed, ArgumentError) as reason:
            raise optuna.TrialPruned(str(reason)) from None
        beyond = np.where(problem.equal, np.abs(rows) - NUMBERS.holds, rows)
        trial.set_user_attr("rows", [float(r) for r in beyond])
        return value

    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", FutureWarning
        )  # newer versions have another interface for conditions, older ones only this
        sampler = optuna.samplers.TPESampler(seed=seed, constraints_func=conditions if problem.conditions else None)
    study = optuna.create_study(sampler=sampler)
    study.enqueue_trial(dict(zip(problem.bounds, map(float, start), strict=True)))
    study.optimize(objective, n_trials=most)
    return ""


SEARCHES: dict[str, Callable[[Problem, np.ndarray, int, int], str]] = {
    "slsqp": by_slsqp,
    "ipopt": by_ipopt,
    "optuna": by_optuna,
}


RANGE = 'give a range: (0.1, 0.2) in SI units, or "10:20 cm"'


@dataclass(frozen=True, repr=False, eq=False)
class Optimum(AnalysisResult):
    """Best values of parameters and inputs; if no point satisfies the conditions, the point with the smallest violation.

    Attributes:
        minimize: the objective.
        varied, best, first, low, high: names of the varied quantities, their best and initial values and the ends of their ranges
            (SI units); by name in `values`, `start` and `bounds`.
        objective: minimum of the objective [its SI unit]; before: its value at the start.
        conditions, margins: the conditions, and the margin of each relative to its size (`spare` by text); negative if violated.
        evaluated, objectives, evaluated_margins: all evaluated points in order, with their objectives and margins; see `way`.
        equations: the equations with the best values of parameters and inputs.
    """

    plots = ("search",)

    minimize: str
    varied: Annotated[tuple[str, ...], Along("varied", labels=True)]
    best: Annotated[np.ndarray, Along("varied")]
    first: Annotated[np.ndarray, Along("varied")]
    low: Annotated[np.ndarray, Along("varied")]
    high: Annotated[np.ndarray, Along("varied")]
    objective: Annotated[float, Along()]
    before: Annotated[float, Along()]
    conditions: Annotated[tuple[str, ...], Along("condition", labels=True)]
    margins: Annotated[np.ndarray, Along("condition")]
    evaluated: Annotated[np.ndarray, Along("evaluation", "varied")]
    objectives: Annotated[np.ndarray, Along("evaluation")]
    evaluated_margins: Annotated[np.ndarray, Along("evaluation", "condition")]
    equations: Equations
    at_best: Callable[[], AnalysisResult] | None = None
    status: Status = Status.CONVERGED
    message: str = ""

    @property
    def values(self) -> dict[str, float]:
        """Best values by name (SI units)."""
        return dict(zip(self.varied, self.best.tolist(), strict=True))

    @property
    def start(self) -> dict[str, float]:
        """Initial values of the search by name (SI units)."""
        return dict(zip(self.varied, self.first.tolist(), strict=True))

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """Ranges by name (SI units)."""
        return dict(zip(self.varied, zip(self.low.tolist(), self.high.tolist(), strict=True), strict=True))

    @property
    def spare(self) -> dict[str, float]:
        """Margin of each condition relative to its size; negative if it is violated."""
        return dict(zip(self.conditions, self.margins.tolist(), strict=True))

    @property
    def at_bounds(self) -> tuple[str, ...]:
        """Names of values on a bound of their range."""
        near = np.minimum(self.best - self.low, self.high - self.best) < 1e-6 * (self.high - self.low)
        return tuple(name for name, flag in zip(self.varied, near, strict=True) if flag)

    @property
    def way(self) -> tuple[Evaluation, ...]:
        """All evaluated points, in order."""
        rows = zip(self.evaluated.tolist(), self.objectives.tolist(), self.evaluated_margins.tolist(), strict=True)
        return tuple(
            Evaluation(dict(zip(self.varied, x, strict=True)), y, dict(zip(self.conditions, z, strict=True)))
            for x, y, z in rows
        )

    def sheets(self) -> list[Sheet]:
        """Varied values, conditions, and the best points so far."""
        rows: list[tuple[str, ...]] = []
        for name, value in self.values.items():
            bound = " (at its bound)" if name in self.at_bounds else ""
            rows.append(
                (name, f"{self.start[name]:.6g}", f"{value:.6g}{bound}", *(f"{x:.6g}" for x in self.bounds[name]))
            )
        made = [
            Sheet(
                ("", "at the start", "at the end"), ((self.minimize, f"{self.before:.6g}", f"{self.objective:.6g}"),)
            ),
            Sheet(("varied (SI)", "at the start", "best", "from", "to"), tuple(rows)),
        ]
        if self.conditions:
            made.append(Sheet(("condition", ""), tuple((x, spare_words(spare)) for x, spare in self.spare.items())))
        improved: list[tuple[str, ...]] = []
        least: Evaluation | None = None
        for k, visit in enumerate(self.way, 1):
            if least is None or _is_better(visit, least):
                least = visit
                improved.append((str(k), f"{visit.objective:.6g}", f"{visit.missed:.2%}" if visit.missed else ""))
        head = ("evaluation", "best so far", "conditions violated by" if any(row[2] for row in improved) else "")
        return [*made, Sheet(head, tuple(improved), words="evaluations")]

    def as_json(self) -> dict[str, Any]:
        """Values by name, and all evaluated points."""
        names = ("message", "minimize", "objective", "before", "values", "start", "spare", "at_bounds")
        return {
            "status": str(self.status),
            **{x: getattr(self, x) for x in names},
            "way": [asdict(x) for x in self.way],
        }

    def further(self) -> Sequence[AnalysisResult]:
        """The equilibrium or the motion with the best values."""
        return () if self.at_best is None else (self.at_best(),)


def spare_words(spare: float) -> str:
    """Whether a condition is satisfied, and its margin, from the margin relative to its size."""
    if spare < -1e-6:
        return f"violated by {-spare:.2%}"
    return "satisfied, no margin" if spare < 1e-6 else f"holds, {spare:.2%} margin"


def _is_better(one: Evaluation, other: Evaluation) -> bool:
    """Whether a point violates the conditions less or, if it satisfies them, has a lower objective."""
    return (one.missed, one.objective) < (other.missed, other.objective)


def _searched(problem: Problem, search: Any, start: np.ndarray, most: int, seed: int) -> str:
    """Reason why the search stopped early; empty if it did not."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", RuntimeWarning
        )  # a warning of SciPy about points outside the bounds by round-off
        try:
            return str(search(problem, start, most, seed))
        except AnalysisFailed as reason:
            if not problem.way:
                raise
            return str(reason)


def _optimum(problem: Problem, minimize: str, start: np.ndarray, stopped: str, ended: Status) -> Optimum:
    if not problem.way:
        raise ArgumentError("no evaluation has succeeded", "try one with pliant.equilibrium or pliant.simulate")
    best = problem.way[0]
    for visit in problem.way[1:]:
        if _is_better(visit, best):
            best = visit
    eqs, count = problem.eqs, len(problem.way)
    if best.missed:
        status, ending = (
            Status.FAILED,
            f"no point satisfies all conditions; the closest violates them by {best.missed:.2%}",
        )
        ending += f" ({stopped})" if stopped else ""
    elif stopped:
        status, ending = Status.STOPPED, f"stopped after {count} evaluations: {stopped}"
    else:
        status, ending = ended, f"{ended} after {count} evaluations"
        ending += "; all conditions are satisfied" if best.spare else ""
    inputs = {n: x for n, x in best.values.items() if n in eqs.inputs}
    there = eqs.at(inputs=inputs, parameters={n: x for n, x in best.values.items() if n not in inputs})
    names, texts = tuple(problem.bounds), tuple(best.spare)
    low, high = np.array(list(problem.bounds.values())).T
    return Optimum(
        minimize, names, np.array([best.values[x] for x in names]), np.array(list(problem.values(start).values())), low, high,
        best.objective, problem.way[0].objective, texts, np.array([best.spare[x] for x in texts]),
        np.array([[visit.values[x] for x in names] for visit in problem.way]),
        np.array([visit.objective for visit in problem.way]),
        np.array([[visit.spare[x] for x in texts] for visit in problem.way]).reshape(count, len(texts)),
        there, lambda: problem.again(there), status, ending,
    )  # fmt: skip


def _start(eqs: Equations, bounds: Mapping[str, tuple[float, float]]) -> np.ndarray:
    """The starting point of the search, as fractions of the ranges."""
    shares = []
    for name, (low, high) in bounds.items():
        if name in eqs.inputs and not is_number(eqs.given_inputs.get(name, 0.0)):
            raise ArgumentError(
                f"'{name}' follows a function of time here; only numbers can vary", "leave it out of `inputs`"
            )
        value = eqs.binding.held[eqs.inputs.index(name)] if name in eqs.inputs else eqs.parameters[name]
        share = (float(value) - low) / (high - low)
        shares.append(share if 0 <= share <= 1 else 0.5)
    return np.array(shares)


def _range(eqs: Equations, name: str, given: Any) -> tuple[float, float]:
    """Lower and upper bounds [SI units] of the variables."""
    known = [*eqs.parameters, *eqs.inputs]
    if name not in known:
        raise ArgumentError(f"there is no parameter or input '{name}'", suggestion(name, known, ""))
    if isinstance(given, str):
        low, high = _read_range(eqs, name, given)
    elif isinstance(given, Sequence) and len(given) == 2 and all(map(is_number, given)):
        low, high = map(float, given)
    else:
        raise ArgumentError(f"the range of '{name}' cannot be {describe(given)}", RANGE)
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ArgumentError(f"the range of '{name}' is empty: it goes from {low:g} to {high:g}", RANGE)
    return low, high


def _read_range(eqs: Equations, name: str, text: str) -> tuple[float, float]:
    bounds = read_range(name, text)
    if bounds is None or bounds.count is not None or bounds.logarithmic:
        raise ArgumentError(f"the range of '{name}' cannot be '{text}'", RANGE)
    wanted = eqs.model.environment.dimension(name)
    if wanted is not None and bounds.unit is not None and bounds.unit.dimension != wanted:
        raise ArgumentError(
            f"the range '{text}' of '{name}' is in {bounds.unit.dimension.unit or '1'}, but it is in {wanted.unit or '1'}",
            "use a unit of that dimension",
        )
    return bounds.low, bounds.high


class Optimize(Analysis):
    """Find the values of parameters and inputs that minimize an expression of outputs.

    Outputs are those of the equilibrium, or of the end of a motion; with `save_at`, the mean over these times is minimized, and
    conditions hold at each of them. The search starts from the values of the model, or from the middle of a range that does not
    contain them, and fails if no point satisfies the conditions.

    Example::

        best = pliant.optimize(pliant.derive("trunk"), "far1^2", {"far1": "0:20 N", "far_offset": "5:10 mm"},
                               subject_to="tip.x >= 10 cm")
        print(best)
    """

    name: ClassVar[str] = "optimize"
    title: ClassVar[str] = "Optimum"
    result = Optimum
    first: ClassVar[tuple[str, ...]] = ("minimize", "vary")

    minimize: Annotated[str, Option("EXPR")]
    """Expression to minimize, of outputs, their components and parameters: `(tip.x - 20 cm)^2 + 0.1*far1^2/N^2`."""
    vary: Annotated[dict[str, Any], Option("NAME=LOW:HIGH")]
    """Parameters and inputs with their ranges: `length: 10:20 cm`, or two numbers in SI units."""
    subject_to: Annotated[tuple[str, ...], OneOrList(), Option("COND", repeated=True)] = ()
    """Conditions, such as `tip.z >= 10 cm` or `force == 2 N`."""
    analysis: Literal["equilibrium", "simulate"] = "equilibrium"
    """Analysis that computes the outputs: equilibrium or simulate."""
    until: Seconds | None = None
    """End of the motion [s], for simulate."""
    save_at: Annotated[tuple[Seconds, ...], OneOrList()] | None = None
    """Times of the motion at which outputs are evaluated [s]; default: its end."""
    method: Literal["slsqp", "ipopt", "optuna"] = "slsqp"
    """Search: slsqp or ipopt (by gradients), or optuna (by samples)."""
    evaluations: Annotated[int, Field(ge=1, le=1_000_000_000, strict=True)] = 200
    """Maximum number of search steps, or number of samples."""
    seed: Annotated[int, Field(ge=0, lt=2**63, strict=True)] = 0
    """Seed of the samples."""
    settings: Annotated[Mapping[str, Any] | None, InPython()] = None
    """Further options of the equilibrium or the simulation, by name."""
    progress: Annotated[Callable[[Evaluation], None] | None, InPython()] = None
    """Called after each evaluation."""

    def reported(self, *report: Any) -> tuple[str, str, float | None]:
        """The search, and the objective of an evaluation, and how far it violates the conditions."""
        (visit,) = report
        missed = f", conditions violated by {visit.missed:.2%}" if visit.missed else ""
        return f"search by {self.method}", f"objective {visit.objective:.6g} (SI){missed}", None

    def run(self, eqs: Equations) -> Optimum:
        """Search by the chosen method."""
        function("progress", self.progress)
        eqs, options = self._prepared(eqs)
        bounds = {name: _range(eqs, name, given) for name, given in self.vary.items()}
        if not bounds:
            raise ArgumentError("nothing varies", 'write vary={"length": "10:20 cm"}')
        names = tuple(bounds)
        conditions = tuple(condition(eqs, text, names) for text in self.subject_to)
        minimize = quantity(eqs, self.minimize, names)
        problem = Problem(eqs, minimize, conditions, bounds, self.analysis, options, self.progress)
        if not problem.outputs:
            known = ", ".join(list(eqs.model.spec.outputs)[:12]) or "none: add some to the model"
            raise ArgumentError("no output of the robot is named", f"outputs are {known}")
        start = _start(eqs, bounds)
        stopped = _searched(problem, SEARCHES[self.method], start, self.evaluations, self.seed)
        ended = Status.COMPLETED if self.method == "optuna" else Status.CONVERGED
        return _optimum(problem, self.minimize, start, stopped, ended)

    def _prepared(self, eqs: Equations) -> tuple[Equations, dict[str, Any]]:
        """The equations with the given inputs and parameters, and the options of the analysis."""
        if self.analysis == "simulate" and self.until is None:
            raise ArgumentError("a simulation needs an end time", "write until=2.0, --until 2")
        if self.analysis != "simulate" and self.until is not None:
            raise ArgumentError("until applies to simulations only", "add analysis='simulate', --analysis simulate")
        for name, value in (self.inputs or {}).items():
            if isinstance(value, str) and (used := names_in(value) & set(self.vary)):
                raise ArgumentError(
                    f"the input '{name}' depends on the parameter '{min(used)}', which varies here",
                    "write the dependence into the model instead",
                )
        given = inputs_over_time(eqs, self.inputs, self.parameters, 0.0, self.until or INSTANT)
        own = {"until": self.until, "save_at": self.save_at}
        return eqs.at(inputs=given, parameters=self.parameters), {
            **{name: x for name, x in own.items() if x is not None}, **(self.settings or {})
        }  # fmt: skip


optimize = function_of(Optimize)
