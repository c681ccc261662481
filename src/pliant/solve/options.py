"""Options of the analyses: the only list of their names, for Python, for `analyses` of model files and for the command line.

Each class is the schema of one analysis. Functions of the same analysis have these names as keywords (a test compares
them), and the command line generates its options from them (`cli/options.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Field, StrictBool

from pliant.language.base import OneOrList, Part, WordOrMapping
from pliant.language.names import CoordinateName, InputName, OutputName
from pliant.language.scalar import Number, Quantity, Time, Value
from pliant.language.traversal import map_leaves

Values: TypeAlias = dict[str, Value]
Given: TypeAlias = Annotated[Literal["initial", "equilibrium"] | Values, WordOrMapping()]
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
    """Find an equilibrium."""

    start: Annotated[Literal["initial"] | Values, WordOrMapping()] = "initial"
    """Pose from which the search starts: `initial`, or coordinates by name."""
    time: Time = 0
    """Time at which inputs are evaluated [s]."""
    tolerance: Number = 1e-10
    """Largest accepted unbalanced force, relative to the acting forces [-]."""
    stability: Literal["stable", "any"] = "stable"
    """Requested equilibrium: a stable one (`stable`), or the nearest even if it is unstable (`any`), for instance to
    stabilize it by a controller."""


class ModesOptions(Options):
    """Eigenvalues, frequencies, damping ratios and mode shapes."""

    count: Annotated[int, Field(ge=1, strict=True)] | None = None
    """Number of modes: growing ones first, then the lowest; default: all (20 if there are more than 1200 rates)."""
    at: Given = "equilibrium"
    """State about which the motion is linearized: `equilibrium`, `initial`, or coordinates by name."""
    undamped: StrictBool = False
    """Omit damping and gyroscopic terms: natural frequencies and real mode shapes."""
    time: Time | None = None
    """Time at which inputs are evaluated [s]; default: that of the state."""


class LinearizeOptions(Options):
    """Linear equations about a state, for control."""

    at: Given = "equilibrium"
    """State about which the equations are linearized: `equilibrium`, `initial`, or coordinates and rates by name."""
    time: Time | None = None
    """Time at which inputs are evaluated [s]; default: that of the state."""
    independent: Names | None = None
    """Independent coordinates of a robot with closed loops; default: chosen for good conditioning."""
    input_names: Annotated[tuple[InputName, ...], OneOrList()] | None = None
    """Inputs to use; default: all."""
    output_names: Annotated[tuple[OutputName, ...], OneOrList()] | None = None
    """Outputs to use; default: all."""


class SimulateOptions(Options):
    """Simulate the motion from an initial state."""

    flags: ClassVar[Mapping[str, str]] = {"controllers": "--no-control"}

    until: Time
    """End of the simulation [s]."""
    begin: Time = 0
    """Time at which it begins [s]."""
    start: Given | None = None
    """State at the start: `initial`, `equilibrium`, or coordinates and rates by name; default: the model's `start`."""
    method: (
        Literal["explicit", "implicit", "generalized_alpha", "newmark", "semi_implicit", "symplectic_euler"] | None
    ) = None
    """Integrator: explicit, implicit, generalized_alpha, newmark, semi_implicit or symplectic_euler; default: automatic."""
    step: Time | None = None
    """Fixed time step [s]; without it the step is adapted to the tolerances."""
    rtol: Number | None = None
    """Error per step relative to the motion of the frames [-]; default: 1e-6 for explicit and 1e-3 for implicit methods."""
    atol: Number | None = None
    """Error per step that is accepted in any case [m and rad]; otherwise a hundred-thousandth of `rtol` of the robot's size."""
    save_every: Time | None = None
    """Time between saved states [s]; default: 200 intervals."""
    save_at: Annotated[tuple[Time, ...], OneOrList()] | None = None
    """Times at which states are saved [s]; steps end exactly there."""
    save_between: StrictBool = False
    """Interpolate the states at `save_at` within steps, instead of ending steps there."""
    formulation: Literal["multipliers", "reduced"] = "multipliers"
    """How constraints are treated: multipliers, or reduced to independent coordinates."""
    independent: Names | None = None
    """Independent coordinates of the reduced formulation; default: chosen for good conditioning."""
    controllers: StrictBool = True
    """Run the model's controllers."""


class ContinuationOptions(Options):
    """Follow equilibria while a parameter changes, through limit points and bifurcations."""

    parameter: str
    """Parameter or input to change, from its value in the model."""
    to: Value
    """Its final value, with or without a unit."""
    start: Given = "equilibrium"
    """Pose near which the path begins: `equilibrium`, `initial`, or coordinates by name."""
    branch: Literal[1, -1] | None = None
    """Switch branches at a bifurcation, to side 1 or -1: the sign of `by`."""
    mode: Annotated[int, Field(ge=1, strict=True)] = 1
    """The loss of stiffness at which to switch branches."""
    by: str | None = None
    """Output whose sign defines the sides; default: the coordinate that moves most."""
    imperfection: Values = Field(default_factory=dict)
    """Small generalized forces by rate name [N or N m] that act along the entire path."""
    stop: Values = Field(default_factory=dict)
    """Values of outputs, their components (`tip.x`) or coordinates at which the path ends [SI]."""
    reverse: StrictBool = False
    """Follow a saved path backwards."""
    time: Time = 0
    """Time at which inputs are evaluated [s]."""
    max_points: Annotated[int, Field(ge=2, strict=True)] = 500
    """Maximum number of points."""
    max_step: Number = 0.08
    """Longest step, as a fraction of the robot's size and of the parameter's range [-]."""
    tolerance: Number = 1e-10
    """Largest accepted unbalanced force, relative to the acting forces [-]."""
