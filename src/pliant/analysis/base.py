"""Base of all analyses: their options, checks, and what follows from them: the Python function, the function for many cases, the
keys in model files and the options of the command.
"""

from __future__ import annotations

import inspect
import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Annotated, Any, ClassVar, Concatenate, Literal, ParamSpec, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from pydantic import Field, ValidationError

from pliant.analysis.numerics.blas_threads import on_one_blas_thread
from pliant.analysis.numerics.state import Start
from pliant.analysis.numerics.status import AnalysisFailed, Status, unless_failed
from pliant.analysis.remark import RemarkRule
from pliant.analysis.result import AnalysisResult
from pliant.engine.equations import Equations, InputValues, Values, need_equations
from pliant.engine.model.model import Model
from pliant.engine.state import rate_name
from pliant.language import dimension as dim
from pliant.language.arguments import ArgumentError, choice, file_name, known_keywords, positive
from pliant.language.base import (
    IN_FILE,
    InPython,
    OneOrList,
    OrObject,
    Part,
    Problem,
    WordMappingOrObject,
    problems_of,
    read_errors,
)
from pliant.language.dimension import Dimension
from pliant.language.evaluate import UNKNOWN, to_node
from pliant.language.faults import ExpressionError, Fault, SpecError
from pliant.language.limits import DeadlineExceeded, current_limit, time_limit
from pliant.language.message_text import KeyPath, suggestion
from pliant.language.names import CoordinateName
from pliant.language.parameter import wrong_dimension
from pliant.language.provided import analyses
from pliant.language.scalar import Quantity, Scalar
from pliant.language.source import Source
from pliant.language.traversal import Leaf, map_leaves
from pliant.language.units import parse_unit
from pliant.robot.analyses import AnalysisOptions, ListedAnalysis
from pliant.robot.robot import RobotSpec, check_meaning
from pliant.robot.semantic_checks import UnreadableEntries

ValuesByName: TypeAlias = dict[str, Annotated[float, Quantity(None)]]
"""Values by name, each with or without a unit."""
StateGiven: TypeAlias = Annotated[Start, WordMappingOrObject("initial", "equilibrium", values=ValuesByName)]
"""A state: `initial`, `equilibrium`, or coordinates and rates by name; in Python also a State, positions, or an object that has a
state, such as an equilibrium or the end of a motion."""
PoseGiven: TypeAlias = Annotated[Start, WordMappingOrObject("initial", values=ValuesByName)]
"""A pose: `initial`, or coordinates by name; in Python also positions, or an object that has a state."""
Seconds: TypeAlias = Annotated[float, Quantity(dim.TIME)]
Metres: TypeAlias = Annotated[float, Quantity(dim.LENGTH)]
PureNumber: TypeAlias = Annotated[float, Quantity(dim.NUMBER)]
AnyNumber: TypeAlias = Annotated[float, Quantity(None)]
"""Numbers in SI units when an analysis runs; before, they may be texts with a unit and expressions of parameters."""
CoordinateNames: TypeAlias = Annotated[tuple[CoordinateName, ...], OneOrList()]
SignalNames: TypeAlias = Annotated[tuple[str, ...], OneOrList()]
"""Names of inputs or outputs, of their components (`tip.x`) or instances (`pull[2]`)."""
WRITTEN = (str, int, tuple, Mapping, Part)
"""Types of options that may hold texts with a unit, expressions or integers."""
PYTHON_ONLY = frozenset(("inputs", "parameters", "timeout", "out", "on_failure"))
"""Options of all analyses that hold none."""
Count: TypeAlias = Annotated[int, Field(ge=1, strict=True)]


@dataclass(frozen=True)
class Option:
    """Annotation of a field: how its command writes it, where that does not follow from the type. metavar: its value, in the help.
    repeated: the option is given once for each entry."""

    metavar: str = ""
    repeated: bool = False


class Analysis(AnalysisOptions):
    """An analysis of a robot.

    A subclass is everything about an analysis: its docstring describes it; its fields, each with a docstring, are the keywords of
    its Python function, the keys in model files and the options of its command; `run` computes. `function_of` makes its function,
    whose line among the public names of the package registers the analysis. The class of its result is `result`.
    """

    title: ClassVar[str]
    """Heading of its results."""
    function: ClassVar[str] = ""
    """Name of its Python function, if that is another one."""
    result: ClassVar[type[AnalysisResult]]
    """Class of its results."""
    remarks: ClassVar[tuple[RemarkRule, ...]] = ()
    """What may have to be said about its results."""
    first: ClassVar[tuple[str, ...]] = ()
    """Fields that the Python function also accepts without their name, in this order."""
    flags: ClassVar[Mapping[str, str]] = {}
    """Options of the command that are not called `--` and the name of the field."""
    state: ClassVar[str] = "at"
    """The field with the state of the robot, which cases of a study replace."""
    kept: ClassVar[tuple[str, ...]] = ()
    """Variables of its results that studies keep, unless others are named; all if there are none."""

    inputs: Annotated[InputValues | None, InPython()] = None
    """Inputs by name: numbers, texts with a unit or expressions of t, functions of the time, or `(times, values)`; others as in the
    model."""
    parameters: Annotated[Values | None, InPython()] = None
    """Parameters by name, in SI units; others as in the model."""
    timeout: Annotated[float | None, InPython()] = None
    """Seconds of real time after which the analysis stops, with what it has found so far."""
    out: Annotated[str | os.PathLike[str] | None, InPython()] = None
    """netCDF file for the result; an incomplete one goes to `NAME.partial.nc`."""
    on_failure: Annotated[Literal["raise", "return"], InPython()] = "raise"
    """Whether a failed analysis raises AnalysisFailed, or returns its result with the status `failed`."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "result" in cls.__dict__:
            cls.result.analysis = cls

    @abstractmethod
    def run(self, eqs: Equations) -> Any:
        """Compute. The options are numbers in SI units; a failure is a result with the status `failed`."""

    @classmethod
    def file_keys(cls) -> tuple[str, ...]:
        """The keys that a file may have."""
        return cls.options()

    # -- reading -----------------------------------------------------------------------------------------------------

    @classmethod
    @cache
    def options(cls) -> tuple[str, ...]:
        """Names of the fields that files and commands can give."""
        return tuple(
            name for name, field in cls.model_fields.items() if not any(isinstance(x, InPython) for x in field.metadata)
        )

    @classmethod
    @cache
    def _data(cls) -> frozenset[str]:
        """Names of the options that are data also in Python code."""
        fields = cls.model_fields
        return frozenset(x for x in cls.options() if not any(isinstance(y, OrObject) for y in fields[x].metadata))

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """The analysis with options from Python code; raises ArgumentError for wrong ones."""
        try:
            plain = cls._data()
            return cls(**{name: _plain(x) if name in plain else x for name, x in options.items()})
        except ValidationError as error:
            path, message, hint = next(iter(read_errors(error)))
            where, field = ".".join(map(str, path)), str(path[0])
            raise ArgumentError(f"{where}: {message}" if field in cls.model_fields else message, hint) from None

    @classmethod
    def of_file(cls, options: Any) -> Self:
        """The analysis with options from a model file; raises ValidationError."""
        return cls.model_validate(options, context=IN_FILE)

    def in_si(self, eqs: Equations) -> Self:
        """The same with numbers in SI units in place of texts with units and expressions of parameters."""
        given = (self.__dict__[name] for name in self.model_fields_set if name not in PYTHON_ONLY)
        if not any(isinstance(x, WRITTEN) and type(x) is not bool for x in given):
            return self
        own = eqs.model.environment

        def number(leaf: Leaf) -> Any:
            if not isinstance(leaf.marker, Quantity):
                return leaf.value
            if isinstance(leaf.value, str):
                known = {name: own.dimension(name) or UNKNOWN for name in own.names}
                where = ".".join(map(str, leaf.path))
                try:
                    problem = wrong_dimension(to_node(leaf.value), leaf.marker.dimension or UNKNOWN, known)
                    if problem is None:
                        return float(own.value(leaf.value))
                except ExpressionError as error:
                    problem = str(error), error.hint
                raise ArgumentError(f"{where}: {problem[0]}", problem[1])
            return float(own.value(leaf.value))

        return map_leaves(self, number)

    def faults(self, model: Model) -> Iterator[Problem]:
        """Names and units among the options that the robot does not have: path of the option, message and hint."""
        for name in ("start", "at"):
            if isinstance(given := getattr(self, name, None), Mapping):
                yield from named_values((name,), given, state_dimensions(model), "coordinate or rate", model)

    def reported(self, *report: Any) -> tuple[str, str, float | None]:
        """A report of progress, as passed to the function `progress`: what is being done, how far it is in words, and the share of
        it that is done, if it is known."""
        return self.name, " ".join(map(str, report)), None

    def brief(self) -> Self | None:
        """The analysis that computes no more than what a command prints as JSON by default (`AnalysisResult.brief_json`); None if
        that is everything."""
        return None

    # -- running -----------------------------------------------------------------------------------------------------

    def analyse(self, eqs: Equations) -> Any:
        """Check, run, save and return the result; raises AnalysisFailed if it failed, unless failures are returned."""
        need_equations(eqs)
        choice("on_failure", self.on_failure, ("raise", "return"))
        seconds = None if self.timeout is None else positive("timeout", self.timeout)
        out = None if self.out is None else file_name("out", self.out)
        for path, message, hint in self.faults(eqs.model):
            raise ArgumentError(f"{'.'.join(map(str, path))}: {message}", hint)
        made = self.in_si(eqs)
        for path, message, hint in problems_of(made, float):
            raise ArgumentError(f"{'.'.join(map(str, path))}: {message}", hint)
        around = current_limit()
        with time_limit(seconds) as limit:
            try:
                result = made.run(eqs)
            except DeadlineExceeded as reason:  # between two of the analyses that it consists of
                if limit is around:
                    raise
                raise AnalysisFailed(f"{reason}, before there was a result; give a longer `timeout`", None) from None
        if out is not None:
            result = result.kept_in(out)
        return result if result.status != Status.FAILED else unless_failed(result, self.on_failure)

    def given(self) -> dict[str, Any]:
        """The options that are not None, by name, with those that only Python code can give and that `run` needs."""
        names = (*self.options(), "inputs", "parameters")
        return {name: x for name in names if (x := getattr(self, name)) is not None}

    @classmethod
    def documentation(cls) -> str:
        """Its description, and that of each option."""
        known = cls.field_texts()
        names = (*cls.options(), *(name for name in known if name not in cls.options()))
        texts = [f"    {name}: {' '.join(known[name].split())}" for name in names if name in known]
        return "\n".join([inspect.cleandoc(cls.__doc__ or ""), "", "Args:", *texts])


def _plain(value: Any) -> Any:
    """Numbers and lists of NumPy as those of Python."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return value.item()
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return tuple(value.tolist())
    if isinstance(value, Mapping):
        return {name: _plain(x) for name, x in value.items()}
    return value


# -- names and units in options ---------------------------------------------------------------------------------------


def named_values(
    path: KeyPath, given: Mapping[str, Scalar], known: Mapping[str, Dimension | None], kind: str, model: Model,
    *, at: KeyPath | None = None,
) -> Iterator[Problem]:  # fmt: skip
    """Problems of values by name: unknown names, and values of a wrong dimension. at: path of the name, if it is not a key."""
    own = model.environment
    dimensions = {name: own.dimension(name) or UNKNOWN for name in own.names}
    for name, value in given.items():
        place = path if at is not None else (*path, name)
        if name not in known:
            yield (place if at is None else at), *unknown_name(kind, name, known)
        elif (expected := known[name]) is not None and not (isinstance(value, float | int)):
            try:
                problem = wrong_dimension(to_node(value), expected, dimensions)
            except ExpressionError as error:
                problem = str(error), error.hint
            if problem is not None:
                yield place, *problem


def unknown_name(kind: str, name: str, known: Iterable[str]) -> tuple[str, str]:
    """Message and hint for a name that the robot does not have."""
    names = list(known)
    return f"there is no {kind} '{name}'", suggestion(name, names, f"known: {', '.join(names[:12]) or 'none'}")


def state_dimensions(model: Model) -> dict[str, Dimension | None]:
    """Dimensions of coordinates and rates, by all names that a state accepts."""
    dimensions: dict[str, Dimension | None] = {}
    for entry in model.coordinates:
        dimensions |= dict.fromkeys(entry.q_names, unit_dimension(entry.unit))
        rates = unit_dimension("1/s" if entry.unit in ("rad", "-") else entry.unit and f"{entry.unit}/s")
        for name in entry.v_names:
            dimensions[rate_name(name)] = rates
            dimensions.setdefault(name, rates)
    return dimensions


def unit_dimension(unit: str) -> Dimension | None:
    """The dimension of a unit as in tables; None if it is not known."""
    return parse_unit({"-": "1", "rad": "1"}.get(unit, unit)).dimension if unit else None


# -- registered analyses ---------------------------------------------------------------------------------------------


@cache
def analysis(name: str) -> type[Analysis]:
    """The class of an analysis by its name; imports its module."""
    module = import_module(analyses()[name])
    (found,) = (
        x
        for x in vars(module).values()
        if isinstance(x, type) and issubclass(x, Analysis) and x.__module__ == module.__name__
    )
    return found


# -- the function of an analysis -------------------------------------------------------------------------------------

Options = ParamSpec("Options")
Found = TypeVar("Found", covariant=True)


class Runs(Protocol[Found]):
    """An analysis, by the type of its result."""

    def run(self, eqs: Equations) -> Found:
        """Compute."""


def function_of(kind: Callable[Options, Runs[Found]]) -> Callable[Concatenate[Equations, Options], Found]:
    """The public function of an analysis: `modes(eqs, count=5)`. Its keywords, their types and its documentation are those of the
    class."""
    assert isinstance(kind, type)
    assert issubclass(kind, Analysis)
    made: type[Analysis] = kind
    fields = made.model_fields
    both = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("eqs", both)]
    for name in (*made.first, *(x for x in (*made.options(), *fields) if x not in made.first)):
        if name in [x.name for x in parameters]:
            continue
        required = fields[name].is_required()
        default = inspect.Parameter.empty if required else fields[name].get_default(call_default_factory=True)
        way = both if name in made.first else inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, way, default=default, annotation=fields[name].annotation))
    signature, names = inspect.Signature(parameters), made.first

    @on_one_blas_thread
    def analyse(*arguments: Any, **options: Any) -> Any:
        if (
            not arguments
            or len(arguments) > 1 + len(names)
            or not options.keys().isdisjoint(names[: len(arguments) - 1])
        ):
            given = signature.bind(*arguments, **options).arguments  # raises an error, or `eqs` is given by name
            eqs = given.pop("eqs")
        else:
            eqs, *values = arguments
            given = dict(zip(names, values, strict=False)) | options
        need_equations(eqs)
        return made.of(given).analyse(eqs)

    analyse.__name__ = analyse.__qualname__ = made.function or made.name
    analyse.__module__ = made.__module__
    analyse.__doc__ = made.documentation()
    analyse.__signature__ = signature  # type: ignore[attr-defined]
    return known_keywords(analyse)


def analysis_of(listed: ListedAnalysis) -> Analysis:
    """The analysis with the options of its entry; raises ValidationError."""
    return analysis(listed.name).of_file(listed.options)


def read_analyses(analyses: tuple[ListedAnalysis, ...], source: Source) -> tuple[list[Analysis | None], list[Fault]]:
    """The listed analyses with their options, and the faults of those that cannot be read."""
    made: list[Analysis | None] = []
    faults: list[Fault] = []
    for index, listed in enumerate(analyses):
        try:
            made.append(analysis_of(listed))
        except ValidationError as error:
            made.append(None)
            for path, message, hint in read_errors(error):
                faults.append(source.fault(("analyses", index, listed.name, *path), message, hint))
    return made, faults


def listed_analyses(analyses: tuple[ListedAnalysis, ...], source: Source) -> list[Analysis]:
    """The listed analyses with their options; raises SpecError with all faults."""
    made, faults = read_analyses(analyses, source)
    if faults:
        raise SpecError(faults, source.file)
    return [one for one in made if one is not None]


def analysis_faults(spec: RobotSpec, model: Model) -> list[Fault]:
    """All faults in the listed analyses. model: that of the flattened spec."""
    made, faults = read_analyses(spec.analyses, spec.source)
    named = [
        (k, listed.name, one)
        for k, (listed, one) in enumerate(zip(spec.analyses, made, strict=True))
        if one is not None
    ]
    # as parts of the model, their values and references are checked like those of all parts
    entries = {k: {name: one} for k, name, one in named}
    among = spec.model_copy(update={"analyses": tuple(entries.get(k, {}) for k in range(len(made)))}).with_source(
        spec.source
    )
    faults += [fault for fault in check_meaning(among, UnreadableEntries())[0] if fault.path.startswith("analyses[")]
    if not faults:
        for k, name, one in named:
            faults += [spec.source.fault(("analyses", k, name, *path), *what) for path, *what in one.faults(model)]
    return faults
