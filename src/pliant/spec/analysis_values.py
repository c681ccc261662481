"""Checks of the analyses in a model file against the built robot: names of coordinates, parameters and outputs, and units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pliant.equations.outputs import output_units
from pliant.equations.state import rate_name
from pliant.language.dimension import Dimension
from pliant.language.environment import to_node
from pliant.language.evaluate import UNKNOWN
from pliant.language.faults import Fault
from pliant.language.message_text import KeyPath, suggestion
from pliant.language.scalar import Scalar
from pliant.language.syntax import ExpressionError
from pliant.language.units import parse_unit
from pliant.language.value_checks import wrong_dimension
from pliant.model.model import Model
from pliant.solve.options import ContinuationOptions, Options
from pliant.spec.robot import RobotSpec

Problem = tuple[KeyPath, str, str]
"""Path in the options, message and hint."""


def analysis_faults(spec: RobotSpec, model: Model) -> list[Fault]:
    """Faults in the listed analyses that can be found only with the names and units of the built robot.

    model: the model of the flattened spec.
    """
    found = []
    for index, analysis in enumerate(spec.analyses):
        (word,) = type(analysis).model_fields
        found += [
            spec.source.fault(("analyses", index, word, *path), message, hint)
            for path, message, hint in _problems(analysis.options, model)
        ]
    return found


def _problems(options: Options, model: Model) -> Iterator[Problem]:
    states = _states(model)
    for key in ("start", "at"):
        if isinstance(given := getattr(options, key, None), Mapping):
            yield from _named((key,), given, states, "coordinate or rate", model)
    if not isinstance(options, ContinuationOptions):
        return
    changed = {name: model.environment.dimension(name) for name in (*model.parameter_names, *model.input_names)}
    yield from _named(("to",), {options.parameter: options.to}, changed, "parameter or input", model, at=("parameter",))
    yield from _named(("imperfection",), options.imperfection, dict.fromkeys(model.v_names), "rate", model)
    units = {name: _dimension(unit) for name, unit in output_units(model).items()}
    reached = {name: states[name] for name in model.q_names} | units
    yield from _named(("stop",), options.stop, reached, "output or coordinate", model)
    if options.by is not None and options.by not in reached:
        yield ("by",), *_unknown("output or coordinate", options.by, reached)


def _named(
    path: KeyPath, given: Mapping[str, Scalar], known: Mapping[str, Dimension | None], kind: str, model: Model,
    *, at: KeyPath | None = None,
) -> Iterator[Problem]:  # fmt: skip
    """Problems of values by name: unknown names, and values of a wrong dimension. at: path of the name, if it is not a key."""
    own = model.environment
    dimensions = {name: own.dimension(name) or UNKNOWN for name in own.names}
    for name, value in given.items():
        place = path if at is not None else (*path, name)
        if name not in known:
            yield (place if at is None else at), *_unknown(kind, name, known)
        elif (expected := known[name]) is not None:
            try:
                problem = wrong_dimension(to_node(value), expected, dimensions)
            except ExpressionError:
                continue  # reported at the value
            if problem is not None:
                yield place, *problem


def _unknown(kind: str, name: str, known: Mapping[str, object]) -> tuple[str, str]:
    return f"there is no {kind} '{name}'", suggestion(name, known, f"known: {', '.join(list(known)[:12]) or 'none'}")


def _states(model: Model) -> dict[str, Dimension | None]:
    """Dimensions of coordinates and rates, by all names that a state accepts."""
    found: dict[str, Dimension | None] = {}
    for entry in model.coordinates:
        found |= dict.fromkeys(entry.q_names, _dimension(entry.unit))
        rates = _dimension("1/s" if entry.unit in ("rad", "-") else entry.unit and f"{entry.unit}/s")
        for name in entry.v_names:
            found[rate_name(name)] = rates
            found.setdefault(name, rates)
    return found


def _dimension(unit: str) -> Dimension | None:
    return parse_unit({"-": "1", "rad": "1"}.get(unit, unit)).dimension if unit else None
