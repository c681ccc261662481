"""A quantity computed from other outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pliant.language.dimension import NUMBER, Dimension
from pliant.language.environment import TIME, parameter_dimensions
from pliant.language.evaluate import UNKNOWN, OpenDimension, dimension_of, evaluate
from pliant.language.scalar import Formula
from pliant.language.syntax import ExpressionError, Symbol, parse, symbols, to_text
from pliant.language.units import UnitError, parse_unit
from pliant.parts.output.base import OutputBase, Symbols, component

if TYPE_CHECKING:
    from pliant.engine.model.build import Build
    from pliant.robot.robot import RobotSpec


class ExpressionOutput(OutputBase):
    """A number computed from other outputs, parameters and the time: `{expression: =0.5*(left - right)/width}`.

    A component of a vector is written `pull.x`, its length `pull.norm`; an output of an attached model is written in backticks,
    `` `leg1/pull.x` ``.
    """

    expression: Formula
    """The expression, beginning with =; units are checked as in all expressions."""
    description: str = ""
    """Description for readers."""

    def unit(self, robot: RobotSpec, coordinates: Mapping[str, str]) -> str:
        try:
            found = self.result_dimension(robot, coordinates, ())
        except ExpressionError:
            return ""
        if not isinstance(found, Dimension):
            return ""
        unit = "-" if found.is_number else found.unit.replace("*", " ")
        try:
            return unit if found.is_number or parse_unit(unit).dimension == found else ""
        except UnitError:  # noninteger powers
            return ""

    def result_dimension(
        self, robot: RobotSpec, coordinates: Mapping[str, str], above: tuple[str, ...]
    ) -> Dimension | OpenDimension:
        """Its dimension; `above` are outputs being evaluated. Raises ExpressionError if units do not match."""
        node = parse(self.expression)
        known = {**parameter_dimensions(robot.parameters)[0], TIME: parse_unit("s").dimension}
        for name in symbols(node):
            output = name.partition(".")[0]
            if output in robot.outputs:
                known[name] = _dimension(robot, coordinates, output, above)
        return dimension_of(node, known)

    def used(self, robot: RobotSpec) -> dict[str, tuple[str, str]]:
        """The other outputs that it uses: name and component (empty for the output itself) by symbol."""
        parts = {name: name.partition(".") for name in symbols(parse(self.expression))}
        return {name: (output, part) for name, (output, _, part) in parts.items() if output in robot.outputs}

    def prepare(self, build: Build) -> Any:
        places: dict[str, tuple[bool, int]] = {}
        used = self.used(build.robot)
        for name in sorted(symbols(parse(self.expression)) - used.keys() - {"pi", "e"}):
            value = to_text(Symbol(name))
            varies = build.environment.uses(value) & {TIME, *build.environment.inputs}
            places[name] = (
                (True, build.add_signals([value])) if varies else (False, build.system.constants([build.value(value)]))
            )
        return places

    def value(self, at: Symbols) -> Any:
        values = {
            name: at.signal(index) if varies else at.numbers(index, 1) for name, (varies, index) in at.prepared.items()
        }
        robot = at.model.spec
        for name, (output, part) in self.used(robot).items():
            given, labels = at.output(output), robot.outputs[output].components(robot)
            values[name] = (
                given if not part else component(given, part) if part == "norm" else given[labels.index(part)]
            )
        return evaluate(parse(self.expression), values)


def _dimension(
    robot: RobotSpec, coordinates: Mapping[str, str], name: str, above: tuple[str, ...]
) -> Dimension | OpenDimension:
    """Dimension of an output; unknown within a circular reference, which is reported separately."""
    output = robot.outputs[name]
    if isinstance(output, ExpressionOutput):
        return UNKNOWN if name in above else output.result_dimension(robot, coordinates, (*above, name))
    unit = output.unit(robot, coordinates)
    return UNKNOWN if not unit else NUMBER if unit == "-" else parse_unit(unit).dimension
