"""Checks of values: dimension and bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pliant.language.base import Problem
from pliant.language.dimension import EXAMPLES, Dimension
from pliant.language.environment import to_node
from pliant.language.evaluate import OpenDimension, dimension_of
from pliant.language.message_text import with_article
from pliant.language.parameter import Parameter
from pliant.language.scalar import Scalar
from pliant.language.syntax import ExpressionError, Node, Number, to_text


def wrong_dimension(
    node: Node,
    expected: Dimension | OpenDimension,
    known: Mapping[str, Dimension | OpenDimension],
    *,
    by_unit: bool = False,
) -> tuple[str, str] | None:
    """Message and hint if an expression has another dimension than expected.

    known: dimensions of the parameters. by_unit: name the expected dimension by its unit, where its usual name would mislead.
    """
    found = dimension_of(node, known)
    if isinstance(expected, OpenDimension) or isinstance(found, OpenDimension) or found == expected:
        return None
    wanted = f"a value in {expected.unit}" if by_unit and not expected.is_number else _named(expected)
    shown = node.text if isinstance(node, Number) and node.text else to_text(node)
    hint = f"give {_named(expected)} such as {EXAMPLES[expected]}" if expected in EXAMPLES and not by_unit else ""
    return f"expected {wanted}, got {_named(found)}: '{shown}'", hint


def _named(dimension: Dimension) -> str:
    return with_article("plain number or angle" if dimension.is_number else str(dimension))


def bounds_problems(
    name: str,
    parameter: Parameter,
    value: float,
    dimension: Dimension | OpenDimension,
    known: Mapping[str, Dimension | OpenDimension],
    number: Callable[[Scalar], float],
) -> Iterator[Problem]:
    """Problems of a parameter's value relative to its bounds, and of the bounds themselves."""
    for key, sign, word in (("minimum", 1, "below its minimum"), ("maximum", -1, "above its maximum")):
        bound = getattr(parameter, key)
        if bound is None:
            continue
        try:
            problem = wrong_dimension(to_node(bound), dimension, known)
            if problem:
                yield (key,), *problem
            elif sign * value < sign * number(bound):
                yield ("value",), f"'{name}' is {value:g}, {word} of {number(bound):g}", ""
        except ExpressionError as error:
            yield (key,), str(error), error.hint
