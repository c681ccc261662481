"""Paths of equilibria in a parameter, through limit points and bifurcations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, StrictBool

from pliant.analysis.base import (
    Analysis,
    AnyNumber,
    Count,
    PureNumber,
    Seconds,
    StateGiven,
    ValuesByName,
    named_values,
    state_dimensions,
    unit_dimension,
    unknown_name,
)
from pliant.analysis.statics.continuation import continuation
from pliant.engine.equations import Equations
from pliant.engine.model.model import Model
from pliant.engine.outputs import output_units
from pliant.language.base import Problem


class Continuation(Analysis):
    """Follow equilibria while a parameter changes, through limit points and bifurcations."""

    name: ClassVar[str] = "path"
    title: ClassVar[str] = "Path of equilibria"
    state: ClassVar[str] = "start"
    parameter: str
    """Parameter or input to change, from its value in the model."""
    to: AnyNumber
    """Its final value, with or without a unit."""
    start: StateGiven = "equilibrium"
    """Pose near which the path begins: `equilibrium`, `initial`, or coordinates by name."""
    branch: Literal[1, -1] | None = None
    """Switch branches at a bifurcation, to side 1 or -1: the sign of `by`."""
    mode: Count = 1
    """The loss of stiffness at which to switch branches."""
    by: str | None = None
    """Output whose sign defines the sides; default: the coordinate that moves most."""
    imperfection: ValuesByName = Field(default_factory=dict)
    """Small generalized forces by rate name [N or N m] that act along the entire path."""
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
        reached |= {name: unit_dimension(unit) for name, unit in output_units(model).items()}
        yield from named_values(("stop",), self.stop, reached, "output or coordinate", model)
        if self.by is not None and self.by not in reached:
            yield ("by",), *unknown_name("output or coordinate", self.by, reached)

    def run(self, eqs: Equations) -> Any:
        """Compute."""
        return continuation(eqs, **self.given())
