"""Base of the results of analyses: named arrays with units, a status and remarks, and what follows from them for all results:
texts, JSON, netCDF files, tables and plots.
"""

from __future__ import annotations

import json
import os
from abc import ABC
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, cast, get_args, get_origin, get_type_hints

import numpy as np

from pliant.analysis.numerics.contact_table import NAMES, THINGS, contact_variables, contacts_at_time
from pliant.analysis.numerics.labelled_arrays import LabelledArrays, Variable, named_axes
from pliant.analysis.numerics.netcdf_files import partial_path, save_dataset
from pliant.analysis.numerics.result import versions
from pliant.analysis.numerics.state import AssembledState, assemble
from pliant.analysis.numerics.status import Status
from pliant.analysis.remark import Remark, remarks_on
from pliant.engine.binding import Binding
from pliant.engine.contacts import Contacts
from pliant.engine.equations import Equations, with_remembered
from pliant.engine.outputs import part_labels
from pliant.engine.state import State
from pliant.language.arguments import ArgumentError, file_name
from pliant.language.provided import called

if TYPE_CHECKING:
    from pathlib import Path

    import xarray


FORMAT = "pliant-analysis-2"
"""Format of the files of results, as stated in them."""


class Along:
    """Annotation of a field of a result with values along named axes: `Annotated[np.ndarray, Along("mode", unit="Hz")]`.

    Axes named `coordinate`, `rate`, `constraint`, `input` and `frame` have the names of the robot as labels; labels: the field
    has the labels of its axis. is_complex: whether numbers may be complex; files and studies have two variables then.
    """

    def __init__(
        self, *axes: str, unit: str = "", text: str = "", is_complex: bool = False, labels: bool = False
    ) -> None:
        self.axes, self.unit, self.text, self.is_complex, self.labels = axes, unit, text, is_complex, labels

    def attributes(self) -> dict[str, str]:
        """Attributes of the variable in a dataset."""
        return {name: x for name, x in (("units", self.unit), ("long_name", self.text)) if x}


@dataclass(frozen=True)
class Sheet:
    """A table of texts. first: indices of the rows of a short version; None: all. words: what a row is. where: it is shown:
    everywhere (`text`), in the output of commands and on pages (`command`), or on pages only (`page`)."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    first: tuple[int, ...] | None = None
    words: str = "rows"
    where: Literal["text", "command", "page"] = "text"
    groups: tuple[tuple[int, int, str], ...] = ()
    """Groups of columns (from, to, what they are) of which a narrow terminal shows as many as fit: the first columns of the first
    group, and further groups as a whole."""

    def without(self, columns: Iterable[int]) -> Sheet:
        """The same without some columns."""
        left = [k for k in range(len(self.columns)) if k not in set(columns)]
        rows = tuple(tuple(row[k] for k in left) for row in self.rows)
        return replace(self, columns=tuple(self.columns[k] for k in left), rows=rows, groups=())

    @property
    def short(self) -> Sheet:
        """The short version."""
        if self.first is None:
            return self
        return Sheet(self.columns, tuple(self.rows[k] for k in self.first), self.title, groups=self.groups)

    @property
    def hidden(self) -> int:
        """Number of rows that the short version omits."""
        return 0 if self.first is None else len(self.rows) - len(self.first)

    def lines(self) -> list[str]:
        """The short version in columns of equal width, and a line on the rows that it omits."""
        rows = [self.columns, *self.short.rows] if any(self.columns) else list(self.short.rows)
        widths = [max(len(row[k]) for row in rows) for k in range(len(self.columns))]
        made = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return made + ([f"{self.hidden} more {self.words} are not shown"] if self.hidden else [])


def first_rows(count: int, most: int) -> tuple[int, ...] | None:
    """`first` of a table of `count` rows whose short version has the first ones, unless it would omit only two."""
    return None if count <= most + 2 else tuple(range(most))


NUMBERS = 9
"""Number of entries of a vector in a table."""
ROUND_OFF = 1e-14
"""Components of a vector below this fraction of the largest are shown as 0."""


def number_text(value: Any) -> str:
    """A number, or a list of numbers, for a table; components that are round-off of the others are 0, and long lists are cut."""
    if np.ndim(value) == 0:
        return f"{value:.9g}"
    values = np.ravel(value)
    size = np.abs(values)
    shown = [f"{x:.9g}" for x in np.where(size > ROUND_OFF * size.max(initial=0.0), values, 0.0)]
    return f"[{', '.join(shown[:NUMBERS])}{', ...' if len(shown) > NUMBERS else ''}]"


@dataclass(frozen=True)
class Lines:
    """A plot of variables of a result over another one, which the drawing layer draws.

    x, y: names of variables (or of labels of an axis); an array with two axes is one line per entry of its second axis. marks: no
    lines between the points. log: axes with a logarithmic scale: "", "x", "y" or "xy". title: what it shows.
    """

    x: str
    y: tuple[str, ...]
    title: str = ""
    marks: bool = False
    log: str = ""
    where: str = ""
    """Name of a Boolean variable: points where it is false are hollow."""


@dataclass(frozen=True)
class Points:
    """A plot of points in space, coloured by another variable. points: name of an array with three columns [m]. outline: name of an
    array with pairs of indices of points that lines join."""

    points: str
    colour: str = ""
    title: str = ""
    outline: str = ""


@dataclass(frozen=True)
class Poses:
    """Poses of the robot to play.

    q: one row per pose. times: at which they are played [s]. t: times at which inputs are evaluated [s]. words: shown in place of
    the time; captions: the same, one for each pose. loops: whether it starts again at its end. contacts: those of each pose; by
    default those of its positions. varied: name and values of a parameter or input that differs from pose to pose.
    """

    name: str
    q: np.ndarray
    times: np.ndarray
    t: float | np.ndarray = 0.0
    words: str = ""
    captions: tuple[str, ...] = ()
    loops: bool = False
    contacts: tuple[Contacts | None, ...] = ()
    varied: tuple[str, np.ndarray] | None = None


@dataclass(frozen=True)
class Picture:
    """A picture of the robot in the `state` of a result. title: what it shows."""

    title: str


@dataclass(frozen=True)
class Profile:
    """A plot of an output along its rod."""

    output: str


Plot = str | Lines | Points | Picture | Profile
"""A plot of a result: a function of `pliant.plot` by name, or a description."""


@dataclass(frozen=True)
class Examined:
    """What remarks that poses and motions share look at.

    pose: binding, time [s] and positions of a pose, or of the start of a motion. history: the bindings in force, and the time at
    which each begins [s]. time [s], q, inputs: of the states, a row each. lowest_signals: the smallest value of each signal.
    """

    pose: tuple[Binding, float, np.ndarray]
    history: Sequence[tuple[float, Binding]]
    time: np.ndarray
    q: np.ndarray
    inputs: np.ndarray
    lowest_signals: np.ndarray


class AnalysisResult(ABC):
    """Base of the results of analyses.

    A subclass is a frozen dataclass. Fields with numbers along axes are annotated by `Along`; they are the variables of `dataset`,
    of files, JSON and studies. A field of type `State` is stored by its arrays.

    Attributes:
        status: completed, converged, stopped or failed.
        message: what came out, in one sentence; what to do if it failed.
        remarks: what one has to know to read the numbers correctly.
    """

    analysis: ClassVar[Any]
    """The analysis that it is a result of; set by the analysis."""
    plots: ClassVar[tuple[Plot, ...]] = ()
    """Its plots, for reports and `plot`; the first is that of `plot`."""

    status: Status
    message: str
    equations: Equations

    # -- what subclasses may say -------------------------------------------------------------------------------------

    def sheets(self) -> Sequence[Sheet]:
        """Its tables."""
        return ()

    def figures(self) -> Sequence[Plot]:
        """Its plots, where they depend on the robot."""
        return type(self).plots

    def poses(self) -> Iterable[Poses]:
        """Poses of the robot to play."""
        return ()

    def further(self) -> Sequence[Any]:
        """Results that its report shows after it, such as the motion of an optimum."""
        return ()

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C or a time limit ended it."""
        return False

    def derived(self) -> Iterable[tuple[str, Variable]]:
        """Variables that are computed from the others, such as outputs of the robot; files have them, but they are not read."""
        return ()

    formats: ClassVar[tuple[str, ...]] = (".nc", ".json")
    """Endings of the files that a command writes it to."""
    played: ClassVar[str] = ""
    """What is played, for a note below the player."""

    def labels(self) -> Mapping[str, Sequence[str]]:
        """Labels of further axes."""
        return {}

    def called(self) -> Mapping[str, str]:
        """Names of variables on plots, where they differ between results."""
        return {}

    # -- what shared remarks look at ---------------------------------------------------------------------------------

    @property
    def assembled(self) -> AssembledState:
        """The requested state moved onto the constraints: that of `given`, or `state`."""
        own, eqs = cast("Any", self), self.equations
        given = own.given if own.given is not None else own.state
        return assemble(eqs, eqs.binding, given.t, np.array(given.q), np.array(given.v), given.given)

    @property
    def examined(self) -> Examined:
        """The pose `state`, or the states of a motion, for remarks."""
        state: State = cast("Any", self).state
        bound = with_remembered(self.equations.binding, state)
        inputs, signals = bound.signals(state.t)[:2]
        history = ((state.t, bound),)
        return Examined((bound, state.t, state.q), history, np.array([state.t]), state.q[None], inputs[None], signals)

    # -- what follows ------------------------------------------------------------------------------------------------

    @cached_property
    def remarks(self) -> tuple[Remark, ...]:
        """Remarks, computed on first access."""
        return remarks_on(type(self).analysis.remarks, self.equations, self) if self.equations is not None else ()

    @classmethod
    def variables(cls) -> dict[str, Along]:
        """The fields with numbers along axes."""
        return dict(_variables(cls))

    @property
    def is_partial(self) -> bool:
        """Whether it is incomplete because the analysis failed."""
        return self.status == Status.FAILED

    @cached_property
    def recorded(self) -> LabelledArrays:
        """Its content as labelled arrays."""
        return LabelledArrays.of_arrays(dict(self._arrays()), self._labels(), self._attributes())

    @property
    def dataset(self) -> xarray.Dataset:
        """Its content as an xarray Dataset; complex numbers are two variables, `NAME_real` and `NAME_imaginary`."""
        return self.recorded.dataset

    @classmethod
    def units(cls) -> dict[str, str]:
        """Units of its variables."""
        return {
            name: along.unit
            for variable, along in cls.variables().items()
            for name in (variable, f"{variable}_real", f"{variable}_imaginary")
            if along.unit
        }

    def arrays(self) -> Iterator[tuple[str, tuple[tuple[str, ...], np.ndarray]]]:
        """Its numbers by name, with the names of their axes."""
        for name, (axes, values, _) in self._numbers():
            if isinstance(values, np.ndarray) and values.dtype.kind in "fi":
                yield name, (axes, values.astype(float))

    def _numbers(self) -> Iterator[tuple[str, Variable]]:
        for name, along in self.variables().items():
            value = getattr(self, name)
            if name in _contacts(type(self)):
                continue
            if isinstance(value, tuple) and (not value or isinstance(value[0], str)):
                if not along.labels:
                    yield name, (along.axes, np.array(value, dtype=np.str_), along.attributes())
                continue
            values = np.asarray(np.nan if value is None else value)
            if values.dtype == bool or isinstance(value, bool):
                values = values.astype(float)
            if along.is_complex:
                yield f"{name}_real", (along.axes, values.real, along.attributes())
                yield f"{name}_imaginary", (along.axes, values.imag, along.attributes())
            else:
                yield name, (along.axes, values, along.attributes())
        yield from self.derived()

    def _arrays(self) -> Iterator[tuple[str, Variable]]:
        yield from self._numbers()
        for name in _contacts(type(self)):
            yield from contact_variables(getattr(self, name), self.variables()[name].axes[0])[0].items()
        for name in _states(type(self)):
            state: State | None = getattr(self, name)
            if state is None:
                continue
            yield f"{name}.q", (("coordinate",), np.asarray(state.q), {})
            yield f"{name}.v", (("rate",), np.asarray(state.v), {})
            yield f"{name}.t", ((), np.asarray(state.t, dtype=float), {"units": "s"})

    def _labels(self) -> dict[str, Variable]:
        used = {axis for _, (axes, _, _) in self._arrays() for axis in axes}
        own = {along.axes[0]: getattr(self, name) for name, along in self.variables().items() if along.labels}
        eqs = self.equations
        known = {
            "coordinate": eqs.coordinates, "rate": eqs.rates, "constraint": eqs.constraint_names, "input": eqs.inputs,
            "frame": eqs.frame_names, "axis": tuple("xyz"), "quaternion_part": tuple("wxyz"), **own, **self.labels(),
            **part_labels(eqs.model, eqs.binding),
        }  # fmt: skip
        made = named_axes({axis: names for axis, names in known.items() if axis in used or axis in own})
        for name in _contacts(type(self)):
            made |= contact_variables(getattr(self, name), "")[1]
        return made

    def _attributes(self) -> dict[str, Any]:
        eqs = self.equations
        own = {
            name: getattr(self, name)
            for name in _plain(type(self))
            if isinstance(getattr(self, name), str | float | int) and name not in ("status", "message")
        }
        return {
            "analysis": type(self).analysis.name,
            "model": eqs.model.spec.name or "robot",
            "model_text": eqs.model.text,
            "status": str(self.status),
            "message": self.message,
            "remarks": json.dumps(self.remarks),
            "parameters": json.dumps(eqs.parameters),
            "inputs": json.dumps(self._held_inputs()),
            "own": json.dumps(own),
            "versions": json.dumps(versions()),
        }

    def _held_inputs(self) -> dict[str, float]:
        """The given inputs; those over time have their values at the time of the result's state."""
        states = (getattr(self, name) for name in _states(type(self)))
        t = next((state.t for state in states if state is not None), 0.0)
        values = self.equations.input_values(t)
        return {k: x if isinstance(x, int | float) else values[k] for k, x in self.equations.given_inputs.items()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write as netCDF (`.nc`), which `pliant.load_result` reads; the file is complete or not written."""
        if file_name("path", path).suffix not in (".nc", ""):
            raise ArgumentError(f"cannot determine the format of '{path}'", "end it in .nc")
        save_dataset(self.dataset, path, FORMAT)

    def keep(self, path: str | os.PathLike[str]) -> Path:
        """Save a complete result to a file, an incomplete one to `NAME.partial.nc` beside it; returns the file."""
        target = partial_path(path) if self.is_partial else file_name("path", path)
        self.save(target)
        if not self.is_partial:
            partial_path(path).unlink(missing_ok=True)
        return target

    def kept_in(self, path: str | os.PathLike[str]) -> Self:
        """The same after it was saved by `keep`."""
        self.keep(path)
        return self

    @classmethod
    def read(cls, recorded: LabelledArrays, equations: Equations) -> Self:
        """The result of a file. equations: those of the file's model, with its parameters and inputs."""
        own: dict[str, Any] = json.loads(recorded.attributes["own"])
        for name, along in cls.variables().items():
            if name in _contacts(cls):
                own[name] = contacts_at_time(recorded, own["time"])
            elif along.labels:
                own[name] = recorded.names(along.axes[0]) if along.axes[0] in recorded.labels else ()
            elif f"{name}_imaginary" in recorded.variables:
                real, imaginary = recorded[f"{name}_real"], recorded[f"{name}_imaginary"]
                own[name] = real + 1j * imaginary if np.any(imaginary) else real
            else:
                own[name] = _restored(recorded[name], _annotations(cls)[name])
        for name in _states(cls):
            if f"{name}.q" in recorded.variables:
                own[name] = State(recorded[f"{name}.q"], recorded[f"{name}.v"], float(recorded[f"{name}.t"]))
        about = recorded.attributes
        made: Self = cls(**own, equations=equations, status=Status(about["status"]), message=about["message"])  # type: ignore[call-arg]
        made.__dict__["remarks"] = tuple(map(Remark, json.loads(about["remarks"])))
        return made

    def as_json(self) -> dict[str, Any]:
        """Its content as plain data: variables by name (complex numbers as pairs, values of coordinates and constraints by their
        names), labels of their axes, and remarks."""
        made: dict[str, Any] = {"status": str(self.status), "message": self.message}
        named = {"coordinate": self.equations.coordinates, "constraint": self.equations.constraint_names}
        for name, along in self.variables().items():
            value = getattr(self, name)
            if name in _contacts(type(self)):
                continue
            if np.iscomplexobj(value):
                value = np.stack([np.real(value), np.imag(value)], axis=-1)
            axis = along.axes[0] if len(along.axes) == 1 else ""
            made[name] = dict(zip(named[axis], value.tolist(), strict=True)) if axis in named else value
        known = {*self.labels(), *(along.axes[0] for along in self.variables().values() if along.labels)}
        known |= {NAMES, THINGS, "axis", "quaternion_part", *part_labels(self.equations.model, self.equations.binding)}
        labels = {f"{axis}s": self.recorded.names(axis) for axis in self.recorded.labels if axis not in known}
        own = {name: getattr(self, name) for name in _plain(type(self)) if name not in made}
        for name in _states(type(self)):
            state: State | None = getattr(self, name)
            if state is not None:
                q = dict(zip(self.equations.coordinates, np.asarray(state.q).tolist(), strict=True))
                made[name] = {"q": q, "t": state.t}
        return {**made, **labels, **own, "remarks": self.remarks}

    def brief_json(self) -> dict[str, Any]:
        """Its content as plain data, as far as a command prints it by default."""
        return self.as_json()

    @property
    def lines(self) -> list[str]:
        """Its text for a terminal: status and message, short tables, and remarks."""
        made = [f"{type(self).analysis.title} ({self.status}){f': {self.message}' if self.message else ''}"]
        for sheet in (sheet for sheet in self.sheets() if sheet.where == "text"):
            made += [*([f"{sheet.title}:"] if sheet.title else []), *sheet.lines()]
        return [*made, *self.remarks]

    def __repr__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        return str(called("AnalysisResult.html", self))

    def plot(self, *arguments: Any, **options: Any) -> Any:
        """Draw the first of its plots, with the arguments of its function in `pliant.plot`; returns the axes."""
        return called("AnalysisResult.plot", self, *arguments, **options)


@cache
def _annotations(cls: type) -> dict[str, Any]:
    return {name: hint for name, hint in get_type_hints(cls, include_extras=True).items() if name in _field_names(cls)}


def _field_names(cls: Any) -> set[str]:
    return {field.name for field in fields(cls)}


def _variables(cls: type) -> Iterator[tuple[str, Along]]:
    for name, hint in _annotations(cls).items():
        if get_origin(hint) is Annotated:
            for extra in get_args(hint)[1:]:
                if isinstance(extra, Along):
                    yield name, extra


def _states(cls: type) -> list[str]:
    return [name for name, hint in _annotations(cls).items() if hint is State or State in get_args(hint)]


def _contacts(cls: type) -> list[str]:
    return [name for name in cls.variables() if Contacts in _types(_annotations(cls)[name])]  # type: ignore[attr-defined]


def _types(annotation: Any) -> set[Any]:
    """The types in an annotation of a field: `int | None`, `Annotated[int | None, ...]`."""
    kind = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    return {kind, *get_args(kind)}


def _plain(cls: type) -> list[str]:
    """Fields that hold a text or a number."""
    known = (str, float, int, bool)
    return [
        name
        for name, hint in _annotations(cls).items()
        if hint in known or (set(get_args(hint)) & set(known) and get_origin(hint) is not Annotated)
    ]


def _restored(values: np.ndarray, annotation: Any) -> Any:
    """The value of a field from its variable: texts as a tuple, Booleans with None for NaN."""
    kinds = _types(annotation)
    if values.dtype.kind == "U":
        return tuple(map(str, values.tolist()))
    if values.ndim:
        return values.astype(bool) if np.dtype(bool) in kinds else values
    value = values.item()
    if value != value and type(None) in kinds:
        return None
    return bool(value) if bool in kinds else int(value) if int in kinds else value
