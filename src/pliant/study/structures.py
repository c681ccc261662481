"""From the names in a case to equations and values: which of them change the robot's structure, and which only its values.

Equations are derived once for each structure; parameters, inputs and starts are values of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

from pliant.analysis.base import state_dimensions
from pliant.analysis.derivation.derive import derive
from pliant.engine.core import UnknownName
from pliant.engine.equations import Equations
from pliant.engine.model.model import SI_HINT
from pliant.engine.state import rate_name
from pliant.language.arguments import ArgumentError, is_number, number
from pliant.language.dimension import Dimension
from pliant.language.evaluate import UNKNOWN, evaluate
from pliant.language.faults import ExpressionError
from pliant.language.message_text import describe, unit_text
from pliant.language.parameter import wrong_dimension
from pliant.language.syntax import Number, parse
from pliant.language.units import Unit
from pliant.robot.reader import load, load_text
from pliant.robot.robot import RobotSpec
from pliant.robot.rod_switch import rods_named, with_rod_model
from pliant.study.cases import Cases

VARIANT, START = "variant", "start"
"""Names in a case that are unknown to the robot."""


@dataclass(frozen=True)
class ModelFile:
    """A model that can be loaded in other variants and with other settings: its file or name, and its options."""

    path: str | Path
    variant: str | None = None
    set: Mapping[str, float | str] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    rods: Mapping[str, str] = field(default_factory=dict)

    def load(self, variant: str | None = None, set: Mapping[str, Any] | None = None) -> RobotSpec:
        """The robot in another variant, or with more settings."""
        if variant is not None and self.variant is not None:
            raise ArgumentError("the variant is both chosen and varied", "give one of the two")
        spec = load(self.path, variant=variant or self.variant, set={**self.set, **(set or {})}, folders=self.folders)
        for rod, kind in self.rods.items():
            spec = with_rod_model(spec, rod, kind)
        return spec


Robot = Equations | RobotSpec | ModelFile | str | Path
"""Robot of a study: equations, a RobotSpec, a model file or the name of a bundled robot."""


@dataclass(frozen=True)
class Values:
    """Values of one case, for derived equations: SI units. start: coordinates and rates by name, or a complete start."""

    parameters: dict[str, float] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    start: Any = None


@dataclass(frozen=True)
class Structures:
    """The equations of all structures of a study; for each case the number of its structure, and its values."""

    equations: tuple[Equations, ...]
    which: tuple[int, ...]
    values: tuple[Values, ...]


def structures(robot: Robot, given: Cases) -> Structures:
    """Derive the equations of all structures of the cases, and sort their values."""
    source = _Source(robot)
    made: dict[tuple[tuple[str, Any], ...], int] = {}
    equations: list[Equations] = []
    readers: list[_Reader] = []
    which, values = [], []
    for row in given:
        changed = tuple(sorted((name, row[name]) for name in row if name in source.structural))
        if changed not in made:
            made[changed] = len(equations)
            equations.append(source.derived(dict(changed)))
            readers.append(_Reader(equations[-1], given.units))
        at = made[changed]
        which.append(at)
        values.append(readers[at].values({name: x for name, x in row.items() if name not in source.structural}))
    if not equations:
        equations.append(source.derived({}))
    return Structures(tuple(equations), tuple(which), tuple(values))


class _Source:
    """Source of equations. structural: names that change the structure."""

    def __init__(self, robot: Robot) -> None:
        if not isinstance(robot, Equations | RobotSpec | ModelFile | str | Path):
            hint = "give equations, a RobotSpec, a model file or the name of a bundled robot"
            raise ArgumentError(f"a robot cannot be {describe(robot)}", hint)
        self.robot = robot = ModelFile(robot) if isinstance(robot, str | Path) else robot
        self.own = robot if isinstance(robot, Equations) else derive(_loaded(robot))
        self.rods = list(self.own.model.spec.rods)
        """Names of rods, and those that stand for all instances of a repeated rod."""
        self.rods += dict.fromkeys(name.partition("[")[0] for name in self.rods if "[" in name)
        # a parameter of the same name as a rod takes precedence
        self.structural = {VARIANT, *self.rods, *self.own.model.structural} - set(self.own.model.environment.names)
        self.structural |= self.own.model.structural

    def derived(self, changed: Mapping[str, Any]) -> Equations:
        """The equations with another structure."""
        if not changed:
            return self.own
        spec = self._spec(changed)
        chosen = [rod for rod in self.rods if rod in changed]
        if chosen and isinstance(self.robot, Equations):
            spec = load_text(self.own.model.text)
        elif any(not rods_named(spec.rods, rod) for rod in chosen):  # one instance of a repeated rod
            spec = load_text(derive(spec).model.text)
        for rod in chosen:
            if rod in self.structural:
                if not isinstance(changed[rod], str):
                    raise ArgumentError(f"'{rod}' is a rod; it cannot be {describe(changed[rod])}", "write 'pcs:4'")
                spec = with_rod_model(spec, rod, changed[rod])
        return derive(spec)

    def _spec(self, changed: Mapping[str, Any]) -> RobotSpec:
        counts = {name: changed[name] for name in self.own.model.structural if name in changed}
        if isinstance(self.robot, ModelFile):
            return self.robot.load(changed.get(VARIANT), counts)
        hint = "give the model's file or name instead of its equations"
        if VARIANT in changed:
            raise ArgumentError("a robot that is loaded has no other variants", hint)
        if counts and isinstance(self.robot, Equations):
            raise ArgumentError(f"'{min(counts)}' determines the number of parts", hint)
        spec = self.own.model.spec if isinstance(self.robot, Equations) else self.robot
        if not counts:
            return spec
        own = spec.parameters
        return spec.replace(
            parameters={**own, **{name: own[name].model_copy(update={"value": x}) for name, x in counts.items()}}
        )


def _loaded(robot: RobotSpec | ModelFile) -> RobotSpec:
    return robot.load() if isinstance(robot, ModelFile) else robot


class _Reader:
    """Classifies the names in a case by their role in a robot, and checks common properties of all cases."""

    def __init__(self, eqs: Equations, units: Mapping[str, Unit]) -> None:
        self.model = eqs.model
        self.own = {*eqs.model.input_names, *eqs.model.environment.names}
        """Inputs and parameters, one of which may be called as the start of a case."""
        self.rates = {rate_name(name) for name in eqs.rates} | (set(eqs.rates) - set(eqs.coordinates))
        self.places: dict[str, str] = {}
        self.plain: dict[str, str] = {}
        self.units = units
        self._of_states = state_dimensions(eqs.model)

    def dimension(self, name: str) -> Dimension | None:
        """The dimension of a parameter, an input, a coordinate or a rate."""
        own = self.model.environment
        return own.dimension(name) if name in own.names else self._of_states.get(name)

    def values(self, row: Mapping[str, Any]) -> Values:
        """The values of one case."""
        values: dict[str, dict[str, Any]] = {"parameters": {}, "inputs": {}, "coordinates": {}}
        start: Any = None
        if row.keys() <= self.plain.keys():  # names that are known, and usually floats
            for name, value in row.items():
                values[self.plain[name]][name] = (
                    value if type(value) is float and isfinite(value) else self._value(name, value)
                )
            return Values(values["parameters"], values["inputs"])
        for name, value in row.items():
            if name == START and name not in self.own:
                start = value
                continue
            if name not in self.places:
                self.places[name] = place = self._place(name)
                if place != "coordinates":
                    self.plain[name] = place
                if name in self.units:
                    self._check_unit(name, self.units[name])
            values[self.places[name]][name] = self._value(name, value)
        if values["coordinates"]:
            if isinstance(start, str) or (start is not None and not isinstance(start, Mapping)):
                raise ArgumentError("a case gives both a start and initial coordinates", "give one of them")
            start = {**(start or {}), **values["coordinates"]}
        return Values(values["parameters"], values["inputs"], start)

    def _value(self, name: str, value: Any) -> Any:
        return value if self.places[name] == "inputs" and not is_number(value) else self._number(name, value)

    def _place(self, name: str) -> str:
        model = self.model
        if name in model.input_names:
            return "inputs"
        if name in model.environment.names:
            model.parameter_vector({name: 0.0})  # rejects one that is computed from others
            return "parameters"
        if name in model.q_names or name in self.rates:
            return "coordinates"
        known = (*model.environment.names, *model.spec.rods, *model.q_names, VARIANT, START)
        raise UnknownName("parameter, input, rod or coordinate", name, known)

    def _check_unit(self, name: str, unit: Unit) -> None:
        wanted = self.dimension(name)
        if wanted is not None and wanted != unit.dimension:
            got, asked = unit.dimension.unit or "1", unit_text(wanted, "1")
            raise ArgumentError(
                f"the values of '{name}' are in {got}, but it is in {asked}", "use a unit of that dimension"
            )

    def _number(self, name: str, value: Any) -> float:
        """A value in SI units; a text may have a unit."""
        if not isinstance(value, str):
            return number(f"'{name}'", value, hint=SI_HINT)
        try:
            node = parse(value)
            problem = wrong_dimension(node, self.dimension(name) or UNKNOWN, {})
            if problem:
                raise ArgumentError(f"'{name}': {problem[0]}", problem[1])
            return node.value if isinstance(node, Number) else float(evaluate(node, {}))
        except ExpressionError as error:
            raise ArgumentError(f"'{name}': {error}", error.hint) from None


def value_units(eqs: Equations, names: Sequence[str]) -> dict[str, str]:
    """SI units of names in cases, if they have one."""
    reader, units = _Reader(eqs, {}), {}
    for name in names:
        if name in eqs.model.environment.names or name in eqs.coordinates or name in reader.rates:
            units[name] = unit_text(reader.dimension(name), "1")
    return units
