"""Force of a constraint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from pliant.language.base import Problem
from pliant.language.names import ConstraintName
from pliant.parts.output.base import OutputBase, Symbols

if TYPE_CHECKING:
    from pliant.robot.robot import RobotSpec


class ConstraintOutput(OutputBase):
    """Force of a constraint: `{constraint: pin, component: x}`."""

    constraint: ConstraintName
    """The constraint."""
    component: Literal["x", "y", "z", "rx", "ry", "rz"] | None = None
    """One of its components; default: all [N or N m]."""
    description: str = ""
    """Description for readers."""

    def unit(self, robot: RobotSpec, coordinates: Mapping[str, str]) -> str:
        rows: tuple[str, ...] = (self.component,) if self.component else ()
        if not rows and self.constraint in robot.constraints:
            rows = robot.constraints[self.constraint].rows
        units = {"N m" if row.startswith("r") else "N" for row in rows}
        return units.pop() if len(units) == 1 else ""

    def problems_in(self, robot: RobotSpec) -> Iterator[Problem]:
        if self.constraint in robot.constraints and self.component is not None:
            rows = robot.constraints[self.constraint].rows
            if self.component not in rows:
                message = f"the constraint '{self.constraint}' does not constrain {self.component}"
                yield ("component",), message, f"it constrains {', '.join(rows)}"

    def components(self, robot: RobotSpec) -> tuple[str, ...]:
        rows = robot.constraints[self.constraint].rows
        return rows if self.component is None and len(rows) > 1 else ()

    def value(self, at: Symbols) -> Any:
        first, rows = at.model.constraint_rows[self.constraint], at.model.spec.constraints[self.constraint].rows
        if self.component is None:
            return at.multipliers[first : first + len(rows)]
        return at.multipliers[first + rows.index(self.component)]
