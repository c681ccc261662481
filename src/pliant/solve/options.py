"""Options of the analyses: the one list of their names, for Python, for `analyses` of model files and for the command line.

Each class is the schema of one analysis. Functions of the same analysis have these names as keywords (a test compares them), the
command line makes its options of them (`cli/options.py`), and `renamed` holds names of the past for the hints of all three.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Field, StrictBool

from pliant.language.base import OneOrList, Part, RenamedWords, WordOrMapping
from pliant.language.names import CoordinateName, InputName, OutputName
from pliant.language.scalar import Number, Quantity, Time, Value
from pliant.language.walk import map_leaves
from pliant.solve.state import WORDS

Values: TypeAlias = dict[str, Value]
Given: TypeAlias = Annotated[Literal["initial", "equilibrium"] | Values, WordOrMapping(), RenamedWords(**WORDS)]
"""A state: `initial`, `equilibrium`, or coordinates and rates by name."""
Names: TypeAlias = Annotated[tuple[CoordinateName, ...], OneOrList()]


class Options(Part):
    """Options of an analysis; None is the default of its function."""

    flags: ClassVar[Mapping[str, str]] = {}
    """Options of the command line that are not called `--` and the name of the field."""

    def keywords(self, value: Callable[[Any], float]) -> dict[str, Any]:
        """Those that are not None as keywords of the analysis, with numbers in SI units; `value` evaluates one."""
        plain = map_leaves(self, lambda x: float(value(x.value)) if isinstance(x.marker, Quantity) else x.value)
        given = {name: getattr(plain, name) for name in type(self).model_fields}
        return {name: x for name, x in given.items() if x is not None}


class EquilibriumOptions(Options):
    """Find a pose at rest."""

    renamed: ClassVar[Mapping[str, str]] = {"t": "time", "stay": "stability"}

    start: Annotated[Literal["initial"] | Values, WordOrMapping(), RenamedWords(**WORDS)] = "initial"
    """Pose near which it is searched for: `initial`, or coordinates by name."""
    time: Time = 0
    """Time at which inputs are read [s]."""
    tolerance: Number = 1e-10
    """Largest unbalanced force accepted, relative to the forces in play [-]."""
    stability: Literal["stable", "any"] = "stable"
    """Which pose is asked for: a stable one (`stable`), or the nearest even if it is unstable, as a controller can hold it
    (`any`)."""


class ModesOptions(Options):
    """Eigenvalues, frequencies, damping ratios and mode shapes."""

    renamed: ClassVar[Mapping[str, str]] = {"t": "time", "at_state": "at"}

    count: Annotated[int, Field(ge=1, strict=True)] | None = None
    """How many modes: those that grow, then the lowest; otherwise all (of more than 1200 rates, 20)."""
    at: Given = "equilibrium"
    """State about which the motion is linearized: `equilibrium`, `initial`, or coordinates by name."""
    undamped: StrictBool = False
    """Leave out damping and gyroscopic terms: natural frequencies and real mode shapes."""
    time: Time | None = None
    """Time at which inputs are read [s]; otherwise that of the state."""


class LinearizeOptions(Options):
    """Linear equations about a state, for control."""

    renamed: ClassVar[Mapping[str, str]] = {
        "t": "time",
        "at_state": "at",
        "inputs": "input_names",
        "outputs": "output_names",
    }

    at: Given = "equilibrium"
    """State about which the equations are linearized: `equilibrium`, `initial`, or coordinates and rates by name."""
    time: Time | None = None
    """Time at which inputs are read [s]; otherwise that of the state."""
    independent: Names | None = None
    """Independent coordinates of a robot with closed loops; otherwise chosen for good conditioning."""
    input_names: Annotated[tuple[InputName, ...], OneOrList()] | None = None
    """Inputs to take; otherwise all."""
    output_names: Annotated[tuple[OutputName, ...], OneOrList()] | None = None
    """Outputs to take; otherwise all."""


class SimulateOptions(Options):
    """Motion in time from a start."""

    renamed: ClassVar[Mapping[str, str]] = {
        "t": "until",
        "dt": "step",
        "save": "save_every or save_at",
        "at": "save_at",
        "duration": "until",
        "time": "until",
        "end": "until",
        "t_end": "until",
        "tf": "until",
        "t_span": "begin or until",
        "t0": "begin",
        "x0": "start",
        "y0": "start",
        "q0": "start",
        "initial": "start",
        "initial_state": "start",
        "max_step": "step or method",
        "timestep": "step",
        "time_step": "step",
        "integrator": "method",
        "solver": "method",
        "tolerance": "rtol",
        "tol": "rtol",
        "t_eval": "save_at",
        "control": "controllers",
    }
    flags: ClassVar[Mapping[str, str]] = {"controllers": "--no-control"}

    until: Time
    """End of the simulation [s]."""
    begin: Time = 0
    """Time at which it begins [s]."""
    start: Given | None = None
    """State at the start: `initial`, `equilibrium`, or coordinates and rates by name; otherwise the model's `start`."""
    method: Literal["explicit", "implicit", "generalized_alpha", "newmark", "semi_implicit"] | None = None
    """Integrator: explicit, implicit, generalized_alpha, newmark or semi_implicit; otherwise chosen to suit the model."""
    step: Time | None = None
    """Fixed time step [s]; without it the step is adapted to the tolerances."""
    rtol: Number | None = None
    """Error per step relative to the motion of the frames [-]; otherwise 1e-6 of explicit and 1e-3 of implicit methods."""
    atol: Number | None = None
    """Error per step that is accepted in any case [m and rad]; otherwise a hundred-thousandth of `rtol` of the robot's size."""
    save_every: Time | None = None
    """Time between saved states [s]; otherwise 200 intervals."""
    save_at: Annotated[tuple[Time, ...], OneOrList()] | None = None
    """Times at which states are saved [s]; steps end exactly there."""
    save_between: StrictBool = False
    """Interpolate the states at `save_at` within steps, instead of ending steps there."""
    formulation: Literal["multipliers", "reduced"] = "multipliers"
    """How constraints are treated: multipliers, or reduced to independent coordinates."""
    independent: Names | None = None
    """Independent coordinates of the reduced formulation; otherwise chosen for good conditioning."""
    controllers: StrictBool = True
    """Let the model's controllers act."""


class ContinuationOptions(Options):
    """Poses at rest while a parameter changes, through limit points and bifurcations."""

    renamed: ClassVar[Mapping[str, str]] = {"t": "time"}

    parameter: str
    """Parameter or input to change, from its value in the model."""
    to: Value
    """Where it goes, with or without a unit."""
    start: Given = "equilibrium"
    """Pose near which the path begins: `equilibrium`, `initial`, or coordinates by name."""
    branch: Literal[1, -1] | None = None
    """Leave the path at a bifurcation, to side 1 or -1: the sign of `by`."""
    mode: Annotated[int, Field(ge=1, strict=True)] = 1
    """Which loss of stiffness to branch off at."""
    by: str | None = None
    """Output whose sign tells the sides apart; otherwise the coordinate that moves most."""
    imperfection: Values = Field(default_factory=dict)
    """Small generalized forces by rate name [N or N m] that act along the whole path."""
    stop: Values = Field(default_factory=dict)
    """Values of outputs or coordinates at which the path ends [SI]."""
    reverse: StrictBool = False
    """Follow a saved path backwards."""
    time: Time = 0
    """Time at which inputs are read [s]."""
    max_points: Annotated[int, Field(ge=2, strict=True)] = 500
    """The most points."""
    max_step: Number = 0.08
    """Longest step, as a share of the robot's size and of the parameter's range [-]."""
    tolerance: Number = 1e-10
    """Largest unbalanced force accepted, relative to the forces in play [-]."""
