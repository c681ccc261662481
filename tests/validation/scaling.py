"""A robot in other units: every length, mass and time of it multiplied by a factor.

Parameters and inputs stay as they are; each field is multiplied by the factor of its dimension, which the schema states, and `t` is
divided by that of times. So the robot of a micrometre moves as the one of a metre does, seen through a microscope, and any
number hidden in a solver shows. With powers of four all of its arithmetic is the same but for exponents, square roots included, and
so are its results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from pliant.language import dimension as dim
from pliant.language.dimension import Dimension
from pliant.language.evaluate import to_node
from pliant.language.parameter import TIME, Environment, Parameter
from pliant.language.scalar import Quantity
from pliant.language.syntax import Binary, Number, Symbol, substitute, to_text
from pliant.language.traversal import Leaf, collections, map_leaves
from pliant.language.units import parse_unit
from pliant.parts.contact import Contact
from pliant.parts.joint.coordinate import EqualTo
from pliant.parts.mesh.drawing import FileDrawing
from pliant.parts.rod.pcc import ArcModel
from pliant.parts.rod.rod import Rod
from pliant.robot import RobotSpec
from pliant.robot.flattening import flatten

Value = Callable[[Any], float]
UNSCALED = ("parameters", "inputs")
"""Collections whose values have no field with a dimension; only the times in them change."""
DROPPED = ("outputs", "control")
"""Collections that motions do not need."""


@dataclass(frozen=True)
class Units:
    """Factors on all lengths, masses and times."""

    length: float = 1.0
    mass: float = 1.0
    time: float = 1.0

    def of(self, dimension: Dimension) -> float:
        """The factor on a quantity of this dimension."""
        powers = [float(x) for x in dimension.exponents]
        return float(np.prod(np.power([self.length, self.mass, self.time, 1.0, 1.0], powers)))

    def of_unit(self, unit: str) -> float:
        """The factor on a quantity with this SI unit; none for `-`."""
        return 1.0 if unit in ("-", "") else self.of(parse_unit(unit).dimension)


def scaled(robot: RobotSpec, units: Units) -> RobotSpec:
    """The robot with all its values in other units, without outputs, controllers and analyses."""
    flat = flatten(robot)
    value = Environment(flat.parameters).value
    changed: dict[str, Any] = {"world": map_leaves(flat.world, lambda leaf: _scaled(leaf, units, value, {}))}
    for collection in collections(type(flat)):
        things = getattr(flat, collection)
        changed[collection] = {} if collection in DROPPED else dict(_things(collection, things, units, value))
    return flat.model_copy(update={**changed, "analyses": ()})


def _things(collection: str, things: dict[str, Any], units: Units, value: Value) -> Iterator[tuple[str, Any]]:
    for name, thing in things.items():
        if isinstance(thing, Parameter):
            yield name, thing
        elif isinstance(thing, str | float | int):  # an input that is written as a value
            yield (
                name,
                _scaled(Leaf(thing, Quantity(None, signal=True), (), Parameter(value=thing), ()), units, value, {}),
            )
        else:
            state = thing.state_names()
            new = map_leaves(thing, lambda leaf, state=state: _scaled(leaf, units, value, state))
            yield name, _with_file_scale(new, units)


def _with_file_scale(thing: Any, units: Units) -> Any:
    drawing = getattr(thing, "drawing", None)
    if not isinstance(drawing, FileDrawing):
        return thing
    return thing.model_copy(
        update={"drawing": drawing.model_copy(update={"scale": f"=({drawing.scale})*{units.length!r}"})}
    )


def _scaled(leaf: Leaf, units: Units, value: Value, state: Any) -> Any:
    """A value in other units; references and counts as they are."""
    marker = leaf.marker
    if not isinstance(marker, Quantity) or leaf.value in marker.words:
        return leaf.value
    dimension = _dimension(leaf, marker, value)
    factor = 1.0 if dimension is None else units.of(dimension)
    node = to_node(leaf.value)
    if isinstance(node, Number):
        return node.value * factor
    inside = {name: units.of(x) for name, x in state.items()} | {TIME: units.time}
    node = substitute(node, {name: Binary("/", Symbol(name), Number(x)) for name, x in inside.items()})
    return to_text(Binary("*", node, Number(factor)))


def _dimension(leaf: Leaf, marker: Quantity, value: Value) -> Dimension | None:
    """What a value is; None of what inputs are given."""
    owner, field = leaf.owner, leaf.field
    special = owner.dimension(field, value) or marker.dimension
    if special is not None:
        return special
    if isinstance(owner, Contact) and field == ("stiffness",):
        return dim.FORCE / dim.LENGTH ** Fraction(value(owner.exponent)).limit_denominator(1000)
    if isinstance(owner, Rod) and field[0] in ("rest", "damping"):
        return _of_strain(owner, str(field[0]), int(field[-1]), value)
    if isinstance(owner, Rod) and field[0] in ("initial", "rates"):
        return _of_coordinate(str(field[1])) / (dim.TIME if field[0] == "rates" else dim.NUMBER)
    if isinstance(owner, ArcModel) and field[0] in ("stiffness", "damping"):
        unit = {"muscles": "m", "strains": "1/m", "bending": "rad"}[owner.coordinates]
        if field[1] == 2 and owner.coordinates != "muscles":
            unit = "m" if owner.coordinates == "bending" else "1"
        found = dim.TORQUE if unit == "1" else dim.TORQUE / parse_unit(unit).dimension ** 2
        return found * dim.TIME if field[0] == "damping" else found
    if isinstance(owner, EqualTo) and value(leaf.value) == (field == ("ratio",)):
        return dim.NUMBER
    if type(owner).__module__.startswith("pliant.parts.input") or isinstance(owner, Parameter):
        return None
    raise NotImplementedError(f"the dimension of {type(owner).__name__}.{field}")


def _of_coordinate(name: str) -> Dimension:
    """Of a coordinate of a rod, by its name."""
    if name.startswith(("bend", "twist")):
        return dim.NUMBER / dim.LENGTH
    return dim.LENGTH if name.startswith(("length", "l1", "l2", "l3", "section")) else dim.NUMBER


def _of_strain(rod: Rod, field: str, k: int, value: Value) -> Dimension:
    """Of a rest strain, or of a damping coefficient: force or moment over the strain rate to its power."""
    strain = dim.NUMBER if k < 3 else dim.NUMBER / dim.LENGTH
    if field == "rest":
        return strain
    power = Fraction(value(rod.damping_power[k])).limit_denominator(1000)
    return (dim.FORCE if k < 3 else dim.TORQUE) / (strain / dim.TIME) ** power
