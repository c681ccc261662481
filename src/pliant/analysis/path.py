"""Paths of equilibria in a parameter, through limit points and bifurcations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, StrictBool

from pliant.analysis.base import (
    Analysis,
    AnyNumber,
    Count,
    PureNumber,
    Seconds,
    StateGiven,
    ValuesByName,
    function_of,
    named_values,
    state_dimensions,
    unit_dimension,
    unknown_name,
)
from pliant.analysis.equilibrium import equilibrium
from pliant.analysis.numerics.contact_table import joined_contacts
from pliant.analysis.numerics.labelled_arrays import Variable
from pliant.analysis.numerics.result import no_such, profile_axes
from pliant.analysis.numerics.state import EQUILIBRIUM, AssembledState, assemble, given_state, moved_onto_constraints
from pliant.analysis.numerics.status import Status
from pliant.analysis.remark import remark
from pliant.analysis.remarks.input_limits import inputs_beyond_limits
from pliant.analysis.remarks.validity import friction_of_tendons_at_rest
from pliant.analysis.result import Along, AnalysisResult, Poses, Sheet, number_text
from pliant.analysis.statics.arc_length import (
    ArcLengthStatics,
    Branch,
    Direction,
    PathFollower,
    PathParameter,
    PathPoint,
    PathRecord,
    first_point,
    leading,
)
from pliant.engine.contacts import Contacts, from_here
from pliant.engine.equations import Equations
from pliant.engine.input_values import inputs_at_time
from pliant.engine.model.model import Model
from pliant.engine.outputs import evaluate_outputs, output_axes, output_parts, output_units
from pliant.engine.state import State
from pliant.language.arguments import ArgumentError
from pliant.language.base import Problem, positive
from pliant.language.message_text import unit_text
from pliant.language.names import outputs_named, stacked, with_repeated
from pliant.language.recording import heading

SHOWN = 8
"""Number of points of a table, besides the ends and the special points."""
WIDEST = 76
"""Width of the outputs in a table of points [characters]; the others are named."""
SECONDS = 5.0
"""How long it takes to play a path [s]."""


@dataclass(frozen=True)
class SpecialPoint:
    """A limit point (the parameter reverses) or a bifurcation (another path crosses).

    Attributes:
        kind: "limit" or "bifurcation".
        index: number of the point on the path.
        value: of the parameter.
        directions: directions without stiffness in increments of q, one per row; the leading entry of each is positive.
        moves: the rate of the leading entry of each direction.
    """

    kind: str
    index: int
    value: float
    directions: np.ndarray
    moves: tuple[str, ...]


@dataclass(frozen=True, repr=False, eq=False)
class Path(AnalysisResult):
    """Equilibria as one parameter or input changes.

    `path["load"]` is a coordinate or an output along the path, `path.value` the parameter, `path.special` its special points.

    Attributes:
        value: the parameter at each point [SI units]. parameter: its name.
        q: positions, a row for each point. multipliers: constraint forces, a row for each point [N or N m].
        residual: largest unbalanced generalized force at each point [N or N m].
        unstable: number of growing directions at each point; -1 if undetermined.
        stability: 1 where small disturbances decay, 0 where not, -1 where the pose is neutral or undetermined.
        kinds: "limit", "bifurcation", or empty for other points.
        branch: how often a branch was taken before each point.
        tangent_q, tangent_multipliers, tangent_value: change of q (increments), multipliers and parameter along the path.
        critical_direction: directions without stiffness at special points, in increments of q. critical_point: number of the point
            of each.
        given: the pose near which the path begins, before it was moved onto the constraints.
        time: at which inputs were evaluated [s].
        unstable_start: whether no stable equilibrium was found near the start.
    """

    plots = ("path",)

    value: Annotated[np.ndarray, Along("point", text="parameter [SI]")]
    q: Annotated[np.ndarray, Along("point", "coordinate")]
    multipliers: Annotated[np.ndarray, Along("point", "constraint", unit="N or N m", text="constraint forces")]
    residual: Annotated[np.ndarray, Along("point", unit="N or N m", text="largest unbalanced force")]
    unstable: Annotated[np.ndarray, Along("point", text="directions that grow (-1: undetermined)")]
    stability: Annotated[np.ndarray, Along("point", text="1 stable, 0 unstable, -1 neutral or undetermined")]
    kinds: Annotated[tuple[str, ...], Along("point")]
    branch: Annotated[np.ndarray, Along("point", text="how often a branch was taken")]
    tangent_q: Annotated[np.ndarray, Along("point", "rate")]
    tangent_multipliers: Annotated[np.ndarray, Along("point", "constraint")]
    tangent_value: Annotated[np.ndarray, Along("point")]
    critical_direction: Annotated[np.ndarray, Along("critical", "rate")]
    critical_point: Annotated[np.ndarray, Along("critical")]
    contacts: Annotated[Contacts | None, Along("point")]
    equations: Equations
    parameter: str
    given: State
    time: float = 0.0
    unstable_start: bool = False
    status: Status = Status.COMPLETED
    message: str = ""

    def __len__(self) -> int:
        return len(self.value)

    @property
    def stable(self) -> np.ndarray:
        """Whether small disturbances decay at each point (False also if undetermined)."""
        return np.asarray(self.stability == 1)

    @property
    def state(self) -> State:
        """The last point as a state."""
        return self.point(-1).state if len(self) else self.given

    @property
    def special(self) -> tuple[SpecialPoint, ...]:
        """Limit points and bifurcations in order."""
        made = []
        for index in dict.fromkeys(self.critical_point.tolist()):
            directions = self.critical_direction[self.critical_point == index]
            moves = tuple(self.equations.rates[leading(x)] for x in directions)
            made.append(SpecialPoint(self.kinds[index], int(index), float(self.value[index]), directions, moves))
        return tuple(made)

    @property
    def assembled(self) -> AssembledState:
        """The pose near which the path begins, moved onto the constraints."""
        eqs, given = self.equations, self.given
        here = PathParameter(eqs, self.parameter).equations(float(self.value[0])) if len(self) else eqs
        return assemble(here, here.binding, given.t, np.array(given.q), np.array(given.v), given.given)

    def point(self, index: int) -> PathPoint:
        """A point by number (negative ones count from the end), for `continuation(start=...)` and other analyses."""
        count = len(self)
        if not -count <= index < count:
            raise IndexError(f"the path has {count} points; there is none of number {index}")
        k = index % count
        contacts = None if self.contacts is None else self.contacts.sample(k)
        state = State(self.q[k], np.zeros(len(self.equations.rates)), self.time, self.multipliers[k], contacts=contacts)
        tangent = self.tangent_q[k], self.tangent_multipliers[k], float(self.tangent_value[k])
        stable = {1: True, 0: False}.get(int(self.stability[k]))
        directions = self.critical_direction[self.critical_point == k]
        return PathPoint(self.parameter, float(self.value[k]), state, tangent, self.kinds[k], directions, stable)

    # -- outputs -----------------------------------------------------------------------------------------------------

    @cached_property
    def _evaluated(self) -> dict[str, np.ndarray]:
        """Outputs, potential energy [J], and positions [m] and quaternions of frames, at all points."""
        eqs, loading = self.equations, PathParameter(self.equations, self.parameter)
        zero, count = np.zeros(len(eqs.rates)), len(self)
        columns: dict[str, list[Any]] = {f"output.{name}": [] for name in self.output_names}
        columns |= {"potential": [], "frame_position": [], "frame_quaternion": []}
        for k, value in enumerate(self.value.tolist()):
            here = loading.equations(value)
            bound, q = here.binding, self.q[k]
            if self.contacts is not None:
                bound = bound.with_contacts(self.contacts.sample(k).rows)
            outputs = evaluate_outputs(eqs.model, bound, self.time, q, zero, zero, self.multipliers[k], 0.0)
            for name in self.output_names:
                columns[f"output.{name}"].append(outputs[name])
            columns["potential"].append(bound.energies(self.time, q, zero)[1])
            frames = here.frames(q).values()
            columns["frame_position"].append([f.position for f in frames])
            columns["frame_quaternion"].append([f.quaternion for f in frames])
        made = {name: np.array(values, dtype=float) for name, values in columns.items()}
        for name, size in (("frame_position", 3), ("frame_quaternion", 4)):
            made[name] = made[name].reshape(count, len(eqs.frame_names), size)
        return made

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the available outputs."""
        return tuple(self.equations.model.spec.outputs) if len(self) else ()

    def __getitem__(self, name: str) -> np.ndarray:
        """An output (a repeated one with a column for each instance), a component of one (`tip.x`), a coordinate, a frame's
        position (points x 3) or the parameter."""
        coordinates, frames = self.equations.coordinates, self.equations.frame_names
        if name in self.output_names:
            return self._evaluated[f"output.{name}"]
        if name == self.parameter:
            return self.value
        if name in coordinates:
            return np.asarray(self.q[:, coordinates.index(name)])
        if name in frames:
            return np.asarray(self._evaluated["frame_position"][:, frames.index(name)])
        if named := outputs_named(name, self.output_names, self.parts):
            return stacked(named, lambda x: self._evaluated[f"output.{x}"], 1)
        parts = (part for x in self.output_names for part in self.parts(x))
        known = [*with_repeated(self.output_names), *coordinates, *frames, *parts]
        raise no_such("path has no output, coordinate or frame", name, known)

    def parts(self, output: str) -> tuple[str, ...]:
        """Names of the components of an output: `tip.x` and so on of a vector; empty if there is no such output."""
        return tuple(output_parts(self.equations.model, output)) if output in self.output_names else ()

    def unit(self, name: str) -> str:
        """SI unit of the parameter, an output, a coordinate or a frame's position; empty if unknown."""
        model, units = self.equations.model, output_units(self.equations.model)
        if name == self.parameter:
            return unit_text(model.environment.dimension(name))
        if named := outputs_named(name, self.output_names, self.parts):
            return units[named[0].output]
        self[name]  # raises an error that lists the names
        return {x: c.unit for c in model.coordinates for x in c.q_names}.get(name, "m")

    def derived(self) -> Iterator[tuple[str, Variable]]:
        """Outputs, potential energy and frames."""
        model, bound = self.equations.model, self.equations.binding
        units, profiles = output_units(model), output_axes(model, bound)
        for name in self.output_names:
            values, part = self._evaluated[f"output.{name}"], "arc_length" if name in profiles else "part"
            axes = ("point",) if values.ndim == 1 else ("point", f"output.{name}.{part}")
            yield f"output.{name}", (axes, values, {"units": units[name]})
        yield "potential", (("point",), self._evaluated["potential"], {"long_name": "potential energy", "units": "J"})
        yield "frame_position", (("point", "frame", "axis"), self._evaluated["frame_position"], {"units": "m"})
        yield "frame_quaternion", (("point", "frame", "quaternion_part"), self._evaluated["frame_quaternion"], {})

    def _labels(self) -> dict[str, Variable]:
        profiles = output_axes(self.equations.model, self.equations.binding) if len(self) else {}
        return super()._labels() | profile_axes(profiles)

    # -- shown -------------------------------------------------------------------------------------------------------

    def sheets(self) -> list[Sheet]:
        """Some of the points, with outputs (or coordinates, if there are none), and the special points."""
        special, count = {x.index: x for x in self.special}, len(self)
        if not count:
            return []
        chosen = sorted({*range(0, count, max(1, count // SHOWN)), count - 1, *special})
        parameter = heading(self.parameter, self.unit(self.parameter))
        columns = [("point", [str(k) for k in chosen]), (parameter, [f"{self.value[k]:.7g}" for k in chosen])]
        left = []
        for name in [part for x in self.output_names for part in self.parts(x)] or list(self.equations.coordinates):
            head, column = heading(name, self.unit(name)), [number_text(x) for x in self[name][chosen]]
            width = sum(2 + max(map(len, (title, *texts))) for title, texts in (*columns[2:], (head, column)))
            if width > WIDEST:
                left.append(name)
            else:
                columns.append((head, column))
        stable = {1: "yes", -1: "?"}
        words = [stable.get(int(self.stability[k]), f"no ({self.unstable[k]})") for k in chosen]
        columns += [("stable", ["-" if k in special else x for k, x in zip(chosen, words, strict=True)])]
        columns += [("kind", [self.kinds[k] for k in chosen])]
        rows = tuple(zip(*(texts for _, texts in columns), strict=True))
        made = [Sheet(tuple(head for head, _ in columns), rows, words="points")]
        if left:
            made.append(Sheet(("", ""), (("not in this table", ", ".join(left)),)))
        if special:
            moves = tuple((x.kind, f"{x.value:.7g}", ", ".join(x.moves)) for x in special.values())
            made.append(Sheet(("special point", parameter, "moves"), moves))
        return made

    def poses(self) -> Iterator[Poses]:
        """The poses along the path."""
        if not len(self):
            return
        unit = self.unit(self.parameter)
        captions = tuple(f"{self.parameter} = {value:.4g} {unit}".strip() for value in self.value.tolist())
        times = np.linspace(0, SECONDS, len(self))
        yield Poses("path", self.q, times, self.time, captions=captions, varied=(self.parameter, self.value))

    def as_json(self) -> dict[str, Any]:
        """Its content as plain data, with outputs and special points."""
        rates, outputs = self.equations.rates, {name: self[name] for name in self.output_names}
        special = [
            {
                "kind": x.kind, "point": x.index, "value": x.value, "moves": x.moves,
                "directions": [dict(zip(rates, row.tolist(), strict=True)) for row in x.directions],
                "outputs": {name: values[x.index] for name, values in outputs.items()},
            }
            for x in self.special
        ]  # fmt: skip
        return super().as_json() | {"outputs": outputs, "special": special}


# -- remarks -----------------------------------------------------------------------------------------------------------


@remark("no stable equilibrium near the start", "the path is the continuation of an unstable pose")
def unstable_start(eqs: Equations, result: Path) -> str | None:
    """The path begins at an unstable equilibrium."""
    if not result.unstable_start:
        return None
    return "no stable equilibrium was found near the start: the path begins at an unstable one"


class Continuation(Analysis):
    """Follow equilibria while a parameter changes; locate buckling and snapping.

    Arc-length continuation passes limit points, where the parameter reverses, and bifurcations. Both are located and reported,
    with the directions that lose their stiffness.
    """

    name: ClassVar[str] = "path"
    title: ClassVar[str] = "Path of equilibria"
    function: ClassVar[str] = "continuation"
    state: ClassVar[str] = "start"
    result = Path
    remarks = (moved_onto_constraints, friction_of_tendons_at_rest, inputs_beyond_limits, unstable_start)

    parameter: str
    """Parameter or input to change, from its value in the model."""
    to: AnyNumber
    """Its final value, with or without a unit."""
    start: StateGiven = "equilibrium"
    """Pose near which the path begins: `equilibrium`, `initial`, or coordinates by name; in Python also a point of another path,
    which is continued in its direction (a point of a path in another parameter is only the pose where this one begins)."""
    branch: Literal[1, -1] | None = None
    """Switch branches at a bifurcation, to side 1 or -1: the sign of `by`."""
    mode: Count = 1
    """The loss of stiffness at which to switch branches; the start itself if it is a bifurcation."""
    by: str | None = None
    """Output whose sign defines the sides; default: the coordinate that moves most."""
    imperfection: ValuesByName = Field(default_factory=dict)
    """Small generalized forces by rate name [N or N m] that act along the entire path; bifurcations of a perfect robot become
    smooth turns to their side."""
    stop: ValuesByName = Field(default_factory=dict)
    """Values of outputs, their components (`tip.x`) or coordinates at which the path ends [SI]."""
    reverse: StrictBool = False
    """Follow a saved path backwards."""
    time: Seconds = 0
    """Time at which inputs are evaluated [s]."""
    max_points: Annotated[int, Field(ge=2, strict=True)] = 500
    """Maximum number of points."""
    max_step: PureNumber = 0.08
    """Longest step, as a fraction of the robot's size and of the parameter's range [-]."""
    tolerance: PureNumber = 1e-10
    """Largest accepted unbalanced force, relative to the acting forces [-]."""

    def problems(self, value: Any) -> Iterator[Problem]:
        """Steps and tolerances that are not positive, and options of a branch without one."""
        yield from positive(self, value, "max_step", "tolerance")
        if self.branch is None and (self.by is not None or self.mode != 1):
            yield ("mode" if self.by is None else "by",), "mode and by apply to a branch only", "add branch: 1 or -1"

    def faults(self, model: Model) -> Iterator[Problem]:
        """Names and units among the options that the robot does not have."""
        yield from super().faults(model)
        changed = {name: model.environment.dimension(name) for name in (*model.parameter_names, *model.input_names)}
        yield from named_values(
            ("to",), {self.parameter: self.to}, changed, "parameter or input", model, at=("parameter",)
        )
        yield from named_values(("imperfection",), self.imperfection, dict.fromkeys(model.v_names), "rate", model)
        states = state_dimensions(model)
        reached = {name: states[name] for name in model.q_names}
        names: dict[str, set[str | None]] = {"stop": set(self.stop), "by": {self.by}}
        for name, unit in output_units(model).items():
            parts = output_parts(model, name)
            reached |= dict.fromkeys(parts, unit_dimension(unit))
            for where, named in names.items():
                if name in named and name not in parts:
                    yield (
                        (where,),
                        f"the output '{name}' is a vector; name one of its components, such as {parts[0]}",
                        "",
                    )
                    return
        yield from named_values(("stop",), self.stop, reached, "output or coordinate", model)
        if self.by is not None and self.by not in reached:
            yield ("by",), *unknown_name("output or coordinate", self.by, reached)

    def run(self, eqs: Equations) -> Path:
        """Find the first point, and follow the path."""
        t, start, to = self.time, self.start, self.to
        eqs = eqs.at(inputs=inputs_at_time(eqs, self.inputs, self.parameters, t), parameters=self.parameters)
        eqs.check_values({self.parameter: to})
        if isinstance(start, PathPoint) and start.parameter != self.parameter:
            start = self._pose_of(eqs, start)
        loading = PathParameter(eqs, self.parameter)
        first = start.value if isinstance(start, PathPoint) else loading.initial(t)
        if first == to:
            raise ArgumentError(f"'{self.parameter}' is {to:g} already; give another target value")
        loading = replace(loading, scale=abs(to - first))
        here, record = loading.equations(first), PathRecord()
        at_rest = start is None or (isinstance(start, str) and start == EQUILIBRIUM)
        begin = given_state(here, "initial" if at_rest else start, t, where="start")
        given = State(np.array(begin.q), np.zeros(len(eqs.rates)), t, given=begin.given.at_rest())
        made = assemble(here, here.binding, t, given.q, given.v, given.given)
        q, multipliers, contacts, unstable = made.q, begin.multipliers, begin.contacts, False
        if at_rest or len(multipliers) != made.bound.m:
            wanted: Literal["stable", "any"] = "stable" if at_rest else "any"
            rest = equilibrium(here, start=q, time=t, tolerance=self.tolerance, stability=wanted, on_failure="return")
            if not rest.balanced:
                reason = f"the path has no first point: {rest.message}"
                return _made(eqs, record, self.parameter, given, t, False, Status.FAILED, reason)
            q, multipliers, contacts, unstable = rest.q, rest.multipliers, rest.contacts, rest.status == Status.FAILED
        bound = made.bound
        if bound.system.contacts.laws:
            bound = from_here(bound, t, q) if contacts is None else bound.with_contacts(contacts.rows, since=q)
        statics = ArcLengthStatics(bound, t, self.tolerance, loading, bound.sizes(made.q)[0])
        imperfection = np.array([float(self.imperfection.get(name, 0.0)) for name in eqs.rates])
        way = Direction(*start.tangent).times(-1.0 if self.reverse else 1.0) if isinstance(start, PathPoint) else None
        point = first_point(statics, q, multipliers, first, to, imperfection, way, at_rest=at_rest)
        if isinstance(point, str):
            return _made(eqs, record, self.parameter, given, t, False, Status.FAILED, point)
        branch = None if self.branch is None else Branch(self.mode, self.branch, self.by)
        follower = PathFollower(eqs, statics, to, first, record, branch, self.stop, self.max_points, self.max_step)
        status, message = follower.run(point, start if isinstance(start, PathPoint) else None)
        return _made(eqs, record, self.parameter, given, t, unstable, status, message)

    def _pose_of(self, eqs: Equations, point: PathPoint) -> State:
        """The pose of a point of a path in another parameter, which must have the same value here."""
        if self.reverse:
            raise ArgumentError(
                f"the start is a point of a path in '{point.parameter}', which has no direction in another parameter",
                "omit reverse",
            )
        here = PathParameter(eqs, point.parameter).initial(self.time)
        if abs(here - point.value) > 1e-9 * max(abs(here), abs(point.value)):
            given = "input" if point.parameter in eqs.inputs else "parameter"
            raise ArgumentError(
                f"the start is a point of a path at '{point.parameter}' = {point.value:g}, but this path has {here:g}",
                f"give the {given} {point.parameter} = {point.value!r}",
            )
        return point.state


continuation = function_of(Continuation)


def _made(
    eqs: Equations, record: PathRecord, parameter: str, given: State, t: float, unstable_start: bool, status: Status,
    message: str,
) -> Path:  # fmt: skip
    """The result with all points of a record."""
    points, kinds, n, m = record.points, tuple(record.kinds), len(eqs.rates), len(eqs.constraint_names)
    tangents = [p.tangent or Direction(np.zeros(n), np.zeros(m), 0.0) for p in points]
    judged = [p.stability for p in points]
    unstable = [-1 if s is None else s.unstable for s in judged]
    # a special point is neutral; the sign of its computed stiffness has no meaning
    words = {True: 1, False: 0, None: -1}
    stable = [-1 if s is None or kind else words[s.stable] for s, kind in zip(judged, kinds, strict=True)]
    for k, kind in enumerate(kinds):
        if kind and 0 < k < len(points) - 1:
            unstable[k] = min(unstable[k - 1 : k + 2])

    def rows(values: list[Any], *shape: int) -> np.ndarray:
        return np.array(values, dtype=float).reshape(len(values), *shape)

    return Path(
        rows([p.value for p in points]), rows([p.q for p in points], len(eqs.coordinates)),
        rows([p.multipliers for p in points], m), rows([p.residual for p in points]),
        np.array(unstable, dtype=int), np.array(stable, dtype=int), kinds, np.array(record.branches, dtype=int),
        rows([x.q for x in tangents], n), rows([x.multipliers for x in tangents], m), rows([x.value for x in tangents]),
        rows([x for _, x in record.critical], n), np.array([k for k, _ in record.critical], dtype=int),
        joined_contacts([p.contacts for p in points], t), eqs, parameter, given, t, unstable_start, status, message,
    )  # fmt: skip
